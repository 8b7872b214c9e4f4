//! Examples that contradict the output schema.

use trefoil_syntax::Diagnostic;
use trefoil_template::read_json;

use super::FindingList;
use trefoil_front::ManifestSource;
use trefoil_front::agntz::manifest::AgntzExample;
use trefoil_front::agntz::schema::{AgntzSchema, misfit_reason};

/// Reports examples that the output schema would reject, because they teach the model a wrong answer.
pub fn check_examples(
    file: ManifestSource<'_>,
    examples: &[AgntzExample<'_>],
    schema: Option<&AgntzSchema<'_>>,
    found: &mut FindingList,
) {
    let Some(schema) = schema.filter(|s| s.sound) else { return };
    for example in examples {
        let mut at = file.location_of(example.output.span);
        let why = match read_json::<serde_json::Value>(&example.output.value) {
            Err(e) => {
                let text = &*example.output.value;
                let what = e.to_string();
                let what = what.split(" at line ").next().unwrap_or_default();
                match offset(text, e.line(), e.column()) {
                    Some((start, end)) if text.trim_start().starts_with(['{', '[']) => {
                        at = file.location_of(example.output.source_span(start..end));
                        format!("is not JSON: {what}")
                    }
                    _ => "is not JSON".to_owned(),
                }
            }
            Ok(value) => match misfit_reason(&schema.json, &value) {
                None => continue,
                Some(why) => format!("does not match the schema: {why}"),
            },
        };
        let d = Diagnostic::new_warning("schema-mismatch", at, format!("this example {why}"));
        found.push(d.with_label(file.location_of(schema.key), "answers must match this schema"));
    }
}

/// The span of the character at a line and column, as counted by the JSON reader.
fn offset(text: &str, line: usize, column: usize) -> Option<(u32, u32)> {
    let before: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let start = text.floor_char_boundary(before + column.checked_sub(1)?);
    let length = text.get(start..)?.chars().next()?.len_utf8();
    Some((start as u32, (start + length) as u32))
}
