//! What a trace says about the whole run in addition to its events: the program, its files, what answers its models.

use serde_json::{Value, json};
use trefoil_ir::Program;
use trefoil_machine::journal::ProgramFile;
use trefoil_syntax::SourceFiles;

use crate::graph::{GraphPicture, draw_graph};

/// What was run.
#[derive(Debug, Clone, Default)]
pub struct TraceSubject {
    /// The format of the entry.
    pub dialect: &'static str,
    /// The fingerprint of the program, as text.
    pub program: String,
    /// The files of the program with the hashes of their texts.
    pub sources: Vec<ProgramFile>,
    /// What answers model calls, in a word.
    pub answers_from: String,
    /// Whether that makes the answers up.
    pub placeholder: bool,
    /// The picture of the flow.
    pub graph: GraphPicture,
    /// The files, for the places of steps.
    pub files: SourceFiles,
}

impl TraceSubject {
    /// A program and its files. What answers its model calls is not known here.
    pub fn new(program: &Program, files: &SourceFiles) -> Self {
        Self {
            program: format!("{:016x}", program.hash),
            graph: draw_graph(program, files),
            files: files.clone(),
            ..Self::default()
        }
    }

    pub(super) fn sources_json(&self) -> Value {
        self.sources.iter().map(|file| json!({"file": file.path, "sha256": file.sha256})).collect()
    }
}
