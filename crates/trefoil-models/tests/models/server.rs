//! An HTTP server in the test process, which records requests and sends prepared replies.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value as Json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use trefoil_models::Registry;

/// A recorded request.
#[derive(Debug, Clone)]
pub struct Received {
    pub line: String,
    pub headers: HashMap<String, String>,
    pub body: Json,
}

/// A prepared reply.
pub enum Reply {
    /// A status, headers, a body.
    Whole(u16, Vec<(&'static str, &'static str)>, String),
    /// Server-sent events, piece by piece.
    Stream(Vec<Piece>),
    /// JSON lines, piece by piece.
    Lines(Vec<Piece>),
    /// Events in a body without a length, which ends when the connection is closed.
    Unframed(Vec<Piece>),
    /// A stream that repeats this text forever.
    Endless(&'static str),
    /// A status and the start of a body, then silence until the client disconnects.
    Half(u16, &'static str),
    /// Silence until the client disconnects.
    Silence,
}

/// A piece of a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// These bytes.
    Bytes(Vec<u8>),
    /// These bytes again and again, without a pause, until the client disconnects.
    Flood(Vec<u8>),
    /// A pause of this many milliseconds.
    Pause(u64),
    /// Cuts the connection.
    Cut,
    /// Silence until the client disconnects.
    Silence,
}

impl Reply {
    /// Status 200 with JSON.
    pub fn json(body: Json) -> Self {
        Self::Whole(200, vec![("content-type", "application/json")], body.to_string())
    }
    /// The same reply with another body.
    pub fn body(self, body: &str) -> Self {
        match self {
            Self::Whole(status, headers, _) => Self::Whole(status, headers, body.to_owned()),
            other => other,
        }
    }
    /// A stream with one piece for each text.
    pub fn stream(pieces: &[&str]) -> Self {
        Self::Stream(pieces.iter().map(|p| Piece::Bytes(p.as_bytes().to_vec())).collect())
    }
}

pub struct Server {
    pub url: String,
    received: Arc<Mutex<Vec<Received>>>,
    gone: Arc<Notify>,
}

impl Server {
    /// Starts a server on a free port that answers connections in order, one reply each.
    pub async fn start(replies: Vec<Reply>) -> Self {
        let replies = Mutex::new(replies.into_iter());
        Self::start_with(move |_| replies.lock().unwrap().next().expect("no further reply was prepared")).await
    }

    /// Starts a server that answers each connection based on the body of its request.
    pub async fn start_with(reply: impl Fn(&Json) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_by(move |received| reply(&received.body)).await
    }

    /// Starts a server that answers each connection based on its request.
    pub async fn start_by(reply: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Self {
        let reply: Replies = Arc::new(reply);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let gone = Arc::new(Notify::new());
        let server = Self { url, received: received.clone(), gone: gone.clone() };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, reply.clone(), received.clone(), gone.clone()));
            }
        });
        server
    }

    /// The only request.
    pub fn request(&self) -> Received {
        let all = self.received.lock().unwrap();
        assert_eq!(all.len(), 1, "one request a call");
        all[0].clone()
    }

    /// All requests, in order.
    pub fn requests(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Returns when a client has closed a connection before it got the whole reply.
    pub async fn client_gone(&self) {
        tokio::time::timeout(Duration::from_secs(60), self.gone.notified()).await.expect("the connection stays open");
    }

    /// A registry with these variables, in which `{url}` is this server's address.
    pub fn registry(&self, variables: &[(&str, &str)]) -> Registry {
        let own = variables.iter().map(|(k, v)| ((*k).to_owned(), v.replace("{url}", &self.url)));
        Registry::new(own)
    }
}

type Replies = Arc<dyn Fn(&Received) -> Reply + Send + Sync>;

async fn serve(mut stream: TcpStream, replies: Replies, received: Arc<Mutex<Vec<Received>>>, gone: Arc<Notify>) {
    let Some(request) = read(&mut stream).await else { return };
    let reply = replies(&request);
    received.lock().unwrap().push(request);
    match reply {
        Reply::Whole(status, headers, body) => {
            let mut head =
                format!("HTTP/1.1 {status} Status\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
            for (name, value) in headers {
                head += &format!("{name}: {value}\r\n");
            }
            let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes()).await;
        }
        Reply::Stream(pieces) => chunks(stream, "text/event-stream; charset=utf-8", pieces, &gone).await,
        Reply::Lines(pieces) => chunks(stream, "application/x-ndjson", pieces, &gone).await,
        Reply::Unframed(pieces) => {
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n";
            let _ = stream.write_all(head.as_bytes()).await;
            for piece in pieces {
                if let Piece::Bytes(bytes) = piece {
                    let _ = stream.write_all(&bytes).await;
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        }
        Reply::Endless(text) => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
            let _ = stream.write_all(head.as_bytes()).await;
            while stream.write_all(text.as_bytes()).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        Reply::Half(status, body) => {
            let head = format!("HTTP/1.1 {status} Status\r\ncontent-length: 1000\r\n\r\n{body}");
            let _ = stream.write_all(head.as_bytes()).await;
            wait(stream, &gone).await;
        }
        Reply::Silence => wait(stream, &gone).await,
    }
}

async fn chunks(mut stream: TcpStream, kind: &str, pieces: Vec<Piece>, gone: &Notify) {
    let head =
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n");
    let _ = stream.write_all(head.as_bytes()).await;
    for piece in pieces {
        match piece {
            Piece::Bytes(bytes) => {
                let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                chunk.extend(bytes);
                chunk.extend(b"\r\n");
                // The client may have disconnected.
                if stream.write_all(&chunk).await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Piece::Flood(bytes) => {
                let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                chunk.extend(bytes);
                chunk.extend(b"\r\n");
                while stream.write_all(&chunk).await.is_ok() {}
                gone.notify_one();
                return;
            }
            Piece::Pause(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
            Piece::Cut => return,
            Piece::Silence => return wait(stream, gone).await,
        }
    }
    let _ = stream.write_all(b"0\r\n\r\n").await;
}

async fn wait(mut stream: TcpStream, gone: &Notify) {
    let mut rest = [0; 64];
    while !matches!(stream.read(&mut rest).await, Ok(0) | Err(_)) {}
    gone.notify_one();
}

/// `None` if the client disconnected before the end of its request.
async fn read(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    let end = loop {
        let n = stream.read(&mut chunk).await.ok().filter(|n| *n > 0)?;
        bytes.extend(&chunk[..n]);
        if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break at;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap().to_owned();
    let headers: HashMap<String, String> =
        lines.map(|l| l.split_once(": ").unwrap()).map(|(k, v)| (k.to_ascii_lowercase(), v.to_owned())).collect();
    let length: usize = headers["content-length"].parse().unwrap();
    let mut body = bytes[end + 4..].to_vec();
    while body.len() < length {
        let n = stream.read(&mut chunk).await.ok().filter(|n| *n > 0)?;
        body.extend(&chunk[..n]);
    }
    Some(Received { line, headers, body: serde_json::from_slice(&body).unwrap() })
}
