//! Inputs: declares an input that a template reads, or passes inputs that a call omits.

use trefoil_ir::facts::{DeclarationKind, Mention, NameDeclaration, ValuePresence};
use trefoil_syntax::yaml::{YamlMapping, YamlNode, YamlNodeKind};
use trefoil_syntax::{Diagnostic, FileId, Location, SourceEdit, Span};

use super::{CreationProposal, insertion};
use crate::analysis::{FolderAnalysis, touches_offset};
use crate::cursor::find_position;
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
    let mut node = root;
    loop {
        let next = match &*node.kind {
            YamlNodeKind::Mapping(mapping) => {
                owner = mapping.get("kind").map(|_| (node, mapping)).or(owner);
                mapping.entries.iter().map(|e| &e.value).find(|n| touches_offset(n.span, at.start))
            }
            YamlNodeKind::Sequence(items) => items.iter().find(|n| touches_offset(n.span, at.start)),
            YamlNodeKind::Scalar(..) => None,
        };
        let Some(next) = next else { break };
        node = next;
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

/// Declares it in the existing schema; without a schema, every input is allowed.
fn aegis(analysis: &FolderAnalysis, file: FileId, root: &YamlNode, name: &str) -> Option<SourceEdit> {
    let root = root.as_mapping()?;
    let under =
        |key: &str| root.get(key)?.value.as_mapping()?.get("input_schema")?.value.as_mapping()?.get("properties");
    let properties = under("metadata").or_else(|| under("spec"))?;
    if properties.value.as_mapping()?.get(name).is_some() {
        return None;
    }
    insertion::insert_entry(analysis, file, &properties.value, name, "{ type: string }", "{ type: string }")
}

fn sirenspec(analysis: &FolderAnalysis, file: FileId, root: &YamlNode, name: &str) -> Option<SourceEdit> {
    match root.as_mapping()?.get("input") {
        Some(input) => insertion::insert_entry(analysis, file, &input.value, name, "\"\"", "\"\""),
        None => insertion::insert_after(analysis, file, root, "nodes", "input", &format!("\n  {name}: \"\"")),
    }
}

fn in_braces(analysis: &FolderAnalysis, file: FileId, node: &YamlNode) -> bool {
    analysis.file_text(file).get(node.span.start as usize..).is_some_and(|t| t.starts_with('{'))
}

/// Passes the inputs that the called agent or workflow needs and the call omits.
pub fn pass_inputs(
    analysis: &FolderAnalysis,
    dialect: &str,
    at: Location,
    callee: Location,
) -> Option<CreationProposal> {
    let root = analysis.yaml_tree(at.file)?;
    let node = call(root, at.span)?;
    let mapping = node.as_mapping()?;
    let takes = analysis.facts().declarations.iter().filter(|d| d.parent == Some(callee));
    let takes = takes.filter(|d| d.kind == DeclarationKind::Input && d.schema.schema_keyword("default").is_none());
    let key = match dialect {
        "agntz" | "aegis" => "input",
        _ => "inputs",
    };
    let given = mapping.get(key);
    // A text as input passes everything.
    if given.is_some_and(|e| e.value.as_mapping().is_none()) || dialect == "sirenspec" && mapping.get("ref").is_none() {
        return None;
    }
    let has = |name: &str| given.and_then(|e| e.value.as_mapping()).is_some_and(|m| m.get(name).is_some());
    // The checker determines which inputs are required.
    let wanted = lacking(analysis, at.file, node);
    let is_wanted = |d: &&NameDeclaration| {
        let inside = |w: &Location| w.span.start <= d.at.span.start && d.at.span.start < w.span.end;
        !has(&d.name) && wanted.iter().any(|w| w.file == d.at.file && inside(w))
    };
    let names: Vec<&str> = takes.filter(is_wanted).map(|d| &*d.name).collect();
    if names.is_empty() {
        return None;
    }
    let value = |name: &str| match (dialect, own_input(analysis, at.file, mapping, name)) {
        ("agntz", true) => format!("\"{{{{{name}}}}}\""),
        ("aegis", true) => format!("\"{{{{input.{name}}}}}\""),
        (_, true) => format!("\"{{{{ inputs.{name} }}}}\""),
        _ => "\"\"".to_owned(),
    };
    let pairs: Vec<(&str, String)> = names.iter().map(|name| (*name, value(name))).collect();
    let short = pairs.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join(", ");
    let edit = match given {
        Some(entry) => {
            let (first, rest) = pairs.split_first()?;
            // With braces, the entries are joined with commas; otherwise they are on separate lines.
            let more = |between: &str| rest.iter().map(|(n, v)| format!("{between}{n}: {v}")).collect::<String>();
            let margin = entry
                .value
                .as_mapping()?
                .entries
                .first()
                .map(|e| insertion::indentation_column(analysis.file_text(at.file), e.key.span.start));
            let lines = more(&format!("\n{}", " ".repeat(margin.unwrap_or(0))));
            let (below, beside) = (format!("{}{lines}", first.1), format!("{}{}", first.1, more(", ")));
            insertion::insert_entry(analysis, at.file, &entry.value, first.0, &below, &beside)
        }
        None => {
            insertion::insert_entry(analysis, at.file, node, key, &format!("{{ {short} }}"), &format!("{{ {short} }}"))
        }
    }?;
    let shown = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    Some(CreationProposal { title: format!("pass {shown}"), edits: vec![edit], files: Vec::new() })
}

/// The mapping of the call at a place.
fn call(root: &YamlNode, at: Span) -> Option<&YamlNode> {
    Some(find_position(root, at.start).within).filter(|n| n.as_mapping().is_some())
}

/// The declarations of the inputs that a call omits, according to the findings.
fn lacking(analysis: &FolderAnalysis, file: FileId, call: &YamlNode) -> Vec<Location> {
    let within = |at: Span| call.span.start <= at.start && at.end <= call.span.end;
    let about = |d: &&Diagnostic| d.rule == "missing-input" && d.file == Some(file) && d.span.is_some_and(within);
    analysis
        .displayed_diagnostics()
        .iter()
        .filter(about)
        .flat_map(|d| d.labels.iter().map(|label| label.location))
        .collect()
}

/// Whether the manifest that contains a call has an input with this name, so that it can be passed on.
fn own_input(analysis: &FolderAnalysis, file: FileId, call: &YamlMapping, name: &str) -> bool {
    let at = call.entries.first().map_or(0, |e| e.key.span.start);
    let within = |parent: Location| {
        let owner = analysis.declaration_of_name(parent);
        owner.is_some_and(|d| {
            parent.file == file && (d.parent.is_none() || touches_offset(d.extent, at)) && d.at.file == file
        })
    };
    let mut inputs =
        analysis.facts().declarations.iter().filter(|d| d.kind == DeclarationKind::Input && *d.name == *name);
    inputs.any(|d| d.at.file == file && d.parent.is_some_and(within) && !touches_call(call, d.at.span))
}

/// Whether a place is in the call itself, whose entries are not inputs of the manifest around it.
fn touches_call(call: &YamlMapping, at: Span) -> bool {
    call.entries.iter().any(|e| e.key.span.start <= at.start && at.end <= e.value.span.end)
}
