//! What would stop a run on its way, found before its first call: features that are not run, tools, commands and people
//! that are not there, agents that nobody declares.
//!
//! Everything that a run *can* reach counts, whether or not this run would: nobody pays for half a pipeline.

use trefoil_ir::{FlowId, HumanCall, OnTimeout, Program, StepId, StepKind, walk};
use trefoil_runtime::ToolHost;
use trefoil_syntax::{Diagnostic, suggest};

/// A step that this version does not run.
pub const REFUSED: &str = "refused";
/// An agent that nobody declares.
pub const MISSING_AGENT: &str = "missing-agent";
/// A tool that nobody offers.
pub const MISSING_TOOL: &str = "missing-tool";
/// A command, and no permission.
pub const COMMAND: &str = "command-not-allowed";
/// A question, and nobody to answer it.
pub const NOBODY: &str = "nobody-to-ask";
/// An answer to a step that is not there.
pub const UNKNOWN_ANSWER: &str = "unknown-answer";

/// Rule name and what it says.
pub const RULES: &[(&str, &str)] = &[
    (REFUSED, "the run can reach a feature that this version does not run"),
    (MISSING_AGENT, "the run calls an agent that nobody declares"),
    (MISSING_TOOL, "the run calls a tool that nobody offers"),
    (COMMAND, "the run can reach a command, and commands are not allowed"),
    (NOBODY, "the run can ask a person, and there is nobody to ask"),
    (UNKNOWN_ANSWER, "an answer was given for a step that asks nobody"),
];

/// What the host of a run has to offer.
pub struct Host<'h> {
    /// Its tools.
    pub tools: &'h dyn ToolHost,
    /// Commands may run.
    pub commands: bool,
    /// Somebody is there to be asked.
    pub people: bool,
    /// Answers given beforehand, by step.
    pub answers: &'h [String],
    /// The embedded model answers: it also plays agents that nobody declares.
    pub embedded: bool,
}

/// Everything that would stop a run of this program.
pub fn preflight(program: &Program, host: &Host<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (_, id) in walk::reachable(program, program.entry) {
        let Some(step) = program.step(id) else { continue };
        match &step.kind {
            StepKind::Refused(refused) => found.push(
                Diagnostic::error(REFUSED, step.origin, format!("{} is not run by this version", refused.feature))
                    .help(refused.message.to_string()),
            ),
            StepKind::Tool(call) if !host.tools.offers(&call.name) => found.push(
                Diagnostic::error(MISSING_TOOL, step.origin, format!("nobody offers the tool `{}`", call.name))
                    .help("answer it with `--model scripted=FILE`, or register a tool of this name where the library is embedded"),
            ),
            StepKind::Command(_) if !host.commands => found.push(
                Diagnostic::error(COMMAND, step.origin, "this step runs a command, and commands are not allowed")
                    .help("read it, then allow it with `--allow-command`"),
            ),
            _ => {}
        }
    }
    if !host.embedded {
        for (name, at) in &program.missing_agents {
            found.push(
                Diagnostic::error(MISSING_AGENT, *at, format!("nobody declares the agent `{name}`"))
                    .help("add its manifest to the folder; only the embedded model plays agents that nobody declares"),
            );
        }
    }
    people(program, host, &mut found);
    found
}

fn people(program: &Program, host: &Host<'_>, found: &mut Vec<Diagnostic>) {
    let asked = questions(program);
    for (label, id, call) in &asked {
        let answered = host.answers.iter().any(|a| a == label);
        if let (false, false, OnTimeout::Fail, Some(step)) =
            (answered, host.people, &call.on_timeout, program.step(*id))
        {
            found.push(
                Diagnostic::error(NOBODY, step.origin, format!("`{label}` asks a person, and there is nobody to ask"))
                    .help(format!(
                        "answer it with `--answer {label}=VALUE`, run it on a terminal, or declare a default"
                    )),
            );
        }
    }
    for answer in host.answers {
        if !asked.iter().any(|(label, ..)| label == answer) {
            let d = Diagnostic::nowhere(
                UNKNOWN_ANSWER,
                trefoil_syntax::Severity::Error,
                None,
                format!("no step `{answer}` asks a person"),
            );
            let labels: Vec<&str> = asked.iter().map(|(label, ..)| label.as_str()).collect();
            found.push(match suggest::nearest(answer, labels.iter().copied()) {
                Some(near) => d.help(format!("did you mean `{near}`?")),
                None if labels.is_empty() => d.help("no step asks anybody"),
                None => d.help(format!("those that ask are `{}`", labels.join("`, `"))),
            });
        }
    }
}

/// Every question that a run can reach, with the name that `--answer` knows it by: the innermost label around it.
pub fn questions(program: &Program) -> Vec<(String, StepId, &HumanCall)> {
    let mut all = Vec::new();
    let mut seen = vec![false; program.flows.len()];
    let mut stack: Vec<(FlowId, String)> = vec![(program.entry, program.name.to_string())];
    while let Some((flow, label)) = stack.pop() {
        match seen.get_mut(flow.index()) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        let Some(flow) = program.flow(flow) else { continue };
        let mut steps = vec![(flow.body, label)];
        while let Some((id, label)) = steps.pop() {
            let Some(step) = program.step(id) else { continue };
            let label = step.label.as_ref().map_or(label, |l| l.to_string());
            if let StepKind::Human(call) = &step.kind
                && !all.iter().any(|(have, known, _)| *known == id && *have == label)
            {
                all.push((label.clone(), id, call));
            }
            stack.extend(walk::callees(step).into_iter().map(|f| (f, label.clone())));
            steps.extend(walk::children(step).into_iter().rev().map(|s| (s, label.clone())));
        }
    }
    all
}
