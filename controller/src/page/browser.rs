//! A headless Chromium for tests, which is told what to do through a pipe.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The browser reads from descriptor 3 and writes to descriptor 4.
const START: &str = r#"exec "$0" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --hide-scrollbars \
    --user-data-dir="$1" --remote-debugging-pipe about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1"#;
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A browser with one page. It ends when this is dropped.
pub(super) struct Browser {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    session: String,
    last: u64,
    /// What it has reported since it was asked last.
    events: Vec<Value>,
    profile: PathBuf,
}

impl Browser {
    /// The browser of this machine, if there is one that starts. It needs many gigabytes of address space.
    pub(super) fn start() -> Option<Browser> {
        let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
        let program = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        let program = program.into_iter().find(|path| path.is_file())?;
        let profile = std::env::temp_dir().join(format!("gangmatch-browser-{}", std::process::id()));
        let mut command = Command::new("sh");
        command.args(["-c", START]).arg(program).arg(&profile).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (requests, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let (session, events) = (String::new(), Vec::new());
        let mut browser = Browser { child, requests, answers, session, last: 0, events, profile };
        let target = browser.try_ask("Target.createTarget", &json!({"url": "about:blank"}))?;
        let target = json!({"targetId": target["targetId"], "flatten": true});
        browser.session = browser.ask("Target.attachToTarget", target)["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Log", "Network", "Accessibility"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Does one thing; answers its result.
    pub(super) fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.try_ask(method, &parameters).expect("the browser has ended")
    }

    /// The same. None if the browser has ended.
    fn try_ask(&mut self, method: &str, parameters: &Value) -> Option<Value> {
        self.last += 1;
        let mut request = json!({"id": self.last, "method": method, "params": parameters});
        if !self.session.is_empty() {
            request["sessionId"] = self.session.clone().into();
        }
        self.requests.write_all(format!("{request}\0").as_bytes()).ok()?;
        loop {
            let message = self.message()?;
            if message["id"] == self.last {
                assert!(message["error"].is_null(), "{method}: {message}");
                return Some(message["result"].clone());
            }
            self.events.push(message);
        }
    }

    /// What it says next. None if it has ended.
    fn message(&mut self) -> Option<Value> {
        let mut text = Vec::new();
        self.answers.read_until(0, &mut text).ok()?;
        text.pop()?;
        Some(serde_json::from_slice(&text).unwrap())
    }

    /// Opens a page in a window of this size; answers what was reported while it was loaded.
    pub(super) fn open(&mut self, address: &str, (width, height): (u32, u32), scheme: &str) -> Vec<Value> {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", size);
        let scheme = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.ask("Emulation.setEmulatedMedia", json!({ "features": scheme }));
        self.events.clear();
        self.ask("Page.navigate", json!({ "url": address }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let message = self.message().expect("the browser has ended");
            self.events.push(message);
        }
        std::mem::take(&mut self.events)
    }

    /// The value of an expression of JavaScript on the page.
    pub(super) fn value(&mut self, expression: &str) -> Value {
        let answer = self.ask("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        assert!(answer["exceptionDetails"].is_null(), "{answer}");
        answer["result"]["value"].clone()
    }

    /// Presses the key Tab.
    pub(super) fn tab(&mut self) {
        for kind in ["rawKeyDown", "keyUp"] {
            let key = json!({"type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9});
            self.ask("Input.dispatchKeyEvent", key);
        }
    }

    /// A picture of the window, as PNG.
    pub(super) fn picture(&mut self) -> Vec<u8> {
        bytes(self.ask("Page.captureScreenshot", json!({"format": "png"}))["data"].as_str().unwrap())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        std::fs::remove_dir_all(&self.profile).ok();
    }
}

/// What a text in base64 stands for.
fn bytes(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits: Vec<u32> = text
        .bytes()
        .filter_map(|letter| DIGITS.iter().position(|digit| *digit == letter))
        .map(|digit| u32::try_from(digit).unwrap())
        .collect();
    let group = |group: &[u32]| {
        let all = group.iter().fold(0, |all, digit| all << 6 | digit) << (6 * (4 - group.len()));
        all.to_be_bytes()[1..group.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}
