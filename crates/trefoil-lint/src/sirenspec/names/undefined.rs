//! Names that are not defined anywhere.

use std::sync::Arc;

use trefoil_syntax::{Diagnostic, FindingSeverity, suggestions};

use super::habits;
use super::name::NameReference;
use super::path_advice::{PathAdvice, advise_path};
use crate::sirenspec::subject::FindingList;
use trefoil_front::sirenspec::manifest::{NodeKind, StateTree};
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
    // The number of segments that lead to something.
    let mut leading = path.len();
    while leading > 0 && !known.has_value_at(root, path.get(..leading).unwrap_or(&[])) {
        leading -= 1;
    }
    if let Some(meant) = habits::intended_path(name, root, base) {
        return said(name, base + leading, &meant, found);
    }
    if name.first_word() == "memory" && known.node_at(path).is_none() {
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
        for root in [StateTree::Working, StateTree::Output] {
            if known.has_value_at(root, rest) {
                candidates.push(Arc::from(root.tree_name()));
            }
        }
    }
    let advice = if candidates.is_empty() { advise_path(name, root, base, path, leading) } else { None };
    report_undefined(name, base + leading, candidates.iter().map(|c| &**c).collect(), advice, found);
}

/// A name that is not defined here, with the place where it is.
fn said(name: NameReference<'_, '_>, segment: usize, meant: &str, found: &mut FindingList) {
    let (before, word) = parted(name, segment);
    let message = undefined_message(name, &before, word);
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
    let message = undefined_message(name, &before, word);
    let with_help = |help: Option<String>| mark_property_finding(&before, finding(name, message, help));
    let path = &name.reference().path;
    if let Some(near) = suggestions::find_near_match(word, candidates.iter().copied()) {
        // A node alone is an object; its result is probably meant.
        if segment + 1 == path.len()
            && let Some(path) = result(name, &before, near.name)
        {
            let d = with_help(Some(format!("did you mean `{path}`?")));
            let place = name.used.segments_location(0, segment);
            return found.push(spelling_fixes::fix_path(d, place, &path, false));
        }
        let mut whole = before.clone();
        whole.push(near.name);
        whole.extend(path.iter().skip(segment + 1).map(|segment| &*segment.name));
        let d = with_help(Some(format!("did you mean `{}`?", whole.join("."))));
        let place = name.used.segment_location(segment);
        return found.push(spelling_fixes::fix_name(d, place, near, name.reference().default.is_none()));
    }
    let help = match &advice {
        _ if before == ["inputs"] => Some(format!("declare it: `input: {{{word}: ...}}`")),
        Some(advice) => Some(advice.help.clone()),
        None if candidates.is_empty() => None,
        None => Some(format!("available: {}", spelling_fixes::join_names(candidates.iter().copied()))),
    };
    let d = with_help(help);
    found.push(match advice {
        Some(PathAdvice { path: Some(path), .. }) => {
            spelling_fixes::fix_path(d, name.used.path_location(), &path, false)
        }
        _ => d,
    });
}

/// The message about an undefined word after these words.
fn undefined_message(name: NameReference<'_, '_>, before: &[&str], word: &str) -> String {
    let path = name.dotted_path();
    match before {
        [] => format!("`{path}` is not defined: no node, written path or state is named `{word}`"),
        before => format!("`{path}` is not defined: `{}` has no `{word}`", before.join(".")),
    }
}

/// A namespace without a field name after it.
pub fn no_field(name: NameReference<'_, '_>, root: &'static str, found: &mut FindingList) {
    let example = if root == "env" { "env.NAME" } else { "inputs.message" };
    let help = format!("for example `{{{{ {example} }}}}`");
    let d = finding(name, format!("`{root}` needs a field name after it"), Some(help));
    let whole = if root == "inputs" { name.used.segment_location(0) } else { None };
    found.push(spelling_fixes::fix_path(d, whole, example, false));
}

/// A placeholder in a default.
pub fn default_is_text(name: NameReference<'_, '_>, found: &mut FindingList) {
    let Some(default) = name.reference().default.as_deref() else { return };
    if !default.contains("{{") {
        return;
    }
    let message = format!("the default is literal text, so `{default}` in it is not read");
    let d = Diagnostic::new_warning("not-a-placeholder", name.source_location(), message);
    found.push(d.with_help("write both placeholders side by side: a default cannot be another value"));
}

/// The words before a segment, and that segment.
fn parted<'a>(name: NameReference<'a, '_>, segment: usize) -> (Vec<&'a str>, &'a str) {
    let path = &name.reference().path;
    let word = match path.get(segment) {
        Some(segment) => &*segment.name,
        None => "",
    };
    (path.iter().take(segment).map(|segment| &*segment.name).collect(), word)
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
    let is_written = look.seeded || look.writes.iter().any(|write| known.provides_value(*write, &path));
    if is_written || node.output.is_empty() {
        return None;
    }
    Some(format!("{root}{id}.{}", node.output.join(".")))
}

/// The reading node, if the text is an agent's and the name is defined in another node that uses the agent (inputs of a
/// factory).
fn only_here<'a>(name: NameReference<'a, '_>) -> Option<&'a str> {
    let [root, field, ..] = name.reference().path.as_slice() else { return None };
    let (reader, manifest) = (name.reader_node()?, name.subject.manifest);
    if *root.name != *"inputs" {
        return None;
    }
    for other in &manifest.nodes {
        let NodeKind::Factory(factory) = &other.kind else { continue };
        let passes = factory.inputs.iter().any(|entry| entry.key.value == field.name);
        if passes
            && !std::ptr::eq(other, reader)
            && texts::of_node(manifest, other).iter().any(|text| text.text.span == name.text.text.source.span)
        {
            return Some(&name.text_position().reading_node()?.id);
        }
    }
    None
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
    match help {
        Some(help) => d.with_help(help),
        None => d,
    }
}
