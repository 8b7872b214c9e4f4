//! A secret, or an environment variable that counts as one, in the result of a run: directly, or through inputs and results.
//!
//! A load error: a result must be passed on as it is, and a secret must not be.

use std::sync::Arc;

use trefoil_ir::{credential, walk};
use trefoil_syntax::{Location, FindingSeverity};
use trefoil_template::HoleKind;

use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};
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
    for root in cx.model.roots.clone() {
        let flow = &program.flows[root];
        let taint = cx.model.taint();
        let labels = taint.labels_of_output(root);
        let named = taint.variable_names(labels.variables).filter(|name| credential::is_credential(name) || sent.contains(name));
        let named: Vec<Arc<str>> = named.cloned().collect();
        for name in named {
            let why = if credential::is_credential(&name) {
                format!("the name of `env.{name}` looks like a credential, and its value would be in the result")
            } else {
                format!("`env.{name}` is sent as a credential, and its value would be in the result")
            };
            let at = read_at(cx.model, HoleKind::Env, &name).unwrap_or(flow.origin);
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
    let roots = cx.model.roots.clone();
    for (root, (name, why)) in roots.iter().flat_map(|root| variables.iter().map(move |one| (*root, one))) {
        let (taint, flow) = (cx.model.taint(), &cx.model.program.flows[root]);
        if taint.variable_names(taint.labels_of_output(root).variables).any(|read| read == name) {
            let at = read_at(cx.model, HoleKind::Env, name).unwrap_or(flow.origin);
            let finding = cx.new_finding(at, format!("the value of `env.{name}` contains {why}, and would be in the result"));
            cx.report_cause(finding.with_help("remove it from the output, or use a variable that is not a credential"));
        }
    }
}

/// Where a variable is read: in the output of a flow if it is, else in any other place.
fn read_at(model: &SemanticModel<'_>, kind: HoleKind, name: &str) -> Option<Location> {
    let program = model.program;
    let is_it = |(k, n, at): (HoleKind, Arc<str>, Location)| (k == kind && &*n == name).then_some(at);
    let outputs = program.flows.iter().filter_map(|flow| flow.output.as_ref());
    let in_outputs = outputs.flat_map(|output| walk::EvaluatedPart::Expr(output).find_holes()).find_map(is_it);
    in_outputs.or_else(|| program.steps.iter().flat_map(walk::holes_of).find_map(is_it))
}
