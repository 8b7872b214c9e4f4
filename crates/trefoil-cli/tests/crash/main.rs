//! Kills the real binary at many points, and resumes its runs.
//!
//! Each program first runs under `strace`, which records its system calls. Then it runs again for every commit and
//! every call that leaves the process, and `strace` kills it there; the binary has no code for this. Full and failing
//! disks are simulated in the same way. This is done for stores in a file and on a database server. After each kill,
//! the run is resumed until it ends, and compared with the first one: see [`case`].
//!
//! `TREFOIL_CRASH=all` tests every point with a file and an even selection with a server; `TREFOIL_CRASH=every` tests
//! all points with both. Either fails if `strace` is missing. By default, only some points are tested, so that running
//! all tests does not take minutes. `TREFOIL_CRASH=NAME` tests every point of one program or kind.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test that cannot go on fails, and a skipped one says so"
)]

mod case;
mod effects;
mod journal;
mod place;
mod programs;
#[path = "../cli/provider.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod provider;
mod strace;
#[path = "../cli/world.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod world;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use case::{Act, Case, Scene, Whole};
use place::Prepared;
use programs::{PROGRAMS, Program};
use strace::{Kept, Point, What, some};
use world::{Folder, finish};

/// Default number of points for each program.
const FEW: usize = 3;
/// Number of points on a database server, where each takes longer, if all programs are tested.
const SOME: usize = 16;

/// The programs and kinds to test: all, or one by name.
struct Wanted(Option<String>);

impl Wanted {
    /// Whether a program or a kind of this name is to be tested.
    fn names(&self, one: &str) -> bool {
        self.0.as_deref().is_none_or(|name| ["all", "every", one].contains(&name))
    }

    /// Whether only some points are tested.
    fn is_few(&self) -> bool {
        self.0.is_none()
    }

    /// Number of points: `few` by default, `some` if all programs are tested.
    fn most(&self, few: usize, some: usize) -> usize {
        match self.0.as_deref() {
            None => few,
            Some("all") => some,
            Some(_) => usize::MAX,
        }
    }
}

/// `None` if nothing can be killed here and no test was requested.
fn wanted() -> Option<Wanted> {
    let wanted = std::env::var("TREFOIL_CRASH").ok();
    if !strace::exists() {
        assert!(wanted.is_none(), "`strace` is not installed");
        untested::skipped("`strace` is not installed, so nothing was killed");
        return None;
    }
    Some(Wanted(wanted))
}

/// Creates an empty store.
fn prepare(folder: &Folder, store: &str) {
    folder.write(
        "hello.yaml",
        "id: hello\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: P.\n",
    );
    let mut create = folder.command(&["run", "hello.yaml", "--model", "embedded"]);
    create.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", store);
    finish(create).exits(0);
    folder.trefoil(&["store", "prune", "--keep", "0s", "--store", store]).exits(0);
}

fn cut_off_everywhere(store: &Prepared, wanted: &Wanted, most: usize) {
    let programs: Vec<&Program> = PROGRAMS.iter().filter(|program| wanted.names(program.name)).collect();
    let wholes: Vec<Whole> = all(&programs, |program| {
        let case = Case { acts: vec![(Act::Run, None)], torn: false };
        Scene::new(program, store).play(&case, None).map(Option::unwrap)
    });
    let planned: Vec<Vec<Case>> =
        all(&programs, |program| plan(program, store, most).map_err(|why| format!("{}: {why}", program.name)));
    let cases: Vec<(usize, Case)> =
        planned.into_iter().enumerate().flat_map(|(n, cases)| cases.into_iter().map(move |case| (n, case))).collect();
    let reached: Vec<(usize, Option<What>)> = all(&cases, |(n, case)| {
        let whole = Scene::new(programs[*n], store).play(case, Some(&wholes[*n]));
        let last = case.acts.last().and_then(|(_, point)| point.as_ref()).map(|point| point.what);
        whole
            .map(|whole| (*n, last.filter(|_| whole.is_some())))
            .map_err(|why| format!("{case:?}:\n{}: {why}", programs[*n].name))
    });
    report(store.kept(), &programs, &reached);
}

/// The points at which a program is cut off.
fn plan(program: &Program, store: &Prepared, most: usize) -> Result<Vec<Case>, String> {
    let first = Case { acts: vec![(Act::Run, None)], torn: false };
    let watch = |case: &Case| Scene::new(program, store).watch(case);
    let shown = program.done.is_empty();
    let kept = store.kept();
    let run = strace::points(&watch(&first)?, shown, kept);
    let at = |before: &[(Act, Option<Point>)], act: Act, point: Point| {
        let acts = before.iter().cloned().chain([(act, Some(point))]).collect();
        Case { acts, torn: false }
    };
    let mut cases: Vec<Case> = run.iter().map(|point| at(&[], Act::Run, point.clone())).collect();
    // Also cut it off while it is resumed.
    let beats: Vec<&Point> = run.iter().filter(|point| point.call == kept.beat()).collect();
    let late = beats[beats.len() * 3 / 4].clone();
    let mut later = vec![(vec![(Act::Run, Some(late))], Act::Resume)];
    if program.first {
        later.clear();
    } else if program.answer.is_some() {
        later = vec![(vec![(Act::Run, None)], Act::Answer), (vec![(Act::Run, None), (Act::Answer, None)], Act::Resume)];
    }
    for (before, act) in later {
        let watched = Case { acts: before.iter().cloned().chain([(act, None)]).collect(), torn: false };
        let points = strace::points(&watch(&watched)?, shown, kept);
        let points = if program.answer.is_some() { points } else { some(points, 8) };
        cases.extend(points.into_iter().map(|point| at(&before, act, point)));
    }
    let mut cases = some(cases, most);
    if kept == Kept::OnServer {
        // The server itself handles its disk.
        return Ok(cases);
    }
    let writes: Vec<Point> = run.iter().filter(|point| point.call == "pwrite64").cloned().collect();
    let commits: Vec<Point> = beats.into_iter().cloned().collect();
    // The last write is incomplete, as after a power failure before the commit was synced.
    let torn = some(commits.clone(), 4).into_iter().map(|point| Case { torn: true, ..at(&[], Act::Run, point) });
    let full = some(writes, 4).into_iter().map(|point| at(&[], Act::Run, Point { what: What::Full, ..point }));
    let broken = some(commits, 3).into_iter().map(|point| at(&[], Act::Run, Point { what: What::Broken, ..point }));
    let faults: Vec<Case> = torn.chain(full).chain(broken).collect();
    cases.extend(some(faults, most));
    Ok(cases)
}

/// Runs work for all items, several at a time, because each mostly waits for the disk.
fn all<'t, T: Sync, R: Send>(things: &'t [T], work: impl Fn(&'t T) -> Result<R, String> + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from) + 1;
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let n = next.fetch_add(1, Ordering::SeqCst)
                    && let Some(thing) = things.get(n)
                {
                    let result = work(thing);
                    done.lock().unwrap().insert(n, result);
                }
            });
        }
    });
    let (mut results, mut failed) = (Vec::new(), Vec::new());
    for (_, result) in done.into_inner().unwrap() {
        match result {
            Ok(result) => results.push(result),
            Err(why) => failed.push(why),
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {} failed:\n\n{}",
        failed.len(),
        things.len(),
        failed[..failed.len().min(20)].join("\n\n")
    );
    results
}

fn report(kept: Kept, programs: &[&Program], reached: &[(usize, Option<What>)]) {
    let count = |n: Option<usize>, kill: bool| {
        let of = reached.iter().filter(|(program, what)| {
            n.is_none_or(|n| n == *program) && what.is_some_and(|what| (what == What::Kill) == kill)
        });
        of.count()
    };
    eprintln!("runs {}:", kept.place());
    for (n, program) in programs.iter().enumerate() {
        eprintln!(
            "{:14} {:4} kill points, {} faults of the disk",
            program.name,
            count(Some(n), true),
            count(Some(n), false)
        );
    }
    let missed = reached.iter().filter(|(_, what)| what.is_none()).count();
    eprintln!("{:14} {:4} kill points, {} faults of the disk", "in all", count(None, true), count(None, false));
    eprintln!("{:14} {missed} were not reached", "");
    assert!(reached.is_empty() || missed * 4 < reached.len(), "most points must be reached, or nothing is tested");
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod killed_hunt {
    use super::*;

    #[test]
    fn a_run_that_is_cut_off_anywhere_ends_as_if_nothing_had_happened() {
        let Some(wanted) = wanted() else { return };
        let folder = Folder::new();
        let store = folder.path().join("runs.db");
        prepare(&folder, store.to_str().unwrap());
        cut_off_everywhere(&Prepared::File(store), &wanted, wanted.most(FEW, usize::MAX));
    }

    #[test]
    #[cfg(feature = "postgres")]
    fn the_same_holds_for_runs_on_a_database_server() {
        let Some(wanted) = wanted() else { return };
        let Some(server) = testbed::postgres::server() else { return };
        let (folder, database) = (Folder::new(), server.database());
        prepare(&folder, &server.local_address(&database));
        cut_off_everywhere(&Prepared::Server(server, database), &wanted, wanted.most(1, SOME));
    }

    #[test]
    fn an_effect_that_is_paused_decided_retried_or_renamed_happens_only_as_often_as_permitted() {
        let Some(wanted) = wanted() else { return };
        let folder = Folder::new();
        let store = folder.path().join("runs.db");
        prepare(&folder, store.to_str().unwrap());
        effects::killed_everywhere(&Prepared::File(store), &wanted, wanted.most(1, usize::MAX));
    }

    #[test]
    #[cfg(feature = "postgres")]
    fn the_same_holds_for_effects_of_runs_on_a_database_server() {
        let Some(wanted) = wanted().filter(|wanted| !wanted.is_few()) else { return };
        let Some(server) = testbed::postgres::server() else { return };
        let (folder, database) = (Folder::new(), server.database());
        prepare(&folder, &server.local_address(&database));
        effects::killed_everywhere(&Prepared::Server(server, database), &wanted, wanted.most(1, 2));
    }
}
