//! `writes`: a path under `working` or `output`.

use std::sync::Arc;

use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{Diagnostic, suggestions};

use crate::spelling_fixes::{fix_name, fix_path};
use crate::{ManifestReader, MappingReader};

/// One of the two trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StateTree {
    /// The tree that nodes read.
    Working,
    /// The tree that the run returns.
    Output,
}

impl StateTree {
    /// Its name in manifests.
    pub fn tree_name(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Output => "output",
        }
    }
}

/// A path to write to.
#[derive(Debug, Clone)]
pub struct NodeWrite<'n> {
    /// The tree.
    pub root: StateTree,
    /// The segments after it; at least one.
    pub path: Vec<Arc<str>>,
    /// The path as written; `None`: the format implies it.
    pub text: Option<&'n YamlText>,
}

/// The required `writes` of a node.
pub fn require_write<'n>(fields: &mut MappingReader<'n, '_>) -> Option<NodeWrite<'n>> {
    let text = fields.require_text("writes")?;
    parse(fields.reader, text)
}

/// The optional `writes` of a node.
pub fn optional_write<'n>(fields: &mut MappingReader<'n, '_>) -> Option<NodeWrite<'n>> {
    let text = fields.read_text("writes")?;
    parse(fields.reader, text)
}

fn parse<'n>(reader: &ManifestReader<'_>, text: &'n YamlText) -> Option<NodeWrite<'n>> {
    let mut segments = text.value.split('.');
    let first = segments.next().unwrap_or_default();
    let root = match first {
        "working" => StateTree::Working,
        "output" => StateTree::Output,
        _ => {
            reader.report_finding(unknown_root_finding(reader, text, first));
            return None;
        }
    };
    let path: Vec<Arc<str>> = segments.map(Arc::from).collect();
    if path.iter().any(|s| s.is_empty()) {
        reader.report_error("bad-path", text.span, format!("`{}` has an empty segment", text.value));
        return None;
    }
    if let Some(odd) = path.iter().find_map(|s| s.chars().find(|c| !in_path(*c))) {
        let odd = if odd.is_whitespace() { "a space".to_owned() } else { format!("`{odd}`") };
        let message = format!("`{}` contains {odd}, so no template can read it", text.value);
        reader.report_warning("bad-path", text.span, message);
    }
    if root == StateTree::Working && matches!(path.first(), Some(name) if **name == *"_budget") {
        let message = "`working._budget` cannot be read: the name means the run's usage so far";
        let d = Diagnostic::new_warning("reserved-name", reader.location_of(text.span), message);
        reader.report_finding(d.with_help("write to another path"));
    }
    // A lone root writes the key with its own name.
    let path = if path.is_empty() {
        let message = format!("`{first}` alone writes `{first}.{first}`: the name after the dot is missing");
        let d = Diagnostic::new_warning("bad-path", reader.location_of(text.span), message);
        reader.report_finding(d.with_help(format!("add a name: `{first}.reply`")));
        vec![Arc::from(first)]
    } else {
        path
    };
    Some(NodeWrite { root, path, text: Some(text) })
}

/// The finding about a path whose first segment is neither tree.
fn unknown_root_finding(reader: &ManifestReader<'_>, text: &YamlText, first: &str) -> Diagnostic {
    let head = reader.location_of(text.source_span(0..first.len() as u32));
    let message = format!("`writes` must start with `working.` or `output.`, not `{first}`");
    let d = Diagnostic::new_error("unknown-value", head, message);
    let quoted = !first.starts_with(char::is_alphanumeric);
    let meant_path = meant(&text.value);
    let near = match meant_path {
        Some(_) => None,
        None => suggestions::find_near_match(first, ["working", "output"]),
    };
    match near {
        // A leading quote is reported where quotes are checked.
        Some(near) if quoted => d.with_help(format!("did you mean `{}`?", near.name)),
        // The extra characters of the only word may be the name.
        Some(near) => {
            let sure = *text.value != *first;
            fix_name(d.with_help(format!("did you mean `{}`?", near.name)), Some(head), near, sure)
        }
        None if first == "memory" => d.with_help("persistent memory is not supported yet"),
        None => match meant_path {
            Some(path) => {
                let all = reader.location_of(text.source_span(0..text.value.len() as u32));
                fix_path(d.with_help(format!("write `{path}`")), Some(all), &path, true)
            }
            None => d.with_help(format!("write `working.{0}` or `output.{0}`", text.value)),
        },
    }
}

/// The path in one of the trees, written in the notation of another language: `output/y`, `$.output.y`, `output["y"]`.
fn meant(text: &str) -> Option<String> {
    let apart = |c: char| !in_path(c) || matches!(c, '.' | '$' | ':' | ';' | '\\');
    let mut segments: Vec<&str> = text.split(apart).filter(|s| !s.is_empty()).collect();
    // The trees are seeded under `state`.
    if segments.first() == Some(&"state") {
        segments.remove(0);
    }
    // `output-y`, `working->y`
    if let Some(first) = segments.first()
        && let Some((head, rest)) = first.split_once('-')
    {
        segments.splice(..1, [head, rest].into_iter().filter(|s| !s.is_empty()));
    }
    match segments.as_slice() {
        ["working" | "output", _, ..] => Some(segments.join(".")),
        _ => None,
    }
}

/// Whether a character can be in a path that a template reads.
fn in_path(c: char) -> bool {
    !c.is_whitespace() && !"{}.|=!<>&()\"'#/+*,[]".contains(c)
}
