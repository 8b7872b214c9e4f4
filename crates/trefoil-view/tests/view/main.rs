//! The picture of a run, and its history.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests; one prints its measurements"
)]

mod random;

use std::time::Instant;

use random::{Numbers, events, fan_out};
use trefoil_runtime::{RunStatus, Usage};
use trefoil_view::run_view::{RunHistory, RunView, ViewDetail};
use trefoil_view::trace::{Trace, TraceSubject};

/// The picture after some events.
fn folded(events: &[trefoil_runtime::Event], detail: ViewDetail) -> RunView {
    let mut view = RunView::new(detail);
    for event in events {
        view.apply_event(event);
    }
    view
}

#[test]
fn the_state_after_any_event_is_the_fold_of_the_events_so_far() {
    let mut numbers = Numbers(7);
    for round in 0..40 {
        let detail = if round % 2 == 0 { ViewDetail::Full } else { ViewDetail::Rows };
        // Around the first snapshots, and over more than one thinning of them.
        let all = events(&mut numbers, if round == 0 { 20_000 } else { 40 * round });
        let mut history = RunHistory::new(RunView::new(detail));
        all.iter().for_each(|event| history.push(event.clone()));
        assert_eq!(*history.current_view(), folded(&all, detail));
        for _ in 0..8 {
            let count = numbers.below(all.len() as u64 + 1) as usize;
            assert_eq!(history.state_at(count), folded(&all[..count], detail), "round {round}, after {count} events");
        }
    }
}

#[test]
fn a_hundred_thousand_events_are_no_problem() {
    let before = resident_kb();
    let all: Vec<_> = fan_out(14_300).collect();
    let (events, count) = (resident_kb(), all.len());
    let mut history = RunHistory::new(RunView::default());
    let start = Instant::now();
    all.into_iter().for_each(|event| history.push(event));
    let (took, after) = (start.elapsed(), resident_kb());
    assert!(count > 100_000);
    let mut slowest = std::time::Duration::ZERO;
    for at in (0..=count).step_by(3_331) {
        let start = Instant::now();
        let view = history.state_at(at);
        slowest = slowest.max(start.elapsed());
        assert_eq!(view.at_ms, at.saturating_sub(1) as u64);
    }
    println!(
        "{count} events: {took:?}, events {} kB, picture and snapshots {} kB, state_at at most {slowest:?}",
        events.saturating_sub(before),
        after.saturating_sub(events),
    );
    assert!(slowest.as_secs() < 2, "{slowest:?}");
}

/// The memory of this process in kB; 0 where the system does not say it like Linux.
fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}

/// The steps of a trace.
fn steps(trace: &serde_json::Value) -> &[serde_json::Value] {
    trace["steps"].as_array().unwrap()
}

/// A step without what follows from the steps around it, which in a run start before it.
fn alone(step: &serde_json::Value) -> serde_json::Value {
    let mut step = step.clone();
    let members = step.as_object_mut().unwrap();
    members.remove("parent");
    members.remove("kept");
    step
}

#[test]
fn what_changed_since_an_earlier_trace_is_all_that_is_not_as_it_was() {
    let mut numbers = Numbers(11);
    let about = TraceSubject::default();
    let (mut sent, mut all) = (0, 0);
    for _ in 0..200 {
        let mut now = Trace::default();
        let mut before = now.clone();
        for event in events(&mut numbers, 60) {
            now.view.apply_event(&event);
            if numbers.below(3) > 0 {
                continue;
            }
            let mut told = now.clone();
            if numbers.below(3) == 0 && told.view.end.is_none() {
                let statuses = [RunStatus::Running, RunStatus::Waiting, RunStatus::Interrupted];
                let status = statuses[numbers.below(3) as usize];
                told.set_standing(status, told.view.open.clone(), (Usage::default(), 0));
            }
            let (old, new) = (before.to_json(&about), told.to_json(&about));
            let changes = told.changes_to_json(&about, &before);
            let mut left = steps(&changes).iter().peekable();
            for (index, step) in steps(&new).iter().enumerate() {
                let is_sent = left.next_if_eq(&step).is_some();
                let is_known = steps(&old).get(index).is_some_and(|known| alone(known) == alone(step));
                assert!(is_sent || is_known, "{step}\nis not in\n{changes}");
            }
            assert_eq!(left.next(), None, "a change is no step of the trace");
            for name in ["status", "output", "error", "usage", "waiting", "stopped", "warnings"] {
                assert_eq!(changes.get(name), new.get(name), "{name}");
            }
            assert_eq!((changes.get("input"), changes.get("graph")), (None, None));
            (sent, all) = (sent + steps(&changes).len(), all + steps(&new).len());
            before = told;
        }
    }
    assert!(sent * 2 < all, "{sent} of {all} steps were sent");
}
