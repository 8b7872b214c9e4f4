//! Canonical bytes of requests and their hashes.

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{AskDecide, WireKind, WireRequest};
use crate::key::ContentKey;

/// The form that is hashed: the kind of request and what affects its answer, nothing else.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum CanonicalRequest<'r> {
    Model(&'r super::AskModel),
    Tool(&'r super::AskTool),
    Describe(&'r super::AskDescribe),
    Command(&'r super::AskCommand),
    Human(&'r super::AskHuman),
    Timer(&'r super::AskTimer),
    Decide(&'r AskDecide),
}

impl WireRequest {
    /// The bytes of which the content key is made: canonical JSON of `{"SORT": ASK}`, without the version.
    pub fn content(&self) -> Vec<u8> {
        canonical(&match &self.request {
            WireKind::Model { ask, .. } => CanonicalRequest::Model(ask),
            WireKind::Tool { ask, .. } => CanonicalRequest::Tool(ask),
            WireKind::Describe { ask } => CanonicalRequest::Describe(ask),
            WireKind::Command { ask } => CanonicalRequest::Command(ask),
            WireKind::Human { ask, .. } => CanonicalRequest::Human(ask),
            WireKind::Timer { ask, .. } => CanonicalRequest::Timer(ask),
            WireKind::Decide { ask, .. } => CanonicalRequest::Decide(ask),
        })
    }
    /// The content key.
    pub fn key(&self) -> ContentKey {
        ContentKey(Sha256::digest(self.content()).into())
    }
}

/// Canonical JSON (RFC 8785).
pub fn canonical(of: &impl Serialize) -> Vec<u8> {
    // Cannot fail: keys are text, no serializer of ours returns an error, and a vector accepts every byte.
    super::jcs::to_vec(of).unwrap_or_default()
}

/// The first 64 bits of a question's hash, which identify its activity.
pub(crate) fn digest(question: &AskDecide) -> u64 {
    let hash = Sha256::digest(canonical(question));
    hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}
