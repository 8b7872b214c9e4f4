//! Runs programs to their end, with any answers in any order.

mod answers;
mod run;

use std::borrow::Cow;
use std::sync::Arc;

use testbed::Run;
use trefoil_machine::{Flags, Machine, PreparedProgram};

use crate::manifest::{self, Bundle, Folder, KEYS, WORDS};
use crate::{Shape, Target};

pub(crate) use answers::{Answers, Choices};
pub(crate) use run::play;

pub(crate) const TARGET: Target = Target {
    name: "machine",
    about: "a program without errors runs to an end whatever the answers, never panics, and leaves nothing active",
    seeds,
    words: WORDS,
    shape: Shape::Manifests { keys: KEYS, broken: &[] },
    weight: 24,
    run,
};

/// Maximum number of completions in a run; then it is cancelled.
const LONGEST: usize = 150;

fn seeds() -> Vec<Cow<'static, str>> {
    let all = manifest::AGNTZ.iter().chain(manifest::AEGIS).chain(manifest::SIRENSPEC);
    all.flat_map(|seed| [1, 2].map(|n| format!("{seed}\n=== choices {n}\n").into())).collect()
}

fn run(bytes: &[u8]) {
    let bundle = Bundle::split(bytes);
    let mut choices = Choices::new(bundle.choices);
    let folder = Folder::read(&bundle.files, manifest::front("agntz"));
    if folder.found.has_errors() || folder.project.documents.is_empty() {
        return;
    }
    // Mostly the first document, which in the seeds calls the others.
    let count = folder.project.documents.len();
    let at = if choices.one_in(4) { choices.below(count) } else { 0 };
    let (Some(lowered), _) = folder.lower(at) else { return };
    let program = Arc::new(lowered.program);
    let mut answers = Answers::new(&program, choices);
    let input = answers.input(&program);
    let prepared = PreparedProgram::new(program);
    let flags = Flags { seed: answers.seed(), ..Flags::default() };
    let mut run = Run::start(&prepared, input, flags);
    play(&mut run, &mut answers, LONGEST);
    for _ in 0..3 {
        let cut = 1 + answers.choices.below(run.entries.len());
        let kept = run.entries.get(..cut).unwrap_or_default();
        match Machine::replay_journal(prepared.clone(), kept) {
            Err(why) => unreachable!("cut at {cut}: {why}"),
            Ok(resumed) if cut == run.entries.len() => assert!(resumed.machine.is_finished()),
            Ok(resumed) => play(&mut Run::resume(resumed, kept), &mut answers, 10),
        }
    }
}
