//! A run that reuses the results of an earlier one: with an edited file, or as a fork.

use trefoil::runs::{ActivityDecision, EditPreview, EditedRun, ReuseDecision, StepDecisions};
use trefoil::store::{Status, Store as _};
use trefoil::{Error, Flow, Result};
use trefoil_host::engine::Engine;
use trefoil_host::waiting_messages::EditableTarget;
use trefoil_machine::RunSpec;
use trefoil_project::settings::Settings;

use super::{KeptRun, RunEndOptions, TerminalSession, reuse_reasons};
use crate::args::{ContentArg, DurabilityArg, HostArgs, LabelArgs, ShowArgs, StoreArgs};
use crate::refusal::{did_not_continue, did_not_start};
use crate::run::announce_source;
use crate::store::{await_store, block_on, full_id};
use crate::terminal_text::TerminalText;
use crate::words::{self, count_of};
use crate::{exit, output, overwrite_guard, shown};
use trefoil_host::command::{PrintedCommand, RunOptions};

/// How to run and show it.
pub struct ReuseRunOptions<'a> {
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
    /// Its labels, if the command has an option for them.
    pub labels: Option<&'a LabelArgs>,
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

impl ReuseRunOptions<'_> {
    /// The full id of the earlier run.
    pub fn resolve_run(&self, run: &str) -> Result<String, u8> {
        let store = self.store.open_to_read()?;
        await_store(async { full_id(&store, run).await })
    }

    /// Runs it, and reports what was reused from the run `earlier`.
    pub fn run_flow(
        &self,
        earlier: &str,
        flow: &Flow,
        begin: impl AsyncFnOnce(&Engine) -> Result<EditedRun, Error>,
    ) -> Result<u8, u8> {
        overwrite_guard::refuse_source_overwrite(self.show.trace.as_deref(), &flow.loaded_target().files)?;
        let session = TerminalSession::new(self.show, flow.loaded_target());
        let engine = session.build_engine(self.host, self.settings, true);
        let engine = engine.permissions(self.host.permissions(self.no_config));
        let engine = self
            .content
            .configure_engine(engine.run_spec(self.spec))
            .store(self.store.open_to_resume(self.durability)?);
        let engine = match self.labels {
            Some(labels) => labels.configure_engine(engine)?,
            None => engine,
        };
        let options = self.host.run_options(self.store, self.no_config);
        let edited = block_on(begin(&engine))?.map_err(|error| match self.stored {
            None => did_not_start(&error),
            // What is missing may be in the files on the disk, or be needed no more.
            Some(has_changed) => {
                let edited = self.target.as_deref().map(|target| EditableTarget { target, has_changed });
                did_not_continue(&error, earlier, &options, self.host.models.first_choice().as_deref(), edited)
            }
        })?;
        edited.check_input().map_err(|error| did_not_start(&error))?;
        let store = self.store.open_to_read()?;
        let status = await_store(async { store.record(earlier).await })?.status;
        if matches!(status, Status::Waiting | Status::Pending | Status::Interrupted) && !self.show.quiet {
            let cancel =
                RunOptions::of_store(self.store.store_option()).render_command(PrintedCommand::Cancel(earlier));
            let cancel = format!("`{cancel}`");
            output::print_note(format!("run {earlier} has not ended ({status}); if it should not continue, {cancel}"));
        }
        let ready = &edited.ready;
        announce_source(edited.started.answers == "embedded" || self.host.models.is_embedded(), ready);
        session.set_reused_run(earlier);
        session.announce_start(ready, None, Some(ready.run_id()));
        let (answers_from, lines) = (ready.answers_from().clone(), edited.step_decisions());
        let edited_target = self.target.as_deref().map(|target| EditableTarget { target, has_changed: false });
        let kept = KeptRun { options: &options, edited: edited_target };
        let ended = session.run_to_end(&engine, &answers_from, Some(kept), async || edited.start_run())?;
        if !self.show.quiet {
            reused(earlier, &lines, self.explain, ended.is_success());
        }
        Ok(ended.print_end(&RunEndOptions {
            target: None,
            answers: &self.host.answers,
            is_kept: true,
            keeps_prompts: true,
            options,
        }))
    }
}

/// Prints what a run would do. The exit code says whether it would do anything.
pub fn print_preview(run: &str, preview: &EditPreview) -> u8 {
    let lines: Vec<ActivityDecision> = preview.lines.iter().filter(|line| !line.fate.is_kept()).cloned().collect();
    let mut all = reuse_reasons::explain_decisions(&lines, output::has_result_colors());
    all.extend(reuse_reasons::explain_decisions(&preview.later, output::has_result_colors()));
    all.extend(reuse_reasons::explain_decisions(&preview.unused, output::has_result_colors()));
    if let Some(error) = &preview.error {
        all.push(shown!("it would end there: {}", error));
    }
    let kept = reuse_reasons::count_kept(&preview.lines);
    all.push(shown!("{} of run {} would be kept", kept, run));
    let code = if preview.is_up_to_date() { exit::OK } else { exit::FAILED };
    code.max(output::write_result(shown!("{}\n", TerminalText::join(all, "\n"))))
}

/// Reports the answers that were reused from any earlier runs.
pub fn report_reused_answers(lines: &StepDecisions) {
    let all = &lines.activity_decisions();
    let kept = reuse_reasons::count_kept(all);
    let made = words::format_new_results(lines.count_new());
    let saved = reuse_reasons::savings_note(all);
    output::print_note(match kept {
        0 => format!("no answers of earlier runs reused, {made}"),
        _ => format!("{} of earlier runs reused{saved}, {made}", count_of(kept as u64, "answer")),
    });
    note_uncompared_variables(lines, "run without `--reuse`");
}

/// Reports environment variables that were compared only by name, and what to do if their values have changed.
pub fn note_uncompared_variables(lines: &StepDecisions, otherwise: &str) {
    let names = lines.reused_variables();
    if !names.is_empty() {
        let names = names.join("`, `");
        output::print_note(format!("reused without comparing the value of `{names}`; if it has changed, {otherwise}"));
    }
}

/// Reports what was reused and what was repeated.
fn reused(run: &str, lines: &StepDecisions, explain: bool, ended_well: bool) {
    let all = lines.activity_decisions();
    if explain {
        let mut shown = all.clone();
        if ended_well {
            shown.extend(lines.unused_results());
        }
        reuse_reasons::explain_decisions(&shown, output::has_colors()).iter().for_each(output::print_line);
    } else {
        for line in &all {
            if let ReuseDecision::Kept { was: Some(was), .. } = &line.fate {
                output::print_note(format!("`{}` keeps its result: it was renamed from `{was}`", line.key));
            }
        }
    }
    let kept = count_of(reuse_reasons::count_kept(&all) as u64, "result");
    let (made, saved) = (words::format_new_results(lines.count_new()), reuse_reasons::savings_note(&all));
    output::print_note(format!("{kept} of run {run} reused{saved}, {made}"));
    note_uncompared_variables(lines, "run its steps again with `--from STEP`");
}
