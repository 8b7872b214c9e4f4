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
use trefoil_ir::Program;
use trefoil_machine::key::{own_step, without_try};
use trefoil_machine::{ContentKey, Entry, EntryKind, Key, Prepared};
use trefoil_runtime::RunOutcome;
use trefoil_runtime::driver::memo::Memo;
use trefoil_runtime::driver::{self, Options};
use trefoil_runtime::ports::MemoryJournal;
use trefoil_template::Value;

use crate::random::{Node, node, program};
use change::{Change, Edited, change};
use people::World;

/// A run with its journal.
struct Ran {
    outcome: RunOutcome,
    entries: Vec<Entry>,
}

async fn run(journal: &Arc<MemoryJournal>, program: &Arc<Program>, id: &str, memo: Option<Memo>) -> Ran {
    let prepared = Prepared::new(program.clone());
    let ports = World::ports(program, journal.clone());
    let options = Options { seed: Some(11), run: Some(id.to_owned()), memo, ..Options::default() };
    let outcome = driver::run_prepared(prepared, Some("in".into()), ports, options).await;
    Ran { outcome, entries: journal.entries(id) }
}

async fn memo_of(journal: &Arc<MemoryJournal>, program: &Arc<Program>, id: &str) -> Memo {
    let ports = World::ports(program, journal.clone());
    let memo = Memo::of(Prepared::new(program.clone()), id, ports, &Options::default()).await.unwrap();
    // All steps may be repeated.
    let steps = journal.entries(id).into_iter().filter_map(|entry| match entry.kind {
        EntryKind::Scheduled { key, .. } => Some(own_step(key.as_str()).to_owned()),
        _ => None,
    });
    memo.rerunning(steps)
}

/// A result of a run: its key, its request, and the run and key that it was reused from.
struct Result {
    key: String,
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
                EntryKind::Scheduled { key, content, sort, .. } => {
                    let own = sort == "timer" && own_step(key.as_str()) != without_try(key.as_str());
                    if !own && sort != "decide" && sort != "describe" {
                        asked.insert(key.clone(), *content);
                    }
                }
                EntryKind::Completed { key, about, .. } => {
                    let from = about.from.as_ref();
                    let content = from.map(|cited| cited.content).or_else(|| asked.get(key).copied());
                    let from = from.map(|cited| cited.key.as_ref().unwrap_or(key).to_string());
                    results.extend(content.map(|content| Result { key: key.to_string(), content, from }));
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
    results: usize,
    kept: usize,
    most: usize,
    by_change: BTreeMap<&'static str, (u32, usize, usize)>,
}

/// One program and one edit of it.
async fn one(root: &Node, edit: Change, sums: &RefCell<Sums>) -> std::result::Result<(), TestCaseError> {
    let journal = Arc::new(MemoryJournal::new());
    let before = change::answered_by_its_model(program(root));
    let Edited { program: after, what, renamed } = change(&before, edit);
    let old = run(&journal, &before, "old", None).await;
    let scratch = run(&journal, &after, "scratch", None).await;
    let memo = memo_of(&journal, &before, "old").await;
    let edited = run(&journal, &after, "edited", Some(memo)).await;

    let failed = scratch.outcome.result.is_err();
    if failed {
        // Which activities a failure cancels depends on timing.
        prop_assert!(edited.outcome.result.is_err(), "{what}: from scratch {:?}", scratch.shape());
    } else {
        prop_assert_eq!(edited.shape(), scratch.shape(), "{}", what);
    }
    // No result of a different request is reused, and none twice.
    let verified = driver::verify(Prepared::new(after.clone()), "edited", &*journal).await.unwrap();
    prop_assert_eq!(&verified.differences, &[], "{}", what);
    let (had, has) = (old.results(), edited.results());
    let kept: Vec<&String> = has.iter().filter_map(|result| result.from.as_ref()).collect();
    prop_assert_eq!(kept.iter().collect::<BTreeSet<_>>().len(), kept.len(), "{}: a result is used twice", what);
    let (there, wanted) = (counted(&had), counted(&has));
    let most: usize = wanted.iter().map(|(content, n)| there.get(content).copied().unwrap_or(0).min(*n)).sum();
    prop_assert!(kept.len() <= most);

    // A result with the same key and content is reused, unless the same step has used it for another item or pass.
    if !failed {
        let step = |key: &str| {
            let key = without_try(key);
            renamed.as_ref().map_or_else(|| key.to_owned(), |(old, new)| key.replace(&**new, old))
        };
        let left = had.iter().filter(|result| !kept.contains(&&result.key));
        let left: BTreeSet<(String, ContentKey)> = left.map(|r| (without_try(&r.key).to_owned(), r.content)).collect();
        for result in has.iter().filter(|result| result.from.is_none()) {
            let place = (step(&result.key), result.content);
            prop_assert!(!left.contains(&place), "{}: `{}` is asked for as it was, and not kept", what, result.key);
        }
    }
    if !failed {
        taken_back(&journal, (&before, &old), &after, what).await?;
    }
    let mut sums = sums.borrow_mut();
    sums.cases += 1;
    sums.failed += u32::from(failed);
    sums.results += has.len();
    sums.kept += kept.len();
    sums.most += most;
    let by = sums.by_change.entry(what).or_default();
    *by = (by.0 + 1, by.1 + kept.len(), by.2 + most);
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
    let cases = number("TREFOIL_EDITS").unwrap_or(300);
    let config = Config { cases: cases as u32, failure_persistence: None, ..Config::default() };
    // The same programs each time; set `TREFOIL_SEED` for others.
    let seed = number("TREFOIL_SEED").unwrap_or(1);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let sums = RefCell::new(Sums::default());
    let edits = (0u8..change::KINDS, any::<u32>(), any::<u32>());
    let done = TestRunner::new_with_rng(config, rng).run(&(node(), edits), |(root, (kind, at, other))| {
        // Ensures that there is something to edit.
        let root = Node::Sequence(vec![Node::Model { read: 0, sort: 4, when: 1 }, root]);
        runtime.block_on(one(&root, Change { kind, at, other }, &sums))
    });
    done.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let Sums { cases, failed, results, kept, most, by_change } = sums.into_inner();
    println!("{cases} programs of seed {seed} ({failed} fail): {kept} of {results} results kept, {most} could be");
    for (what, (cases, kept, most)) in by_change {
        println!("  {what:<12} {cases:>5} cases: {kept} of {most}");
    }
    assert!(kept * 100 >= most * 98, "{kept} of {most}");
}
