//! Limits of the manifest in a run that uses results of an earlier one: what is kept is not spent again.

use std::sync::Arc;

use testbed::Build;
use testbed::build::graph_node;
use trefoil_ir::prices::{ModelPrice, TokenRates};
use trefoil_ir::{Budget, GraphNode, OnExceeded, OnItemFailure, Program, Source, StepId, ValueExpression};
use trefoil_machine::{EntryKind, PreparedProgram};
use trefoil_runtime::driver::{self, DriverOptions};
use trefoil_runtime::ports::{Journal as _, MemoryJournal};

use super::directed::Desk;
use crate::world::block_on;

const NONE: Budget = Budget {
    max_tokens: None,
    max_duration_ms: None,
    max_calls: None,
    calls_at: None,
    max_cost_micro: None,
    on_exceeded: OnExceeded::Abort,
};

fn calls(most: u64) -> Budget {
    Budget { max_calls: Some(most), ..NONE }
}

/// Model steps, put together somehow, under a budget.
fn limited(prompts: &[&str], budget: Budget, together: impl FnOnce(&mut Build, &[StepId]) -> StepId) -> Arc<Program> {
    let mut b = Build::new();
    let steps: Vec<StepId> =
        ["a", "b", "c"].iter().zip(prompts).map(|(label, prompt)| b.model(label, prompt)).collect();
    let body = together(&mut b, &steps);
    let main = b.flow("main", body, None);
    b.flow_mut(main).budget = Some(budget);
    b.program(main)
}

fn in_turn(b: &mut Build, steps: &[StepId]) -> StepId {
    b.sequence("", steps)
}

fn at_once(b: &mut Build, steps: &[StepId]) -> StepId {
    b.parallel("", steps, OnItemFailure::Abort)
}

/// A graph, of which an exceeded budget skips the rest.
fn chain(b: &mut Build, steps: &[StepId]) -> StepId {
    let node = |b: &mut Build, at: usize| {
        let incoming = at.checked_sub(1).map(|from| b.edge(from as u32, "")).into_iter().collect();
        GraphNode { incoming, ..graph_node(steps[at]) }
    };
    let nodes = (0..steps.len()).map(|at| node(b, at)).collect();
    b.graph("", nodes)
}

#[test]
fn a_budget_counts_only_the_calls_that_an_edited_run_makes() {
    let desk = Desk::new();
    let all = ["first", "second", "third"];
    for (together, name) in
        [(in_turn as fn(&mut Build, &[StepId]) -> StepId, "turn"), (at_once, "once"), (chain, "chain")]
    {
        let before = limited(&all, calls(3), together);
        let old = format!("old-{name}");
        desk.run(&before, &old, None);
        // One call is allowed, and one is made, wherever it is.
        for changed in 0..3 {
            let mut prompts = all;
            prompts[changed] = "other";
            let after = limited(&prompts, calls(1), together);
            let (sent, outcome) = desk.run(&after, &format!("{name}-{changed}"), Some(desk.memo(&before, &old)));
            assert!(outcome.result.is_ok(), "{name} {changed}: {outcome:?}");
            assert_eq!((sent, outcome.calls), (vec!["other".to_owned()], 1), "{name} {changed}");
        }
    }
}

#[test]
fn one_call_too_many_is_not_made_and_would_not_be_made_again() {
    let desk = Desk::new();
    for (together, name, made) in [(in_turn as fn(&mut Build, &[StepId]) -> StepId, "turn", 1), (at_once, "once", 0)] {
        let before = limited(&["first", "second", "third"], calls(3), together);
        desk.run(&before, name, None);
        let after = limited(&["one", "second", "two"], calls(1), together);
        let new = format!("new-{name}");
        let (sent, outcome) = desk.run(&after, &new, Some(desk.memo(&before, name)));
        let error = outcome.result.unwrap_err();
        assert_eq!(
            (&*error.code, error.key.clone().unwrap().as_str(), sent.len()),
            ("BUDGET_EXCEEDED", "c", made),
            "{sent:?}"
        );
        assert!(error.message.starts_with("call limit reached: 1 of 1 model call used"), "{}", error.message);
        let entries = desk.world.journal.entries(&new).len();
        let (prepared, options) =
            (PreparedProgram::new(after.clone()), Desk::options(&new, Some(desk.memo(&before, name))));
        let again = block_on(driver::resume_prepared(prepared, &new, desk.world.ports.clone(), options));
        assert_eq!(again.result.unwrap_err().code, "WOULD_REPEAT");
        assert_eq!(desk.world.journal.entries(&new).len(), entries, "nothing is written for that");
    }
}

#[test]
fn nothing_is_set_aside_for_what_is_kept() {
    let desk = Desk::new();
    let budget = |micro| Budget { max_cost_micro: Some(micro), ..NONE };
    let priced = |run: &str, memo| {
        let rates = TokenRates { output: 1_000_000, ..TokenRates::default() };
        let prices = vec![("test".to_owned(), ModelPrice { rates, ..ModelPrice::default() })];
        DriverOptions { prices, ..Desk::options(run, memo) }
    };
    let before = limited(&["first", "second"], budget(1_000_000), at_once);
    let (_, outcome) = desk.run_with(&before, "old", priced("old", None));
    assert!(outcome.result.is_ok(), "{outcome:?}");
    let (sent, outcome) = desk.run_with(&limited(&["first", "second"], budget(1), at_once), "new", {
        priced("new", Some(desk.memo(&before, "old")))
    });
    assert!(outcome.result.is_ok() && sent.is_empty(), "{outcome:?}");
    let (sent, outcome) = desk.run_with(&limited(&["first", "other"], budget(1), at_once), "more", {
        priced("more", Some(desk.memo(&before, "old")))
    });
    assert_eq!((outcome.result.unwrap_err().code.as_str(), sent.len()), ("BUDGET_EXCEEDED", 0));
}

/// Wherever its process ends, the run goes on to the same end with the same calls.
#[test]
fn an_edited_run_that_is_cut_off_anywhere_has_the_same_limits_when_it_goes_on() {
    let desk = Desk::new();
    let all = ["first", "second", "third"];
    let before = limited(&all, calls(3), chain);
    desk.run(&before, "old", None);
    let skip = Budget { on_exceeded: OnExceeded::SkipRemaining, ..calls(1) };
    for (name, after, most) in [
        ("over", limited(&["one", "second", "two"], calls(1), in_turn), 1),
        ("within", limited(&["first", "other", "third"], calls(1), in_turn), 1),
        ("skips", limited(&["one", "two", "third"], skip, chain), 2),
    ] {
        desk.run(&after, name, Some(desk.memo(&before, "old")));
        let whole = desk.world.journal.entries(name);
        let EntryKind::Finished { output, error, .. } = &whole.last().unwrap().kind else { panic!("{whole:?}") };
        for cut in 1..whole.len() {
            let journal = Arc::new(MemoryJournal::new());
            block_on(journal.append_entries(name, &whole[..cut], &[])).unwrap();
            let ports = trefoil_runtime::Ports { journal: journal.clone(), ..desk.world.ports.clone() };
            // What was in progress was made, and is made once more: that is a call.
            let in_progress = whole[..cut].iter().fold(0i32, |open, entry| match &entry.kind {
                EntryKind::Scheduled { .. } => open + 1,
                EntryKind::Completed { about, .. } if about.from.is_none() => open - 1,
                _ => open,
            });
            if in_progress > 0 {
                continue;
            }
            let options = Desk::options(name, Some(desk.memo(&before, "old")));
            let outcome = block_on(driver::resume_prepared(PreparedProgram::new(after.clone()), name, ports, options));
            assert_eq!(
                outcome.result.as_ref().ok(),
                output.as_ref().map(trefoil_machine::PrivateValue::exact_value),
                "{cut} of {}",
                whole.len()
            );
            assert_eq!(outcome.result.as_ref().err().map(|e| &e.message), error.as_ref().map(|e| &e.message));
            assert_eq!(outcome.calls, most, "{cut} of {}", whole.len());
            let verified =
                block_on(driver::verify_journal(PreparedProgram::new(after.clone()), name, &*journal)).unwrap();
            let differences =
                verified.differences.iter().filter(|d| d.what != trefoil_machine::DifferenceKind::Citation);
            assert_eq!(differences.count(), 0, "{:?}", verified.differences);
        }
    }
}

/// A graph whose second node reads what was used so far, whose third one depends on it, and whose fourth reads what the first used.
fn reading(second: &str) -> Arc<Program> {
    let mut b = Build::new();
    let (a, x, c, d) = (b.model("a", "first"), b.model("b", second), b.model("c", "third"), b.model("d", "{{a}} said"));
    let mut text = b.text(&format!("{second} {{{{a.total_tokens}}}}"));
    text.sources = vec![Source::Spent(Vec::new())];
    b.call_of(x).user = ValueExpression::Template(text);
    let mut text = b.text("used {{a.total_tokens}}");
    let Source::Slot(slot) = text.sources[0] else { panic!("a slot") };
    text.sources = vec![Source::Spent(vec![slot])];
    b.call_of(d).user = ValueExpression::Template(text);
    let mut when = b.cond("{{a.total_tokens}} > 3");
    when.sources = vec![Source::Spent(Vec::new())];
    b.at(c).when = Some(when);
    let body = b.sequence("", &[a, x, c, d]);
    let main = b.flow("main", body, None);
    b.program(main)
}

#[test]
fn what_a_program_reads_about_its_usage_is_as_from_scratch() {
    let desk = Desk::new();
    let before = reading("second");
    let (sent, _) = desk.run(&before, "old", None);
    assert_eq!(sent, ["first", "second 3", "third", "used 3"]);
    assert_eq!(desk.run(&before, "same", Some(desk.memo(&before, "old"))).0, Vec::<String>::new());
    let after = reading("other");
    let (sent, outcome) = desk.run(&after, "new", Some(desk.memo(&before, "old")));
    assert_eq!(sent, ["other 3"]);
    // Also if a result was reused by the run that it is reused from.
    let both = desk.memo(&after, "new").with_older(desk.memo(&before, "old"));
    assert_eq!(desk.run(&before, "back", Some(both)).0, Vec::<String>::new());
    assert_eq!(outcome.usage.total_tokens(), 5, "what is kept is not spent again");
}

#[test]
fn a_budget_that_skips_nodes_counts_what_is_kept() {
    let desk = Desk::new();
    let skip = |max_tokens, max_calls| Budget { max_tokens, max_calls, on_exceeded: OnExceeded::SkipRemaining, ..NONE };
    for (name, budget) in [("calls", skip(None, Some(1))), ("tokens", skip(Some(3), None))] {
        let before = limited(&["first", "second", "third"], budget, chain);
        let (sent, old) = desk.run(&before, name, None);
        assert_eq!(sent.len(), 2, "the second call exceeds the budget");
        let (sent, new) = desk.run(&before, &format!("{name}-fork"), Some(desk.memo(&before, name)));
        assert_eq!((sent.len(), new.result), (0, old.result));
    }
}
