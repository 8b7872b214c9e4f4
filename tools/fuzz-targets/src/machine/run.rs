//! Events of a run: any answers in any order, unexpected answers, cancellation at any moment.

use testbed::Run;
use trefoil_machine::Key;

use super::answers::Answers;

/// Completes pending activities one by one in any order; cancels the run after `longest` completions.
pub(crate) fn play(run: &mut Run, answers: &mut Answers, longest: usize) {
    for _ in 0..longest {
        if run.result.is_some() {
            break;
        }
        match answers.choices.below(60) {
            0 => stray(run, answers),
            1 if answers.choices.one_in(6) => break,
            _ => {}
        }
        if run.result.is_some() {
            break;
        }
        let at = answers.choices.below(run.pending.len());
        let Some(activity) = run.pending.get(at).cloned() else { unreachable!("nothing is under way") };
        let (result, usage) = answers.to(&activity);
        run.now_ms = answers.time(run.now_ms);
        run.complete(&activity.key, result, usage);
    }
    if run.result.is_none() {
        run.cancel();
    }
    assert!(run.result.is_some() && run.machine.is_finished(), "cancelled, and not finished");
    // Late completions have no effect.
    stray(run, answers);
    assert!(run.machine.cancel_run().commands.is_empty(), "cancelled twice");
}

/// Sends a completion that is not expected.
fn stray(run: &mut Run, answers: &mut Answers) {
    let over = run.keys.iter().find(|key| run.pending.iter().all(|a| a.key != **key)).cloned();
    for key in over.into_iter().chain([Key::from("nobody/asked")]) {
        let output = run.on(key, Err(answers.error()), None);
        assert!(output.commands.is_empty(), "nobody waited for that: {:?}", output.commands);
    }
}
