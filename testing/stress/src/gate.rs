//! A stretch of wire on the way to etcd: while it is shut, nothing comes back, and no connection breaks.

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The wire. An API server behind it shows what it has seen before, as long as it is shut.
pub struct Gate {
    address: String,
    open: watch::Sender<bool>,
}

impl Gate {
    /// A wire to the server at this address, `http://HOST:PORT`.
    ///
    /// # Errors
    /// When there is no port for it.
    pub async fn start(to: &str) -> Result<Gate> {
        let to = to.strip_prefix("http://").with_context(|| format!("`{to}` is no http address"))?.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let gate = Gate { address: format!("http://{}", listener.local_addr()?), open: watch::Sender::new(true) };
        let open = gate.open.clone();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let Ok(far) = TcpStream::connect(&to).await else { continue };
                let ((from_near, to_near), (from_far, to_far)) = (near.into_split(), far.into_split());
                tokio::spawn(carry(from_near, to_far, watch::channel(true).1));
                tokio::spawn(carry(from_far, to_near, open.subscribe()));
            }
        });
        Ok(gate)
    }

    /// Where it begins.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.address
    }

    /// Nothing comes back from now on; or everything that has been waiting, and what comes.
    pub fn shut(&self, shut: bool) {
        self.open.send_replace(!shut);
    }
}

/// Carries what one end says to the other one, as long as the way is open.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut open: watch::Receiver<bool>) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count) = from.read(&mut bytes).await {
        let Some(chunk) = bytes.get(..count).filter(|chunk| !chunk.is_empty()) else { return };
        // Whoever could open it has gone: then it stays as it is.
        if open.wait_for(|open| *open).await.is_err() && !*open.borrow() {
            return;
        }
        if to.write_all(chunk).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn what_comes_while_it_is_shut_comes_when_it_is_open() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let gate = Gate::start(&format!("http://{}", server.local_addr().unwrap())).await.unwrap();
        let mut client = TcpStream::connect(gate.url().strip_prefix("http://").unwrap()).await.unwrap();
        let (mut served, _) = server.accept().await.unwrap();
        let mut heard = [0; 5];
        gate.shut(true);
        client.write_all(b"asked").await.unwrap();
        served.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"asked", "one way is always open");
        served.write_all(b"heard").await.unwrap();
        let early = tokio::time::timeout(Duration::from_millis(50), client.read_exact(&mut heard)).await;
        assert!(early.is_err(), "{heard:?}");
        gate.shut(false);
        client.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"heard");
    }
}
