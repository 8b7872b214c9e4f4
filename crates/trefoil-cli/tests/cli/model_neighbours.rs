//! Misbehaving providers, as a user sees them: the run fails within a time limit, with a code, the step, its place, the
//! request without the key, and help. Once the provider works again, the run is resumed.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::bomb;
use crate::provider::KEY;
use crate::world::{Folder, Ran, finish};

/// Longer than the longest limit in these tests with its retries, with room for a slow machine.
const SOON: Duration = Duration::from_secs(60);
const AGENT: &str =
    "id: one\nkind: llm\nmodel:\n  provider: openai\n  name: gpt-x\ninstruction: I.\nprompt: '{{userQuery}}'\n";
const SCHEMA: &str = "outputSchema: { answer: string }\n";

/// How a provider misbehaves.
type Wrong = fn(&mut TcpStream);

/// A provider that misbehaves until `well` is set.
struct Provider {
    address: SocketAddr,
    well: Arc<AtomicBool>,
}

impl Provider {
    fn at(listener: TcpListener, wrong: Wrong) -> Self {
        let address = listener.local_addr().unwrap();
        let well = Arc::<AtomicBool>::default();
        let seen = well.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let well = seen.load(Ordering::Relaxed);
                std::thread::spawn(move || {
                    let mut head = String::new();
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {}
                    let length = head.to_lowercase();
                    let length = length.lines().find_map(|l| l.strip_prefix("content-length:")?.trim().parse().ok());
                    let _ = reader.read_exact(&mut vec![0; length.unwrap_or(0)]);
                    if well { answer(&mut stream, "{\"answer\": \"well again\"}", "stop") } else { wrong(&mut stream) }
                });
            }
        });
        Self { address, well }
    }
}

/// Sends a complete response.
fn reply(stream: &mut TcpStream, status: &str, kind: &str, body: &[u8]) {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

fn refuse(stream: &mut TcpStream, status: &str, code: &str, message: &str) {
    let body = json!({ "error": { "message": message, "code": code } }).to_string();
    reply(stream, status, "application/json", body.as_bytes());
}

fn answer(stream: &mut TcpStream, text: &str, finish: &str) {
    let body = json!({
        "choices": [{ "message": { "role": "assistant", "content": text }, "finish_reason": finish }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 3 },
    });
    reply(stream, "200 OK", "application/json", body.to_string().as_bytes());
}

fn run(folder: &Folder, address: SocketAddr, args: &[&str]) -> Ran {
    let mut command = folder.command(&[args, &["--store", "runs.db"]].concat());
    command.env_remove("TREFOIL_EPHEMERAL").env("OPENAI_API_KEY", KEY);
    command.env("OPENAI_BASE_URL", format!("http://{address}/v1"));
    finish(command)
}

/// The expected failure: its code, its line, and parts of its message.
struct Failure<'f> {
    code: &'f str,
    line: u32,
    says: &'f [&'f str],
}

fn goes_wrong_and_on(wrong: Wrong, failure: &Failure<'_>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let provider = Provider::at(listener, wrong);
    fails_and_goes_on(address, failure, || provider.well.store(true, Ordering::Relaxed));
    assert_eq!(provider.address, address);
}

fn fails_and_goes_on(address: SocketAddr, failure: &Failure<'_>, heal: impl FnOnce()) {
    let folder = Folder::new();
    folder.write("one.yaml", format!("{AGENT}{SCHEMA}"));
    let began = Instant::now();
    let args = ["run", "one.yaml", "--input", "hello", "--timeout", "3", "--trace", "t.json"];
    let ran = run(&folder, address, &args);
    assert!(began.elapsed() < SOON, "{:?}: {}", began.elapsed(), ran.err);
    let place = format!("one.yaml:{}:", failure.line);
    let sent = format!("request: POST http://{address}/v1/chat/completions");
    ran.exits(1).says(&[failure.code, &place, "= help:", &sent, ": trefoil resume"]).says(failure.says);
    let trace = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
    assert!(trace.contains(failure.code.split(' ').next().unwrap()), "{trace}");
    assert!(!trace.contains(KEY) && !ran.err.contains(KEY), "{}\n{trace}", ran.err);
    heal();
    let runs = run(&folder, address, &["runs", "list", "--output", "json"]).json();
    let id = runs["runs"][0]["run"].as_str().unwrap().to_owned();
    let again = run(&folder, address, &["resume", &id]);
    assert!(again.exits(0).out.contains("well again"), "{}", again.err);
}

/// The lines of the agent and of its model's name.
const STEP: u32 = 1;
const NAME: u32 = 5;

fn model_error(wrong: Wrong, line: u32, says: &[&str]) {
    goes_wrong_and_on(wrong, &Failure { code: "MODEL_ERROR in `one`", line, says });
}

#[test]
fn one_that_cannot_be_reached() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let failure = Failure { code: "MODEL_ERROR in `one`", line: STEP, says: &["cannot be reached at", "refused"] };
    let mut provider = None;
    fails_and_goes_on(address, &failure, || {
        let healed = Provider::at(TcpListener::bind(address).unwrap(), |_| {});
        healed.well.store(true, Ordering::Relaxed);
        provider = Some(healed);
    });
}

#[test]
fn one_that_is_slow() {
    let wrong: Wrong = |stream| drop(stream.read(&mut [0; 1 << 10]));
    goes_wrong_and_on(wrong, &Failure { code: "TIMEOUT in `one`", line: STEP, says: &["within 3s (`--timeout 3`)"] });
}

#[test]
fn one_whose_stream_ends_too_early_and_one_that_never_ends() {
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let half: Wrong = |stream| {
        let event = format!("data: {}\n\n", json!({ "choices": [{ "delta": { "content": "half" } }] }));
        let _ = stream.write_all(HEAD).and_then(|()| write!(stream, "{:x}\r\n{event}\r\n", event.len()));
    };
    model_error(half, STEP, &["closed the connection before the answer was complete", "network error"]);
    let endless: Wrong = |stream| {
        let _ = stream.write_all(HEAD);
        while stream.write_all(b"3\r\n:a\n\r\n").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    goes_wrong_and_on(
        endless,
        &Failure { code: "TIMEOUT in `one`", line: STEP, says: &["did not complete its answer"] },
    );
}

#[test]
fn one_that_sends_something_else() {
    let page: Wrong = |stream| reply(stream, "200 OK", "text/html", b"<html>Sign in</html>");
    model_error(page, STEP, &["sent a web page instead of an answer", "check the base URL"]);
    let cut: Wrong = |stream| reply(stream, "200 OK", "application/json", b"{\"choices\": [");
    model_error(cut, STEP, &["sent an answer that is not JSON"]);
    let error: Wrong = |stream| refuse(stream, "200 OK", "invalid_request_error", "upstream says no");
    model_error(error, STEP, &["answered with an error: upstream says no"]);
}

#[test]
fn one_that_packs_gigabytes_into_its_answer() {
    let wrong: Wrong = |stream| {
        let body = bomb::gzip(100 << 20);
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
    };
    model_error(wrong, STEP, &["compressed its answer although it was not asked to"]);
}

#[test]
fn one_whose_answers_do_not_match_the_schema() {
    let wrong: Wrong = |stream| answer(stream, "{\"answer\": 7}", "stop");
    let says = ["at `/answer`: 7 is not of type \"string\""];
    goes_wrong_and_on_with_answer(
        wrong,
        &Failure { code: "STRUCTURED_OUTPUT_INVALID in `one`", line: STEP, says: &says },
    );
}

#[test]
fn one_that_refuses() {
    let wrong: Wrong = |stream| answer(stream, "I cannot help with that.", "content_filter");
    goes_wrong_and_on_with_answer(wrong, &Failure { code: "ANSWER_FILTERED in `one`", line: STEP, says: &[] });
}

/// The model has answered, so the failure also shows the start of its answer.
fn goes_wrong_and_on_with_answer(wrong: Wrong, failure: &Failure<'_>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let provider = Provider::at(listener, wrong);
    let folder = Folder::new();
    folder.write("one.yaml", format!("{AGENT}{SCHEMA}"));
    let ran = run(&folder, provider.address, &["run", "one.yaml", "--input", "hello", "--timeout", "3"]);
    let place = format!("one.yaml:{}:", failure.line);
    let sent = format!("request: POST http://{}/v1/chat/completions", provider.address);
    ran.exits(1).says(&[failure.code, &place, "= help:", &sent, "answer: ", ": trefoil resume"]).says(failure.says);
    provider.well.store(true, Ordering::Relaxed);
    let runs = run(&folder, provider.address, &["runs", "list", "--output", "json"]).json();
    let id = runs["runs"][0]["run"].as_str().unwrap().to_owned();
    assert!(run(&folder, provider.address, &["resume", &id]).exits(0).out.contains("well again"));
}

#[test]
fn one_that_says_no() {
    let long: Wrong = |stream| {
        refuse(
            stream,
            "400 Bad Request",
            "context_length_exceeded",
            "This model's maximum context length is 128000 tokens",
        );
    };
    model_error(long, STEP, &["answered with 400", "choose a model with a larger context window"]);
    let unknown: Wrong =
        |stream| refuse(stream, "404 Not Found", "model_not_found", "The model `gpt-x` does not exist");
    model_error(unknown, NAME, &["answered with 404", "check the model's name"]);
    let key: Wrong = |stream| {
        refuse(stream, "401 Unauthorized", "invalid_api_key", &format!("Incorrect API key provided: {KEY}"));
    };
    model_error(key, NAME, &["answered with 401", "key provided: ***", "check the key in `OPENAI_API_KEY`"]);
    // Google reports this with status 400.
    let google: Wrong = |stream| {
        let reason = json!({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID" });
        let message = "API key not valid. Please pass a valid API key.";
        let error = json!({ "code": 400, "message": message, "status": "INVALID_ARGUMENT", "details": [reason] });
        let body = json!({ "error": error }).to_string();
        reply(stream, "400 Bad Request", "application/json", body.as_bytes());
    };
    let provider = Provider::at(TcpListener::bind("127.0.0.1:0").unwrap(), google);
    let folder = Folder::new();
    folder.write("one.yaml", AGENT.replace("openai", "google"));
    let mut command = folder.command(&["run", "one.yaml", "--input", "hello"]);
    command.env("GOOGLE_GENERATIVE_AI_API_KEY", KEY);
    command.env("GOOGLE_GENERATIVE_AI_BASE_URL", format!("http://{}/v1beta", provider.address));
    let place = format!("one.yaml:{NAME}:");
    let says = ["MODEL_ERROR in `one`", &place, "answered with 400 instead of 401", "check the key in `GOOGLE_"];
    finish(command).exits(1).says(&says);
    let credit: Wrong =
        |stream| refuse(stream, "429 Too Many Requests", "insufficient_quota", "You exceeded your current quota");
    model_error(credit, STEP, &["answered with 429", "no credit left", "spent: 1 call,"]);
}
