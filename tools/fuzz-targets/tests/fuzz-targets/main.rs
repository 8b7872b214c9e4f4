//! Runs every target with its seeds and mutations of them: the same inputs in every run. `TREFOIL_FUZZ_RUNS=100000`
//! sets the number of inputs, `TREFOIL_FUZZ_TARGET=machine` selects a target, `TREFOIL_FUZZ_SEED=2` selects other
//! inputs.
//!
//! A failing input is reduced before it is shown. This is impossible for inputs that end the process (stack overflow):
//! with `TREFOIL_FUZZ_KEEP=DIR`, every input is written to `DIR/TARGET` before it is tried.
#![allow(clippy::panic, clippy::unwrap_used, clippy::print_stderr, reason = "a test says what is wrong by stopping")]

mod json;
mod lines;
mod mutate;
mod shrink;
mod watch;

use std::time::{Duration, Instant};

use fuzz_targets::{TARGETS, Target};
use mutate::Mutator;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

/// Time limit for a call: longer than any input of these sizes may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn call(target: &Target, input: &[u8], keep: Option<&std::path::Path>) {
    if let Some(dir) = keep {
        std::fs::write(dir.join(target.name), input).unwrap();
    }
    let began = Instant::now();
    if let Err(why) = watch::holds(target, input) {
        let small = shrink::smallest(target, input);
        let why = watch::holds(target, &small).err().unwrap_or(why);
        panic!("{}: {why}\n--- input\n{}\n--- end of input", target.name, String::from_utf8_lossy(&small));
    }
    let took = began.elapsed();
    assert!(took < PATIENCE, "{} took {took:?} for\n{}", target.name, String::from_utf8_lossy(input));
}

fn try_target(target: &'static Target) {
    let keep = std::env::var_os("TREFOIL_FUZZ_KEEP").map(std::path::PathBuf::from);
    let seeds = (target.seeds)();
    seeds.iter().for_each(|seed| call(target, seed.as_bytes(), keep.as_deref()));
    let mut mutator = Mutator::new(0x7ef0_11ed ^ number("TREFOIL_FUZZ_SEED", 0), target, seeds);
    for _ in 0..number("TREFOIL_FUZZ_RUNS", 4000) / target.weight {
        call(target, &mutator.next_input(), keep.as_deref());
    }
}

#[test]
fn targets_have_names_of_their_own_and_something_to_begin_with() {
    for (i, target) in TARGETS.iter().enumerate() {
        assert!(std::ptr::eq(fuzz_targets::target(target.name).unwrap_or(target), &TARGETS[i]), "{}", target.name);
        assert!(!(target.seeds)().is_empty() && !target.about.is_empty() && target.weight > 0);
    }
    assert!(fuzz_targets::target("nothing").is_none());
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn every_target_holds_for_its_seeds_and_their_mutations() {
        let only = std::env::var("TREFOIL_FUZZ_TARGET").ok();
        let chosen = TARGETS.iter().filter(|t| only.as_deref().is_none_or(|name| t.name == name));
        // Threads with the default stack size, so that excessive recursion is detected.
        let running: Vec<_> =
            chosen.map(|target| (target.name, std::thread::spawn(move || try_target(target)))).collect();
        assert!(!running.is_empty(), "there is no target {only:?}");
        let failed: Vec<_> =
            running.into_iter().filter_map(|(name, thread)| thread.join().err().map(|_| name)).collect();
        assert!(failed.is_empty(), "see above: {failed:?}");
    }
}
