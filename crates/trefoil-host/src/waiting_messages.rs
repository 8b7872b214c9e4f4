//! Messages about a waiting run: what it waits for, and how to answer.

use trefoil_ir::Program;
use trefoil_machine::event::AwaitedActivity;
use trefoil_machine::key::{label_path, own_step};
use trefoil_models::plan::has_name;
use trefoil_project::codes::help;
use trefoil_project::file_access::is_there;
use trefoil_project::target::LoadTarget;
use trefoil_runtime::{RunError, RunOutcome};
use trefoil_view::trace::{CalledFailure, SuggestedCommand};

use crate::command::{PrintedCommand, RunOptions};

/// What a run waits for, and how it goes on, on lines.
pub fn waiting_lines(run: &str, waiting: &[AwaitedActivity], options: &RunOptions) -> Vec<String> {
    let commands: Vec<Vec<String>> = waiting.iter().map(|one| answer_commands(run, one, waiting, options)).collect();
    let one = |(at, one): (usize, &AwaitedActivity)| {
        let call = called_line(one).map(|call| format!("  {call}"));
        // A command for several items is after the last of them.
        let is_later = |command: &&String| commands.iter().skip(at + 1).any(|later| later.contains(command));
        let own = commands.get(at).into_iter().flatten().filter(|command| !is_later(command));
        let answers: Vec<String> = own.map(|command| format!("  {command}")).collect();
        let note = answer_note(one).map(|note| format!("  {note}"));
        [Some(format!("waiting: {}", waiting_line(one, waiting))), call]
            .into_iter()
            .flatten()
            .chain(answers)
            .chain(note)
    };
    // A limit is raised, and the run resumed, with one command.
    let then =
        (!waiting.iter().all(is_limit)).then(|| format!("then: {}", options.resume_command(run, &limits(waiting))));
    waiting.iter().enumerate().flat_map(one).chain(then).collect()
}

/// What to know before one says that something is done.
pub const DONE: &str = "(it may still be running; with `done`, its result is what `--result VALUE` says, or null)";

/// What to know before one answers an item.
pub fn answer_note(one: &AwaitedActivity) -> Option<&'static str> {
    (one.is_unknown() && one.settled.is_none()).then_some(DONE)
}

/// The questions to people, with the commands that answer them, on lines: those of a run that was stopped.
pub fn question_lines(run: &str, waiting: &[AwaitedActivity], options: &RunOptions) -> Vec<String> {
    let open = |one: &&AwaitedActivity| one.prompt.is_some() && one.settled.is_none();
    let questions: Vec<AwaitedActivity> = waiting.iter().filter(open).cloned().collect();
    let then = options.resume_command(run, &[]);
    let lines = waiting_lines(run, &questions, options).into_iter();
    lines.filter(|line| *line != format!("then: {then}")).collect()
}

/// The answer that stands for what is typed, or comes from standard input.
pub const TYPED: &str = "-";
/// Maximum number of answers with a command of their own.
const ANSWERS: usize = 3;

/// The commands that answer an item, to copy: one for each answer if there are only a few, otherwise one that asks for the answer, so
/// that no word of it is taken for one. None if it cannot be answered any more. `all`: as in [`waiting_line`].
pub fn answer_commands(run: &str, one: &AwaitedActivity, all: &[AwaitedActivity], options: &RunOptions) -> Vec<String> {
    let of = one.run.as_deref().unwrap_or(run);
    // Nobody can answer it any more.
    if one.settled.is_some() {
        return Vec::new();
    }
    let show = || options.render_command(PrintedCommand::Show(of));
    match one.sort {
        // The limits are those of the run that was started.
        "run" if is_limit(one) => return vec![options.resume_command(run, &limits(all))],
        "run" => return vec![one.why.as_deref().map_or_else(show, |why| options.resume_command(of, &[why]))],
        _ => {}
    }
    let step = name(one, all);
    let with = |word: &str| options.render_command(PrintedCommand::Answer { run: of, step, word });
    let is_open = one.prompt.is_some() && one.accepts.is_empty();
    let words: Vec<&str> = match one.prompt {
        None => vec!["retry", "fail", "done"],
        Some(_) => one.accepts.iter().chain(&one.choices).map(String::as_str).collect(),
    };
    let typed = is_open.then(|| with(TYPED));
    match words.len() {
        0..=ANSWERS => words.iter().map(|word| with(word)).chain(typed).collect(),
        _ if is_open => vec![with(TYPED), format!("(some answers are: {})", words.join(", "))],
        _ => vec![with(TYPED), format!("(the answers are: {})", words.join(", "))],
    }
}

/// The purpose of a command that answers.
pub const ANSWER: &str = "to answer";
/// The purpose of a command that continues a run.
pub const CONTINUE: &str = "to continue";
/// The purpose of the same command, if the run would probably fail again.
pub const UNCHANGED: &str = "unchanged";
/// The purpose of a command that starts a run with the files as they are now.
pub const CHANGED: &str = "with your changes";
/// The purpose of a command that starts a run with the files as they will be.
pub const EDITED: &str = "after an edit";
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
    /// The target of its files, if an edit may help, and whether they have changed since.
    pub edited: Option<(&'s str, bool)>,
    /// Whether its own files cannot run here: they need a project, and those on the disk are others.
    pub needs_project: bool,
    /// The value of `--model` with which a new run may not fail, if another model may help.
    pub model: Option<&'s str>,
    /// The last run that used its results, after which they are not used again.
    pub again: Option<&'s str>,
}

/// What is written for a model that only the user can choose.
pub const SOME_MODEL: &str = "PROVIDER:NAME";

/// The value of `--model` with which a run may not fail again, if another model may help: for the step that failed only, as far as a
/// name of its model is known, so that another run can keep the answers of the other steps.
pub fn other_model(program: &Program, error: &RunError) -> Option<String> {
    let key = error.key.as_ref().filter(|_| help::is_of_model(error));
    let path = key.map(|key| label_path(own_step(&key.0)));
    let label = path.as_deref().and_then(|path| path.rsplit('/').next());
    let is_shared = program.steps.iter().filter(|step| step.label.as_deref() == label).count() > 1;
    let known = [path.as_deref().filter(|_| is_shared), label].into_iter().flatten();
    match known.into_iter().find(|name| has_name(program, name)) {
        Some(name) => Some(format!("{name}={SOME_MODEL}")),
        None => help::is_of_model(error).then(|| SOME_MODEL.to_owned()),
    }
}

/// The same for a run that has failed because a flow that it calls as a tool has failed: the step of that flow is named.
pub fn other_model_of(program: &Program, error: &RunError, called: Option<&CalledFailure>) -> Option<String> {
    called.map_or_else(|| other_model(program, error), |called| other_model(&called.program, &called.error))
}

impl<'s> StoppedRun<'s> {
    /// A run that has just ended in this process.
    pub fn of_outcome(outcome: &'s RunOutcome, model: Option<&'s str>, edited: Option<(&'s str, bool)>) -> Self {
        let why = outcome.result.as_ref().err();
        // What stopped the run is not in its files, if somebody stopped it, or has to allow something.
        let stops = ["CANCELLED", "INTERRUPTED", "JOURNAL_ERROR"];
        let is_failure = why.is_some_and(|why| !outcome.suspended && !stops.contains(&why.code.as_str()));
        Self {
            run: &outcome.run,
            waiting: &outcome.waiting,
            why,
            called: None,
            open: outcome.continues || outcome.suspended,
            has_failed_items: outcome.items.is_some(),
            edited: edited.filter(|_| is_failure),
            needs_project: false,
            model,
            again: None,
        }
    }

    /// The commands that answer it, continue it, or repeat a part of it, with their purposes: the same in every place that tells
    /// them.
    pub fn next_commands(&self, options: &RunOptions) -> Vec<SuggestedCommand> {
        let Self { run, waiting, why, called, open, has_failed_items, edited, needs_project, model, again } = *self;
        // A file that was moved or deleted cannot be passed.
        let edited = edited.filter(|(target, _)| again.is_none() && is_there(&LoadTarget::parse(target).path));
        let suggestion = |purpose: &str, command| SuggestedCommand { command, purpose: purpose.to_owned() };
        let answers = waiting.iter().flat_map(|one| answer_commands(run, one, waiting, options));
        let answers =
            answers.filter(|command| command.starts_with("trefoil ")).map(|command| suggestion(ANSWER, command));
        let with = edited.map(|(target, _)| options.render_command(PrintedCommand::Edited { run, target }));
        let (changed, with) = match edited {
            Some((_, true)) => (with.map(|with| suggestion(CHANGED, with)), None),
            _ => (None, with.map(|with| suggestion(EDITED, with))),
        };
        let model = model.filter(|_| !needs_project && again.is_none());
        // Its request has to change, or another model has to answer it, and one of these is offered.
        let fails_again = called.map(|called| &called.error).or(why).is_some_and(help::is_of_request)
            && (with.is_some() || model.is_some());
        let purpose = match &changed {
            Some(_) => "without them",
            None if fails_again => UNCHANGED,
            None => CONTINUE,
        };
        let resume = open.then(|| {
            let why: Vec<&RunError> = why.into_iter().chain(limits(waiting)).collect();
            suggestion(purpose, options.resume_command(run, &why))
        });
        let fork = match edited {
            Some((target, _)) if needs_project => Some(PrintedCommand::Edited { run, target }),
            None if needs_project => None,
            _ => Some(PrintedCommand::Fork { run, from: None, model: None }),
        };
        let model = model.map(|model| {
            let fork = PrintedCommand::Fork { run, from: None, model: Some(model) };
            suggestion("with another model", options.render_command(fork))
        });
        let fork = fork.filter(|_| !open && has_failed_items && again.is_none());
        let fork = fork.map(|fork| suggestion("to run the failed items again", options.render_command(fork)));
        let is_other = |one: &SuggestedCommand| fork.as_ref().is_none_or(|fork| fork.command != one.command);
        let changed = changed.filter(is_other);
        let again = again.map(|again| suggestion(AGAIN, options.render_command(PrintedCommand::Show(again))));
        let (first, last) = if fails_again { (None, resume) } else { (resume, None) };
        let ways = changed.into_iter().chain(first).chain(with).chain(model).chain(last).chain(fork).chain(again);
        let all: Vec<SuggestedCommand> = ways.collect();
        // A limit of a called run is raised by the command that continues the run, and one command may answer several items.
        let mut first: Vec<SuggestedCommand> = Vec::new();
        for answer in answers.filter(|answer| all.iter().all(|one| one.command != answer.command)) {
            if !first.contains(&answer) {
                first.push(answer);
            }
        }
        first.into_iter().chain(all).collect()
    }
}

/// One line for an item. `all`: all items that the run waits for, in which the name must be unique.
pub fn waiting_line(one: &AwaitedActivity, all: &[AwaitedActivity]) -> String {
    one.describe_question(name(one, all))
}

/// What a tool or command with an unknown outcome was called with.
pub fn called_line(one: &AwaitedActivity) -> Option<String> {
    Some(format!("it was called with {}", one.called_with()?))
}

/// Whether a called run waits until a limit is raised.
fn is_limit(one: &AwaitedActivity) -> bool {
    one.why.as_ref().is_some_and(|why| why.code == "BUDGET_EXCEEDED")
}

/// The limits that called runs have reached.
fn limits(waiting: &[AwaitedActivity]) -> Vec<&RunError> {
    waiting.iter().filter(|one| is_limit(one)).filter_map(|one| one.why.as_deref()).collect()
}

/// The name to use in an answer: the step's label, or its key if several waiting steps have that label.
fn name<'w>(one: &'w AwaitedActivity, all: &[AwaitedActivity]) -> &'w str {
    let several = all.iter().filter(|other| other.step == one.step && other.run == one.run).count() > 1;
    if several || one.step.is_empty() { one.key.as_str() } else { &one.step }
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
