//! Turns the embedded API server, an executable, into a process with a kubeconfig: a cluster for demonstrations that needs no Go and
//! no containers.

use std::io::{Read as _, Write as _};
use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::control_plane::processes::{Afterwards, Place, Processes};
use crate::control_plane::{free_port, kubeconfig, pki, write_private};
use crate::polling::until;

/// How long it may take until it answers, on a busy machine.
const READY_MAX: Duration = Duration::from_secs(60);
const NAME: &str = "embedded-apiserver";
const ADDRESS: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// A running embedded API server. When it is dropped, or this program dies, it is ended, with all processes of its folder.
#[derive(Debug)]
pub struct EmbeddedServer {
    processes: Processes,
}

impl EmbeddedServer {
    /// Starts the executable and waits until it answers.
    ///
    /// # Errors
    /// When it does not start or does not answer; the error has the end of its log.
    pub fn start(executable: &Path) -> Result<Self> {
        let processes = Processes::create(&Place::Temporary, Afterwards::Remove)?;
        let server = Self { processes };
        let folder = server.processes.folder();
        let pki = pki::Pki::create(&folder.join("pki"), ADDRESS)?;
        let port = free_port()?;
        let cluster = kubeconfig::cluster((ADDRESS, port), &pki.file("ca.crt"))?;
        let mut tokens = String::new();
        for (user, file) in [("admin", server.kubeconfig()), ("gangmatch-controller", server.controller_kubeconfig())] {
            let token = pki::token()?;
            tokens.push_str(&format!("{token},{user}\n"));
            kubeconfig::write(&file, &cluster, &kubeconfig::by_token(&token))?;
        }
        write_private(&folder.join("tokens.csv"), &tokens)?;
        let file = |flag: &str, path: PathBuf| format!("--{flag}={}", path.display());
        let command = [
            executable.display().to_string(),
            format!("--port={port}"),
            file("certificate", pki.file("apiserver.crt")),
            file("key", pki.file("apiserver.key")),
            file("tokens", folder.join("tokens.csv")),
            file("socket", server.socket()),
        ];
        server.processes.start(NAME, &command, &[])?;
        let answers = until("the embedded API server", READY_MAX, || {
            if !server.processes.is_running(NAME) {
                bail!("the embedded API server ended by itself");
            }
            Ok(server.request("GET", "/readyz", None).is_ok().then_some(()))
        });
        answers.with_context(|| format!("the end of its log:\n{}", server.processes.log_tail(NAME)))?;
        Ok(server)
    }

    /// The kubeconfig of the user `admin`.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.processes.folder().join("kubeconfig")
    }

    /// The kubeconfig of the controller.
    #[must_use]
    pub fn controller_kubeconfig(&self) -> PathBuf {
        self.processes.folder().join("controller.kubeconfig")
    }

    /// The processes that end with this.
    #[must_use]
    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// Whether it has not ended.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.processes.is_running(NAME)
    }

    fn socket(&self) -> PathBuf {
        self.processes.folder().join("apiserver.sock")
    }

    /// Asks it as `admin`, with a body as JSON; answers the status and the body.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Result<(u16, String)> {
        let mut stream = UnixStream::connect(self.socket())?;
        stream.set_read_timeout(Some(READY_MAX))?;
        let body = body.map(Value::to_string).unwrap_or_default();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let status = answer.split_whitespace().nth(1).and_then(|word| word.parse().ok()).context("no HTTP answer")?;
        let (head, body) = answer.split_once("\r\n\r\n").context("an HTTP answer without a body")?;
        if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
            bail!("the embedded API server answered `{method} {path}` in chunks");
        }
        Ok((status, body.to_owned()))
    }
}
