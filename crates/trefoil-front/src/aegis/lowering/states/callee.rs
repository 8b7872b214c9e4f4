//! The agent that a state calls, and its input.

use trefoil_ir::{FlowCallee, Source, SubflowCall, ValueExpression};
use trefoil_syntax::yaml::YamlText;

use crate::aegis::lowering::AegisLowering;
use crate::aegis::lowering::expressions::object_expression;
use crate::aegis::lowering::lowering_context::LoweringContext;
use crate::aegis::manifest::AegisUnitKind;
use crate::aegis::names::RenderMoment;
use crate::program_builder;

/// The call of the agent that a state names. Without an input template, the agent gets the workflow's start input.
pub fn agent_call(
    lowering: &mut AegisLowering<'_>,
    scene: &LoweringContext<'_>,
    moment: RenderMoment,
    name: &YamlText,
    input: Option<&YamlText>,
    intent: Option<&YamlText>,
    extra: impl FnOnce(ValueExpression) -> ValueExpression,
) -> Option<SubflowCall> {
    let intent = intent.and_then(|intent| scene.texts.template_text(moment, intent)).map(program_builder::as_text);
    let input = match input {
        Some(input) => program_builder::as_text(scene.texts.template_text(moment, input)?),
        None => ValueExpression::Read(Source::Slot(scene.names.fixed.raw)),
    };
    let input = extra(input);
    let bound = scene.texts.template_text(moment, name)?;
    if bound.template.literal_text().is_none() {
        // The callee is not known until run time, and a text input has no place for an intent.
        let flows = lowering.candidate_flows(AegisUnitKind::Agent);
        return Some(SubflowCall {
            callee: FlowCallee::Named { name: bound, flows },
            input: Some(input),
            exports: None,
            span: None,
        });
    }
    // If the agent expects an object, a template that renders to JSON is passed as an object.
    let declared = lowering.directory.takes_object(AegisUnitKind::Agent, &name.value);
    let input = if declared.is_some() { ValueExpression::Structured(Box::new(input)) } else { input };
    let with_intent = intent.is_some() && lowering.declares_agent(&name.value);
    let flow = lowering.agent_flow(scene.file, name, with_intent);
    let input = match intent {
        Some(intent) if with_intent => object_expression([("input", input), ("intent", intent)]),
        _ => input,
    };
    Some(SubflowCall { callee: FlowCallee::Flow(flow), input: Some(input), exports: None, span: None })
}
