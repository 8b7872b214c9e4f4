//! Measures the detection rate with a limited number of tries. The required minimum only rises.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};

use mutations::{Limits, run};

const DIALECTS: [&str; 3] = ["agntz", "aegis", "sirenspec"];

/// The required proportion of mistakes in the examples that are found on the right line.
const FLOOR: f64 = 0.985;

/// The examples contain no HTTP tools and nothing specific to containers, so these classes are tried only with a
/// corpus.
const WITHOUT_EXAMPLE: [&str; 5] = [
    "a key in a header",
    "a host that data decides",
    "a key of what only containers need misspelt",
    "an amount that is none",
    "a default response that no transition is for",
];

fn folders() -> Vec<(&'static str, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    DIALECTS.iter().map(|d| (*d, root.join(d))).collect()
}

#[test]
fn every_class_is_tried() {
    let outcome = run(&folders(), &Limits { seed: 1, per_file: 1, per_class: 1 });
    let untried: Vec<_> = outcome.rows.iter().filter(|r| r.tries == 0).map(|r| r.class).collect();
    assert_eq!(untried, WITHOUT_EXAMPLE, "classes that no example has a place for");
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn seeded_mistakes_are_found_where_they_are() {
        let outcome = run(&folders(), &Limits { seed: 1, per_file: 1, per_class: 6 });
        let (tries, _, placed) = outcome.totals();
        assert!(outcome.rows.len() >= 40, "only {} classes", outcome.rows.len());
        assert!(outcome.manifests >= 30, "only {} sound examples", outcome.manifests);
        assert!(tries >= 200, "only {tries} mistakes");
        let share = placed as f64 / tries as f64;
        assert!(share >= FLOOR, "{share:.3} of the mistakes are found, not {FLOOR}:\n{}", outcome.table(true));
    }
}
