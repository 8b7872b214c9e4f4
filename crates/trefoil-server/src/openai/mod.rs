//! The API of OpenAI, as far as flows can have it: a flow is a model. What a request means here is in [`request`], and what is refused.
//!
//! | what happens | answer |
//! |---|---|
//! | an unknown model | 404 `model_not_found` |
//! | the flow does not accept the input | 400 `INPUT_INVALID` |
//! | the flow cannot run here, or needs tools of the client | 422 |
//! | the run fails | 502 with the code of the failure |
//! | the run waits for a person | 409 `waiting_for_person`; the run stays open |
//! | either of them in a stream that has begun | an event `{"error": {...}}` |
//!
//! Clients send a request again after 408, 409, 429 and 5xx. So every answer after a run has started has `x-should-retry: false`,
//! which they obey. A run whose client leaves is cancelled, unless the request has an `Idempotency-Key`: then the client may come back.

mod chat;
mod chat_head;
mod chat_stream;
mod errors;
mod models;
mod parameters;
mod request;
mod run_ending;

use axum::Router;
use axum::routing::{get, post};

pub use errors::shape_openai_error;

use crate::state::AppState;

/// The routes of OpenAI's API.
pub fn openai_routes() -> Router<AppState> {
    Router::new()
        .route("/v1/chat/completions", post(chat::complete_chat))
        .route("/v1/models", get(models::list_models))
        .route("/v1/models/{model}", get(models::show_model))
}
