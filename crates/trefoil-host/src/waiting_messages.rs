//! Messages about a waiting run: what it waits for, and how to answer.

use trefoil_ir::Program;
use trefoil_machine::event::AwaitedActivity;
use trefoil_machine::key::{label_path, own_step};
use trefoil_models::plan::has_name;
use trefoil_project::codes::help;
use trefoil_project::file_access::path_exists;
use trefoil_project::target::LoadTarget;
use trefoil_runtime::{RunError, RunOutcome};
use trefoil_view::trace::{CalledFailure, SuggestedCommand};

use crate::command::{PrintedCommand, RunOptions};

/// What a run waits for, and how it goes on, on lines.
pub fn waiting_lines(run: &str, waiting: &[AwaitedActivity], options: &RunOptions) -> Vec<String> {
    let commands: Vec<Vec<String>> = waiting.iter().map(|item| answer_commands(run, item, waiting, options)).collect();
    let mut lines = Vec::new();
    for (at, (item, item_commands)) in waiting.iter().zip(&commands).enumerate() {
        lines.push(format!("waiting: {}", waiting_line(item, waiting)));
        if let Some(call) = called_line(item) {
            lines.push(format!("  {call}"));
        }
        for command in item_commands {
            // A command for several items is after the last of them.
            let is_later = commands.iter().skip(at + 1).any(|later| later.contains(command));
            if !is_later {
                lines.push(format!("  {command}"));
            }
        }
        if let Some(note) = answer_note(item) {
            lines.push(format!("  {note}"));
        }
    }
    // A limit is raised, and the run resumed, with one command.
    if !waiting.iter().all(is_limit) {
        lines.push(format!("then: {}", options.resume_command(run, &limits(waiting))));
    }
    lines
}

/// What to know before one says that something is done.
pub const DONE: &str = "(it may still be running; with `done`, its result is what `--result VALUE` says, or null)";

/// What to know before one answers an item.
pub fn answer_note(item: &AwaitedActivity) -> Option<&'static str> {
    if item.is_unknown() && item.settled.is_none() { Some(DONE) } else { None }
}

/// The questions to people, with the commands that answer them, on lines: those of a run that was stopped.
pub fn question_lines(run: &str, waiting: &[AwaitedActivity], options: &RunOptions) -> Vec<String> {
    let is_open = |item: &&AwaitedActivity| item.prompt.is_some() && item.settled.is_none();
    let questions: Vec<AwaitedActivity> = waiting.iter().filter(is_open).cloned().collect();
    let then = format!("then: {}", options.resume_command(run, &[]));
    let mut lines = waiting_lines(run, &questions, options);
    lines.retain(|line| *line != then);
    lines
}

/// The answer that stands for what is typed, or comes from standard input.
pub const TYPED: &str = "-";
/// Maximum number of answers with a command of their own.
const ANSWERS: usize = 3;

/// The commands that answer an item, to copy: one for each answer if there are only a few, otherwise one that asks for the answer, so
/// that no word of it is taken for one. None if it cannot be answered any more. `all`: as in [`waiting_line`].
pub fn answer_commands(
    run: &str,
    item: &AwaitedActivity,
    all: &[AwaitedActivity],
    options: &RunOptions,
) -> Vec<String> {
    let waiting_run = item.run.as_deref().unwrap_or(run);
    // Nobody can answer it any more.
    if item.settled.is_some() {
        return Vec::new();
    }
    if item.sort == "run" {
        // The limits are those of the run that was started.
        if is_limit(item) {
            return vec![options.resume_command(run, &limits(all))];
        }
        return match item.why.as_deref() {
            Some(why) => vec![options.resume_command(waiting_run, &[why])],
            None => vec![options.render_command(PrintedCommand::Show(waiting_run))],
        };
    }
    let step = name(item, all);
    let with = |word: &str| options.render_command(PrintedCommand::Answer { run: waiting_run, step, word });
    let is_open = item.prompt.is_some() && item.accepts.is_empty();
    let words: Vec<&str> = match item.prompt {
        None => vec!["retry", "fail", "done"],
        Some(_) => item.accepts.iter().chain(&item.choices).map(String::as_str).collect(),
    };
    if words.len() > ANSWERS {
        let known = if is_open { "some answers are" } else { "the answers are" };
        return vec![with(TYPED), format!("({known}: {})", words.join(", "))];
    }
    let mut commands = Vec::new();
    for word in words {
        commands.push(with(word));
    }
    if is_open {
        commands.push(with(TYPED));
    }
    commands
}

/// The purpose of a command that answers.
pub const ANSWER: &str = "to answer";
/// The purpose of a command that continues a run.
pub const CONTINUE: &str = "to continue";
/// The purpose of the same command, if the run would probably fail again.
pub const UNCHANGED: &str = "unchanged";
/// The purpose of a command that starts a run with the files as they are now.
pub const WITH_CHANGES: &str = "with your changes";
/// The purpose of a command that starts a run with the files as they will be.
pub const AFTER_EDIT: &str = "after an edit";
/// The purpose of a command that shows the run which used the results of this one.
const AGAIN: &str = "run again as";

/// How a run that stopped stands, for what can be done with it next.
#[derive(Debug, Clone, Copy)]
pub struct StoppedRun<'s> {
    /// Its id.
    pub run: &'s str,
    /// What it waits for.
    pub waiting: &'s [AwaitedActivity],
    /// Why it stopped.
    pub why: Option<&'s RunError>,
    /// The failure of a called run that made it fail.
    pub called: Option<&'s CalledFailure>,
    /// Whether it can continue as it is.
    pub open: bool,
    /// Whether items of a fan-out failed.
    pub has_failed_items: bool,
    /// The target of its files, if an edit may help.
    pub edited: Option<EditableTarget<'s>>,
    /// Whether its own files cannot run here: they need a project, and those on the disk are others.
    pub needs_project: bool,
    /// The value of `--model` with which a new run may not fail, if another model may help.
    pub model: Option<&'s str>,
    /// The last run that used its results, after which they are not used again.
    pub again: Option<&'s str>,
}

/// The target of a run's files, which the user may edit to make a new run succeed.
#[derive(Debug, Clone, Copy)]
pub struct EditableTarget<'s> {
    /// The target, as on a command line.
    pub target: &'s str,
    /// Whether the files have changed since the run started. The run itself keeps those with which it started.
    pub has_changed: bool,
}

/// Stands for a model in a suggested command, if only the user can choose it.
pub const MODEL_PLACEHOLDER: &str = "PROVIDER:NAME";

/// The value of `--model` with which a run may not fail again, if another model may help: for the step that failed only, as far as a
/// name of its model is known, so that another run can keep the answers of the other steps.
pub fn other_model(program: &Program, error: &RunError) -> Option<String> {
    if !help::is_of_model(error) {
        return None;
    }
    match known_step_name(program, error) {
        Some(name) => Some(format!("{name}={MODEL_PLACEHOLDER}")),
        None => Some(MODEL_PLACEHOLDER.to_owned()),
    }
}

/// The name by which a model can be chosen for the step that failed: with its path, if other steps have its label.
fn known_step_name(program: &Program, error: &RunError) -> Option<String> {
    let key = error.key.as_ref()?;
    let path = label_path(own_step(&key.0));
    let label = path.rsplit('/').next()?;
    let is_shared = program.steps.iter().filter(|step| step.label.as_deref() == Some(label)).count() > 1;
    if is_shared && has_name(program, &path) {
        return Some(path.into_owned());
    }
    if has_name(program, label) { Some(label.to_owned()) } else { None }
}

/// The same for a run that has failed because a flow that it calls as a tool has failed: the step of that flow is named.
pub fn other_model_of(program: &Program, error: &RunError, called: Option<&CalledFailure>) -> Option<String> {
    match called {
        Some(called) => other_model(&called.program, &called.error),
        None => other_model(program, error),
    }
}

impl<'s> StoppedRun<'s> {
    /// A run that has just ended in this process.
    pub fn of_outcome(outcome: &'s RunOutcome, model: Option<&'s str>, edited: Option<EditableTarget<'s>>) -> Self {
        let why = outcome.result.as_ref().err();
        // What stopped the run is not in its files, if somebody stopped it, or has to allow something.
        let stops = ["CANCELLED", "INTERRUPTED", "JOURNAL_ERROR"];
        let is_failure = matches!(why, Some(why) if !outcome.suspended && !stops.contains(&why.code.as_str()));
        Self {
            run: &outcome.run,
            waiting: &outcome.waiting,
            why,
            called: None,
            open: outcome.continues || outcome.suspended,
            has_failed_items: outcome.items.is_some(),
            edited: if is_failure { edited } else { None },
            needs_project: false,
            model,
            again: None,
        }
    }

    /// The commands that answer it, continue it, or repeat a part of it, with their purposes: the same in every place that tells
    /// them.
    pub fn next_commands(&self, options: &RunOptions) -> Vec<SuggestedCommand> {
        let ways_on = self.ways_on(options);
        // A limit of a called run is raised by the command that continues the run, and one command may answer several items.
        let mut commands: Vec<SuggestedCommand> = Vec::new();
        for item in self.waiting {
            for command in answer_commands(self.run, item, self.waiting, options) {
                if !command.starts_with("trefoil ") || ways_on.iter().any(|way| way.command == command) {
                    continue;
                }
                let answer = suggestion(ANSWER, command);
                if !commands.contains(&answer) {
                    commands.push(answer);
                }
            }
        }
        commands.extend(ways_on);
        commands
    }

    /// The commands that continue it, or repeat a part of it.
    fn ways_on(&self, options: &RunOptions) -> Vec<SuggestedCommand> {
        let Self { run, waiting, why, called, open, needs_project, model, again, .. } = *self;
        let edited = self.usable_edit();
        let (mut changed, mut with_edit) = (None, None);
        if let Some(EditableTarget { target, has_changed }) = edited {
            let command = options.render_command(PrintedCommand::Edited { run, target });
            if has_changed {
                changed = Some(suggestion(WITH_CHANGES, command));
            } else {
                with_edit = Some(suggestion(AFTER_EDIT, command));
            }
        }
        let mut with_model = None;
        if let Some(model) = model
            && !needs_project
            && again.is_none()
        {
            let fork = PrintedCommand::Fork { run, from: None, model: Some(model) };
            with_model = Some(suggestion("with another model", options.render_command(fork)));
        }
        let failure = match called {
            Some(called) => Some(&called.error),
            None => why,
        };
        // Its request has to change, or another model has to answer it, and one of these is offered.
        let fails_again = failure.is_some_and(help::is_of_request) && (with_edit.is_some() || with_model.is_some());
        let mut resume = None;
        if open {
            let purpose = match &changed {
                Some(_) => "without them",
                None if fails_again => UNCHANGED,
                None => CONTINUE,
            };
            let mut reasons = Vec::from_iter(why);
            reasons.extend(limits(waiting));
            resume = Some(suggestion(purpose, options.resume_command(run, &reasons)));
        }
        let fork = self.fork_of_items(edited, options);
        if let (Some(repeated), Some(fork)) = (&changed, &fork)
            && repeated.command == fork.command
        {
            changed = None;
        }
        let again = again.map(|again| suggestion(AGAIN, options.render_command(PrintedCommand::Show(again))));
        let ways = match fails_again {
            true => [changed, with_edit, with_model, resume, fork, again],
            false => [changed, resume, with_edit, with_model, fork, again],
        };
        ways.into_iter().flatten().collect()
    }

    /// The target, if its edited files can be passed to a new run.
    fn usable_edit(&self) -> Option<EditableTarget<'s>> {
        let edited = self.edited?;
        // A file that was moved or deleted cannot be passed.
        let is_usable = self.again.is_none() && path_exists(&LoadTarget::parse(edited.target).path);
        if is_usable { Some(edited) } else { None }
    }

    /// The command that runs failed items of a fan-out again, if the run cannot continue. `edited`: as [`Self::usable_edit`] says.
    fn fork_of_items(&self, edited: Option<EditableTarget<'_>>, options: &RunOptions) -> Option<SuggestedCommand> {
        if self.open || !self.has_failed_items || self.again.is_some() {
            return None;
        }
        let run = self.run;
        let fork = match edited {
            Some(edited) if self.needs_project => PrintedCommand::Edited { run, target: edited.target },
            None if self.needs_project => return None,
            _ => PrintedCommand::Fork { run, from: None, model: None },
        };
        Some(suggestion("to run the failed items again", options.render_command(fork)))
    }
}

/// One line for an item. `all`: all items that the run waits for, in which the name must be unique.
pub fn waiting_line(item: &AwaitedActivity, all: &[AwaitedActivity]) -> String {
    item.describe_question(name(item, all))
}

/// What a tool or command with an unknown outcome was called with.
pub fn called_line(item: &AwaitedActivity) -> Option<String> {
    Some(format!("it was called with {}", item.called_with()?))
}

/// Whether a called run waits until a limit is raised.
fn is_limit(item: &AwaitedActivity) -> bool {
    matches!(&item.why, Some(why) if why.code == "BUDGET_EXCEEDED")
}

/// The limits that called runs have reached.
fn limits(waiting: &[AwaitedActivity]) -> Vec<&RunError> {
    waiting.iter().filter(|item| is_limit(item)).filter_map(|item| item.why.as_deref()).collect()
}

fn suggestion(purpose: &str, command: String) -> SuggestedCommand {
    SuggestedCommand { command, purpose: purpose.to_owned() }
}

/// The name to use in an answer: the step's label, or its key if several waiting steps have that label.
fn name<'w>(item: &'w AwaitedActivity, all: &[AwaitedActivity]) -> &'w str {
    let several = all.iter().filter(|other| other.step == item.step && other.run == item.run).count() > 1;
    if several || item.step.is_empty() { item.key.as_str() } else { &item.step }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use trefoil_template::Value;

    #[test]
    fn a_tool_of_a_server_is_named() {
        let call = Value::parse(r#"{"name": "delete", "arguments": {}}"#).ok();
        let (key, step) = ("main/mcp__files".into(), "mcp__files".to_owned());
        let one = AwaitedActivity { key, step, sort: "tool", call, ..AwaitedActivity::default() };
        let line = waiting_line(&one, std::slice::from_ref(&one));
        expect!["`mcp__files`: it is unknown whether this tool, `delete`, was done; did it finish?"].assert_eq(&line);
    }

    #[test]
    fn what_waits_is_named_so_that_it_can_be_answered() {
        let one = |key: &str, step: &str, sort| {
            let step = step.to_owned();
            let prompt = (sort == "human").then(|| "Go on?".to_owned());
            let call = (sort == "tool").then(|| Value::parse(r#"{"name": "pay", "arguments": {"cents": 5}}"#).unwrap());
            AwaitedActivity { key: key.into(), step, sort, prompt, call, ..AwaitedActivity::default() }
        };
        let all = [
            one("main@1[0]/pay", "pay", "tool"),
            one("main@1[2]/pay", "pay", "tool"),
            one("main/ask", "ask me", "human"),
        ];
        expect![[r#"
            waiting: `main@1[0]/pay`: it is unknown whether this tool was done; did it finish?
              it was called with {"cents":5}
              trefoil runs answer r1 'main@1[0]/pay' retry
              trefoil runs answer r1 'main@1[0]/pay' fail
              trefoil runs answer r1 'main@1[0]/pay' done
              (it may still be running; with `done`, its result is what `--result VALUE` says, or null)
            waiting: `main@1[2]/pay`: it is unknown whether this tool was done; did it finish?
              it was called with {"cents":5}
              trefoil runs answer r1 'main@1[2]/pay' retry
              trefoil runs answer r1 'main@1[2]/pay' fail
              trefoil runs answer r1 'main@1[2]/pay' done
              (it may still be running; with `done`, its result is what `--result VALUE` says, or null)
            waiting: `ask me` asks: Go on?
              trefoil runs answer r1 'ask me' -
            then: trefoil resume r1"#]]
        .assert_eq(&waiting_lines("r1", &all, &RunOptions::default()).join("\n"));
    }
}
