//! Names that are not defined anywhere.

use std::sync::Arc;

use trefoil_syntax::{Diagnostic, Severity, suggest};

use super::habits;
use super::instead::{Instead, instead};
use super::name::Name;
use crate::sirenspec::subject::Found;
use trefoil_front::mend;
use trefoil_front::sirenspec::manifest::{Node, NodeKind, Root};
use trefoil_front::sirenspec::names::texts;

/// The roots of a path, other than nodes and written values.
const ROOTS: [&str; 5] = ["inputs", "env", "item", "index", "total"];

/// A path of a tree that does not exist.
pub fn path(name: Name<'_, '_>, root: Root, base: usize, path: &[Arc<str>], found: &mut Found) {
    let known = name.known();
    let leads = |n: &usize| known.leads(root, path.get(..*n).unwrap_or(&[]));
    let leading = (1..=path.len()).rev().find(leads).unwrap_or(0);
    if let Some(meant) = habits::meant(name, root, base) {
        return said(name, base + leading, &meant, found);
    }
    if name.reference().path.first().is_some_and(|s| *s.name == *"memory") && known.node_at(path).is_none() {
        let message = format!("`{}` is not defined: nothing is kept between runs", name.dotted());
        let help = "pass it as a field of `input`".to_owned();
        return found.push(finding(name, message, Some(help)));
    }
    let mut candidates = known.candidates(root, path.get(..leading).unwrap_or(&[]));
    if base == 1 && leading == 0 && !name.here().is_condition() {
        // In templates, `working.<node id>` does not exist.
        candidates.retain(|name| known.node_of(name).is_none());
    }
    if base == 0 && leading == 0 {
        candidates.extend(ROOTS.map(Arc::from));
        let rest = path.get(1..).unwrap_or(&[]);
        let roots = [Root::Working, Root::Output].into_iter().filter(|root| known.leads(*root, rest));
        candidates.extend(roots.map(|root| Arc::from(root.word())));
    }
    let advice = if candidates.is_empty() { instead(name, root, base, path, leading) } else { None };
    undefined(name, base + leading, candidates.iter().map(|c| &**c).collect(), advice, found);
}

/// A name that is not defined here, with the place where it is.
fn said(name: Name<'_, '_>, segment: usize, meant: &str, found: &mut Found) {
    let (before, word) = parted(name, segment);
    let why = match before.as_slice() {
        [] => format!("no node, written path or state is named `{word}`"),
        before => format!("`{}` has no `{word}`", before.join(".")),
    };
    let message = format!("`{}` is not defined: {why}", name.dotted());
    let d = after(&before, finding(name, message, Some(format!("did you mean `{meant}`?"))));
    let whole = name.used.whole();
    found.push(mend::rewritten(d, whole, meant, false));
}

/// An undefined name at this segment, with the available names and advice about the value before it.
pub fn undefined(
    name: Name<'_, '_>,
    segment: usize,
    candidates: Vec<&str>,
    advice: Option<Instead>,
    found: &mut Found,
) {
    let (before, word) = parted(name, segment);
    let message = match before.is_empty() {
        true => format!("`{}` is not defined: no node, written path or state is named `{word}`", name.dotted()),
        false => format!("`{}` is not defined: `{}` has no `{word}`", name.dotted(), before.join(".")),
    };
    let path = &name.reference().path;
    let near = suggest::near(word, candidates.iter().copied());
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
    let d = after(&before, finding(name, message, help));
    let reference = name.reference();
    found.push(match (result, near, advice.and_then(|advice| advice.path)) {
        (Some(path), ..) => mend::rewritten(d, name.used.segments(0, segment), &path, false),
        (None, Some(near), _) => mend::renamed(d, name.used.segment(segment), near, reference.default.is_none()),
        (None, None, Some(path)) => mend::rewritten(d, name.used.whole(), &path, false),
        (None, None, None) => d,
    });
}

fn available(candidates: &[&str]) -> Option<String> {
    (!candidates.is_empty()).then(|| format!("available: {}", mend::listed(candidates.iter().copied())))
}

/// A namespace without a field name after it.
pub fn no_field(name: Name<'_, '_>, root: &'static str, found: &mut Found) {
    let example = if root == "env" { "env.NAME" } else { "inputs.message" };
    let help = format!("for example `{{{{ {example} }}}}`");
    let d = finding(name, format!("`{root}` needs a field name after it"), Some(help));
    let whole = name.used.segment(0).filter(|_| root == "inputs");
    found.push(mend::rewritten(d, whole, example, false));
}

/// A placeholder in a default.
pub fn default_is_text(name: Name<'_, '_>, found: &mut Found) {
    let Some(default) = name.reference().default.as_deref().filter(|text| text.contains("{{")) else { return };
    let message = format!("the default is literal text, so `{default}` in it is not read");
    let d = Diagnostic::warning("not-a-placeholder", name.at(), message);
    found.push(d.help("write both placeholders side by side: a default cannot be another value"));
}

/// The words before a segment, and that segment.
fn parted<'a>(name: Name<'a, '_>, segment: usize) -> (Vec<&'a str>, &'a str) {
    let path = &name.reference().path;
    (path.iter().take(segment).map(|s| &*s.name).collect(), path.get(segment).map_or("", |s| &*s.name))
}

/// The path to the result of the node with a similar name; `None` if a written or seeded value also has that name.
fn result(name: Name<'_, '_>, before: &[&str], id: &str) -> Option<String> {
    let known = name.known();
    let node = known.nodes.get(known.node_of(id)?)?;
    let root = match before {
        [] => "",
        ["working"] => "working.",
        _ => return None,
    };
    let path = [Arc::from(id)];
    let look = known.look(Root::Working, &path);
    let written = look.seeded || look.writes.iter().any(|w| known.provides(*w, &path));
    (!written && !node.output.is_empty()).then(|| format!("{root}{id}.{}", node.output.join(".")))
}

/// The reading node, if the text is an agent's and the name is defined in another node that uses the agent (inputs of a
/// factory).
fn only_here<'a>(name: Name<'a, '_>) -> Option<&'a str> {
    let [root, field, ..] = name.reference().path.as_slice() else { return None };
    let (me, manifest) = (name.reader()?, name.subject.manifest);
    let gives = |node: &Node<'_>| match &node.kind {
        NodeKind::Factory(factory) => factory.inputs.iter().any(|e| e.key.value == field.name),
        _ => false,
    };
    let reads =
        |node: &Node<'_>| texts::of_node(manifest, node).iter().any(|t| t.text.span == name.text.text.source.span);
    let mut others = manifest.nodes.iter().filter(|other| !std::ptr::eq(*other, me));
    (*root.name == *"inputs" && others.any(|n| gives(n) && reads(n))).then(|| name.here().node().map(|n| &*n.id))?
}

/// Marks findings about names after other names, which used to be reported as properties.
fn after(before: &[&str], d: Diagnostic) -> Diagnostic {
    match before {
        [] => d,
        _ => d.of_property(),
    }
}

/// An error, or a warning if a default handles the missing value.
fn finding(name: Name<'_, '_>, message: String, help: Option<String>) -> Diagnostic {
    let (within, always) = match only_here(name) {
        Some(node) => (format!("in `{node}`, "), "its value there is always"),
        None => (String::new(), "its value is always"),
    };
    let (severity, message) = match &name.reference().default {
        None => (Severity::Error, format!("{within}{message}")),
        Some(default) => (Severity::Warning, format!("{within}{message}; {always} `{default}`")),
    };
    let d = Diagnostic::new("unresolved-name", severity, name.at(), message);
    help.into_iter().fold(d, |d, help| d.help(help))
}
