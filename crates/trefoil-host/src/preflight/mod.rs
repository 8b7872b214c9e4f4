//! Finds everything that would stop a run, before its first call: unsupported features; tools, commands and people that
//! are not available; agents that are not defined.
//!
//! Everything that a run *can* reach counts, even if this run would not reach it, so that nobody pays for half a
//! pipeline.

mod certain_steps;
mod environment;
mod inputs;
mod modules;

use std::collections::HashSet;
use std::sync::Arc;

use trefoil_check::words::{in_argument, in_input, server_as_tool, toml_key};
use trefoil_ir::{OnTimeout, Program, Step, StepId, StepKind, ToolCall, ToolKind, walk};
use trefoil_machine::step_path::{StepPlace, without_wrong_mark};
use trefoil_machine::text::script_line;
use trefoil_runtime::{ToolHost, ToolRefusal};
use trefoil_syntax::{Diagnostic, FindingSeverity, Location, suggestions};

use crate::answers::{HumanQuestion, QuestionTrial, answers_question, find_questions, match_questions};

use trefoil_view::feature_name;

pub use certain_steps::certain_steps;
pub use environment::missing_environment;
pub use inputs::{input_names, missing_inputs, pass_advice};
pub use modules::{MODULE, ModuleUse, missing_modules, modules_of};

/// An unsupported step.
pub const REFUSED: &str = "refused";
/// An agent that is not defined.
pub const MISSING_AGENT: &str = "missing-agent";
/// A tool that is not available.
pub const MISSING_TOOL: &str = "missing-tool";
/// A tool whose program cannot be found.
pub const MISSING_PROGRAM: &str = "missing-program";
/// A command without permission.
pub const COMMAND: &str = "command-not-allowed";
/// A tool that the flow may not use.
pub const TOOL: &str = "tool-not-allowed";
/// A secret among the arguments of a process or of a flow.
pub const IN_ARGUMENT: &str = "secret-in-argument";
/// A question without anybody to answer it.
pub const NOBODY: &str = "nobody-to-ask";
/// An answer to an unknown step.
pub const UNKNOWN_ANSWER: &str = "unknown-answer";
/// An answer that its step does not accept.
pub const WRONG_ANSWER: &str = "wrong-answer";
/// An answer for a name that several steps have.
pub const AMBIGUOUS_ANSWER: &str = "ambiguous-answer";

/// What the host of a run offers.
pub struct HostOffer<'h> {
    /// Its tools.
    pub tools: &'h dyn ToolHost,
    /// What is wrong with a tool, if anything.
    pub fault: &'h dyn Fn(&str) -> Option<&'h str>,
    /// Whether the arguments of one of them are among those of a process.
    pub on_command_line: &'h dyn Fn(&str) -> bool,
    /// Whether one of them is a flow, so that its arguments are the input of a run and stored with it.
    pub is_flow: &'h dyn Fn(&str) -> bool,
    /// Whether a flow that the program may call has a human step of this name.
    pub asks: &'h dyn Fn(&str) -> bool,
    /// Whether commands may run.
    pub commands: bool,
    /// Whether Python functions may run.
    pub python: bool,
    /// Whether a person can be asked.
    pub people: bool,
    /// The prepared answers: steps by key or label, and the answer.
    pub answers: &'h [(String, String)],
    /// Why the program of a tool or of a server cannot be started, and the table that declares it.
    pub program: &'h dyn Fn(&ToolCall) -> Option<(String, String)>,
    /// Whether a script answers.
    pub script: bool,
    /// Whether answers are placeholders or scripted.
    pub rehearsal: bool,
    /// Whether the embedded model answers, which also replaces agents that are not defined.
    pub embedded: bool,
    /// Whether the library is embedded in another program: advice then names methods of the engine instead of options and settings.
    pub library: bool,
    /// Why the flow may run no commands, if that is due to its own rights.
    pub no_commands: Option<&'h ToolRefusal>,
    /// Why the flow may not use a tool, if that is due to its own rights.
    pub refused: &'h dyn Fn(&ToolCall) -> Option<ToolRefusal>,
}

impl HostOffer<'_> {
    /// How to allow commands, or functions.
    fn allow(&self, what: &str, method: &str) -> String {
        match (self.no_commands, self.library) {
            (Some(refusal), _) => format!("review the {what}, then {}", refusal.help),
            (None, true) => format!("review the {what}, then allow it with `Engine::{method}`"),
            (None, false) => format!("review the {what}, then pass `--allow-command`"),
        }
    }

    /// Why there are no commands, and no functions.
    fn commands_fault(&self) -> String {
        match self.no_commands {
            Some(refusal) => format!("and {}", refusal.why),
            None => "which is off by default".to_owned(),
        }
    }
}

/// Everything that would stop a run of this program.
pub fn run_preflight(program: &Program, host: &HostOffer<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let uncalled = uncalled_steps(program, host.embedded);
    for (_, id) in walk::reachable_steps(program, program.entry) {
        let step = &program.steps[id];
        if let Some(finding) = find_missing_right(step, host, uncalled.contains(&id)) {
            found.push(finding);
            continue;
        }
        match &step.kind {
            StepKind::Refused(refused) => found.push(
                Diagnostic::new_error(
                    REFUSED,
                    step.origin,
                    format!("{} is not supported yet", feature_name(&refused.feature)),
                )
                .with_help(refused.message.to_string()),
            ),
            StepKind::Tool(call)
                if call.kind == ToolKind::Python
                    && !uncalled.contains(&id)
                    && !host.tools.offers_tool(&call.name, &call.kind) =>
            {
                if host.python {
                    continue;
                }
                let message = format!(
                    "this step runs the Python function `{}`, {}",
                    modules::function_of(call),
                    host.commands_fault()
                );
                let help = format!("{}{}", host.allow("function", "python"), or_script(call, host));
                found.push(Diagnostic::new_error(COMMAND, step.origin, message).with_help(help));
            }
            StepKind::Tool(call) if !uncalled.contains(&id) && !host.tools.offers_tool(&call.name, &call.kind) => found
                .push(Diagnostic::new_error(MISSING_TOOL, step.origin, missing(call)).with_help(supply(call, host))),
            StepKind::Tool(call) if call.kind == ToolKind::Local && (host.fault)(&call.name).is_some() => {
                let why = (host.fault)(&call.name).unwrap_or_default();
                let message = format!("the tool `{}` cannot be called: {why}", call.name);
                found.push(Diagnostic::new_error(MISSING_TOOL, step.origin, message));
            }
            StepKind::Tool(call) if !uncalled.contains(&id) && (host.program)(call).is_some() => {
                let (table, why) = (host.program)(call).unwrap_or_default();
                let message = format!("the program of `[{table}]` cannot be started: {why}");
                let help = format!("install it, or correct `command` of `[{table}]`");
                found.push(Diagnostic::new_error(MISSING_PROGRAM, step.origin, message).with_help(help));
            }
            StepKind::Tool(call) if call.kind == ToolKind::Local && (host.on_command_line)(&call.name) => {
                for (kind, name, at) in walk::holes_of(step) {
                    let (message, help) = in_argument(kind, &name, &call.name);
                    found.push(Diagnostic::new_error(IN_ARGUMENT, at, message).with_help(help));
                }
            }
            StepKind::Tool(call) if call.kind == ToolKind::Local && (host.is_flow)(&call.name) => {
                for (kind, name, at) in walk::holes_of(step) {
                    if kind == trefoil_template::HoleKind::Secret {
                        let (message, help) = in_input(&name, &call.name);
                        found.push(Diagnostic::new_error(IN_ARGUMENT, at, message).with_help(help));
                    }
                }
            }
            _ => {}
        }
    }
    if !host.embedded {
        for (name, at) in &program.missing_agents {
            found.push(
                Diagnostic::new_error(MISSING_AGENT, *at, format!("agent `{name}` is not defined"))
                    .with_help("add its manifest to the folder; only the embedded model can stand in for it"),
            );
        }
    }
    people(program, host, &mut found);
    found
}

/// A command that may not run, or a tool that the flow may not use. `uncalled`: no step comes to it.
fn find_missing_right(step: &Step, host: &HostOffer<'_>, uncalled: bool) -> Option<Diagnostic> {
    match &step.kind {
        StepKind::Command(call) if !host.commands => {
            let script = script_line(&call.script, call.arguments.len());
            let message = format!("this step runs the shell command `{script}`, {}", host.commands_fault());
            Some(Diagnostic::new_error(COMMAND, step.origin, message).with_help(host.allow("command", "commands")))
        }
        StepKind::Tool(call) if !uncalled => {
            let ToolRefusal { why, help } = (host.refused)(call)?;
            let help = format!("review what the flow does with it, then {help}");
            Some(Diagnostic::new_error(TOOL, step.origin, why).with_help(help))
        }
        _ => None,
    }
}

/// The calls of local tools that a run can come to, each with its step's place. `embedded`: as in [`HostOffer`].
pub fn local_calls(program: &Program, embedded: bool) -> Vec<(Arc<str>, Location)> {
    let uncalled = uncalled_steps(program, embedded);
    let mut calls = Vec::new();
    for (_, id) in walk::reachable_steps(program, program.entry) {
        let step = &program.steps[id];
        if let StepKind::Tool(call) = &step.kind
            && call.kind == ToolKind::Local
            && !uncalled.contains(&id)
        {
            calls.push((call.name.clone(), step.origin));
        }
    }
    calls
}

/// The steps that only a model can start, if that calls no tools, as the embedded one.
pub fn uncalled_steps(program: &Program, embedded: bool) -> HashSet<StepId> {
    if !embedded {
        return HashSet::new();
    }
    let mut uncalled = HashSet::new();
    for step in program.steps.iter() {
        if let StepKind::Conversation(conversation) = &step.kind {
            uncalled.extend(conversation.offers.iter().map(|offer| offer.step));
            uncalled.extend(conversation.gate);
        }
    }
    uncalled
}

/// How to supply a missing tool.
fn missing(call: &ToolCall) -> String {
    match &call.kind {
        ToolKind::Mcp { server, .. } if call.name.is_empty() => format!("no MCP server `{server}`"),
        ToolKind::Mcp { server, .. } => format!("no tool `{}` of the MCP server `{server}`", call.name),
        _ => format!("no implementation for the tool `{}`", call.name),
    }
}

/// The other way to supply a tool if answers are made up.
fn or_script(call: &ToolCall, host: &HostOffer<'_>) -> String {
    match (host.script, host.rehearsal) {
        (true, _) => format!("; or add `{}` under `tools:` of the script", call.name),
        (false, true) if host.library => "; or answer it with `Engine::model(\"scripted=FILE\")`".to_owned(),
        (false, true) => "; or answer it with `--model scripted=FILE`".to_owned(),
        (false, false) => String::new(),
    }
}

fn supply(call: &ToolCall, host: &HostOffer<'_>) -> String {
    format!("{}{}", declare(call, host), or_script(call, host))
}

fn declare(call: &ToolCall, host: &HostOffer<'_>) -> String {
    let name = &call.name;
    match &call.kind {
        ToolKind::Http => "allow HTTP tools, or register a tool with this name".to_owned(),
        // A script has no lists.
        ToolKind::Local if !host.script && host.tools.offers_tool("", &ToolKind::for_mcp_server(name.clone())) => {
            server_as_tool(name, None)
        }
        ToolKind::Local if host.library => "register a tool with this name: `Engine::tool`".to_owned(),
        ToolKind::Local => format!(
            "declare it in `trefoil.toml`: `[tools.{}]` with `command = [\"program\", \"argument\"]` or `flow = \"FILE\"`",
            toml_key(name)
        ),
        ToolKind::Mcp { server, .. } if server.contains("://") => {
            "the URL of an MCP server must start with `https://` or `http://`".to_owned()
        }
        // It is declared, and has a list of tools.
        ToolKind::Mcp { server, .. }
            if !host.script && host.tools.offers_tool("", &ToolKind::for_mcp_server(server.clone())) =>
        {
            format!("add it to `tools` under `[mcp.{}]`, where the server is declared", toml_key(server))
        }
        ToolKind::Mcp { .. } if host.library => "pass a tool host that offers it: `Engine::tools`".to_owned(),
        ToolKind::Mcp { server, .. } => format!(
            "declare the server in `trefoil.toml`: `[mcp.{}]` with `command = [\"program\", \"argument\"]` or `url = \"...\"`",
            toml_key(server)
        ),
        ToolKind::Python => host.allow("function", "python"),
    }
}

fn people(program: &Program, host: &HostOffer<'_>, found: &mut Vec<Diagnostic>) {
    let asked = find_questions(program);
    let mut reported = HashSet::new();
    for question in &asked {
        let answered = host.answers.iter().any(|(name, _)| answers_question(&asked, name, question));
        let step = &program.steps[question.place.id];
        if let (false, false, OnTimeout::Fail) = (answered, host.people, &question.call.on_timeout)
            && reported.insert(question.place.key.clone())
        {
            // The shortest name that only this step has.
            let StepPlace { label, key, .. } = &question.place;
            let name = match match_questions(&asked, label).as_deref() {
                Ok([only]) if only.place.key == *key => label,
                _ => key,
            };
            let (why, help) = match host.library {
                true => (
                    "nobody can be asked",
                    "answer it with `Engine::answer`, pass an inbox to `Engine::humans`, or declare a default"
                        .to_owned(),
                ),
                false => (
                    "this is not a terminal",
                    format!("answer it with `--answer {name}=VALUE`, run it on a terminal, or declare a default"),
                ),
            };
            let message = format!("`{name}` needs a human answer, but {why}");
            found.push(Diagnostic::new_error(NOBODY, step.origin, message).with_help(help));
        }
    }
    for (answer, value) in host.answers {
        match match_questions(&asked, answer) {
            Ok(steps) if steps.is_empty() && (host.asks)(answer) => continue,
            Ok(steps) if steps.is_empty() => {}
            Ok(steps) => {
                if let Some(question) = steps.first() {
                    found.extend(wrong(program, question, answer, value));
                }
                continue;
            }
            Err(keys) => {
                let message = format!("several human steps are named `{answer}`");
                let help = format!("use the key of one of them: `{}`", keys.join("`, `"));
                found.push(
                    Diagnostic::without_location(AMBIGUOUS_ANSWER, FindingSeverity::Error, None, message)
                        .with_help(help),
                );
                continue;
            }
        }
        let message = format!("unknown human step `{answer}`");
        let d = Diagnostic::without_location(UNKNOWN_ANSWER, FindingSeverity::Error, None, message);
        let mut keys: Vec<&str> = asked.iter().map(|q| q.place.key.as_str()).collect();
        keys.dedup();
        let names = asked.iter().flat_map(|q| [q.place.label.as_str(), q.place.key.as_str()]);
        let places: Vec<&StepPlace> = asked.iter().map(|q| &q.place).collect();
        let mark = without_wrong_mark(answer, &places);
        found.push(match (mark, suggestions::nearest_name(answer, names)) {
            (Some(mark), _) => d.with_help(mark),
            (None, Some(near)) => d.with_help(format!("did you mean `{near}`?")),
            (None, None) if keys.is_empty() => {
                let calls = program.steps.iter().any(|step| matches!(step.kind, StepKind::Tool(_)));
                d.with_help(match calls {
                    true => "this file has no human steps; one of a called flow is named `STEP` or `CALL/STEP`",
                    false => "this workflow has no human steps",
                })
            }
            (None, None) => d.with_help(format!("human steps: `{}`", keys.join("`, `"))),
        });
    }
}

/// Reports an answer that its question certainly rejects, so that nobody pays for the steps before the question.
fn wrong(program: &Program, question: &HumanQuestion<'_>, name: &str, value: &str) -> Option<Diagnostic> {
    let rehearsal = QuestionTrial::for_question(program, question.place.id)?;
    if rehearsal.accepts_answer(value) {
        return None;
    }
    let message = match value {
        "" => format!("`--answer {name}=` is empty, but `{name}` needs one of its answers"),
        value => format!("`{value}` is not one of the answers of `{name}`"),
    };
    let help = format!("the answers are `{}`", rehearsal.accepts.join("`, `"));
    Some(Diagnostic::without_location(WRONG_ANSWER, FindingSeverity::Error, None, message).with_help(help))
}
