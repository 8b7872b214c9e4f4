//! Slow, broken and rejecting providers, in each protocol, streamed and not. Each failure must be a typed error with
//! help, within its time limit.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use expect_test::expect;
use serde_json::{Value as Json, json};
use trefoil_runtime::ModelError;

use crate::faces::{FACES, Face};
use crate::request::{ask, request};
use crate::server::{Piece, Reply, Server};

/// A protocol's error response: `context`, `model` or `key`.
fn refusal(face: Face, what: &str) -> Reply {
    let google =
        |code: u16, status: &str, message: &str| (code, json!({"code": code, "status": status, "message": message}));
    let (status, error) = match (face, what) {
        (Face::Gemini, "context") => google(
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        ),
        (Face::Gemini, "model") => google(404, "NOT_FOUND", "models/m is not found for API version v1beta"),
        (Face::Gemini, _) => {
            let (status, mut error) =
                google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.");
            let info = "type.googleapis.com/google.rpc.ErrorInfo";
            error["details"] =
                json!([{"@type": info, "reason": "API_KEY_INVALID", "domain": "googleapis.com"}, {"@type": "other"}]);
            (status, error)
        }
        (Face::Cohere, "context") => {
            (400, json!("too many tokens: total number of tokens in the prompt exceeds the limit"))
        }
        (Face::Cohere, "model") => (404, json!("model 'm' not found, make sure the correct model ID was used")),
        (Face::Cohere, _) => (401, json!("invalid api token sk-very-secret")),
        (Face::Ollama, "context") => (400, json!("the input length exceeds the context length")),
        (Face::Ollama, "model") => (404, json!("model 'm' not found")),
        (Face::Ollama, _) => (401, json!("unauthorized")),
        (Face::Messages, "context") => (
            400,
            json!({"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}),
        ),
        (Face::Messages, "model") => (404, json!({"type": "not_found_error", "message": "model: m"})),
        (Face::Messages, _) => {
            (401, json!({"type": "authentication_error", "message": "invalid x-api-key sk-very-secret"}))
        }
        (_, "context") => (
            400,
            json!({"code": "context_length_exceeded", "message": "This model's maximum context length is 128000 tokens"}),
        ),
        (_, "model") => (404, json!({"code": "model_not_found", "message": "The model `m` does not exist"})),
        (_, _) => (401, json!({"code": "invalid_api_key", "message": "Incorrect API key provided: sk-very-secret"})),
    };
    let body = match face {
        Face::Cohere => json!({ "message": error }),
        _ => json!({"type": "error", "error": error}),
    };
    Reply::Whole(status, vec![], body.to_string())
}

/// The kinds of failures.
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
    let half = |face: Face| Piece::Bytes(face.event(&face.piece("half")).into_bytes());
    let html = vec![("content-type", "text/html; charset=utf-8")];
    match way {
        "slow" => Reply::Silence,
        "falls silent" => face.stream(vec![half(face), Piece::Silence]),
        "half a stream" => face.stream(vec![half(face), Piece::Cut]),
        "a web page" => Reply::Whole(200, html, "<html><body>Sign in</body></html>".to_owned()),
        "an error with status 200" => {
            Reply::json(json!({"error": {"message": "upstream says no", "code": "server_error"}}))
        }
        "not JSON" => Reply::json(Json::Null).body("{\"choices\": ["),
        "not the protocol" => Reply::json(json!({"answer": 42})),
        "endless" => Reply::Endless(": still thinking\n\n"),
        "context too long" => refusal(face, "context"),
        "unknown model" => refusal(face, "model"),
        _ => refusal(face, "key"),
    }
}

async fn failure(face: Face, way: &str, stream: bool) -> ModelError {
    let server = Server::start(vec![reply(face, way)]).await;
    let mut asked = request("x");
    asked.stream = stream;
    let began = Instant::now();
    let model = face.hurried(&server.url, "sk-very-secret").resolve_provider(face.provider(), "m").unwrap();
    let error = ask(&*model, &asked).await.0.unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(30), "{way}: its time limit was passed");
    let told = format!("{error:?}");
    assert!(!told.contains("very-secret"), "{told}");
    assert!(error.message.starts_with(&format!("`{}` ", face.provider())), "{told}");
    error
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
                    // The request ends with its body.
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
    let registry = Face::Chat.hurried(&url, "k");
    for _ in 0..5 {
        // Each step resolves its model again.
        ask(&*registry.resolve_provider("openai", "m").unwrap(), &request("x")).await.0.unwrap();
    }
    assert_eq!(connections.load(std::sync::atomic::Ordering::SeqCst), 1);
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn each_is_an_error_that_says_what_happened_and_what_to_do() {
        let mut told = String::new();
        for way in WAYS {
            let _ = writeln!(told, "{way}");
            for face in FACES {
                // A streamed reply is a stream whether or not that was requested; the other replies are tested both ways.
                let streamed = failure(face, way, true).await;
                let help = streamed.help.as_deref().map(|help| format!(" -> {help}")).unwrap_or_default();
                let _ = writeln!(told, "  {:?}: {}{help}", streamed.kind, streamed.message);
                if !matches!(*way, "slow" | "falls silent" | "half a stream" | "endless") {
                    let whole = failure(face, way, false).await;
                    assert_eq!(
                        (whole.kind, whole.message, whole.help),
                        (streamed.kind, streamed.message, streamed.help)
                    );
                }
            }
        }
        expect![[r#"
            slow
              Network: `openai` did not start to answer within 0.3s
              Network: `openai` did not start to answer within 0.3s
              Network: `anthropic` did not start to answer within 0.3s
              Network: `google` did not start to answer within 0.3s
              Network: `cohere` did not start to answer within 0.3s
              Network: `ollama` did not start to answer within 0.3s
            falls silent
              Network: `openai` sent nothing for 0.2s
              Network: `openai` sent nothing for 0.2s
              Network: `anthropic` sent nothing for 0.2s
              Network: `google` sent nothing for 0.2s
              Network: `cohere` sent nothing for 0.2s
              Network: `ollama` sent nothing for 0.2s
            half a stream
              Network: `openai` closed the connection before the answer was complete (unexpected EOF during chunk size line)
              Network: `openai` closed the connection before the answer was complete (unexpected EOF during chunk size line)
              Network: `anthropic` closed the connection before the answer was complete (unexpected EOF during chunk size line)
              Network: `google` closed the connection before the answer was complete (unexpected EOF during chunk size line)
              Network: `cohere` closed the connection before the answer was complete (unexpected EOF during chunk size line)
              Network: `ollama` closed the connection before the answer was complete (unexpected EOF during chunk size line)
            a web page
              Protocol: `openai` sent a web page instead of an answer -> check the base URL, and any proxies
              Protocol: `openai` sent a web page instead of an answer -> check the base URL, and any proxies
              Protocol: `anthropic` sent a web page instead of an answer -> check the base URL, and any proxies
              Protocol: `google` sent a web page instead of an answer -> check the base URL, and any proxies
              Protocol: `cohere` sent a web page instead of an answer -> check the base URL, and any proxies
              Protocol: `ollama` sent a web page instead of an answer -> check the base URL, and any proxies
            an error with status 200
              Status(500): `openai` answered with an error: upstream says no
              Status(500): `openai` answered with an error: upstream says no
              Status(500): `anthropic` answered with an error: upstream says no
              Status(500): `google` answered with an error: upstream says no
              Status(500): `cohere` answered with an error: upstream says no
              Status(500): `ollama` answered with an error: upstream says no
            not JSON
              Protocol: `openai` sent an answer that is not JSON: EOF while parsing a list at line 1 column 13
              Protocol: `openai` sent an answer that is not JSON: EOF while parsing a list at line 1 column 13
              Protocol: `anthropic` sent an answer that is not JSON: EOF while parsing a list at line 1 column 13
              Protocol: `google` sent an answer that is not JSON: EOF while parsing a list at line 1 column 13
              Protocol: `cohere` sent an answer that is not JSON: EOF while parsing a list at line 1 column 13
              Protocol: `ollama` sent an answer that is not JSON: EOF while parsing a list at line 1 column 13
            not the protocol
              Protocol: `openai` sent an answer without `choices[0].message`
              Protocol: `openai` sent an answer without `output`
              Protocol: `anthropic` sent an answer without `content`
              Protocol: `google` sent an answer without `candidates`
              Protocol: `cohere` sent an answer without `message`
              Protocol: `ollama` sent an answer without `message`
            endless
              Timeout: `openai` did not complete its answer within 1.5s (`--timeout 1.5`) -> allow more time with `--timeout`, or ask for a shorter answer
              Timeout: `openai` did not complete its answer within 1.5s (`--timeout 1.5`) -> allow more time with `--timeout`, or ask for a shorter answer
              Timeout: `anthropic` did not complete its answer within 1.5s (`--timeout 1.5`) -> allow more time with `--timeout`, or ask for a shorter answer
              Timeout: `google` did not complete its answer within 1.5s (`--timeout 1.5`) -> allow more time with `--timeout`, or ask for a shorter answer
              Timeout: `cohere` did not complete its answer within 1.5s (`--timeout 1.5`) -> allow more time with `--timeout`, or ask for a shorter answer
              Timeout: `ollama` did not complete its answer within 1.5s (`--timeout 1.5`) -> allow more time with `--timeout`, or ask for a shorter answer
            context too long
              Status(400): `openai` answered with 400: This model's maximum context length is 128000 tokens -> pass less text to the step, or choose a model with a larger context window
              Status(400): `openai` answered with 400: This model's maximum context length is 128000 tokens -> pass less text to the step, or choose a model with a larger context window
              Status(400): `anthropic` answered with 400: prompt is too long: 210000 tokens > 200000 maximum -> pass less text to the step, or choose a model with a larger context window
              Status(400): `google` answered with 400: The input token count (1200000) exceeds the maximum number of tokens allowed (1048576). -> pass less text to the step, or choose a model with a larger context window
              Status(400): `cohere` answered with 400: too many tokens: total number of tokens in the prompt exceeds the limit -> pass less text to the step, or choose a model with a larger context window
              Status(400): `ollama` answered with 400: the input length exceeds the context length -> pass less text to the step, or choose a model with a larger context window
            unknown model
              Status(404): `openai` answered with 404: The model `m` does not exist -> check the model's name, or choose another model; `trefoil doctor` compares it with the provider's list
              Status(404): `openai` answered with 404: The model `m` does not exist -> check the model's name, or choose another model; `trefoil doctor` compares it with the provider's list
              Status(404): `anthropic` answered with 404: model: m -> check the model's name, or choose another model; `trefoil doctor` compares it with the provider's list
              Status(404): `google` answered with 404: models/m is not found for API version v1beta -> check the model's name, or choose another model; `trefoil doctor` compares it with the provider's list
              Status(404): `cohere` answered with 404: model 'm' not found, make sure the correct model ID was used -> check the model's name, or choose another model; `trefoil doctor` compares it with the provider's list
              Status(404): `ollama` answered with 404: model 'm' not found -> download it with `ollama pull`, or choose another model; `trefoil doctor` lists the installed models
            bad key
              Status(401): `openai` answered with 401: Incorrect API key provided: *** -> check the key in `OPENAI_API_KEY`
              Status(401): `openai` answered with 401: Incorrect API key provided: *** -> check the key in `OPENAI_API_KEY`
              Status(401): `anthropic` answered with 401: invalid x-api-key *** -> check the key in `ANTHROPIC_API_KEY`
              Status(401): `google` answered with 400 instead of 401: API key not valid. Please pass a valid API key. -> check the key in `GOOGLE_GENERATIVE_AI_API_KEY`
              Status(401): `cohere` answered with 401: invalid api token *** -> check the key in `COHERE_API_KEY`
              Status(401): `ollama` answered with 401: unauthorized -> check the key in `OLLAMA_API_KEY`
        "#]].assert_eq(&told);
    }

    #[tokio::test]
    async fn an_answer_that_is_not_streamed_may_take_its_time_but_not_stop_in_the_middle() {
        for face in FACES {
            let server = Server::start(vec![Reply::Half(200, "{\"choices\": [")]).await;
            let model = face.hurried(&server.url, "sk-very-secret").resolve_provider(face.provider(), "m").unwrap();
            let error = ask(&*model, &request("x")).await.0.unwrap_err();
            assert!(error.message.ends_with("sent nothing for 0.2s"), "{}", error.message);
            server.client_gone().await;
            let server = Server::start(vec![Reply::Silence]).await;
            let model = face.hurried(&server.url, "sk-very-secret").resolve_provider(face.provider(), "m").unwrap();
            let error = ask(&*model, &request("x")).await.0.unwrap_err();
            assert!(error.message.contains("did not complete its answer within 1.5s"), "{}", error.message);
        }
    }
}
