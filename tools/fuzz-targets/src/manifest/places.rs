//! Visits every manifest location that a program contains.

use trefoil_ir::walk::{EvaluatedPart, evaluated_by_flow, evaluated_by_step, visit_templates};
use trefoil_ir::{BoundTemplate, Program, StepKind};
use trefoil_syntax::Location;

/// Calls `visit` with each location.
pub(crate) fn places(program: &Program, visit: &mut dyn FnMut(Location)) {
    for (_, at) in &program.missing_agents {
        visit(*at);
    }
    for schema in &program.schemas {
        visit(schema.origin);
    }
    for flow in &program.flows {
        visit(flow.origin);
        flow.intake.fields.iter().for_each(|field| visit(field.origin));
        evaluated_by_flow(flow).into_iter().for_each(|e| of(e, visit));
    }
    for step in &program.steps {
        visit(step.origin);
        match &step.kind {
            StepKind::Model(call) => visit(call.model.origin),
            StepKind::Graph(graph) => graph.nodes.iter().flat_map(|n| &n.incoming).for_each(|e| visit(e.origin)),
            _ => {}
        }
        evaluated_by_step(step).into_iter().for_each(|e| of(e, visit));
    }
}

fn of(evaluated: EvaluatedPart<'_>, visit: &mut dyn FnMut(Location)) {
    match evaluated {
        EvaluatedPart::Expr(expr) => visit_templates(expr, &mut |t| text(t, visit)),
        EvaluatedPart::Text(t) => text(t, visit),
        EvaluatedPart::Cond(cond) => visit(cond.origin),
        EvaluatedPart::Source(_) => {}
    }
}

fn text(text: &BoundTemplate, visit: &mut dyn FnMut(Location)) {
    visit(text.origin);
    assert_eq!(text.spans.len(), text.template.references().len(), "a place for every reference");
    for span in &text.spans {
        visit(Location::new(text.origin.file, *span));
    }
}
