//! Canonical bytes and their hashes.

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{AskDecide, WireKind, WireRequest};
use crate::key::ContentKey;

/// The two-field form that is hashed: the sort of request and what it asks, nothing else.
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
    /// What the content key is made of: canonical JSON of `{"SORT": ASK}`. The version is no part of it.
    pub fn content(&self) -> Vec<u8> {
        canonical(&match &self.request {
            WireKind::Model { ask, .. } => CanonicalRequest::Model(ask),
            WireKind::Tool { ask } => CanonicalRequest::Tool(ask),
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
    // What is written here has texts for keys and no error of its own, and a vector takes every byte.
    super::jcs::to_vec(of).unwrap_or_default()
}

/// The first sixty-four bits of a question's hash: what its activity is called by.
pub(crate) fn digest(question: &AskDecide) -> u64 {
    let hash = Sha256::digest(canonical(question));
    hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}
