//! One look at the host, and at what commands print, into what was measured.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use jiff::Timestamp;
use tokio::process::Command;
use tokio::time::timeout;

use crate::config::Config;
use crate::host::{self, Memory, Texts};
use crate::lmstat;
use crate::value::Raw;

/// A command that takes longer has said nothing.
const COMMAND_MAX: Duration = Duration::from_secs(15);

/// What a look has found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// Attributes, by name.
    pub(crate) attributes: BTreeMap<String, Raw>,
    /// What is in use of the license; none if no command measures it.
    pub(crate) seats: Option<Seats>,
    /// What could not be measured, and why.
    pub(crate) failures: Vec<String>,
}

/// Seats in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seats {
    /// As the licence server says.
    Said(lmstat::Usage),
    /// So many are used outside the cluster.
    External(i64),
}

/// Looks at everything.
pub(crate) async fn measure(config: &Config, memory: &mut Memory) -> Measured {
    let attributes = host::attributes(&texts(&config.proc), memory, Timestamp::now().as_second());
    let mut found = Measured { attributes, ..Measured::default() };
    for (name, command) in &config.attribute {
        match printed(command).await {
            Ok(text) => {
                let line = text.lines().next().unwrap_or("").to_owned();
                found.attributes.insert(name.clone(), Raw::Text(line));
            }
            Err(why) => found.failures.push(format!("attribute {name}: {why}")),
        }
    }
    let seats = match (&config.license.lmstat, &config.license.feature, &config.license.external_usage) {
        (Some(command), Some(feature), _) => {
            let said = printed(command).await;
            Some(said.and_then(|text| lmstat::read(&text, feature)).map(Seats::Said))
        }
        (_, _, Some(command)) => {
            let number = |text: String| {
                text.trim().parse().map_err(|_| format!("`{command}` prints `{}`, which is not a number", text.trim()))
            };
            Some(printed(command).await.and_then(number).map(Seats::External))
        }
        _ => None,
    };
    match seats {
        Some(Ok(seats)) => found.seats = Some(seats),
        Some(Err(why)) => found.failures.push(why),
        None => {}
    }
    found
}

fn texts(proc: &Path) -> Texts {
    let text = |name: &str| fs::read_to_string(proc.join(name)).unwrap_or_default();
    Texts {
        loadavg: text("loadavg"),
        meminfo: text("meminfo"),
        stat: text("stat"),
        interrupts: text("interrupts"),
        terminal: last_read(),
    }
}

/// When a terminal was last read from.
fn last_read() -> Option<i64> {
    let terminals = ["/dev", "/dev/pts"].into_iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let is_terminal = |entry: &fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = name.strip_prefix("tty").unwrap_or(&name);
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    terminals.filter(is_terminal).filter_map(|entry| entry.metadata().ok()).map(|found| found.atime()).max()
}

/// What a command prints. A licence server that is down makes lmstat fail and say so: that is worth reading, too.
async fn printed(command: &str) -> Result<String, String> {
    let mut run = Command::new("sh");
    run.args(["-c", command]).stdin(Stdio::null()).kill_on_drop(true);
    let output = match timeout(COMMAND_MAX, run.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(format!("`{command}` does not start: {error}")),
        Err(_) => return Err(format!("`{command}` has not ended within {} s", COMMAND_MAX.as_secs())),
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() || !text.trim().is_empty() {
        true => Ok(text),
        false => {
            let said = String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("nothing").to_owned();
            Err(format!("`{command}` failed; it printed: {said}"))
        }
    }
}
