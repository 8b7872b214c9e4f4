//! One kind in one format: its folder and store, what somebody does, and the requirements afterwards.

use std::collections::BTreeMap;
use std::process::Command;

use super::flows::Format;
use super::{Deed, Kind};
use crate::journal::Journal;
use crate::place::{Place, Prepared};
use crate::strace::{self, Point};
use crate::world::{Folder, Ran, finish, wait};

/// Where the process is killed.
#[derive(Debug)]
pub enum Cut {
    /// At a commit.
    Commit(Point),
    /// In the middle of the effect.
    Effect,
}

/// What a process left.
pub struct Left {
    place: Place,
    done: String,
    first: Option<String>,
    grants: usize,
}

impl Left {
    /// How often the effect had happened.
    pub fn times(&self) -> usize {
        self.done.lines().count()
    }
}

pub struct Scene<'k> {
    kind: &'k Kind,
    format: &'k Format,
    folder: Folder,
    place: Place,
    /// The run that was started first.
    first: Option<String>,
    /// How often somebody has had the effect repeated, or may have.
    grants: usize,
    /// The journals when a process was killed, with the ids of their runs.
    cuts: Vec<(String, Journal)>,
}

impl<'k> Scene<'k> {
    pub fn new(kind: &'k Kind, format: &'k Format, store: &Prepared) -> Self {
        let (folder, place) = (Folder::new(), store.place(false));
        format.put(&folder, kind.asks);
        Self { kind, format, folder, place, first: None, grants: 0, cuts: Vec::new() }
    }

    fn at(&self, ran: &Ran) -> String {
        format!("{}, {}: {}{}", self.kind.name, self.format.name, ran.out, ran.err)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.folder.command(args);
        command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", self.place.store());
        command.env("TREFOIL_CONFIG_DIR", self.folder.path().join("config"));
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        finish(self.command(args))
    }

    fn done(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("done")).unwrap_or_default()
    }

    pub fn times(&self) -> usize {
        self.done().lines().count()
    }

    /// The runs that no other run has called, the newest first.
    fn runs(&self) -> Vec<String> {
        let listed = self.run(&["runs", "list", "--output", "json", "--store", &self.place.left()]);
        assert_eq!(listed.code, 0, "{}", self.at(&listed));
        let listed = listed.json();
        let own = listed["runs"].as_array().unwrap().iter().filter(|run| run["parent"].is_null());
        own.map(|run| run["run"].as_str().unwrap().to_owned()).collect()
    }

    fn journal(&self, run: &str) -> Journal {
        let exported = self.run(&["runs", "export", run, "--store", &self.place.left()]);
        assert_eq!(exported.code, 0, "{}", self.at(&exported));
        Journal(exported.lines())
    }

    /// Whether the flow was renamed by now, or is to be.
    fn renames(&self) -> bool {
        self.kind.act == Deed::Rename || self.kind.before.contains(&Deed::Rename)
    }

    /// The run that continues, if it is in the store: the newest.
    fn current(&self) -> Option<String> {
        let first = self.first.as_ref();
        let edited = first.is_some() && self.renames();
        self.runs().into_iter().find(|run| !edited || Some(run) != first)
    }

    fn deed(&self, deed: Deed) -> Command {
        let first = self.first.as_deref().unwrap_or_default();
        let newest = || self.runs().swap_remove(0);
        match deed {
            Deed::Run | Deed::Fail | Deed::Lose => self.command(&["run", "flow.yaml", "--allow-command"]),
            Deed::Answer => self.command(&["runs", "answer", &newest(), self.format.asks, "yes"]),
            Deed::Decide => self.decision(&newest(), "PAY"),
            Deed::Resume => self.command(&["resume", first, "--allow-command"]),
            Deed::Rename => self.command(&["resume", first, "--with", "renamed.yaml", "--allow-command"]),
            Deed::Rerun => self.command(&["resume", &newest(), "--rerun", "SEND", "--allow-command"]),
        }
    }

    /// What somebody decides who looks whether it was done. The effect is repeated only if that is wanted.
    fn decision(&self, run: &str, step: &str) -> Command {
        let words: &[&str] = match () {
            () if self.kind.fails => &["fail"],
            () if self.times() < self.kind.times => &["retry"],
            () => &["done", "--result", "paid"],
        };
        self.command(&[&["runs", "answer", run, step], words].concat())
    }

    /// Counts what permits a repetition, before it may.
    fn grants(&mut self, deed: Deed) {
        let decides = deed == Deed::Decide && !self.kind.fails && self.times() < self.kind.times;
        self.grants += usize::from(decides || deed == Deed::Rerun);
    }

    /// Does something undisturbed.
    pub fn perform(&mut self, deed: Deed) {
        self.grants(deed);
        let command = self.deed(deed);
        let broken = self.folder.path().join("broken");
        match deed {
            Deed::Lose => assert!(self.killed_in_effect(command), "{}: it has no effect", self.format.name),
            Deed::Fail => {
                std::fs::write(&broken, "").unwrap();
                let ran = finish(command);
                assert_eq!(ran.code, 1, "{}", self.at(&ran));
                std::fs::remove_file(&broken).unwrap();
            }
            _ => {
                let ran = finish(command);
                assert!([0, 75].contains(&ran.code), "{deed:?}, {}", self.at(&ran));
            }
        }
        self.first = self.first.take().or_else(|| self.runs().pop());
        if deed == Deed::Lose {
            let open = self.journal(self.first.as_ref().unwrap()).open(self.format.sort);
            assert!(open.len() == 1 && self.times() == 1, "{}: the outcome is not unknown", self.format.name);
        }
    }

    /// Keeps the state, so that every kill starts from it.
    pub fn leave(&self) -> Left {
        Left { place: self.place.copied(), done: self.done(), first: self.first.clone(), grants: self.grants }
    }

    pub fn restore(&mut self, left: &Left) {
        self.place = left.place.copied();
        self.folder.write("done", &left.done);
        (self.first, self.grants) = (left.first.clone(), left.grants);
        self.cuts.clear();
    }

    /// Does it undisturbed; the commits.
    pub fn commits(&mut self) -> Vec<Point> {
        self.grants(self.kind.act);
        let log = self.folder.path().join("watch.log");
        let ran = finish(strace::watched(&self.deed(self.kind.act), &log));
        assert!([0, 1, 75].contains(&ran.code), "{}", self.at(&ran));
        self.place.killed(None);
        let kept = self.place.kept();
        let all = strace::points(&std::fs::read_to_string(log).unwrap(), false, kept);
        all.into_iter().filter(|point| point.call == kept.append()).collect()
    }

    /// Does it, and kills the process. Returns whether it was killed.
    pub fn cut(&mut self, cut: &Cut) -> bool {
        self.grants(self.kind.act);
        let command = self.deed(self.kind.act);
        let killed = match cut {
            Cut::Effect => self.killed_in_effect(command),
            Cut::Commit(point) => {
                let ran = finish(strace::stopped(&command, point, &self.folder.path().join("strace.log")));
                assert!(!ran.err.contains("panicked"), "{}", self.at(&ran));
                self.place.killed(None);
                ran.code == -1
            }
        };
        self.cuts = self.runs().into_iter().map(|run| (run.clone(), self.journal(&run))).collect();
        killed
    }

    /// Kills the process while the effect lasts. Returns whether it came to it.
    fn killed_in_effect(&self, mut command: Command) -> bool {
        let before = self.times();
        self.folder.write("hold", "");
        let mut child = command.spawn().unwrap();
        let killed = loop {
            if self.times() > before {
                child.kill().unwrap();
                break true;
            }
            if child.try_wait().unwrap().is_some() {
                break false;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        std::fs::remove_file(self.folder.path().join("hold")).unwrap();
        wait(child);
        self.place.killed(None);
        killed
    }

    /// Continues until the run has ended, and decides what it asks. Returns the exit code and the output.
    pub fn end(&mut self) -> (i32, String) {
        self.first = self.first.take().or_else(|| self.runs().pop());
        for _ in 0..8 {
            let current = self.current();
            let ran = match &current {
                Some(run) => self.run(&["resume", run, "--allow-command", "--output", "json"]),
                None => self.run_again(),
            };
            self.is_permitted(&ran);
            self.first = self.first.take().or_else(|| self.runs().pop());
            let Some(run) = current else { continue };
            if ran.code == 75 {
                self.decide(&run);
            } else {
                return self.ended(ran);
            }
        }
        panic!("{}, {}: the run does not end", self.kind.name, self.format.name);
    }

    /// Does again what has left no run.
    fn run_again(&self) -> Ran {
        finish(self.deed(if self.first.is_some() { Deed::Rename } else { Deed::Run }))
    }

    /// The effect happens only as often as somebody has permitted, and is repeated only for a decision.
    fn is_permitted(&self, ran: &Ran) {
        let times = self.times();
        assert!(times <= 1 + self.grants && times <= self.kind.times, "{times} times, {}", self.at(ran));
    }

    /// Somebody answers what the run asks.
    fn decide(&mut self, run: &str) {
        let step = if self.renames() { "SEND" } else { "PAY" };
        if self.kind.asks && self.run(&["runs", "answer", run, self.format.asks, "yes"]).code == 0 {
            return;
        }
        let permits = !self.kind.fails && self.times() < self.kind.times;
        let decided = finish(self.decision(run, step));
        self.grants += usize::from(permits);
        if decided.code != 0 {
            // It does not ask whether the effect happened, but refuses to repeat it.
            assert!(permits, "{}", self.at(&decided));
            let ran = finish(self.deed(Deed::Rerun));
            assert!(ran.code == 0, "{}", self.at(&ran));
            self.is_permitted(&ran);
        }
    }

    fn ended(&self, ran: Ran) -> (i32, String) {
        assert_eq!(ran.code, i32::from(self.kind.fails), "{}", self.at(&ran));
        assert_eq!(self.times(), self.kind.times, "{}", self.at(&ran));
        let journals: BTreeMap<String, Journal> =
            self.runs().into_iter().map(|run| (run.clone(), self.journal(&run))).collect();
        let restarts: usize = journals.values().map(|journal| journal.restarts("PAY") + journal.restarts("SEND")).sum();
        assert!(restarts <= self.grants, "{restarts} repetitions for {} decisions, {}", self.grants, self.at(&ran));
        for (run, journal) in &self.cuts {
            let last = &journals[run].0;
            assert!(last.starts_with(&journal.0), "{:?}\nhas become\n{last:?}", journal.0);
        }
        let checked = self.run(&["store", "check"]);
        assert_eq!(checked.code, 0, "{}", self.at(&checked));
        (ran.code, ran.out)
    }
}
