//! Steps with an effect, in each format, that are asked about, decided, retried or renamed: the process that does it is killed
//! between any two appends of the journal, and in the effect.
//!
//! Each kind is prepared once, and every kill starts from a copy of the same store, so that the points are the same each time. With a
//! file, a point is a commit: the process is killed when it has written it, so every number of appends is left once. With a server,
//! the points are the requests. The effect is a program that waits to be killed, so an unknown outcome does not depend on time.

mod flows;
mod scene;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Wanted;
use crate::place::Prepared;
use crate::strace::{Kept, Point, What, some};
use flows::{FORMATS, Format};
use scene::{Cut, Scene};

/// What somebody does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// Starts the run.
    Run,
    /// The same, but the effect fails.
    Fail,
    /// The same, but the process is killed in the effect, so that its outcome is unknown.
    Lose,
    /// Answers the question.
    Answer,
    /// Decides about an effect whose outcome is unknown.
    Decide,
    Resume,
    /// Resumes the run with the edited flow, in which all steps have other names.
    Rename,
    /// Allows the edited run to repeat the effect.
    Rerun,
}

/// What is killed.
pub struct Kind {
    name: &'static str,
    /// Whether there is a question before the effect.
    asks: bool,
    before: &'static [Deed],
    /// What is killed.
    act: Deed,
    /// Whether an effect whose outcome is unknown counts as failed.
    fails: bool,
    /// How often the effect happens: twice if somebody has it repeated.
    times: usize,
}

const KIND: Kind = Kind { name: "", asks: false, before: &[], act: Deed::Resume, fails: false, times: 1 };

/// An effect whose outcome is unknown, and the run asks about it.
const UNKNOWN: &[Deed] = &[Deed::Lose, Deed::Resume];
const DECIDED: &[Deed] = &[Deed::Lose, Deed::Resume, Deed::Decide];

const KINDS: &[Kind] = &[
    Kind { name: "paused: a question", asks: true, act: Deed::Run, ..KIND },
    Kind { name: "paused: the answer", asks: true, before: &[Deed::Run], act: Deed::Answer, ..KIND },
    Kind { name: "paused: what follows", asks: true, before: &[Deed::Run, Deed::Answer], ..KIND },
    Kind { name: "unknown: it asks", before: &[Deed::Lose], ..KIND },
    Kind { name: "decided: retry", before: UNKNOWN, act: Deed::Decide, times: 2, ..KIND },
    Kind { name: "decided: done", before: UNKNOWN, act: Deed::Decide, ..KIND },
    Kind { name: "decided: fail", before: UNKNOWN, act: Deed::Decide, fails: true, ..KIND },
    Kind { name: "retried", before: DECIDED, times: 2, ..KIND },
    Kind { name: "done", before: DECIDED, ..KIND },
    Kind { name: "failed", before: DECIDED, fails: true, ..KIND },
    Kind { name: "tried after a failure", before: &[Deed::Fail], ..KIND },
    Kind { name: "renamed", asks: true, before: &[Deed::Run, Deed::Answer, Deed::Resume], act: Deed::Rename, ..KIND },
    Kind { name: "renamed, unknown", before: &[Deed::Lose], act: Deed::Rename, times: 2, ..KIND },
    Kind { name: "renamed, repeated", before: &[Deed::Lose, Deed::Rename], act: Deed::Rerun, times: 2, ..KIND },
];

/// Kills of one kind in one format: that were reached, and that were not.
#[derive(Default, Clone, Copy)]
struct Count {
    reached: usize,
    missed: usize,
}

/// Kills what is wanted everywhere, at no more than `most` commits each. Prints how often.
pub fn killed_everywhere(store: &Prepared, wanted: &Wanted, most: usize) {
    let kinds: Vec<&Kind> = KINDS.iter().filter(|kind| wanted.names(kind.name)).collect();
    // If only some points are tested, each kind in one format, in turn.
    let all: Vec<(&Kind, &Format)> = kinds
        .iter()
        .enumerate()
        .flat_map(|(n, kind)| {
            FORMATS.iter().enumerate().map(move |(m, format)| (n % FORMATS.len() == m, *kind, format))
        })
        .filter_map(|(turn, kind, format)| (turn || !wanted.is_few()).then_some((kind, format)))
        .collect();
    let counts = crate::all(&all, |(kind, format)| {
        let count = catch_unwind(AssertUnwindSafe(|| killed(kind, format, store, most)));
        let count = count.map(|count| (kind.name, format.name, count));
        count.map_err(|why| why.downcast_ref::<String>().cloned().unwrap_or_default())
    });
    report(store, &kinds, &counts);
}

fn killed(kind: &Kind, format: &Format, store: &Prepared, most: usize) -> Count {
    let mut scene = Scene::new(kind, format, store);
    kind.before.iter().for_each(|deed| scene.perform(*deed));
    let left = scene.leave();
    let commits = scene.commits();
    let had_effect = scene.times() > left.times();
    let whole = scene.end();
    let mut count = Count::default();
    let mut cut = |cut: Cut| {
        scene.restore(&left);
        let reached = scene.cut(&cut);
        assert_eq!(scene.end(), whole, "{}, {}, {cut:?}", kind.name, format.name);
        count.reached += usize::from(reached);
        reached
    };
    let missed = if most == usize::MAX {
        // How many there are depends on whether the store has tidied up in between, so count until nothing is left.
        let call = store.kept().append();
        (1..).map(|n| Point { call, n, what: What::Kill }).take_while(|point| cut(Cut::Commit(point.clone()))).count();
        0
    } else {
        // The first requests of a process only connect it.
        let first = if store.kept() == Kept::OnServer { commits.len() / 3 } else { 0 };
        let points = some(commits.into_iter().skip(first).collect(), most);
        points.into_iter().filter(|point| !cut(Cut::Commit(point.clone()))).count()
    };
    if had_effect {
        assert!(cut(Cut::Effect), "{}, {}: it has no effect", kind.name, format.name);
    }
    Count { missed, ..count }
}

fn report(store: &Prepared, kinds: &[&Kind], counts: &[(&str, &str, Count)]) {
    let row = |name: &str, cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>10}")).collect();
        eprintln!("{name:26}{}", cells.concat());
    };
    let names: Vec<String> = FORMATS.iter().map(|format| format.name.to_owned()).collect();
    row(&format!("kill points {}", store.kept().place()), &names);
    for kind in kinds {
        let cell = |format: &Format| {
            let of = counts.iter().find(|(of, name, _)| (*of, *name) == (kind.name, format.name));
            of.map_or("-".to_owned(), |(.., count)| count.reached.to_string())
        };
        row(kind.name, &FORMATS.iter().map(cell).collect::<Vec<_>>());
    }
    let sum = |number: fn(&Count) -> usize| counts.iter().map(|(.., count)| number(count)).sum::<usize>();
    eprintln!("{:26}{:>10}, {} were not reached", "in all", sum(|c| c.reached), sum(|c| c.missed));
    for (kind, format, count) in counts {
        assert!(count.reached > 0, "{kind}, {format}: nothing was killed");
    }
    assert!(sum(|c| c.missed) * 4 <= sum(|c| c.reached), "most points must be reached, or nothing is tested");
}
