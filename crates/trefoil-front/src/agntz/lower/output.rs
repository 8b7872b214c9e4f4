//! A pipeline's `output` map.

use std::rc::Rc;

use trefoil_ir::{Expr, Source};
use trefoil_syntax::{Diagnostic, Location};

use super::scope::{At, Purpose, Scope};
use super::shape::Shape;
use super::text;
use crate::agntz::manifest::OutputMap;
use crate::read::Reader;

/// Warns where the result of a run would show an environment variable: it is masked there (decision C8).
pub fn masked(reader: &Reader<'_>, output: &OutputMap<'_>, expr: &Expr) {
    match (output, expr) {
        (OutputMap::Text(source), Expr::Typed(text)) => {
            for (reference, span) in text.template.references().iter().zip(&text.spans) {
                let bound = text.sources.get(reference.binding.source as usize);
                let before = source.value.get(..reference.span.start as usize).unwrap_or_default();
                // The test of an `{{#if}}` decides and is not shown.
                if bound == Some(&Source::Environment) && before.trim_end().ends_with("{{") {
                    let message = format!("the result shows `***` in place of `{}`", reference.dotted());
                    let d = Diagnostic::warning("masked-output", Location::new(reader.file, *span), message);
                    reader.report(d.help("what comes from the environment shows in no result, trace or log"));
                }
            }
        }
        (OutputMap::Map(entries), Expr::Object(members)) => {
            entries.iter().zip(members).for_each(|((_, output), (_, expr))| masked(reader, output, expr));
        }
        _ => {}
    }
}

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
