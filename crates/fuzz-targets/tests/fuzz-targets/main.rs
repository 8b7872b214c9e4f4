//! Every target with its seeds and with mutations of them: the same inputs in every run, more with
//! `TREFOIL_FUZZ_RUNS=100000`.
#![allow(clippy::panic, clippy::print_stderr, reason = "a test says what is wrong by stopping")]

mod mutate;

use std::panic::{AssertUnwindSafe, catch_unwind};

use fuzz_targets::TARGETS;
use mutate::Mutator;

fn runs() -> u64 {
    std::env::var("TREFOIL_FUZZ_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(4000)
}

#[test]
fn every_target_holds_for_its_seeds_and_their_mutations() {
    for target in TARGETS {
        let call = |input: &[u8]| {
            if catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err() {
                panic!("{} does not hold for {:?}", target.name, String::from_utf8_lossy(input));
            }
        };
        target.seeds.iter().for_each(|seed| call(seed.as_bytes()));
        let mut mutator = Mutator::new(0x7ef0_11ed, target.seeds, target.words);
        for _ in 0..runs() {
            call(&mutator.next_input());
        }
    }
}

#[test]
fn targets_have_names_of_their_own_and_something_to_begin_with() {
    for (i, target) in TARGETS.iter().enumerate() {
        assert!(std::ptr::eq(fuzz_targets::target(target.name).unwrap_or(target), &TARGETS[i]), "{}", target.name);
        assert!(!target.seeds.is_empty() && !target.about.is_empty());
    }
    assert!(fuzz_targets::target("nothing").is_none());
}
