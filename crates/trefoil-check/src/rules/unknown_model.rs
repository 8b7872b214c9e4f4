//! A model that its provider is not known to have, with the name of one that it has.

use trefoil_ir::ModelCall;
use trefoil_ir::prices::{is_known_model, known_models};
use trefoil_syntax::FindingSeverity;
use trefoil_syntax::suggestions::find_near_match;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};

pub(super) const RULE: Rule = Rule {
    name: "unknown-model",
    group: RuleGroup::Models,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Warning),
    page: include_str!("unknown_model.md"),
    run: RuleSource::Program(run),
};

/// Shorter names are too much alike: `gpt-4o` and `gpt-4.1`.
const SHORTEST: usize = 8;

fn run(cx: &mut RuleContext<'_>) {
    for (_, _, call) in cx.model.reachable_calls() {
        look(cx, call);
    }
}

fn look(cx: &mut RuleContext<'_>, call: &ModelCall) {
    let Some(provider) = call.model.provider.as_deref() else { return };
    let name = &*call.model.name;
    // The operator knows what it costs.
    let names_it = |(model, _): &(String, _)| model.split_once(':') == Some((provider, name));
    let is_priced = cx.supplied.iter().any(|all| all.prices.own.iter().any(names_it));
    if name.len() < SHORTEST || is_priced || is_known_model(provider, name) {
        return;
    }
    // The date of a version is not a part of the name.
    let (stem, date) = match name.rsplit_once('-') {
        Some((stem, date)) if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) => (stem, format!("-{date}")),
        _ => (name, String::new()),
    };
    let Some(near) = find_near_match(stem, known_models(provider)) else { return };
    // A name that differs in a number is a newer model.
    if !near.sure {
        return;
    }
    let message = format!("`{provider}` has no known model `{name}`");
    let help = format!("did you mean `{}{date}`?", near.name);
    cx.report_finding(cx.new_finding(call.model.origin, message).with_help(help));
}
