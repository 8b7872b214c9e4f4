//! `execution.validation`, the checks between two iterations of an agent, and `tool_validation`, the checks before a
//! tool call.

use trefoil_ir::{ProgramSchema, SlotId, Source, Validator, ValidatorKind, ValueExpression};
use trefoil_syntax::{FileId, Location};

use super::AegisLowering;
use super::judge::{self, JudgeInput};
use crate::aegis::manifest::agent::AegisAgentManifest;
use crate::aegis::manifest::consensus;
use crate::aegis::manifest::execution::{ValidatorKindSpec, ValidatorSpec};

/// Validators of an agent, in order.
pub fn lower_validators<'a>(
    lowering: &mut AegisLowering<'_>,
    file: FileId,
    agent: &AegisAgentManifest,
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
    lowering: &mut AegisLowering<'_>,
    file: FileId,
    agent: &AegisAgentManifest,
    spec: &ValidatorSpec,
    input: SlotId,
) -> ValidatorKind {
    match &spec.kind {
        ValidatorKindSpec::ExitCode(expected) => ValidatorKind::ExitCode { expected: *expected },
        ValidatorKindSpec::JsonSchema(schema) => {
            ValidatorKind::JsonSchema(lowering.builder.add_schema(ProgramSchema {
                name: format!("{}_output", agent.identity.name).into(),
                json: schema.json.clone(),
                origin: Location::new(file, schema.node.span),
            }))
        }
        ValidatorKindSpec::Regex { pattern, stderr } => {
            ValidatorKind::Regex { pattern: pattern.clone(), stderr: *stderr }
        }
        ValidatorKindSpec::Judges { judges, criteria, strategy, min_judges, timeout, semantic } => {
            let case = JudgeInput {
                task: ValueExpression::AsText(Box::new(ValueExpression::Read(Source::Slot(input)))),
                criteria: Some(criteria.value.clone()),
                record: *semantic,
            };
            let timeout = (timeout.0, timeout.1.map(|at| Location::new(file, at)));
            let judges: Vec<_> =
                judges.iter().map(|name| judge::lower_judge(lowering, file, name, &case, 1.0, timeout)).collect();
            let mut consensus = consensus::default_consensus(*strategy);
            consensus.min_judges = *min_judges;
            ValidatorKind::Judges { judges, consensus }
        }
    }
}
