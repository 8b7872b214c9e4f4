//! Untrusted text that a shell would read as code, or split into several words.

use std::collections::BTreeSet;

use trefoil_ir::{CommandCall, FlowId, StepId, StepKind, ToolKind, ValueExpression, walk};
use trefoil_syntax::{FindingSeverity, Location};

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::shell::{self, ShellUseKind};
use crate::semantic::taint::TaintLabels;
use crate::semantic::text_pieces::{TextPiece, expression_pieces};

pub(super) const RULE: Rule = Rule {
    name: "untrusted-command",
    group: RuleGroup::Safety,
    level: Some(FindingSeverity::Error),
    strict: None,
    page: include_str!("untrusted_command.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    for (flow, id, step) in cx.model.live_steps() {
        match &step.kind {
            StepKind::Command(call) => command(cx, flow, id, call, step.origin),
            StepKind::Tool(call) if call.kind == ToolKind::Python => {
                let ValueExpression::Object(members) = &call.arguments else { continue };
                for (name, value) in members.iter().filter(|(n, _)| matches!(&**n, "module" | "function")) {
                    if let Some((who, from)) = taint_labels(cx, flow, id, value).untrusted_origin() {
                        let message = format!("{who} decides which `{name}` runs");
                        let finding = cx.new_finding(first_text_location(value).unwrap_or(step.origin), message);
                        cx.report_finding(
                            finding.with_label(from, "comes from here").with_help("write the name in the manifest"),
                        );
                    }
                }
            }
            _ => {}
        }
    }
}

fn command(cx: &mut RuleContext<'_>, flow: FlowId, id: StepId, call: &CommandCall, at: Location) {
    for (name, value) in call.env.iter().filter(|(name, _)| shell::decides_code(name)) {
        let Some((who, from)) = taint_labels(cx, flow, id, value).untrusted_origin() else { continue };
        let message = format!("`{name}` decides which code programs run, and its value comes from {who}");
        let finding =
            cx.new_finding(first_text_location(value).unwrap_or(at), message).with_label(from, "comes from here");
        cx.report_finding(finding.with_help("use a fixed value, or pass the data under another name"));
    }
    let mut seen = BTreeSet::new();
    for (name, how) in shell::command_uses(call) {
        let Some(value) = shell::parameter_value(call, &name) else { continue };
        let labels = taint_labels(cx, flow, id, value);
        let Some((who, from)) = labels.untrusted_origin() else { continue };
        let (shown, place) = displayed_value(&name, value);
        let (severity, message, help) = match how {
            ShellUseKind::Code(program) => {
                let program = match &*program {
                    "eval" | "sh" | "bash" | "the shell" => "the shell".to_owned(),
                    program => format!("`{program}`"),
                };
                (
                    FindingSeverity::Error,
                    format!("{program} runs `{shown}` as code, and it comes from {who}"),
                    "do not pass data to a program that runs it as code; name the program here, and pass the value as an argument",
                )
            }
            ShellUseKind::Setting(setting) => (
                FindingSeverity::Error,
                format!("`{setting}` decides which code programs run, and it comes from {who}"),
                "use a fixed value, or pass the data under another name",
            ),
            ShellUseKind::Arithmetic => (
                FindingSeverity::Error,
                format!("the shell evaluates `{shown}` as arithmetic, which can run commands, and it comes from {who}"),
                "compare it as text, or with `[ \"$NAME\" -eq 1 ]`, which accepts only numbers",
            ),
            ShellUseKind::File => (
                FindingSeverity::Warning,
                format!("`{shown}` decides which file is written, and it comes from {who}"),
                "use a fixed file name, or at least a fixed folder: `> \"out/$NAME\"`",
            ),
            ShellUseKind::Program => (
                // A caller is trusted more than a model, whose answer may be caused by prompt injection.
                if labels.model.is_some() { FindingSeverity::Error } else { FindingSeverity::Warning },
                format!("`{shown}` decides which program runs, and it comes from {who}"),
                "write the name in the manifest",
            ),
            ShellUseKind::Bare => (
                FindingSeverity::Warning,
                format!("`{shown}` is not quoted, so the shell splits it into words, and it comes from {who}"),
                "write `\"$NAME\"`, with the quotes",
            ),
            ShellUseKind::Host => continue,
        };
        // The most severe use comes first.
        if !seen.insert(name) {
            continue;
        }
        let mut finding =
            cx.new_finding(place.unwrap_or(at), message).with_label(from, "comes from here").with_help(help);
        finding.severity = severity;
        cx.report_finding(finding);
    }
}

/// A value of a command as written, and its place.
pub(super) fn displayed_value(name: &str, value: &ValueExpression) -> (String, Option<Location>) {
    // A parameter, or the working folder.
    let parameter = !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let path = expression_pieces(value).into_iter().find_map(|piece| match piece {
        TextPiece::Value(value) => Some((value.path_text()?, value.source_location())),
        TextPiece::Written(_) => None,
    });
    match path {
        Some(path) if parameter => path,
        _ if parameter => ("the value".to_owned(), first_text_location(value)),
        _ => (format!("${name}"), first_text_location(value)),
    }
}

pub(super) fn taint_labels(cx: &RuleContext<'_>, flow: FlowId, id: StepId, value: &ValueExpression) -> TaintLabels {
    let mut all = TaintLabels::default();
    for piece in expression_pieces(value) {
        if let TextPiece::Value(value) = piece {
            all = all.union_with(cx.model.taint().labels_of_value(cx.model.program, flow, id, &value));
        }
    }
    all
}

fn first_text_location(value: &ValueExpression) -> Option<Location> {
    let mut at = None;
    walk::visit_templates(value, &mut |text| at = at.or(Some(text.origin)));
    at
}
