//! A run that reuses the results of an earlier one: with an edited file, or as a fork.

use trefoil::runs::{ActivityDecision, EditPreview, EditedRun, ReuseDecision, StepDecisions};
use trefoil::store::{Status, Store as _};
use trefoil::{Error, Flow, Result};
use trefoil_host::engine::Engine;
use trefoil_machine::RunSpec;
use trefoil_project::settings::Settings;

use super::{End, KeptRun, Session, why};
use crate::args::{ContentArg, DurabilityArg, HostArgs, ShowArgs, StoreArgs};
use crate::harmless::TerminalText;
use crate::refusal::{did_not_continue, did_not_start};
use crate::run::announce_source;
use crate::store::{await_store, block_on, full_id};
use crate::words::{self, count_of};
use crate::{exit, output, overwrite, shown};
use trefoil_host::command::{PrintedCommand, RunOptions};

/// How to run and show it.
pub struct Based<'a> {
    /// The permissions of the run.
    pub host: &'a HostArgs,
    /// The output options.
    pub show: &'a ShowArgs,
    /// The store of both runs.
    pub store: &'a StoreArgs,
    /// The durability of the new run.
    pub durability: &'a DurabilityArg,
    /// What it keeps when it has ended.
    pub content: &'a ContentArg,
    /// Whether to explain for each step if it was reused, and why not.
    pub explain: bool,
    /// The operator's settings.
    pub settings: &'a Settings,
    /// Whether the settings of the project are ignored.
    pub no_config: bool,
    /// The target of the files, as in commands.
    pub target: Option<String>,
    /// If it runs the stored files of the earlier run: whether those on the disk are others.
    pub stored: Option<bool>,
    /// The settings of the new run.
    pub spec: RunSpec,
}

impl Based<'_> {
    /// The full id of the earlier run.
    pub fn id(&self, run: &str) -> Result<String, u8> {
        let store = self.store.look_into()?;
        await_store(async { full_id(&store, run).await })
    }

    /// Runs it, and reports what was reused from the run `earlier`.
    pub fn run(
        &self,
        earlier: &str,
        flow: &Flow,
        begin: impl AsyncFnOnce(&Engine) -> Result<EditedRun, Error>,
    ) -> Result<u8, u8> {
        overwrite::spare_sources(self.show.trace.as_deref(), &flow.loaded().files)?;
        let session = Session::new(self.show, flow.loaded());
        let engine = session.engine(self.host, self.settings, true);
        let engine = engine.permissions(self.host.permissions(self.no_config));
        let engine = self.content.apply(engine.run_spec(self.spec)).store(self.store.resume(self.durability)?);
        let options = self.host.options(self.store, self.no_config);
        let edited = block_on(begin(&engine))?.map_err(|error| match self.stored {
            None => did_not_start(&error),
            // What is missing may be in the files on the disk, or be needed no more.
            Some(is_changed) => {
                let edited = self.target.as_deref().map(|target| (target, is_changed));
                did_not_continue(&error, earlier, &options, self.host.models.chosen().as_deref(), edited)
            }
        })?;
        edited.check_input().map_err(|error| did_not_start(&error))?;
        let store = self.store.look_into()?;
        let status = await_store(async { store.record(earlier).await })?.status;
        if matches!(status, Status::Waiting | Status::Pending | Status::Interrupted) && !self.show.quiet {
            let cancel = RunOptions::of_store(self.store.option()).text(PrintedCommand::Cancel(earlier));
            let cancel = format!("`{cancel}`");
            output::note(format!("run {earlier} has not ended ({status}); if it should not continue, {cancel}"));
        }
        let ready = &edited.ready;
        announce_source(edited.started.answers == "embedded" || self.host.models.embedded(), ready);
        session.reuses(earlier);
        session.begin(ready, None, Some(ready.run()));
        let (answers_from, lines) = (ready.answers_from().clone(), edited.lines());
        let kept = KeptRun { options: &options, edited: self.target.as_deref().map(|target| (target, false)) };
        let ended = session.run(&engine, &answers_from, Some(kept), async || edited.start())?;
        if !self.show.quiet {
            reused(earlier, &lines, self.explain, ended.went_well());
        }
        Ok(ended.finish(&End {
            target: None,
            answers: &self.host.answers,
            is_kept: true,
            keeps_prompts: true,
            options,
        }))
    }
}

/// Prints what a run would do. The exit code says whether it would do anything.
pub fn previewed(run: &str, preview: &EditPreview) -> u8 {
    let lines: Vec<ActivityDecision> = preview.lines.iter().filter(|line| !line.fate.is_kept()).cloned().collect();
    let mut all = why::explained(&lines, output::colored_result());
    all.extend(why::explained(&preview.later, output::colored_result()));
    all.extend(why::explained(&preview.unused, output::colored_result()));
    all.extend(preview.error.as_ref().map(|error| shown!("it would end there: {}", error)));
    let kept = preview.lines.iter().flat_map(ActivityDecision::and_called).filter(|line| line.fate.is_kept()).count();
    all.push(shown!("{} of run {} would be kept", kept, run));
    let code = if preview.is_up_to_date() { exit::OK } else { exit::FAILED };
    code.max(output::result(shown!("{}\n", TerminalText::join(all, "\n"))))
}

/// Reports the answers that were reused from any earlier runs.
pub fn answers_reused(lines: &StepDecisions) {
    let all = &lines.all();
    let kept = all.iter().flat_map(ActivityDecision::and_called).filter(|line| line.fate.is_kept()).count();
    let made = words::made(lines.made());
    let saved = why::saved(all).map(|saved| format!(" (saved {saved})")).unwrap_or_default();
    output::note(match kept {
        0 => format!("no answers of earlier runs reused, {made}"),
        _ => format!("{} of earlier runs reused{saved}, {made}", count_of(kept as u64, "answer")),
    });
    by_name(lines, "run without `--reuse`");
}

/// Reports environment variables that were compared only by name, and what to do if their values have changed.
pub fn by_name(lines: &StepDecisions, otherwise: &str) {
    let names = lines.environment();
    if !names.is_empty() {
        let names = names.join("`, `");
        output::note(format!("reused without comparing the value of `{names}`; if it has changed, {otherwise}"));
    }
}

/// Reports what was reused and what was repeated.
fn reused(run: &str, lines: &StepDecisions, explain: bool, ended_well: bool) {
    let all = lines.all();
    if explain {
        let unused = if ended_well { lines.unused() } else { Vec::new() };
        let shown: Vec<ActivityDecision> = all.iter().cloned().chain(unused).collect();
        why::explained(&shown, output::colored()).iter().for_each(output::say);
    } else {
        for line in &all {
            if let ReuseDecision::Kept { was: Some(was), .. } = &line.fate {
                output::note(format!("`{}` keeps its result: it was renamed from `{was}`", line.key));
            }
        }
    }
    let kept = all.iter().flat_map(ActivityDecision::and_called).filter(|line| line.fate.is_kept()).count();
    let (kept, made) = (count_of(kept as u64, "result"), words::made(lines.made()));
    let saved = why::saved(&all).map(|saved| format!(" (saved {saved})")).unwrap_or_default();
    output::note(format!("{kept} of run {run} reused{saved}, {made}"));
    by_name(lines, "run its steps again with `--from STEP`");
}
