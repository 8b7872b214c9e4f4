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
use trefoil_view::run_view::{RunHistory, RunView, ViewDetail};

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
