//! Walking a path through what is known about a value, and through the inner results beneath it (decision A10).

use std::sync::Arc;

use trefoil_syntax::{Severity, suggest};
use trefoil_template::Segment;

use super::advice::list;
use super::scope::Note;
use super::shape::{Member, Shape};
use super::signature::Exported;

/// Where a path led.
pub struct Walk {
    /// What is known about the value there.
    pub shape: Shape,
    /// The path needs the inner results: its second segment is, or may be, a step key.
    pub layered: bool,
    /// Why it never leads anywhere.
    pub note: Option<Note>,
}

/// Walks `path` (its first segment names the value of this shape). `exports` are the inner results of the pipeline that
/// produced the value.
pub fn walk(path: &[Segment], shape: &Shape, exports: Option<&[Exported]>) -> Walk {
    let mut shape = shape.clone();
    let mut beneath = exports;
    let mut layered = false;
    for (i, segment) in path.iter().enumerate().skip(1) {
        let export = beneath.and_then(|e| e.iter().find(|e| e.is(&segment.name)));
        match shape.member(&segment.name) {
            Member::Is(next) => {
                shape = next;
                beneath = None;
            }
            Member::Maybe => {
                layered |= export.is_some() && i == 1;
                return Walk { shape: Shape::Any, layered, note: None };
            }
            Member::Never { what, members, undeclared } => match export {
                Some(export) => {
                    layered = true;
                    shape = export.shape.clone();
                    beneath = export.inner.as_deref().map(|s| s.exports.as_slice());
                }
                None => {
                    let mut members = members;
                    for key in beneath.unwrap_or_default().iter().map(|e| &e.key) {
                        if !members.contains(key) {
                            members.push(key.clone());
                        }
                    }
                    let note = never(path, i, what, &members, undeclared);
                    return Walk { shape: Shape::Any, layered, note: Some(note) };
                }
            },
        }
    }
    Walk { shape, layered, note: None }
}

fn never(path: &[Segment], at: usize, what: &str, members: &[Arc<str>], undeclared: bool) -> Note {
    let dotted = path.iter().take(at).map(|s| &*s.name).collect::<Vec<_>>().join(".");
    let name = path.get(at).map_or("", |s| &s.name);
    let severity = if undeclared { Severity::Warning } else { Severity::Error };
    if members.is_empty() {
        let message = format!("`{dotted}` is {what}, so `{dotted}.{name}` is always null");
        let help = undeclared.then(|| "give the agent an `outputSchema` to get an object".to_owned());
        return Note::new(severity, "property-of-text", message, help).meant(at, None);
    }
    let has = list(members.iter().map(|m| &**m));
    let near = suggest::near(name, members.iter().map(|m| &**m));
    let help = match near {
        Some(near) => format!("did you mean `{}`? it has {has}", near.name),
        None => format!("it has {has}"),
    };
    Note::new(severity, "unknown-property", format!("`{dotted}` has no `{name}`"), help).meant(at, near)
}
