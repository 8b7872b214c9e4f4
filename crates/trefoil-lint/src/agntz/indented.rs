//! Keys of a step that are indented into its `input`: they are passed to the agent, and the step lacks them.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::YamlText;

use trefoil_front::ManifestSource;
use trefoil_front::agntz::manifest::PipelineStep;
use trefoil_front::agntz::signature::AgentSignature;

use super::FindingList;

/// Reports such a key; returns whether it was one.
pub fn check_indented_key(
    file: ManifestSource<'_>,
    step: &PipelineStep<'_>,
    callee: &AgentSignature,
    key: &YamlText,
    value: &YamlText,
    found: &mut FindingList,
) -> bool {
    let Some((has, effect)) = (match &*key.value {
        "when" => Some((step.when.is_some(), "the step always runs")),
        "stateKey" => Some((step.state_key.is_some(), "the output has another name")),
        _ => None,
    }) else {
        return false;
    };
    let closed = callee.inputs.closed;
    // An agent without declared inputs may read any name, but a condition is rarely an input.
    let condition = ["==", "!=", "<", ">"].iter().any(|sign| value.value.contains(sign));
    if has || !(closed || &*key.value == "when" && condition) {
        return false;
    }
    let message =
        format!("`{}` is a key of the step, but here it is passed to `{}`, so {effect}", key.value, callee.id);
    let d = Diagnostic::new_error("unknown-input", file.location_of(key.span), message);
    found.push(d.with_label(file.location_of(step.input_span), "in this map").with_help("align it with `input`"));
    true
}
