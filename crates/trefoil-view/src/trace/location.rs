//! Places and origins as JSON: file names, lines and columns, never internal ids.

use serde_json::{Map, Value, json};
use trefoil_machine::provenance::{Origin, OriginKind, OriginSpan};
use trefoil_runtime::Key;
use trefoil_syntax::{Location, SourceFiles};

/// File, line and column of a place.
pub(super) fn resolve_location(at: Location, files: &SourceFiles) -> Option<(&str, u32, u32)> {
    let file = files.get(at.file)?;
    let position = file.line_column(at.span.start);
    Some((file.name(), position.line, position.column))
}

/// The spans of a message. `known` returns the step of the trace to which a key belongs.
pub(super) fn spans_json(spans: &[OriginSpan], files: &SourceFiles, known: &dyn Fn(&Key) -> String) -> Value {
    spans.iter().map(|span| one(span, files, known)).collect()
}

fn one(span: &OriginSpan, files: &SourceFiles, known: &dyn Fn(&Key) -> String) -> Value {
    let Origin { from, member, path, place: at, via } = &span.origin;
    let mut all = Map::new();
    let mut put = |key: &str, value: Value| all.insert(key.to_owned(), value);
    put("start", span.start.into());
    put("end", span.end.into());
    let (word, step, name) = match from {
        OriginKind::Literal => ("literal", None, None),
        OriginKind::Const => ("const", None, None),
        OriginKind::Input => ("input", None, None),
        OriginKind::Step(key) => ("step", Some(key), None),
        OriginKind::Env(name) => ("env", None, Some(name)),
        OriginKind::Secret(name) => ("secret", None, Some(name)),
        OriginKind::Item(key) => ("item", key.as_ref(), None),
        OriginKind::Index => ("index", None, None),
        OriginKind::Failure(key) => ("failure", key.as_ref(), None),
        OriginKind::Run => ("run", None, None),
        OriginKind::Several(_) => ("several", None, None),
        OriginKind::Other => ("other", None, None),
    };
    put("from", word.into());
    if let Some(path) = path {
        put("path", (&**path).into());
    }
    if !member.is_empty() {
        put("member", member.iter().map(|m| &**m).collect::<Vec<_>>().join(".").into());
    }
    if let Some(key) = step {
        put("step", known(key).into());
    }
    if let OriginKind::Several(keys) = from {
        let mut keys: Vec<String> = keys.iter().map(known).collect();
        keys.dedup();
        put("steps", json!(keys));
    }
    if let Some(name) = name {
        put("name", (&**name).into());
    }
    if !via.is_empty() {
        let mut places: Vec<Value> = Vec::new();
        for v in via {
            if let Some((file, line, column)) = resolve_location(v.place, files) {
                places.push(json!({"path": v.path, "file": file, "line": line, "column": column}));
            }
        }
        put("via", places.into());
    }
    if let Some(at) = at
        && let Some(file) = files.get(at.file)
    {
        let (start, end) = (file.line_column(at.span.start), file.line_column(at.span.end));
        put("file", file.name().into());
        put("line", start.line.into());
        put("column", start.column.into());
        put("end_line", end.line.into());
        put("end_column", end.column.into());
    }
    Value::Object(all)
}
