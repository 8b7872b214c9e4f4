//! A correct manifest: its text, its tree, and the places for mistakes.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use trefoil_project::schema::SchemaSegment;
use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode, YamlNodeKind, YamlStyle};
use trefoil_syntax::{SourceFile, SourceFiles, yaml};

use crate::edit::{Edits, Mutation, range};

/// A manifest.
pub struct Manifest {
    /// `agntz`, `aegis`, `sirenspec`.
    pub dialect: &'static str,
    /// Its path.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// Its tree.
    pub root: YamlNode,
    /// Every entry of every mapping, outer before inner, with the path of its mapping.
    pub places: Vec<Place>,
    /// The other manifests of its folder.
    pub others: Vec<YamlNode>,
}

/// An entry of a mapping.
#[derive(Clone)]
pub struct Place {
    /// The path of the mapping.
    pub path: Vec<SchemaSegment>,
    /// The entry.
    pub entry: YamlEntry,
    /// Its mapping.
    pub parent: YamlNode,
}

/// A placeholder with a path.
#[derive(Debug, Clone)]
pub struct Reference {
    /// The whole tag.
    pub tag: Range<usize>,
    /// Its segments and their bytes.
    pub segments: Vec<(String, Range<usize>)>,
    /// The index of its place.
    pub place: usize,
}

/// Keys whose values are templates.
const TEMPLATES: [&str; 22] = [
    "instruction",
    "prompt",
    "params",
    "input",
    "output",
    "when",
    "until",
    "url",
    "headers",
    "body",
    "input_template",
    "command",
    "env",
    "feedback",
    "expression",
    "output_template",
    "system",
    "for_each",
    "swarm_size",
    "inputs",
    "intent",
    "prompt_template",
];

impl Manifest {
    /// Reads a manifest; `None` if it is not valid YAML.
    pub fn read(dialect: &'static str, path: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(path).ok()?;
        let root = parse(&text)?;
        let mut places = Vec::new();
        collect(&root, &mut Vec::new(), &mut places);
        let mut others = Vec::new();
        for other in std::fs::read_dir(path.parent()?).ok()?.flatten() {
            if other.path() != path {
                others.extend(std::fs::read_to_string(other.path()).ok().as_deref().and_then(parse));
            }
        }
        Some(Self { dialect, path: path.to_owned(), text, root, places, others })
    }
    /// Starts a list of changes.
    pub fn edits(&self) -> Edits<'_> {
        Edits::of(&self.text)
    }
    /// A single change, to be reported where it is.
    pub fn put(&self, range: Range<usize>, new: impl Into<String>) -> Option<Mutation> {
        self.edits().put(range, new).done()
    }
    /// The value at a path of keys from the root.
    pub fn get(&self, path: &str) -> Option<&YamlNode> {
        let mut node = &self.root;
        for key in path.split('.') {
            node = &node.as_mapping()?.get(key)?.value;
        }
        Some(node)
    }
    /// The entries of a mapping at a path of keys from the root.
    pub fn entries(&self, path: &str) -> &[YamlEntry] {
        self.get(path).and_then(YamlNode::as_mapping).map_or(&[], |m| &m.entries)
    }
    /// The places with this key.
    pub fn keyed<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Place> {
        self.places.iter().filter(move |p| &*p.entry.key.value == key)
    }
    /// The schema of the key at this place, if it belongs to the format and is not a name chosen by the user.
    pub fn is_format_key(&self, place: &Place) -> Option<trefoil_project::schema::SchemaKey> {
        let keys = trefoil_project::schema::keys_at(self.dialect, &self.root, &place.path);
        keys.into_iter().find(|k| k.name == *place.entry.key.value)
    }
    /// The places whose text is a template.
    pub fn templates(&self) -> impl Iterator<Item = (usize, &Place)> {
        self.places.iter().enumerate().filter(|(_, p)| p.entry.value.as_string().is_some() && is_template(p))
    }
    /// All placeholders with a path.
    pub fn references(&self) -> Vec<Reference> {
        static TAG: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r"\{\{\{?\s*([A-Za-z_][\w\-]*(?:\.[\w\-]+)*)\s*(?:\|[^}]*)?\}\}\}?").ok());
        let mut found = Vec::new();
        for (place, at) in self.templates() {
            let span = range(at.entry.value.span);
            for tag in TAG.iter().flat_map(|t| t.captures_iter(&self.text[span.clone()])) {
                let (Some(whole), Some(path)) = (tag.get(0), tag.get(1)) else { continue };
                if self.text[..span.start + whole.start()].ends_with('\\') {
                    continue;
                }
                let mut start = span.start + path.start();
                let segments: Vec<_> = path
                    .as_str()
                    .split('.')
                    .map(|s| {
                        let at = start..start + s.len();
                        start = at.end + 1;
                        (s.to_owned(), at)
                    })
                    .collect();
                if !["else", "this", "env", "secrets"].contains(&segments[0].0.as_str()) {
                    found.push(Reference {
                        tag: span.start + whole.start()..span.start + whole.end(),
                        segments,
                        place,
                    });
                }
            }
        }
        found
    }
    /// The end of a scalar's text, before a closing quote or the line breaks after a block.
    pub fn end_of_text(&self, node: &YamlNode) -> Option<usize> {
        let text = node.as_string()?;
        let span = range(node.span);
        let inner = self.text[span.clone()].trim_end();
        let end = span.start + inner.len();
        Some(if matches!(text.style, YamlStyle::Single | YamlStyle::Double) { end - 1 } else { end })
    }
    /// Appends text to a template.
    pub fn append(&self, place: &Place, more: &str) -> Option<Mutation> {
        let style = place.entry.value.as_string()?.style;
        if style == YamlStyle::Plain && more.contains(['#', ':', '"'])
            || style == YamlStyle::Double && more.contains('"')
        {
            return None;
        }
        if style == YamlStyle::Single && more.contains('\'') {
            return None;
        }
        let end = self.end_of_text(&place.entry.value)?;
        self.put(end..end, format!(" {more}"))
    }
    /// The start of the line of an offset.
    pub fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |n| n + 1)
    }
    /// The end of the line of an offset, including its line break.
    pub fn line_end(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |n| at + n + 1)
    }
    /// The column of an offset.
    pub fn column(&self, at: usize) -> usize {
        at - self.line_start(at)
    }
    /// The end of a node without trailing spaces.
    pub fn end(&self, node: &YamlNode) -> usize {
        let span = range(node.span);
        span.start + self.text[span].trim_end().len()
    }
    /// The bytes of a whole entry, in block or flow style; `None` for the only entry of its mapping.
    pub fn whole(&self, place: &Place) -> Option<Range<usize>> {
        self.whole_of(&place.entry, place.parent.as_mapping()?)
    }
    /// The same for an entry of this mapping.
    pub fn whole_of(&self, entry: &YamlEntry, mapping: &YamlMapping) -> Option<Range<usize>> {
        let start = entry.key.span.start;
        let next = mapping.entries.iter().map(|e| e.key.span.start).filter(|s| *s > start).min();
        let first = self.text[self.line_start(start as usize)..start as usize].trim().is_empty();
        match next {
            Some(next) if !first || self.line_start(next as usize) <= start as usize => {
                Some(start as usize..next as usize)
            }
            Some(next) => Some(self.line_start(start as usize)..self.line_start(next as usize)),
            None if mapping.entries.len() == 1 => None,
            None if first => Some(
                self.line_start(start as usize)..self.line_end(self.end(&entry.value).max(entry.key.span.end as usize)),
            ),
            None => {
                let before =
                    mapping.entries.iter().filter(|e| e.key.span.start < start).map(|e| self.end(&e.value)).max()?;
                Some(before..self.end(&entry.value))
            }
        }
    }
    /// The bytes of a whole item of a block list, from its line to that of the next item.
    pub fn item(&self, items: &[YamlNode], at: usize) -> Option<Range<usize>> {
        let dash = |n: &YamlNode| {
            let line = self.line_start(n.span.start as usize);
            self.text[line..].trim_start().starts_with('-').then_some(line)
        };
        let start = dash(items.get(at)?)?;
        match items.get(at + 1) {
            Some(next) => Some(start..dash(next)?).filter(|r| !r.is_empty()),
            None => Some(start..self.line_end(self.end(items.get(at)?))),
        }
    }
    /// Inserts a line below a block entry, in the same column: another key of its mapping.
    pub fn beside(&self, entry: &YamlEntry, line: &str) -> Option<Mutation> {
        entry.value.as_scalar()?;
        let start = entry.key.span.start as usize;
        let before = self.text[self.line_start(start)..start].trim_start();
        if !before.is_empty() && before != "- " {
            return None;
        }
        let end = self.line_end(self.end(&entry.value).max(entry.key.span.end as usize));
        let column = self.column(start);
        self.put(end..end, format!("{}{line}\n", " ".repeat(column)))
    }
    /// The agntz pipelines: the list of steps, and whether it is sequential.
    pub fn pipelines(&self) -> Vec<(&Place, &[YamlNode], bool)> {
        let lists = self.places.iter().filter(|p| matches!(&*p.entry.key.value, "steps" | "branches"));
        lists.filter_map(|p| Some((p, p.entry.value.as_sequence()?, &*p.entry.key.value == "steps"))).collect()
    }
    /// The agent that an agntz step calls, in this file or another one.
    pub fn child(&self, step: &YamlNode) -> Option<YamlNode> {
        let step = step.as_mapping()?;
        if let Some(agent) = step.get("agent") {
            return Some(agent.value.clone());
        }
        let id = step.get("ref")?.value.as_string()?;
        let named = |n: &&YamlNode| {
            n.as_mapping()
                .and_then(|m| m.get("id"))
                .and_then(|e| e.value.as_string())
                .is_some_and(|t| t.value == id.value)
        };
        self.others.iter().find(named).cloned()
    }
}

/// The id or key of an agntz step's output.
pub fn state_key(step: &YamlNode) -> Option<String> {
    let step = step.as_mapping()?;
    let text = |m: &YamlMapping, key: &str| m.get(key).and_then(|e| e.value.as_string()).map(|t| t.value.to_string());
    let inline = step.get("agent").and_then(|e| e.value.as_mapping());
    text(step, "stateKey")
        .or_else(|| inline.and_then(|m| text(m, "stateKey")))
        .or_else(|| inline.and_then(|m| text(m, "id")))
        .or_else(|| text(step, "ref"))
        .map(|id| {
            let mut words = id.split('-');
            let first = words.next().unwrap_or_default().to_owned();
            words.fold(first, |key, word| {
                key + &word[..1.min(word.len())].to_uppercase() + word.get(1..).unwrap_or_default()
            })
        })
}

/// Parses a text.
pub fn parse(text: &str) -> Option<YamlNode> {
    let mut files = SourceFiles::default();
    let file = files.add_file(SourceFile::new("a.yaml", text));
    yaml::parse(file, files.get(file)?, &yaml::YamlLimits::default()).root
}

fn is_template(place: &Place) -> bool {
    let under = |key: &str| TEMPLATES.contains(&key);
    let inside = |key: &str| place.path.iter().any(|s| matches!(s, SchemaSegment::Key(k) if k == key));
    if inside("examples")
        || inside("inputSchema")
        || inside("outputSchema")
        || inside("input_schema")
        || inside("output_schema")
    {
        return false;
    }
    // At these places, the keys stand for plain data or text.
    let plain = place.path.first() == Some(&SchemaSegment::Key("input".into()))
        || inside("state")
        || (inside("task") && &*place.entry.key.value != "prompt_template");
    !plain
        && (under(&place.entry.key.value)
            || place.path.iter().any(|s| matches!(s, SchemaSegment::Key(k) if under(k) && k != "command")))
}

fn collect(node: &YamlNode, path: &mut Vec<SchemaSegment>, places: &mut Vec<Place>) {
    match &*node.kind {
        YamlNodeKind::Mapping(mapping) => {
            for entry in &mapping.entries {
                places.push(Place { path: path.clone(), entry: entry.clone(), parent: node.clone() });
                path.push(SchemaSegment::Key(entry.key.value.to_string()));
                collect(&entry.value, path, places);
                path.pop();
            }
        }
        YamlNodeKind::Sequence(items) => {
            for (at, item) in items.iter().enumerate() {
                path.push(SchemaSegment::Item(at));
                collect(item, path, places);
                path.pop();
            }
        }
        YamlNodeKind::Scalar(..) => {}
    }
}
