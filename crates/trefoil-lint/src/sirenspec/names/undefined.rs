//! Names that are not defined anywhere.

use std::sync::Arc;

use trefoil_syntax::{Diagnostic, FindingSeverity, suggestions};

use super::habits;
use super::name::NameReference;
use super::path_advice::{PathAdvice, advise_path};
use crate::sirenspec::subject::FindingList;
use trefoil_front::sirenspec::manifest::{NodeKind, SirenNode, StateTree};
use trefoil_front::sirenspec::names::texts;
use trefoil_front::spelling_fixes;

/// The roots of a path, other than nodes and written values.
const ROOTS: [&str; 5] = ["inputs", "env", "item", "index", "total"];

/// A path of a tree that does not exist.
pub fn report_unknown_path(
    name: NameReference<'_, '_>,
    root: StateTree,
    base: usize,
    path: &[Arc<str>],
    found: &mut FindingList,
) {
    let known = name.workflow_names();
    let leads = |n: &usize| known.has_value_at(root, path.get(..*n).unwrap_or(&[]));
    let leading = (1..=path.len()).rev().find(leads).unwrap_or(0);
    if let Some(meant) = habits::intended_path(name, root, base) {
        return said(name, base + leading, &meant, found);
    }
    if name.reference().path.first().is_some_and(|s| *s.name == *"memory") && known.node_at(path).is_none() {
        let message = format!("`{}` is not defined: nothing is kept between runs", name.dotted_path());
        let help = "pass it as a field of `input`".to_owned();
        return found.push(finding(name, message, Some(help)));
    }
    let mut candidates = known.next_segments(root, path.get(..leading).unwrap_or(&[]));
    if base == 1 && leading == 0 && !name.text_position().is_condition() {
        // In templates, `working.<node id>` does not exist.
        candidates.retain(|name| known.node_of(name).is_none());
    }
    if base == 0 && leading == 0 {
        candidates.extend(ROOTS.map(Arc::from));
        let rest = path.get(1..).unwrap_or(&[]);
        let roots = [StateTree::Working, StateTree::Output].into_iter().filter(|root| known.has_value_at(*root, rest));
        candidates.extend(roots.map(|root| Arc::from(root.tree_name())));
    }
    let advice = if candidates.is_empty() { advise_path(name, root, base, path, leading) } else { None };
    report_undefined(name, base + leading, candidates.iter().map(|c| &**c).collect(), advice, found);
}

/// A name that is not defined here, with the place where it is.
fn said(name: NameReference<'_, '_>, segment: usize, meant: &str, found: &mut FindingList) {
    let (before, word) = parted(name, segment);
    let why = match before.as_slice() {
        [] => format!("no node, written path or state is named `{word}`"),
        before => format!("`{}` has no `{word}`", before.join(".")),
    };
    let message = format!("`{}` is not defined: {why}", name.dotted_path());
    let d = mark_property_finding(&before, finding(name, message, Some(format!("did you mean `{meant}`?"))));
    let whole = name.used.path_location();
    found.push(spelling_fixes::fix_path(d, whole, meant, false));
}

/// An undefined name at this segment, with the available names and advice about the value before it.
pub fn report_undefined(
    name: NameReference<'_, '_>,
    segment: usize,
    candidates: Vec<&str>,
    advice: Option<PathAdvice>,
    found: &mut FindingList,
) {
    let (before, word) = parted(name, segment);
    let message = match before.is_empty() {
        true => format!("`{}` is not defined: no node, written path or state is named `{word}`", name.dotted_path()),
        false => format!("`{}` is not defined: `{}` has no `{word}`", name.dotted_path(), before.join(".")),
    };
    let path = &name.reference().path;
    let near = suggestions::find_near_match(word, candidates.iter().copied());
    // A node alone is an object; its result is probably meant.
    let result = near.filter(|_| segment + 1 == path.len()).and_then(|near| result(name, &before, near.name));
    let help = match near {
        Some(_) if result.is_some() => result.as_ref().map(|path| format!("did you mean `{path}`?")),
        Some(near) => {
            let rest = path.iter().skip(segment + 1).map(|s| &*s.name);
            let whole: Vec<&str> = before.iter().copied().chain([near.name]).chain(rest).collect();
            Some(format!("did you mean `{}`?", whole.join(".")))
        }
        None if before == ["inputs"] => Some(format!("declare it: `input: {{{word}: ...}}`")),
        None if advice.is_some() => advice.as_ref().map(|advice| advice.help.clone()),
        None => available(&candidates),
    };
    let d = mark_property_finding(&before, finding(name, message, help));
    let reference = name.reference();
    found.push(match (result, near, advice.and_then(|advice| advice.path)) {
        (Some(path), ..) => spelling_fixes::fix_path(d, name.used.segments_location(0, segment), &path, false),
        (None, Some(near), _) => {
            spelling_fixes::fix_name(d, name.used.segment_location(segment), near, reference.default.is_none())
        }
        (None, None, Some(path)) => spelling_fixes::fix_path(d, name.used.path_location(), &path, false),
        (None, None, None) => d,
    });
}

fn available(candidates: &[&str]) -> Option<String> {
    (!candidates.is_empty()).then(|| format!("available: {}", spelling_fixes::join_names(candidates.iter().copied())))
}

/// A namespace without a field name after it.
pub fn no_field(name: NameReference<'_, '_>, root: &'static str, found: &mut FindingList) {
    let example = if root == "env" { "env.NAME" } else { "inputs.message" };
    let help = format!("for example `{{{{ {example} }}}}`");
    let d = finding(name, format!("`{root}` needs a field name after it"), Some(help));
    let whole = name.used.segment_location(0).filter(|_| root == "inputs");
    found.push(spelling_fixes::fix_path(d, whole, example, false));
}

/// A placeholder in a default.
pub fn default_is_text(name: NameReference<'_, '_>, found: &mut FindingList) {
    let Some(default) = name.reference().default.as_deref().filter(|text| text.contains("{{")) else { return };
    let message = format!("the default is literal text, so `{default}` in it is not read");
    let d = Diagnostic::new_warning("not-a-placeholder", name.source_location(), message);
    found.push(d.with_help("write both placeholders side by side: a default cannot be another value"));
}

/// The words before a segment, and that segment.
fn parted<'a>(name: NameReference<'a, '_>, segment: usize) -> (Vec<&'a str>, &'a str) {
    let path = &name.reference().path;
    (path.iter().take(segment).map(|s| &*s.name).collect(), path.get(segment).map_or("", |s| &*s.name))
}

/// The path to the result of the node with a similar name; `None` if a written or seeded value also has that name.
fn result(name: NameReference<'_, '_>, before: &[&str], id: &str) -> Option<String> {
    let known = name.workflow_names();
    let node = known.nodes.get(known.node_of(id)?)?;
    let root = match before {
        [] => "",
        ["working"] => "working.",
        _ => return None,
    };
    let path = [Arc::from(id)];
    let look = known.look_up_path(StateTree::Working, &path);
    let written = look.seeded || look.writes.iter().any(|w| known.provides_value(*w, &path));
    (!written && !node.output.is_empty()).then(|| format!("{root}{id}.{}", node.output.join(".")))
}

/// The reading node, if the text is an agent's and the name is defined in another node that uses the agent (inputs of a
/// factory).
fn only_here<'a>(name: NameReference<'a, '_>) -> Option<&'a str> {
    let [root, field, ..] = name.reference().path.as_slice() else { return None };
    let (me, manifest) = (name.reader_node()?, name.subject.manifest);
    let gives = |node: &SirenNode<'_>| match &node.kind {
        NodeKind::Factory(factory) => factory.inputs.iter().any(|e| e.key.value == field.name),
        _ => false,
    };
    let reads =
        |node: &SirenNode<'_>| texts::of_node(manifest, node).iter().any(|t| t.text.span == name.text.text.source.span);
    let mut others = manifest.nodes.iter().filter(|other| !std::ptr::eq(*other, me));
    (*root.name == *"inputs" && others.any(|n| gives(n) && reads(n)))
        .then(|| name.text_position().reading_node().map(|n| &*n.id))?
}

/// Marks findings about names after other names, which used to be reported as properties.
fn mark_property_finding(before: &[&str], d: Diagnostic) -> Diagnostic {
    match before {
        [] => d,
        _ => d.of_property(),
    }
}

/// An error, or a warning if a default handles the missing value.
fn finding(name: NameReference<'_, '_>, message: String, help: Option<String>) -> Diagnostic {
    let (within, always) = match only_here(name) {
        Some(node) => (format!("in `{node}`, "), "its value there is always"),
        None => (String::new(), "its value is always"),
    };
    let (severity, message) = match &name.reference().default {
        None => (FindingSeverity::Error, format!("{within}{message}")),
        Some(default) => (FindingSeverity::Warning, format!("{within}{message}; {always} `{default}`")),
    };
    let d = Diagnostic::new("unresolved-name", severity, name.source_location(), message);
    help.into_iter().fold(d, |d, help| d.with_help(help))
}
