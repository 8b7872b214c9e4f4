//! Text from outside where a shell would read it as code, or as more than one word.

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
    let program = cx.model.program;
    for &(flow, id) in cx.model.reachable() {
        let Some(step) = program.step(id).filter(|_| cx.model.reach().is_alive(id)) else { continue };
        match &step.kind {
            StepKind::Command(call) => command(cx, flow, id, call, step.origin),
            StepKind::Tool(call) if call.kind == ToolKind::Python => {
                let Expr::Object(members) = &call.arguments else { continue };
                for (name, value) in members.iter().filter(|(n, _)| matches!(&**n, "module" | "function")) {
                    if let Some((who, from)) = labels(cx, flow, id, value).untrusted() {
                        let message = format!("which `{name}` runs is decided by {who}");
                        let finding = cx.finding(place(value).unwrap_or(step.origin), message);
                        cx.report(finding.label(from, "comes from here").help("write the name out"));
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
        let message = format!("`{name}` decides which code programs run, and it is {who}");
        let finding = cx.finding(place(value).unwrap_or(at), message).label(from, "comes from here");
        cx.report(finding.help("write it out, or give the value another name"));
    }
    let mut seen = BTreeSet::new();
    for (name, how) in shell::uses(call) {
        let Some(value) = shell::value(call, &name) else { continue };
        let labels = labels(cx, flow, id, value);
        let Some((who, from)) = labels.untrusted() else { continue };
        // A caller is trusted further than what a model was talked into.
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
                    format!("{program} runs `{shown}` as code, and it is {who}"),
                    "do not hand data to what reads it as code: name the program, and pass the value as an argument",
                )
            }
            How::Setting(setting) => (
                Severity::Error,
                format!("`{setting}` decides which code programs run, and it is {who}"),
                "write it out, or give the value another name",
            ),
            How::Arithmetic => (
                Severity::Error,
                format!("the shell computes with `{shown}`, which can run commands, and it is {who}"),
                "compare it as text, or with `[ \"$NAME\" -eq 1 ]`, which takes nothing but numbers",
            ),
            How::Name => (
                Severity::Error,
                format!("the shell takes `{shown}` for the name of a variable, which can run commands, and it is {who}"),
                "write the name of the variable out",
            ),
            How::Later(place) => (
                Severity::Warning,
                format!("`{shown}` is written to `{place}`, which is run later, and it is {who}"),
                "write the file yourself, and let it read the value from a file of data",
            ),
            How::File => (
                Severity::Warning,
                format!("which file is written is decided by `{shown}`, and it is {who}"),
                "write the file's name out, or its folder: `> \"out/$NAME\"`",
            ),
            How::Option(program) => (
                by_origin,
                format!("`{program}` takes `{shown}` for an option if it begins with `-`, and it is {who}"),
                "write `--` before it, if the program knows that, or put it after an option that takes a value",
            ),
            How::Program => (
                by_origin,
                format!("which program runs is decided by `{shown}`, and it is {who}"),
                "write the name out",
            ),
            How::Bare => (
                Severity::Warning,
                format!("`{shown}` is not quoted, and it is {who}: the shell makes several words of it"),
                "write \"$NAME\", with the quotes",
            ),
            How::Host | How::Header => continue,
        };
        // The worst comes first.
        if !seen.insert(name) {
            continue;
        }
        let mut finding = cx.finding(place.unwrap_or(at), message).label(from, "comes from here").help(help);
        finding.severity = severity;
        cx.report(finding);
    }
}

/// A value of a command as its author wrote it, and where.
pub(super) fn shown(name: &str, value: &Expr) -> (String, Option<Location>) {
    let parameter = name.starts_with(|c: char| c.is_ascii_digit());
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
