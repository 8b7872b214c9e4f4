//! Names of steps as users type them, and the steps that they mean. The only place that knows which name means which step.
//!
//! The path of a step is its key; that of a step of a called flow is the key of the call, `/` and the key there. A name is the
//! end of a path, and steps around it may be left out: `ok`, `ship/ok` and `all/ok` are names of `all/ship@1/ok`. Passes, items
//! and copies may be left out, too: then all are meant. A label is also a name as it is written in the manifest.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use trefoil_ir::{FlowId, Program, Step, StepId, walk};

use crate::key::{Key, KeyPart, MARKS, own_step, parts, segment, unmarked, without_try};
use crate::request::Activity;

/// The maximum number of visited steps; beyond it, a program's steps have no paths.
const LIMIT: usize = 20_000;

/// A place of a step in a program. The step of a flow that is called twice has two places.
#[derive(Debug, Clone)]
pub struct StepPlace {
    /// The innermost label around it.
    pub label: String,
    /// Its structural key, without the marks of passes, items, attempts and tries.
    pub key: String,
    /// The step.
    pub id: StepId,
    /// The enclosing flows.
    within: Vec<FlowId>,
}

/// The places of all steps of a sort, in the order of the manifest: one for each sequence of calls that leads to a step.
pub fn step_places(program: &Program, is_wanted: impl Fn(&Step) -> bool) -> Vec<StepPlace> {
    let (mut all, mut known) = (Vec::new(), BTreeSet::new());
    let Some(entry) = program.flow(program.entry) else { return all };
    let label = program.name.to_string();
    // With each place, the name of a state, which is in its key instead of the label.
    let mut stack = vec![(StepPlace { id: entry.body, label, key: String::new(), within: vec![program.entry] }, None)];
    for _ in 0..LIMIT {
        let Some((mut place, state)) = stack.pop() else { break };
        let Some(step) = program.step(place.id) else { continue };
        if let Some(own) = &step.label {
            place.label = own.to_string();
        }
        let own = state.or(step.label.as_ref());
        if let Some(own) =
            own.or_else(|| (place.key.is_empty() && step.kind.info().has_activity).then_some(&entry.name))
        {
            place.key = joined(&place.key, &segment(own));
        }
        let beneath = |id, within| StepPlace { id, within, label: place.label.clone(), key: place.key.clone() };
        // In reverse, because the last one pushed is visited first.
        for flow in walk::callees(step).into_iter().rev().filter(|flow| !place.within.contains(flow)) {
            let within = place.within.iter().copied().chain([flow]).collect();
            stack.extend(program.flow(flow).map(|flow| (beneath(flow.body, within), None)));
        }
        let children = step.named_children().into_iter().rev();
        stack.extend(children.map(|(child, name)| (beneath(child, place.within.clone()), name)));
        if is_wanted(step) && known.insert((place.id, place.key.clone())) {
            all.push(place);
        }
    }
    all
}

impl StepPlace {
    /// Whether a name means it.
    pub fn is_named(&self, name: &str) -> bool {
        self.label == name || is_name_of(name, &self.key)
    }
}

/// The path of a step in a called flow.
pub fn joined(call: &str, step: &str) -> String {
    if call.is_empty() || step.is_empty() { format!("{call}{step}") } else { format!("{call}/{step}") }
}

/// The path before a child of a step with this path; `name`: see [`Step::named_children`].
pub fn path_inside(step: &Step, path: &str, name: Option<&Arc<str>>) -> String {
    let mut inside = name.map_or_else(|| path.to_owned(), |name| joined(path, &segment(name)));
    inside.extend(step.kind.info().mark);
    inside
}

/// The paths of a step with this key, or of the step of an activity: its key, and its labels, which may have other names.
pub fn step_paths<'k>(key: &'k Key, labels: &[Arc<str>]) -> [Cow<'k, str>; 2] {
    let labels: Vec<String> = labels.iter().map(|label| segment(label)).collect();
    [Cow::Borrowed(own_step(key.as_str())), Cow::Owned(labels.join("/"))]
}

impl Activity {
    /// The path, without marks, of the step that a name means: its own, or one around it.
    pub fn place_of(&self, name: &str) -> Option<String> {
        let paths = step_paths(&self.key, &self.labels);
        let mut named =
            paths.iter().filter_map(|path| enclosing(path).filter(|around| is_name_of(name, around)).last());
        named.next().map(|path| unmarked(path).into_owned())
    }

    /// How a name of a step in the flow that it calls names that step there. See [`names_inside`].
    pub fn names_inside<'n>(&self, name: &'n str) -> Option<&'n str> {
        step_paths(&self.key, &self.labels).iter().find_map(|path| names_inside(name, path).next())
    }
}

/// The steps that a name means, of steps with their paths: those with this whole path; if there are none, those with this name.
pub fn find_steps<P: AsRef<str>, T: PartialEq>(name: &str, steps: impl IntoIterator<Item = (P, T)>) -> Vec<T> {
    let (mut whole, mut others) = (Vec::new(), Vec::new());
    for (path, step) in steps.into_iter().filter(|(path, _)| is_name_of(name, path.as_ref())) {
        let found = if is_whole(name, path.as_ref()) { &mut whole } else { &mut others };
        if !found.contains(&step) {
            found.push(step);
        }
    }
    if whole.is_empty() { others } else { whole }
}

/// Whether a name leaves nothing of a path out but marks.
pub fn is_whole(name: &str, path: &str) -> bool {
    let labels = unmarked(path);
    segment(name) == labels || unmarked(name) == labels
}

/// Whether a name means the step with this path.
pub fn is_name_of(name: &str, path: &str) -> bool {
    let ((before, last), (around, own)) = (split(name), split(path));
    let is_around = |before| around.is_some_and(|around| is_name_around(before, around));
    is_label_of(name, own) || is_part_of(last, own) && before.is_none_or(is_around)
}

/// Whether a name means the step with this path, or one around it.
fn is_name_around(name: &str, path: &str) -> bool {
    let (before, last) = split(name);
    // The innermost step with the last part leaves most for the parts before it.
    let innermost = enclosing(path).find(|path| is_part_of(last, split(path).1));
    let is_around =
        |before| innermost.and_then(|path| split(path).0).is_some_and(|around| is_name_around(before, around));
    enclosing(path).any(|path| is_label_of(name, split(path).1)) || innermost.is_some() && before.is_none_or(is_around)
}

/// How a name of a step in the flow of a call with this path names that step there. The longest names of the call come first.
pub fn names_inside<'n>(name: &'n str, call: &str) -> impl Iterator<Item = &'n str> {
    let parts = name.rmatch_indices('/').filter_map(|(at, _)| Some((name.get(..at)?, name.get(at + 1..)?)));
    parts.filter(move |(before, inner)| !inner.is_empty() && is_name_of(before, call)).map(|(_, inner)| inner)
}

/// A path, and those around it, the innermost first.
fn enclosing(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| split(path).0)
}

/// What is before the last segment, and the last segment.
fn split(path: &str) -> (Option<&str>, &str) {
    path.rsplit_once('/').map_or((None, path), |(around, own)| (Some(around), own))
}

/// Whether a text is the label of a segment as the manifest writes it.
fn is_label_of(text: &str, of: &str) -> bool {
    !text.is_empty() && parts(of).next() == Some(KeyPart::Label(&segment(text)))
}

/// Whether a part of a name is that of a segment: its label, with some, all or none of its marks.
fn is_part_of(part: &str, of: &str) -> bool {
    let part = without_try(part);
    let (mut typed, mut known) = (parts(part), parts(of));
    let is_same = typed.next() == known.next();
    let (typed, known): (Vec<_>, Vec<_>) = (typed.collect(), known.collect());
    // A mark without a number is none.
    let are_marks = part.matches(MARKS).count() == typed.len();
    let is_marked = are_marks && typed.iter().all(|mark| known.is_empty() || known.contains(mark));
    !part.is_empty() && is_same && is_marked || is_label_of(part, of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_end_of_a_path_without_some_of_what_is_around() {
        let path = "all@1/each[2]/ship@1/ok@3";
        for name in
            ["ok", "ship/ok", "all/ok", "each/ship/ok", "all/each/ship/ok", "ok@3", "each[2]/ok", "ok@3!2", path]
        {
            assert!(is_name_of(name, path), "{name}");
        }
        for name in ["", "/ok", "ok/", "all", "ship/all/ok", "ok@2", "each[1]/ok", "ok/ok", "ok@x", "k", "p/ok"] {
            assert!(!is_name_of(name, path), "{name}");
        }
        // Labels with the characters of keys are typed as in the manifest, or as in the key.
        let path = "a%2Fb/c%40d";
        for name in ["c@d", "c%40d", "a/b/c@d", "a%2Fb/c@d"] {
            assert!(is_name_of(name, path), "{name}");
        }
        assert!(is_name_of("a/b", "x/a%2Fb@2") && !is_name_of("a", "a%2Fb"));
        // What has no label is named by its marks, or not at all.
        assert!(is_name_of("a/b", "a/@1/b") && is_name_of("a/@1/b", "a/@1/b") && is_name_of("a~2", "a~2"));
        // A place in a program has no marks.
        assert!(is_name_of("a@2/b[1]", "a/b"));
    }

    #[test]
    fn repeated_names_leave_out_the_outermost() {
        assert!(is_name_of("a/a/b", "a/a/a/b") && !is_name_of("a/a/a/b", "a/a/b"));
        let (name, path) = (format!("{}x/b", "a/".repeat(60)), format!("{}b", "a/".repeat(120)));
        assert!(!is_name_of(&name, &path));
    }

    #[test]
    fn a_whole_path_is_preferred() {
        let all = ["h", "c/h", "d/p/h", "d@2/p/h"].map(|path| (path, path));
        let find = |name| find_steps(name, all);
        assert_eq!(find("h"), ["h"]);
        assert_eq!(find("c/h"), ["c/h"]);
        assert_eq!(find("p/h"), ["d/p/h", "d@2/p/h"]);
        assert_eq!(find("d@2/h"), ["d/p/h", "d@2/p/h"]);
        assert_eq!(find("d/p/h"), ["d/p/h", "d@2/p/h"]);
        assert!(find("e/h").is_empty());
        assert_eq!(find_steps("h", [("c/h", 1), ("d/h", 2), ("e/h", 1)]), [1, 2]);
    }

    #[test]
    fn a_name_in_a_called_flow_has_two_parts() {
        let inside = |name, call| names_inside(name, call).collect::<Vec<_>>();
        assert_eq!(inside("one/ok", "all/one"), ["ok"]);
        assert_eq!(inside("all/one/x/ok", "all/one"), ["x/ok"]);
        assert_eq!(inside("one@1/*", "all/one@1"), ["*"]);
        assert!(inside("other/ok", "all/one").is_empty() && inside("all/ok", "all/one").is_empty());
        assert!(inside("one", "one").is_empty() && inside("one/", "one").is_empty());
    }
}
