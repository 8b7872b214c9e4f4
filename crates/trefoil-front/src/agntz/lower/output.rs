//! A pipeline's `output` map.

use std::rc::Rc;

use trefoil_ir::Expr;

use super::scope::{At, Purpose, Scope};
use super::shape::Shape;
use super::text;
use crate::agntz::manifest::OutputMap;
use crate::read::Reader;

/// The map as an expression, and what is known about its value.
pub fn map(reader: &Reader<'_>, scope: &Scope<'_>, output: &OutputMap<'_>) -> (Expr, Shape) {
    match output {
        OutputMap::Text(source) => text::typed(reader, scope, source, At::End, Purpose::Data),
        OutputMap::Map(entries) => {
            let mut members = Vec::with_capacity(entries.len());
            let mut shapes = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                let (expr, shape) = map(reader, scope, value);
                members.push((key.value.clone(), expr));
                shapes.push((key.value.clone(), shape));
            }
            (Expr::Object(members), Shape::Members(Rc::new(shapes)))
        }
    }
}
