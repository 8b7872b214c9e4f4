//! Keys of a step that are indented into its `input`: they are passed to the agent, and the step lacks them.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::Text;

use trefoil_front::Source;
use trefoil_front::agntz::manifest::Step;
use trefoil_front::agntz::signature::Signature;

use super::Found;

/// Reports such a key; returns whether it was one.
pub fn check(
    file: Source<'_>,
    step: &Step<'_>,
    callee: &Signature,
    key: &Text,
    value: &Text,
    found: &mut Found,
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
    let d = Diagnostic::error("unknown-input", file.at(key.span), message);
    found.push(d.label(file.at(step.input_span), "in this map").help("align it with `input`"));
    true
}
