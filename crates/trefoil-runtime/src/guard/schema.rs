//! Answers that must be JSON of a shape. The text stays as it is; a code fence is not JSON.

use trefoil_ir::SchemaId;
use trefoil_template::Value;

use super::violation;
use crate::error::RunError;
use crate::machine::{Prepared, misfit, not_json};

/// Refuses a text that does not fit.
pub fn check(text: &str, schema: SchemaId, prepared: &Prepared) -> Result<(), RunError> {
    let value = Value::parse(text).map_err(|e| violation(not_json(text, &e)))?;
    prepared.check(schema, &value).map_err(|why| violation(misfit(&why)))
}
