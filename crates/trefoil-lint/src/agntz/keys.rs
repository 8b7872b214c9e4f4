//! State keys that overwrite or cannot be named.

use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, Span};

use trefoil_front::Source;
use trefoil_front::agntz::bind::BoundAgent;
use trefoil_front::agntz::manifest::{Pipeline, Step, Target};
use trefoil_front::agntz::names::{AgentNames, NAMESPACES, Order};

use super::Found;

/// Checks the names of a pipeline's steps.
pub fn check(file: Source<'_>, bound: &BoundAgent<'_>, pipeline: &Pipeline<'_>, found: &mut Found) {
    let names = &bound.names;
    for (i, (step, name)) in pipeline.steps.iter().zip(&names.steps).enumerate() {
        let inline = inline_key(step);
        if let (Some(own), Some(inner)) = (step.state_key, inline) {
            let message = "`stateKey` has no effect here: the one of the step is used";
            let d = Diagnostic::warning("redundant", file.at(inner.span), message);
            found.push(d.label(file.at(own.span), "the output is written here"));
        }
        // An unknown id may be a path, so the name of the step's result is uncertain.
        let lost = matches!(step.target, Target::Ref(_)) && name.callee.is_none() && step.state_key.is_none();
        if !name.id.is_empty() && !lost {
            let before = names.named(&name.key).first().filter(|first| **first < i);
            let before = before.and_then(|first| pipeline.steps.get(*first));
            check_key(file, names, &name.key, named_at(step, step.state_key.or(inline)), before, found);
        }
    }
}

fn inline_key<'s>(step: &'s Step<'_>) -> Option<&'s Text> {
    match &step.target {
        Target::Inline(agent) => agent.state_key,
        Target::Ref(_) | Target::Nobody => None,
    }
}

/// The part of a step that determines the key of its output.
fn named_at(step: &Step<'_>, chosen: Option<&Text>) -> Span {
    match (chosen, &step.target) {
        (Some(text), _) => text.span,
        (None, Target::Inline(agent)) => agent.id.map_or(agent.head, |t| t.span),
        (None, Target::Ref(_) | Target::Nobody) => step.span,
    }
}

fn check_key(
    file: Source<'_>,
    scope: &AgentNames,
    key: &str,
    place: Span,
    before: Option<&Step<'_>>,
    found: &mut Found,
) {
    let at = file.at(place);
    let rename = "write another `stateKey` for the step";
    if let Some(first) = before.filter(|_| scope.order != Order::Parallel) {
        let place = file.at(named_at(first, first.state_key.or(inline_key(first))));
        let d = Diagnostic::warning("state-key", at, format!("this step overwrites `{key}`"));
        found.push(d.label(place, "written here too").help(rename));
    }
    let readable = |c: char| !c.is_whitespace() && !"{}.|=!<>&()\"'#/+*,[]".contains(c);
    if NAMESPACES.contains(&key) || !key.chars().all(readable) {
        let message = format!("no template can name `{key}`");
        found.push(Diagnostic::warning("state-key", at, message).help(rename));
    }
}
