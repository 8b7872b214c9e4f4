//! Errors in responses with a success status, in each protocol: within a stream and as a whole body.

use serde_json::{Value as Json, json};
use trefoil_runtime::{ModelError, ModelErrorKind};

use crate::faces::{FACES, Face};
use crate::request::{ask, request};
use crate::server::{Piece, Reply, Server};

/// Errors, and what each means in every protocol.
fn errors() -> Vec<(Json, ModelErrorKind)> {
    use ModelErrorKind::{Credit, Status};
    vec![
        (json!({"code": 429, "message": "slow down"}), Status(429)),
        (json!({"code": "429", "message": "slow down"}), Status(429)),
        (json!({"type": "overloaded_error", "message": "Overloaded"}), Status(529)),
        (json!({"code": "rate_limit_exceeded", "message": "slow down"}), Status(429)),
        (json!({"code": 8, "status": "RESOURCE_EXHAUSTED", "message": "slow down"}), Status(429)),
        (json!({"__type": "ThrottlingException", "message": "slow down"}), Status(429)),
        (json!({"code": "insufficient_quota", "message": "no credit"}), Credit),
        (json!({"code": "context_length_exceeded", "message": "too long"}), Status(400)),
        (json!({"type": "authentication_error", "message": "no"}), Status(401)),
        (json!({"message": "upstream connect error"}), Status(503)),
        (json!({"code": "E42", "message": "?"}), Status(503)),
        (json!("upstream connect error"), Status(503)),
        (json!("502 Bad Gateway"), Status(502)),
    ]
}

async fn failed(face: Face, reply: Reply, stream: bool) -> ModelError {
    let server = Server::start(vec![reply]).await;
    let mut asked = request("x");
    asked.stream = stream;
    let model = face.registry(&server.url, "k").resolve_provider(face.provider(), "m").unwrap();
    ask(&*model, &asked).await.0.unwrap_err()
}

fn event(face: Face, event: &Json) -> Piece {
    Piece::Bytes(face.event(event).into_bytes())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_means_the_same_in_every_protocol_and_place() {
    for face in FACES {
        for (error, kind) in errors() {
            // Gateways send it in this form, whatever the protocol.
            let body = json!({ "error": error });
            let first = face.stream(vec![event(face, &body)]);
            let later = face.stream(vec![event(face, &face.piece("half")), event(face, &body)]);
            for (place, reply, stream) in [
                ("a body", Reply::json(body.clone()), false),
                ("the first event", first, true),
                ("a later event", later, true),
            ] {
                let told = failed(face, reply, stream).await;
                assert_eq!(told.kind, kind, "{face:?}, {place}: {error}");
                let said = error.get("message").unwrap_or(&error).as_str().unwrap();
                assert!(told.message.ends_with(&format!("answered with an error: {said}")), "{}", told.message);
                assert_eq!(told.came.is_some_and(|came| came.text == "half"), place == "a later event");
            }
        }
    }
}

#[tokio::test]
async fn an_error_in_a_protocols_own_form_is_found() {
    use Face::{Chat, Cohere, Messages, Responses};
    let message = json!({"code": "rate_limit_exceeded", "message": "slow down"});
    let own = [
        (Chat, "", json!({"choices": [{"delta": {}, "error": message, "finish_reason": "error"}]}), 429),
        (Chat, "", json!({"object": "error", "type": "BadRequestError", "message": "slow down", "code": 400}), 400),
        (Chat, "", json!({"detail": "slow down"}), 503),
        (Chat, "event: error\n", json!({"msg": "slow down"}), 503),
        (
            Messages,
            "event: error\n",
            json!({"type": "error", "error": {"type": "api_error", "message": "slow down"}}),
            500,
        ),
        (Responses, "", json!({"type": "error", "code": "server_error", "message": "slow down"}), 500),
        (Responses, "", json!({"type": "response.failed", "response": {"status": "failed", "error": message}}), 429),
        (Cohere, "", json!({"type": "message-end", "delta": {"error": "slow down"}}), 503),
        (Cohere, "", json!({"id": "x", "message": "slow down"}), 503),
    ];
    for (face, name, body, status) in own {
        let told = failed(face, Reply::stream(&[&format!("{name}data: {body}\n\n")]), true).await;
        assert_eq!(told.kind, ModelErrorKind::Status(status), "{face:?}: {body}");
    }
    let text = failed(Chat, Reply::stream(&["event: error\ndata: upstream is gone\n\n"]), true).await;
    assert_eq!(text.kind, ModelErrorKind::Status(503));
    assert!(text.message.ends_with("upstream is gone"), "{}", text.message);
}
