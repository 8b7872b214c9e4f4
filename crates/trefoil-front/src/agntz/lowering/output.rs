//! A pipeline's `output` map.

use trefoil_ir::ValueExpression;

use super::text;
use crate::agntz::binding::BoundAgent;
use crate::agntz::manifest::OutputMap;
use crate::agntz::names::PipelinePosition;

/// The output map as an expression.
pub fn output_expression(bound: &BoundAgent<'_>, output: &OutputMap<'_>) -> ValueExpression {
    match output {
        OutputMap::Text(source) => text::typed_expression(bound, source, PipelinePosition::End),
        OutputMap::Map(entries) => ValueExpression::Object(
            entries.iter().map(|(key, inner)| (key.value.clone(), output_expression(bound, inner))).collect(),
        ),
    }
}
