//! Random programs with random edits: a run of the edited program that reuses results of the previous run has the same outcome as a
//! run from scratch, reuses no result of a different request, and reuses all that it can.

mod acts;
mod budgets;
mod change;
mod directed;
mod people;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use trefoil_ir::{Program, StepId, StepKind, ToolKind};
use trefoil_machine::journal::Basis;
use trefoil_machine::key::{own_step, without_try};
use trefoil_machine::request::{Activity, ToolRequest};
use trefoil_machine::{ContentKey, Entry, EntryKind, Key, Prepared, Request};
use trefoil_runtime::RunOutcome;
use trefoil_runtime::driver::memo::{Memo, read_memo};
use trefoil_runtime::driver::{self, Options};
use trefoil_runtime::ports::{Journal as _, MemoryJournal};
use trefoil_template::Value;

use crate::random::{Node, node, program};
use change::{Change, Edited, changes};
use people::World;

/// A run with its journal.
struct Ran {
    outcome: RunOutcome,
    entries: Vec<Entry>,
}

/// Runs a program. The first run is `old`, and every other one sees its id, as a run that goes on from it.
async fn run(journal: &Arc<MemoryJournal>, program: &Arc<Program>, id: &str, memo: Option<Memo>) -> Ran {
    let prepared = Prepared::new(program.clone());
    let ports = World::ports(journal.clone());
    let basis = (id != "old").then(|| Basis { execution: Some("old".to_owned()), ..Basis::default() });
    let options = Options { seed: Some(11), run: Some(id.to_owned()), memo, basis, ..Options::default() };
    let outcome = driver::run_prepared(prepared, Some("in".into()), ports, options).await;
    Ran { outcome, entries: journal.entries(id) }
}

async fn memo_of(journal: &Arc<MemoryJournal>, program: &Arc<Program>, id: &str) -> Memo {
    let ports = World::ports(journal.clone());
    read_memo(Prepared::new(program.clone()), id, ports, &Options::default()).await.unwrap()
}

/// With all steps of these runs allowed to be repeated.
fn allowed(memo: Memo, journal: &MemoryJournal, runs: &[&str]) -> Memo {
    let entries = runs.iter().flat_map(|run| journal.entries(run));
    memo.rerunning(entries.filter_map(|entry| match entry.kind {
        EntryKind::Scheduled { key, .. } => Some(own_step(key.as_str()).to_owned()),
        _ => None,
    }))
}

/// A result of a run: its key, its request, and the run and key that it was reused from.
struct Result {
    key: String,
    sort: String,
    content: ContentKey,
    from: Option<String>,
}

impl Ran {
    /// The results that another run could use.
    fn results(&self) -> Vec<Result> {
        let mut asked = BTreeMap::new();
        let mut results = Vec::new();
        for entry in &self.entries {
            match &entry.kind {
                EntryKind::Scheduled { sort, .. } if ["timer", "decide", "describe"].contains(&&**sort) => {}
                EntryKind::Scheduled { key, content, sort, .. } => {
                    asked.insert(key.clone(), (sort.to_string(), *content));
                }
                EntryKind::Completed { key, about, .. } => {
                    let from = about.from.as_ref();
                    let known = asked.get(key).cloned();
                    let content =
                        from.map(|cited| cited.content).or_else(|| known.as_ref().map(|(_, content)| *content));
                    let sort = known.map(|(sort, _)| sort).unwrap_or_default();
                    let from = from.map(|cited| cited.key.as_ref().unwrap_or(key).to_string());
                    results.extend(content.map(|content| Result { key: key.to_string(), sort, content, from }));
                }
                _ => {}
            }
        }
        results
    }

    fn shape(&self) -> std::result::Result<String, String> {
        self.outcome.result.as_ref().map(Value::canonical).map_err(|error| error.code.clone())
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
async fn one(
    root: &Node,
    edits: (Change, Option<Change>),
    cut: u32,
    sums: &RefCell<Sums>,
) -> std::result::Result<(), TestCaseError> {
    let journal = Arc::new(MemoryJournal::new());
    let before = change::reading_usage_and_id(&change::answered_by_its_model(program(root)));
    let before = change::of_all_dialects(&before);
    let edited = changes(&before, edits);
    let (after, what) = (edited.program.clone(), edited.what);
    let old = run(&journal, &before, "old", None).await;
    let scratch = run(&journal, &after, "scratch", None).await;
    let memo = memo_of(&journal, &before, "old").await;
    let new = run(&journal, &after, "edited", Some(allowed(memo.clone(), &journal, &["old", "scratch"]))).await;

    let failed = scratch.outcome.result.is_err();
    if failed {
        // Which activities a failure cancels depends on timing.
        prop_assert!(new.outcome.result.is_err(), "{what}: from scratch {:?}", scratch.shape());
    } else {
        prop_assert_eq!(new.shape(), scratch.shape(), "{}", what);
    }
    // No result of a different request is reused, and none twice.
    let verified = driver::verify(Prepared::new(after.clone()), "edited", &*journal).await.unwrap();
    prop_assert_eq!(&verified.differences, &[], "{}", what);
    let kept: Vec<String> = new.results().into_iter().filter_map(|result| result.from).collect();
    prop_assert_eq!(kept.iter().collect::<BTreeSet<_>>().len(), kept.len(), "{}: a result is used twice", what);

    let (had, decisions) = (memo.results(), memo.decisions());
    let then = by_key(&had);
    decisions.lock().unwrap().clear();
    let unasked = run(&journal, &after, "unasked", Some(memo)).await;
    let now = by_key(decisions.lock().unwrap().iter().map(|decision| &decision.asked));
    nothing_is_done_twice((&before, &old, &then), (&after, &unasked, &now), what)?;
    if !failed {
        of_equal_effects_only_the_missing_ones_are_performed(&old, &scratch, &unasked, what)?;
        let entries = &old.entries[..1 + cut as usize % old.entries.len()];
        journal.append("cut", entries, &[]).await.unwrap();
        let memo = memo_of(&journal, &before, "cut").await;
        let ended = Ran { outcome: old.outcome.clone(), entries: entries.to_vec() };
        let decisions = memo.decisions();
        let now = run(&journal, &after, "after the cut", Some(memo)).await;
        let asked = by_key(decisions.lock().unwrap().iter().map(|decision| &decision.asked));
        nothing_is_done_twice((&before, &ended, &then), (&after, &now, &asked), what)?;
        of_equal_effects_only_the_missing_ones_are_performed(&ended, &scratch, &now, what)?;
    }
    let stopped = unasked.outcome.suspended;
    let mut counts = Counts::default();
    if !failed {
        counts = count((&old, &had), &new, &edited)?;
        taken_back(&journal, (&before, &old), &after, what).await?;
    }
    let mut sums = sums.borrow_mut();
    sums.cases += 1;
    sums.failed += u32::from(failed);
    sums.stopped += u32::from(stopped);
    sums.by_change.entry(what).or_default().add(counts);
    Ok(())
}

/// Counts what was kept, and why the rest was not.
fn count(
    (old, activities_then): (&Ran, &[Arc<Activity>]),
    new: &Ran,
    Edited { program, what, stable, renamed }: &Edited,
) -> std::result::Result<Counts, TestCaseError> {
    let then = by_key(activities_then);
    let (had, mut has) = (old.results(), new.results());
    // Without waits, which all have the same content.
    let counted_keys: BTreeSet<&String> = had.iter().map(|result| &result.key).collect();
    has.retain(|result| result.from.as_ref().is_none_or(|from| counted_keys.contains(from)));
    let kept: Vec<&String> = has.iter().filter_map(|result| result.from.as_ref()).collect();
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
    let prepared = Prepared::new(program.clone());
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
        request => request.sort().to_owned(),
    }
}

/// The steps of a program under the names of an effect that perform such effects, as text.
fn performing(program: &Prepared, activity: &Activity) -> BTreeSet<String> {
    let changes_something = |step: &StepId| match &program.program.steps[step.index()].kind {
        StepKind::Tool(call) => !people::only_reads(&ToolRequest::declared(call)),
        _ => true,
    };
    let steps = program.effects(&activity.labels).into_iter();
    let steps = steps.filter(|step| program.makes(*step, &activity.request) && changes_something(step));
    steps.filter_map(|step| program.definition(step)).collect()
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
    (before, old, asked_then): (&Arc<Program>, &Ran, &ByKey),
    (after, new, asked_now): (&Arc<Program>, &Ran, &ByKey),
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
    let performing = |program: &Prepared, asked: &ByKey, key: &str| {
        asked.get(key).map(|one| performing(program, one)).unwrap_or_default()
    };
    let reads = |asked: &ByKey, key: &str| match asked.get(key).map(|one| &one.request) {
        Some(Request::Tool(request)) => people::only_reads(request),
        _ => false,
    };
    let used: BTreeSet<String> = new.results().into_iter().filter_map(|result| result.from).collect();
    let (before, after) = (Prepared::new(before.clone()), Prepared::new(after.clone()));
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
            then.iter().filter(|key| !used.contains(*key) && performing(&after, asked_then, key).is_empty()).collect();
        // A step is as good as new if it was changed and nothing ran under its name.
        let ran = |now: &String| {
            let of = |key: &String| asked_then.get(key).map(|one| &one.labels);
            let labels = asked_now.get(now).map(|one| &one.labels);
            started.iter().any(|key| of(key).is_none() || of(key) == labels)
        };
        let is_new = |key: &&String| {
            let before = performing(&before, asked_now, key);
            before.is_empty() || !ran(key) && before.is_disjoint(&performing(&after, asked_now, key))
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
async fn taken_back(
    journal: &Arc<MemoryJournal>,
    (before, old): (&Arc<Program>, &Ran),
    after: &Arc<Program>,
    what: &str,
) -> std::result::Result<(), TestCaseError> {
    let both = memo_of(journal, after, "edited").await.over(memo_of(journal, before, "old").await);
    let both = allowed(both, journal, &["old", "scratch"]);
    let back = run(journal, before, "back", Some(both)).await;
    if old.outcome.result.is_err() {
        return Ok(());
    }
    prop_assert_eq!(back.shape(), old.shape(), "{} taken back", what);
    let verified = driver::verify(Prepared::new(before.clone()), "back", &**journal).await.unwrap();
    prop_assert_eq!(&verified.differences, &[], "{} taken back", what);
    // Each answer is used once, even if several runs have it.
    let (mut used, mut asked) = (BTreeSet::new(), Vec::new());
    for entry in &back.entries {
        match &entry.kind {
            EntryKind::Scheduled { key, sort, .. } if sort == "model" => asked.push(key.to_string()),
            EntryKind::Completed { key, about, .. } => {
                let Some(cited) = &about.from else { continue };
                let there = cited.key.as_ref().unwrap_or(key).clone();
                let origin = origin(journal, &cited.run, there);
                prop_assert!(used.insert(origin.clone()), "{} taken back: {:?} is used twice", what, origin);
            }
            _ => {}
        }
    }
    let failing = |key: &String| !old.results().iter().any(|had| without_try(&had.key) == without_try(key));
    asked.retain(|key| !failing(key));
    prop_assert_eq!(&asked, &Vec::<String>::new(), "{} taken back: what was answered is asked again", what);
    Ok(())
}

/// The run and the key of the activity that produced a result.
fn origin(journal: &MemoryJournal, run: &str, key: Key) -> (String, Key) {
    for entry in journal.entries(run) {
        if let EntryKind::Completed { key: known, about, .. } = entry.kind
            && known == key
            && let Some(cited) = about.from
        {
            let there = cited.key.clone().unwrap_or(key);
            return origin(journal, &cited.run, there);
        }
    }
    (run.to_owned(), key)
}

#[test]
#[allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "how many cases is for whoever runs the tests to say, and to see"
)]
fn an_edited_run_is_one_from_scratch_that_keeps_all_that_it_may() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let cases = number("TREFOIL_EDITS").unwrap_or(100);
    let config = Config { cases: cases as u32, failure_persistence: None, ..Config::default() };
    // The same programs each time; set `TREFOIL_SEED` for others.
    let seed = number("TREFOIL_SEED").unwrap_or(1);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let sums = RefCell::new(Sums::default());
    let edit =
        || (0u8..change::KINDS, any::<u32>(), any::<u32>()).prop_map(|(kind, at, other)| Change { kind, at, other });
    let edits = (edit(), prop::option::weighted(0.2, edit()));
    let done = TestRunner::new_with_rng(config, rng).run(&(node(), edits, any::<u32>()), |(root, edits, cut)| {
        // Ensures that there is something to edit.
        let root = Node::Sequence(vec![Node::Model { read: 0, sort: 4, when: 1 }, root]);
        runtime.block_on(one(&root, edits, cut, &sums))
    });
    done.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let Sums { cases, failed, stopped, by_change } = sums.into_inner();
    println!(
        "{cases} programs of seed {seed}; {failed} fail, {stopped} stop before a tool or command if it is not allowed"
    );
    println!("| edit | programs | results | possible | kept | not reached | too late |");
    let mut all = Counts::default();
    for counts in by_change.values() {
        all.add(*counts);
    }
    for (what, one) in by_change.iter().map(|(what, one)| (*what, one)).chain([("all", &all)]) {
        let Counts { cases, results, possible, kept, unreached, late } = one;
        println!("| {what} | {cases} | {results} | {possible} | {kept} | {unreached} | {late} |");
    }
    assert!(all.kept * 100 >= all.possible * 98, "{} of {}", all.kept, all.possible);
}

#[test]
fn a_question_that_is_moved_and_put_into_a_group_is_the_same_question() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let sums = RefCell::new(Sums::default());
    let root = Node::Sequence(vec![Node::Model { read: 0, sort: 4, when: 1 }, Node::Bare(Box::new(Node::Human))]);
    let moved = Change { kind: 6, at: 0, other: 0 };
    let grouped = Change { kind: 14, at: 0, other: 0 };
    runtime.block_on(one(&root, (moved, Some(grouped)), 3, &sums)).unwrap();
    let counts = sums.into_inner().by_change["two edits"];
    assert_eq!((counts.results, counts.kept), (4, 4));
}

/// The edited run asks under another name, and its own step asks again when the edit is taken back.
#[test]
fn an_answer_that_another_step_has_reused_is_found_again_by_the_step_that_asked_first() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let model = |read, sort, when| Node::Model { read, sort, when };
    let branches = vec![model(0, 0, 188), model(8, 52, 104), model(19, 4, 9)];
    let edit = Change { kind: 8, at: 2_912_262_856, other: 493_498_758 };
    for (concurrency, bad) in [0, 1, 2].into_iter().flat_map(|limit| [(limit, false), (limit, true)]) {
        let sums = RefCell::new(Sums::default());
        let parallel = Node::Parallel { branches: branches.clone(), concurrency, bad };
        let tries = Node::Attempts { body: Box::new(parallel), validators: 2 };
        let root = Node::Sequence(vec![model(0, 4, 1), tries]);
        runtime.block_on(one(&root, (edit, None), 0, &sums)).unwrap();
        assert_eq!(sums.into_inner().by_change["when"].cases, 1);
    }
}

/// One of two equal tool calls has ended, and the other has not. The first that is requested takes the result, whatever its key, so
/// what was started under its own key is still open for the second, which got another name.
#[test]
fn what_was_started_under_the_key_of_a_call_that_has_the_result_of_another_may_have_been_done() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
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
        runtime.block_on(one(&root, (system, Some(renamed)), cut, &sums)).unwrap();
        assert_eq!(sums.into_inner().by_change["two edits"].cases, 1);
    }
}
