//! A pipeline's `output` map.

use trefoil_ir::{Declaration, DeclarationKind, Expr, Position, Source};
use trefoil_syntax::{Diagnostic, Location, Span};
use trefoil_template::Value;

use super::text::{self, Scope};
use crate::agntz::lint::{braces, copied, type_names};
use crate::agntz::manifest::OutputMap;
use crate::agntz::names::{At, Purpose};
use crate::learn::{Members, member_type, object_of};
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
                    let message = format!("the result shows `***` instead of `{}`", reference.dotted());
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

/// Declares the members of an output map.
pub fn members(reader: &Reader<'_>, output: &OutputMap<'_>, schema: &Value, parent: Location) -> Members {
    let OutputMap::Map(entries) = output else { return Members::default() };
    let declared = entries.iter().map(|(key, inner)| {
        let schema = member_type(schema, &key.value);
        let (name, at) = (key.value.clone(), reader.at(key.content()));
        let end = match inner {
            OutputMap::Text(text) => text.span.end,
            OutputMap::Map(_) => key.span.end,
        };
        reader.facts(|f| {
            f.declare(Declaration {
                kind: DeclarationKind::Property,
                name: name.clone(),
                at,
                extent: Span::new(key.span.start, end.max(key.span.end)),
                parent: Some(parent),
                schema: schema.clone(),
                note: Some("part of the output".into()),
            });
        });
        (name, Some(at), members(reader, inner, &schema, at))
    });
    Members::of(declared.collect())
}

/// The map as an expression, and what is known about its value.
pub fn map(reader: &Reader<'_>, scope: &mut Scope, output: &OutputMap<'_>) -> (Expr, Value) {
    match output {
        OutputMap::Text(source) => text::typed(reader, scope, source, At::End, Purpose::Data, Position::Data),
        OutputMap::Map(entries) => {
            let mut members = Vec::with_capacity(entries.len());
            let mut schemas = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                let (expr, schema) = map(reader, scope, value);
                if let OutputMap::Text(source) = value {
                    braces::check(reader, &scope.names, source, At::End, &key.value);
                    type_names::check(reader, &scope.names, source, key, entries.len() == 1);
                }
                members.push((key.value.clone(), expr));
                schemas.push((key.value.clone(), schema));
            }
            let texts = entries.iter().filter_map(|(key, value)| match value {
                OutputMap::Text(source) => Some((*key, *source)),
                OutputMap::Map(_) => None,
            });
            copied::check(reader, &scope.names, At::End, texts);
            (Expr::Object(members), object_of(schemas))
        }
    }
}
