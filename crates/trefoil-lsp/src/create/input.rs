//! Inputs: declares an input that a template reads, or passes inputs that a call omits.

use trefoil_ir::facts::{Declaration, DeclarationKind, Defined, Mention};
use trefoil_syntax::yaml::{Kind, Mapping, Node};
use trefoil_syntax::{Diagnostic, Edit, FileId, Location, Span};

use super::{Creation, insert};
use crate::analysis::{Analysis, touches};
use crate::cursor::spot;
use crate::highlight::path_to;

/// Declares an input that a template reads but nothing declares.
pub fn undeclared(analysis: &Analysis, dialect: &str, mention: &Mention) -> Option<Creation> {
    let (file, text) = (mention.at.file, analysis.text(mention.at.file));
    let path: Vec<&str> = path_to(text, mention.at.span).split('.').collect();
    let root = analysis.tree(file)?;
    let name = *path.last()?;
    let edit = match (dialect, path.as_slice()) {
        ("agntz", [_]) if mention.defined != Defined::Always && name != "userQuery" => {
            agntz(analysis, file, root, mention.at.span, name)
        }
        ("aegis", ["input", _] | ["workflow", "context", _] | ["blackboard", _]) => aegis(analysis, file, root, name),
        ("sirenspec", ["inputs", _]) => sirenspec(analysis, file, root, name),
        _ => None,
    };
    Some(Creation { title: format!("declare input `{name}`"), edits: vec![edit?], files: Vec::new() })
}

/// Declares it in the `inputSchema` of the innermost agent or pipeline around the text.
fn agntz(analysis: &Analysis, file: FileId, root: &Node, at: Span, name: &str) -> Option<Edit> {
    let mut owner = None;
    let mut node = root;
    loop {
        let next = match &*node.kind {
            Kind::Mapping(mapping) => {
                owner = mapping.get("kind").map(|_| (node, mapping)).or(owner);
                mapping.entries.iter().map(|e| &e.value).find(|n| touches(n.span, at.start))
            }
            Kind::Sequence(items) => items.iter().find(|n| touches(n.span, at.start)),
            Kind::Scalar(..) => None,
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
        return insert::beside(analysis, file, node, "kind", "inputSchema", &value);
    };
    let inner = schema.value.mapping()?;
    match inner.get("properties") {
        Some(properties) => {
            insert::entry(analysis, file, &properties.value, name, "{ type: string }", "{ type: string }")
        }
        None => insert::entry(analysis, file, &schema.value, name, "string", "string"),
    }
}

/// Declares it in the existing schema; without a schema, every input is allowed.
fn aegis(analysis: &Analysis, file: FileId, root: &Node, name: &str) -> Option<Edit> {
    let root = root.mapping()?;
    let under = |key: &str| root.get(key)?.value.mapping()?.get("input_schema")?.value.mapping()?.get("properties");
    let properties = under("metadata").or_else(|| under("spec"))?;
    if properties.value.mapping()?.get(name).is_some() {
        return None;
    }
    insert::entry(analysis, file, &properties.value, name, "{ type: string }", "{ type: string }")
}

fn sirenspec(analysis: &Analysis, file: FileId, root: &Node, name: &str) -> Option<Edit> {
    match root.mapping()?.get("input") {
        Some(input) => insert::entry(analysis, file, &input.value, name, "\"\"", "\"\""),
        None => insert::beside(analysis, file, root, "nodes", "input", &format!("\n  {name}: \"\"")),
    }
}

fn in_braces(analysis: &Analysis, file: FileId, node: &Node) -> bool {
    analysis.text(file).get(node.span.start as usize..).is_some_and(|t| t.starts_with('{'))
}

/// Passes the inputs that the called agent or workflow needs and the call omits.
pub fn left_out(analysis: &Analysis, dialect: &str, at: Location, callee: Location) -> Option<Creation> {
    let root = analysis.tree(at.file)?;
    let node = call(root, at.span)?;
    let mapping = node.mapping()?;
    let takes = analysis.facts().declarations.iter().filter(|d| d.parent == Some(callee));
    let takes = takes.filter(|d| d.kind == DeclarationKind::Input && d.schema.keyword("default").is_none());
    let key = match dialect {
        "agntz" | "aegis" => "input",
        _ => "inputs",
    };
    let given = mapping.get(key);
    // A text as input passes everything.
    if given.is_some_and(|e| e.value.mapping().is_none()) || dialect == "sirenspec" && mapping.get("ref").is_none() {
        return None;
    }
    let has = |name: &str| given.and_then(|e| e.value.mapping()).is_some_and(|m| m.get(name).is_some());
    // The checker determines which inputs are required.
    let wanted = lacking(analysis, at.file, node);
    let is_wanted = |d: &&Declaration| {
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
                .mapping()?
                .entries
                .first()
                .map(|e| insert::column(analysis.text(at.file), e.key.span.start));
            let lines = more(&format!("\n{}", " ".repeat(margin.unwrap_or(0))));
            let (below, beside) = (format!("{}{lines}", first.1), format!("{}{}", first.1, more(", ")));
            insert::entry(analysis, at.file, &entry.value, first.0, &below, &beside)
        }
        None => insert::entry(analysis, at.file, node, key, &format!("{{ {short} }}"), &format!("{{ {short} }}")),
    }?;
    let shown = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    Some(Creation { title: format!("pass {shown}"), edits: vec![edit], files: Vec::new() })
}

/// The mapping of the call at a place.
fn call(root: &Node, at: Span) -> Option<&Node> {
    Some(spot(root, at.start).within).filter(|n| n.mapping().is_some())
}

/// The declarations of the inputs that a call omits, according to the findings.
fn lacking(analysis: &Analysis, file: FileId, call: &Node) -> Vec<Location> {
    let within = |at: Span| call.span.start <= at.start && at.end <= call.span.end;
    let about = |d: &&Diagnostic| d.rule == "missing-input" && d.file == Some(file) && d.span.is_some_and(within);
    analysis.shown().iter().filter(about).flat_map(|d| d.labels.iter().map(|label| label.location)).collect()
}

/// Whether the manifest that contains a call has an input with this name, so that it can be passed on.
fn own_input(analysis: &Analysis, file: FileId, call: &Mapping, name: &str) -> bool {
    let at = call.entries.first().map_or(0, |e| e.key.span.start);
    let within = |parent: Location| {
        let owner = analysis.declaration(parent);
        owner.is_some_and(|d| parent.file == file && (d.parent.is_none() || touches(d.extent, at)) && d.at.file == file)
    };
    let mut inputs =
        analysis.facts().declarations.iter().filter(|d| d.kind == DeclarationKind::Input && *d.name == *name);
    inputs.any(|d| d.at.file == file && d.parent.is_some_and(within) && !touches_call(call, d.at.span))
}

/// Whether a place is in the call itself, whose entries are not inputs of the manifest around it.
fn touches_call(call: &Mapping, at: Span) -> bool {
    call.entries.iter().any(|e| e.key.span.start <= at.start && at.end <= e.value.span.end)
}
