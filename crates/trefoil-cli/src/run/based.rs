//! A run that uses the results of an earlier one: of an edited file, or a fork.

use trefoil::Flow;
use trefoil::internals::engine::Engine;
use trefoil::internals::settings::Settings;
use trefoil::runs::{Edited, Fate, Line, Lines};
use trefoil::{Error, Result};

use super::{End, HostArgs, Session, ShowArgs, why};
use crate::commands::run::{did_not_start, label};
use crate::store::{DurabilityArg, StoreArgs, block_on, full_id, wait};
use crate::{output, overwrite};

/// How it is run and shown.
pub struct Based<'a> {
    /// What it may use.
    pub host: &'a HostArgs,
    /// What to show of it.
    pub show: &'a ShowArgs,
    /// Where both are kept.
    pub store: &'a StoreArgs,
    /// What it can lose.
    pub durability: &'a DurabilityArg,
    /// Whether each step is said to be kept, or why not.
    pub explain: bool,
    /// The operator's.
    pub settings: &'a Settings,
    /// Its limits.
    pub limits: &'a dyn Fn(Engine) -> Engine,
}

impl Based<'_> {
    /// The whole id of the earlier run.
    pub fn id(&self, run: &str) -> Result<String, u8> {
        let store = self.store.look_into()?;
        wait(async { full_id(&store, run).await })
    }

    /// Runs it, and says what was kept. `earlier`: the run that it uses.
    pub fn run(
        &self,
        earlier: &str,
        flow: &Flow,
        begin: impl AsyncFnOnce(&Engine) -> Result<Edited, Error>,
    ) -> Result<u8, u8> {
        overwrite::spare_sources(self.show.trace.as_deref(), &flow.loaded().files)?;
        let session = Session::new(self.show, flow.loaded());
        let engine = self.host.apply(session.watch(Engine::new()), self.settings, &session);
        let engine = (self.limits)(engine).store(self.store.resume(self.durability)?);
        let edited = block_on(begin(&engine))?.map_err(|error| did_not_start(&error))?;
        let ready = &edited.ready;
        label(edited.started.answers == "embedded" || self.host.models.embedded(), ready);
        session.begin(ready, None, Some(ready.run()));
        let (script, answers_from, lines) = (ready.script().cloned(), ready.answers_from().clone(), edited.lines());
        let ended = session.run(&engine, &answers_from, async || edited.start())?;
        if !self.show.quiet {
            reused(earlier, &lines, self.explain, ended.went_well());
        }
        Ok(ended.finish(&End { target: None, answers: &self.host.answers, script, resumable: Some(self.store) }))
    }
}

/// What was used of any earlier runs.
pub fn answers_reused(all: &[Line]) {
    let kept = all.iter().filter(|line| matches!(line.fate, Fate::Kept { .. })).count();
    let calls = count(all.len().saturating_sub(kept), "call", "calls");
    let saved = why::saved(all).map(|saved| format!(" (saved {saved})")).unwrap_or_default();
    output::note(&match kept {
        0 => format!("no answers of earlier runs reused, {calls} made"),
        _ => format!("{} of earlier runs reused{saved}, {calls} made", count(kept, "answer", "answers")),
    });
}

fn count(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

/// What was kept and what was done again.
fn reused(run: &str, lines: &Lines, explain: bool, ended_well: bool) {
    let all = lines.all();
    if explain {
        let unused = if ended_well { lines.unused() } else { Vec::new() };
        let shown: Vec<Line> = all.iter().cloned().chain(unused).collect();
        why::explained(&shown, output::colored()).iter().for_each(|line| output::say(line));
    } else {
        for line in &all {
            if let Fate::Kept { was: Some(was), .. } = &line.fate {
                output::note(&format!("`{}` keeps its result: it was renamed from `{was}`", line.key));
            }
        }
    }
    let kept = all.iter().filter(|line| matches!(line.fate, Fate::Kept { .. })).count();
    let done = all.iter().filter(|line| matches!(line.fate, Fate::New | Fate::Again)).count();
    let (kept, done) = (count(kept, "result", "results"), count(done, "call", "calls"));
    let saved = why::saved(&all).map(|saved| format!(" (saved {saved})")).unwrap_or_default();
    output::note(&format!("{kept} of run {run} reused{saved}, {done} made"));
}
