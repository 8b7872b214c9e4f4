//! Requests with an `Idempotency-Key` that start no new run: answers and resumptions. A document of the store says what the key was
//! used for; the journal of the run says what came of it. So nothing has to be written after the fact, and a crash between two writes
//! loses nothing.

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tokio::sync::OwnedMutexGuard;
use trefoil_host::service::StartedRun;
use trefoil_machine::{AnswerSender, EntryKind};
use trefoil_store::Document;
use trefoil_template::read_json_bytes;

use super::run_start::idempotency_key;
use crate::access::Caller;
use crate::problem::{ApiResult, Problem};
use crate::start::{hash_text, key_reused, run_of_key};
use crate::state::AppState;

/// The collection of documents with requests.
const COLLECTION: &str = "keyed-request";
/// How long a key is remembered.
const REMEMBERED_MS: u64 = 7 * 24 * 60 * 60 * 1_000;

/// Time between looks at a journal.
const PAUSE: Duration = Duration::from_millis(20);

/// What a key was used for.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct RequestNote {
    /// The hash of what was asked for.
    asked: String,
    /// The run whose journal says what came of it.
    run: String,
    /// How many entries its journal had before.
    entries: u64,
}

/// A request with an `Idempotency-Key`.
pub struct KeyedRequest {
    name: String,
    asked: String,
    note: Option<RequestNote>,
    /// The same request waits for this one.
    _turn: OwnedMutexGuard<()>,
}

impl KeyedRequest {
    /// Reads what is known of a request. `None`: it has no key.
    ///
    /// # Errors
    ///
    /// 400 for a key of another form, 422 for one that was used for another request.
    pub async fn read_request(
        state: &AppState,
        caller: &Caller,
        headers: &HeaderMap,
        asked: &Json,
    ) -> ApiResult<Option<Self>> {
        let Some(key) = idempotency_key(headers)? else { return Ok(None) };
        let name = run_of_key(caller, &format!("request\n{key}"));
        let turn = state.gate.wait_same_request(&name).await;
        let mut request = Self { name, asked: hash_text(&asked.to_string()), note: None, _turn: turn };
        request.read_note(state).await?;
        Ok(Some(request))
    }

    async fn read_note(&mut self, state: &AppState) -> ApiResult<()> {
        let store = state.store();
        let document = store.read_document(COLLECTION, &self.name, store.clock().wall_ms()).await?;
        let Some(document) = document else { return Ok(()) };
        let note: RequestNote = read_json_bytes(document.value.as_bytes()).map_err(|error| {
            let detail = format!("what is known of this `Idempotency-Key` cannot be read: {error}");
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", detail)
        })?;
        if note.asked != self.asked {
            return Err(key_reused());
        }
        self.note = Some(note);
        Ok(())
    }

    /// Remembers a request before it is carried out, unless it is known.
    ///
    /// # Errors
    ///
    /// The store; 422 if another server has just got another request with this key.
    pub async fn note_request(&mut self, state: &AppState, run: &str) -> ApiResult<()> {
        if self.note.is_some() {
            return Ok(());
        }
        let store = state.store();
        let entries = store.record(run).await?.entries;
        let note = RequestNote { asked: self.asked.clone(), run: run.to_owned(), entries };
        let document = Document {
            collection: COLLECTION.to_owned(),
            name: self.name.clone(),
            version: 0,
            value: serde_json::to_string(&note).unwrap_or_default(),
            expires: Some(store.clock().wall_ms() + REMEMBERED_MS),
        };
        match store.write_document(document).await? {
            Some(_) => self.note = Some(note),
            None => self.read_note(state).await?,
        }
        Ok(())
    }

    /// Who gives the answer of this request: with the request, so that it is recognized in the journal.
    pub fn mark_sender(&self, sender: &AnswerSender) -> AnswerSender {
        AnswerSender::new(sender.sender_name(), &format!("{}, {}", sender.sender_origin(), self.mark()))
    }

    fn mark(&self) -> String {
        format!("request {}", self.name)
    }

    fn has_sent(&self, sender: &AnswerSender) -> bool {
        sender.sender_origin().ends_with(&self.mark())
    }

    /// Whether the answer of this request is in the inbox or the journal.
    ///
    /// # Errors
    ///
    /// The store.
    pub async fn was_answered(&self, state: &AppState) -> ApiResult<bool> {
        let Some(note) = &self.note else { return Ok(false) };
        // A message goes from the inbox to the journal, so this order misses none.
        for posted in state.store().read_inbox(&note.run).await? {
            if let Some(sender) = &posted.message.sender
                && self.has_sent(sender)
            {
                return Ok(true);
            }
        }
        for entry in state.store().read_entries(&note.run, note.entries).await? {
            let given_by = match &entry.kind {
                EntryKind::Completed { about, .. } | EntryKind::Failed { about, .. } => about.given_by.as_deref(),
                EntryKind::Restarted { given_by, .. } => given_by.as_deref(),
                _ => None,
            };
            if let Some(receipt) = given_by
                && self.has_sent(&receipt.sender)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the run was resumed since this request came first.
    ///
    /// # Errors
    ///
    /// The store.
    pub async fn was_resumed(&self, state: &AppState) -> ApiResult<bool> {
        let Some(note) = &self.note else { return Ok(false) };
        let entries = state.store().read_entries(&note.run, note.entries).await?;
        Ok(entries.iter().any(|entry| matches!(entry.kind, EntryKind::Resumed { .. } | EntryKind::Reopened { .. })))
    }

    /// Waits until the journal says that the run was resumed, or the run does nothing: only then may the same request come.
    ///
    /// # Errors
    ///
    /// The store.
    pub async fn await_resumed(&self, state: &AppState, resumed: StartedRun) -> ApiResult<()> {
        let Some(mut outcome) = resumed.outcome else { return Ok(()) };
        while !self.was_resumed(state).await? {
            if tokio::time::timeout(PAUSE, &mut outcome).await.is_ok() {
                break;
            }
        }
        Ok(())
    }
}
