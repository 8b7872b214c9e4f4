//! Answers that must be JSON of a shape. The text stays as it is; a code fence is not JSON.

use trefoil_ir::SchemaId;
use trefoil_template::Value;

use super::violation;
use crate::answer::{misfit, not_json};
use crate::error::RunError;
use crate::schemas::Schemas;

/// Refuses a text that does not fit.
pub fn check(text: &str, schema: SchemaId, schemas: &Schemas) -> Result<(), RunError> {
    let value = Value::parse(text).map_err(|e| violation(not_json(text, &e)))?;
    schemas.check(schema, &value).map_err(|why| violation(misfit(&why)))
}
