//! Bad neighbours: what each protocol makes of a provider that is slow, broken, or says no. Each is a typed error with what to do,
//! within its time limit, whole and streamed.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use expect_test::expect;
use serde_json::{Value as Json, json};
use trefoil_models::{Api, Limits, Registry};
use trefoil_runtime::ModelError;

use crate::request::{ask, request};
use crate::server::{Piece, Reply, Server};

#[derive(Clone, Copy, PartialEq)]
enum Face {
    Chat,
    Responses,
    Messages,
}

const FACES: [Face; 3] = [Face::Chat, Face::Responses, Face::Messages];

impl Face {
    fn provider(self) -> &'static str {
        if self == Self::Messages { "anthropic" } else { "openai" }
    }

    fn registry(self, url: &str) -> Registry {
        let env = ["OPENAI", "ANTHROPIC"].into_iter().flat_map(|name| {
            [(format!("{name}_API_KEY"), "sk-very-secret".to_owned()), (format!("{name}_BASE_URL"), url.to_owned())]
        });
        let limits = Limits { call_ms: Some(1_500), first_ms: 300, idle_ms: 200 };
        let registry = Registry::new(env).with_limits(limits);
        if self == Self::Responses { registry.with_api("openai", Api::Responses) } else { registry }
    }

    /// The first piece of an answer.
    fn half(self) -> Json {
        match self {
            Self::Chat => json!({"choices": [{"delta": {"content": "half"}}]}),
            Self::Responses => json!({"type": "response.output_text.delta", "delta": "half"}),
            Self::Messages => json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "half"}}),
        }
    }

    /// How this protocol reports an error: `context`, `model` or `key`.
    fn refusal(self, what: &str) -> Reply {
        let (status, error) = match (self, what) {
            (Self::Messages, "context") => (
                400,
                json!({"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}),
            ),
            (Self::Messages, "model") => (404, json!({"type": "not_found_error", "message": "model: m"})),
            (Self::Messages, _) => {
                (401, json!({"type": "authentication_error", "message": "invalid x-api-key sk-very-secret"}))
            }
            (_, "context") => (
                400,
                json!({"code": "context_length_exceeded", "message": "This model's maximum context length is 128000 tokens"}),
            ),
            (_, "model") => (404, json!({"code": "model_not_found", "message": "The model `m` does not exist"})),
            (_, _) => {
                (401, json!({"code": "invalid_api_key", "message": "Incorrect API key provided: sk-very-secret"}))
            }
        };
        Reply::Whole(status, vec![], json!({"type": "error", "error": error}).to_string())
    }
}

/// A way to be bad, and the reply that is.
const WAYS: &[&str] = &[
    "slow",
    "falls silent",
    "half a stream",
    "a web page",
    "an error with status 200",
    "not JSON",
    "not the protocol",
    "endless",
    "context too long",
    "unknown model",
    "bad key",
];

fn reply(face: Face, way: &str) -> Reply {
    let data = |json: &Json| Piece::Bytes(format!("data: {json}\n\n").into_bytes());
    let html = vec![("content-type", "text/html; charset=utf-8")];
    match way {
        "slow" => Reply::Silence,
        "falls silent" => Reply::Stream(vec![data(&face.half()), Piece::Silence]),
        "half a stream" => Reply::Stream(vec![data(&face.half()), Piece::Cut]),
        "a web page" => Reply::Whole(200, html, "<html><body>Sign in</body></html>".to_owned()),
        "an error with status 200" => {
            Reply::json(json!({"error": {"message": "upstream says no", "code": "server_error"}}))
        }
        "not JSON" => Reply::json(Json::Null).body("{\"choices\": ["),
        "not the protocol" => Reply::json(json!({"answer": 42})),
        "endless" => Reply::Endless(": still thinking\n\n"),
        "context too long" => face.refusal("context"),
        "unknown model" => face.refusal("model"),
        _ => face.refusal("key"),
    }
}

async fn failure(face: Face, way: &str, stream: bool) -> ModelError {
    let server = Server::start(vec![reply(face, way)]).await;
    let mut asked = request("x");
    asked.stream = stream;
    let began = Instant::now();
    let model = face.registry(&server.url).resolve(face.provider(), "m").unwrap();
    let error = ask(&*model, &asked).await.0.unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(30), "{way}: its time limit was passed");
    let told = format!("{error:?}");
    assert!(!told.contains("very-secret"), "{told}");
    assert!(error.message.starts_with(&format!("`{}` ", face.provider())), "{told}");
    error
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_is_an_error_that_says_what_happened_and_what_to_do() {
    let mut told = String::new();
    for way in WAYS {
        let _ = writeln!(told, "{way}");
        for face in FACES {
            // What is a stream is one whether or not it was asked for; the rest comes in both ways.
            let streamed = failure(face, way, true).await;
            let help = streamed.help.as_deref().map(|help| format!(" -> {help}")).unwrap_or_default();
            let _ = writeln!(told, "  {:?}: {}{help}", streamed.kind, streamed.message);
            if !matches!(*way, "slow" | "falls silent" | "half a stream" | "endless") {
                let whole = failure(face, way, false).await;
                assert_eq!((whole.kind, whole.message, whole.help), (streamed.kind, streamed.message, streamed.help));
            }
        }
    }
    expect![[r#"
        slow
          Network: `openai` did not begin to answer within 0.3s
          Network: `openai` did not begin to answer within 0.3s
          Network: `anthropic` did not begin to answer within 0.3s
        falls silent
          Network: `openai` sent nothing for 0.2s
          Network: `openai` sent nothing for 0.2s
          Network: `anthropic` sent nothing for 0.2s
        half a stream
          Network: `openai` closed the connection before the answer was complete (unexpected EOF during chunk size line)
          Network: `openai` closed the connection before the answer was complete (unexpected EOF during chunk size line)
          Network: `anthropic` closed the connection before the answer was complete (unexpected EOF during chunk size line)
        a web page
          Protocol: `openai` sent a web page instead of an answer -> check the base URL, and proxies in between
          Protocol: `openai` sent a web page instead of an answer -> check the base URL, and proxies in between
          Protocol: `anthropic` sent a web page instead of an answer -> check the base URL, and proxies in between
        an error with status 200
          Status(500): `openai` answered with an error: upstream says no
          Status(500): `openai` answered with an error: upstream says no
          Status(500): `anthropic` answered with an error: upstream says no
        not JSON
          Protocol: `openai` sent an answer that is not JSON: EOF while parsing a list at line 1 column 13
          Protocol: `openai` sent an answer that is not JSON: EOF while parsing a list at line 1 column 13
          Protocol: `anthropic` sent an answer that is not JSON: EOF while parsing a list at line 1 column 13
        not the protocol
          Protocol: `openai` sent an answer without `choices[0].message`
          Protocol: `openai` sent an answer without `output`
          Protocol: `anthropic` sent an answer without `content`
        endless
          Timeout: `openai` did not complete its answer within 1.5s (`--timeout 1.5`) -> allow more time with `--timeout`, or ask for a shorter answer
          Timeout: `openai` did not complete its answer within 1.5s (`--timeout 1.5`) -> allow more time with `--timeout`, or ask for a shorter answer
          Timeout: `anthropic` did not complete its answer within 1.5s (`--timeout 1.5`) -> allow more time with `--timeout`, or ask for a shorter answer
        context too long
          Status(400): `openai` answered with 400: This model's maximum context length is 128000 tokens -> pass less text to the step, or choose a model with a larger context window
          Status(400): `openai` answered with 400: This model's maximum context length is 128000 tokens -> pass less text to the step, or choose a model with a larger context window
          Status(400): `anthropic` answered with 400: prompt is too long: 210000 tokens > 200000 maximum -> pass less text to the step, or choose a model with a larger context window
        unknown model
          Status(404): `openai` answered with 404: The model `m` does not exist -> check the model's name, or try another with `--model`; `trefoil doctor` compares it with the provider's list
          Status(404): `openai` answered with 404: The model `m` does not exist -> check the model's name, or try another with `--model`; `trefoil doctor` compares it with the provider's list
          Status(404): `anthropic` answered with 404: model: m -> check the model's name, or try another with `--model`; `trefoil doctor` compares it with the provider's list
        bad key
          Status(401): `openai` answered with 401: Incorrect API key provided: *** -> check the key in `OPENAI_API_KEY`
          Status(401): `openai` answered with 401: Incorrect API key provided: *** -> check the key in `OPENAI_API_KEY`
          Status(401): `anthropic` answered with 401: invalid x-api-key *** -> check the key in `ANTHROPIC_API_KEY`
    "#]].assert_eq(&told);
}

#[tokio::test]
async fn an_answer_that_is_not_streamed_may_take_its_time_but_not_stop_in_the_middle() {
    for face in FACES {
        let server = Server::start(vec![Reply::Half(200, "{\"choices\": [")]).await;
        let model = face.registry(&server.url).resolve(face.provider(), "m").unwrap();
        let error = ask(&*model, &request("x")).await.0.unwrap_err();
        assert!(error.message.ends_with("sent nothing for 0.2s"), "{}", error.message);
        server.client_gone().await;
        let server = Server::start(vec![Reply::Silence]).await;
        let model = face.registry(&server.url).resolve(face.provider(), "m").unwrap();
        let error = ask(&*model, &request("x")).await.0.unwrap_err();
        assert!(error.message.contains("did not complete its answer within 1.5s"), "{}", error.message);
    }
}

#[tokio::test]
async fn connections_are_used_again() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let connections = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = connections.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            tokio::spawn(async move {
                let mut seen = Vec::new();
                let mut chunk = [0; 4096];
                while let Ok(n) = stream.read(&mut chunk).await {
                    seen.extend(&chunk[..n]);
                    if n == 0 {
                        return;
                    }
                    // All of a request has come when its body ends.
                    if seen.ends_with(b"}") {
                        seen.clear();
                        let body = r#"{"choices":[{"message":{"content":"x"}}]}"#;
                        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                        stream.write_all(head.as_bytes()).await.unwrap();
                    }
                }
            });
        }
    });
    let registry = Face::Chat.registry(&url);
    for _ in 0..5 {
        // Each step resolves its model anew.
        ask(&*registry.resolve("openai", "m").unwrap(), &request("x")).await.0.unwrap();
    }
    assert_eq!(connections.load(std::sync::atomic::Ordering::SeqCst), 1);
}
