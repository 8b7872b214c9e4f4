//! Environment variables that a run certainly needs: a placeholder without a default, in a step that every run comes to.
//!
//! Whether a placeholder has a default is up to its language, so its text is rendered, with some text for every other value.

use std::collections::HashSet;

use trefoil_ir::walk::{self, EvaluatedPart};
use trefoil_ir::{BoundTemplate, Program, Source, StepKind, ValueExpression};
use trefoil_runtime::Secrets;
use trefoil_syntax::{Diagnostic, Location};
use trefoil_template::{HoleKind, MaskedPiece, ReferenceBinding, SourceValue, Value, ValueScope};

use super::certain_steps::certain_steps;
use trefoil_project::secrets::{MISSING_ENV, explain_unset};

/// The environment variables without which a run fails, each at the first place that needs it.
pub fn missing_environment(program: &Program, secrets: &dyn Secrets) -> Vec<Diagnostic> {
    let mut asked = HashSet::new();
    let mut found = Vec::new();
    for (_, step) in certain_steps(program) {
        // What other steps evaluate depends on how the run goes.
        let is_sure = matches!(
            step.kind,
            StepKind::Model(_)
                | StepKind::Tool(_)
                | StepKind::Command(_)
                | StepKind::Human(_)
                | StepKind::Compute(_)
                | StepKind::Call(_)
        );
        if !is_sure {
            continue;
        }
        let mut variables = Vec::new();
        for evaluated in walk::evaluated_by_step(step) {
            variables.extend(needed(evaluated));
        }
        for (name, at) in variables {
            if asked.insert(name.clone())
                && let Some((message, help)) = explain_unset(secrets, HoleKind::Env, &name)
            {
                let message = match &step.label {
                    Some(label) => format!("{message}; `{label}` needs it"),
                    None => message,
                };
                found.push(Diagnostic::new_error(MISSING_ENV, at, message).with_help(help));
            }
        }
    }
    found
}

/// The variables that are needed to evaluate something.
fn needed(evaluated: EvaluatedPart<'_>) -> Vec<(String, Location)> {
    let mut found = Vec::new();
    let mut look = |text: &BoundTemplate| found.extend(of_text(text));
    match evaluated {
        EvaluatedPart::Expr(expr) => {
            let mut depends = false;
            walk::visit_expressions(expr, &mut |expr| depends |= matches!(expr, ValueExpression::If { .. }));
            if !depends {
                walk::visit_templates(expr, &mut look);
            }
        }
        EvaluatedPart::Text(text) => look(text),
        EvaluatedPart::Cond(_) | EvaluatedPart::Source(_) => {}
    }
    found
}

fn of_text(text: &BoundTemplate) -> Vec<(String, Location)> {
    let is_env =
        |binding: ReferenceBinding| matches!(text.sources.get(binding.source as usize), Some(Source::Environment));
    if !text.template.references().iter().any(|reference| is_env(reference.binding)) {
        return Vec::new();
    }
    let mut template = text.template.clone();
    template.bind_references(|reference| match is_env(reference.binding) {
        true => ReferenceBinding { source: 1, ..reference.binding },
        false => ReferenceBinding { source: 0, skip: u16::try_from(reference.path.len()).unwrap_or(u16::MAX) },
    });
    let Ok(Value::Masked(rendered)) = template.render_text(&StandInScope(Value::from("?"))) else { return Vec::new() };
    let mut variables = Vec::new();
    for piece in rendered.pieces.iter() {
        let MaskedPiece::Hole(hole) = piece else { continue };
        if hole.kind != HoleKind::Env || hole.default.is_some() || hole.lenient {
            continue;
        }
        let mut placeholders = text.template.references().iter().zip(&text.spans);
        let placeholder = placeholders.find(|(reference, _)| {
            is_env(reference.binding) && reference.path.iter().any(|part| part.name == hole.name)
        });
        let at = match placeholder {
            Some((_, span)) => Location::new(text.origin.file, *span),
            None => text.origin,
        };
        variables.push((hole.name.to_string(), at));
    }
    variables
}

/// Some text for every value, and holes for the environment.
struct StandInScope(Value);

impl ValueScope for StandInScope {
    fn source_value(&self, source: u32) -> SourceValue<'_> {
        if source == 1 { SourceValue::Opaque(HoleKind::Env) } else { SourceValue::Borrowed(&self.0) }
    }
}
