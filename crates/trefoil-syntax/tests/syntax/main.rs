//! Tests of the syntax crate through its public interface.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test says what is wrong by stopping; the lints' own exceptions do not reach functions beside the tests"
)]

mod comments;
mod corpus;
mod limits;
mod mistakes;
mod positions;
mod render;
mod scalar_map;
mod tree;

use trefoil_syntax::yaml::{YamlDocument, YamlLimits, parse};
use trefoil_syntax::{SourceFile, SourceFiles, Span};

/// Parses a text as the only file.
pub(crate) fn read(text: &str) -> (SourceFiles, YamlDocument) {
    let mut files = SourceFiles::default();
    let id = files.add_file(SourceFile::new("flow.yaml", text));
    let parsed = parse(id, files.get(id).unwrap(), &YamlLimits::default());
    (files, parsed)
}

/// The bytes of a span.
pub(crate) fn slice(text: &str, span: Span) -> &str {
    &text[span.start as usize..span.end as usize]
}
