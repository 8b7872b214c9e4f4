//! Properties of the machine, tested with random programs of every step kind.

use proptest::prelude::*;
use proptest::test_runner::Config;
use trefoil_machine::{Entry, EntryKind, RunError};
use trefoil_template::Value;

use crate::machine::{answer, complete, finish, resume, start, start_watched};
use crate::random::{node, program};

#[allow(clippy::disallowed_methods, reason = "how many cases is for whoever runs the tests to say")]
fn config() -> Config {
    // More cases with `PROPTEST_CASES`, as in other tests.
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { Config::default().cases } else { 150 };
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// Pseudo-random choices from a seed.
fn choices(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |_| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize
    }
}

/// What must be equal: the output, or the failure.
fn shape(result: &Option<Result<Value, RunError>>) -> Result<String, String> {
    match result {
        Some(Ok(value)) => Ok(value.canonical_text()),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("not ended".into()),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_order_of_completions_gives_the_same_result_and_the_same_keys(root in node(), seed in any::<u64>()) {
        let program = program(&root);
        let first = finish(start(&program), |_| 0);
        let last = finish(start(&program), |n| n - 1);
        let mixed = finish(start(&program), choices(seed));
        prop_assert!(first.result.as_ref().is_some_and(Result::is_ok), "{:?}", first.result);
        for other in [&last, &mixed] {
            prop_assert_eq!(shape(&first.result), shape(&other.result));
            prop_assert_eq!(&first.keys, &other.keys);
        }
    }

    #[test]
    fn watching_where_prompts_come_from_changes_nothing(root in node(), seed in any::<u64>()) {
        let program = program(&root);
        let plain = finish(start(&program), choices(seed));
        // Each message is checked during the run: its parts cover it.
        let watched = finish(start_watched(&program), choices(seed));
        prop_assert_eq!(plain.entries, watched.entries);
    }

    #[test]
    fn a_journal_cut_anywhere_replays_to_the_same_commands_and_the_same_result(root in node(), seed in any::<u64>()) {
        let program = program(&root);
        let whole = finish(start(&program), choices(seed));
        // Every cut of short journals, and forty cuts of long ones.
        let step = (whole.entries.len() / 40).max(1);
        for cut in (1..=whole.entries.len()).step_by(step) {
            let (kept, lost) = whole.entries.split_at(cut);
            let mut run = resume(&program, kept).unwrap_or_else(|e| panic!("cut at {cut}: {e}"));
            for entry in lost {
                match &entry.kind {
                    EntryKind::Completed { key, value, about } => complete(&mut run, key, Ok(value.exact_value().clone()), about.usage),
                    EntryKind::Failed { key, error, about } => complete(&mut run, key, Err(error.clone()), about.usage),
                    _ => {}
                }
            }
            prop_assert_eq!(shape(&whole.result), shape(&run.result), "cut at {}", cut);
            let kinds = |entries: &[Entry]| -> Vec<EntryKind> { entries.iter().map(|e| e.kind.clone()).collect() };
            prop_assert_eq!(kinds(&whole.entries), kinds(&run.entries), "cut at {}", cut);
        }
    }

    #[test]
    fn entries_survive_json(root in node(), seed in any::<u64>()) {
        let program = program(&root);
        let run = finish(start(&program), choices(seed));
        for entry in &run.entries {
            let text = serde_json::to_string(entry).expect("an entry serializes");
            let back: Entry = serde_json::from_str(&text).expect("an entry deserializes");
            prop_assert_eq!(entry, &back, "{}", text);
        }
    }

    #[test]
    fn cancelling_at_any_point_leaves_nothing(root in node(), seed in any::<u64>(), steps in 0usize..30) {
        let program = program(&root);
        let mut run = start(&program);
        let mut choose = choices(seed);
        for _ in 0..steps {
            let Some(activity) = (!run.pending.is_empty()).then(|| run.pending[choose(0) % run.pending.len()].clone())
            else {
                break;
            };
            let (result, usage) = answer(&activity);
            complete(&mut run, &activity.key, result, usage);
        }
        if run.result.is_none() {
            run.cancel();
        }
        prop_assert!(run.result.is_some());
        prop_assert!(run.pending.is_empty());
        prop_assert_eq!((run.machine.active_count(), run.machine.pending_count()), (0, 0));
    }
}
