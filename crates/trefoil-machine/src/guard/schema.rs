//! Answers that must be JSON that matches a schema. The text is not changed; a code fence is not JSON.

use trefoil_ir::SchemaId;
use trefoil_template::Value;

use crate::answer::{mismatch_message, not_json};
use crate::schemas::ProgramSchemas;

/// Why a text does not match.
pub fn check_schema(text: &str, schema: SchemaId, schemas: &ProgramSchemas) -> Result<(), String> {
    let value = Value::parse(text).map_err(|e| not_json(text, &e))?;
    schemas.check_value(schema, &value).map_err(|why| mismatch_message(&why))
}
