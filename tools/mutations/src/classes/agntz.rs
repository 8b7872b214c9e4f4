//! Mistakes that are specific to agntz: names without braces or in the wrong ones, agents of the wrong kind,
//! conflicting steps, models of another provider.

use trefoil_project::schema::SchemaSegment;

use super::{AGNTZ, Class, class};
use crate::Manifest;
use crate::edit::{Mutation, range};
use crate::manifest::{Place, Reference, state_key};

pub(super) const CLASSES: &[Class] = &[
    class("one brace for two", AGNTZ, single_braces),
    class("a `$` before one brace", AGNTZ, dollar),
    class("a tag without its beginning", AGNTZ, no_beginning),
    class("a name without any braces", AGNTZ, bare_name),
    class("a `$` before a whole placeholder", AGNTZ, dollar_before),
    class("a name behind `input` or `state`", AGNTZ, behind),
    class("a block without its `#`", AGNTZ, no_hash),
    class("a block's end in single braces", AGNTZ, single_close),
    class("a comparison behind its tag", AGNTZ, comparison_behind),
    class("a segment behind a slash", AGNTZ, slash),
    class("an agent of the kind of another", AGNTZ, other_kind),
    class("the list of another kind", AGNTZ, other_list),
    class("a step that lost its dash", AGNTZ, no_dash),
    class("a bracket that is not closed", AGNTZ, open_bracket),
    class("a model of another maker", AGNTZ, other_maker),
    class("a template for a model's name", AGNTZ, template_model),
    class("a word by itself behind `||`", AGNTZ, word_alone),
    class("quotes around the placeholder of a condition", AGNTZ, quoted_placeholder),
    class("a comparison for a value", AGNTZ, compared_value),
    class("a step's key in the words of another system", AGNTZ, other_word),
    class("an output that is written like a schema", AGNTZ, typed_output),
    class("an input copied and not adapted", AGNTZ, copied_input),
];

/// References to a declared name: an input, or the output of a step.
fn named(m: &Manifest) -> Vec<Reference> {
    let input = |name: &str| {
        m.places.iter().any(|p| {
            let under = matches!(p.path.last(), Some(SchemaSegment::Key(k)) if k == "inputSchema");
            under && *p.entry.key.value == *name
        })
    };
    let keys: Vec<String> = m.pipelines().iter().flat_map(|(_, steps, _)| steps.iter().filter_map(state_key)).collect();
    let known = |r: &Reference| r.segments.first().is_some_and(|(root, _)| input(root) || keys.contains(root));
    let read = |r: &Reference| {
        m.places.get(r.place).is_some_and(|p| {
            let condition = matches!(&*p.entry.key.value, "when" | "until");
            let request = p.path.iter().any(|s| matches!(s, SchemaSegment::Key(k) if k == "tool" || k == "tools"));
            !condition && !request
        })
    };
    m.references().into_iter().filter(|r| known(r) && read(r)).collect()
}

fn path(m: &Manifest, r: &Reference) -> String {
    let (first, last) = (r.segments.first(), r.segments.last());
    first.zip(last).map(|(a, b)| m.text[a.1.start..b.1.end].to_owned()).unwrap_or_default()
}

fn single_braces(m: &Manifest) -> Vec<Mutation> {
    named(m).iter().filter_map(|r| m.put(r.tag.clone(), format!("{{{}}}", path(m, r)))).collect()
}

fn dollar(m: &Manifest) -> Vec<Mutation> {
    named(m).iter().filter_map(|r| m.put(r.tag.clone(), format!("${{{}}}", path(m, r)))).collect()
}

fn no_beginning(m: &Manifest) -> Vec<Mutation> {
    named(m).iter().filter_map(|r| m.put(r.tag.clone(), format!("{}}}}}", path(m, r)))).collect()
}

/// Whether the tag is the whole quoted value.
fn is_alone(m: &Manifest, r: &Reference) -> bool {
    m.text[..r.tag.start].ends_with('"') && m.text[r.tag.end..].starts_with('"')
}

fn bare_name(m: &Manifest) -> Vec<Mutation> {
    let one = |r: &Reference| {
        let place = m.places.get(r.place)?;
        let of_a_step = matches!(place.path.last(), Some(SchemaSegment::Key(k)) if k == "input" || k == "output");
        (of_a_step && is_alone(m, r) && r.segments.len() > 1)
            .then(|| m.put(r.tag.start - 1..r.tag.end + 1, path(m, r)))?
    };
    named(m).iter().filter_map(one).collect()
}

fn dollar_before(m: &Manifest) -> Vec<Mutation> {
    named(m).iter().filter(|r| is_alone(m, r)).filter_map(|r| m.put(r.tag.start..r.tag.start, "$")).collect()
}

fn behind(m: &Manifest) -> Vec<Mutation> {
    let word = |at: usize| if at.is_multiple_of(2) { "input." } else { "state." };
    let at = |r: &Reference| r.segments.first().map(|(_, at)| at.start);
    named(m).iter().enumerate().filter_map(|(i, r)| m.put(at(r)?..at(r)?, word(i))).collect()
}

fn no_hash(m: &Manifest) -> Vec<Mutation> {
    m.text.match_indices("{{#if ").filter_map(|(at, _)| m.put(at + 2..at + 3, "")).collect()
}

fn single_close(m: &Manifest) -> Vec<Mutation> {
    m.text.match_indices("{{/if}}").filter_map(|(at, tag)| m.put(at..at + tag.len(), "{/if}")).collect()
}

fn comparison_behind(m: &Manifest) -> Vec<Mutation> {
    let one = |(at, _): (usize, &str)| {
        let end = at + m.text[at..].find("}}")?;
        let operator = at + m.text[at..end].find(" == ").or_else(|| m.text[at..end].find(" != "))?;
        let rest = m.text[operator..end].to_owned();
        m.put(operator..end + 2, format!("}}}}{rest}"))
    };
    m.text.match_indices("{{#if ").filter_map(one).collect()
}

fn slash(m: &Manifest) -> Vec<Mutation> {
    let all = m.references();
    let dotted = all.iter().filter(|r| r.segments.len() > 1);
    dotted.filter_map(|r| m.put(r.tag.clone(), format!("{{{{{}}}}}", path(m, r).replace('.', "/")))).collect()
}

/// The kinds of inline agents.
fn kinds(m: &Manifest) -> impl Iterator<Item = &Place> {
    m.keyed("kind").filter(|p| p.parent.as_mapping().is_some_and(|a| a.get("id").is_some()))
}

fn other_kind(m: &Manifest) -> Vec<Mutation> {
    let one = |p: &Place| {
        let other = match &*p.entry.value.as_string()?.value {
            "sequential" => "parallel",
            "parallel" => "sequential",
            "llm" if p.parent.as_mapping()?.get("outputSchema").is_none() => "sequential",
            _ => return None,
        };
        m.put(range(p.entry.value.span), other)
    };
    kinds(m).filter_map(one).collect()
}

fn other_list(m: &Manifest) -> Vec<Mutation> {
    let one = |(p, _, in_order): &(&Place, _, bool)| {
        m.put(range(p.entry.key.span), if *in_order { "branches" } else { "steps" })
    };
    m.pipelines().iter().filter_map(one).collect()
}

fn no_dash(m: &Manifest) -> Vec<Mutation> {
    let mut found = Vec::new();
    for (_, steps, _) in m.pipelines() {
        for step in steps.iter().skip(1) {
            let at = step.span.start as usize;
            found.extend(m.text[..at].ends_with("- ").then(|| m.put(at - 2..at, "  ")).flatten());
        }
    }
    found
}

fn open_bracket(m: &Manifest) -> Vec<Mutation> {
    let one = |p: &Place| {
        let span = range(p.entry.value.span);
        let text = &m.text[span.clone()];
        let whole = text.starts_with(['{', '[']) && !text.contains('\n') && m.text[span.end..].starts_with('\n');
        whole.then(|| m.edits().put(span.end - 1..span.end, "").at(span.start).done())?
    };
    m.places.iter().filter_map(one).collect()
}

fn other_maker(m: &Manifest) -> Vec<Mutation> {
    let one = |p: &Place| {
        let name = p.parent.as_mapping()?.get("name")?.value.as_string()?.value.clone();
        let other = if name.starts_with("gpt-") {
            "anthropic"
        } else if name.starts_with("claude-") || name.starts_with("gemini-") {
            "openai"
        } else {
            return None;
        };
        m.put(range(p.entry.value.span), other)
    };
    m.keyed("provider").filter_map(one).collect()
}

fn template_model(m: &Manifest) -> Vec<Mutation> {
    let of_a_model = |p: &&Place| matches!(p.path.last(), Some(SchemaSegment::Key(k)) if k == "model");
    m.keyed("name").filter(of_a_model).filter_map(|p| m.put(range(p.entry.value.span), "\"{{model}}\"")).collect()
}

/// The contents of quoted conditions.
fn conditions(m: &Manifest) -> impl Iterator<Item = std::ops::Range<usize>> {
    let keys = ["when", "until"];
    let all =
        m.places.iter().filter(move |p| keys.contains(&&*p.entry.key.value) && p.entry.value.as_string().is_some());
    all.map(|p| range(p.entry.value.span))
        .filter(|at| m.text[at.clone()].starts_with('"'))
        .map(|at| at.start + 1..at.end - 1)
}

fn word_alone(m: &Manifest) -> Vec<Mutation> {
    let compared = conditions(m).filter(|at| m.text[at.clone()].contains("=="));
    compared.filter_map(|at| m.put(at.end..at.end, " || another")).collect()
}

fn quoted_placeholder(m: &Manifest) -> Vec<Mutation> {
    let one = |at: std::ops::Range<usize>| {
        let text = &m.text[at.clone()];
        let end = at.start + text.find("}}")? + 2;
        let single = text.starts_with("{{") && text.matches("{{").count() == 1 && text.contains("==");
        let quoted = format!("'{}'", &m.text[at.start..end]);
        single.then(|| m.put(at.start..end, quoted)).flatten()
    };
    conditions(m).filter_map(one).collect()
}

fn compared_value(m: &Manifest) -> Vec<Mutation> {
    let output = |p: &&Place| matches!(p.path.last(), Some(SchemaSegment::Key(k)) if k == "output");
    let one = |p: &Place| {
        let at = range(p.entry.value.span);
        let text = &m.text[at.clone()];
        let lone = text.starts_with("\"{{") && text.ends_with("}}\"") && text.matches("{{").count() == 1;
        (lone && !text.contains('#')).then(|| m.put(at.end - 1..at.end - 1, " == true")).flatten()
    };
    m.places.iter().filter(output).filter(|p| p.entry.value.as_string().is_some()).filter_map(one).collect()
}

fn other_word(m: &Manifest) -> Vec<Mutation> {
    let words = [("when", "if"), ("input", "with"), ("ref", "agentId"), ("stateKey", "saveAs")];
    let step = |p: &&Place| {
        p.path
            .iter()
            .rev()
            .nth(1)
            .is_some_and(|s| matches!(s, SchemaSegment::Key(k) if k == "steps" || k == "branches"))
    };
    let one = |p: &Place| {
        let (_, other) = words.iter().find(|(word, _)| *word == &*p.entry.key.value)?;
        m.put(range(p.entry.key.span), *other)
    };
    m.places.iter().filter(step).filter_map(one).collect()
}

/// Entries with a lone placeholder, in a mapping that is the value of this key.
fn lone<'m>(m: &'m Manifest, key: &'m str) -> impl Iterator<Item = &'m Place> {
    let under = move |p: &&Place| matches!(p.path.last(), Some(SchemaSegment::Key(k)) if k == key);
    let alone = |p: &&Place| {
        let value = p.entry.value.as_string().map(|t| t.value.trim().to_owned()).unwrap_or_default();
        value.starts_with("{{") && value.find("}}") == Some(value.len() - 2)
    };
    m.places.iter().filter(under).filter(alone)
}

fn typed_output(m: &Manifest) -> Vec<Mutation> {
    let top = |p: &&Place| p.path == [SchemaSegment::Key("output".into())];
    lone(m, "output").filter(top).filter_map(|p| m.put(range(p.entry.value.span), "string")).collect()
}

fn copied_input(m: &Manifest) -> Vec<Mutation> {
    let all: Vec<&Place> = lone(m, "input").collect();
    let own = |p: &Place| {
        p.entry.value.as_string().is_some_and(|t| t.value.trim() == format!("{{{{{}}}}}", p.entry.key.value))
    };
    let pairs = all.windows(2).filter(|pair| pair[0].parent.span == pair[1].parent.span && own(pair[1]));
    let other = pairs.filter_map(|pair| Some((pair[1], pair[0].entry.value.as_string()?.value.trim().to_owned())));
    other.filter_map(|(p, value)| m.put(range(p.entry.value.span), format!("\"{value}\""))).collect()
}
