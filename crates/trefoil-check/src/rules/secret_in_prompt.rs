//! A secret, or a credential from the environment, that reaches a prompt directly or through inputs and results.

use std::sync::Arc;

use trefoil_ir::{Source, StepKind};
use trefoil_syntax::hash::HashMap;
use trefoil_syntax::{Diagnostic, Location, Severity};

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::rendered::{Piece, pieces_of};

pub(super) const RULE: Rule = Rule {
    name: "secret-in-prompt",
    group: Group::Safety,
    level: Some(Severity::Error),
    strict: None,
    page: include_str!("secret_in_prompt.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    // Following every value through a thousand steps takes as long as all other rules together, and most programs read
    // neither.
    let reads = cx.model.reads().iter();
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
        for piece in step.kind.messages().into_iter().flat_map(pieces_of) {
            let Piece::Value(value) = piece else { continue };
            let labels = cx.model.taint().value(program, flow, id, &value);
            let secret = labels.secret.filter(|_| matches!(step.kind, StepKind::Model(_)));
            if let Some(from) = secret.filter(|from| !told.contains(from)) {
                told.push(from);
                let name = secrets.get(&from).map(|name| format!(" `{name}`")).unwrap_or_default();
                let d = cx.finding(from, format!("the secret{name} would be sent to the model"));
                let at = value.at().filter(|at| *at != from);
                let d = at.into_iter().fold(d, |d, at| d.label(at, "inserted into the prompt here"));
                cx.report_cause(d.help("remove it: a prompt must not contain secrets"));
            }
            let Some(from) = labels.credential else { continue };
            if told.contains(&from) {
                continue;
            }
            told.push(from);
            let message = match value.path() {
                Some(path) if value.at() == Some(from) => {
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
            let mut finding = Diagnostic { severity: Severity::Warning, ..cx.finding(from, message) };
            if let Some(at) = value.at().filter(|at| *at != from) {
                finding = finding.label(at, "inserted into the prompt here");
            }
            cx.report(finding.help("credentials belong in the `headers` of a tool"));
        }
    }
}

/// The same for variables of which only their values tell that they are secrets. `why`: what a value contains, in words.
pub fn leaks(cx: &mut Context<'_>, variables: &[(Arc<str>, String)]) {
    let program = cx.model.program;
    for (flow, id, call) in cx.model.reachable_calls() {
        for piece in call.system.iter().chain([&call.user]).flat_map(pieces_of) {
            let Piece::Value(value) = piece else { continue };
            let read = cx.model.taint().value(program, flow, id, &value).variables;
            for (name, why) in variables {
                let Some(at) = value.at().filter(|_| cx.model.taint().names(read).any(|one| one == name)) else { continue };
                let finding =
                    cx.finding(at, format!("the value of `env.{name}` contains {why}, and would be sent to the model"));
                cx.report_cause(finding.help("remove it: a prompt must not contain secrets"));
            }
        }
    }
}
