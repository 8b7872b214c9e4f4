//! A credential of the environment that gets into a prompt, straight or by way of inputs and results.
//!
//! Lowering reports what it sees while it resolves names; this finds the rest.

use trefoil_ir::{Expr, Source, StepKind};
use trefoil_syntax::{Diagnostic, Location, Severity};

use crate::rule::Context;
use crate::semantic::rendered::{Piece, pieces_of};

/// Looks on where lowering does not.
pub(super) fn run(cx: &mut Context<'_>) {
    // To follow every value through a thousand steps takes as long as all other rules, and most programs read no environment.
    if !cx.model.reads().iter().any(|read| *read.source == Source::Environment) {
        return;
    }
    let program = cx.model.program;
    let mut told: Vec<Location> = Vec::new();
    for &(flow, id) in cx.model.reachable() {
        let Some(step) = program.step(id).filter(|_| cx.model.reach().is_alive(id)) else { continue };
        let texts: Vec<&Expr> = match &step.kind {
            StepKind::Model(call) => call.system.iter().chain([&call.user]).collect(),
            StepKind::Human(call) => vec![&call.prompt],
            _ => continue,
        };
        for piece in texts.into_iter().flat_map(pieces_of) {
            let Piece::Value(value) = piece else { continue };
            let Some(from) = cx.model.taint().value(program, flow, id, &value).credential else { continue };
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
                finding = finding.label(at, "it is put into the prompt here");
            }
            cx.report(finding.help("credentials belong in the `headers` of a tool"));
        }
    }
}
