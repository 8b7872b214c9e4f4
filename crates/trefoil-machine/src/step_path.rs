//! Names of steps as users type them, and the steps that they mean. The only place that knows which name means which step.
//!
//! The path of a step is its key; that of a step of a called flow is the key of the call, `/` and the key there. A name is the
//! end of a path, and steps around it may be left out: `ok`, `ship/ok` and `all/ok` are names of `all/ship@1/ok`. Passes, items
//! and copies may be left out, too: then all are meant. A label is also a name as it is written in the manifest.
//!
//! A step of a run has a [`RunPath`], with the marks that it has there: a mark in a name must be one of them. A step of a program has a
//! [`StepPlace`], which knows where a run will have marks, but not which.

use std::borrow::Cow;
use std::collections::BTreeSet;

use std::sync::Arc;

use trefoil_ir::{FlowId, Program, Step, StepId, StepKind, walk};
use trefoil_syntax::suggestions;

use crate::key::{
    Key, KeyPart, MARKS, escape_label, label_path, own_activity, own_label, parse_key_parts, without_try,
};
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
    /// Its structural key with the signs of the marks that it has in a run, without their numbers: `all/each[/ship@/ok`.
    pattern: String,
    /// The step.
    pub id: StepId,
    /// The enclosing flows.
    within: Vec<FlowId>,
}

/// The places of all steps of a sort, in the order of the manifest: one for each sequence of calls that leads to a step.
pub fn step_places(program: &Program, is_wanted: impl Fn(&Step) -> bool) -> Vec<StepPlace> {
    let (mut all, mut known) = (Vec::new(), BTreeSet::new());
    let entry = program.entry_flow();
    let (label, within) = (program.name.to_string(), vec![program.entry]);
    let top = StepPlace { id: entry.body, label, key: String::new(), pattern: String::new(), within };
    // With each place, whether it is a state, whose name is in the key instead of the label.
    let mut stack = vec![(top, false)];
    for _ in 0..LIMIT {
        let Some((mut place, is_state)) = stack.pop() else { break };
        let step = &program.steps[place.id];
        if let Some(own) = &step.label {
            place.label = own.to_string();
        }
        let is_entry = place.key.is_empty() && step.kind.step_info().has_activity;
        let name = match &step.label {
            Some(own) if !is_state => Some(own),
            _ if is_entry => Some(&entry.name),
            _ => None,
        };
        if let Some(name) = name {
            place.enter(&escape_label(name));
        }
        let marked = StepPlace { pattern: format!("{}{}", place.pattern, marks_within(step)), ..place.clone() };
        let beneath = |id, within| StepPlace { id, within, ..marked.clone() };
        // In reverse, because the last one pushed is visited first.
        for flow in walk::callees_of(step).into_iter().rev() {
            if place.within.contains(&flow) {
                continue;
            }
            let mut within = place.within.clone();
            within.push(flow);
            stack.push((beneath(program.flows[flow].body, within), false));
        }
        for (child, name) in step.named_children().into_iter().rev() {
            let mut inside = beneath(child, place.within.clone());
            if let Some(name) = name {
                inside.pattern.clone_from(&place.pattern);
                inside.enter(&escape_label(name));
                inside.pattern.push_str(&marks_within(step));
            }
            stack.push((inside, name.is_some()));
        }
        if is_wanted(step) && known.insert((place.id, place.key.clone())) {
            all.push(place);
        }
    }
    all
}

/// The signs of the marks that the steps inside a step have in a run.
fn marks_within(step: &Step) -> String {
    let mut marks = String::new();
    marks.extend(step.kind.step_info().mark);
    if matches!(step.kind, StepKind::ForEach(_) | StepKind::Conversation(_)) {
        marks.push('[');
    }
    marks
}

/// The path of a step, of a run or of a program.
pub trait StepPath {
    /// Whether a name means it.
    fn is_named(&self, name: &str) -> bool;
    /// Whether a name leaves nothing of it out but marks.
    fn is_whole(&self, name: &str) -> bool;
}

impl StepPlace {
    fn enter(&mut self, segment: &str) {
        (self.key, self.pattern) = (join_path(&self.key, segment), join_path(&self.pattern, segment));
    }

    /// Whether a name means it, in all passes and items.
    pub fn is_named_as_a_whole(&self, name: &str) -> bool {
        is_name_of(name, &self.pattern, |_, _| false)
    }

    /// Whether a step of a run is this one, in any pass.
    pub fn is_of(&self, path: RunPath<'_>) -> bool {
        path.label_path() == self.key
    }

    /// How a name of a step in the flow that it calls names that step there. The longest names of the call come first.
    pub fn names_inside<'n>(&self, name: &'n str) -> impl Iterator<Item = &'n str> {
        names_inside(name, &self.pattern, may_have)
    }

    /// Its key as that of one pass and item, if it has any in a run.
    fn example(&self) -> Option<String> {
        let example = self.pattern.replace('@', "@1").replace('[', "[0]").replace('#', "#1");
        if example == self.pattern { None } else { Some(example) }
    }
}

/// The marks that a run will have are not known.
impl StepPath for StepPlace {
    fn is_named(&self, name: &str) -> bool {
        is_name_of(name, &self.pattern, may_have)
    }
    fn is_whole(&self, name: &str) -> bool {
        is_whole(name, &self.pattern)
    }
}

impl StepPath for &StepPlace {
    fn is_named(&self, name: &str) -> bool {
        (**self).is_named(name)
    }
    fn is_whole(&self, name: &str) -> bool {
        (**self).is_whole(name)
    }
}

/// The path of a step in a run, with its marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunPath<'k>(&'k str);

impl<'k> RunPath<'k> {
    /// The path of the step with this key, or of the step of an activity.
    pub fn from_key(key: &'k Key) -> Self {
        Self::from_text(key.as_str())
    }

    /// The same of a key as text, or of several that are [joined](join_path).
    pub fn from_text(key: &'k str) -> Self {
        Self(own_activity(key))
    }

    /// The path of the step that a name means: this one, or one around it.
    pub fn find_named(self, name: &str) -> Option<Self> {
        let mut outermost = None;
        for around in enclosing_paths(self.0) {
            if Self(around).is_named(name) {
                outermost = Some(Self(around));
            }
        }
        outermost
    }

    /// The path without marks: the same in every pass and item.
    pub fn label_path(self) -> Cow<'k, str> {
        label_path(self.0)
    }

    /// As it is named in messages.
    pub fn display_name(self) -> &'k str {
        without_try(self.0)
    }

    /// How a name of a step in the flow that it calls names that step there. The longest names of the call come first.
    pub fn names_inside(self, name: &str) -> impl Iterator<Item = &str> {
        names_inside(name, self.0, has)
    }
}

impl StepPath for RunPath<'_> {
    fn is_named(&self, name: &str) -> bool {
        is_name_of(name, self.0, has)
    }
    fn is_whole(&self, name: &str) -> bool {
        is_whole(name, self.0)
    }
}

impl Activity {
    /// The path of its step.
    pub fn step_path(&self) -> RunPath<'_> {
        RunPath::from_key(&self.key)
    }
}

/// The path of a step in a called flow.
pub fn join_path(call: &str, step: &str) -> String {
    if call.is_empty() || step.is_empty() { format!("{call}{step}") } else { format!("{call}/{step}") }
}

/// The path before a child of a step with this path; `name`: see [`Step::named_children`].
pub fn path_inside(step: &Step, path: &str, name: Option<&Arc<str>>) -> String {
    let mut inside = match name {
        Some(name) => join_path(path, &escape_label(name)),
        None => path.to_owned(),
    };
    inside.extend(step.kind.step_info().mark);
    inside
}

/// The steps that a name means, of steps with their paths: those with this whole path; if there are none, those with this name.
pub fn find_steps<P: StepPath, T: PartialEq>(name: &str, steps: impl IntoIterator<Item = (P, T)>) -> Vec<T> {
    let (mut whole, mut others) = (Vec::new(), Vec::new());
    for (path, step) in steps {
        if !path.is_named(name) {
            continue;
        }
        let found = if path.is_whole(name) { &mut whole } else { &mut others };
        if !found.contains(&step) {
            found.push(step);
        }
    }
    if whole.is_empty() { others } else { whole }
}

/// Splits `STEP=VALUE`. A name and a value may contain `=`: the longest name that is known counts, or else what is before the first.
pub fn split_value(text: &str, is_known: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    let (mut first, mut longest_known) = (None, None);
    for (at, _) in text.match_indices('=') {
        let (Some(name), Some(value)) = (text.get(..at), text.get(at + 1..)) else { continue };
        if name.is_empty() {
            continue;
        }
        first = first.or(Some((name, value)));
        if is_known(name) {
            longest_known = Some((name, value));
        }
    }
    longest_known.or(first)
}

/// How many names a message lists.
pub const LISTED: usize = 12;

/// How many passes or items of one step a message lists.
const MARKED: usize = 3;

/// What a run has instead of a step with a name that it does not have.
pub fn describe_alternatives<'k>(name: &str, run: impl IntoIterator<Item = RunPath<'k>>) -> String {
    let run: Vec<RunPath<'k>> = run.into_iter().collect();
    let marked = find_other_marks(name, &run);
    if !marked.is_empty() {
        return format!("it has {}", list_names(&marked, MARKED));
    }
    let (mut labels, mut paths) = (Vec::new(), Vec::new());
    for path in &run {
        for around in enclosing_paths(path.0) {
            labels.extend(own_label(around));
            paths.push(label_path(around));
        }
    }
    if labels.is_empty() {
        return "it has no steps".to_owned();
    }
    let known = labels.iter().copied().chain(paths.iter().map(AsRef::as_ref));
    let near = suggestions::nearest_name(name, known);
    let steps = list_names(&distinct(labels), LISTED);
    match near {
        Some(near) => format!("did you mean `{near}`? Its steps are {steps}"),
        None => format!("its steps are {steps}"),
    }
}

/// The passes and items of a run that a name means without its marks, if there are none with them.
fn find_other_marks<'k>(name: &str, run: &[RunPath<'k>]) -> Vec<&'k str> {
    // The name, and what it says about a call.
    for part in enclosing_paths(name) {
        if !is_marked(part) || run.iter().any(|path| path.find_named(part).is_some()) {
            continue;
        }
        let bare = label_path(part);
        let mut found = Vec::new();
        for path in run {
            if let Some(step) = path.find_named(&bare) {
                found.push(step.display_name());
            }
        }
        let mut found = distinct(found);
        // Passes and items, and not the step around them.
        if found.iter().any(|name| is_marked(name)) {
            found.retain(|name| is_marked(name));
        }
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// How to name one of these steps of a program, if a name has a mark that none of them has in any run.
pub fn without_wrong_mark(name: &str, places: &[&StepPlace]) -> Option<String> {
    if !is_marked(name) {
        return None;
    }
    let bare = label_path(name);
    let place = places.iter().find(|place| place.is_named(&bare))?;
    let key = &place.key;
    Some(match place.example() {
        Some(one) => format!("write `{key}` for all of its passes and items, or `{one}` for one"),
        None => format!("write `{key}`: it has no passes or items"),
    })
}

/// Whether a name may have marks: a label may contain the same characters.
pub fn is_marked(name: &str) -> bool {
    name.contains(MARKS)
}

/// Names for a message, at most this many.
pub fn list_names(names: &[&str], most: usize) -> String {
    let some: Vec<String> = names.iter().take(most).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(most) {
        0 => some.join(", "),
        more => format!("{} and {more} more", some.join(", ")),
    }
}

fn distinct(mut names: Vec<&str>) -> Vec<&str> {
    let mut known = BTreeSet::new();
    names.retain(|name| known.insert(*name));
    names
}

/// Whether a segment has a mark.
type MarkTest = fn(KeyPart<'_>, &str) -> bool;

/// Whether a segment of a run has it.
fn has(mark: KeyPart<'_>, of: &str) -> bool {
    parse_key_parts(of).skip(1).any(|known| known == mark)
}

/// Whether a segment of a program may have it in a run. Copies are not counted in a program.
fn may_have(mark: KeyPart<'_>, of: &str) -> bool {
    match mark {
        KeyPart::Pass(_) => of.contains('@'),
        KeyPart::Item(_) => of.contains('['),
        KeyPart::Iteration(_) => of.contains('#'),
        KeyPart::Own(_) => true,
        KeyPart::Label(_) | KeyPart::Try(_) => false,
    }
}

fn is_whole(name: &str, path: &str) -> bool {
    let labels = label_path(path);
    escape_label(name) == labels || label_path(name) == labels
}

/// Whether a name means the step with this path.
fn is_name_of(name: &str, path: &str, has: MarkTest) -> bool {
    let ((before, last), (around, own)) = (split(name), split(path));
    if is_label_of(name, own) {
        return true;
    }
    if !is_part_of(last, own, has) {
        return false;
    }
    match (before, around) {
        (None, _) => true,
        (Some(before), Some(around)) => is_name_around(before, around, has),
        (Some(_), None) => false,
    }
}

/// Whether a name means the step with this path, or one around it.
fn is_name_around(name: &str, path: &str, has: MarkTest) -> bool {
    if enclosing_paths(path).any(|path| is_label_of(name, split(path).1)) {
        return true;
    }
    let (before, last) = split(name);
    // The innermost step with the last part leaves most for the parts before it.
    let innermost = enclosing_paths(path).find(|path| is_part_of(last, split(path).1, has));
    let Some(innermost) = innermost else { return false };
    match (before, split(innermost).0) {
        (None, _) => true,
        (Some(before), Some(around)) => is_name_around(before, around, has),
        (Some(_), None) => false,
    }
}

fn names_inside<'n>(name: &'n str, call: &str, has: MarkTest) -> impl Iterator<Item = &'n str> {
    name.rmatch_indices('/').filter_map(move |(at, _)| {
        let (before, inner) = (name.get(..at)?, name.get(at + 1..)?);
        if !inner.is_empty() && is_name_of(before, call, has) { Some(inner) } else { None }
    })
}

/// A path, and those around it, the innermost first.
fn enclosing_paths(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| split(path).0)
}

/// What is before the last segment, and the last segment.
fn split(path: &str) -> (Option<&str>, &str) {
    match path.rsplit_once('/') {
        Some((around, own)) => (Some(around), own),
        None => (None, path),
    }
}

/// Whether a text is the label of a segment as the manifest writes it.
fn is_label_of(text: &str, of: &str) -> bool {
    !text.is_empty() && parse_key_parts(of).next() == Some(KeyPart::Label(&escape_label(text)))
}

/// Whether a part of a name is that of a segment: its label, with some, all or none of its marks.
fn is_part_of(part: &str, of: &str, has: MarkTest) -> bool {
    let typed: Vec<_> = parse_key_parts(part).collect();
    let is_same = typed.first() == parse_key_parts(of).next().as_ref();
    // A mark is written as views print it: `@`, `[1` and `[01]` are none.
    let is_written = typed.iter().map(KeyPart::to_string).collect::<String>() == part;
    let is_marked = is_written && typed.iter().skip(1).all(|mark| has(*mark, of));
    !part.is_empty() && is_same && is_marked || is_label_of(part, of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_name_of(name: &str, path: &str) -> bool {
        RunPath::from_text(path).is_named(name)
    }

    #[test]
    fn a_name_is_the_end_of_a_path_without_some_of_what_is_around() {
        let path = "all@1/each[2]/ship@1/ok@3!2";
        for name in
            ["ok", "ship/ok", "all/ok", "each/ship/ok", "all/each/ship/ok", "ok@3", "each[2]/ok", "ok@3!2", path]
        {
            assert!(is_name_of(name, path), "{name}");
        }
        for name in [
            "",
            "/ok",
            "ok/",
            "all",
            "ship/all/ok",
            "ok@2",
            "each[1]/ok",
            "ok/ok",
            "ok@x",
            "k",
            "p/ok",
            "ok!3",
            "ok[0]",
            "all@2/ok",
            "ok@3/ok",
            "ok~2",
        ] {
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
        // A step without marks has none.
        assert!(!is_name_of("a@2/b", "a/b") && !is_name_of("b[1]", "a/b") && !is_name_of("b!2", "a/b"));
        assert!(!is_name_of("a/@2/b", "a/@1/b") && !is_name_of("b@1", "@1/b"));
    }

    #[test]
    fn a_mark_is_written_as_views_print_it() {
        let path = "f[1]/lp@2/wr#3";
        for name in ["f[1]/wr", "lp@2/wr", "wr#3", "f[1]/lp@2/wr#3"] {
            assert!(is_name_of(name, path), "{name}");
        }
        for name in ["f[01]/wr", "f[1/wr", "f[1]]/wr", "lp@02/wr", "lp@+2/wr", "lp@2]/wr", "wr#03", "wr#", "wr@"] {
            assert!(!is_name_of(name, path), "{name}");
        }
    }

    #[test]
    fn a_place_has_the_marks_of_some_run() {
        let place = |pattern: &str| StepPlace {
            label: String::new(),
            key: label_path(pattern).into_owned(),
            pattern: pattern.to_owned(),
            id: StepId(0),
            within: Vec::new(),
        };
        let ok = place("all@/each[/ok");
        for name in ["ok", "all@7/ok", "each[99]/ok", "all@1/each[0]/ok", "all/each/ok"] {
            assert!(ok.is_named(name), "{name}");
        }
        for name in ["ok@1", "ok[0]", "all[1]/ok", "each@1/ok", "ok!2", "all@/ok"] {
            assert!(!ok.is_named(name), "{name}");
            let told = without_wrong_mark(name, &[&ok]);
            let expected = "write `all/each/ok` for all of its passes and items, or `all@1/each[0]/ok` for one";
            assert_eq!(told.as_deref(), Some(expected), "{name}");
        }
        assert!(ok.is_named_as_a_whole("all/ok") && !ok.is_named_as_a_whole("all@7/ok"));
        let told = without_wrong_mark("a/b@2", &[&place("a/b")]);
        assert_eq!(told.as_deref(), Some("write `a/b`: it has no passes or items"));
        assert_eq!(without_wrong_mark("c@2", &[&ok]).or(without_wrong_mark("c", &[&ok])), None);
        assert_eq!(place("@/ask").names_inside("@7/ask/x").collect::<Vec<_>>(), ["x"]);
    }

    #[test]
    fn what_a_run_has_instead_is_listed() {
        let run = ["f", "lp@1/wr", "lp@1/rv", "lp@2/wr", "lp@2/rv", "f[0]/x", "f[1]/x", "f[2]/x", "f[3]/x!2", "one"];
        let told = |name| describe_alternatives(name, run.map(RunPath::from_text));
        assert_eq!(told("wr@7"), "it has `lp@1/wr`, `lp@2/wr`");
        assert_eq!(told("lp@9/wr"), "it has `lp@1/wr`, `lp@2/wr`");
        assert_eq!(told("lp@9"), "it has `lp@1`, `lp@2`");
        assert_eq!(told("f[99]"), "it has `f[0]`, `f[1]`, `f[2]` and 1 more");
        assert_eq!(told("one@1/s2"), "it has `one`");
        assert_eq!(told("wrr"), "did you mean `wr`? Its steps are `f`, `wr`, `lp`, `rv`, `x`, `one`");
        assert_eq!(told("lp/wrr"), "did you mean `lp/wr`? Its steps are `f`, `wr`, `lp`, `rv`, `x`, `one`");
        assert_eq!(told("something else"), "its steps are `f`, `wr`, `lp`, `rv`, `x`, `one`");
        assert_eq!(describe_alternatives("a", []), "it has no steps");
    }

    #[test]
    fn a_name_with_an_equals_sign_is_the_longest_that_is_known() {
        let is_known = |name: &str| ["a", "a=b", "c=d"].contains(&name);
        let split = |text| split_value(text, is_known);
        assert_eq!(split("a=x=y"), Some(("a", "x=y")));
        assert_eq!(split("a=b=c=d"), Some(("a=b", "c=d")));
        assert_eq!(split("c=d="), Some(("c=d", "")));
        assert_eq!(split("z=c=d=1"), Some(("z", "c=d=1")));
        assert_eq!((split("a"), split("=a"), split("=a=b")), (None, None, Some(("=a", "b"))));
    }

    #[test]
    fn repeated_names_leave_out_the_outermost() {
        assert!(is_name_of("a/a/b", "a/a/a/b") && !is_name_of("a/a/a/b", "a/a/b"));
        let (name, path) = (format!("{}x/b", "a/".repeat(60)), format!("{}b", "a/".repeat(120)));
        assert!(!is_name_of(&name, &path));
    }

    #[test]
    fn a_whole_path_is_preferred() {
        let all = ["h", "c/h", "d@1/p/h", "d@2/p/h"].map(|path| (RunPath::from_text(path), path));
        let find = |name| find_steps(name, all);
        assert_eq!(find("h"), ["h"]);
        assert_eq!(find("c/h"), ["c/h"]);
        assert_eq!(find("p/h"), ["d@1/p/h", "d@2/p/h"]);
        assert_eq!(find("d@2/h"), ["d@2/p/h"]);
        assert_eq!(find("d/p/h"), ["d@1/p/h", "d@2/p/h"]);
        assert!(find("e/h").is_empty() && find("d@3/h").is_empty());
        let calls = [("c/h", 1), ("d/h", 2), ("e/h", 1)].map(|(path, call)| (RunPath::from_text(path), call));
        assert_eq!(find_steps("h", calls), [1, 2]);
    }

    #[test]
    fn a_name_means_a_step_around_an_activity() {
        let path = RunPath::from_text("all@2/one[3]/ask~timeout");
        let around =
            |name| path.find_named(name).map(|around| (around.display_name(), around.label_path().into_owned()));
        assert_eq!(around("one"), Some(("all@2/one[3]", "all/one".to_owned())));
        assert_eq!(around("all@2"), Some(("all@2", "all".to_owned())));
        assert_eq!(around("ask"), Some(("all@2/one[3]/ask", "all/one/ask".to_owned())));
        assert_eq!((around("all@1"), around("one[2]"), around("all@1/ask")), (None, None, None));
    }

    #[test]
    fn a_name_in_a_called_flow_has_two_parts() {
        let inside = |name, call| RunPath::from_text(call).names_inside(name).collect::<Vec<_>>();
        assert_eq!(inside("one/ok", "all/one"), ["ok"]);
        assert_eq!(inside("all/one/x/ok", "all/one"), ["x/ok"]);
        assert_eq!(inside("one@1/*", "all/one@1"), ["*"]);
        assert!(inside("other/ok", "all/one").is_empty() && inside("all/ok", "all/one").is_empty());
        assert!(inside("one", "one").is_empty() && inside("one/", "one").is_empty());
        assert!(inside("one@2/ok", "all/one@1").is_empty() && inside("one@2/ok", "all/one").is_empty());
    }
}
