//! A model provider on this machine that counts its calls, even if the caller was killed.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value as Json, json};

/// The expected key.
pub const KEY: &str = "sk-test-0123456789";
/// An environment value that prompts may contain. Answers do not repeat it; failures do.
pub const WORD: &str = "zebra-crossing-4711";

/// Answers each call with its longest message, streamed word by word if requested. If that text contains `hang`, the
/// answer never comes while [`Provider::hangs`]; with `busy`, every second call for it fails with status 500; with
/// `slowly`, there are pauses between words; with `stall`, all words of a streamed answer arrive, but not its end while
/// [`Provider::hangs`].
#[derive(Clone)]
pub struct Provider {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
    hangs: Arc<AtomicBool>,
    open: Arc<AtomicUsize>,
    usage: fn(&str) -> (usize, usize),
    /// Milliseconds before each answer.
    wait: Arc<AtomicUsize>,
    /// The requests that wait for their answers, and the most of them at a time.
    at_once: Arc<(AtomicUsize, AtomicUsize)>,
    /// Instead of repeating the prompt, the answer to a request.
    writes: Option<fn(&Json) -> String>,
}

impl Provider {
    /// Each call uses 10 input tokens and 3 output tokens.
    pub fn start() -> Self {
        Self::with_usage(|_| (10, 3))
    }

    /// The usage depends on the prompt.
    pub fn with_usage(usage: fn(&str) -> (usize, usize)) -> Self {
        Self::with(usage, None)
    }

    /// Answers each request with a text of its own.
    #[allow(dead_code, reason = "for the tests of the command line")]
    pub fn that_writes(answer: fn(&Json) -> String) -> Self {
        Self::with(|prompt| (prompt.len() / 4, 40), Some(answer))
    }

    fn with(usage: fn(&str) -> (usize, usize), writes: Option<fn(&Json) -> String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let hangs = Arc::new(AtomicBool::new(true));
        let provider = Self {
            address,
            asked: Arc::default(),
            hangs,
            open: Arc::default(),
            usage,
            wait: Arc::default(),
            at_once: Arc::default(),
            writes,
        };
        let own = provider.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                own.open.fetch_add(1, Ordering::SeqCst);
                let own = own.clone();
                std::thread::spawn(move || {
                    own.serve(stream);
                    own.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        provider
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// The prompts so far, in order of arrival.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// The prompts, after all clients have disconnected.
    pub fn asked_by_now(&self) -> Vec<String> {
        let began = std::time::Instant::now();
        while self.open.load(Ordering::SeqCst) > 0 && began.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.asked()
    }

    /// Waits before each answer.
    #[allow(dead_code, reason = "for the tests of workers")]
    pub fn wait_before_answers(&self, wait: Duration) {
        self.wait.store(wait.as_millis() as usize, Ordering::SeqCst);
    }

    /// The most requests that waited for their answers at the same time.
    #[allow(dead_code, reason = "for the tests of workers")]
    pub fn most_at_once(&self) -> usize {
        self.at_once.1.load(Ordering::SeqCst)
    }

    pub fn hang(&self, hangs: bool) {
        self.hangs.store(hangs, Ordering::SeqCst);
    }

    fn used(&self, prompt: &str) -> Json {
        let (asked, answered) = (self.usage)(prompt);
        json!({ "prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered })
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while let Some((path, body)) = request(&mut reader) {
            if path.starts_with("/nowhere") {
                let error = json!({ "error": { "message": "no such model" } }).to_string();
                let _ = send(&mut stream, "404 Not Found", "application/json", &error);
                continue;
            }
            // A request without a body is for the list of models.
            if body.is_empty() {
                let list = json!({ "object": "list", "data": [{ "id": "m" }, { "id": "m-large" }] });
                if send(&mut stream, "200 OK", "application/json", &list.to_string()).is_err() {
                    return;
                }
                continue;
            }
            let request: Json = serde_json::from_slice(&body).unwrap();
            let messages = request["messages"].as_array().unwrap().iter();
            let messages: Vec<&str> = messages.map(|message| message["content"].as_str().unwrap_or_default()).collect();
            let calls = calls(&request);
            // The prompt of a conversation is all of it, so each turn has a different one.
            let prompt = match request["tools"].is_array() {
                true => messages.join(" "),
                false => (*messages.iter().max_by_key(|text| text.len()).unwrap()).to_owned(),
            };
            let before = {
                let mut asked = self.asked.lock().unwrap();
                let before = asked.iter().filter(|one| **one == prompt).count();
                asked.push(prompt.clone());
                before
            };
            // It does not count while its answer is written: the client may make its next request before this thread goes on.
            self.at_once.1.fetch_max(self.at_once.0.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(self.wait.load(Ordering::SeqCst) as u64));
            self.at_once.0.fetch_sub(1, Ordering::SeqCst);
            if prompt.contains("hang") && self.hangs.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_secs(600));
            }
            // If there is a schema, the answer must match it.
            let text = match (self.writes, &request["response_format"]["json_schema"]["schema"]) {
                (Some(answer), _) => answer(&request),
                (None, Json::Null) => said(&prompt),
                (None, schema) => shaped(schema).to_string(),
            };
            let written = match () {
                () if prompt.contains("busy") && before.is_multiple_of(2) => fail(&mut stream, &prompt),
                () if request["stream"] == json!(true) => self.tell(&mut stream, &prompt, &text, &calls),
                () => answer(&mut stream, &text, self.used(&prompt), &calls),
            };
            if written.is_err() {
                return;
            }
        }
    }
}

/// The path and the body of the next request; `None` if there is none.
fn request(reader: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut length = 0;
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    loop {
        line.clear();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, body))
}

fn send(stream: &mut TcpStream, status: &str, sort: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: {sort}\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes())
}

/// The answer to a prompt.
pub fn said(prompt: &str) -> String {
    prompt.replace(WORD, "(it)")
}

/// The tool calls of a model: in its first two turns, it calls each offered tool with matching arguments.
fn calls(request: &Json) -> Vec<Json> {
    let turns = request["messages"].as_array().into_iter().flatten().filter(|m| m["role"] == "assistant").count();
    let tools = request["tools"].as_array().filter(|_| turns < 2).into_iter().flatten();
    let call = |(index, tool): (usize, &Json)| {
        let function = &tool["function"];
        let wanted = function["parameters"]["properties"].as_object().into_iter().flatten();
        let arguments: serde_json::Map<_, _> =
            wanted.map(|(name, _)| (name.clone(), json!(format!("{name} {turns}")))).collect();
        let function = json!({ "name": function["name"], "arguments": Json::from(arguments).to_string() });
        json!({ "index": index, "id": format!("call_{turns}_{index}"), "type": "function", "function": function })
    };
    tools.enumerate().map(call).collect()
}

/// The finish reason of the turn.
fn finish_reason(calls: &[Json]) -> &'static str {
    if calls.is_empty() { "stop" } else { "tool_calls" }
}

/// A value that matches a schema: the first possible one.
fn shaped(schema: &Json) -> Json {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let members = schema["properties"].as_object().into_iter().flatten();
            members.map(|(name, schema)| (name.clone(), shaped(schema))).collect::<serde_json::Map<_, _>>().into()
        }
        Some("array") => json!([shaped(&schema["items"])]),
        Some("number" | "integer") => json!(1),
        Some("boolean") => json!(true),
        _ => json!("text"),
    }
}

fn answer(stream: &mut TcpStream, text: &str, usage: Json, calls: &[Json]) -> std::io::Result<()> {
    let mut message = json!({ "role": "assistant", "content": text });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    let choice = json!({ "index": 0, "finish_reason": finish_reason(calls), "message": message });
    let answer = json!({
        "id": "r1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage
    });
    send(stream, "200 OK", "application/json", &answer.to_string())
}

fn fail(stream: &mut TcpStream, prompt: &str) -> std::io::Result<()> {
    let error = json!({ "error": { "message": format!("too busy for `{prompt}` of {KEY}"), "type": "server_error" } });
    send(stream, "500 Internal Server Error", "application/json", &error.to_string())
}

impl Provider {
    fn tell(&self, stream: &mut TcpStream, prompt: &str, text: &str, calls: &[Json]) -> std::io::Result<()> {
        let part = |choices: Json, usage: Json| {
            let part = json!({
                "id": "r1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, "usage": usage
            });
            format!("data: {part}\n\n")
        };
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")?;
        let mut chunk = |text: &str| stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes());
        for word in text.split_inclusive(' ') {
            chunk(&part(json!([{ "index": 0, "delta": { "content": word }, "finish_reason": null }]), Json::Null))?;
            if prompt.contains("slowly") {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        if prompt.contains("stall") && self.hangs.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_secs(600));
        }
        for call in calls {
            chunk(&part(
                json!([{ "index": 0, "delta": { "tool_calls": [call] }, "finish_reason": null }]),
                Json::Null,
            ))?;
        }
        let end = json!([{ "index": 0, "delta": {}, "finish_reason": finish_reason(calls) }]);
        chunk(&part(end, Json::Null))?;
        chunk(&part(json!([]), self.used(prompt)))?;
        chunk("data: [DONE]\n\n")?;
        stream.write_all(b"0\r\n\r\n")
    }
}
