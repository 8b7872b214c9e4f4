//! Answers that must be JSON that matches a schema. The text is not changed; a code fence is not JSON.

use trefoil_ir::SchemaId;
use trefoil_template::Value;

use crate::answer::{misfit, not_json};
use crate::schemas::Schemas;

/// Why a text does not match.
pub fn check(text: &str, schema: SchemaId, schemas: &Schemas) -> Result<(), String> {
    let value = Value::parse(text).map_err(|e| not_json(text, &e))?;
    schemas.check(schema, &value).map_err(|why| misfit(&why))
}
