//! Finds the steps that a name means, as users type it on the command line. No other module decides this.
//!
//! The path of a step is its key, such as `all/ship@1/ok`. A step of a called flow has the key of the call, `/` and its key in that
//! flow. Each part between slashes is a *segment*: a label, and perhaps *marks*. A mark says which pass (`@1`), item (`[0]`), attempt
//! (`#1`) or try (`!2`) it is, or that it is the second step with the same key (`~2`).
//!
//! A name matches the end of a path. It may skip enclosing steps: `ok`, `ship/ok` and `all/ok` are names of `all/ship@1/ok`. It may
//! also skip marks; then it means all passes and items. A label can also be typed as the manifest has it, without escapes.
//!
//! A step of a run has a [`RunPath`], whose marks are known: a mark in a name must be one of them. A step of a program has a
//! [`StepPlace`], which knows where a run will have marks, but not their numbers.

use std::borrow::Cow;
use std::collections::BTreeSet;

use std::sync::Arc;

use trefoil_ir::{FlowId, Program, Step, StepId, StepKind, walk};
use trefoil_syntax::suggestions;

use crate::key::{
    Key, KeyPart, MARKS, escape_label, label_path, own_activity, own_label, parse_key_parts, without_try,
};
use crate::request::Activity;

/// The maximum number of visited steps; steps beyond it have no paths. Calls of calls can lead to very many paths.
const MAX_VISITS: usize = 20_000;

/// A place of a step in a program. The step of a flow that is called twice has two places.
#[derive(Debug, Clone)]
pub struct StepPlace {
    /// The innermost label around it.
    pub label: String,
    /// Its structural key, without the marks of passes, items, attempts and tries.
    pub key: String,
    /// Its structural key with the first characters of the marks that it has in a run, without numbers: `all/each[/ship@/ok`.
    pattern: String,
    /// The step.
    pub id: StepId,
    /// The enclosing flows, which are not entered again: flows may call themselves.
    enclosing_flows: Vec<FlowId>,
}

/// The places of the steps that `is_wanted` accepts, in the order of the manifest: one for each sequence of calls that leads to a
/// step.
pub fn step_places(program: &Program, is_wanted: impl Fn(&Step) -> bool) -> Vec<StepPlace> {
    let (mut places, mut known) = (Vec::new(), BTreeSet::new());
    let entry = program.entry_flow();
    let root = StepPlace {
        id: entry.body,
        label: program.name.to_string(),
        key: String::new(),
        pattern: String::new(),
        enclosing_flows: vec![program.entry],
    };
    // With each place, whether it is a state: a state has its name in the key, not its label.
    let mut stack = vec![(root, false)];
    for _ in 0..MAX_VISITS {
        let Some((mut place, is_state)) = stack.pop() else { break };
        let step = &program.steps[place.id];
        if let Some(label) = &step.label {
            place.label = label.to_string();
        }
        // A flow that is a single activity without a label has the flow's name in its key.
        let is_unlabelled_entry = place.key.is_empty() && step.kind.step_info().has_activity;
        let segment = match &step.label {
            Some(label) if !is_state => Some(label),
            _ if is_unlabelled_entry => Some(&entry.name),
            _ => None,
        };
        if let Some(segment) = segment {
            place.push_segment(&escape_label(segment));
        }
        let inside = StepPlace { pattern: format!("{}{}", place.pattern, mark_signs(step)), ..place.clone() };
        let child_place = |id, enclosing_flows| StepPlace { id, enclosing_flows, ..inside.clone() };
        // In reverse, because the last one pushed is visited first.
        for flow in walk::callees_of(step).into_iter().rev() {
            if place.enclosing_flows.contains(&flow) {
                continue;
            }
            let mut enclosing_flows = place.enclosing_flows.clone();
            enclosing_flows.push(flow);
            stack.push((child_place(program.flows[flow].body, enclosing_flows), false));
        }
        for (child, name) in step.named_children().into_iter().rev() {
            let mut child = child_place(child, place.enclosing_flows.clone());
            if let Some(name) = name {
                // The marks come after the name of a state, not before it.
                child.pattern.clone_from(&place.pattern);
                child.push_segment(&escape_label(name));
                child.pattern.push_str(&mark_signs(step));
            }
            stack.push((child, name.is_some()));
        }
        if is_wanted(step) && known.insert((place.id, place.key.clone())) {
            places.push(place);
        }
    }
    places
}

/// The first characters of the marks that a run adds to the path of a step before the steps inside it: `@` for passes, `[` for items.
fn mark_signs(step: &Step) -> String {
    let mut signs = String::new();
    signs.extend(step.kind.step_info().mark);
    if matches!(step.kind, StepKind::ForEach(_) | StepKind::Conversation(_)) {
        signs.push('[');
    }
    signs
}

/// The path of a step, of a run or of a program.
pub trait StepPath {
    /// Whether a name means this step.
    fn is_named(&self, name: &str) -> bool;
    /// Whether a name is this whole path, at most without marks.
    fn is_whole(&self, name: &str) -> bool;
}

impl StepPlace {
    /// Adds a segment to the key and to the pattern.
    fn push_segment(&mut self, segment: &str) {
        (self.key, self.pattern) = (join_path(&self.key, segment), join_path(&self.pattern, segment));
    }

    /// Whether a name means this step in all passes and items, because it has no marks.
    pub fn is_named_as_a_whole(&self, name: &str) -> bool {
        let accepts_no_mark: MarkTest = |_, _| false;
        matches_path(name, &self.pattern, accepts_no_mark)
    }

    /// Whether a step of a run is this one, in any pass.
    pub fn is_of(&self, path: RunPath<'_>) -> bool {
        path.label_path() == self.key
    }

    /// For a name of a step in the flow that this step calls: the part of the name that counts inside that flow. There may be several
    /// ways to divide the name; the longest part for this step comes first.
    pub fn names_inside<'n>(&self, name: &'n str) -> impl Iterator<Item = &'n str> {
        inner_names(name, &self.pattern, may_have_mark)
    }

    /// The key of one pass and item of this step, for a message. `None` if it has no passes or items.
    fn example_key(&self) -> Option<String> {
        let example = self.pattern.replace('@', "@1").replace('[', "[0]").replace('#', "#1");
        if example == self.pattern { None } else { Some(example) }
    }
}

/// Accepts any number in a mark, because the run is not known.
impl StepPath for StepPlace {
    fn is_named(&self, name: &str) -> bool {
        matches_path(name, &self.pattern, may_have_mark)
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

    /// The path of the step with this key as text, or with several keys that are [joined](join_path).
    pub fn from_text(key: &'k str) -> Self {
        Self(own_activity(key))
    }

    /// The path of the step that a name means: this one, or one that encloses it. The outermost counts, if several have the name.
    pub fn find_named(self, name: &str) -> Option<Self> {
        let mut outermost = None;
        for path in path_and_enclosing(self.0) {
            if Self(path).is_named(name) {
                outermost = Some(Self(path));
            }
        }
        outermost
    }

    /// The path without marks: the same in every pass and item.
    pub fn label_path(self) -> Cow<'k, str> {
        label_path(self.0)
    }

    /// The name of the step in messages.
    pub fn display_name(self) -> &'k str {
        without_try(self.0)
    }

    /// Like [`StepPlace::names_inside`], for a step of a run.
    pub fn names_inside(self, name: &str) -> impl Iterator<Item = &str> {
        inner_names(name, self.0, has_mark)
    }
}

impl StepPath for RunPath<'_> {
    fn is_named(&self, name: &str) -> bool {
        matches_path(name, self.0, has_mark)
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

/// The path to which the steps inside a step add theirs. `path`: that of the step. `name`: that of the child
/// ([`Step::named_children`]).
pub fn path_inside(step: &Step, path: &str, name: Option<&Arc<str>>) -> String {
    let mut inside = match name {
        Some(name) => join_path(path, &escape_label(name)),
        None => path.to_owned(),
    };
    inside.extend(step.kind.step_info().mark);
    inside
}

/// The steps that a name means, each once. If the name is the whole path of some steps, only those are meant: otherwise no name could
/// mean a step `h` if there is also a step `c/h`.
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

/// Splits `STEP=VALUE`. Names and values may contain `=`: the longest known name counts. If none is known, the first `=` divides.
pub fn split_value(text: &str, is_known: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    let (mut first, mut longest_known) = (None, None);
    for (index, _) in text.match_indices('=') {
        let (Some(name), Some(value)) = (text.get(..index), text.get(index + 1..)) else { continue };
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
const LISTED_MARKS: usize = 3;

/// For a message about a name that means no step of a run: which steps the run has instead.
pub fn describe_alternatives<'k>(name: &str, run: impl IntoIterator<Item = RunPath<'k>>) -> String {
    let run: Vec<RunPath<'k>> = run.into_iter().collect();
    let marked = find_other_marks(name, &run);
    if !marked.is_empty() {
        return format!("it has {}", list_names(&marked, LISTED_MARKS));
    }
    let (mut labels, mut paths) = (Vec::new(), Vec::new());
    for path in &run {
        for path in path_and_enclosing(path.0) {
            labels.extend(own_label(path));
            paths.push(label_path(path));
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

/// The passes and items that a run has of a step, if a name has marks that none of them has.
fn find_other_marks<'k>(name: &str, run: &[RunPath<'k>]) -> Vec<&'k str> {
    // The wrong mark may be on a call: `call@9/step`. So the start of the name is tried, too.
    for part in path_and_enclosing(name) {
        if !is_marked(part) || run.iter().any(|path| path.find_named(part).is_some()) {
            continue;
        }
        let unmarked = label_path(part);
        let mut found = Vec::new();
        for path in run {
            if let Some(step) = path.find_named(&unmarked) {
                found.push(step.display_name());
            }
        }
        let mut found = distinct(found);
        // If there are passes and items, the enclosing step without a mark is not listed.
        if found.iter().any(|name| is_marked(name)) {
            found.retain(|name| is_marked(name));
        }
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// For a message about a name with a mark that no run can have: what to write instead, if the name without marks means one of these
/// steps.
pub fn without_wrong_mark(name: &str, places: &[&StepPlace]) -> Option<String> {
    if !is_marked(name) {
        return None;
    }
    let unmarked = label_path(name);
    let place = places.iter().find(|place| place.is_named(&unmarked))?;
    let key = &place.key;
    Some(match place.example_key() {
        Some(one) => format!("write `{key}` for all of its passes and items, or `{one}` for one"),
        None => format!("write `{key}`: it has no passes or items"),
    })
}

/// Whether a name may have marks. It may still have none: a label may contain the same characters.
pub fn is_marked(name: &str) -> bool {
    name.contains(MARKS)
}

/// Lists names for a message: at most `max` of them, then the number of the others.
pub fn list_names(names: &[&str], max: usize) -> String {
    let listed: Vec<String> = names.iter().take(max).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(max) {
        0 => listed.join(", "),
        more => format!("{} and {more} more", listed.join(", ")),
    }
}

/// The names without repetitions, in the same order.
fn distinct(mut names: Vec<&str>) -> Vec<&str> {
    let mut known = BTreeSet::new();
    names.retain(|name| known.insert(*name));
    names
}

/// Whether a mark in a name matches a segment of a path: [`has_mark`] for paths of runs, [`may_have_mark`] for patterns.
type MarkTest = fn(KeyPart<'_>, &str) -> bool;

/// Whether a segment of a run's path has this mark.
fn has_mark(mark: KeyPart<'_>, segment: &str) -> bool {
    parse_key_parts(segment).skip(1).any(|known| known == mark)
}

/// Whether a segment of a program's pattern may have this mark in some run. Patterns do not say which steps share a key, so `~2` is
/// always accepted.
fn may_have_mark(mark: KeyPart<'_>, segment: &str) -> bool {
    match mark {
        KeyPart::Pass(_) => segment.contains('@'),
        KeyPart::Item(_) => segment.contains('['),
        KeyPart::Iteration(_) => segment.contains('#'),
        KeyPart::Own(_) => true,
        KeyPart::Label(_) | KeyPart::Try(_) => false,
    }
}

/// Whether a name is a whole path, at most without marks. It may be typed with or without escapes.
fn is_whole(name: &str, path: &str) -> bool {
    let labels = label_path(path);
    escape_label(name) == labels || label_path(name) == labels
}

/// Whether a name means the step with this path: the last segments match, and the others match enclosing steps.
fn matches_path(name: &str, path: &str, mark_test: MarkTest) -> bool {
    let (name_before, last_name) = split_last_segment(name);
    let (enclosing, last_segment) = split_last_segment(path);
    if is_raw_label(name, last_segment) {
        return true;
    }
    if !matches_segment(last_name, last_segment, mark_test) {
        return false;
    }
    match (name_before, enclosing) {
        (None, _) => true,
        (Some(name_before), Some(enclosing)) => matches_some_enclosing(name_before, enclosing, mark_test),
        (Some(_), None) => false,
    }
}

/// Whether a name means the step with this path, or a step that encloses it.
fn matches_some_enclosing(name: &str, path: &str, mark_test: MarkTest) -> bool {
    if path_and_enclosing(path).any(|path| is_raw_label(name, split_last_segment(path).1)) {
        return true;
    }
    let (name_before, last_name) = split_last_segment(name);
    // The innermost match leaves the most segments for the rest of the name, so no other match needs to be tried.
    let mut paths = path_and_enclosing(path);
    let innermost = paths.find(|path| matches_segment(last_name, split_last_segment(path).1, mark_test));
    let Some(innermost) = innermost else { return false };
    match (name_before, split_last_segment(innermost).0) {
        (None, _) => true,
        (Some(name_before), Some(enclosing)) => matches_some_enclosing(name_before, enclosing, mark_test),
        (Some(_), None) => false,
    }
}

/// The ends of a name whose start means the call with this path, the shortest end first.
fn inner_names<'n>(name: &'n str, call: &str, mark_test: MarkTest) -> impl Iterator<Item = &'n str> {
    name.rmatch_indices('/').filter_map(move |(index, _)| {
        let (call_name, inner) = (name.get(..index)?, name.get(index + 1..)?);
        if !inner.is_empty() && matches_path(call_name, call, mark_test) { Some(inner) } else { None }
    })
}

/// A path and the paths that enclose it, the innermost first: `a/b/c`, `a/b`, `a`.
fn path_and_enclosing(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| split_last_segment(path).0)
}

/// The path before the last segment, if there is one, and the last segment.
fn split_last_segment(path: &str) -> (Option<&str>, &str) {
    match path.rsplit_once('/') {
        Some((enclosing, last)) => (Some(enclosing), last),
        None => (None, path),
    }
}

/// Whether a text is the label of a segment as the manifest has it, without escapes. Such a label may contain `/`.
fn is_raw_label(text: &str, segment: &str) -> bool {
    !text.is_empty() && parse_key_parts(segment).next() == Some(KeyPart::Label(&escape_label(text)))
}

/// Whether one part of a name means a segment: its label, with some, all or none of its marks.
fn matches_segment(part: &str, segment: &str, mark_test: MarkTest) -> bool {
    if is_raw_label(part, segment) {
        return true;
    }
    let typed: Vec<KeyPart<'_>> = parse_key_parts(part).collect();
    if part.is_empty() || typed.first() != parse_key_parts(segment).next().as_ref() {
        return false;
    }
    // Marks count only in the form that views print: `@`, `[1` and `[01]` are not marks.
    let printed: String = typed.iter().map(KeyPart::to_string).collect();
    printed == part && typed.iter().skip(1).all(|mark| mark_test(*mark, segment))
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
            enclosing_flows: Vec::new(),
        };
        let ok = place("all@/each[/ok");
        for name in ["ok", "all@7/ok", "each[99]/ok", "all@1/each[0]/ok", "all/each/ok"] {
            assert!(ok.is_named(name), "{name}");
        }
        for name in ["ok@1", "ok[0]", "all[1]/ok", "each@1/ok", "ok!2", "all@/ok"] {
            assert!(!ok.is_named(name), "{name}");
            let message = without_wrong_mark(name, &[&ok]);
            let expected = "write `all/each/ok` for all of its passes and items, or `all@1/each[0]/ok` for one";
            assert_eq!(message.as_deref(), Some(expected), "{name}");
        }
        assert!(ok.is_named_as_a_whole("all/ok") && !ok.is_named_as_a_whole("all@7/ok"));
        let message = without_wrong_mark("a/b@2", &[&place("a/b")]);
        assert_eq!(message.as_deref(), Some("write `a/b`: it has no passes or items"));
        assert_eq!(without_wrong_mark("c@2", &[&ok]).or(without_wrong_mark("c", &[&ok])), None);
        assert_eq!(place("@/ask").names_inside("@7/ask/x").collect::<Vec<_>>(), ["x"]);
    }

    #[test]
    fn what_a_run_has_instead_is_listed() {
        let run = ["f", "lp@1/wr", "lp@1/rv", "lp@2/wr", "lp@2/rv", "f[0]/x", "f[1]/x", "f[2]/x", "f[3]/x!2", "one"];
        let message = |name| describe_alternatives(name, run.map(RunPath::from_text));
        assert_eq!(message("wr@7"), "it has `lp@1/wr`, `lp@2/wr`");
        assert_eq!(message("lp@9/wr"), "it has `lp@1/wr`, `lp@2/wr`");
        assert_eq!(message("lp@9"), "it has `lp@1`, `lp@2`");
        assert_eq!(message("f[99]"), "it has `f[0]`, `f[1]`, `f[2]` and 1 more");
        assert_eq!(message("one@1/s2"), "it has `one`");
        assert_eq!(message("wrr"), "did you mean `wr`? Its steps are `f`, `wr`, `lp`, `rv`, `x`, `one`");
        assert_eq!(message("lp/wrr"), "did you mean `lp/wr`? Its steps are `f`, `wr`, `lp`, `rv`, `x`, `one`");
        assert_eq!(message("something else"), "its steps are `f`, `wr`, `lp`, `rv`, `x`, `one`");
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
