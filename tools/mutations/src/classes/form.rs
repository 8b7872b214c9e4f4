//! Invalid YAML, unknown keys, missing keys.

use trefoil_syntax::yaml::{YamlScalar, YamlStyle};

use super::{AEGIS, AGNTZ, ALL, Class, SIREN, class};
use crate::Manifest;
use crate::edit::{Mutation, misspelt, range};

pub(super) const CLASSES: &[Class] = &[
    class("a tab as indentation", ALL, tab),
    class("a quote that is not closed", ALL, open_quote),
    class("an opening quote left out", ALL, lost_quote),
    class("a number sign that cuts a value", ALL, number_sign),
    class("the fence of a Markdown page", ALL, fence),
    class("the first line further in than the others", ALL, first_line),
    class("a placeholder without quotes", ALL, unquoted),
    class("a key twice in one mapping", ALL, twice),
    class("no colon after a key", ALL, no_colon),
    class("a key misspelt", ALL, key),
    class("a key in the wrong mapping", ALL, stray_key),
    class("a required key left out", ALL, left_out),
    class("both spellings of a key", &["aegis", "sirenspec"], both),
    class("`until` without `maxIterations`", AGNTZ, no_maximum),
    class("`maxIterations` without `until`", AGNTZ, no_until),
    class("another `apiVersion`", AEGIS, api_version),
    class("`version` without quotes", SIREN, version),
];

/// Entries that start their line.
fn first_on_line(m: &Manifest) -> impl Iterator<Item = &crate::manifest::Place> {
    m.places.iter().filter(|p| {
        let start = p.entry.key.span.start as usize;
        m.text[m.line_start(start)..start].trim().is_empty()
    })
}

fn tab(m: &Manifest) -> Vec<Mutation> {
    let indented = first_on_line(m).map(|p| p.entry.key.span.start as usize).filter(|at| m.column(*at) > 0);
    indented.filter_map(|at| m.put(m.line_start(at)..at, "\t")).collect()
}

fn open_quote(m: &Manifest) -> Vec<Mutation> {
    let quoted =
        m.places.iter().filter_map(|p| p.entry.value.as_string().filter(|t| t.style == YamlStyle::Double).map(|_| p));
    quoted
        .filter_map(|p| {
            let span = range(p.entry.value.span);
            let text = &m.text[span.clone()];
            (!text.contains('\n')).then(|| m.edits().put(span.end - 1..span.end, "").at(span.start).done())?
        })
        .collect()
}

fn lost_quote(m: &Manifest) -> Vec<Mutation> {
    let quoted = m.places.iter().filter_map(|p| p.entry.value.as_string().filter(|t| t.style == YamlStyle::Double));
    quoted
        .filter_map(|text| {
            let span = range(text.span);
            // Without its opening quote, it is still a plain value on one line, not a list or mapping.
            let inner = m.text.get(span.start + 1..span.end - 1)?;
            let plain =
                inner.starts_with(char::is_alphabetic) && !inner.contains([':', '#', '\\', '"', '\n', ',', '}', ']']);
            let inches = inner.ends_with(|c: char| c.is_ascii_digit());
            (plain && !inches).then(|| m.put(span.start..span.start + 1, ""))?
        })
        .collect()
}

fn number_sign(m: &Manifest) -> Vec<Mutation> {
    let texts = first_on_line(m).filter_map(|p| p.entry.value.as_string().filter(|t| t.style == YamlStyle::Double));
    texts
        .filter_map(|text| {
            let span = range(text.span);
            let inner = m.text.get(span.start + 1..span.end - 1)?;
            let plain = inner.starts_with(char::is_alphabetic) && !inner.contains([':', '#', '\\', '"', '\n']);
            (plain && inner.contains(" {{")).then(|| m.put(span, inner.replacen(" {{", " #{{", 1)))?
        })
        .collect()
}

fn fence(m: &Manifest) -> Vec<Mutation> {
    m.edits().put(0..0, "```yaml\n").put(m.text.len()..m.text.len(), "```\n").done().into_iter().collect()
}

fn first_line(m: &Manifest) -> Vec<Mutation> {
    let first = m.places.first().map(|p| range(p.entry.key.span).start).filter(|at| m.column(*at) == 0);
    let scalar = m.places.first().is_some_and(|p| p.entry.value.as_scalar().is_some());
    first.filter(|_| scalar).and_then(|at| m.put(at..at, " ")).into_iter().collect()
}

fn unquoted(m: &Manifest) -> Vec<Mutation> {
    let texts = m.places.iter().filter(|p| p.entry.value.as_string().is_some());
    texts
        .filter_map(|p| {
            let span = range(p.entry.value.span);
            let inner = m.text[span.clone()].strip_prefix('"')?.strip_suffix('"')?;
            (inner.starts_with("{{") && !inner.contains('\\')).then(|| m.put(span, inner))?
        })
        .collect()
}

fn twice(m: &Manifest) -> Vec<Mutation> {
    let scalars = first_on_line(m).filter(|p| p.entry.value.as_scalar().is_some());
    scalars
        .filter_map(|p| {
            let whole = m.whole(p)?;
            let line = m.text[whole.clone()].to_owned();
            let line = if line.ends_with('\n') { line } else { line + "\n" };
            m.edits().put(whole.end..whole.end, line).at(p.entry.key.span.start as usize).at(whole.end).done()
        })
        .collect()
}

fn no_colon(m: &Manifest) -> Vec<Mutation> {
    let plain =
        first_on_line(m).filter(|p| p.entry.value.as_scalar().is_some_and(|(_, t)| t.style == YamlStyle::Plain));
    plain
        .filter_map(|p| {
            let (key, value) = (range(p.entry.key.span), range(p.entry.value.span));
            (value.start == key.end + 2).then(|| m.put(key.end..key.end + 1, ""))?
        })
        .collect()
}

fn key(m: &Manifest) -> Vec<Mutation> {
    // A top-level key may be one by which the format is detected.
    let known = m.places.iter().filter(|p| p.entry.key.value.len() > 2 && m.is_format_key(p).is_some());
    known.filter_map(|p| m.put(range(p.entry.key.span), misspelt(&p.entry.key.value))).collect()
}

fn stray_key(m: &Manifest) -> Vec<Mutation> {
    let (key, line) = match m.dialect {
        "agntz" => ("kind", "temperature: 0.3"),
        "aegis" => ("agent", "model: \"openai:gpt-4o\""),
        _ => ("agent", "model: \"openai:gpt-4o\""),
    };
    // A resource's provider has other keys.
    let open = trefoil_project::schema::SchemaSegment::Key("resources".into());
    let places = m.keyed(key).filter(|p| m.is_format_key(p).is_some() && !p.path.contains(&open));
    places
        .filter(|p| p.parent.as_mapping().is_some_and(|o| o.get("model").is_none() || m.dialect == "agntz"))
        .filter_map(|p| m.beside(&p.entry, line))
        .collect()
}

fn left_out(m: &Manifest) -> Vec<Mutation> {
    let required = m.places.iter().filter(|p| m.is_format_key(p).is_some_and(|k| k.required));
    required
        .filter_map(|p| {
            let whole = m.whole(p)?;
            let above = m.places.iter().filter(|o| o.path.len() < p.path.len() && o.entry.value.span == p.parent.span);
            let others = p.parent.as_mapping()?.entries.iter().filter(|e| e.key.span != p.entry.key.span);
            let marks = above.map(|o| o.entry.key.span.start).chain(others.map(|e| e.key.span.start));
            m.edits().put(whole, "").at_all(marks.map(|s| s as usize)).done()
        })
        .collect()
}

fn both(m: &Manifest) -> Vec<Mutation> {
    let pairs: &[(&str, &str)] = if m.dialect == "aegis" {
        &[
            ("agent", "agent_id"),
            ("input", "input_template"),
            ("agreement", "min_agreement_confidence"),
            ("max_iterations", "max_retries"),
        ]
    } else {
        &[("from", "from_node"), ("to", "to_node")]
    };
    let all = pairs.iter().flat_map(|(one, other)| m.keyed(one).map(move |p| (p, other)));
    all.filter(|(p, _)| {
        m.is_format_key(p).is_some() && p.parent.as_mapping().is_some_and(|o| o.get("judges").is_none())
    })
    .filter_map(|(p, other)| {
        let text = m.text[range(p.entry.value.span)].to_owned();
        (!text.contains('\n')).then(|| m.beside(&p.entry, &format!("{other}: {text}")))?
    })
    .collect()
}

fn no_maximum(m: &Manifest) -> Vec<Mutation> {
    m.keyed("maxIterations")
        .filter_map(|p| {
            let until = p.parent.as_mapping()?.get("until")?;
            m.edits().put(m.whole(p)?, "").at(until.key.span.start as usize).done()
        })
        .collect()
}

fn no_until(m: &Manifest) -> Vec<Mutation> {
    let kinds = m.keyed("kind").filter(|p| p.entry.value.as_string().is_some_and(|t| &*t.value == "sequential"));
    kinds
        .filter(|p| p.parent.as_mapping().is_some_and(|o| o.get("until").is_none()))
        .filter_map(|p| m.beside(&p.entry, "maxIterations: 3"))
        .collect()
}

fn api_version(m: &Manifest) -> Vec<Mutation> {
    m.keyed("apiVersion").filter_map(|p| m.put(range(p.entry.value.span), "100monkeys.ai/v2")).collect()
}

fn version(m: &Manifest) -> Vec<Mutation> {
    let quoted = m
        .keyed("version")
        .filter(|p| p.path.is_empty() && matches!(p.entry.value.as_scalar(), Some((YamlScalar::Str, _))));
    quoted.filter_map(|p| m.put(range(p.entry.value.span), "0.1")).collect()
}
