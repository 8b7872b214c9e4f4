//! Whom a state calls, and with what.

use trefoil_ir::{Call, Callee, Expr, Position, Source};
use trefoil_syntax::FileId;
use trefoil_syntax::yaml::Text;
use trefoil_template::Policy;

use crate::aegis::lower::given::{self, Taker};
use crate::aegis::lower::names::{Place, Scene};
use crate::aegis::lower::pieces::{object, text};
use crate::aegis::lower::{Lowering, Unit};
use crate::aegis::manifest::{self, schema::JsonSchema};
use crate::build;

/// The call of an agent that a state names. Without an input template the agent gets the workflow's start input.
pub(super) fn agent(
    lowering: &mut Lowering<'_>,
    scene: &Scene<'_, '_>,
    place: Place,
    name: &Text,
    input: Option<&Text>,
    intent: Option<&Text>,
    extra: impl FnOnce(Expr) -> Expr,
) -> Option<Call> {
    let reader = scene.reader;
    let resolve = &mut scene.here(place, Position::Data);
    let intent = intent.and_then(|i| text(reader, i, resolve));
    let written = input;
    let input = match input {
        Some(input) => text(reader, input, resolve)?,
        None => Expr::Read(Source::Slot(scene.names.fixed.raw)),
    };
    let input = extra(input);
    let bound = build::text(reader, name, &Policy::AEGIS, &mut scene.here(place, Position::Condition))?;
    if bound.template.literal().is_none() {
        // Nobody knows yet who will be called: an intent has no place in a text input.
        let flows = lowering.choice(Unit::Agent);
        return Some(Call { callee: Callee::Named { name: bound, flows }, input: Some(input), exports: None });
    }
    let with_intent = intent.is_some() && lowering.declares_agent(&name.value);
    let schema = input_schema(lowering, &name.value);
    if let (Some((file, schema)), Some(input)) = (&schema, written) {
        given::check(reader, input, &Taker { name: &name.value, schema, file: *file, wraps: false });
    }
    let input = if schema.is_some() { Expr::Structured(Box::new(input)) } else { input };
    let flow = lowering.agent(reader, name, with_intent);
    let input = match intent {
        Some(intent) if with_intent => object([("input", input), ("intent", intent)]),
        _ => input,
    };
    Some(Call { callee: Callee::Flow(flow), input: Some(input), exports: None })
}

/// What an agent declares as its input, where that is an object: then a template that renders to JSON is one.
fn input_schema(lowering: &Lowering<'_>, name: &str) -> Option<(FileId, JsonSchema)> {
    let document = lowering.project.documents.get(*lowering.directory.agents(name).first()?)?;
    let node = manifest::input_schema(&document.root)?;
    let schema = JsonSchema { json: crate::read::to_value(node), node: node.clone() };
    schema.of_objects().then_some((document.file, schema))
}
