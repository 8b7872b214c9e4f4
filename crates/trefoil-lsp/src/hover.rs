//! Hover: describes what is at the cursor (a name, a key, a value, a word of the template language) and the rules of the findings
//! there.

use trefoil_check::{Rule, find_rule};
use trefoil_ir::facts::{DeclarationKind, NameDeclaration, ValuePresence};
use trefoil_ir::types::ValueType;
use trefoil_models::vendors::VENDORS;
use trefoil_project::schema::{SchemaSegment, keys_at, values_at};
use trefoil_syntax::yaml::YamlNode;
use trefoil_syntax::{FileId, Span};
use trefoil_template::Value;

use crate::analysis::{FolderAnalysis, location_touches, touches_offset};
use crate::cursor::{PathStep, TreeElement, find_position, line_span};
use crate::highlight::path_to;
use crate::semantic_tokens::TokenKind;
use crate::{completion, diagnostics, semantic_tokens, types, words};

/// A hover text and its range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoverText {
    /// The bytes that it describes.
    pub span: Span,
    /// Markdown.
    pub text: String,
}

/// The hover at an offset.
pub fn describe_at(analysis: &FolderAnalysis, file: FileId, offset: u32) -> Option<HoverText> {
    if let Some((span, rule)) = rule_in_comment(analysis, file, offset) {
        return Some(HoverText { span, text: rule_page(rule) });
    }
    let mut parts = Vec::new();
    let mut described_span = None;
    for describe in [describe_name, describe_key, describe_value, describe_word] {
        if let Some((span, text)) = describe(analysis, file, offset) {
            described_span = Some(span);
            parts.push(text);
            break;
        }
    }
    let mut described_rules: Vec<&str> = Vec::new();
    for finding in diagnostics::file_diagnostics(analysis, file) {
        if let Some(span) = finding.span
            && touches_offset(span, offset)
            && let Some(rule) = find_rule(finding.rule)
            && !described_rules.contains(&rule.name)
        {
            described_rules.push(rule.name);
            described_span = described_span.or(Some(span));
            parts.push(rule_page(rule));
        }
    }
    Some(HoverText { span: described_span?, text: parts.join("\n\n---\n\n") })
}

/// A rule's page with a small heading for the editor's pop-up.
fn rule_page(rule: &Rule) -> String {
    let rest = match rule.page.split_once('\n') {
        Some((_, rest)) => rest.trim(),
        None => "",
    };
    format!("**{}**\n\n{}", rule.name, rest.replace("\n## ", "\n#### "))
}

/// Describes a name: in a template, as the value of a key, or in its declaration.
fn describe_name(analysis: &FolderAnalysis, file: FileId, offset: u32) -> Option<(Span, String)> {
    let mentions = analysis.mentions_at(file, offset);
    let Some(first) = mentions.first() else {
        let (declaration, at) = analysis.declaration_at(file, offset)?;
        return Some((at.span, describe_declaration(analysis, declaration, file)));
    };
    let mut lines = Vec::new();
    match analysis.mentioned_declaration(first) {
        Some(declaration) => lines.push(describe_declaration(analysis, declaration, file)),
        None => {
            lines.push(format!("`{}`", analysis.text_at(first.at)));
            // A name without a declaration is described in the list of visible names.
            let path = path_to(analysis.file_text(file), first.at.span);
            if first.template
                && let Some(scope) = analysis.scope_at(file, offset)
                && let Some(visible) = scope.names.iter().find(|n| *n.name == *path)
                && let Some(note) = &visible.note
            {
                lines.push(note.to_string());
            }
        }
    }
    if first.template {
        // For a path to a member, the type of the path is more specific than that of the declaration.
        let kind = types::describe_type(&first.schema);
        let is_described = matches!(lines.first(), Some(line) if line.contains(&format!("type: `{kind}`")));
        if !is_described && kind != "anything" {
            lines.push(format!("type here: `{kind}`"));
        }
        if first.to.is_none() {
            lines.extend(describe_constraints(&first.schema));
        }
        lines.push(describe_definedness(first.defined).to_owned());
    } else if first.to.is_none() {
        lines.push("unknown name".to_owned());
    }
    Some((first.at.span, lines.join("\n\n")))
}

/// The properties of a schema other than its type.
fn describe_constraints(schema: &ValueType) -> Vec<String> {
    let to_json = |value: &Value| serde_json::to_string(value).unwrap_or_default();
    let mut out = Vec::new();
    if let Some(default) = schema.schema_keyword("default") {
        out.push(format!("default: `{}`", to_json(default)));
    }
    if let Some(example) = first_example(schema) {
        out.push(format!("example: `{}`", to_json(example)));
    }
    let mut limits = Vec::new();
    for key in ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern", "format"] {
        if let Some(limit) = schema.schema_keyword(key) {
            limits.push(format!("{key} `{}`", to_json(limit)));
        }
    }
    if !limits.is_empty() {
        out.push(limits.join(", "));
    }
    out
}

fn first_example(schema: &ValueType) -> Option<&Value> {
    if let Some(examples) = schema.schema_keyword("examples").and_then(Value::as_list)
        && let Some(first) = examples.first()
    {
        return Some(first);
    }
    schema.schema_keyword("example")
}

/// Describes a value with a meaning in the format: one of several allowed words, or the model of an agent.
fn describe_value(analysis: &FolderAnalysis, file: FileId, offset: u32) -> Option<(Span, String)> {
    let root = analysis.yaml_tree(file)?;
    let position = find_position(root, offset);
    let TreeElement::Value(text) = position.element else { return None };
    let dialect = analysis.dialect(file)?.name();
    let (last, parent_path) = position.path.split_last()?;
    let PathStep::Key(name) = last else { return None };
    let model = match (name.as_str(), parent_path.last()) {
        ("name" | "provider", Some(PathStep::Key(key))) if key == "model" => {
            completion::parse_model_name(position.container)
        }
        ("model", _) => model_of_mapping(position.container),
        _ => None,
    };
    if let Some((provider, model)) = model {
        return Some((text.content_span(), describe_model(&provider, &model)));
    }
    let words = values_at(dialect, root, &schema_segments(&position.path));
    if !words.iter().any(|word| *word.text.trim_matches('"') == *text.value) {
        return None;
    }
    let mut description = format!("**{}** · value of `{name}`", text.value);
    let keys = keys_at(dialect, root, &schema_segments(parent_path));
    if let Some(key) = keys.iter().find(|k| k.name == *name)
        && !key.description.is_empty()
    {
        description.push_str(&format!("\n\n{}", key.description));
    }
    if words.len() > 1 {
        let all: Vec<String> = words.iter().map(|word| format!("`{}`", word.text)).collect();
        let rest = if words.iter().any(|word| word.open) { ", or another" } else { "" };
        description.push_str(&format!("\n\none of {}{rest}", all.join(", ")));
    }
    Some((text.content_span(), description))
}

/// The model in the `model` key of a mapping, as provider and name.
fn model_of_mapping(mapping: &YamlNode) -> Option<(String, String)> {
    completion::parse_model_name(&mapping.as_mapping()?.get("model")?.value)
}

/// Describes a model, and the key of its provider.
fn describe_model(provider: &str, model: &str) -> String {
    let key = match VENDORS.iter().find(|vendor| vendor.name == provider) {
        Some(vendor) if vendor.key_optional => format!("key: `{}`, if required", vendor.key_variable),
        Some(vendor) => format!("key: `{}`", vendor.key_variable),
        None => "not a known provider: the settings must declare it".to_owned(),
    };
    format!("**{model}** · model of `{provider}`\n\n{key}")
}

/// Describes a word of the template language: a block, a helper, a filter.
fn describe_word(analysis: &FolderAnalysis, file: FileId, offset: u32) -> Option<(Span, String)> {
    let scope = analysis.scope_at(file, offset)?;
    let mut tokens = semantic_tokens::list_tokens(analysis, file).into_iter();
    let token =
        tokens.find(|t| t.kind != TokenKind::String && touches_offset(t.span, offset) && t.span.end > offset)?;
    let text = analysis.file_text(file).get(token.span.start as usize..token.span.end as usize)?;
    let word = words::find_word(scope.policy, scope.condition, text)?;
    let mut text = format!("**{}**\n\n{}", word.name, word.about);
    if word.name == "this"
        && let Some(path) = analysis.facts().block_paths.iter().find(|path| location_touches(path.at, file, offset))
    {
        text.push_str(&format!("\n\ntype: `{}`", types::describe_type(&path.start)));
    }
    Some((token.span, text))
}

/// Describes whether a name has a value.
pub fn describe_definedness(defined: ValuePresence) -> &'static str {
    match defined {
        ValuePresence::Always => "always defined here",
        ValuePresence::Sometimes => "defined on some paths only",
        ValuePresence::Never => "never defined here",
    }
}

/// Describes a declaration: its kind, its type, its place. `from`: the file with the cursor.
fn describe_declaration(analysis: &FolderAnalysis, declaration: &NameDeclaration, from: FileId) -> String {
    let mut out = format!("**{}** · {}", declaration.name, kind_label(declaration.kind));
    let kind = types::describe_type(&declaration.schema);
    if kind != "anything" {
        out.push_str(&format!("\n\ntype: `{kind}`"));
    }
    if let Some(note) = &declaration.note {
        out.push_str(&format!("\n\n{note}"));
    }
    for constraint in describe_constraints(&declaration.schema) {
        out.push_str(&format!("\n\n{constraint}"));
    }
    if let Some(source) = analysis.source_file(declaration.at.file) {
        let line = source.line_column(declaration.at.span.start).line;
        let name = std::path::Path::new(source.name()).file_name().unwrap_or_default().to_string_lossy();
        let place = if declaration.at.file == from { format!("line {line}") } else { format!("{name}:{line}") };
        out.push_str(&format!("\n\ndeclared in {place}"));
    }
    out
}

/// The name of a kind of declaration.
pub fn kind_label(kind: DeclarationKind) -> &'static str {
    match kind {
        DeclarationKind::Agent => "agent",
        DeclarationKind::Workflow => "workflow",
        DeclarationKind::Step => "step",
        DeclarationKind::State => "state",
        DeclarationKind::Node => "node",
        DeclarationKind::Input => "input",
        DeclarationKind::Property => "property",
        DeclarationKind::Key => "shared state",
        DeclarationKind::Tool => "tool",
    }
}

/// Describes a key of the format.
fn describe_key(analysis: &FolderAnalysis, file: FileId, offset: u32) -> Option<(Span, String)> {
    let root = analysis.yaml_tree(file)?;
    let position = find_position(root, offset);
    let TreeElement::Key(text) = position.element else { return None };
    let (_, parent_path) = position.path.split_last()?;
    let keys = keys_at(analysis.dialect(file)?.name(), root, &schema_segments(parent_path));
    let key = keys.into_iter().find(|k| k.name == *text.value && !k.description.is_empty())?;
    Some((text.span, format!("**{}**\n\n{}", key.name, key.description)))
}

/// Converts a path in a tree to the form that schemas use.
pub fn schema_segments(path: &[PathStep]) -> Vec<SchemaSegment> {
    let to_segment = |step: &PathStep| match step {
        PathStep::Key(key) => SchemaSegment::Key(key.clone()),
        PathStep::Item(index) => SchemaSegment::Item(*index),
    };
    path.iter().map(to_segment).collect()
}

/// The rule in a comment at an offset.
fn rule_in_comment(analysis: &FolderAnalysis, file: FileId, offset: u32) -> Option<(Span, &'static Rule)> {
    let text = analysis.file_text(file);
    let line_range = line_span(text, offset);
    let line = text.get(line_range.start as usize..line_range.end as usize)?;
    let comment_start = line.find("# trefoil:")?;
    let cursor = (offset - line_range.start) as usize;
    // The rule's name is the word at the cursor.
    let is_name_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let start = match line.get(..cursor)?.rfind(|c| !is_name_char(c)) {
        Some(before) => before + 1,
        None => 0,
    };
    let end = match line.get(cursor..)?.find(|c| !is_name_char(c)) {
        Some(length) => cursor + length,
        None => line.len(),
    };
    let rule = find_rule(line.get(start..end)?)?;
    if start <= comment_start {
        return None;
    }
    Some((Span::new(line_range.start + start as u32, line_range.start + end as u32), rule))
}
