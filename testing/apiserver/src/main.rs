//! The API server as a program: on loopback by TLS, for users with tokens, and on a socket for the program that started it.
//!
//! It is for demonstrations and tests. Nothing is stored on disk, and rights are not checked.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use apiserver::{Answer, Kinds, Reply, Server, UserName};
use clap::Parser;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tower::Service as _;

/// The user of whoever can open the socket, which is in a folder that only its owner can read.
const ADMIN: &str = "admin";

/// An API server in one process, which serves the kinds of gangmatch. It stores nothing on disk, and does not check rights.
#[derive(Parser)]
struct Flags {
    /// The port on 127.0.0.1.
    #[arg(long)]
    port: u16,
    /// The certificate for TLS, as PEM.
    #[arg(long, value_name = "FILE")]
    certificate: PathBuf,
    /// Its key, as PEM.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The users: `TOKEN,NAME` on each line.
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,
    /// A socket on which the same is served without TLS, as the user `admin`.
    #[arg(long, value_name = "FILE")]
    socket: PathBuf,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let flags = Flags::parse();
    let server = Server::new(Arc::new(Kinds::new()), Timestamp::now());
    server.seed();
    let users = Arc::new(users(&flags.tokens)?);
    let tls = acceptor(&flags.certificate, &flags.key)?;
    let network = TcpListener::bind(("127.0.0.1", flags.port)).await?;
    let socket = UnixListener::bind(&flags.socket)?;
    let controllers = server.clone();
    tokio::spawn(async move { controllers.run_controllers().await });
    loop {
        tokio::select! {
            accepted = network.accept() => {
                let (stream, _) = accepted?;
                let (tls, server, users) = (tls.clone(), server.clone(), users.clone());
                tokio::spawn(async move {
                    // A client that does not speak TLS is no concern of the others.
                    if let Ok(stream) = tls.accept(stream).await {
                        serve(stream, server, move |headers| asker(&users, headers)).await;
                    }
                });
            }
            accepted = socket.accept() => {
                let (stream, _) = accepted?;
                tokio::spawn(serve(stream, server.clone(), |_| Some(ADMIN.to_owned())));
            }
        }
    }
}

/// Answers the requests of one connection until it ends.
async fn serve<S>(stream: S, server: Server, user: impl Fn(&HeaderMap) -> Option<String>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let answer = service_fn(|mut request: Request<Incoming>| {
        let user = user(request.headers());
        let server = server.clone();
        async move {
            server.set_time(Timestamp::now());
            let Some(user) = user else { return Ok::<Response<Reply>, Infallible>(Answer::unauthorized().response()) };
            request.extensions_mut().insert(UserName(user));
            server.service().call(request).await
        }
    });
    // A connection that breaks is the client's concern.
    http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await.ok();
}

/// Who asks: whose token it is, or as whom that user wants to ask.
fn asker(users: &BTreeMap<String, String>, headers: &HeaderMap) -> Option<String> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let own = users.get(text(AUTHORIZATION.as_str())?.strip_prefix("Bearer ")?)?;
    Some(text("impersonate-user").unwrap_or(own).to_owned())
}

/// Names by tokens.
fn users(file: &Path) -> Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let pair = |line: &str| line.split_once(',').map(|(token, name)| (token.to_owned(), name.trim().to_owned()));
    text.lines()
        .map(|line| pair(line).with_context(|| format!("{}: a line is not `TOKEN,NAME`", file.display())))
        .collect()
}

fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor> {
    let certificates: Vec<CertificateDer<'static>> =
        CertificateDer::pem_file_iter(certificate)?.collect::<Result<_, _>>()?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, PrivateKeyDer::from_pem_file(key)?)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_known_by_a_token_and_may_ask_as_another() {
        let users = BTreeMap::from([("secret".to_owned(), "admin".to_owned())]);
        let asker = |headers: &[(&'static str, &'static str)]| {
            let pairs = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
            asker(&users, &pairs.collect())
        };
        assert_eq!(asker(&[("authorization", "Bearer secret")]).as_deref(), Some("admin"));
        let as_zoe = [("authorization", "Bearer secret"), ("impersonate-user", "zoe")];
        assert_eq!(asker(&as_zoe).as_deref(), Some("zoe"));
        assert_eq!((asker(&[("authorization", "Bearer wrong")]), asker(&[("impersonate-user", "zoe")])), (None, None));
    }
}
