//! Paths in the loops of templates. Lowering does not bind them; their types follow from what the loop iterates over.

use trefoil_ir::path_location::locate_part;
use trefoil_ir::types::ValueType;
use trefoil_ir::walk::{self, EvaluatedPart};
use trefoil_ir::{BoundTemplate, FlowId};
use trefoil_syntax::Location;
use trefoil_template::{BlockSubject, LocalPath, LocalStart, Reference};

use super::SemanticModel;
use super::paths::path_in_source;
use super::types::PathType;

/// A path in a loop.
#[derive(Debug, Clone)]
pub struct LoopPath {
    /// The place of the path.
    pub at: Location,
    /// Its segments, from the item on.
    pub path: Vec<std::sync::Arc<str>>,
    /// The place of each segment, if known.
    pub places: Vec<Option<Location>>,
    /// The result of following the path.
    pub walk: PathType,
}

/// All such paths in texts that steps evaluate.
pub fn find_loop_paths(model: &SemanticModel<'_>) -> Vec<LoopPath> {
    let mut found = Vec::new();
    for (flow, id) in model.step_ids() {
        let step = &model.program.steps[*id];
        for evaluated in walk::evaluated_by_step(step) {
            let each = &mut |text: &BoundTemplate| found.extend(of_text(model, *flow, text));
            match evaluated {
                EvaluatedPart::Expr(expr) => walk::visit_templates(expr, each),
                EvaluatedPart::Text(text) => each(text),
                EvaluatedPart::Cond(_) | EvaluatedPart::Source(_) => {}
            }
        }
    }
    found
}

fn of_text(model: &SemanticModel<'_>, flow: FlowId, text: &BoundTemplate) -> Vec<LoopPath> {
    let locals = text.template.local_paths();
    let mut types: Vec<ValueType> = Vec::with_capacity(locals.len());
    let mut found = Vec::new();
    for (i, local) in locals.iter().enumerate() {
        let path: Vec<&str> = local.path.iter().map(|s| &*s.name).collect();
        let walk = PathType::follow_path(start(model, flow, text, local, &types), &path);
        types.push(if walk.stop.is_some() { ValueType::Any } else { walk.schema.clone() });
        if local.start == LocalStart::This
            && let Some(span) = text.locals.get(i)
        {
            let at = Location::new(text.origin.file, *span);
            let (mut path, mut places) = (Vec::new(), Vec::new());
            for segment in &local.path {
                path.push(segment.name.clone());
                places.push(locate_part(&local.span, at, segment.span.clone()));
            }
            found.push(LoopPath { at, path, places, walk });
        }
    }
    found
}

fn reference_type(model: &SemanticModel<'_>, flow: FlowId, text: &BoundTemplate, reference: &Reference) -> ValueType {
    let Some(source) = text.sources.get(reference.binding.source as usize) else { return ValueType::Any };
    let walk = model.program_types().source_type(flow, source, &path_in_source(reference), None);
    if walk.stop.is_some() { ValueType::Any } else { walk.schema }
}

/// The type of the value at which a path starts; `types` are those of the preceding paths.
fn start(
    model: &SemanticModel<'_>,
    flow: FlowId,
    text: &BoundTemplate,
    local: &LocalPath,
    types: &[ValueType],
) -> ValueType {
    if local.start != LocalStart::This {
        return ValueType::Any;
    }
    let over = match local.origin {
        BlockSubject::Reference(i) => match text.template.references().get(i as usize) {
            Some(reference) => reference_type(model, flow, text, reference),
            None => ValueType::Any,
        },
        BlockSubject::Local(i) => types.get(i as usize).cloned().unwrap_or_default(),
        BlockSubject::Computed => ValueType::Any,
    };
    if local.each { over.loop_item_type() } else { over }
}
