//! Whom a state calls, and with what.

use trefoil_ir::{Call, Callee, Expr, Position, Source};
use trefoil_syntax::FileId;
use trefoil_syntax::yaml::Text;
use trefoil_template::Policy;

use crate::aegis::lower::given::{self, Taker};
use crate::aegis::lower::names::{ALWAYS, Place, Scene};
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
    if let Some((file, schema)) = &schema {
        let taker = Taker { name: &name.value, schema, file: *file, wraps: false };
        match written {
            Some(input) => given::check(reader, input, &taker),
            None => passed_on(scene, name, &taker),
        }
    }
    let input = if schema.is_some() { Expr::Structured(Box::new(input)) } else { input };
    let flow = lowering.agent(reader, name, with_intent);
    let input = match intent {
        Some(intent) if with_intent => object([("input", input), ("intent", intent)]),
        _ => input,
    };
    Some(Call { callee: Callee::Flow(flow), input: Some(input), exports: None })
}

/// Without an input template the agent is given what the workflow was started with, and that has only what it declares.
fn passed_on(scene: &Scene<'_, '_>, name: &Text, taker: &Taker<'_>) {
    let Some(start) = scene.names.schema.as_ref().filter(|s| s.of_objects() && (s.closed() || s.lists_all())) else {
        return;
    };
    let given = |name: &str| ALWAYS.contains(&name) || start.properties().any(|(p, _)| &**p == name);
    let help = "without `input` an agent is given the start input, and `input_schema` does not declare it";
    given::missing(scene.reader, name.span, taker, help, given);
}

/// What an agent declares as its input, where that is an object: then a template that renders to JSON is one.
fn input_schema(lowering: &Lowering<'_>, name: &str) -> Option<(FileId, JsonSchema)> {
    let document = lowering.project.documents.get(*lowering.directory.agents(name).first()?)?;
    let node = manifest::input_schema(&document.root)?;
    let schema = JsonSchema { json: crate::read::to_value(node), node: node.clone() };
    schema.of_objects().then_some((document.file, schema))
}
