//! Keys and values of the format, and the names of agents, states and nodes that a key accepts.

use std::collections::HashSet;
use std::path::Path;

use trefoil_front::{DialectDetection, FRONT_ENDS, detect_dialect};
use trefoil_ir::facts::{DeclarationKind as Kind, NameDeclaration};
use trefoil_project::schema::{AllowedValue, ValueForm, keys_at, values_at};
use trefoil_syntax::yaml::{self, YamlNode};
use trefoil_syntax::{FileId, Location, SourceFile, Span};
use trefoil_template::Value;

use super::{CompletionItem, CompletionItems, CompletionKind, STAND_IN, file_values, folder_values};
use trefoil_project::file_access::resolve_links;

use crate::analysis::FolderAnalysis;
use crate::cursor::{PathStep, TreeElement, TreePosition, find_position, line_span, node_at, open_brackets};
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
    NAMED.iter().find(|(of, name, ..)| *of == dialect && *name == key).map(|(_, _, kinds, _)| *kinds)
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
        let own = line_span(text, offset);
        let before = text.get(own.start as usize..offset as usize).unwrap_or_default();
        // Skip what starts an item or entry: `- `, `{ `, `, `.
        let mut from = before.len() - before.trim_start_matches([' ', '-']).len();
        let flow = before.rfind(['{', ',', '[']).map_or(0, |n| n + 1);
        from = from.max(flow);
        let part = before.get(from..).unwrap_or_default();
        let key = part.split_once(": ").or_else(|| part.strip_suffix(':').map(|k| (k, "")));
        let value = key.map_or(part, |(_, value)| value).trim_start();
        let quoted = value.starts_with(['"', '\'']);
        let word = value.trim_start_matches(['"', '\'']);
        let after = text.get(offset as usize..own.end as usize).unwrap_or_default();
        // The name of a model contains a colon.
        let stop = |c: char| c.is_whitespace() || r#",{}[]"'#"#.contains(c) || c == ':' && key.is_none();
        let rest = after.find(stop).unwrap_or(after.len());
        let colon = after.get(rest..).is_some_and(|t| t.trim_start().starts_with(':'));
        Self {
            word: Span::new(offset - word.len() as u32, offset + rest as u32),
            key: key.map(|(key, _)| key.trim().trim_matches(['"', '\''])),
            colon,
            quoted,
        }
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
    CursorLine::read(text, offset).key.is_some_and(|key| CONDITIONS.contains(&key))
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
    let written = mapping.entries.iter().map(|e| &*e.key.value).filter(|key| *key != STAND_IN);
    let fits = |name: &str| {
        let keys = keys_at(name, root, &[]);
        written.clone().all(|key| keys.iter().any(|k| k.name == key))
    };
    let all: Vec<&str> = FRONT_ENDS.iter().map(|f| f.name()).filter(|name| fits(name)).collect();
    let others: HashSet<&str> =
        analysis.list_files().filter_map(|(_, f)| analysis.dialect(f)).map(|f| f.name()).collect();
    match all.iter().copied().filter(|name| others.contains(name)).collect::<Vec<_>>() {
        usual if usual.len() == 1 => usual,
        _ => all,
    }
}

/// The first keys of a file whose dialect is not certain yet.
fn first_keys(dialects: &[&str], root: &YamlNode) -> Vec<CompletionItem> {
    let mut items: Vec<CompletionItem> = Vec::new();
    for dialect in dialects {
        for key in keys_at(dialect, root, &[]).into_iter().filter(|k| k.required) {
            if !items.iter().any(|i| i.label == key.name) {
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
    let spot = find_position(root, inside);
    let (TreeElement::Key(_), Some(there)) = (&spot.on, spot.within.as_mapping()) else { return Vec::new() };
    let Some((_, above)) = spot.path.split_last() else { return Vec::new() };
    let dialects = dialects(analysis, file, root);
    let [dialect] = dialects.as_slice() else {
        return if above.is_empty() && !colon { first_keys(&dialects, root) } else { Vec::new() };
    };
    let taken: Vec<CompletionItem> = given(analysis, file, root, above)
        .into_iter()
        .filter(|d| there.get(&d.name).is_none())
        .map(|d| {
            let behind = if colon { "" } else { ": " };
            let item = CompletionItem {
                insert: format!("{}{behind}", d.name),
                ..CompletionItem::new(&*d.name, CompletionKind::Name)
            };
            item.detail(types::describe_type(&d.schema)).documentation(d.note.as_deref().unwrap_or_default())
        })
        .collect();
    if !taken.is_empty() {
        return taken;
    }
    let mut keys = keys_at(dialect, root, &schema_segments(above));
    keys.retain(|k| there.get(&k.name).is_none());
    // Required keys first, deprecated ones last.
    keys.sort_by_key(|k| (!k.required, k.deprecated));
    let item = |k: trefoil_project::schema::SchemaKey| {
        let behind = match (colon, k.takes) {
            (true, _) => "",
            (false, ValueForm::Scalar) => ": ",
            (false, _) => ":",
        };
        let detail = if k.required {
            "required"
        } else if k.deprecated {
            "old"
        } else {
            ""
        };
        let item = CompletionItem {
            insert: format!("{}{behind}", k.name),
            ..CompletionItem::new(&*k.name, CompletionKind::Key)
        };
        let item = item.documentation(k.description);
        if detail.is_empty() { item } else { item.detail(detail) }
    };
    keys.into_iter().map(item).collect()
}

/// The allowed values for an input of the called agent or workflow, if the cursor is in its value.
fn choices(analysis: &FolderAnalysis, file: FileId, root: &YamlNode, spot: &TreePosition<'_>) -> Vec<CompletionItem> {
    let Some((PathStep::Key(name), above)) = spot.path.split_last() else { return Vec::new() };
    let Some(input) = given(analysis, file, root, above).into_iter().find(|d| *d.name == **name) else {
        return Vec::new();
    };
    let words = types::listed_values(&input.schema).into_iter().map(|value| match value {
        Value::Str(text) => text.to_string(),
        other => serde_json::to_string(&other).unwrap_or_default(),
    });
    words.map(|word| CompletionItem::new(word, CompletionKind::Value)).collect()
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
    let named = step.as_mapping().into_iter().flat_map(|m| &m.entries).filter_map(|e| e.value.as_scalar());
    let mut called: Vec<Location> = named
        .flat_map(|(_, text)| analysis.mentions_at(file, text.content_span().start))
        .filter(|m| !m.template)
        .filter_map(|m| m.to)
        .collect();
    called.extend(
        analysis
            .facts()
            .declarations
            .iter()
            .map(|d| d.at)
            .filter(|at| at.file == file && step.span.start <= at.span.start && at.span.end <= step.span.end),
    );
    let all = analysis.facts().declarations.iter();
    all.filter(|d| d.kind == Kind::Input && d.parent.is_some_and(|p| called.contains(&p))).collect()
}

/// The output properties of a workflow: the keys of its template.
fn answered(analysis: &FolderAnalysis, file: FileId) -> Vec<&NameDeclaration> {
    let all = || analysis.facts().declarations.iter();
    let workflows: Vec<Location> =
        all().filter(|d| d.kind == Kind::Workflow && d.at.file == file).map(|d| d.at).collect();
    all().filter(|d| d.kind == Kind::Property && d.parent.is_some_and(|p| workflows.contains(&p))).collect()
}

/// The other files of a dialect, as paths relative to a file.
fn files(analysis: &FolderAnalysis, file: FileId, dialect: &str) -> Vec<CompletionItem> {
    let Some(own) = analysis.source_file(file).map(|s| resolve_links(Path::new(s.name()))) else { return Vec::new() };
    let Some(folder) = own.parent() else { return Vec::new() };
    let others = analysis.list_files().filter(|(_, id)| *id != file);
    let others = others.filter(|(_, id)| analysis.dialect(*id).is_some_and(|f| f.name() == dialect));
    let mut paths: Vec<String> = others
        .filter_map(|(path, _)| Some(format!("./{}", path.strip_prefix(folder).ok()?.to_str()?.replace('\\', "/"))))
        .collect();
    paths.sort();
    paths.into_iter().map(|path| CompletionItem::new(path, CompletionKind::Name).detail("file")).collect()
}

/// The values for the key at the cursor: names, and words of the format.
fn values(analysis: &FolderAnalysis, file: FileId, root: &YamlNode, inside: u32) -> Vec<CompletionItem> {
    let spot = find_position(root, inside);
    let (TreeElement::Value(_), Some(dialect)) = (&spot.on, dialect(analysis, file, root)) else { return Vec::new() };
    let key = spot.path.iter().rev().find_map(|step| match step {
        PathStep::Key(key) => Some(key.as_str()),
        PathStep::Item(_) => None,
    });
    let mut items: Vec<CompletionItem> = Vec::new();
    let named = NAMED.iter().filter(|(d, k, ..)| *d == dialect && Some(*k) == key);
    for (_, _, kinds, here) in named {
        let fits = |d: &&NameDeclaration| {
            kinds.contains(&d.kind)
                && if *here {
                    d.at.file == file
                } else {
                    analysis.dialect(d.at.file).is_some_and(|f| f.name() == dialect)
                }
        };
        for d in analysis.facts().declarations.iter().filter(fits) {
            let name = analysis.text_at(d.at);
            if !items.iter().any(|i| i.label == name) {
                let note = d.note.as_deref().unwrap_or_default();
                items.push(
                    CompletionItem::new(name, CompletionKind::Name).detail(kind_label(d.kind)).documentation(note),
                );
            }
        }
    }
    match (dialect, key) {
        ("sirenspec", Some("ref")) => items.extend(files(analysis, file, dialect)),
        ("sirenspec", Some("writes")) => items.extend(file_values::writable_paths(analysis, file, &spot)),
        (_, Some("required")) => items.extend(file_values::requirable_properties(root, &spot)),
        (_, Some("default")) => items.extend(file_values::default_values(root, &spot)),
        _ => {}
    }
    items.extend(choices(analysis, file, root, &spot));
    items.extend(folder_values::model_names(analysis, dialect, &spot));
    let of_format = |v: AllowedValue| CompletionItem::new(v.text, CompletionKind::Value);
    if key == Some("model") && !items.is_empty() {
        items.splice(0..0, values_at(dialect, root, &schema_segments(&spot.path)).into_iter().map(of_format));
        let mut known = HashSet::new();
        items.retain(|i| known.insert(i.label.clone()));
    }
    if !items.is_empty() {
        return items;
    }
    values_at(dialect, root, &schema_segments(&spot.path)).into_iter().map(of_format).collect()
}
