//! What a trace says about the whole run in addition to its events: the program, its files, the engine.

use serde_json::{Value, json};

use crate::engine::AnswersFrom;
use crate::graph::{Graph, graph};
use crate::load::Loaded;
use trefoil_syntax::Files;

/// What was run.
#[derive(Debug, Clone, Default)]
pub struct About {
    pub(super) dialect: &'static str,
    pub(super) program: String,
    pub(super) sources: Vec<(String, String)>,
    pub(super) answers_from: String,
    pub(super) placeholder: bool,
    pub(super) graph: Graph,
    pub(super) files: Files,
}

impl About {
    /// A program, and what answers its model calls.
    pub fn new(loaded: &Loaded, answers_from: &AnswersFrom) -> Self {
        Self {
            dialect: loaded.dialect,
            program: format!("{:016x}", loaded.program.hash),
            sources: loaded.sources().into_iter().map(|source| (source.path, source.sha256)).collect(),
            answers_from: answers_from.to_string(),
            placeholder: *answers_from == AnswersFrom::Embedded,
            graph: graph(&loaded.program, &loaded.files),
            files: loaded.files.clone(),
        }
    }

    pub(super) fn sources(&self) -> Value {
        self.sources.iter().map(|(file, sha256)| json!({"file": file, "sha256": sha256})).collect()
    }
}
