//! What a request says of the viewer, and what an answer tells the browser.

use axum::body::Body;
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, ORIGIN, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};

use super::sessions::LASTS_SECONDS;

/// Nothing is loaded but the style sheet, no script runs, and no other page may show this one.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// The name of the cookie with the session number.
const SESSION: &str = "gangmatch-session";
/// No token is longer.
pub(super) const TOKEN_MAX: usize = 16 * 1024;

/// What is said to the browser with every answer.
const ALWAYS: [(HeaderName, &str); 6] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// An answer with the headers of all answers.
pub(super) fn answer(status: StatusCode, media_type: &'static str, text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    // What one viewer may see is kept for no other.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The token in the header `Authorization`.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    Some(token.trim()).filter(|token| scheme.eq_ignore_ascii_case("bearer") && is_token(token))
}

/// Whether a text can be a token at all.
pub(super) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.len() <= TOKEN_MAX && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The session number in the cookie.
pub(super) fn session(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == SESSION).map(|(_, value)| value)
}

/// The cookie with a session number; without one, it is removed. Except on this machine itself, it is sent by TLS only.
pub(super) fn cookie(number: Option<&str>, headers: &HeaderMap) -> String {
    let lasts = if number.is_some() { LASTS_SECONDS } else { 0 };
    let secure = if is_local(headers) { "" } else { "; Secure" };
    format!("{SESSION}={}; HttpOnly; SameSite=Strict; Max-Age={lasts}{secure}", number.unwrap_or_default())
}

fn is_local(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    ["localhost", "127.0.0.1", "[::1]"].contains(&name)
}

/// Whether a form was sent by a page of this server, as far as the browser says.
pub(super) fn is_own_form(headers: &HeaderMap) -> bool {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    match (text(ORIGIN), text(HOST)) {
        (None, _) => true,
        (Some(origin), Some(host)) => origin.split_once("://").is_some_and(|(_, from)| from == host),
        (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        let value = |text: &str| HeaderValue::from_str(text).unwrap();
        all.iter().map(|(name, text)| (HeaderName::from_static(name), value(text))).collect()
    }

    #[test]
    fn a_token_is_read_from_its_header_alone() {
        assert_eq!(bearer(&headers(&[("authorization", "Bearer abc.def")])), Some("abc.def"));
        assert_eq!(bearer(&headers(&[("authorization", "bearer abc")])), Some("abc"));
        for odd in ["Basic abc", "Bearer", "Bearer ", "Bearer a b", "abc"] {
            assert_eq!(bearer(&headers(&[("authorization", odd)])), None, "{odd}");
        }
        assert_eq!(bearer(&headers(&[("authorization", &format!("Bearer {}", "x".repeat(TOKEN_MAX + 1)))])), None);
        assert_eq!(session(&headers(&[("cookie", "a=b; gangmatch-session=12; c=d")])), Some("12"));
        assert_eq!(session(&headers(&[("cookie", "xgangmatch-session=12")])), None);
    }

    #[test]
    fn a_cookie_leaves_this_machine_by_tls_only() {
        let local = cookie(Some("12"), &headers(&[("host", "localhost:8081")]));
        assert_eq!(local, "gangmatch-session=12; HttpOnly; SameSite=Strict; Max-Age=3600");
        assert!(cookie(Some("12"), &headers(&[("host", "gangmatch.example.org")])).ends_with("; Secure"));
        assert!(cookie(None, &headers(&[])).contains("Max-Age=0"));
    }

    #[test]
    fn a_form_of_another_site_is_not_taken() {
        let from = |origin| is_own_form(&headers(&[("host", "localhost:8081"), ("origin", origin)]));
        assert!(from("http://localhost:8081") && is_own_form(&headers(&[("host", "localhost:8081")])));
        assert!(!from("http://localhost:3000") && !from("null") && !from("https://evil.example"));
    }

    #[test]
    fn every_answer_forbids_scripts_and_frames() {
        let answer = answer(StatusCode::OK, "text/html", String::new());
        let policy = answer.headers().get(CONTENT_SECURITY_POLICY).unwrap().to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains("script-src"), "{policy}");
        assert_eq!(answer.headers().get(X_CONTENT_TYPE_OPTIONS).unwrap(), "nosniff");
        assert_eq!(answer.headers().get(CACHE_CONTROL).unwrap(), "no-store");
        assert!(answer.headers().keys().all(|name| !name.as_str().starts_with("access-control")));
    }
}
