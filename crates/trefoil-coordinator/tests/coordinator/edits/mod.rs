//! Random programs with random edits: a run of the edited program that reuses results of the previous run has the same outcome as a
//! run from scratch, reuses no result of a different request, and reuses all that it can.

mod answers;
mod change;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use trefoil_coordinator::Memo;
use trefoil_coordinator::memo::{Layer, LayerCollector};
use trefoil_ir::{StepId, StepKind, ToolKind};
use trefoil_machine::journal::Basis;
use trefoil_machine::key::{own_step, without_try};
use trefoil_machine::request::{Activity, ToolRequest};
use trefoil_machine::{
    ContentKey, Entry, EntryKind, Key, NoObserver, PreparedProgram, PrivateValue, Replay, Request, RunError,
};
use trefoil_template::Value;

use crate::memory_host::{Left, MemoryHost, follow};
use crate::random::{Node, node, program};
use answers::{answers, only_reads};
use change::{Change, Edited, changes};

/// A run with its journal.
struct Ran {
    result: std::result::Result<Value, RunError>,
    /// Whether it waits until somebody allows what it would do next.
    is_stopped: bool,
    entries: Vec<Entry>,
}

/// The runs of a case, by their ids.
struct Runs {
    all: BTreeMap<&'static str, Rc<Ran>>,
    /// What the order depends on in which work ends.
    seed: u64,
}

impl Runs {
    /// Runs a program. The first run is `old`, and every other one sees its id, as a run that goes on from it. The processes of the
    /// runs that use results of a run that was cut off, or of several runs, end anywhere.
    fn run(&mut self, prepared: &Arc<PreparedProgram>, id: &'static str, memo: Option<Memo>) -> Rc<Ran> {
        let mut host = MemoryHost::new(prepared, self.seed);
        (host.run, host.memo, host.answers, host.only_reads) = (id.to_owned(), memo, answers(), only_reads);
        host.basis = (id != "old").then(|| Basis { execution: Some("old".to_owned()), ..Basis::default() });
        let crashes = ["after the cut", "back"].contains(&id);
        let mut most = 4_usize;
        let (result, is_stopped) = loop {
            most = most.saturating_mul(2);
            let actions = if crashes { host.choose(most) } else { usize::MAX };
            match host.process(actions) {
                Left::Crashed | Left::Suspended => {}
                Left::Stopped(error) => break (Err(error), true),
                Left::Ended(result) => break (result, false),
            }
        };
        self.keep(id, Ran { result, is_stopped, entries: host.entries })
    }

    fn keep(&mut self, id: &'static str, ran: Ran) -> Rc<Ran> {
        let ran = Rc::new(ran);
        self.all.insert(id, ran.clone());
        ran
    }

    fn memo_of(&self, prepared: &Arc<PreparedProgram>, id: &str) -> Memo {
        let mut collect = LayerCollector(Layer { program: Some(prepared.clone()), ..Layer::for_run(id) });
        let entries = &self.all[id].entries;
        follow(Replay::from_first_entry(prepared.clone(), &entries[0], &mut collect), entries, &mut collect);
        Memo::from_layer(collect.0)
    }

    /// With all steps of these runs allowed to be repeated.
    fn allowed(&self, memo: Memo, runs: &[&str]) -> Memo {
        let entries = runs.iter().flat_map(|run| &self.all[run].entries);
        memo.allow_rerun(entries.filter_map(|entry| match &entry.kind {
            EntryKind::Scheduled { key, .. } => Some(own_step(key.as_str()).to_owned()),
            _ => None,
        }))
    }

    /// No result of a different request is reused, and none is changed.
    fn holds(&self, prepared: &Arc<PreparedProgram>, id: &str, what: &str) -> std::result::Result<(), TestCaseError> {
        let ran = &self.all[id];
        let begun = Replay::to_compare(prepared.clone(), &ran.entries[0], &mut NoObserver);
        let replay = follow(begun, &ran.entries, &mut NoObserver);
        prop_assert_eq!(&replay.finish_replay(&mut NoObserver).unwrap().differences, &[], "{}", what);
        for Result { key, content, value, from, .. } in ran.results() {
            let Some((run, there)) = from else { continue };
            let cited = self.all[&*run].ended().into_iter().find(|cited| cited.key == there);
            let cited = cited.map(|cited| (cited.content, cited.value));
            prop_assert_eq!(cited, Some((content, value)), "{}: `{}` of {}", what, key, run);
        }
        Ok(())
    }

    /// The run and the key of the activity that produced a result.
    fn origin(&self, run: String, key: String) -> (String, String) {
        let result = self.all[&*run].results().into_iter().find(|result| result.key == key);
        match result.and_then(|result| result.from) {
            Some((run, key)) => self.origin(run, key),
            None => (run, key),
        }
    }
}

/// A result of a run: its key, its request, and the run and key that it was reused from.
struct Result {
    key: String,
    sort: String,
    content: ContentKey,
    value: PrivateValue,
    from: Option<(String, String)>,
}

impl Ran {
    /// The results that another run could use, without those of waits, which all have the same content.
    fn results(&self) -> Vec<Result> {
        let is_kept = |result: &Result| !["timer", "decide", "describe"].contains(&&*result.sort);
        self.ended().into_iter().filter(is_kept).collect()
    }

    /// All results.
    fn ended(&self) -> Vec<Result> {
        let mut asked = BTreeMap::new();
        let mut results = Vec::new();
        for entry in &self.entries {
            match &entry.kind {
                EntryKind::Scheduled { key, content, sort, .. } => {
                    asked.insert(key.clone(), (sort.to_string(), *content));
                }
                EntryKind::Completed { key, value, about } => {
                    let from = about.from.as_ref();
                    let known = asked.get(key).cloned();
                    let content =
                        from.map(|cited| cited.content).or_else(|| known.as_ref().map(|(_, content)| *content));
                    let Some(content) = content else { continue };
                    let sort = known.map(|(sort, _)| sort).unwrap_or_default();
                    let from = from.map(|cited| (cited.run.clone(), cited.key.as_ref().unwrap_or(key).to_string()));
                    results.push(Result { key: key.to_string(), sort, content, value: value.clone(), from });
                }
                _ => {}
            }
        }
        results
    }

    /// The keys of the results that it has reused.
    fn reused(&self) -> Vec<String> {
        self.results().into_iter().filter_map(|result| Some(result.from?.1)).collect()
    }

    fn shape(&self) -> std::result::Result<String, String> {
        self.result.as_ref().map(Value::canonical_text).map_err(|error| error.code.clone())
    }
}

fn counted(results: &[Result]) -> BTreeMap<ContentKey, usize> {
    results.iter().fold(BTreeMap::new(), |mut all, result| {
        *all.entry(result.content).or_default() += 1;
        all
    })
}

/// Totals of all cases.
#[derive(Default)]
struct Sums {
    cases: u32,
    failed: u32,
    stopped: u32,
    by_change: BTreeMap<&'static str, Counts>,
}

/// Totals of one kind of edit. Programs that fail are not in them, because what a failure cancels depends on timing.
#[derive(Default, Clone, Copy)]
struct Counts {
    cases: u32,
    results: usize,
    possible: usize,
    kept: usize,
    /// Results that were not kept because their own step, which may still have needed them, was not reached.
    unreached: usize,
    /// The same, but the step requested something else later.
    late: usize,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.cases += other.cases;
        self.results += other.results;
        self.possible += other.possible;
        self.kept += other.kept;
        self.unreached += other.unreached;
        self.late += other.late;
    }
}

/// One program and edits of it.
fn one(
    root: &Node,
    edits: (Change, Option<Change>),
    cut: u32,
    sums: &RefCell<Sums>,
) -> std::result::Result<(), TestCaseError> {
    let before = change::reading_usage_and_id(&change::answered_by_its_model(program(root)));
    let before = change::of_all_dialects(&before);
    let edited = changes(&before, edits);
    let (before, after, what) =
        (PreparedProgram::new(before), PreparedProgram::new(edited.program.clone()), edited.what);
    let mut runs = Runs { all: BTreeMap::new(), seed: u64::from(cut) };
    let old = runs.run(&before, "old", None);
    let scratch = runs.run(&after, "scratch", None);
    let memo = runs.memo_of(&before, "old");
    let new = runs.run(&after, "edited", Some(runs.allowed(memo.clone(), &["old", "scratch"])));

    let failed = scratch.result.is_err();
    if failed {
        // Which activities a failure cancels depends on timing.
        prop_assert!(new.result.is_err(), "{what}: from scratch {:?}", scratch.shape());
    } else {
        prop_assert_eq!(new.shape(), scratch.shape(), "{}", what);
    }
    // No result of a different request is reused, and none twice.
    runs.holds(&after, "edited", what)?;
    let kept = new.reused();
    prop_assert_eq!(kept.iter().collect::<BTreeSet<_>>().len(), kept.len(), "{}: a result is used twice", what);

    let (had, decisions) = (memo.activities_with_result(), memo.reuse_decisions());
    let then = by_key(&had);
    decisions.lock().unwrap().clear();
    let unasked = runs.run(&after, "unasked", Some(memo.clone()));
    let now = by_key(decisions.lock().unwrap().iter().map(|decision| &decision.asked));
    nothing_is_done_twice((&before, &old, &then), (&after, &unasked, &now), what)?;
    if !failed {
        of_equal_effects_only_the_missing_ones_are_performed(&old, &scratch, &unasked, what)?;
        let entries = old.entries[..1 + cut as usize % old.entries.len()].to_vec();
        let ended = runs.keep("cut", Ran { result: old.result.clone(), is_stopped: false, entries });
        let memo = runs.memo_of(&before, "cut");
        let decisions = memo.reuse_decisions();
        let now = runs.run(&after, "after the cut", Some(memo));
        let asked = by_key(decisions.lock().unwrap().iter().map(|decision| &decision.asked));
        nothing_is_done_twice((&before, &ended, &then), (&after, &now, &asked), what)?;
        of_equal_effects_only_the_missing_ones_are_performed(&ended, &scratch, &now, what)?;
    }
    let mut counts = Counts::default();
    if !failed {
        counts = count((&old, &had), &new, &after, &edited)?;
        taken_back(&mut runs, memo, (&before, &after), what)?;
    }
    let mut sums = sums.borrow_mut();
    sums.cases += 1;
    sums.failed += u32::from(failed);
    sums.stopped += u32::from(unasked.is_stopped);
    sums.by_change.entry(what).or_default().add(counts);
    Ok(())
}

/// Counts what was kept, and why the rest was not.
fn count(
    (old, activities_then): (&Ran, &[Arc<Activity>]),
    new: &Ran,
    prepared: &PreparedProgram,
    Edited { what, stable, renamed, .. }: &Edited,
) -> std::result::Result<Counts, TestCaseError> {
    let then = by_key(activities_then);
    let (had, mut has) = (old.results(), new.results());
    // Without waits, which all have the same content.
    let counted_keys: BTreeSet<&String> = had.iter().map(|result| &result.key).collect();
    has.retain(|result| result.from.as_ref().is_none_or(|(_, from)| counted_keys.contains(from)));
    let kept: Vec<&String> = has.iter().filter_map(|result| result.from.as_ref()).map(|(_, from)| from).collect();
    let (there, wanted) = (counted(&had), counted(&has));
    let possible: usize = wanted.iter().map(|(content, n)| there.get(content).copied().unwrap_or(0).min(*n)).sum();
    prop_assert!(kept.len() <= possible);
    let mut counts = Counts { cases: 1, results: has.len(), possible, kept: kept.len(), ..Counts::default() };
    let left: Vec<&Result> = had.iter().filter(|result| !kept.contains(&&result.key)).collect();
    // A result with the same key and content is reused, unless the same step has used it for another item or pass.
    let step = |key: &str| {
        let key = without_try(key);
        renamed.as_ref().map_or_else(|| key.to_owned(), |(old, new)| key.replace(&**new, old))
    };
    let places: BTreeSet<(String, ContentKey)> =
        left.iter().map(|r| (without_try(&r.key).to_owned(), r.content)).collect();
    // An answer is kept only if the same answers are accepted.
    let may_differ = |result: &Result| result.sort == "human" && (*what == "accepted answers" || *what == "two edits");
    let asked: BTreeSet<&str> = has.iter().map(|result| without_try(&result.key)).collect();
    let mut left = left;
    for result in has.iter().filter(|result| result.from.is_none() && !may_differ(result)) {
        let place = (step(&result.key), result.content);
        prop_assert!(!places.contains(&place), "{}: `{}` is asked for as it was, and not kept", what, result.key);
        let Some(at) = left.iter().position(|left| left.content == result.content) else { continue };
        let other = left.swap_remove(at);
        if asked.contains(without_try(&other.key)) {
            counts.late += 1;
        } else {
            let there = then.get(&other.key).is_some_and(|other| prepared.has_step_of(other));
            prop_assert!(there || !stable, "{}: `{}` could have `{}`", what, result.key, other.key);
            counts.unreached += 1;
        }
    }
    Ok(counts)
}

/// Activities by their keys.
type ByKey = BTreeMap<String, Arc<Activity>>;

fn by_key<'a>(all: impl IntoIterator<Item = &'a Arc<Activity>>) -> ByKey {
    all.into_iter().map(|one| (one.key.to_string(), one.clone())).collect()
}

/// What an activity calls.
fn target(activity: &Activity) -> String {
    match &activity.request {
        Request::Tool(request) => match &request.kind {
            ToolKind::Local => request.name.to_string(),
            kind => format!("{kind:?}"),
        },
        request => request.sort_name().to_owned(),
    }
}

/// The steps of a program under the names of an effect that perform such effects, as text.
fn performing(program: &PreparedProgram, activity: &Activity) -> BTreeSet<String> {
    let changes_something = |step: &StepId| match &program.program.steps[*step].kind {
        StepKind::Tool(call) => !only_reads(&ToolRequest::from_declaration(call)),
        _ => true,
    };
    let steps = program.effect_steps(&activity.labels).into_iter();
    let steps = steps.filter(|step| program.makes_request(*step, &activity.request) && changes_something(step));
    steps.filter_map(|step| program.step_definition(step)).collect()
}

/// An effect is what it does. Of the equal ones that a run from scratch performs, the earlier run may have performed some, and the
/// edited run performs at most the others, whatever their steps are called.
fn of_equal_effects_only_the_missing_ones_are_performed(
    old: &Ran,
    scratch: &Ran,
    new: &Ran,
    what: &str,
) -> std::result::Result<(), TestCaseError> {
    let performed = |ran: &Ran| {
        let mut all: BTreeMap<Key, ContentKey> = BTreeMap::new();
        for entry in &ran.entries {
            match &entry.kind {
                EntryKind::Scheduled { key, sort, content, .. } if sort == "tool" || sort == "command" => {
                    all.insert(key.clone(), *content);
                }
                EntryKind::Failed { key, .. } => {
                    all.remove(key);
                }
                _ => {}
            }
        }
        all.into_values().fold(BTreeMap::new(), |mut counted: BTreeMap<ContentKey, usize>, content| {
            *counted.entry(content).or_default() += 1;
            counted
        })
    };
    let (then, wanted) = (performed(old), performed(scratch));
    for (content, times) in performed(new) {
        let of = |all: &BTreeMap<ContentKey, usize>| all.get(&content).copied().unwrap_or(0);
        let most = of(&wanted).saturating_sub(of(&then));
        prop_assert!(times <= most, "{}: {:?} is performed {} times instead of {}", what, content, times, most);
    }
    Ok(())
}

/// Without permission, no tool or command of the earlier run is performed again: not under its key, and not by a new step as long as
/// one is left whose step is gone and that calls the same tool.
fn nothing_is_done_twice(
    (before, old, asked_then): (&PreparedProgram, &Ran, &ByKey),
    (after, new, asked_now): (&PreparedProgram, &Ran, &ByKey),
    what: &str,
) -> std::result::Result<(), TestCaseError> {
    let performed = |ran: &Ran, wanted: &str| -> Vec<String> {
        let of_sort = |entry: &Entry| match &entry.kind {
            EntryKind::Scheduled { key, sort, .. } if sort == wanted => Some(key.to_string()),
            _ => None,
        };
        ran.entries.iter().filter_map(of_sort).collect()
    };
    let failed = |ran: &Ran, key: &str| {
        let is = |entry: &Entry| matches!(&entry.kind, EntryKind::Failed { key: failed, .. } if failed.as_str() == key);
        ran.entries.iter().any(is)
    };
    let performing = |program: &PreparedProgram, asked: &ByKey, key: &str| {
        asked.get(key).map(|one| performing(program, one)).unwrap_or_default()
    };
    let reads = |asked: &ByKey, key: &str| match asked.get(key).map(|one| &one.request) {
        Some(Request::Tool(request)) => only_reads(request),
        _ => false,
    };
    let used: BTreeSet<String> = new.reused().into_iter().collect();
    let started = [performed(old, "tool"), performed(old, "command")].concat();
    for sort in ["tool", "command"] {
        let then: Vec<String> = performed(old, sort).into_iter().filter(|key| !failed(old, key)).collect();
        let now: Vec<String> = performed(new, sort).into_iter().filter(|key| !reads(asked_now, key)).collect();
        for key in &now {
            let again = then.iter().find(|then| without_try(then) == without_try(key) && !used.contains(*then));
            prop_assert_eq!(again, None, "{}: done twice", what);
        }
        let target = |asked: &ByKey, key: &String| asked.get(key).map(|one| target(one));
        let gone: Vec<_> =
            then.iter().filter(|key| !used.contains(*key) && performing(after, asked_then, key).is_empty()).collect();
        // A step is as good as new if it was changed and nothing ran under its name.
        let ran = |now: &String| {
            let of = |key: &String| asked_then.get(key).map(|one| &one.labels);
            let labels = asked_now.get(now).map(|one| &one.labels);
            started.iter().any(|key| of(key).is_none() || of(key) == labels)
        };
        let is_new = |key: &&String| {
            let before = performing(before, asked_now, key);
            before.is_empty() || !ran(key) && before.is_disjoint(&performing(after, asked_now, key))
        };
        for fresh in now.iter().filter(is_new) {
            let of = target(asked_now, fresh);
            let gone = gone.iter().find(|gone| of.is_some() && target(asked_then, gone) == of);
            prop_assert_eq!(gone, None, "{}: `{}` may be it", what, fresh);
        }
    }
    Ok(())
}

/// Reverts the edit and reuses the results of both runs: the outcome is the original one, and no model is called again. Tools,
/// commands and people are called again if the edited run performed something else at their place.
fn taken_back(
    runs: &mut Runs,
    memo: Memo,
    (before, after): (&Arc<PreparedProgram>, &Arc<PreparedProgram>),
    what: &str,
) -> std::result::Result<(), TestCaseError> {
    let both = runs.memo_of(after, "edited").with_older(memo);
    let both = runs.allowed(both, &["old", "scratch"]);
    let (old, back) = (runs.all["old"].clone(), runs.run(before, "back", Some(both)));
    if old.result.is_err() {
        return Ok(());
    }
    prop_assert_eq!(back.shape(), old.shape(), "{} taken back", what);
    runs.holds(before, "back", what)?;
    // Each answer is used once, even if several runs have it.
    let mut used = BTreeSet::new();
    for (run, there) in back.results().into_iter().filter_map(|result| result.from) {
        let origin = runs.origin(run, there);
        prop_assert!(used.insert(origin.clone()), "{} taken back: {:?} is used twice", what, origin);
    }
    let had: BTreeSet<String> = old.results().iter().map(|had| without_try(&had.key).to_owned()).collect();
    let is_asked_again = |entry: &&Entry| match &entry.kind {
        EntryKind::Scheduled { key, sort, .. } => sort == "model" && had.contains(without_try(key.as_str())),
        _ => false,
    };
    let again = back.entries.iter().find(is_asked_again);
    prop_assert!(again.is_none(), "{} taken back: what was answered is asked again: {:?}", what, again);
    Ok(())
}

#[test]
#[allow(clippy::disallowed_methods, reason = "how many cases is for whoever runs the tests to say")]
fn an_edited_run_is_one_from_scratch_that_keeps_all_that_it_may() {
    let cases = std::env::var("TREFOIL_EDITS").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    // The same programs each time; set `TREFOIL_SEED` for others.
    let seeds = std::env::var("TREFOIL_SEED").unwrap_or_else(|_| "1".to_owned());
    std::thread::scope(|scope| {
        for seed in seeds.split(' ') {
            let seed = seed.parse().unwrap();
            scope.spawn(move || keeps_all_that_it_may(cases, seed));
        }
    });
}

#[allow(clippy::print_stdout, reason = "how much is kept is for whoever runs the tests to see")]
fn keeps_all_that_it_may(cases: u32, seed: u64) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let sums = RefCell::new(Sums::default());
    let edit =
        || (0u8..change::KINDS, any::<u32>(), any::<u32>()).prop_map(|(kind, at, other)| Change { kind, at, other });
    let edits = (edit(), prop::option::weighted(0.2, edit()));
    let done = TestRunner::new_with_rng(config, rng).run(&(node(), edits, any::<u32>()), |(root, edits, cut)| {
        // Ensures that there is something to edit.
        let root = Node::Sequence(vec![Node::Model { read: 0, sort: 4, when: 1 }, root]);
        one(&root, edits, cut, &sums)
    });
    done.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let Sums { cases, failed, stopped, by_change } = sums.into_inner();
    let mut text = format!(
        "{cases} programs of seed {seed}; {failed} fail, {stopped} stop before a tool or command if it is not allowed\n"
    );
    text.push_str("| edit | programs | results | possible | kept | not reached | too late |\n");
    let mut all = Counts::default();
    for counts in by_change.values() {
        all.add(*counts);
    }
    for (what, one) in by_change.iter().map(|(what, one)| (*what, one)).chain([("all", &all)]) {
        let Counts { cases, results, possible, kept, unreached, late } = one;
        text.push_str(&format!("| {what} | {cases} | {results} | {possible} | {kept} | {unreached} | {late} |\n"));
    }
    println!("{text}");
    assert!(all.kept * 100 >= all.possible * 98, "{} of {}", all.kept, all.possible);
}

#[test]
fn a_question_that_is_moved_and_put_into_a_group_is_the_same_question() {
    let sums = RefCell::new(Sums::default());
    let root = Node::Sequence(vec![Node::Model { read: 0, sort: 4, when: 1 }, Node::Bare(Box::new(Node::Human))]);
    let moved = Change { kind: 6, at: 0, other: 0 };
    let grouped = Change { kind: 14, at: 0, other: 0 };
    one(&root, (moved, Some(grouped)), 3, &sums).unwrap();
    let counts = sums.into_inner().by_change["two edits"];
    assert_eq!((counts.results, counts.kept), (4, 4));
}

/// The edited run asks under another name, and its own step asks again when the edit is taken back.
#[test]
fn an_answer_that_another_step_has_reused_is_found_again_by_the_step_that_asked_first() {
    let model = |read, sort, when| Node::Model { read, sort, when };
    let branches = vec![model(0, 0, 188), model(8, 52, 104), model(19, 4, 9)];
    let edit = Change { kind: 8, at: 2_912_262_856, other: 493_498_758 };
    for (concurrency, bad) in [0, 1, 2].into_iter().flat_map(|limit| [(limit, false), (limit, true)]) {
        let sums = RefCell::new(Sums::default());
        let parallel = Node::Parallel { branches: branches.clone(), concurrency, bad };
        let tries = Node::Attempts { body: Box::new(parallel), validators: 2 };
        let root = Node::Sequence(vec![model(0, 4, 1), tries]);
        one(&root, (edit, None), 0, &sums).unwrap();
        assert_eq!(sums.into_inner().by_change["when"].cases, 1);
    }
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    /// One of two equal tool calls has ended, and the other has not. The first that is requested takes the result, whatever its key, so
    /// what was started under its own key is still open for the second, which got another name.
    #[test]
    fn what_was_started_under_the_key_of_a_call_that_has_the_result_of_another_may_have_been_done() {
        let model = |read, sort, when| Node::Model { read, sort, when };
        let inner = Node::Graph(vec![(model(0, 0, 140), 0, 0), (model(0, 49, 1), 160, 0), (model(0, 33, 0), 0, 0)]);
        let one_talk = (Node::Talk(vec![model(0, 160, 13), model(0, 177, 1)]), 116, 152);
        let other_talk = (Node::Talk(vec![model(0, 64, 0)]), 116, 4);
        let graph = Node::Graph(vec![(inner, 0, 0), one_talk, other_talk]);
        let root = Node::Sequence(vec![model(0, 4, 1), graph]);
        let system = Change { kind: 0, at: 1_548_039_625, other: 0 };
        let renamed = Change { kind: 18, at: 851, other: 2_633_606_862 };
        for cut in 0..80 {
            let sums = RefCell::new(Sums::default());
            one(&root, (system, Some(renamed)), cut, &sums).unwrap();
            assert_eq!(sums.into_inner().by_change["two edits"].cases, 1);
        }
    }
}
