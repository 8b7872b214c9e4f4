//! Schemas, values passed to them, and examples and defaults that do not match them.

use trefoil_project::schema::SchemaSegment;
use trefoil_syntax::yaml::{YamlEntry, YamlNode};

use super::{AGNTZ, Class, class};
use crate::Manifest;
use crate::edit::{Mutation, misspelt, range};
use crate::manifest::Place;

pub(super) const CLASSES: &[Class] = &[
    class("a type that is none", &["agntz", "aegis"], no_type),
    class("a schema keyword misspelt", &["agntz", "aegis"], keyword),
    class("`required` names what is not declared", &["agntz", "aegis"], required),
    class("an invalid regular expression", &["agntz", "aegis"], regex),
    class("a default of the wrong type", AGNTZ, default),
    class("a choice of the wrong type", AGNTZ, choice),
    class("an example that does not fit the output", AGNTZ, example),
    class("an input left out of a call", AGNTZ, input_left_out),
    class("an input that the called agent does not take", AGNTZ, extra_input),
    class("an input of the wrong type", AGNTZ, input_type),
    class("an input misspelt in a call", AGNTZ, input_misspelt),
    class("a declared input removed that templates read", AGNTZ, undeclared),
    class("an input that nobody reads", AGNTZ, unread),
    class("a whole output where a field was meant", AGNTZ, whole),
];

fn in_schema(p: &Place) -> bool {
    let names = ["inputSchema", "outputSchema", "input_schema", "output_schema", "schema"];
    p.path.iter().any(|s| matches!(s, SchemaSegment::Key(k) if names.contains(&k.as_str())))
}

/// The properties of a schema, with name and definition.
fn properties(m: &Manifest) -> impl Iterator<Item = &Place> {
    let roots = ["inputSchema", "outputSchema"];
    m.places.iter().filter(move |p| match p.path.last() {
        Some(SchemaSegment::Key(k)) if roots.contains(&k.as_str()) => !is_canonical(&p.parent),
        Some(SchemaSegment::Key(k)) => k == "properties" && in_schema(p) && is_read(m, p),
        _ => false,
    })
}

/// Whether the schema is below a key of the format.
fn is_read(m: &Manifest, place: &Place) -> bool {
    let above = m.places.iter().filter(|o| o.entry.value.span == place.parent.span);
    above.into_iter().all(|o| m.is_format_key(o).is_some())
}

fn is_canonical(node: &YamlNode) -> bool {
    node.as_mapping().is_some_and(|m| m.get("properties").is_some_and(|e| e.value.as_mapping().is_some()))
}

/// The text of a property's type.
fn type_of(node: &YamlNode) -> Option<&trefoil_syntax::yaml::YamlText> {
    node.as_string().or_else(|| node.as_mapping()?.get("type")?.value.as_string())
}

fn no_type(m: &Manifest) -> Vec<Mutation> {
    let types = properties(m).filter_map(|p| type_of(&p.entry.value));
    types.filter_map(|t| m.put(range(t.content_span()), misspelt(&t.value))).collect()
}

fn keyword(m: &Manifest) -> Vec<Mutation> {
    let inside =
        m.places.iter().filter(|p| in_schema(p) && p.entry.key.value.len() > 3 && m.is_format_key(p).is_some());
    // Without `type` or `properties`, the same text is another, valid kind of schema.
    let safe = inside.filter(|p| !matches!(&*p.entry.key.value, "type" | "properties"));
    safe.filter_map(|p| m.put(range(p.entry.key.span), misspelt(&p.entry.key.value))).collect()
}

fn required(m: &Manifest) -> Vec<Mutation> {
    // If no properties are declared, any may be required.
    let declared = |p: &&Place| p.parent.as_mapping().is_some_and(|o| o.get("properties").is_some());
    let lists = m.keyed("required").filter(|p| in_schema(p) && m.is_format_key(p).is_some()).filter(declared);
    let lists = lists.filter_map(|p| p.entry.value.as_sequence());
    lists
        .flatten()
        .filter_map(|n| n.as_string())
        .filter_map(|t| m.put(range(t.content_span()), misspelt(&t.value)))
        .collect()
}

fn regex(m: &Manifest) -> Vec<Mutation> {
    let there = m
        .keyed("pattern")
        .filter(|p| m.is_format_key(p).is_some())
        .filter_map(|p| m.put(range(p.entry.value.span), "\"([a-z\""));
    let texts =
        properties(m).filter_map(|p| p.entry.value.as_string().filter(|t| &*t.value == "string").map(|t| (p, t)));
    let added = texts
        .filter(|_| m.dialect == "agntz")
        .filter_map(|(_, t)| m.put(range(t.span), "{ type: string, pattern: '([a-z' }"));
    there.chain(added).collect()
}

fn default(m: &Manifest) -> Vec<Mutation> {
    let wrong = |name: &str| match name {
        "string" => "[]",
        "number" | "integer" | "boolean" => "several",
        _ => "7",
    };
    let there = properties(m).filter_map(|p| {
        let d = p.entry.value.as_mapping()?.get("default")?;
        m.put(range(d.value.span), wrong(&type_of(&p.entry.value)?.value))
    });
    let short = properties(m).filter_map(|p| {
        let t = p.entry.value.as_string().filter(|_| p.path.contains(&SchemaSegment::Key("inputSchema".into())))?;
        m.put(range(t.span), format!("{{ type: {}, default: {} }}", t.value, wrong(&t.value)))
    });
    there.chain(short).collect()
}

fn choice(m: &Manifest) -> Vec<Mutation> {
    let lists = properties(m).filter_map(|p| p.entry.value.as_mapping()?.get("enum")?.value.as_sequence());
    lists.filter_map(|items| m.put(range(items.last()?.span), "{}")).collect()
}

fn example(m: &Manifest) -> Vec<Mutation> {
    let outputs = m.keyed("output").filter(|p| p.path.contains(&SchemaSegment::Key("examples".into())));
    outputs
        .filter(|p| m.places.iter().any(|s| &*s.entry.key.value == "outputSchema" && p.path.starts_with(&s.path)))
        .filter_map(|p| {
            let span = range(p.entry.value.span);
            m.put(span.start..m.end(&p.entry.value), "'{\"nonsense\": 1}'")
        })
        .collect()
}

/// The inputs that steps pass to agents with a declared input: the step, the entry of `input`, the agent's declaration.
fn mappings(m: &Manifest) -> Vec<(YamlNode, YamlEntry, YamlEntry)> {
    let mut found = Vec::new();
    for step in m.pipelines().iter().flat_map(|(_, items, _)| items.iter()) {
        let Some(input) = step.as_mapping().and_then(|s| s.get("input")).filter(|e| e.value.as_mapping().is_some())
        else {
            continue;
        };
        let child = m.child(step);
        let Some(schema) = child.as_ref().and_then(YamlNode::as_mapping).and_then(|c| c.get("inputSchema")) else {
            continue;
        };
        found.push((step.clone(), input.clone(), schema.clone()));
    }
    found
}

fn declared(schema: &YamlEntry) -> Option<&trefoil_syntax::yaml::YamlMapping> {
    let root = schema.value.as_mapping()?;
    if is_canonical(&schema.value) { root.get("properties")?.value.as_mapping() } else { Some(root) }
}

fn input_left_out(m: &Manifest) -> Vec<Mutation> {
    let mut found = Vec::new();
    for (_, input, schema) in mappings(m) {
        let Some(given) = input.value.as_mapping() else { continue };
        for entry in &given.entries {
            let optional = declared(&schema)
                .and_then(|d| d.get(&entry.key.value))
                .and_then(|d| d.value.as_mapping()?.get("default"))
                .is_some();
            let whole = m.whole_of(entry, given).filter(|_| !optional);
            found.extend(whole.and_then(|w| m.edits().put(w, "").at(input.key.span.start as usize).done()));
        }
    }
    found
}

fn add_input(m: &Manifest, entry: &YamlEntry, line: &str) -> Option<Mutation> {
    let start = entry.key.span.start as usize;
    let first = m.text[m.line_start(start)..start].trim().is_empty();
    if first { m.beside(entry, line) } else { m.put(start..start, format!("{line}, ")) }
}

fn extra_input(m: &Manifest) -> Vec<Mutation> {
    let all = mappings(m);
    all.iter()
        .filter_map(|(_, input, _)| add_input(m, input.value.as_mapping()?.entries.first()?, "nonsense: \"x\""))
        .collect()
}

fn input_type(m: &Manifest) -> Vec<Mutation> {
    let mut found = Vec::new();
    for (_, input, schema) in mappings(m) {
        for entry in input.value.as_mapping().into_iter().flat_map(|g| &g.entries) {
            let wanted =
                declared(&schema).and_then(|d| d.get(&entry.key.value)).and_then(|d| type_of(&d.value).cloned());
            if wanted.is_some_and(|t| &*t.value != "string") {
                found.extend(m.put(range(entry.value.span), "\"some words\""));
            }
        }
    }
    found
}

fn input_misspelt(m: &Manifest) -> Vec<Mutation> {
    let mut found = Vec::new();
    for (_, input, _) in mappings(m) {
        for entry in input.value.as_mapping().into_iter().flat_map(|g| &g.entries) {
            found.extend(m.put(range(entry.key.span), misspelt(&entry.key.value)));
        }
    }
    found
}

/// The references that read a declared input of the agent around them.
fn readers(m: &Manifest, property: &Place) -> Vec<crate::manifest::Reference> {
    let owner = &property.path
        [..property.path.iter().position(|s| *s == SchemaSegment::Key("inputSchema".into())).unwrap_or(0)];
    let nested = |path: &[SchemaSegment]| {
        path.starts_with(owner) && !path[owner.len()..].iter().any(|s| *s == SchemaSegment::Key("agent".into()))
    };
    // An inline agent has its own names; the input that its step passes is evaluated outside of it.
    let reads = |r: &crate::manifest::Reference| {
        r.segments.first().is_some_and(|(n, _)| *n == *property.entry.key.value)
            && m.places.get(r.place).is_some_and(|p| nested(&p.path))
    };
    m.references().into_iter().filter(reads).collect()
}

fn inputs(m: &Manifest) -> impl Iterator<Item = &Place> {
    properties(m).filter(|p| {
        let at = p.path.iter().position(|s| *s == SchemaSegment::Key("inputSchema".into()));
        at.is_some_and(|at| p.path.len() == at + 1 || p.path.len() == at + 2)
    })
}

fn undeclared(m: &Manifest) -> Vec<Mutation> {
    inputs(m)
        .filter_map(|p| {
            let readers = readers(m, p);
            let whole = m.whole(p).filter(|_| !readers.is_empty())?;
            // Without its last property, a schema is open or missing.
            m.edits().put(whole, "").at_all(readers.iter().map(|r| r.tag.start)).done()
        })
        .collect()
}

/// Whether the agent around an input has no prompt, so that its model gets the whole input.
fn is_sent(m: &Manifest, property: &Place) -> bool {
    let schema = SchemaSegment::Key("inputSchema".into());
    let Some(at) = property.path.iter().position(|s| *s == schema) else { return false };
    m.places.iter().any(|p| {
        let model = p.path == property.path[..at] && &*p.entry.key.value == "kind";
        model
            && p.entry.value.as_string().is_some_and(|k| &*k.value == "llm")
            && p.parent.as_mapping().is_some_and(|o| o.get("prompt").is_none())
    })
}

fn unread(m: &Manifest) -> Vec<Mutation> {
    inputs(m)
        .filter(|p| !is_sent(m, p))
        .filter_map(|p| {
            let readers = readers(m, p);
            let quiet = readers.iter().all(|r| {
                let place = &m.places[r.place].entry;
                !matches!(&*place.key.value, "when" | "until") && !m.text[range(place.value.span)].contains("{{#if")
            });
            let text = m.text.matches(&format!("#if {}", p.entry.key.value)).count();
            (quiet && !readers.is_empty() && text == 0).then(|| {
                let edits = readers.iter().fold(m.edits(), |e, r| e.put(r.tag.clone(), "it"));
                edits.at(p.entry.key.span.start as usize).done()
            })?
        })
        .collect()
}

fn whole(m: &Manifest) -> Vec<Mutation> {
    let steps = super::names::steps(m);
    let in_prompt = |r: &&crate::manifest::Reference| {
        matches!(&*m.places[r.place].entry.key.value, "prompt" | "instruction") && r.segments.len() == 2
    };
    let one = |r: &crate::manifest::Reference| {
        let (root, field) = (r.segments.first()?, r.segments.get(1)?);
        let mapped = steps.contains(&root.0) || m.text.contains(&format!("{}: \"{{{{", root.0));
        mapped.then(|| m.put(root.1.end..field.1.end, ""))?
    };
    m.references().iter().filter(in_prompt).filter_map(one).collect()
}
