//! Paths in the loops of templates. Lowering does not bind them; their types follow from what the loop iterates over.

use trefoil_ir::types::Type;
use trefoil_ir::walk::{self, Evaluated};
use trefoil_ir::{FlowId, Text};
use trefoil_syntax::Location;
use trefoil_template::{Local, Origin, Start};

use super::Model;
use super::types::Walk;

/// A path in a loop.
#[derive(Debug, Clone)]
pub struct Item {
    /// The place of the path.
    pub at: Location,
    /// Its segments, from the item on.
    pub path: Vec<std::sync::Arc<str>>,
    /// The place of each segment, if known.
    pub places: Vec<Option<Location>>,
    /// The result of following the path.
    pub walk: Walk,
}

/// All such paths in texts that steps evaluate.
pub fn all(model: &Model<'_>) -> Vec<Item> {
    let mut found = Vec::new();
    for (flow, id) in model.steps() {
        let step = &model.program.steps[*id];
        for evaluated in walk::evaluated(step) {
            let each = &mut |text: &Text| found.extend(of_text(model, *flow, text));
            match evaluated {
                Evaluated::Expr(expr) => walk::texts(expr, each),
                Evaluated::Text(text) => each(text),
                Evaluated::Cond(_) | Evaluated::Source(_) => {}
            }
        }
    }
    found
}

fn of_text(model: &Model<'_>, flow: FlowId, text: &Text) -> Vec<Item> {
    let locals = text.template.locals();
    let mut types: Vec<Type> = Vec::with_capacity(locals.len());
    let mut found = Vec::new();
    for (i, local) in locals.iter().enumerate() {
        let path: Vec<&str> = local.path.iter().map(|s| &*s.name).collect();
        let walk = Walk::through(start(model, flow, text, local, &types), &path);
        types.push(if walk.stop.is_some() { Type::Any } else { walk.schema.clone() });
        if let Some(span) = text.locals.get(i).filter(|_| local.start == Start::This) {
            let at = Location::new(text.origin.file, *span);
            let places = local.path.iter().map(|s| trefoil_ir::place::part(&local.span, at, s.span.clone())).collect();
            found.push(Item { at, path: local.path.iter().map(|s| s.name.clone()).collect(), places, walk });
        }
    }
    found
}

/// The type of the value at which a path starts; `types` are those of the preceding paths.
fn start(model: &Model<'_>, flow: FlowId, text: &Text, local: &Local, types: &[Type]) -> Type {
    if local.start != Start::This {
        return Type::Any;
    }
    let over = match local.origin {
        Origin::Reference(i) => {
            let found = text.template.references().get(i as usize).and_then(|reference| {
                let source = text.sources.get(reference.binding.source as usize)?;
                let path: Vec<&str> =
                    reference.path.iter().skip(usize::from(reference.binding.skip)).map(|s| &*s.name).collect();
                Some(model.types().source(flow, source, &path, None)).filter(|w| w.stop.is_none())
            });
            found.map_or(Type::Any, |w| w.schema)
        }
        Origin::Local(i) => types.get(i as usize).cloned().unwrap_or_default(),
        Origin::Computed => Type::Any,
    };
    if local.each { over.each() } else { over }
}
