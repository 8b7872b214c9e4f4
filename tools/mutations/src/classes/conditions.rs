//! Conditions with another meaning than intended.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use trefoil_syntax::yaml::{YamlNode, YamlScalar};

use super::{AEGIS, AGNTZ, Class, SIREN, class};
use crate::Manifest;
use crate::edit::{Mutation, misspelt, range};
use crate::manifest::Place;

pub(super) const CLASSES: &[Class] = &[
    class("a choice misspelt in a condition", AGNTZ, choice),
    class("true or false in quotes", AGNTZ, quoted_boolean),
    class("a number in quotes", AGNTZ, quoted_number),
    class("text compared as a number", AGNTZ, text_as_number),
    class("a number that the schema excludes", AGNTZ, out_of_schema),
    class("one `=` in a condition", &["agntz", "aegis", "sirenspec"], one_equals),
    class("`and` for `&&`, `&&` for `and`", &["agntz", "aegis", "sirenspec"], conjunction),
    class("a condition without a placeholder", AGNTZ, constant),
    class("a bracket that is not closed in a condition", &["aegis", "sirenspec"], bracket),
    class("a name in an edge's condition misspelt", SIREN, edge_name),
    class("a name in an expression misspelt", AEGIS, expression_name),
];

/// `{{path}} op literal`, in any condition.
struct Comparison {
    path: String,
    op: Range<usize>,
    literal: Range<usize>,
}

fn conditions(m: &Manifest) -> impl Iterator<Item = &Place> {
    let keys = ["when", "until", "expression"];
    m.places.iter().filter(move |p| keys.contains(&&*p.entry.key.value) && p.entry.value.as_string().is_some())
}

fn comparisons(m: &Manifest) -> Vec<Comparison> {
    static SHAPE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"\{\{(?:#if )?\s*([\w\-.]+)\s*(?:\}\})?\s*(==|!=|>=|<=|>|<)\s*('[^']*'|[^\s|&"}]+)"#).ok()
    });
    let mut found = Vec::new();
    let inline = m.templates().map(|(_, p)| p).filter(|p| m.text[range(p.entry.value.span)].contains("{{#if"));
    for place in conditions(m).chain(inline) {
        let span = range(place.entry.value.span);
        for c in SHAPE.iter().flat_map(|s| s.captures_iter(&m.text[span.clone()])) {
            let (Some(path), Some(op), Some(literal)) = (c.get(1), c.get(2), c.get(3)) else { continue };
            found.push(Comparison {
                path: path.as_str().to_owned(),
                op: span.start + op.start()..span.start + op.end(),
                literal: span.start + literal.start()..span.start + literal.end(),
            });
        }
    }
    found
}

/// The declaration of a property with this name in the schemas of the file and its folder, if they agree.
fn declared(m: &Manifest, path: &str) -> Option<YamlNode> {
    let name = path.rsplit('.').next()?;
    fn look(node: &YamlNode, name: &str, inside: bool, found: &mut Vec<YamlNode>) {
        for entry in node.as_mapping().into_iter().flat_map(|m| &m.entries) {
            let schema = matches!(&*entry.key.value, "inputSchema" | "outputSchema");
            if inside && &*entry.key.value == name {
                found.push(entry.value.clone());
            }
            look(&entry.value, name, inside || schema, found);
        }
        node.as_sequence().unwrap_or_default().iter().for_each(|n| look(n, name, inside, found));
    }
    let mut found = Vec::new();
    look(&m.root, name, false, &mut found);
    if found.is_empty() {
        m.others.iter().for_each(|o| look(o, name, false, &mut found));
    }
    (found.len() == 1).then(|| found.pop())?
}

fn type_of(node: &YamlNode) -> Option<String> {
    let name = node.as_string().or_else(|| node.as_mapping()?.get("type")?.value.as_string())?;
    Some(name.value.to_string())
}

fn of_type<'m>(m: &'m Manifest, types: &'static [&'static str]) -> impl Iterator<Item = Comparison> + use<'m> {
    comparisons(m)
        .into_iter()
        .filter(move |c| declared(m, &c.path).as_ref().and_then(type_of).is_some_and(|t| types.contains(&t.as_str())))
}

fn choice(m: &Manifest) -> Vec<Mutation> {
    let all = comparisons(m)
        .into_iter()
        .filter(|c| declared(m, &c.path).is_some_and(|d| d.as_mapping().is_some_and(|d| d.get("enum").is_some())));
    all.filter_map(|c| {
        let literal = m.text[c.literal.clone()].to_owned();
        let bare = literal.trim_matches('\'');
        let equal = m.text[c.op.clone()].ends_with('=') && !bare.is_empty();
        equal.then(|| m.put(c.literal, literal.replace(bare, &misspelt(bare))))?
    })
    .collect()
}

fn quote(m: &Manifest, c: Comparison) -> Option<Mutation> {
    let literal = m.text[c.literal.clone()].to_owned();
    (!literal.starts_with('\'')).then(|| m.put(c.literal, format!("'{literal}'")))?
}

fn quoted_boolean(m: &Manifest) -> Vec<Mutation> {
    of_type(m, &["boolean"]).filter_map(|c| quote(m, c)).collect()
}

fn quoted_number(m: &Manifest) -> Vec<Mutation> {
    let equal = |c: &Comparison| matches!(&m.text[c.op.clone()], "==" | "!=");
    let all = of_type(m, &["number", "integer"]);
    // Ordering compares numbers even in quotes; only equality is wrong, so use that.
    all.filter_map(|c| {
        let literal = m.text[c.literal.clone()].to_owned();
        let op = if equal(&c) { m.text[c.op.clone()].to_owned() } else { "==".to_owned() };
        m.edits().put(c.op.clone(), op).put(c.literal, format!("'{literal}'")).done()
    })
    .collect()
}

fn text_as_number(m: &Manifest) -> Vec<Mutation> {
    let all = of_type(m, &["string", "boolean"]).filter(|c| m.text[..c.op.start].trim_end().ends_with("}}"));
    all.filter_map(|c| m.edits().put(c.op, ">").put(c.literal, "0.5").done()).collect()
}

fn out_of_schema(m: &Manifest) -> Vec<Mutation> {
    let bounded = |c: &Comparison| {
        let d = declared(m, &c.path)?;
        let top = d.as_mapping()?.get("max").or_else(|| d.as_mapping()?.get("maximum"))?;
        matches!(top.value.as_scalar(), Some((YamlScalar::Int(_) | YamlScalar::Float(_), _))).then_some(())
    };
    let all = comparisons(m)
        .into_iter()
        .filter(|c| bounded(c).is_some() && matches!(&m.text[c.op.clone()], "==" | ">=" | ">"));
    all.filter_map(|c| m.put(c.literal, "1000")).collect()
}

fn operators(m: &Manifest, from: &str, to: &str) -> Vec<Mutation> {
    let all = conditions(m).flat_map(|p| {
        let span = range(p.entry.value.span);
        m.text[span.clone()].match_indices(from).map(|(at, _)| span.start + at).collect::<Vec<_>>()
    });
    all.filter_map(|at| m.put(at..at + from.len(), to)).collect()
}

fn one_equals(m: &Manifest) -> Vec<Mutation> {
    operators(m, " == ", " = ")
}

fn conjunction(m: &Manifest) -> Vec<Mutation> {
    if m.dialect == "sirenspec" { operators(m, " and ", " && ") } else { operators(m, " && ", " and ") }
}

fn constant(m: &Manifest) -> Vec<Mutation> {
    let simple = conditions(m).filter(|p| m.text[range(p.entry.value.span)].matches("{{").count() == 1);
    simple
        .filter_map(|p| {
            let span = range(p.entry.value.span);
            let text = m.text[span.clone()].replace("{{", "").replace("}}", "");
            m.put(span, text)
        })
        .collect()
}

fn bracket(m: &Manifest) -> Vec<Mutation> {
    conditions(m)
        .filter_map(|p| {
            let end = m.end_of_text(&p.entry.value)?;
            let start = p.entry.value.span.start as usize;
            let quoted = matches!(m.text.as_bytes().get(start), Some(b'"' | b'\''));
            let begin = start + usize::from(quoted);
            (!m.text[begin..end].starts_with("{{")).then(|| m.put(begin..begin, "("))?
        })
        .collect()
}

fn edge_name(m: &Manifest) -> Vec<Mutation> {
    static PATH: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b(?:working|output)\.([A-Za-z_]\w+)").ok());
    let mut found = Vec::new();
    for p in m.keyed("when") {
        let span = range(p.entry.value.span);
        for c in PATH.iter().flat_map(|s| s.captures_iter(&m.text[span.clone()])) {
            if let Some(name) = c.get(1) {
                found.extend(m.put(span.start + name.start()..span.start + name.end(), misspelt(name.as_str())));
            }
        }
    }
    found
}

fn expression_name(m: &Manifest) -> Vec<Mutation> {
    let states = super::names::steps(m).into_iter();
    let context = m.entries("spec.context").iter().map(|e| format!("workflow.context.{}", e.key.value));
    let names: Vec<_> = states.map(|s| s + ".").chain(context).collect();
    let mut found = Vec::new();
    for p in m.keyed("expression") {
        let span = range(p.entry.value.span);
        for name in &names {
            for (at, _) in m.text[span.clone()].match_indices(name.as_str()) {
                let word = m.text[..span.start + at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
                let last = name.trim_end_matches('.');
                let begin = last.rfind('.').map_or(0, |d| d + 1);
                let start = span.start + at + begin;
                let wrong = misspelt(&last[begin..]);
                found.extend((!word).then(|| m.put(start..span.start + at + last.len(), wrong)).flatten());
            }
        }
    }
    found
}
