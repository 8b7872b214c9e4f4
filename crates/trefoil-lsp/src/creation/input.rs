//! Inputs: declares an input that a template reads, or passes inputs that a call omits.

use trefoil_ir::facts::{DeclarationKind, Mention, ValuePresence};
use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode, YamlNodeKind};
use trefoil_syntax::{FileId, Location, SourceEdit, Span};

use super::{CreationProposal, insertion};
use crate::analysis::{FolderAnalysis, touches_offset};
use crate::cursor::{find_position, mapping_below};
use crate::highlight::path_to;

/// Declares an input that a template reads but nothing declares.
pub fn declare_input(analysis: &FolderAnalysis, dialect: &str, mention: &Mention) -> Option<CreationProposal> {
    let (file, text) = (mention.at.file, analysis.file_text(mention.at.file));
    let path: Vec<&str> = path_to(text, mention.at.span).split('.').collect();
    let root = analysis.yaml_tree(file)?;
    let name = *path.last()?;
    let edit = match (dialect, path.as_slice()) {
        ("agntz", [_]) if mention.defined != ValuePresence::Always && name != "userQuery" => {
            agntz(analysis, file, root, mention.at.span, name)
        }
        ("aegis", ["input", _] | ["workflow", "context", _] | ["blackboard", _]) => aegis(analysis, file, root, name),
        ("sirenspec", ["inputs", _]) => sirenspec(analysis, file, root, name),
        _ => None,
    };
    Some(CreationProposal { title: format!("declare input `{name}`"), edits: vec![edit?], files: Vec::new() })
}

/// Declares it in the `inputSchema` of the innermost agent or pipeline around the text.
fn agntz(analysis: &FolderAnalysis, file: FileId, root: &YamlNode, at: Span, name: &str) -> Option<SourceEdit> {
    let mut owner = None;
    let mut next = Some(root);
    while let Some(node) = next {
        if let Some(mapping) = node.as_mapping()
            && mapping.get("kind").is_some()
        {
            owner = Some((node, mapping));
        }
        next = child_at(node, at.start);
    }
    let (node, mapping) = owner?;
    let Some(schema) = mapping.get("inputSchema") else {
        let value = if in_braces(analysis, file, node) {
            format!("{{ {name}: string }}")
        } else {
            format!("\n  {name}: string")
        };
        return insertion::insert_after(analysis, file, node, "kind", "inputSchema", &value);
    };
    let inner = schema.value.as_mapping()?;
    match inner.get("properties") {
        Some(properties) => {
            insertion::insert_entry(analysis, file, &properties.value, name, "{ type: string }", "{ type: string }")
        }
        None => insertion::insert_entry(analysis, file, &schema.value, name, "string", "string"),
    }
}

/// The item or value of a collection that contains an offset.
fn child_at(node: &YamlNode, offset: u32) -> Option<&YamlNode> {
    match &*node.kind {
        YamlNodeKind::Mapping(mapping) => {
            let entry = mapping.entries.iter().find(|e| touches_offset(e.value.span, offset))?;
            Some(&entry.value)
        }
        YamlNodeKind::Sequence(items) => items.iter().find(|item| touches_offset(item.span, offset)),
        YamlNodeKind::Scalar(..) => None,
    }
}

/// Declares it in the existing schema; without a schema, every input is allowed.
fn aegis(analysis: &FolderAnalysis, file: FileId, root: &YamlNode, name: &str) -> Option<SourceEdit> {
    let root = root.as_mapping()?;
    let properties = match input_properties(root, "metadata") {
        Some(properties) => properties,
        None => input_properties(root, "spec")?,
    };
    if properties.value.as_mapping()?.get(name).is_some() {
        return None;
    }
    insertion::insert_entry(analysis, file, &properties.value, name, "{ type: string }", "{ type: string }")
}

fn input_properties<'t>(root: &'t YamlMapping, part: &str) -> Option<&'t YamlEntry> {
    mapping_below(mapping_below(root, part)?, "input_schema")?.get("properties")
}

fn sirenspec(analysis: &FolderAnalysis, file: FileId, root: &YamlNode, name: &str) -> Option<SourceEdit> {
    match root.as_mapping()?.get("input") {
        Some(input) => insertion::insert_entry(analysis, file, &input.value, name, "\"\"", "\"\""),
        None => insertion::insert_after(analysis, file, root, "nodes", "input", &format!("\n  {name}: \"\"")),
    }
}

fn in_braces(analysis: &FolderAnalysis, file: FileId, node: &YamlNode) -> bool {
    analysis.file_text(file).get(node.span.start as usize..).unwrap_or_default().starts_with('{')
}

/// Passes the inputs that the called agent or workflow needs and the call omits.
pub fn pass_inputs(
    analysis: &FolderAnalysis,
    dialect: &str,
    at: Location,
    callee: Location,
) -> Option<CreationProposal> {
    let root = analysis.yaml_tree(at.file)?;
    let node = find_position(root, at.span.start).container;
    let mapping = node.as_mapping()?;
    let key = match dialect {
        "agntz" | "aegis" => "input",
        _ => "inputs",
    };
    let (given, passed) = (mapping.get(key), mapping_below(mapping, key));
    // A text as input passes everything.
    if given.is_some() && passed.is_none() || dialect == "sirenspec" && mapping.get("ref").is_none() {
        return None;
    }
    let mut pairs: Vec<(&str, String)> = Vec::new();
    for name in omitted_inputs(analysis, at.file, node, callee, passed) {
        let value = match (dialect, own_input(analysis, at.file, mapping, name)) {
            ("agntz", true) => format!("\"{{{{{name}}}}}\""),
            ("aegis", true) => format!("\"{{{{input.{name}}}}}\""),
            (_, true) => format!("\"{{{{ inputs.{name} }}}}\""),
            _ => "\"\"".to_owned(),
        };
        pairs.push((name, value));
    }
    if pairs.is_empty() {
        return None;
    }
    let edit = match given {
        Some(entry) => add_to_input(analysis, at.file, &entry.value, &pairs),
        None => {
            let entries: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            let short = format!("{{ {} }}", entries.join(", "));
            insertion::insert_entry(analysis, at.file, node, key, &short, &short)
        }
    }?;
    let shown: Vec<String> = pairs.iter().map(|(name, _)| format!("`{name}`")).collect();
    Some(CreationProposal { title: format!("pass {}", shown.join(", ")), edits: vec![edit], files: Vec::new() })
}

/// The names of the inputs that a call must pass and does not. `passed`: what it passes.
fn omitted_inputs<'a>(
    analysis: &'a FolderAnalysis,
    file: FileId,
    call: &YamlNode,
    callee: Location,
    passed: Option<&YamlMapping>,
) -> Vec<&'a str> {
    // The checker determines which inputs are required.
    let wanted = lacking(analysis, file, call);
    let mut names = Vec::new();
    for input in &analysis.facts().declarations {
        if input.parent != Some(callee)
            || input.kind != DeclarationKind::Input
            || input.schema.schema_keyword("default").is_some()
            || matches!(passed, Some(passed) if passed.get(&input.name).is_some())
        {
            continue;
        }
        let start = input.at.span.start;
        if wanted.iter().any(|w| w.file == input.at.file && w.span.start <= start && start < w.span.end) {
            names.push(&*input.name);
        }
    }
    names
}

/// Adds entries to the input of a call.
fn add_to_input(
    analysis: &FolderAnalysis,
    file: FileId,
    input: &YamlNode,
    pairs: &[(&str, String)],
) -> Option<SourceEdit> {
    let ((first, value), rest) = pairs.split_first()?;
    let margin = match input.as_mapping()?.entries.first() {
        Some(entry) => insertion::indentation_column(analysis.file_text(file), entry.key.span.start),
        None => 0,
    };
    // With braces, the entries are joined with commas; otherwise they are on separate lines.
    let (mut below, mut beside) = (value.clone(), value.clone());
    for (name, value) in rest {
        below.push_str(&format!("\n{}{name}: {value}", " ".repeat(margin)));
        beside.push_str(&format!(", {name}: {value}"));
    }
    insertion::insert_entry(analysis, file, input, first, &below, &beside)
}

/// The declarations of the inputs that a call omits, according to the findings.
fn lacking(analysis: &FolderAnalysis, file: FileId, call: &YamlNode) -> Vec<Location> {
    let mut lacking = Vec::new();
    for finding in analysis.displayed_diagnostics() {
        if finding.rule == "missing-input"
            && finding.file == Some(file)
            && let Some(at) = finding.span
            && call.span.start <= at.start
            && at.end <= call.span.end
        {
            lacking.extend(finding.labels.iter().map(|label| label.location));
        }
    }
    lacking
}

/// Whether the manifest that contains a call has an input with this name, so that it can be passed on.
fn own_input(analysis: &FolderAnalysis, file: FileId, call: &YamlMapping, name: &str) -> bool {
    let at = match call.entries.first() {
        Some(entry) => entry.key.span.start,
        None => 0,
    };
    for input in &analysis.facts().declarations {
        if input.kind == DeclarationKind::Input
            && *input.name == *name
            && input.at.file == file
            && let Some(parent) = input.parent
            && parent.file == file
            && let Some(owner) = analysis.declaration_of_name(parent)
            && owner.at.file == file
            && (owner.parent.is_none() || touches_offset(owner.extent, at))
            && !touches_call(call, input.at.span)
        {
            return true;
        }
    }
    false
}

/// Whether a place is in the call itself, whose entries are not inputs of the manifest around it.
fn touches_call(call: &YamlMapping, at: Span) -> bool {
    call.entries.iter().any(|e| e.key.span.start <= at.start && at.end <= e.value.span.end)
}
