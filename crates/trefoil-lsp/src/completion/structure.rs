//! Keys and values of the format, and the names of agents, states and nodes that a key accepts.

use std::collections::HashSet;
use std::path::Path;

use trefoil_front::{DialectDetection, FRONT_ENDS, detect_dialect};
use trefoil_ir::facts::{DeclarationKind as Kind, NameDeclaration};
use trefoil_project::schema::{SchemaKey, ValueForm, keys_at, values_at};
use trefoil_syntax::yaml::{self, YamlMapping, YamlNode};
use trefoil_syntax::{FileId, Location, SourceFile, Span};
use trefoil_template::Value;

use super::{
    CompletionItem, CompletionItems, CompletionKind, STAND_IN, file_values, folder_values, is_offered, members_of,
};
use trefoil_project::file_access::resolve_links;

use crate::analysis::FolderAnalysis;
use crate::cursor::{PathStep, TreeElement, TreePosition, find_position, last_key, line_span, node_at, open_brackets};
use crate::hover::{kind_label, schema_segments};
use crate::types;

/// Keys whose value is a name: dialect, key, what it may name, and whether it must be in the same file.
const NAMED: &[(&str, &str, &[Kind], bool)] = &[
    ("agntz", "ref", &[Kind::Agent, Kind::Workflow], false),
    ("agntz", "agentId", &[Kind::Agent, Kind::Workflow], false),
    ("aegis", "agent", &[Kind::Agent], false),
    ("aegis", "agent_id", &[Kind::Agent], false),
    ("aegis", "judge_agent", &[Kind::Agent], false),
    ("aegis", "judges", &[Kind::Agent], false),
    ("aegis", "agents", &[Kind::Agent], false),
    ("aegis", "workflow_id", &[Kind::Workflow], false),
    ("aegis", "target", &[Kind::State], true),
    ("aegis", "initial_state", &[Kind::State], true),
    ("sirenspec", "agent", &[Kind::Agent], true),
    ("sirenspec", "agents", &[Kind::Agent], true),
    ("sirenspec", "from", &[Kind::Node], true),
    ("sirenspec", "to", &[Kind::Node], true),
    ("sirenspec", "from_node", &[Kind::Node], true),
    ("sirenspec", "to_node", &[Kind::Node], true),
    ("sirenspec", "fallback_node", &[Kind::Node], true),
];

/// What a key of a dialect may name.
pub fn named_by(dialect: &str, key: &str) -> Option<&'static [Kind]> {
    let (_, _, kinds, _) = NAMED.iter().find(|(of, name, ..)| *of == dialect && *name == key)?;
    Some(kinds)
}

/// Keys whose values are conditions.
const CONDITIONS: &[&str] = &["when", "until", "expression"];

/// The part of a line around the cursor.
struct CursorLine<'t> {
    /// The bytes of the word at the cursor.
    word: Span,
    /// The key before it, if it comes after one.
    key: Option<&'t str>,
    /// Whether a colon follows the word.
    colon: bool,
    /// Whether it is within quotes.
    quoted: bool,
}

impl<'t> CursorLine<'t> {
    fn read(text: &'t str, offset: u32) -> Self {
        let line = line_span(text, offset);
        let before = text.get(line.start as usize..offset as usize).unwrap_or_default();
        // Skip what starts an item or entry: `- `, `{ `, `, `.
        let from = before.len() - before.trim_start_matches([' ', '-']).len();
        let flow = match before.rfind(['{', ',', '[']) {
            Some(at) => at + 1,
            None => 0,
        };
        let (key, value) = split_key(before.get(from.max(flow)..).unwrap_or_default());
        let value = value.trim_start();
        let quoted = value.starts_with(['"', '\'']);
        let word = value.trim_start_matches(['"', '\'']);
        let after = text.get(offset as usize..line.end as usize).unwrap_or_default();
        // The name of a model contains a colon.
        let stop = |c: char| c.is_whitespace() || r#",{}[]"'#"#.contains(c) || c == ':' && key.is_none();
        let rest = after.find(stop).unwrap_or(after.len());
        let colon = after.get(rest..).unwrap_or_default().trim_start().starts_with(':');
        Self { word: Span::new(offset - word.len() as u32, offset + rest as u32), key, colon, quoted }
    }
    /// The parsed text with a stand-in for the word at the cursor.
    fn with(&self, text: &str, stand_in: &str) -> Option<YamlNode> {
        let head = text.get(..self.word.start as usize)?;
        let tail = text.get(self.word.end as usize..)?;
        let space = if head.ends_with(':') { " " } else { "" };
        let parse = |text| yaml::parse(FileId(0), &SourceFile::new("", text), &Default::default());
        let parsed = parse(format!("{head}{space}{stand_in}{tail}"));
        let (rest, below) = tail.split_at(tail.find(['\n', '\r']).unwrap_or(tail.len()));
        let close = still_open(head.rsplit(['\n', '\r']).next().unwrap_or_default(), rest);
        if parsed.complete || close.is_empty() {
            return parsed.root;
        }
        parse(format!("{head}{space}{stand_in}{rest}{close}{below}")).root.or(parsed.root)
    }
}

/// Splits the part of a line before the cursor into the key, if there is one, and what follows.
fn split_key(part: &str) -> (Option<&str>, &str) {
    let (key, value) = match part.split_once(": ") {
        Some(pair) => pair,
        None => match part.strip_suffix(':') {
            Some(key) => (key, ""),
            None => return (None, part),
        },
    };
    (Some(key.trim().trim_matches(['"', '\''])), value)
}

/// The braces and brackets that a line opens before the cursor and does not close after it.
fn still_open(before: &str, behind: &str) -> String {
    let mut quote = None;
    let mut bare = String::new();
    for c in before.chars() {
        match (quote, c) {
            (Some(q), c) if q == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, c) => bare.push(c),
        }
    }
    let closed = behind.chars().filter(|c| matches!(c, '}' | ']')).count();
    open_brackets(&bare).into_iter().skip(closed).collect()
}

/// Whether the value of the key before the cursor is a condition.
pub fn takes_condition(text: &str, offset: u32) -> bool {
    matches!(CursorLine::read(text, offset).key, Some(key) if CONDITIONS.contains(&key))
}

/// Completes at an offset outside of templates.
pub fn complete_structure(analysis: &FolderAnalysis, file: FileId, offset: u32) -> CompletionItems {
    let text = analysis.file_text(file);
    let written = CursorLine::read(text, offset);
    let mut items = Vec::new();
    let inside = written.word.start + 1;
    if written.key.is_none() && !written.quoted {
        let stand_in = if written.colon { STAND_IN.to_owned() } else { format!("{STAND_IN}: 0") };
        if let Some(root) = written.with(text, &stand_in) {
            items.extend(keys(analysis, file, &root, inside, written.colon));
        }
    }
    if !written.colon
        && let Some(root) = written.with(text, STAND_IN)
    {
        items.extend(values(analysis, file, &root, inside));
    }
    CompletionItems { replace: written.word, items }
}

fn dialect(analysis: &FolderAnalysis, file: FileId, root: &YamlNode) -> Option<&'static str> {
    match dialects(analysis, file, root).as_slice() {
        [one] => Some(one),
        _ => None,
    }
}

/// The dialects that a file may have. For a new file, these are the dialects that have all of its keys, preferably the
/// one of the folder's other files.
fn dialects(analysis: &FolderAnalysis, file: FileId, root: &YamlNode) -> Vec<&'static str> {
    if let DialectDetection::One(front) = detect_dialect(root) {
        return vec![front.name()];
    }
    if let Some(front) = analysis.dialect(file) {
        return vec![front.name()];
    }
    let Some(mapping) = root.as_mapping() else { return Vec::new() };
    let mut fitting: Vec<&'static str> = Vec::new();
    for front in FRONT_ENDS.iter() {
        if has_all_keys(front.name(), root, mapping) {
            fitting.push(front.name());
        }
    }
    let mut used: HashSet<&str> = HashSet::new();
    for (_, other) in analysis.list_files() {
        if let Some(front) = analysis.dialect(other) {
            used.insert(front.name());
        }
    }
    let mut usual = fitting.clone();
    usual.retain(|name| used.contains(name));
    if usual.len() == 1 { usual } else { fitting }
}

/// Whether a dialect has all keys of the root.
fn has_all_keys(dialect: &str, root: &YamlNode, mapping: &YamlMapping) -> bool {
    let keys = keys_at(dialect, root, &[]);
    for entry in &mapping.entries {
        let written = &*entry.key.value;
        if written != STAND_IN && !keys.iter().any(|key| key.name == written) {
            return false;
        }
    }
    true
}

/// The first keys of a file whose dialect is not certain yet.
fn first_keys(dialects: &[&str], root: &YamlNode) -> Vec<CompletionItem> {
    let mut items: Vec<CompletionItem> = Vec::new();
    for dialect in dialects {
        for key in keys_at(dialect, root, &[]) {
            if key.required && !is_offered(&items, &key.name) {
                let insert = format!("{}: ", key.name);
                items.push(
                    CompletionItem { insert, ..CompletionItem::new(key.name, CompletionKind::Key) }
                        .detail(*dialect)
                        .documentation(key.description),
                );
            }
        }
    }
    items
}

/// The keys that the mapping at the cursor does not have yet.
fn keys(analysis: &FolderAnalysis, file: FileId, root: &YamlNode, inside: u32, colon: bool) -> Vec<CompletionItem> {
    let position = find_position(root, inside);
    let (TreeElement::Key(_), Some(there)) = (&position.element, position.container.as_mapping()) else {
        return Vec::new();
    };
    let Some((_, above)) = position.path.split_last() else { return Vec::new() };
    let dialects = dialects(analysis, file, root);
    let [dialect] = dialects.as_slice() else {
        return if above.is_empty() && !colon { first_keys(&dialects, root) } else { Vec::new() };
    };
    let mut items: Vec<CompletionItem> = Vec::new();
    for input in given(analysis, file, root, above) {
        if there.get(&input.name).is_none() {
            let insert = format!("{}{}", input.name, if colon { "" } else { ": " });
            let item = CompletionItem { insert, ..CompletionItem::new(&*input.name, CompletionKind::Name) };
            let note = input.note.as_deref().unwrap_or_default();
            items.push(item.detail(types::describe_type(&input.schema)).documentation(note));
        }
    }
    if !items.is_empty() {
        return items;
    }
    let mut keys = keys_at(dialect, root, &schema_segments(above));
    keys.retain(|k| there.get(&k.name).is_none());
    // Required keys first, deprecated ones last.
    keys.sort_by_key(|k| (!k.required, k.deprecated));
    keys.into_iter().map(|key| key_item(key, colon)).collect()
}

/// The item of a key of the format. `colon`: its colon is already written.
fn key_item(key: SchemaKey, colon: bool) -> CompletionItem {
    let behind = match (colon, key.takes) {
        (true, _) => "",
        (false, ValueForm::Scalar) => ": ",
        (false, _) => ":",
    };
    let insert = format!("{}{behind}", key.name);
    let item = CompletionItem { insert, ..CompletionItem::new(&*key.name, CompletionKind::Key) }
        .documentation(key.description);
    if key.required {
        item.detail("required")
    } else if key.deprecated {
        item.detail("old")
    } else {
        item
    }
}

/// The allowed values for an input of the called agent or workflow, if the cursor is in its value.
fn choices(
    analysis: &FolderAnalysis,
    file: FileId,
    root: &YamlNode,
    position: &TreePosition<'_>,
) -> Vec<CompletionItem> {
    let Some((PathStep::Key(name), above)) = position.path.split_last() else { return Vec::new() };
    let Some(input) = given(analysis, file, root, above).into_iter().find(|d| *d.name == **name) else {
        return Vec::new();
    };
    let mut items = Vec::new();
    for value in types::listed_values(&input.schema) {
        let word = match value {
            Value::Str(text) => text.to_string(),
            other => serde_json::to_string(&other).unwrap_or_default(),
        };
        items.push(CompletionItem::new(word, CompletionKind::Value));
    }
    items
}

/// The inputs of the agent or workflow to which a mapping below `input` belongs.
fn given<'a>(
    analysis: &'a FolderAnalysis,
    file: FileId,
    root: &YamlNode,
    path: &[PathStep],
) -> Vec<&'a NameDeclaration> {
    let Some((PathStep::Key(last), above)) = path.split_last() else { return Vec::new() };
    if last == "output_template" {
        return answered(analysis, file);
    }
    if !matches!(last.as_str(), "input" | "inputs") {
        return Vec::new();
    }
    // The tree contains a stand-in; places before that are the same as in the file.
    let Some(step) = node_at(root, above) else { return Vec::new() };
    members_of(analysis, Kind::Input, &called_by(analysis, file, step))
}

/// What a step refers to, and what it declares itself.
fn called_by(analysis: &FolderAnalysis, file: FileId, step: &YamlNode) -> Vec<Location> {
    let mut called: Vec<Location> = Vec::new();
    if let Some(mapping) = step.as_mapping() {
        for entry in &mapping.entries {
            let Some((_, text)) = entry.value.as_scalar() else { continue };
            for mention in analysis.mentions_at(file, text.content_span().start) {
                if !mention.template {
                    called.extend(mention.to);
                }
            }
        }
    }
    for declaration in &analysis.facts().declarations {
        let at = declaration.at;
        if at.file == file && step.span.start <= at.span.start && at.span.end <= step.span.end {
            called.push(at);
        }
    }
    called
}

/// The output properties of a workflow: the keys of its template.
fn answered(analysis: &FolderAnalysis, file: FileId) -> Vec<&NameDeclaration> {
    let mut workflows: Vec<Location> = Vec::new();
    for declaration in &analysis.facts().declarations {
        if declaration.kind == Kind::Workflow && declaration.at.file == file {
            workflows.push(declaration.at);
        }
    }
    members_of(analysis, Kind::Property, &workflows)
}

/// The other files of a dialect, as paths relative to a file.
fn files(analysis: &FolderAnalysis, file: FileId, dialect: &str) -> Vec<CompletionItem> {
    let Some(source) = analysis.source_file(file) else { return Vec::new() };
    let own = resolve_links(Path::new(source.name()));
    let Some(folder) = own.parent() else { return Vec::new() };
    let mut paths: Vec<String> = Vec::new();
    for (path, other) in analysis.list_files() {
        if other != file
            && analysis.is_dialect(other, dialect)
            && let Ok(below) = path.strip_prefix(folder)
            && let Some(below) = below.to_str()
        {
            paths.push(format!("./{}", below.replace('\\', "/")));
        }
    }
    paths.sort();
    paths.into_iter().map(|path| CompletionItem::new(path, CompletionKind::Name).detail("file")).collect()
}

/// The values for the key at the cursor: names, and words of the format.
fn values(analysis: &FolderAnalysis, file: FileId, root: &YamlNode, inside: u32) -> Vec<CompletionItem> {
    let position = find_position(root, inside);
    let (TreeElement::Value(_), Some(dialect)) = (&position.element, dialect(analysis, file, root)) else {
        return Vec::new();
    };
    let key = last_key(&position.path);
    let mut items = match key {
        Some(key) => declared_names(analysis, file, dialect, key),
        None => Vec::new(),
    };
    match (dialect, key) {
        ("sirenspec", Some("ref")) => items.extend(files(analysis, file, dialect)),
        ("sirenspec", Some("writes")) => items.extend(file_values::writable_paths(analysis, file, &position)),
        (_, Some("required")) => items.extend(file_values::requirable_properties(root, &position)),
        (_, Some("default")) => items.extend(file_values::default_values(root, &position)),
        _ => {}
    }
    items.extend(choices(analysis, file, root, &position));
    items.extend(folder_values::model_names(analysis, dialect, &position));
    if !items.is_empty() && key != Some("model") {
        return items;
    }
    let words = values_at(dialect, root, &schema_segments(&position.path)).into_iter();
    let mut of_format: Vec<CompletionItem> =
        words.map(|word| CompletionItem::new(word.text, CompletionKind::Value)).collect();
    if items.is_empty() {
        return of_format;
    }
    of_format.extend(items);
    let mut known = HashSet::new();
    of_format.retain(|item| known.insert(item.label.clone()));
    of_format
}

/// The declared names that are allowed as the value of a key.
fn declared_names(analysis: &FolderAnalysis, file: FileId, dialect: &str, key: &str) -> Vec<CompletionItem> {
    let mut items: Vec<CompletionItem> = Vec::new();
    for (of, named, kinds, here) in NAMED {
        if *of != dialect || *named != key {
            continue;
        }
        for declaration in &analysis.facts().declarations {
            let at = declaration.at;
            if !kinds.contains(&declaration.kind)
                || *here && at.file != file
                || !*here && !analysis.is_dialect(at.file, dialect)
            {
                continue;
            }
            let name = analysis.text_at(at);
            if !is_offered(&items, name) {
                let note = declaration.note.as_deref().unwrap_or_default();
                let item = CompletionItem::new(name, CompletionKind::Name);
                items.push(item.detail(kind_label(declaration.kind)).documentation(note));
            }
        }
    }
    items
}
