//! A pipeline's `output` map.

use std::rc::Rc;

use trefoil_ir::{Declaration, DeclarationKind, Expr, Position, Source};
use trefoil_syntax::yaml::{Style, Text};
use trefoil_syntax::{Diagnostic, Location, Span};

use super::scope::{At, Purpose, Scope};
use super::shape::{Member, Shape};
use super::{copied, text, there};
use crate::agntz::manifest::OutputMap;
use crate::learn::Members;
use crate::read::Reader;
use crate::schema::reading::TYPES;

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

/// Says that an entry is written like one of a schema: its value is the name of a type, which is a text here.
fn type_name(reader: &Reader<'_>, scope: &Scope<'_>, source: &Text, key: &Text, alone: bool) {
    let word = &*source.value;
    // What `kind` and `format` are about may well be a type, and a `type` beside other entries.
    let about = matches!(&*key.value, "kind" | "format") || &*key.value == "type" && !alone;
    if !TYPES.contains(&word) || source.style != Style::Plain || about {
        return;
    }
    let at = reader.at(source.span);
    let d =
        Diagnostic::warning("not-a-placeholder", at, format!("`{word}` is text here, and no type: this is the result"));
    let name = &*key.value;
    let has = |path: &str| there::is_there(scope, path, At::End);
    // The last step that has it is the one that is likely meant.
    let of_step = scope
        .steps
        .iter()
        .rev()
        .filter(|s| matches!(s.callee.as_deref().map(|c| c.output.member(name)), Some(Member::Is(_))));
    let path = of_step.map(|s| format!("{}.{name}", s.key)).find(|path| has(path));
    let path = path.or_else(|| has(name).then(|| name.to_owned()));
    reader.report(match path {
        Some(path) => {
            let meant = format!("\"{{{{{path}}}}}\"");
            d.suggestion(format!("write `{meant}`"), at, meant)
        }
        None => d.help("`output` is no schema: each entry is a template, such as `\"{{step.property}}\"`"),
    });
}

/// Declares the members of an output map.
pub fn members(reader: &Reader<'_>, output: &OutputMap<'_>, shape: &Shape, parent: Location) -> Members {
    let (OutputMap::Map(entries), Shape::Members(shapes)) = (output, shape) else { return Members::default() };
    let declared = entries.iter().zip(shapes.iter()).map(|((key, inner), (_, shape))| {
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
                schema: shape.schema(),
                note: Some("part of the output".into()),
            });
        });
        (name, Some(at), members(reader, inner, shape, at))
    });
    Members::of(declared.collect())
}

/// The map as an expression, and what is known about its value.
pub fn map(reader: &Reader<'_>, scope: &Scope<'_>, output: &OutputMap<'_>) -> (Expr, Shape) {
    match output {
        OutputMap::Text(source) => text::typed(reader, scope, source, At::End, Purpose::Data, Position::Data),
        OutputMap::Map(entries) => {
            let mut members = Vec::with_capacity(entries.len());
            let mut shapes = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                let (expr, shape) = map(reader, scope, value);
                if let OutputMap::Text(source) = value {
                    there::check(reader, scope, source, At::End, &key.value);
                    type_name(reader, scope, source, key, entries.len() == 1);
                }
                members.push((key.value.clone(), expr));
                shapes.push((key.value.clone(), shape));
            }
            let texts = entries.iter().filter_map(|(key, value)| match value {
                OutputMap::Text(source) => Some((*key, *source)),
                OutputMap::Map(_) => None,
            });
            copied::check(reader, scope, At::End, texts);
            (Expr::Object(members), Shape::Members(Rc::new(shapes)))
        }
    }
}
