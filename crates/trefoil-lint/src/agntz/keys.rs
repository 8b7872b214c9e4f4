//! State keys that overwrite or cannot be named.

use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{Diagnostic, Span};

use trefoil_front::ManifestSource;
use trefoil_front::agntz::binding::BoundAgent;
use trefoil_front::agntz::manifest::{PipelineManifest, PipelineStep, StepTarget};
use trefoil_front::agntz::names::{AgntzAgentNames, NAMESPACES, StepOrder};

use super::FindingList;

/// Checks the names of a pipeline's steps.
pub fn check_step_keys(
    file: ManifestSource<'_>,
    bound: &BoundAgent<'_>,
    pipeline: &PipelineManifest<'_>,
    found: &mut FindingList,
) {
    let names = &bound.names;
    for (i, (step, name)) in pipeline.steps.iter().zip(&names.steps).enumerate() {
        let inline = inline_key(step);
        if let (Some(own), Some(inner)) = (step.state_key, inline) {
            let message = "`stateKey` has no effect here: the one of the step is used";
            let d = Diagnostic::new_warning("redundant", file.location_of(inner.span), message);
            found.push(d.with_label(file.location_of(own.span), "the output is written here"));
        }
        // An unknown id may be a path, so the name of the step's result is uncertain.
        let lost = matches!(step.target, StepTarget::Ref(_)) && name.callee.is_none() && step.state_key.is_none();
        if !name.id.is_empty() && !lost {
            let before = match names.steps_named(&name.key).first() {
                Some(first) if *first < i => pipeline.steps.get(*first),
                _ => None,
            };
            check_key(file, names, &name.key, named_at(step, step.state_key.or(inline)), before, found);
        }
    }
}

fn inline_key<'s>(step: &'s PipelineStep<'_>) -> Option<&'s YamlText> {
    match &step.target {
        StepTarget::Inline(agent) => agent.state_key,
        StepTarget::Ref(_) | StepTarget::Nobody => None,
    }
}

/// The part of a step that determines the key of its output.
fn named_at(step: &PipelineStep<'_>, chosen: Option<&YamlText>) -> Span {
    match (chosen, &step.target) {
        (Some(text), _) => text.span,
        (None, StepTarget::Inline(agent)) => match agent.id {
            Some(id) => id.span,
            None => agent.head,
        },
        (None, StepTarget::Ref(_) | StepTarget::Nobody) => step.span,
    }
}

fn check_key(
    file: ManifestSource<'_>,
    scope: &AgntzAgentNames,
    key: &str,
    place: Span,
    before: Option<&PipelineStep<'_>>,
    found: &mut FindingList,
) {
    let at = file.location_of(place);
    let rename = "write another `stateKey` for the step";
    if let Some(first) = before
        && scope.order != StepOrder::Parallel
    {
        let place = file.location_of(named_at(first, first.state_key.or(inline_key(first))));
        let d = Diagnostic::new_warning("state-key", at, format!("this step overwrites `{key}`"));
        found.push(d.with_label(place, "written here too").with_help(rename));
    }
    let readable = |c: char| !c.is_whitespace() && !"{}.|=!<>&()\"'#/+*,[]".contains(c);
    if NAMESPACES.contains(&key) || !key.chars().all(readable) {
        let message = format!("no template can name `{key}`");
        found.push(Diagnostic::new_warning("state-key", at, message).with_help(rename));
    }
}
