//! A small client: what a test sends is exactly what it says.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value as Json;

/// How long a client waits for bytes: longer than the time between comments on a stream.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request.
#[derive(Clone, Default)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Request {
    pub fn new(method: &str, path: &str) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), ..Self::default() }
    }
    pub fn get(path: &str) -> Self {
        Self::new("GET", path)
    }
    pub fn post(path: &str, body: &Json) -> Self {
        Self { body: body.to_string(), ..Self::new("POST", path) }
    }
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
    #[must_use]
    pub fn with_key(self, key: &str) -> Self {
        self.with("Authorization", &format!("Bearer {key}"))
    }

    /// Sends it, and reads the head of the response.
    pub fn open(&self, to: SocketAddr) -> io::Result<Response> {
        let stream = TcpStream::connect_timeout(&to, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        self.open_on(stream, to)
    }

    /// The same on a connection that exists.
    pub fn open_on(&self, mut stream: TcpStream, to: SocketAddr) -> io::Result<Response> {
        let mut head = format!("{} {} HTTP/1.1\r\nConnection: close\r\n", self.method, self.path);
        if !self.headers.iter().any(|(name, _)| name == "Host") {
            head.push_str(&format!("Host: {to}\r\n"));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.method != "GET" {
            head.push_str(&format!("Content-Type: application/json\r\nContent-Length: {}\r\n", self.body.len()));
        }
        let sent = stream.write_all(format!("{head}\r\n{}", self.body).as_bytes());
        // A server may refuse a request before it has read all of it.
        match Response::read(stream) {
            Ok(response) => Ok(response),
            Err(error) => Err(sent.err().unwrap_or(error)),
        }
    }

    /// Sends it, and reads all of the response.
    pub fn send(&self, to: SocketAddr) -> io::Result<Reply> {
        self.open(to)?.into_reply()
    }
}

/// A response of which the body is still to be read.
pub struct Response {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Body,
}

/// A response.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Reply {
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
    /// Requires this status.
    pub fn is(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }
    /// Requires this status and code.
    pub fn fails(&self, status: u16, code: &str) -> &Self {
        assert_eq!((self.status, self.json()["code"].as_str()), (status, Some(code)), "{self:?}");
        assert_eq!(self.headers["content-type"], "application/problem+json");
        self
    }
}

impl Response {
    fn read(stream: TcpStream) -> io::Result<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(cut)?;
        let mut headers = BTreeMap::new();
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Err(cut());
            }
            let Some((name, value)) = line.trim().split_once(':') else { break };
            headers.insert(name.to_lowercase(), value.trim().to_owned());
        }
        let is_chunked = headers.get("transfer-encoding").is_some_and(|value| value == "chunked");
        let left = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        Ok(Self { status, headers, body: Body { reader, left, is_chunked, has_ended: false } })
    }

    pub fn into_reply(mut self) -> io::Result<Reply> {
        let mut body = String::new();
        self.body.read_to_string(&mut body)?;
        Ok(Reply { status: self.status, headers: self.headers, body })
    }
}

/// The body of a response. One that is cut off is an error.
pub struct Body {
    reader: BufReader<TcpStream>,
    left: usize,
    is_chunked: bool,
    has_ended: bool,
}

impl Read for Body {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.has_ended || bytes.is_empty() {
            return Ok(0);
        }
        if self.left == 0 {
            if !self.is_chunked {
                return Ok(0);
            }
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
            self.left = usize::from_str_radix(line.trim(), 16).map_err(|_| cut())?;
            if self.left == 0 {
                self.has_ended = true;
                return Ok(0);
            }
        }
        let most = bytes.len().min(self.left);
        let n = self.reader.read(&mut bytes[..most])?;
        if n == 0 {
            return Err(cut());
        }
        self.left -= n;
        if self.left == 0 && self.is_chunked {
            self.reader.read_exact(&mut [0; 2])?;
        }
        Ok(n)
    }
}

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the response was cut off")
}

/// A frame of a stream of events.
#[derive(Debug, Default, Clone)]
pub struct Frame {
    pub id: Option<u64>,
    pub event: String,
    pub data: String,
}

/// A stream of events.
pub struct Frames(BufReader<Body>);

impl Frames {
    pub fn new(body: Body) -> Self {
        Self(BufReader::new(body))
    }

    /// The next one; `None` when the stream has ended.
    pub fn next_frame(&mut self) -> io::Result<Option<Frame>> {
        let mut frame = Frame::default();
        let mut line = String::new();
        loop {
            line.clear();
            if self.0.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            match line.trim_end().split_once(": ") {
                Some(("id", id)) => frame.id = id.parse().ok(),
                Some(("event", event)) => frame.event = event.to_owned(),
                Some(("data", data)) => frame.data = data.to_owned(),
                _ if line.trim().is_empty() && !frame.data.is_empty() => return Ok(Some(frame)),
                _ => {}
            }
        }
    }
}
