//! Requests into pages.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, LOCATION, RETRY_AFTER, SET_COOKIE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use maud::Markup;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::{Instant, interval};

use super::access::{Access, Denied, Viewer};
use super::headers::{TOKEN_MAX, answer, bearer, cookie, is_own_form, is_token, session};
use super::history::{EVERY_SECONDS, History};
use super::html::{self, Frame, Here};
use super::picture::{Picture, find};
use super::sessions::{Sessions, new_number};
use super::sight::{Kind, Sight};
use super::view::gang::GangView;
use super::view::{Query, jobs, offers, overview};
use crate::cache::Cache;
use crate::clock::Clock;
use crate::probes::{Brief, Health};
use crate::write::requests::connect;

/// How old the picture of the cache may be: however many ask, it is made no more often.
const PICTURE_AGE: Duration = Duration::from_secs(2);
/// How many requests are worked on at once.
const REQUESTS_MAX: usize = 32;
/// How long a connection may last.
const CONNECTION: Duration = Duration::from_secs(30);
/// The most namespaces of members about which is asked for the page of one object.
const RELATED_MAX: usize = 16;

const HTML: &str = "text/html; charset=utf-8";

/// What the page is about, and where questions about rights go.
pub(crate) struct Source {
    pub(crate) cache: Arc<Cache>,
    pub(crate) health: Arc<Health>,
    pub(crate) clock: Clock,
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) identity: String,
}

struct Server {
    source: Source,
    access: Access,
    sessions: Mutex<Sessions>,
    picture: Mutex<Option<(Instant, Arc<Picture>)>>,
    history: Mutex<Arc<History>>,
    busy: Semaphore,
    started: Instant,
}

/// Serves pages on this listener until the process ends; on the calling thread, which does nothing else.
///
/// # Errors
/// When the listener cannot be used, or the API server cannot be connected to.
pub(crate) fn run(source: Source, listener: TcpListener) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(source, listener))
}

async fn serve(source: Source, listener: TcpListener) -> anyhow::Result<()> {
    let client = connect(source.kubeconfig.as_deref(), &source.identity).await?;
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    tracing::info!(address = %listener.local_addr()?, "serving the page");
    let server = Arc::new(Server {
        source,
        access: Access::new(client),
        sessions: Mutex::default(),
        picture: Mutex::default(),
        history: Mutex::default(),
        busy: Semaphore::new(REQUESTS_MAX),
        started: Instant::now(),
    });
    let router = Router::new().fallback(handle).with_state(server.clone());
    tokio::select! {
        served = async { axum::serve(Brief::new(listener, CONNECTION), router).await } => Ok(served?),
        () = server.follow_seats() => Ok(()),
    }
}

async fn handle(State(server): State<Arc<Server>>, request: Request) -> Response<Body> {
    let Ok(_permit) = server.busy.try_acquire() else {
        return refused(
            StatusCode::SERVICE_UNAVAILABLE,
            "Busy",
            "Too many requests are being answered. Try again in a few seconds.",
        );
    };
    let (parts, body) = request.into_parts();
    match (parts.method, parts.uri.path()) {
        (Method::GET | Method::HEAD, "/style.css") => {
            let mut style = answer(StatusCode::OK, "text/css; charset=utf-8", html::STYLE.to_owned());
            style.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
            style
        }
        (Method::GET | Method::HEAD, path) => server.page(path, &parts.headers, parts.uri.query()).await,
        (Method::POST, "/session") => server.sign_in(&parts.headers, body).await,
        (Method::POST, "/session-end") => server.sign_out(&parts.headers),
        _ => refused(StatusCode::METHOD_NOT_ALLOWED, "Not possible", "Nothing can be changed here."),
    }
}

/// A page that says why there is no other.
fn refused(status: StatusCode, title: &str, words: &str) -> Response<Body> {
    let mut response = answer(status, HTML, html::notice(title, words).into_string());
    if [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&status) {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}

fn unknown() -> Response<Body> {
    refused(
        StatusCode::NOT_FOUND,
        "Not found",
        "There is no such page or object, or you may not list objects of its kind in its namespace.",
    )
}

fn ask_who(problem: Option<&str>) -> Response<Body> {
    let mut response = answer(StatusCode::UNAUTHORIZED, HTML, html::sign_in(problem).into_string());
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"gangmatch\""));
    response
}

fn denied(why: &Denied) -> Response<Body> {
    match why {
        Denied::NotAuthenticated => ask_who(Some("The API server does not accept this token. It may have expired.")),
        Denied::TooMany => {
            refused(StatusCode::TOO_MANY_REQUESTS, "Too many requests", "Wait a few seconds, then reload the page.")
        }
        Denied::Unavailable(words) => refused(StatusCode::SERVICE_UNAVAILABLE, "Not available", words),
    }
}

fn see_other(to: &'static str, cookie: &str) -> Response<Body> {
    let mut response = answer(StatusCode::SEE_OTHER, HTML, String::new());
    response.headers_mut().insert(LOCATION, HeaderValue::from_static(to));
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

impl Server {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Looks at the seats of all Licenses for ever, now and then.
    async fn follow_seats(&self) {
        let mut ticks = interval(Duration::from_secs(EVERY_SECONDS));
        loop {
            ticks.tick().await;
            if self.source.health.is_synced() {
                let picture = self.picture();
                let mut history = History::clone(&self.history.lock());
                history.sample(picture.licenses.iter().map(Arc::as_ref));
                *self.history.lock() = Arc::new(history);
            }
        }
    }

    /// What the cache holds, or held a moment ago.
    fn picture(&self) -> Arc<Picture> {
        let mut last = self.picture.lock();
        if let Some((_, picture)) = last.as_ref().filter(|(made, _)| made.elapsed() < PICTURE_AGE) {
            return picture.clone();
        }
        let (history, now) = (self.history.lock().clone(), self.source.clock.now());
        let picture = Arc::new(Picture::of(&self.source.cache.lock(), history, now));
        *last = Some((Instant::now(), picture.clone()));
        picture
    }

    async fn page(&self, path: &str, headers: &HeaderMap, query: Option<&str>) -> Response<Body> {
        let of_session = session(headers).and_then(|number| self.sessions.lock().token(number, self.now_ms()));
        let has_session = bearer(headers).is_none() && of_session.is_some();
        let Some(token) = bearer(headers).map(str::to_owned).or(of_session) else { return ask_who(None) };
        if !self.source.health.is_synced() {
            return denied(&Denied::Unavailable("This replica has just started, and reads the cluster.".to_owned()));
        }
        let query = Query::parse(query.unwrap_or_default());
        match self.viewed(&token, path, &query, has_session).await {
            Ok(Some(page)) => answer(StatusCode::OK, HTML, page.into_string()),
            Ok(None) => unknown(),
            Err(why) => denied(&why),
        }
    }

    /// The page for the viewer with this token; none if there is none, or if the viewer may not see it.
    async fn viewed(
        &self,
        token: &str,
        path: &str,
        query: &Query,
        has_session: bool,
    ) -> Result<Option<Markup>, Denied> {
        let viewer = self.access.viewer(token).await?;
        let picture = self.picture();
        let sight = self.access.sight(&viewer, &concerned(&picture, path, query)).await?;
        Ok(render(&picture, &sight, path, query, &viewer, has_session))
    }

    async fn sign_in(&self, headers: &HeaderMap, body: Body) -> Response<Body> {
        if !is_own_form(headers) {
            return refused(StatusCode::FORBIDDEN, "Refused", "This form was sent by another site.");
        }
        let Ok(form) = to_bytes(body, 3 * TOKEN_MAX).await else {
            return refused(StatusCode::PAYLOAD_TOO_LARGE, "Too long", "No token is that long.");
        };
        let token = form_urlencoded::parse(&form).find(|(name, _)| name == "token").map(|(_, token)| token);
        let token = token.as_deref().map(str::trim).filter(|token| is_token(token));
        let Some(token) = token else { return ask_who(Some("This is no token: a token is one word, without spaces.")) };
        let viewer = match self.access.viewer(token).await {
            Ok(viewer) => viewer,
            Err(why) => return denied(&why),
        };
        let Ok(number) = new_number() else {
            return refused(StatusCode::INTERNAL_SERVER_ERROR, "No session", "The system has no random numbers.");
        };
        self.sessions.lock().begin(&number, token, &viewer.name, self.now_ms());
        see_other("./", &cookie(Some(&number), headers))
    }

    fn sign_out(&self, headers: &HeaderMap) -> Response<Body> {
        if let Some(number) = session(headers).filter(|_| is_own_form(headers)) {
            self.sessions.lock().end(number);
        }
        see_other("./", &cookie(None, headers))
    }
}

/// The namespaces about which a page needs to know what the viewer may list in them, by kind.
fn concerned(picture: &Picture, path: &str, query: &Query) -> BTreeMap<Kind, BTreeSet<String>> {
    let Some(namespace) = &query.namespace else {
        return Kind::ALL.into_iter().map(|kind| (kind, picture.namespaces(kind))).collect();
    };
    let mut all = BTreeSet::from([namespace.clone()]);
    let name = query.name.as_deref().unwrap_or_default();
    let match_name = match path {
        "/match" => Some(name),
        "/job" => {
            find(&picture.jobs, namespace, name).and_then(|job| job.claim()).map(|claim| claim.match_name.as_str())
        }
        _ => None,
    };
    let found = match_name.and_then(|name| find(&picture.matches, namespace, name));
    let members = found.into_iter().flat_map(|found| &found.spec.members);
    all.extend(members.map(|member| member.namespace.clone()).take(RELATED_MAX));
    Kind::ALL.into_iter().map(|kind| (kind, all.clone())).collect()
}

/// The page of a path; none if there is none, or if the viewer may not see it.
pub(super) fn render(
    picture: &Picture,
    sight: &Sight,
    path: &str,
    query: &Query,
    viewer: &Viewer,
    has_session: bool,
) -> Option<Markup> {
    let frame = |here: Here| Frame {
        here,
        viewer: viewer.name.clone(),
        has_session,
        is_partial: sight.is_partial,
        namespace: query.namespace.clone(),
        taken_at: picture.taken_at,
    };
    let (namespace, name) = (query.namespace.as_deref().unwrap_or_default(), query.name.as_deref().unwrap_or_default());
    let page = match path {
        "/" => {
            let seen = overview::overview(picture, sight, query.namespace.as_deref());
            html::overview(&frame(Here::Overview), query, &seen)
        }
        "/jobs" => html::jobs(&frame(Here::Jobs), query, &jobs::jobs(picture, sight, query)),
        "/machines" => html::machines(&frame(Here::Machines), query, &offers::machines(picture, sight, query)),
        "/licenses" => html::licenses(&frame(Here::Licenses), query, &offers::licenses(picture, sight, query)),
        "/job" => html::job(&frame(Here::Other), &jobs::job(picture, sight, namespace, name)?),
        "/match" => html::gang(&frame(Here::Other), &GangView::of(picture, sight, namespace, name)?),
        "/offer" => {
            let kind = query.kind.as_deref().unwrap_or_default();
            html::offer(&frame(Here::Other), &offers::offer(picture, sight, kind, namespace, name)?)
        }
        _ => return None,
    };
    Some(page)
}
