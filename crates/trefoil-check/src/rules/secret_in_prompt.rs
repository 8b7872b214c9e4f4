//! A secret, or a credential from the environment, that reaches a prompt directly or through inputs and results.

use std::sync::Arc;

use trefoil_ir::{Source, StepKind};
use trefoil_syntax::hash::HashMap;
use trefoil_syntax::{Diagnostic, Location, FindingSeverity};

use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};
use crate::semantic::text_pieces::{TextPiece, expression_pieces};

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
    let reads = cx.model.value_reads().iter();
    let mut guarded = reads.filter(|read| matches!(read.source, Source::Environment | Source::Secrets)).peekable();
    if guarded.peek().is_none() {
        return;
    }
    let secrets: HashMap<Location, &str> = guarded
        .filter(|read| *read.source == Source::Secrets)
        .filter_map(|read| Some((read.at, &*read.reference?.path.get(1)?.name)))
        .collect();
    let program = cx.model.program;
    let mut told: Vec<Location> = Vec::new();
    for (flow, id, step) in cx.model.live_steps() {
        for piece in step.kind.message_texts().into_iter().flat_map(expression_pieces) {
            let TextPiece::Value(value) = piece else { continue };
            let labels = cx.model.taint().labels_of_value(program, flow, id, &value);
            let secret = labels.secret.filter(|_| matches!(step.kind, StepKind::Model(_)));
            if let Some(from) = secret.filter(|from| !told.contains(from)) {
                told.push(from);
                let name = secrets.get(&from).map(|name| format!(" `{name}`")).unwrap_or_default();
                let d = cx.new_finding(from, format!("the secret{name} would be sent to the model"));
                let at = value.source_location().filter(|at| *at != from);
                let d = at.into_iter().fold(d, |d, at| d.with_label(at, "inserted into the prompt here"));
                cx.report_cause(d.with_help("remove it: a prompt must not contain secrets"));
            }
            let Some(from) = labels.credential else { continue };
            if told.contains(&from) {
                continue;
            }
            told.push(from);
            let message = match value.path_text() {
                Some(path) if value.source_location() == Some(from) => {
                    format!("the name of `{path}` looks like a credential, and its value would be sent in a prompt")
                }
                Some(path) => {
                    format!(
                        "the name of this variable looks like a credential, and its value would be sent in a prompt, as `{path}`"
                    )
                }
                None => "the name of this variable looks like a credential, and its value would be sent in a prompt"
                    .to_owned(),
            };
            let mut finding = Diagnostic { severity: FindingSeverity::Warning, ..cx.new_finding(from, message) };
            if let Some(at) = value.source_location().filter(|at| *at != from) {
                finding = finding.with_label(at, "inserted into the prompt here");
            }
            cx.report_finding(finding.with_help("credentials belong in the `headers` of a tool"));
        }
    }
}

/// The same for variables of which only their values tell that they are secrets. `why`: what a value contains, in words.
pub fn find_prompt_leaks(cx: &mut RuleContext<'_>, variables: &[(Arc<str>, String)]) {
    let program = cx.model.program;
    for (flow, id, call) in cx.model.reachable_calls() {
        for piece in call.system.iter().chain([&call.user]).flat_map(expression_pieces) {
            let TextPiece::Value(value) = piece else { continue };
            let read = cx.model.taint().labels_of_value(program, flow, id, &value).variables;
            for (name, why) in variables {
                let Some(at) = value.source_location().filter(|_| cx.model.taint().variable_names(read).any(|one| one == name)) else { continue };
                let finding =
                    cx.new_finding(at, format!("the value of `env.{name}` contains {why}, and would be sent to the model"));
                cx.report_cause(finding.with_help("remove it: a prompt must not contain secrets"));
            }
        }
    }
}
