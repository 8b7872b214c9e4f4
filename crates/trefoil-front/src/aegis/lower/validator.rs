//! `execution.validation`, the checks between two iterations of an agent, and `tool_validation`, the checks before a
//! tool call.

use trefoil_ir::{Expr, Schema, SlotId, Source, Validator, ValidatorKind};
use trefoil_syntax::{FileId, Location};

use super::Lowering;
use super::judge::{self, Case};
use crate::aegis::manifest::agent::Agent;
use crate::aegis::manifest::consensus;
use crate::aegis::manifest::execution::{ValidatorKindSpec, ValidatorSpec};

/// Validators of an agent, in order.
pub fn lower<'a>(
    lowering: &mut Lowering<'_>,
    file: FileId,
    agent: &Agent,
    input: SlotId,
    specs: impl Iterator<Item = &'a ValidatorSpec>,
) -> Vec<Validator> {
    let validator = |spec: &ValidatorSpec| Validator {
        kind: kind(lowering, file, agent, spec, input),
        min_score: spec.min_score,
        min_confidence: spec.min_confidence,
        origin: Location::new(file, spec.span),
        name: spec.name.into(),
    };
    specs.map(validator).collect()
}

fn kind(
    lowering: &mut Lowering<'_>,
    file: FileId,
    agent: &Agent,
    spec: &ValidatorSpec,
    input: SlotId,
) -> ValidatorKind {
    match &spec.kind {
        ValidatorKindSpec::ExitCode(expected) => ValidatorKind::ExitCode { expected: *expected },
        ValidatorKindSpec::JsonSchema(schema) => ValidatorKind::JsonSchema(lowering.builder.schema(Schema {
            name: format!("{}_output", agent.identity.name).into(),
            json: schema.json.clone(),
            origin: Location::new(file, schema.node.span),
        })),
        ValidatorKindSpec::Regex { pattern, stderr } => {
            ValidatorKind::Regex { pattern: pattern.clone(), stderr: *stderr }
        }
        ValidatorKindSpec::Judges { judges, criteria, strategy, min_judges, timeout, semantic } => {
            let case = Case {
                task: Expr::AsText(Box::new(Expr::Read(Source::Slot(input)))),
                criteria: Some(criteria.value.clone()),
                record: *semantic,
            };
            let timeout = (timeout.0, timeout.1.map(|at| Location::new(file, at)));
            let judges: Vec<_> =
                judges.iter().map(|name| judge::judge(lowering, file, name, &case, 1.0, timeout)).collect();
            let mut consensus = consensus::plain(*strategy);
            consensus.min_judges = *min_judges;
            ValidatorKind::Judges { judges, consensus }
        }
    }
}
