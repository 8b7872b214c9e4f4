//! Names and properties in templates and conditions, as well as blocks, helpers, filters and values for comparisons.

use trefoil_ir::facts::{Scope, ScopeName};
use trefoil_ir::types::ValueType;
use trefoil_syntax::FileId;
use trefoil_template::policy::{BlockSyntax, ConditionGrammar};
use trefoil_template::{Policy, Value};

use super::tag::{CursorPath, TagCursor, closes_tag, helper_items, in_tag, line_before, property_items_at, word_items};
use super::{
    CompletionItem, CompletionItems, CompletionKind, STAND_IN, block_names, folder_values, nested_members, offer,
};
use crate::analysis::FolderAnalysis;
use crate::cursor::{line_span, open_brackets};
use crate::{hover, rename, types};

/// Completes at an offset in a tag or a condition.
pub fn complete_in_tag(
    analysis: &FolderAnalysis,
    file: FileId,
    offset: u32,
    retry: &mut dyn FnMut(&str) -> Option<(FolderAnalysis, FileId)>,
) -> CompletionItems {
    if let Some(found) = block_names::complete_in_block(analysis, file, offset, retry) {
        return found;
    }
    let text = analysis.file_text(file);
    let written = CursorPath::at_offset(text, offset);
    if let Some(scope) = analysis.scope_at(file, offset) {
        return CompletionItems {
            replace: written.last,
            items: items(&TagCursor { analysis, file, offset }, scope, &written),
        };
    }
    for (text, offset) in attempts(text, offset) {
        if let Some((analysis, file)) = retry(&text)
            && let Some(scope) = analysis.scope_at(file, offset)
        {
            let around = TagCursor { analysis: &analysis, file, offset };
            return CompletionItems { replace: written.last, items: items(&around, scope, &written) };
        }
    }
    CompletionItems { replace: written.last, items: Vec::new() }
}

/// Whether an offset is in a condition, where paths need no braces.
pub fn in_bare_condition(analysis: &FolderAnalysis, file: FileId, offset: u32) -> bool {
    matches!(analysis.scope_at(file, offset), Some(scope) if scope.condition)
}

/// Variants of the text in which the path at the cursor can be parsed, with the cursor's offset in each.
fn attempts(text: &str, offset: u32) -> Vec<(String, u32)> {
    let at = offset as usize;
    let own = line_span(text, offset);
    let (Some(above), Some(rest)) = (text.get(..at), text.get(at..own.end as usize)) else { return Vec::new() };
    let below = text.get(own.end as usize..).unwrap_or_default();
    let mut out = Vec::new();
    let close = if closes_tag(rest) || !in_tag(text, offset) { "" } else { "}}" };
    out.push((format!("{above}{STAND_IN}{close}{rest}{below}"), offset));
    // In YAML, a value that starts with braces is a text only in quotes.
    let value = value_start(text, offset);
    if let (Some(head), Some(begun)) = (text.get(..value), text.get(value..at)) {
        let begun = begun.trim_start_matches(['"', '\'']).replace(['"', '\''], "_");
        let body = format!("{head}\"{begun}");
        let cursor = body.len() as u32;
        let close = if in_tag(text, offset) { "}}" } else { "" };
        let line = head.get(own.start as usize..).unwrap_or_default().replace("{{", "").replace("}}", "");
        let brackets: String = open_brackets(&line).into_iter().collect();
        if !brackets.is_empty() {
            out.push((format!("{body}{STAND_IN}{close}\"{brackets}{below}"), cursor));
        }
        out.push((format!("{body}{STAND_IN}{close}\"{below}"), cursor));
    }
    out
}

/// The start of the value that contains the cursor: after the key on its line.
fn value_start(text: &str, offset: u32) -> usize {
    let line_start = line_span(text, offset).start as usize;
    let before = line_before(text, offset);
    let head = match before.split_once("{{") {
        Some((head, _)) => head,
        None => before,
    };
    let start = match (head.rfind(": "), head.rfind("- ")) {
        (Some(colon), _) => colon + 2,
        (None, Some(dash)) => dash + 2,
        (None, None) => blanks_at(head, 0),
    };
    // In a list in brackets, the item starts after the last bracket or comma.
    let value = head.get(start..).unwrap_or_default();
    let item = match value.rfind(['[', ',']) {
        Some(at) if value.starts_with('[') => at + 1 + blanks_at(value, at + 1),
        _ => 0,
    };
    line_start + start + item
}

fn blanks_at(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.len() - rest.trim_start().len()
}

fn items(around: &TagCursor<'_>, scope: &Scope, written: &CursorPath<'_>) -> Vec<CompletionItem> {
    if let Some(values) = compared_values(around, scope, written.head) {
        return values;
    }
    let head = written.head.trim_end();
    if written.tag && scope.policy.filters && head.ends_with('|') {
        return word_items(&["default('')", "json_or_default('[]')"]);
    }
    if written.tag && (head.ends_with("{{#") || head.ends_with("{{/")) {
        return word_items(blocks(scope.policy));
    }
    let braced = scope.condition && scope.policy.conditions == ConditionGrammar::Braced;
    let mut items: Vec<CompletionItem> = Vec::new();
    if braced && !written.tag {
        // Outside of braces, a word is text.
        for name in scope.names.iter() {
            items.push(CompletionItem { insert: format!("{{{{{}}}}}", name.name), ..name_item(name, &name.name) });
        }
        return items;
    }
    items.extend(names(&scope.names, &written.done));
    for more in nested_members::find_members(around, scope, &written.done) {
        if !items.iter().any(|i| i.label == more.label || i.label.split('.').next() == Some(&more.label)) {
            items.push(more);
        }
    }
    if written.done.is_empty() && scope.policy.blocks == BlockSyntax::Handlebars && (written.tag || scope.condition) {
        items.extend(helper_items(scope));
        if written.tag {
            items.extend(word_items(&["else", "this", "@index", "@key", "@first", "@last"]));
        }
    }
    items
}

/// The values for the comparison whose right side is being written; `None` if there is no comparison, or only names can
/// be offered.
fn compared_values(around: &TagCursor<'_>, scope: &Scope, head: &str) -> Option<Vec<CompletionItem>> {
    let compared = compared(scope, head)?;
    // Use other quotes than the scalar.
    let text = around.analysis.file_text(around.file);
    let single = text.as_bytes().get(scope.at.span.start as usize) == Some(&b'\'');
    let open = head.ends_with(['"', '\'']);
    let quote = if single { '"' } else { '\'' };
    let mut values = values(&compared.schema, scope, quote, open);
    if values.is_empty() {
        for word in words(around, scope, &compared.path) {
            values.push(quoted(&word, scope, quote, open));
        }
    }
    // Within quotes, a name would be text.
    if values.is_empty() && !open {
        return None;
    }
    Some(values.into_iter().map(|value| CompletionItem::new(value, CompletionKind::Value)).collect())
}

fn blocks(policy: &Policy) -> &'static [&'static str] {
    match policy.blocks {
        BlockSyntax::None => &[],
        BlockSyntax::If => &["if"],
        BlockSyntax::Handlebars => &["if", "unless", "each", "with"],
    }
}

/// The segments as they are declared: an id with hyphens has another form in templates.
fn declared_spelling(names: &[ScopeName], done: &[&str]) -> Vec<String> {
    let mut out: Vec<String> = done.iter().map(|s| (*s).to_owned()).collect();
    if let Some(first) = out.first_mut() {
        let camel = rename::camel_case(first);
        if names.iter().any(|n| *n.name == camel) {
            *first = camel;
        }
    }
    out
}

/// The names that continue the complete segments: other names with dots, or properties.
fn names(names: &[ScopeName], done: &[&str]) -> Vec<CompletionItem> {
    let done = declared_spelling(names, done);
    let done: &[&str] = &done.iter().map(String::as_str).collect::<Vec<_>>();
    let mut out: Vec<CompletionItem> = Vec::new();
    for name in names {
        let own: Vec<&str> = name.name.split('.').collect();
        if let Some(rest) = own.strip_prefix(done)
            && !rest.is_empty()
        {
            offer(&mut out, name_item(name, &rest.join(".")));
        } else if let Some(rest) = done.strip_prefix(own.as_slice()) {
            for item in property_items_at(&name.schema, rest) {
                offer(&mut out, item);
            }
        }
    }
    out
}

fn name_item(name: &ScopeName, label: &str) -> CompletionItem {
    let mut about: Vec<String> = name.note.iter().map(ToString::to_string).collect();
    about.push(hover::describe_definedness(name.defined).to_owned());
    CompletionItem::new(label, CompletionKind::Name)
        .detail(types::describe_type(&name.schema))
        .documentation(about.join("\n\n"))
}

/// The left side of a comparison whose right side is being written.
struct ComparisonOperand {
    path: String,
    schema: ValueType,
}

fn compared(scope: &Scope, head: &str) -> Option<ComparisonOperand> {
    let head = head.trim_end().trim_end_matches(['"', '\'']).trim_end();
    let left = match head.strip_suffix("==") {
        Some(left) => left,
        None => head.strip_suffix("!=")?,
    };
    let left = left.trim_end();
    let left = left.strip_suffix("}}").unwrap_or(left).trim_end();
    let path = left.rsplit(|c: char| c.is_whitespace() || "{}()&|!\"'".contains(c)).next()?;
    if path.is_empty() {
        return None;
    }
    let done = declared_spelling(&scope.names, &path.split('.').collect::<Vec<_>>());
    let done: Vec<&str> = done.iter().map(String::as_str).collect();
    let schema = type_of_path(&scope.names, &done).cloned().unwrap_or_default();
    Some(ComparisonOperand { path: path.to_owned(), schema })
}

/// The type of the value at a path.
fn type_of_path<'s>(names: &'s [ScopeName], path: &[&str]) -> Option<&'s ValueType> {
    for name in names {
        let own: Vec<&str> = name.name.split('.').collect();
        if let Some(rest) = path.strip_prefix(own.as_slice())
            && let Some(found) = types::type_at_path(&name.schema, rest)
        {
            return Some(found);
        }
    }
    None
}

/// The possible results of a state.
const STATUS: [&str; 2] = ["success", "failed"];

/// The values for a comparison: those used elsewhere, the choices of a person, or the results of a state.
fn words(around: &TagCursor<'_>, scope: &Scope, path: &str) -> Vec<String> {
    let TagCursor { analysis, file, offset } = *around;
    let mut out = folder_values::compared_texts(analysis, path, file, offset);
    if scope.policy.blocks == BlockSyntax::Handlebars && path.ends_with(".status") {
        for status in STATUS {
            if !out.iter().any(|known| known == status) {
                out.push(status.to_owned());
            }
        }
    }
    out
}

/// Quotes a text for a comparison. `open`: the opening quote is already written.
fn quoted(text: &str, scope: &Scope, quote: char, open: bool) -> String {
    let bare = scope.condition && scope.policy.conditions == ConditionGrammar::Braced;
    let word = |t: &str| t.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    if open || bare && word(text) { text.to_owned() } else { format!("{quote}{text}{quote}") }
}

/// The values that a path can have. `open`: the opening quote is already written.
fn values(schema: &ValueType, scope: &Scope, quote: char, open: bool) -> Vec<String> {
    let python = scope.policy.conditions == ConditionGrammar::Python && scope.condition;
    let mut values = Vec::new();
    for value in types::listed_values(schema) {
        values.push(match value {
            Value::Str(text) => quoted(&text, scope, quote, open),
            Value::Bool(flag) if python => if flag { "True" } else { "False" }.to_owned(),
            other => serde_json::to_string(&other).unwrap_or_default(),
        });
    }
    values
}
