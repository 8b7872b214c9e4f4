//! `examples`: few-shot turns.

use trefoil_syntax::yaml::{Node, Text};

use super::texts;
use crate::read::Reader;

/// One pair of turns.
pub struct Example<'n> {
    /// The user message.
    pub input: &'n Text,
    /// The assistant's answer.
    pub output: &'n Text,
}

/// Reads the list.
pub fn read<'n>(reader: &Reader<'_>, node: &'n Node) -> Vec<Example<'n>> {
    let items = reader.list(node, "examples").unwrap_or_default();
    let mut examples = Vec::with_capacity(items.len());
    for item in items {
        let Some(mut fields) = reader.fields(item, "an example") else { continue };
        let input = fields.require_text("input").filter(|t| texts::not_empty(reader, t, "input"));
        let output = fields.require_text("output").filter(|t| texts::not_empty(reader, t, "output"));
        fields.finish();
        if let (Some(input), Some(output)) = (input, output) {
            as_written(reader, input);
            as_written(reader, output);
            examples.push(Example { input, output });
        }
    }
    examples
}

/// Examples are not templates, so a placeholder in one is sent as written.
fn as_written(reader: &Reader<'_>, text: &Text) {
    if text.value.contains("{{") {
        reader.warning("no-effect", text.span, "placeholders in an example are sent as written");
    }
}
