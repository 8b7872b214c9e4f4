//! Random programs, with work that ends in any order, and processes that end anywhere.

use proptest::prelude::*;
use proptest::test_runner::Config;
use trefoil_machine::{PreparedProgram, RunError};
use trefoil_template::Value;

use crate::memory_host::{Left, MemoryHost};
use crate::random::{node, program};

/// How many processes a run may need.
const PROCESSES: usize = 1_000;

#[allow(clippy::disallowed_methods, reason = "how many cases is for whoever runs the tests to say")]
fn config() -> Config {
    let cases = std::env::var("TREFOIL_COORDINATED").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// Runs to the end. `crash`: how many actions the next process does.
fn finish(host: &mut MemoryHost, mut crash: impl FnMut(&mut MemoryHost) -> usize) -> Result<String, String> {
    for _ in 0..PROCESSES {
        let actions = crash(host);
        match host.process(actions) {
            Left::Crashed | Left::Suspended => {}
            Left::Stopped(error) => panic!("{error}"),
            Left::Ended(result) => return shape(&result),
        }
    }
    panic!("the run does not end");
}

fn shape(result: &Result<Value, RunError>) -> Result<String, String> {
    result.as_ref().map(Value::canonical_text).map_err(|error| error.to_string())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_run_whose_processes_end_anywhere_ends_as_one_of_a_single_process(root in node(), seed in any::<u64>()) {
        let program = PreparedProgram::new(program(&root));
        let mut whole = MemoryHost::new(&program, 1);
        let expected = finish(&mut whole, |_| usize::MAX);
        prop_assert!(expected.is_ok(), "{:?}", expected);
        let mut other = MemoryHost::new(&program, seed);
        prop_assert_eq!(&expected, &finish(&mut other, |_| usize::MAX), "in another order");
        let mut crashed = MemoryHost::new(&program, seed);
        // Each process gets further than the one before, at least in the end.
        let mut most = 2;
        let result = finish(&mut crashed, |host| {
            most += 1;
            host.choose(most)
        });
        prop_assert_eq!(&expected, &result, "after crashes");
        for host in [&whole, &other, &crashed] {
            prop_assert!(host.repeated.is_empty(), "done twice: {:?}", host.repeated);
        }
        let effects = |host: &MemoryHost| host.effects.keys().cloned().collect::<Vec<_>>();
        prop_assert_eq!(effects(&whole), effects(&crashed));
    }
}
