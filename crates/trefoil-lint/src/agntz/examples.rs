//! Examples that contradict the output schema, or each other.

use trefoil_syntax::hash::HashMap;
use trefoil_syntax::{Diagnostic, suggestions};
use trefoil_template::{Value, read_json};

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
    contradictions(file, examples, found);
    let Some(schema) = schema.filter(|s| s.sound) else { return };
    for example in examples {
        let mut at = file.location_of(example.output.span);
        let mut help = None;
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
                Some(why) => {
                    help = renamed(&schema.json, &value);
                    format!("does not match the schema: {why}")
                }
            },
        };
        let d = Diagnostic::new_warning("schema-mismatch", at, format!("this example {why}"));
        let d = help.into_iter().fold(d, Diagnostic::with_help);
        found.push(d.with_label(file.location_of(schema.key), "answers must match this schema"));
    }
}

/// Reports examples that give two answers for one input.
fn contradictions(file: ManifestSource<'_>, examples: &[AgntzExample<'_>], found: &mut FindingList) {
    let mut seen: HashMap<&str, &AgntzExample<'_>> = HashMap::default();
    for example in examples.iter().filter(|_| examples.len() > 1) {
        let Some(first) = seen.insert(example.input.value.trim(), example) else { continue };
        let json = |e: &AgntzExample<'_>| read_json::<serde_json::Value>(&e.output.value).ok();
        let same = json(first).is_some_and(|value| json(example) == Some(value));
        if !same && first.output.value.trim() != example.output.value.trim() {
            let at = file.location_of(example.input.span);
            let d = Diagnostic::new_warning(
                "schema-mismatch",
                at,
                "this example has a different answer for the same input",
            );
            found.push(
                d.with_label(file.location_of(first.input.span), "the same input").with_help("keep the correct one"),
            );
        }
    }
}

/// The span of the character at a line and column, as counted by the JSON reader.
fn offset(text: &str, line: usize, column: usize) -> Option<(u32, u32)> {
    let before: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let start = text.floor_char_boundary(before + column.checked_sub(1)?);
    let length = text.get(start..)?.chars().next()?.len_utf8();
    Some((start as u32, (start + length) as u32))
}

/// The property that was probably meant by an undeclared one.
fn renamed(schema: &Value, value: &serde_json::Value) -> Option<String> {
    let properties = schema.get("properties")?.as_object()?;
    let written = value.as_object()?;
    let absent = || properties.keys().map(|k| &**k).filter(|k| !written.contains_key(*k));
    let unknown = written.keys().filter(|k| properties.get(k.as_str()).is_none());
    let (word, near) = unknown.filter_map(|k| Some((k, suggestions::find_near_match(k, absent())?))).next()?;
    Some(format!("did you mean `{}` instead of `{word}`?", near.name))
}
