//! Untrusted text that a shell would read as code, or split into several words.

use std::collections::BTreeSet;

use trefoil_ir::{CommandCall, Expr, FlowId, StepId, StepKind, ToolKind, walk};
use trefoil_syntax::{Location, Severity};

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::rendered::{Piece, pieces_of};
use crate::semantic::shell::{self, How};
use crate::semantic::taint::Labels;

pub(super) const RULE: Rule = Rule {
    name: "untrusted-command",
    group: Group::Safety,
    level: Some(Severity::Error),
    strict: None,
    page: include_str!("untrusted_command.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    for (flow, id, step) in cx.model.live_steps() {
        match &step.kind {
            StepKind::Command(call) => command(cx, flow, id, call, step.origin),
            StepKind::Tool(call) if call.kind == ToolKind::Python => {
                let Expr::Object(members) = &call.arguments else { continue };
                for (name, value) in members.iter().filter(|(n, _)| matches!(&**n, "module" | "function")) {
                    if let Some((who, from)) = labels(cx, flow, id, value).untrusted() {
                        let message = format!("{who} decides which `{name}` runs");
                        let finding = cx.finding(place(value).unwrap_or(step.origin), message);
                        cx.report(finding.label(from, "comes from here").help("write the name in the manifest"));
                    }
                }
            }
            _ => {}
        }
    }
}

fn command(cx: &mut Context<'_>, flow: FlowId, id: StepId, call: &CommandCall, at: Location) {
    for (name, value) in call.env.iter().filter(|(name, _)| shell::decides_code(name)) {
        let Some((who, from)) = labels(cx, flow, id, value).untrusted() else { continue };
        let message = format!("`{name}` decides which code programs run, and its value comes from {who}");
        let finding = cx.finding(place(value).unwrap_or(at), message).label(from, "comes from here");
        cx.report(finding.help("use a fixed value, or pass the data under another name"));
    }
    let mut seen = BTreeSet::new();
    for (name, how) in shell::uses(call) {
        let Some(value) = shell::value(call, &name) else { continue };
        let labels = labels(cx, flow, id, value);
        let Some((who, from)) = labels.untrusted() else { continue };
        // A caller is trusted more than a model, whose answer may be caused by prompt injection.
        let by_origin = if labels.model.is_some() { Severity::Error } else { Severity::Warning };
        let (shown, place) = shown(&name, value);
        let (severity, message, help) = match how {
            How::Code(program) => {
                let program = match &*program {
                    "eval" | "sh" | "bash" | "the shell" => "the shell".to_owned(),
                    "the program" => "the program, which may be a shell,".to_owned(),
                    program => format!("`{program}`"),
                };
                (
                    Severity::Error,
                    format!("{program} runs `{shown}` as code, and it comes from {who}"),
                    "do not pass data to a program that runs it as code; name the program here, and pass the value as an argument",
                )
            }
            How::Setting(setting) => (
                Severity::Error,
                format!("`{setting}` decides which code programs run, and it comes from {who}"),
                "use a fixed value, or pass the data under another name",
            ),
            How::Arithmetic => (
                Severity::Error,
                format!("the shell evaluates `{shown}` as arithmetic, which can run commands, and it comes from {who}"),
                "compare it as text, or with `[ \"$NAME\" -eq 1 ]`, which accepts only numbers",
            ),
            How::Name => (
                Severity::Error,
                format!("the shell uses `{shown}` as the name of a variable, which can run commands, and it comes from {who}"),
                "use a fixed variable name",
            ),
            How::Later(place) => (
                Severity::Warning,
                format!("`{shown}` is written to `{place}`, which is run later, and it comes from {who}"),
                "write that file by hand, and let it read the value from a data file",
            ),
            How::File => (
                Severity::Warning,
                format!("`{shown}` decides which file is written, and it comes from {who}"),
                "use a fixed file name, or at least a fixed folder: `> \"out/$NAME\"`",
            ),
            How::Option(program) => (
                by_origin,
                format!("`{program}` reads `{shown}` as an option if it starts with `-`, and it comes from {who}"),
                "write `--` before it if the program supports that, or pass it as the value of an option",
            ),
            How::Program => (
                by_origin,
                format!("`{shown}` decides which program runs, and it comes from {who}"),
                "write the name in the manifest",
            ),
            How::Bare => (
                Severity::Warning,
                format!("`{shown}` is not quoted, so the shell splits it into words, and it comes from {who}"),
                "write `\"$NAME\"`, with the quotes",
            ),
            How::Host | How::Header => continue,
        };
        // The most severe use comes first.
        if !seen.insert(name) {
            continue;
        }
        let mut finding = cx.finding(place.unwrap_or(at), message).label(from, "comes from here").help(help);
        finding.severity = severity;
        cx.report(finding);
    }
}

/// A value of a command as written, and its place.
pub(super) fn shown(name: &str, value: &Expr) -> (String, Option<Location>) {
    // A parameter, or the working folder.
    let parameter = !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let path = pieces_of(value).into_iter().find_map(|piece| match piece {
        Piece::Value(value) => Some((value.path()?, value.at())),
        Piece::Written(_) => None,
    });
    match path {
        Some(path) if parameter => path,
        _ if parameter => ("the value".to_owned(), place(value)),
        _ => (format!("${name}"), place(value)),
    }
}

pub(super) fn labels(cx: &Context<'_>, flow: FlowId, id: StepId, value: &Expr) -> Labels {
    let mut all = Labels::default();
    for piece in pieces_of(value) {
        if let Piece::Value(value) = piece {
            all = all.and(cx.model.taint().value(cx.model.program, flow, id, &value));
        }
    }
    all
}

fn place(value: &Expr) -> Option<Location> {
    let mut at = None;
    walk::texts(value, &mut |text| at = at.or(Some(text.origin)));
    at
}
