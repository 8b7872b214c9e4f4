//! Untrusted text in a system message.

use trefoil_ir::StepKind;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::text_pieces::{TextPiece, expression_pieces};
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "prompt-injection",
    group: RuleGroup::Safety,
    level: None,
    strict: None,
    page: include_str!("prompt_injection.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    for (flow, id, step) in cx.model.live_steps() {
        let StepKind::Model(call) = &step.kind else { continue };
        for piece in call.system.iter().flat_map(expression_pieces) {
            let TextPiece::Value(value) = piece else { continue };
            let labels = cx.model.taint().labels_of_value(program, flow, id, &value);
            let (Some((who, from)), Some(at)) = (labels.untrusted_origin(), value.source_location()) else { continue };
            let path = value.path_text().unwrap_or_default();
            let message = format!(
                "`{path}` is part of the system message of {}, and it comes from {who}",
                words::step_name(program, id)
            );
            let mut finding = cx.new_finding(at, message);
            if from != step.origin {
                finding = finding.with_label(from, "comes from here");
            }
            cx.report_finding(finding.with_help("move it to the user message, and keep the system message fixed"));
        }
    }
}
