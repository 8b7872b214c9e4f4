//! A secret, or a credential from the environment, that reaches a prompt directly or through inputs and results.

use std::sync::Arc;

use trefoil_ir::{Source, StepKind};
use trefoil_syntax::hash::HashMap;
use trefoil_syntax::{Diagnostic, FindingSeverity, Location};

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::text_pieces::{InsertedValue, TextPiece, expression_pieces};

pub(super) const RULE: Rule = Rule {
    name: "secret-in-prompt",
    group: RuleGroup::Safety,
    level: Some(FindingSeverity::Error),
    strict: None,
    page: include_str!("secret_in_prompt.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    // Following every value through a thousand steps takes as long as all other rules together, and most programs read
    // neither.
    let Some(secrets) = read_secrets(cx) else { return };
    let program = cx.model.program;
    let mut told: Vec<Location> = Vec::new();
    for (flow, id, step) in cx.model.live_steps() {
        for piece in step.kind.message_texts().into_iter().flat_map(expression_pieces) {
            let TextPiece::Value(value) = piece else { continue };
            let labels = cx.model.taint().labels_of_value(program, flow, id, &value);
            if let Some(from) = labels.secret
                && matches!(step.kind, StepKind::Model(_))
                && !told.contains(&from)
            {
                told.push(from);
                report_secret(cx, from, secrets.get(&from), &value);
            }
            if let Some(from) = labels.credential
                && !told.contains(&from)
            {
                told.push(from);
                report_credential(cx, from, &value);
            }
        }
    }
}

/// The names of the secrets that are read, by place; `None`: no secret and no environment variable is read.
fn read_secrets<'c>(cx: &RuleContext<'c>) -> Option<HashMap<Location, &'c str>> {
    let mut secrets = HashMap::default();
    let mut is_any_read = false;
    for read in cx.model.value_reads() {
        match read.source {
            Source::Environment => is_any_read = true,
            Source::Secrets => {
                is_any_read = true;
                if let Some(reference) = read.reference
                    && let Some(segment) = reference.path.get(1)
                {
                    secrets.insert(read.at, &*segment.name);
                }
            }
            _ => {}
        }
    }
    if is_any_read { Some(secrets) } else { None }
}

/// A secret in a prompt. `name`: what it is called.
fn report_secret(cx: &mut RuleContext<'_>, from: Location, name: Option<&&str>, value: &InsertedValue<'_>) {
    let name = match name {
        Some(name) => format!(" `{name}`"),
        None => String::new(),
    };
    let d = cx.new_finding(from, format!("the secret{name} would be sent to the model"));
    let d = label_insertion(d, from, value);
    cx.report_cause(d.with_help("remove it: a prompt must not contain secrets"));
}

/// A variable in a prompt whose name looks like a credential.
fn report_credential(cx: &mut RuleContext<'_>, from: Location, value: &InsertedValue<'_>) {
    let message = match value.path_text() {
        Some(path) if value.source_location() == Some(from) => {
            format!("the name of `{path}` looks like a credential, and its value would be sent in a prompt")
        }
        Some(path) => {
            format!(
                "the name of this variable looks like a credential, and its value would be sent in a prompt, as `{path}`"
            )
        }
        None => "the name of this variable looks like a credential, and its value would be sent in a prompt".to_owned(),
    };
    let finding = Diagnostic { severity: FindingSeverity::Warning, ..cx.new_finding(from, message) };
    let finding = label_insertion(finding, from, value);
    cx.report_finding(finding.with_help("credentials belong in the `headers` of a tool"));
}

/// Adds the place where a value is inserted, if it is read elsewhere.
fn label_insertion(d: Diagnostic, from: Location, value: &InsertedValue<'_>) -> Diagnostic {
    match value.source_location() {
        Some(at) if at != from => d.with_label(at, "inserted into the prompt here"),
        _ => d,
    }
}

/// The same for variables of which only their values tell that they are secrets. `why`: what a value contains, in words.
pub fn find_prompt_leaks(cx: &mut RuleContext<'_>, variables: &[(Arc<str>, String)]) {
    let program = cx.model.program;
    let taint = cx.model.taint();
    for (flow, id, call) in cx.model.reachable_calls() {
        for piece in call.system.iter().chain([&call.user]).flat_map(expression_pieces) {
            let TextPiece::Value(value) = piece else { continue };
            let read = taint.labels_of_value(program, flow, id, &value).variables;
            let Some(at) = value.source_location() else { continue };
            for (name, why) in variables {
                if !taint.variable_names(read).any(|variable| variable == name) {
                    continue;
                }
                let finding = cx.new_finding(
                    at,
                    format!("the value of `env.{name}` contains {why}, and would be sent to the model"),
                );
                cx.report_cause(finding.with_help("remove it: a prompt must not contain secrets"));
            }
        }
    }
}
