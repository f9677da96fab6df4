//! Connections that last for a while only, and of which there are only so many at once.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::serve::Listener;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::Sleep;

/// The most connections of one listener.
const CONNECTIONS_MAX: usize = 256;

/// A listener whose connections last for a while only. Of too many, the oldest of the address that has most of them is closed: one
/// address keeps out no other.
pub(crate) struct Brief {
    listener: TcpListener,
    lasts: Duration,
    most: usize,
    open: Arc<Mutex<Open>>,
}

/// The connections that are open, in the order in which they came.
#[derive(Default)]
struct Open {
    next: u64,
    all: BTreeMap<u64, (IpAddr, oneshot::Sender<()>)>,
}

impl Open {
    /// Adds a connection: its number, and what is ready when it is to be closed.
    fn add(&mut self, from: IpAddr, most: usize) -> (u64, oneshot::Receiver<()>) {
        let (number, (ends, ended)) = (self.next, oneshot::channel());
        self.next = number.wrapping_add(1);
        self.all.insert(number, (from, ends));
        if self.all.len() > most
            && let Some(closed) = self.first_to_close()
        {
            self.all.remove(&closed);
        }
        (number, ended)
    }

    /// The oldest of the address with most connections.
    fn first_to_close(&self) -> Option<u64> {
        let mut addresses: BTreeMap<IpAddr, (usize, Reverse<u64>)> = BTreeMap::new();
        for (number, (from, _)) in &self.all {
            addresses.entry(*from).or_insert((0, Reverse(*number))).0 += 1;
        }
        addresses.into_values().max().map(|(_, Reverse(oldest))| oldest)
    }
}

impl Brief {
    /// One whose connections last so long.
    pub(crate) fn new(listener: TcpListener, lasts: Duration) -> Brief {
        Brief { listener, lasts, most: CONNECTIONS_MAX, open: Arc::default() }
    }
}

impl Listener for Brief {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, from) = Listener::accept(&mut self.listener).await;
        let (number, closed) = self.open.lock().add(from.ip(), self.most);
        let time = Box::pin(tokio::time::sleep(self.lasts));
        (Connection { stream, time, closed, is_over: false, number, open: self.open.clone() }, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that ends when its time is over, or when there are too many: nothing more is read, and what its client has not taken by
/// then is thrown away.
pub(crate) struct Connection {
    stream: TcpStream,
    time: Pin<Box<Sleep>>,
    closed: oneshot::Receiver<()>,
    is_over: bool,
    number: u64,
    open: Arc<Mutex<Open>>,
}

impl Connection {
    fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !self.is_over && self.time.as_mut().poll(context).is_pending() {
            ready!(Pin::new(&mut self.closed).poll(context)).ok();
        }
        self.is_over = true;
        Poll::Ready(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.open.lock().all.remove(&self.number);
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.poll_over(context) {
            Poll::Ready(()) => Poll::Ready(Ok(())),
            Poll::Pending => Pin::new(&mut self.stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        match self.poll_over(context) {
            Poll::Ready(()) => {
                // The system would keep what it could not send yet for minutes.
                self.stream.set_zero_linger()?;
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            Poll::Pending => Pin::new(&mut self.stream).poll_write(context, from),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A stream of TCP holds nothing back, so this waits for nothing.
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use axum::Router;
    use axum::routing::get;
    use tokio::net::TcpSocket;

    use super::*;

    /// Longer than any test takes.
    const LONG: Duration = Duration::from_secs(600);

    /// Serves a text of 64 KiB; the address.
    async fn serve(lasts: Duration, most: usize) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", get(async || "x".repeat(1 << 16)));
        let brief = Brief { most, ..Brief::new(listener, lasts) };
        tokio::spawn(async move { axum::serve(brief, router).await });
        address
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_connection_that_reads_nothing_is_closed_in_time() {
        let address = serve(Duration::from_millis(300), 8).await;
        let why = tokio::task::spawn_blocking(move || {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            stream.set_write_timeout(Some(Duration::from_secs(30))).unwrap();
            let requests = "GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(1000);
            loop {
                if let Err(error) = stream.write_all(requests.as_bytes()) {
                    return error.kind();
                }
            }
        });
        // Otherwise its writes wait until their own time is over.
        let why = why.await.unwrap();
        assert!(matches!(why, io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe), "{why}");
    }

    /// A connection from this address, over which a request has been answered.
    async fn answered(from: &str, address: SocketAddr) -> std::net::TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
        let mut stream = socket.connect(address).await.unwrap().into_std().unwrap();
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        assert!(ask(&mut stream));
        stream
    }

    /// Whether a request is answered.
    fn ask(stream: &mut std::net::TcpStream) -> bool {
        let mut answer = vec![0; 1 << 16];
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").is_ok() && stream.read_exact(&mut answer).is_ok()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn of_too_many_connections_the_oldest_of_the_busiest_address_is_closed() {
        let address = serve(LONG, 3).await;
        let mut of_another = answered("127.0.0.2", address).await;
        let mut first = answered("127.0.0.1", address).await;
        let mut second = answered("127.0.0.1", address).await;
        let _third = answered("127.0.0.1", address).await;
        let mut rest = Vec::new();
        first.read_to_end(&mut rest).unwrap();
        assert!(rest.len() < 1000, "the end of the answer, and the end of the connection");
        assert!(ask(&mut of_another) && ask(&mut second));
    }

    #[test]
    fn what_is_closed_is_forgotten() {
        let (mut open, [one, two]) = (Open::default(), ["10.0.0.1", "10.0.0.2"].map(|text| text.parse().unwrap()));
        for _ in 0..1000 {
            open.add(one, 4);
        }
        let (kept, mut closed) = open.add(two, 4);
        for _ in 0..1000 {
            open.add(one, 4);
        }
        assert_eq!(open.all.len(), 4);
        assert!(open.all.contains_key(&kept) && closed.try_recv() == Err(oneshot::error::TryRecvError::Empty));
    }
}
