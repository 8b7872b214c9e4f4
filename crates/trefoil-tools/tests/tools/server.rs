//! A server that sends exactly the bytes that a test prepares, and records its requests.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Ends with the test.
pub struct Server {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

/// The reaction to a request.
pub enum Reply {
    /// Send these bytes, then close the connection.
    Bytes(Vec<u8>),
    /// Send these bytes forever.
    Endless(Vec<u8>),
    /// Send nothing.
    Silence,
}

impl Server {
    /// `reply` gets the number of the request, from 0, and its text.
    pub async fn new(reply: impl Fn(usize, &str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (reply, kept) = (Arc::new(reply), asked.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, reply.clone(), kept.clone()));
            }
        });
        Self { address, asked }
    }

    pub async fn answering(status: &str, headers: &str, body: &str) -> Self {
        let whole =
            format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len());
        Self::new(move |_, _| Reply::Bytes(whole.clone().into_bytes())).await
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests as text.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn serve<F>(mut stream: TcpStream, reply: Arc<F>, asked: Arc<Mutex<Vec<String>>>)
where
    F: Fn(usize, &str) -> Reply,
{
    let Some(request) = request(&mut stream).await else { return };
    let number = {
        let mut asked = asked.lock().unwrap();
        asked.push(request.clone());
        asked.len() - 1
    };
    match reply(number, &request) {
        Reply::Bytes(bytes) => drop(stream.write_all(&bytes).await),
        Reply::Endless(bytes) => while stream.write_all(&bytes).await.is_ok() {},
        Reply::Silence => std::future::pending().await,
    }
}

async fn request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let mut part = [0; 4096];
        let n = stream.read(&mut part).await.ok().filter(|n| *n > 0)?;
        bytes.extend_from_slice(&part[..n]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|l| l.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
        if body.len() >= length.unwrap_or(0) {
            return Some(text);
        }
    }
}
