//! `examples`: few-shot turns.

use trefoil_syntax::yaml::{YamlNode, YamlText};

use super::texts;
use crate::yaml_reader::ManifestReader;

/// One pair of turns.
pub struct AgntzExample<'n> {
    /// The user message.
    pub input: &'n YamlText,
    /// The assistant's answer.
    pub output: &'n YamlText,
}

/// Reads the list.
pub fn read_examples<'n>(reader: &ManifestReader<'_>, node: &'n YamlNode) -> Vec<AgntzExample<'n>> {
    let items = reader.read_list(node, "examples").unwrap_or_default();
    let mut examples = Vec::with_capacity(items.len());
    for item in items {
        let Some(mut fields) = reader.read_mapping(item, "an example") else { continue };
        let input = texts::non_empty_text(reader, fields.require_text("input"), "input");
        let output = texts::non_empty_text(reader, fields.require_text("output"), "output");
        fields.finish_mapping();
        if let (Some(input), Some(output)) = (input, output) {
            as_written(reader, input);
            as_written(reader, output);
            examples.push(AgntzExample { input, output });
        }
    }
    examples
}

/// Examples are not templates, so a placeholder in one is sent as written.
fn as_written(reader: &ManifestReader<'_>, text: &YamlText) {
    if text.value.contains("{{") {
        reader.report_warning("no-effect", text.span, "placeholders in an example are sent as written");
    }
}
