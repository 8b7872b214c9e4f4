//! A secret, or an environment variable that counts as one, in the result of a run: directly, or through inputs and results.
//!
//! A load error: a result must be passed on as it is, and a secret must not be.

use std::sync::Arc;

use trefoil_ir::{credential, walk};
use trefoil_syntax::{FindingSeverity, Location};
use trefoil_template::HoleKind;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::SemanticModel;

pub(super) const RULE: Rule = Rule {
    name: "secret-in-result",
    group: RuleGroup::Safety,
    level: Some(FindingSeverity::Error),
    strict: None,
    page: include_str!("secret_in_result.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    let all = walk::program_holes(program);
    if all.is_empty() {
        return;
    }
    let sent = sent_credentials(cx.model);
    let taint = cx.model.taint();
    for root in &cx.model.roots {
        let flow = &program.flows[*root];
        let labels = taint.labels_of_output(*root);
        for name in taint.variable_names(labels.variables) {
            let why = if credential::is_credential(name) {
                format!("the name of `env.{name}` looks like a credential, and its value would be in the result")
            } else if sent.contains(name) {
                format!("`env.{name}` is sent as a credential, and its value would be in the result")
            } else {
                continue;
            };
            let at = read_at(cx.model, HoleKind::Env, name).unwrap_or(flow.origin);
            let finding = cx.new_finding(at, why);
            cx.report_cause(finding.with_help("remove it from the output, or pass the value as an input"));
        }
        if let Some(at) = labels.secret {
            let finding = cx.new_finding(at, "a secret would be in the result".to_owned());
            cx.report_cause(finding.with_help("remove it from the output"));
        }
    }
}

/// The environment variables that the program sends as credentials, whatever their names.
pub fn sent_credentials(model: &SemanticModel<'_>) -> Vec<Arc<str>> {
    let taint = model.taint();
    taint.variable_names(taint.sent_as_credentials(model.program, model.step_ids())).cloned().collect()
}

/// The same for variables of which only their values tell that they are secrets. `why`: what a value contains, in words.
pub fn find_result_leaks(cx: &mut RuleContext<'_>, variables: &[(Arc<str>, String)]) {
    let taint = cx.model.taint();
    for root in &cx.model.roots {
        let flow = &cx.model.program.flows[*root];
        for (name, why) in variables {
            if !taint.variable_names(taint.labels_of_output(*root).variables).any(|read| read == name) {
                continue;
            }
            let at = read_at(cx.model, HoleKind::Env, name).unwrap_or(flow.origin);
            let finding =
                cx.new_finding(at, format!("the value of `env.{name}` contains {why}, and would be in the result"));
            cx.report_cause(finding.with_help("remove it from the output, or use a variable that is not a credential"));
        }
    }
}

/// Where a variable is read: in the output of a flow if it is, else in any other place.
fn read_at(model: &SemanticModel<'_>, kind: HoleKind, name: &str) -> Option<Location> {
    let program = model.program;
    for flow in program.flows.iter() {
        if let Some(output) = &flow.output
            && let Some(at) = find_hole(walk::EvaluatedPart::Expr(output).find_holes(), kind, name)
        {
            return Some(at);
        }
    }
    program.steps.iter().find_map(|step| find_hole(walk::holes_of(step), kind, name))
}

/// The place of the first of these reads of a variable.
fn find_hole(holes: Vec<(HoleKind, Arc<str>, Location)>, kind: HoleKind, name: &str) -> Option<Location> {
    for (hole_kind, hole_name, at) in holes {
        if hole_kind == kind && &*hole_name == name {
            return Some(at);
        }
    }
    None
}
