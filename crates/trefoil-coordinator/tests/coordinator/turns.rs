//! The order of a turn.

use trefoil_coordinator::TurnPhase;

#[test]
fn what_is_requested_is_reused_before_it_is_scheduled_and_stored_before_it_is_started() {
    let mut all = vec![TurnPhase::Results];
    all.extend(std::iter::successors(all[0].next_phase(), |phase| phase.next_phase()));
    assert_eq!(all, TurnPhase::ALL);
    let order = [TurnPhase::Permission, TurnPhase::LookUp, TurnPhase::Reuse, TurnPhase::Limits, TurnPhase::Schedule];
    assert!(order.is_sorted());
    assert!([TurnPhase::Schedule, TurnPhase::Commit, TurnPhase::Start, TurnPhase::Wait].is_sorted());
}
