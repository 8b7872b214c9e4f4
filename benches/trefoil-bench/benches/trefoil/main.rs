//! `cargo bench -p trefoil-bench [-- PART...]`: runs the named parts, or all of them, and prints one Markdown table.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a bench talks to a person")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a bench that cannot set up has nothing to say"
)]

mod chains;
mod check;
mod durable;
mod lists;
mod load;
mod machine;
mod manifests;
mod race;
mod serve;
mod store;
mod table;
mod templates;
mod tools;

use std::time::Duration;

use race::{Race, Standing};

/// A part's name and its races.
type Part = (&'static str, fn(&mut Vec<Standing>));

const PARTS: &[Part] = &[
    ("templates", templates::races),
    ("load", load::races),
    ("check", check::races),
    ("chains", chains::races),
    ("machine", machine::races),
    ("store", store::races),
    ("durable", durable::races),
    ("lists", lists::races),
    ("serve", serve::races),
    ("tools", tools::races),
];

fn main() {
    if let Ok(kept) = std::env::var(durable::WAITING) {
        return durable::wait(&kept);
    }
    if std::env::var_os(serve::WAITING).is_some() {
        return serve::wait();
    }
    if std::env::var_os(tools::SERVER).is_some() {
        return tools::serve();
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let mut standings = Vec::new();
    for (name, races) in PARTS {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            eprintln!("{name} ...");
            races(&mut standings);
        }
    }
    println!("{}", table::markdown(&standings));
}

/// Runs a race with short work.
fn short(race: Race<'_>) -> Standing {
    race.run(31, Duration::from_millis(4))
}

/// Runs a race with long work.
fn long(race: Race<'_>) -> Standing {
    race.run(7, Duration::from_millis(40))
}

/// Runs a race whose work is long enough to be timed as a single run.
fn single(race: Race<'_>) -> Standing {
    race.run(5, Duration::from_millis(1))
}
