//! A sampling parameter that the provider rejects.

use trefoil_ir::ModelCall;
use trefoil_syntax::FindingSeverity;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};

pub(super) const RULE: Rule = Rule {
    name: "parameter-range",
    group: RuleGroup::Models,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("parameter_range.md"),
    run: RuleSource::Program(run),
};

/// Ranges of providers that are narrower than usual: provider, parameter, minimum, maximum. Values that all providers
/// reject are load errors.
const RANGES: &[(&str, &str, f64, f64)] = &[
    ("anthropic", "temperature", 0.0, 1.0),
    ("mistral", "temperature", 0.0, 1.5),
    ("cohere", "temperature", 0.0, 1.0),
    ("cohere", "presence_penalty", 0.0, 1.0),
    ("cohere", "frequency_penalty", 0.0, 1.0),
];

/// The usual limits; values beyond them are load errors.
const USUAL: &[(&str, f64, f64)] =
    &[("temperature", 0.0, 2.0), ("presence_penalty", -2.0, 2.0), ("frequency_penalty", -2.0, 2.0)];

/// The maximum number of stop sequences of providers.
const STOPS: &[(&str, usize)] = &[("openai", 4), ("azure", 4)];

fn run(cx: &mut RuleContext<'_>) {
    for (_, _, call) in cx.model.reachable_calls() {
        look(cx, call);
    }
}

fn look(cx: &mut RuleContext<'_>, call: &ModelCall) {
    let Some(provider) = call.model.provider.as_deref() else { return };
    let p = &call.parameters;
    let given = |name: &str| match name {
        "temperature" => p.temperature,
        "presence_penalty" => p.presence_penalty,
        "frequency_penalty" => p.frequency_penalty,
        _ => None,
    };
    let mut found: Vec<(&[&str], String)> = Vec::new();
    for (of, name, low, high) in RANGES {
        let Some(value) = given(name) else { continue };
        if *of != provider || (*low..=*high).contains(&value) {
            continue;
        }
        if USUAL.iter().any(|(n, low, high)| n == name && (*low..=*high).contains(&value)) {
            let message =
                format!("`{provider}` accepts a {} from {low} to {high}, not {value}", name.replace('_', " "));
            found.push((std::slice::from_ref(name), message));
        }
    }
    if let Some((_, most)) = STOPS.iter().find(|(p, most)| *p == provider && p_stops(call) > *most) {
        let message = format!("`{provider}` accepts at most {most} stop sequences, not {}", p_stops(call));
        found.push((&["stop"], message));
    }
    if provider == "openai" && p.top_k.is_some() {
        let message = "`openai` does not support `top_k` and rejects requests with it";
        found.push((&["top_k"], message.to_owned()));
    }
    if provider == "anthropic" && (p.presence_penalty.is_some() || p.frequency_penalty.is_some() || p.seed.is_some()) {
        let message = "`anthropic` supports neither penalties nor a seed, so they have no effect";
        found.push((&["presence_penalty", "frequency_penalty", "seed"], message.to_owned()));
    }
    for (names, message) in found {
        let help = "use another value, or remove it to use the provider's default";
        let at = match call.places.iter().find(|(name, _)| names.contains(name)) {
            Some((_, at)) => *at,
            None => call.model.origin,
        };
        cx.report_finding(cx.new_finding(at, message).with_help(help));
    }
}

fn p_stops(call: &ModelCall) -> usize {
    call.parameters.stop.len()
}
