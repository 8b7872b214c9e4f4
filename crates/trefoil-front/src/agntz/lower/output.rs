//! A pipeline's `output` map.

use trefoil_ir::Expr;

use super::text;
use crate::agntz::bind::BoundAgent;
use crate::agntz::manifest::OutputMap;
use crate::agntz::names::At;

/// The output map as an expression.
pub fn map(bound: &BoundAgent<'_>, output: &OutputMap<'_>) -> Expr {
    match output {
        OutputMap::Text(source) => text::typed(bound, source, At::End),
        OutputMap::Map(entries) => {
            Expr::Object(entries.iter().map(|(key, inner)| (key.value.clone(), map(bound, inner))).collect())
        }
    }
}
