//! The pages of a large pool in a browser: what it loads, whether everything fits, can be read, and can be reached by keyboard and screen
//! reader. It takes minutes, and runs on demand: with `GANGMATCH_PAGES=FOLDER`, where pictures of them are written.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};

use axum::http::StatusCode;
use serde_json::Value;

use super::browser::Browser;
use super::headers::answer;
use super::{html, large_tests};

/// Windows, and what the viewer prefers.
const WINDOWS: [((u32, u32), &str); 3] = [((1280, 900), "light"), ((1280, 900), "dark"), ((380, 800), "light")];
/// What does not fit into the width, and texts whose contrast is below 4.5 (WCAG 2, level AA).
const LOOK: &str = r"(() => {
    const numbers = color => {
        const all = (color.match(/[\d.]+/g) || []).map(Number);
        return color.startsWith('color(') ? all.map((value, place) => place < 3 ? value * 255 : value) : all;
    };
    const light = color => {
        const [r, g, b] = color.map(value => value / 255).map(value => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = element => {
        for (; element; element = element.parentElement) {
            const color = numbers(getComputedStyle(element).backgroundColor);
            if (color.length === 3 || color[3] === 1) return color;
        }
        return [255, 255, 255];
    };
    const faint = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const text = walk.currentNode.textContent.trim(), element = walk.currentNode.parentElement;
        if (!text || element.closest('svg, .skip, option')) continue;
        const [one, other] = [light(numbers(getComputedStyle(element).color)), light(behind(element))];
        const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        if (contrast < 4.5) faint.push(contrast.toFixed(2) + ': ' + text.slice(0, 40));
    }
    const outside = [...document.body.querySelectorAll('*')].filter(element =>
        !element.closest('.scroll, svg, .skip') && element.getBoundingClientRect().right > innerWidth + 1);
    const beyond = outside.slice(-5).map(element => element.tagName + ' ' + element.className + ': ' + element.textContent.trim().slice(0, 40));
    return { faint, beyond, wide: document.documentElement.scrollWidth - innerWidth, headings: document.querySelectorAll('h1').length };
})()";
/// Roles that are nothing without a name.
const NAMED: [&str; 7] = ["link", "button", "textbox", "combobox", "image", "navigation", "search"];

/// Serves these pages with the headers of the page; answers the address.
fn serve(pages: Vec<(&'static str, String)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            reply(stream.unwrap(), &pages);
        }
    });
    address
}

fn reply(mut stream: TcpStream, pages: &[(&'static str, String)]) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    // A browser also opens connections that it does not use.
    let Some(request) = lines.next() else { return };
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let found =
        pages.iter().find(|(name, _)| *name == path).map(|(_, page)| ("text/html; charset=utf-8", page.as_str()));
    let found = found.or_else(|| (path == "style.css").then_some(("text/css; charset=utf-8", html::STYLE)));
    let (status, (media_type, text)) =
        found.map_or((StatusCode::NOT_FOUND, ("text/plain", "")), |found| (StatusCode::OK, found));
    let head = answer(status, media_type, String::new());
    let mut reply = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n", text.len());
    for (name, value) in head.headers() {
        reply.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap()));
    }
    stream.write_all(format!("{reply}\r\n{text}").as_bytes()).ok();
}

#[test]
fn a_browser_shows_every_page_of_a_large_pool_whole_and_to_everybody() {
    if std::env::var_os("GANGMATCH_PAGES").is_none() {
        eprintln!("SKIPPED, NOTHING WAS TESTED: set GANGMATCH_PAGES to a folder for the pictures");
        return;
    }
    let Some(mut browser) = Browser::start() else {
        eprintln!("SKIPPED, NOTHING WAS TESTED: there is no Chromium that starts");
        return;
    };
    let pages = large_tests::pages();
    let names: Vec<&str> = pages.iter().map(|(name, _)| *name).collect();
    let address = serve(pages);
    let folder = std::env::var_os("GANGMATCH_PAGES").map(std::path::PathBuf::from);
    for (name, (window, scheme)) in names.into_iter().flat_map(|name| WINDOWS.map(|window| (name, window))) {
        let what = format!("{name}-{}-{scheme}", window.0);
        let events = browser.open(&format!("{address}/{name}"), window, scheme);
        loads_nothing_from_elsewhere(&what, &address, &events);
        let seen = browser.value(LOOK);
        assert_eq!((&seen["wide"], &seen["headings"]), (&0.into(), &1.into()), "{what}: {seen}");
        assert_eq!(seen["faint"], Value::Array(Vec::new()), "{what}");
        everything_has_a_name(&what, &mut browser);
        let picture = browser.picture();
        assert!(picture.starts_with(b"\x89PNG") && picture.len() > 5_000, "{what}: {} bytes", picture.len());
        if let Some(folder) = &folder {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join(format!("{what}.png")), picture).unwrap();
        }
    }
    is_used_by_keyboard(&mut browser, &address);
}

fn loads_nothing_from_elsewhere(what: &str, address: &str, events: &[Value]) {
    for event in events {
        let parameters = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                let asked = parameters["request"]["url"].as_str().unwrap();
                assert!(asked.starts_with(address) || asked.starts_with("data:"), "{what} loads {asked}");
            }
            "Network.loadingFailed" | "Log.entryAdded" => panic!("{what}: {parameters}"),
            _ => {}
        }
    }
}

/// A screen reader has something to say of each link, field, picture and landmark.
fn everything_has_a_name(what: &str, browser: &mut Browser) {
    let tree = browser.ask("Accessibility.getFullAXTree", serde_json::json!({}));
    let nodes = tree["nodes"].as_array().unwrap();
    let shown = nodes.iter().filter(|node| node["ignored"] != true);
    let of_role = |node: &&Value| NAMED.contains(&node["role"]["value"].as_str().unwrap_or_default());
    let (named, unnamed): (Vec<&Value>, Vec<&Value>) = shown
        .filter(of_role)
        .partition(|node| node["name"]["value"].as_str().is_some_and(|name| !name.trim().is_empty()));
    assert!(unnamed.is_empty() && !named.is_empty(), "{what}: {unnamed:?}");
}

/// The first thing that Tab reaches leads past the navigation, and what is reached can be seen.
fn is_used_by_keyboard(browser: &mut Browser, address: &str) {
    browser.open(&format!("{address}/overview"), (1280, 900), "light");
    let focus = "(() => { const at = document.activeElement, seen = at.getBoundingClientRect(); \
                 return { text: at.textContent, left: seen.left, outline: getComputedStyle(at).outlineStyle }; })()";
    let reached: Vec<Value> = (0..3)
        .map(|_| {
            browser.tab();
            browser.value(focus)
        })
        .collect();
    let texts: Vec<&str> = reached.iter().filter_map(|at| at["text"].as_str()).collect();
    assert_eq!(texts, ["Skip to content", "Overview", "Jobs"]);
    for at in &reached {
        assert!(at["left"].as_f64().unwrap() >= 0.0 && at["outline"] != "none", "{at}");
    }
}
