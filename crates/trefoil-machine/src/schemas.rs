//! The schemas of a program, compiled on first use. The machine checks inputs and answers with them, guardrails check
//! answers.

use std::sync::{Arc, OnceLock};

use trefoil_ir::schema::{SchemaChecker, SchemaMismatch};
use trefoil_ir::{FlowDefinition, FlowId, IndexVec, Program, SchemaId};
use trefoil_template::Value;

/// A compiled schema, or why it is invalid.
type CompiledSchema = Result<SchemaChecker, String>;

/// The schemas of one program.
pub struct ProgramSchemas {
    program: Arc<Program>,
    declared: IndexVec<SchemaId, OnceLock<CompiledSchema>>,
    fields: IndexVec<FlowId, Vec<OnceLock<CompiledSchema>>>,
}

impl ProgramSchemas {
    /// The schemas of this program.
    pub fn new(program: Arc<Program>) -> Self {
        let declared = program.schemas.iter().map(|_| OnceLock::new()).collect();
        let locks = |flow: &FlowDefinition| flow.intake.fields.iter().map(|_| OnceLock::new()).collect();
        let fields = program.flows.iter().map(locks).collect();
        Self { program, declared, fields }
    }

    /// Checks a value against a schema of the program. The error says where and why it does not match.
    pub fn check_value(&self, schema: SchemaId, value: &Value) -> Result<(), String> {
        fits(self.declared[schema].get_or_init(|| compile(&self.program.schemas[schema].json)), value)
    }

    /// Checks an input property of a flow.
    pub fn check_field(&self, flow: FlowId, field: usize, value: &Value) -> Result<(), String> {
        let lock = self.fields[flow].get(field);
        let declared = self.program.flows[flow].intake.fields.get(field);
        let (Some(lock), Some(declared)) = (lock, declared) else { return Ok(()) };
        fits(lock.get_or_init(|| compile(&declared.schema)), value)
    }
}

fn compile(schema: &Value) -> CompiledSchema {
    SchemaChecker::new(&schema.to_json()).map_err(|e| format!("the schema is not valid: {e}"))
}

/// A schema that is not part of the program, compiled on first use.
#[derive(Debug, Default)]
pub struct ForeignSchema(OnceLock<CompiledSchema>);

impl ForeignSchema {
    /// Checks a value. An invalid schema, or one beyond the limits, accepts everything.
    pub fn check_value(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let compiled = self.0.get_or_init(|| SchemaChecker::of_others(&schema.to_json()).map_err(|e| e.to_string()));
        if compiled.is_err() { Ok(()) } else { fits(compiled, value) }
    }
}

fn fits(checker: &CompiledSchema, value: &Value) -> Result<(), String> {
    let checker = match checker {
        Ok(checker) => checker,
        Err(why) => return Err(why.clone()),
    };
    let json = value.to_json();
    let errors = match checker.check_value(&json) {
        Ok(()) => return Ok(()),
        Err(SchemaMismatch::TooMuchWork) => {
            return Err("checking this value against the schema takes too long".to_owned());
        }
        Err(SchemaMismatch::Broken(errors)) => errors,
    };
    // The first by place, because the order of a validator's errors is unspecified.
    let Some(error) = errors.iter().min_by_key(|e| e.instance_path().to_string()) else { return Ok(()) };
    let path = error.instance_path().to_string();
    // A long value would hide what is wrong with it.
    let shown = crate::text::shorten_text(&error.instance().to_string(), 100);
    let message = crate::text::shorten_text(&error.masked_with(shown).to_string(), 300);
    Err(if path.is_empty() { message } else { format!("at `{path}`: {message}") })
}
