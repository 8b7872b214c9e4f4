//! The agent that a state calls, and its input.

use trefoil_ir::{Call, Callee, Expr, Source};
use trefoil_syntax::yaml::Text;

use crate::aegis::lower::Lowering;
use crate::aegis::lower::pieces::object;
use crate::aegis::lower::scene::Scene;
use crate::aegis::manifest::Unit;
use crate::aegis::names::Moment;
use crate::build;

/// The call of the agent that a state names. Without an input template, the agent gets the workflow's start input.
pub fn agent(
    lowering: &mut Lowering<'_>,
    scene: &Scene<'_>,
    moment: Moment,
    name: &Text,
    input: Option<&Text>,
    intent: Option<&Text>,
    extra: impl FnOnce(Expr) -> Expr,
) -> Option<Call> {
    let intent = intent.and_then(|intent| scene.texts.text(moment, intent)).map(build::as_text);
    let input = match input {
        Some(input) => build::as_text(scene.texts.text(moment, input)?),
        None => Expr::Read(Source::Slot(scene.names.fixed.raw)),
    };
    let input = extra(input);
    let bound = scene.texts.text(moment, name)?;
    if bound.template.literal().is_none() {
        // The callee is not known until run time, and a text input has no place for an intent.
        let flows = lowering.choice(Unit::Agent);
        return Some(Call {
            callee: Callee::Named { name: bound, flows },
            input: Some(input),
            exports: None,
            span: None,
        });
    }
    // If the agent expects an object, a template that renders to JSON is passed as an object.
    let declared = lowering.directory.takes_object(Unit::Agent, &name.value);
    let input = if declared.is_some() { Expr::Structured(Box::new(input)) } else { input };
    let with_intent = intent.is_some() && lowering.declares_agent(&name.value);
    let flow = lowering.agent(scene.file, name, with_intent);
    let input = match intent {
        Some(intent) if with_intent => object([("input", input), ("intent", intent)]),
        _ => input,
    };
    Some(Call { callee: Callee::Flow(flow), input: Some(input), exports: None, span: None })
}
