//! Untrusted text in a system message.

use trefoil_ir::StepKind;

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::rendered::{Piece, pieces_of};
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "prompt-injection",
    group: Group::Safety,
    level: None,
    strict: None,
    page: include_str!("prompt_injection.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    for (flow, id, step) in cx.model.live_steps() {
        let StepKind::Model(call) = &step.kind else { continue };
        for piece in call.system.iter().flat_map(pieces_of) {
            let Piece::Value(value) = piece else { continue };
            let labels = cx.model.taint().value(program, flow, id, &value);
            let (Some((who, from)), Some(at)) = (labels.untrusted(), value.at()) else { continue };
            let path = value.path().unwrap_or_default();
            let message = format!("`{path}` is part of the system message of {}, and it comes from {who}", words::step(program, id));
            let mut finding = cx.finding(at, message);
            if from != step.origin {
                finding = finding.label(from, "comes from here");
            }
            cx.report(finding.help("move it to the user message, and keep the system message fixed"));
        }
    }
}
