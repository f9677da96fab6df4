//! The page for people: each viewer sees what that viewer may list, and nobody else sees anything.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use testbed::product;

use crate::stage::{LIMIT, Namespace, Stage, job, license, machine};

/// An answer: its status, its headers in lower case, its text.
struct Answer {
    status: u16,
    headers: String,
    text: String,
}

/// Sends a request with these header lines and this body.
fn send(address: &str, request: &str, headers: &[String], body: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    let length = body.len();
    write!(
        stream,
        "{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (headers, text) = answer.split_once("\r\n\r\n").unwrap();
    let status = headers.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, headers: headers.to_lowercase(), text: text.to_owned() }
}

/// A page, with a token; waits while there were too many requests.
fn get(address: &str, path: &str, token: &str) -> Answer {
    testbed::until("an answer", LIMIT, || Ok(Some(ask(address, path, token)).filter(|answer| answer.status != 429)))
        .unwrap()
}

/// A page, with a token.
fn ask(address: &str, path: &str, token: &str) -> Answer {
    send(address, &format!("GET {path}"), &[format!("Authorization: Bearer {token}")], "")
}

/// A ServiceAccount with the role `view` in its namespace; its token.
fn viewer(here: &Namespace) -> String {
    here.kubectl(&["create", "serviceaccount", "viewer"], None);
    let account = format!("--serviceaccount={}:viewer", here.name);
    here.kubectl(&["create", "rolebinding", "viewer", "--clusterrole=view", &account], None);
    here.kubectl(&["create", "token", "viewer"], None).trim().to_owned()
}

/// The address of the page, as the log says it.
fn page_address(log: &std::path::Path) -> String {
    testbed::until("the page", LIMIT, || {
        let text = fs::read_to_string(log)?;
        let line = text.lines().find(|line| line.contains("serving the page"));
        let address = line.and_then(|line| line.split("127.0.0.1:").nth(1));
        let port: Option<String> = address.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect());
        Ok(port.map(|port| format!("127.0.0.1:{port}")))
    })
    .unwrap()
}

#[test]
fn two_tenants_see_what_they_may_list_and_nobody_else_sees_anything() {
    let stage = Stage::own_with(&["page-a", "page-b"], &[]);
    let [a, b] = ["page-a", "page-b"].map(|name| Namespace { stage, name: name.to_owned() });
    product::install_chart(a.access(), &["page.enabled=true"]).unwrap();
    let kubeconfig = product::controller_kubeconfig(a.access()).unwrap();
    stage.controller.end(testbed::control_plane::processes::Signal::Terminate).unwrap();
    let controller = product::start_controller(a.access(), &kubeconfig, &["--page=127.0.0.1:0"]).unwrap();
    let page = page_address(&controller.log());
    // A gang and a job that waits with a hostile condition in one namespace, one job in the other.
    a.apply(&[machine("m-of-a"), license("l-of-a", "sim", 1, 1), job("claimed-of-a", "sim")].concat());
    let hostile = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": "hostile-of-a"},
        "spec": {"constraint": "other.Name == \"<script>alert(1)</script>\u{202e}\""}});
    a.apply(&hostile.to_string());
    b.apply(&job("waits-of-b", "none"));
    a.wait("gmj/claimed-of-a", "Claimed");
    a.wait_reason("gmj/hostile-of-a", "Matched", "NoCandidates");
    b.wait_reason("gmj/waits-of-b", "Matched", "NoCandidates");
    let (of_a, of_b) = (viewer(&a), viewer(&b));
    // Rights and the picture of the page are a moment behind.
    let seen = a.until("the job on the page", || {
        let seen = get(&page, "/jobs", &of_a);
        (seen.status == 200 && seen.text.contains("hostile-of-a")).then_some(seen)
    });
    assert!(seen.text.contains("claimed-of-a") && !seen.text.contains("of-b") && !seen.text.contains("page-b"));
    nobody_else_sees_anything(&page);
    what_is_shown_is_text(&page, &of_a);
    // The other tenant sees the other job, and no trace of the first.
    let paths = ["/", "/jobs", "/machines", "/licenses", "/?namespace=page-a", "/jobs?namespace=page-a&state=Claimed"];
    for path in paths {
        let seen = get(&page, path, &of_b);
        assert_eq!(seen.status, 200, "{path}: {}", seen.text);
        let rest = seen.text.replace("namespace=page-a", "").replace("value=\"page-a\"", "");
        assert!(!rest.contains("of-a") && !rest.contains("page-a"), "{path}: {}", seen.text);
    }
    assert!(get(&page, "/jobs", &of_b).text.contains("waits-of-b"));
    // What one may not list looks like what does not exist.
    let absent = get(&page, "/job?namespace=page-a&name=absent", &of_b);
    for path in ["/job?namespace=page-a&name=claimed-of-a", "/offer?kind=license&namespace=page-a&name=l-of-a"] {
        let seen = get(&page, path, &of_b);
        assert_eq!((seen.status, seen.text), (404, absent.text.clone()), "{path}");
    }
    a_session_is_begun_with_a_form(&page, &of_a);
    requests_of_one_viewer_are_limited(&page, &of_b);
    assert_eq!(get(&page, "/jobs", &of_a).status, 200, "others are not");
    // The rights of the chart suffice: nothing was refused.
    let log = fs::read_to_string(controller.log()).unwrap();
    assert!(!log.contains("did not review a viewer") && !log.contains(&of_a), "{log}");
    // Without the page, the controller may not ask about others.
    let may = |verb: &str| {
        let config = kubeconfig.display().to_string();
        a.access().kubectl(&["--kubeconfig", &config, "auth", "can-i", "create", verb], None).unwrap().status.success()
    };
    assert!(may("tokenreviews.authentication.k8s.io") && may("subjectaccessreviews.authorization.k8s.io"));
    product::install_chart(a.access(), &["page.enabled=false"]).unwrap();
    a.until("its right to be taken", || (!may("tokenreviews.authentication.k8s.io")).then_some(()));
    assert!(!may("subjectaccessreviews.authorization.k8s.io"));
}

fn nobody_else_sees_anything(page: &str) {
    for (path, headers) in [
        ("/", vec![]),
        ("/jobs", vec!["Authorization: Bearer forged".to_owned()]),
        ("/match?namespace=page-a&name=x", vec!["Cookie: gangmatch-session=0123".to_owned()]),
    ] {
        let answer = send(page, &format!("GET {path}"), &headers, "");
        assert_eq!(answer.status, 401, "{path}");
        assert!(answer.headers.contains("www-authenticate: bearer") && answer.text.contains("kubectl create token"));
        assert!(!answer.text.contains("of-a") && !answer.text.contains("of-b"), "{}", answer.text);
    }
    for request in ["POST /", "DELETE /jobs", "OPTIONS /jobs", "PUT /job"] {
        assert_eq!(send(page, request, &[], "").status, 405, "{request}");
    }
    let style = send(page, "GET /style.css", &[], "");
    assert!(style.status == 200 && style.headers.contains("content-type: text/css"));
}

fn what_is_shown_is_text(page: &str, token: &str) {
    let hostile = get(page, "/job?namespace=page-a&name=hostile-of-a", token);
    assert_eq!(hostile.status, 200);
    assert!(hostile.text.contains("&lt;script&gt;") && !hostile.text.contains("<script"), "{}", hostile.text);
    assert!(!hostile.text.contains('\u{202e}'), "{}", hostile.text);
    for header in [
        "content-security-policy: default-src 'none'",
        "frame-ancestors 'none'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cache-control: no-store",
    ] {
        assert!(hostile.headers.contains(header), "{header}: {}", hostile.headers);
    }
    assert!(!hostile.headers.contains("access-control") && !hostile.headers.contains("set-cookie"));
    let claimed = get(page, "/job?namespace=page-a&name=claimed-of-a", token).text;
    assert!(claimed.contains("<svg class=\"tree\"") && claimed.contains("offer?kind=license"), "{claimed}");
    let offer = get(page, "/offer?kind=license&namespace=page-a&name=l-of-a", token).text;
    assert!(offer.contains("Only jobs of its own namespace, page-a, can claim it."), "{offer}");
}

fn a_session_is_begun_with_a_form(page: &str, token: &str) {
    let foreign = send(page, "POST /session", &["Origin: http://evil.example".to_owned()], &format!("token={token}"));
    assert_eq!(foreign.status, 403);
    assert_eq!(send(page, "POST /session", &[], "token=forged").status, 401);
    let begun = send(page, "POST /session", &[format!("Origin: http://{page}")], &format!("token={token}"));
    assert_eq!(begun.status, 303, "{}", begun.text);
    let cookie = begun.headers.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap().to_owned();
    assert!(cookie.contains("httponly; samesite=strict") && !cookie.contains(&token.to_lowercase()), "{cookie}");
    let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
    let seen = send(page, "GET /jobs", std::slice::from_ref(&cookie), "");
    assert!(seen.status == 200 && seen.text.contains("claimed-of-a") && seen.text.contains("Sign out"));
    assert_eq!(send(page, "POST /session-end", std::slice::from_ref(&cookie), "").status, 303);
    assert_eq!(send(page, "GET /jobs", &[cookie], "").status, 401);
}

fn requests_of_one_viewer_are_limited(page: &str, token: &str) {
    let answers: Vec<Answer> = (0..300).map(|_| ask(page, "/jobs", token)).collect();
    let limited = answers.iter().find(|answer| answer.status == 429).expect("a limit");
    assert!(limited.headers.contains("retry-after: "), "{}", limited.headers);
}
