//! One run that is cut off, once or twice, and the requirements afterwards.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value as Json;

use crate::journal::Journal;
use crate::place::{Place, Prepared};
use crate::programs::Program;
use crate::provider::{KEY, Provider, WORD, said};
use crate::strace::{self, Point, What};
use crate::world::{Folder, Ran, finish};

/// A user's command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Run,
    Answer,
    Resume,
}

/// The commands, and where each is cut off. Then the run is resumed until it ends.
#[derive(Debug, Clone, Default)]
pub struct Case {
    pub acts: Vec<(Act, Option<Point>)>,
    /// After the kill, the last write to the write-ahead log is incomplete if it was not synced, as after a power
    /// failure.
    pub torn: bool,
}

/// The end of an undisturbed run.
#[derive(Debug, PartialEq)]
pub struct Whole {
    out: String,
    calls: usize,
    /// Tokens and cost; calls.
    spent: (Json, Json),
}

/// A program with its own folder and provider.
pub struct Scene<'p> {
    program: &'p Program,
    folder: Folder,
    place: Place,
    provider: Provider,
    run: Option<String>,
    /// What was scheduled without an end when a process ended: the kind, the key, the entry.
    unknown: BTreeSet<(&'static str, String, u64)>,
    /// The journals when a process ended, each with the id of its run, and the number of calls until then.
    cuts: Vec<(String, Journal, usize)>,
}

impl<'p> Scene<'p> {
    pub fn new(program: &'p Program, store: &Prepared) -> Self {
        let (folder, place) = (Folder::new(), store.place(program.first));
        program.put(&folder);
        let provider = Provider::with_usage(|prompt| (prompt.len(), said(prompt).len()));
        let (unknown, cuts) = (BTreeSet::new(), Vec::new());
        Self { program, folder, place, provider, run: None, unknown, cuts }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.folder.command(args);
        command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", self.place.store());
        command.env("TREFOIL_CONFIG_DIR", self.folder.path().join("config"));
        command.env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", self.provider.address()).env("SECRET_WORD", WORD);
        command
    }

    fn trefoil(&self, args: &[&str]) -> Ran {
        finish(self.command(args))
    }

    /// The arguments for commands that may run shell commands.
    fn may(&self) -> &'static [&'static str] {
        if self.program.done.is_empty() { &[] } else { &["--allow-command"] }
    }

    fn act(&self, act: Act) -> Command {
        let run = self.run.as_deref().unwrap_or_default();
        match act {
            Act::Run => {
                let shown = ["run", self.program.target(), "--events", "jsonl"];
                self.command(&[&shown, self.program.args, self.may()].concat())
            }
            Act::Answer => {
                let (step, value) = self.program.answer.unwrap_or_default();
                self.command(&["runs", "answer", run, step, value])
            }
            Act::Resume => self.command(&[&["resume", run, "--events", "jsonl"], self.may()].concat()),
        }
    }

    /// The `strace` log of the last command; earlier commands run undisturbed.
    pub fn watch(mut self, case: &Case) -> Result<String, String> {
        let (last, before) = case.acts.split_last().unwrap();
        for (act, point) in before {
            self.perform(*act, point.as_ref(), false)?;
        }
        ensure(last.0 == Act::Run || self.run.is_some(), || format!("no run is left after {before:?}"))?;
        let log = self.folder.path().join("strace.log");
        let ran = finish(strace::watched(&self.act(last.0), &log));
        ensure([0, 75].contains(&ran.code), || {
            format!("{:?} under strace ended with {}: {}", last.0, ran.code, ran.err)
        })?;
        std::fs::read_to_string(&log).map_err(|error| error.to_string())
    }

    /// Runs all commands, and resumes until the end. `None`: a process ended before it reached its point.
    pub fn play(mut self, case: &Case, whole: Option<&Whole>) -> Result<Option<Whole>, String> {
        let mut reached = true;
        for (act, point) in &case.acts {
            reached &= self.perform(*act, point.as_ref(), case.torn)?;
        }
        let ended = self.end()?;
        if let Some(whole) = whole {
            self.compare(&ended, whole)?;
        }
        Ok(reached.then_some(ended))
    }

    /// Runs a command; returns whether it reached its point, if there is one.
    fn perform(&mut self, act: Act, point: Option<&Point>, torn: bool) -> Result<bool, String> {
        let command = self.act(act);
        let Some(point) = point else {
            let ran = finish(command);
            ensure([0, 75].contains(&ran.code), || format!("{act:?} ended with {}: {}", ran.code, ran.err))?;
            self.run = self.run.take().or(self.id()?);
            return Ok(true);
        };
        let log = self.folder.path().join("strace.log");
        let ran = finish(strace::stopped(&command, point, &log));
        ensure(!ran.err.contains("panicked"), || format!("a panic: {}", ran.err))?;
        let reached = match point.what {
            What::Kill => ran.code == -1,
            What::Full | What::Broken => ![0, 75].contains(&ran.code),
        };
        let asked = self.provider.asked_by_now().len();
        self.place.killed(torn.then_some(&log));
        self.no_secret()?;
        // A truncated line does not count as shown. `runs answer` shows no events.
        let out = self.here(&ran.out);
        let lines = out.split_inclusive('\n').filter(|_| act != Act::Answer);
        let shown: Vec<Json> = lines.filter_map(|line| serde_json::from_str(line).ok()).filter(lasts).collect();
        self.run = self.run.take().or(self.id()?);
        let Some(run) = self.run.clone() else {
            ensure(shown.is_empty() && asked == 0, || format!("no run is left of {shown:?}"))?;
            return Ok(reached);
        };
        self.kept(&run, &self.place.left(), &shown)?;
        for (run, _) in self.runs()? {
            let journal = self.journal(&run, &self.place.left())?;
            if !journal.ended() {
                for sort in ["model", "command"] {
                    let open = journal.open(sort).into_iter().map(|(key, seq)| (sort, format!("{run} {key}"), seq));
                    self.unknown.extend(open);
                }
            }
            self.cuts.push((run, journal, asked));
        }
        Ok(reached)
    }

    /// The ids of all runs in the store, each with the id of the run that has called it.
    fn runs(&self) -> Result<Vec<(String, Option<String>)>, String> {
        let listed = self.trefoil(&["runs", "list", "--output", "json", "--store", &self.place.left()]);
        ensure(listed.code == 0, || format!("runs list: {}", listed.err))?;
        let text = |json: &Json| json.as_str().map(ToOwned::to_owned);
        let listed = listed.json();
        let runs = listed["runs"].as_array().into_iter().flatten();
        Ok(runs.filter_map(|run| Some((text(&run["run"])?, text(&run["parent"])))).collect())
    }

    /// The id of the run, if it is in the store.
    fn id(&self) -> Result<Option<String>, String> {
        Ok(self.runs()?.into_iter().find(|(_, caller)| caller.is_none()).map(|(run, _)| run))
    }

    fn journal(&self, run: &str, store: &str) -> Result<Journal, String> {
        let exported = self.trefoil(&["runs", "export", run, "--store", store]);
        ensure(exported.code == 0, || format!("runs export: {}", exported.err))?;
        Ok(Journal(exported.lines()))
    }

    /// Replaces absolute paths by paths relative to the folder.
    fn here(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.folder.path().display()), "")
    }

    /// Requires that everything shown is stored. Times may differ, as may data that depends on the environment.
    fn kept(&self, run: &str, store: &str, shown: &[Json]) -> Result<(), String> {
        let told = self.trefoil(&["runs", "events", run, "--store", store]);
        ensure(told.code == 0, || format!("runs events: {}", told.err))?;
        let told = self.here(&told.out);
        let told: Vec<Json> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let fixed = |event: &Json| {
            let mut event = event.clone();
            for name in ["at_ms", "duration_ms", "answers_from", "effective_input", "messages", "prompt", "waiting"] {
                event.as_object_mut().unwrap().remove(name);
            }
            event
        };
        for event in shown {
            let at = usize::try_from(event["seq"].as_u64().unwrap()).unwrap();
            let stored = told.get(at).map(fixed);
            ensure(stored.as_ref() == Some(&fixed(event)), || {
                format!("this was shown:\n{event}\nand this is stored:\n{stored:?}")
            })?;
        }
        Ok(())
    }

    fn no_secret(&self) -> Result<(), String> {
        for secret in [KEY, WORD] {
            let found = self.place.holds(secret);
            ensure(found.is_none(), || format!("`{secret}` is in {}", found.unwrap_or_default()))?;
        }
        Ok(())
    }

    fn done(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("done")).unwrap_or_default()
    }

    /// Resumes the run until it has ended.
    fn end(&mut self) -> Result<Whole, String> {
        if self.run.is_none() {
            self.perform(Act::Run, None, false)?;
        }
        let run = self.run.clone().ok_or("the run that was started again is not in the store")?;
        let commands = self.unknown.iter().any(|(sort, ..)| *sort == "command");
        let mut unknown: &[&str] = &[];
        for _ in 0..5 {
            let before = self.done();
            let ran = self.trefoil(&[&["resume", &run, "--output", "json"], self.may(), unknown].concat());
            if ran.code == 0 {
                return self.whole(&run, ran.out);
            }
            ensure(ran.code == 75, || format!("resume ended with {}: {}{}", ran.code, ran.out, ran.err))?;
            if commands && unknown.is_empty() {
                ensure(self.done() == before, || "a command was run again, and nobody had decided".to_owned())?;
                unknown = &["--unknown", "retry"];
            } else {
                let answered = finish(self.act(Act::Answer));
                ensure(answered.code == 0, || format!("runs answer: {}", answered.err))?;
            }
        }
        Err("the run does not end".to_owned())
    }

    fn whole(&self, run: &str, out: String) -> Result<Whole, String> {
        let shown = self.trefoil(&["runs", "show", run, "--output", "json"]);
        ensure(shown.code == 0, || format!("runs show: {}", shown.err))?;
        let shown = shown.json();
        ensure(shown["status"] == "completed", || format!("{shown}"))?;
        let usage = &shown["usage"];
        let expected = self.unknown.iter().filter(|(sort, ..)| *sort == "model").count() as u64;
        let unknown = usage["unknown_calls"].as_u64().unwrap_or_default();
        ensure(unknown == expected, || format!("{unknown} unknown calls instead of {expected}: {:?}", self.unknown))?;
        let mut spent = usage.clone();
        for name in ["unknown_calls", "unpriced_calls"] {
            spent.as_object_mut().unwrap().remove(name);
        }
        // A call in progress at a crash was made, and is made again.
        let made = shown["calls"].as_u64().unwrap_or_default().saturating_sub(expected);
        let calls = if self.program.fails { Json::Null } else { made.into() };
        let spent = (spent, calls);
        Ok(Whole { out, calls: self.provider.asked_by_now().len(), spent })
    }

    /// The requirements, whatever happened.
    fn compare(&self, ended: &Whole, whole: &Whole) -> Result<(), String> {
        ensure(ended.out == whole.out, || format!("the result is {} instead of {}", ended.out, whole.out))?;
        ensure(ended.spent == whole.spent, || format!("spent {:?} instead of {:?}", ended.spent, whole.spent))?;
        self.no_secret()?;
        let checked = self.trefoil(&["store", "check"]);
        ensure(checked.code == 0, || format!("store check: {}{}", checked.out, checked.err))?;
        let asked = self.provider.asked();
        for (run, journal, before) in &self.cuts {
            let last = self.journal(run, &self.place.store())?;
            ensure(last.0.starts_with(&journal.0), || format!("{:?}\nhas become\n{:?}", journal.0, last.0))?;
            let answers = journal.answers();
            let again = asked[*before..].iter().find(|asked| answers.contains(&said(asked).as_str()));
            ensure(again.is_none(), || format!("{again:?} was completed and asked again"))?;
        }
        // Calls in progress are requested again; a provider that fails every second call is then asked twice.
        let unknown = self.unknown.iter().filter(|(sort, ..)| *sort == "model").count();
        let most = whole.calls + unknown * if self.program.fails { 2 } else { 1 };
        ensure(asked.len() <= most, || format!("asked {} times instead of {most}: {asked:?}", asked.len()))?;
        let done = self.done();
        for line in self.program.done {
            let times = done.lines().filter(|found| found == line).count();
            let unknown = self.unknown.iter().filter(|(sort, ..)| *sort == "command").count();
            let fine = times == 1 || (times > 1 && times <= 1 + unknown);
            ensure(fine, || format!("`{line}` was done {times} times"))?;
        }
        Ok(())
    }
}

/// Whether an event is from the journal. Streamed text, warnings, and the reasons why a process stopped belong to that
/// process only.
fn lasts(event: &Json) -> bool {
    let passing = event["event"] == "text_delta" || event["event"] == "warning";
    !passing && event["error"]["code"] != "JOURNAL_ERROR"
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}
