//! Requests into pages.

use std::collections::BTreeSet;
use std::net::{IpAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{CACHE_CONTROL, LOCATION, RETRY_AFTER, SET_COOKIE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use axum::serve::IncomingStream;
use crds::Job;
use kube::Client;
use maud::Markup;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::{Instant, interval};

use super::access::{Access, Denied, Namespaces};
use super::headers::{TOKEN_MAX, answer, bearer, cookie, is_own_form, is_token, session};
use super::history::{EVERY_SECONDS, History};
use super::html::{self, Frame, Here};
use super::picture::{Picture, find};
use super::sessions::{Sessions, new_number};
use super::sight::{Kind, Sight};
use super::view::gang::GangView;
use super::view::{Query, jobs, offers, overview};
use super::viewers::Viewer;
use crate::cache::Cache;
use crate::clock::Clock;
use crate::connections::Brief;
use crate::probes::Health;
use crate::write::requests::connect;

/// How old the picture of the cache may be: however many ask, it is made no more often.
const PICTURE_AGE: Duration = Duration::from_secs(2);
/// How many requests are worked on at once.
const REQUESTS_MAX: usize = 64;
/// How long a connection may last.
const CONNECTION: Duration = Duration::from_secs(30);
/// The most members about whose namespaces is asked for the page of one object.
const RELATED_MAX: usize = 16;

/// The pages that show objects of all namespaces, unless one is named.
const LISTS: [&str; 4] = ["/", "/jobs", "/machines", "/licenses"];

const HTML: &str = "text/html; charset=utf-8";

/// What the page is about, and where questions about rights go.
pub(crate) struct Source {
    pub(crate) cache: Arc<Cache>,
    pub(crate) health: Arc<Health>,
    pub(crate) clock: Clock,
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) identity: String,
}

/// The page: what it shows, who may see it, and how many requests are answered at a time.
pub(super) struct PageServer {
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
    let server = Arc::new(PageServer::new(source, client));
    let router = Router::new().fallback(handle).with_state(server.clone());
    let router = router.into_make_service_with_connect_info::<Peer>();
    tokio::select! {
        served = async { axum::serve(Brief::new(listener, CONNECTION), router).await } => Ok(served?),
        () = server.follow_seats() => Ok(()),
    }
}

/// The address from which a connection comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) IpAddr);

impl Connected<IncomingStream<'_, Brief>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Brief>) -> Peer {
        Peer(stream.remote_addr().ip())
    }
}

/// Answers one request.
pub(super) async fn handle(
    State(server): State<Arc<PageServer>>,
    ConnectInfo(Peer(from)): ConnectInfo<Peer>,
    request: Request,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let (path, headers) = (parts.uri.path(), &parts.headers);
    // A form is read before it takes a place: one that never ends keeps nobody waiting.
    let is_sign_in = parts.method == Method::POST && path == "/session";
    let form = if is_sign_in { to_bytes(body, 3 * TOKEN_MAX).await.ok() } else { None };
    let Ok(_permit) = server.busy.try_acquire() else {
        return refused(
            StatusCode::SERVICE_UNAVAILABLE,
            "Busy",
            "Too many requests are being answered. Try again in a few seconds.",
        );
    };
    match (parts.method, path) {
        (Method::GET | Method::HEAD, "/style.css") => {
            let mut style = answer(StatusCode::OK, "text/css; charset=utf-8", html::STYLE.to_owned());
            style.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
            style
        }
        (Method::GET | Method::HEAD, path) => server.page(path, headers, parts.uri.query(), from).await,
        (Method::POST, "/session") => server.sign_in(headers, form, from).await,
        (Method::POST, "/session-end") => server.sign_out(headers),
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

impl PageServer {
    pub(super) fn new(source: Source, client: Client) -> PageServer {
        PageServer {
            source,
            access: Access::new(client),
            sessions: Mutex::default(),
            picture: Mutex::default(),
            history: Mutex::default(),
            busy: Semaphore::new(REQUESTS_MAX),
            started: Instant::now(),
        }
    }

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

    async fn page(&self, path: &str, headers: &HeaderMap, query: Option<&str>, from: IpAddr) -> Response<Body> {
        let of_session = session(headers).and_then(|number| self.sessions.lock().token(number, self.now_ms()));
        let has_session = bearer(headers).is_none() && of_session.is_some();
        let Some(token) = bearer(headers).map(str::to_owned).or(of_session) else { return ask_who(None) };
        if !self.source.health.is_synced() {
            return denied(&Denied::Unavailable("This replica has just started, and reads the cluster.".to_owned()));
        }
        let query = Query::parse(query.unwrap_or_default());
        let admitted = match self.access.viewer(&token, from).await {
            Ok(admitted) => admitted,
            Err(why) => return denied(&why),
        };
        let picture = self.picture();
        match self.sight(&admitted.viewer, &picture, path, &query).await {
            Ok(sight) => match render(&picture, &sight, path, &query, &admitted.viewer, has_session) {
                Some(page) => answer(StatusCode::OK, HTML, page.into_string()),
                None => unknown(),
            },
            Err(why) => denied(&why),
        }
    }

    /// What a viewer may list of that which a page shows. Nothing is looked up of what the viewer may not see, so that what is asked, and
    /// the time that it takes, says nothing about it.
    async fn sight(&self, viewer: &Arc<Viewer>, picture: &Picture, path: &str, query: &Query) -> Result<Sight, Denied> {
        let Some(namespace) = &query.namespace else {
            if !LISTS.contains(&path) {
                return Ok(Sight::default());
            }
            let all = Kind::ALL.into_iter().map(|kind| (kind, picture.namespaces(kind))).collect();
            return self.access.sight_of_lists(viewer, &all).await;
        };
        let named = BTreeSet::from([namespace.clone()]);
        let named = Kind::ALL.into_iter().map(|kind| (kind, named.clone())).collect();
        let mut sight = self.access.sight_of_named(viewer, &named).await?;
        let name = query.name.as_deref().unwrap_or_default();
        let members = of_members(picture, &sight, path, namespace, name);
        sight.add(self.access.sight_of_named(viewer, &members).await?);
        Ok(sight)
    }

    async fn sign_in(&self, headers: &HeaderMap, form: Option<Bytes>, from: IpAddr) -> Response<Body> {
        if !is_own_form(headers) {
            return refused(StatusCode::FORBIDDEN, "Refused", "This form was sent by another site.");
        }
        let Some(form) = form else {
            return refused(StatusCode::PAYLOAD_TOO_LARGE, "Too long", "No token is that long.");
        };
        let token = form_urlencoded::parse(&form).find(|(name, _)| name == "token").map(|(_, token)| token);
        let token = token.as_deref().map(str::trim).filter(|token| is_token(token));
        let Some(token) = token else { return ask_who(Some("This is no token: a token is one word, without spaces.")) };
        let admitted = match self.access.viewer(token, from).await {
            Ok(admitted) => admitted,
            Err(why) => return denied(&why),
        };
        let Ok(number) = new_number() else {
            return refused(StatusCode::INTERNAL_SERVER_ERROR, "No session", "The system has no random numbers.");
        };
        self.sessions.lock().begin(&number, token, admitted.viewer.tenant(), self.now_ms());
        see_other("./", &cookie(Some(&number), headers))
    }

    fn sign_out(&self, headers: &HeaderMap) -> Response<Body> {
        if let Some(number) = session(headers).filter(|_| is_own_form(headers)) {
            self.sessions.lock().end(number);
        }
        see_other("./", &cookie(None, headers))
    }
}

/// The namespaces of the members of the gang that a page shows; none, if the viewer may not see the gang.
fn of_members(picture: &Picture, sight: &Sight, path: &str, namespace: &str, name: &str) -> Namespaces {
    let job = || find(&picture.jobs, namespace, name).filter(|_| sight.sees(Kind::Job, namespace));
    let match_name = match path {
        "/match" => Some(name),
        "/job" => job().and_then(Job::claim).map(|claim| claim.match_name.as_str()),
        _ => None,
    };
    let found = match_name.filter(|_| sight.sees(Kind::Match, namespace));
    let found = found.and_then(|name| find(&picture.matches, namespace, name));
    let mut all = Namespaces::new();
    for member in found.into_iter().flat_map(|found| &found.spec.members).take(RELATED_MAX) {
        if let Some(kind) = Kind::of(&member.kind).filter(|_| member.namespace != namespace) {
            all.entry(kind).or_default().insert(member.namespace.clone());
        }
    }
    all
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
