//! The expected form of a value, as advice when it has another form: a text instead of a list, a list of entries with
//! ids instead of a mapping.

use trefoil_syntax::yaml::{YamlMapping, YamlNode, YamlNodeKind, YamlScalar};

/// Keys whose lists contain mappings, and an example item for a text that was written instead of the list; `_` is the
/// text.
const ITEMS: &[(&str, &str)] = &[
    ("transitions", "{ target: _ }"),
    ("steps", "{ ref: _ }"),
    ("branches", "{ ref: _ }"),
    ("edges", "{ from: a, to: b }"),
    ("examples", "{ input: a question, output: an answer }"),
    ("agents", "{ agent: _ }"),
    ("judges", "{ agent: _ }"),
    ("validation", "{ type: semantic, judge_agent: a-judge, criteria: what is checked }"),
    ("context", "{ type: text, content: _ }"),
    ("guardrails", "{ type: _ }"),
    ("spawnable", "{ ref: _ }"),
    ("volumes", "{ name: _ }"),
];

/// Keys whose values are mappings, and an example mapping for a text that was written instead; `_` is the text.
const KEYS: &[(&str, &str)] = &[
    ("runtime", "{ model: _ }"),
    ("task", "{ instruction: _ }"),
    ("metadata", "{ name: _ }"),
    ("input", "{ message: _ }"),
    ("inputSchema", "{ _: string }"),
    ("outputSchema", "{ _: string }"),
    ("consensus", "{ strategy: _ }"),
    ("retry", "{ max_attempts: _ }"),
];

/// The maximum number of characters of a value repeated in an example.
const SHOWN: usize = 40;

/// An example of the required list. `what` is the key, or a phrase.
pub(super) fn list_example(node: &YamlNode, what: &str) -> Option<String> {
    match &*node.kind {
        YamlNodeKind::Mapping(mapping) => {
            let first = &mapping.entries.first()?.key.value;
            Some(format!("start each entry with a dash (`- {first}: ...`), and align its other keys with `{first}`"))
        }
        YamlNodeKind::Scalar(..) if is_key(what) => {
            let value = short_value(node)?;
            // A program and its arguments are separate items.
            let words = value.split_whitespace().collect::<Vec<_>>().join(", ");
            let value = if what == "command" { &words } else { value };
            let example = example_for(ITEMS, what).unwrap_or("_");
            Some(format!("write `{what}: [{}]`", example.replace('_', value)))
        }
        _ => None,
    }
}

/// An example of the required mapping.
pub(super) fn mapping_example(node: &YamlNode, what: &str) -> Option<String> {
    match &*node.kind {
        YamlNodeKind::Sequence(items) => {
            let first = items.first()?;
            if let Some(entry) = first.as_mapping()
                && let Some((key, name)) = name(entry)
            {
                return Some(format!(
                    "write each entry as `{name}:` instead of `- {key}: {name}`, with its other keys indented below"
                ));
            }
            match first.as_string() {
                Some(text) if what.ends_with("Schema") => {
                    Some(format!("write `{what}: {{ {}: string }}`, with every name that it lists", text.value))
                }
                _ => Some("write `key: value` on each line, without a dash before it".to_owned()),
            }
        }
        YamlNodeKind::Scalar(YamlScalar::Str, _) => {
            let example = match example_for(KEYS, what) {
                Some(example) => example,
                // A SirenSpec node whose whole value is a word names its agent.
                None if what.starts_with("node `") => "{ agent: _ }",
                None => return None,
            };
            let value = short_value(node)?;
            let key = what.strip_prefix("node `").and_then(|rest| rest.strip_suffix('`')).unwrap_or(what);
            Some(format!("write `{key}: {}`", example.replace('_', value)))
        }
        YamlNodeKind::Scalar(..) | YamlNodeKind::Mapping(_) => None,
    }
}

/// The example for a key.
fn example_for(examples: &[(&str, &'static str)], key: &str) -> Option<&'static str> {
    let (_, example) = examples.iter().find(|(name, _)| *name == key)?;
    Some(example)
}

/// The name of a list's entry: its first key that can be a name.
fn name(entry: &YamlMapping) -> Option<(&str, &str)> {
    let key = ["id", "name"].into_iter().find(|key| entry.get(key).is_some())?;
    Some((key, &entry.get(key)?.value.as_string()?.value))
}

fn is_key(what: &str) -> bool {
    !what.contains(' ')
}

/// A short value in the form for a flow list.
fn short_value(node: &YamlNode) -> Option<&str> {
    let (_, text) = node.as_scalar()?;
    let plain = |c: char| !c.is_control() && !matches!(c, ',' | '[' | ']' | '{' | '}' | ':' | '#' | '"' | '\'');
    let fits = !text.value.is_empty() && text.value.chars().count() <= SHOWN && text.value.chars().all(plain);
    if fits { Some(&text.value) } else { None }
}
