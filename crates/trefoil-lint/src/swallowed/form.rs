//! The forms of values that each key of a format may have, from its JSON Schema. A key with one name in several places may
//! have the forms of all of them.

use std::sync::LazyLock;

use regex::Regex;
use trefoil_syntax::hash::HashMap;
use trefoil_syntax::yaml::{YamlNode, YamlNodeKind, YamlScalar};
use trefoil_template::{Value, read_json};

/// The maximum depth to which a schema is followed.
const DEEPEST: u32 = 8;

/// The schemas of the keys of a format.
pub struct KeyForms {
    whole: Value,
    keys: HashMap<String, Vec<Value>>,
}

impl KeyForms {
    /// Those of a format, by its name.
    pub fn for_format(format: &str) -> Option<&'static Self> {
        static ALL: LazyLock<Vec<(&str, KeyForms)>> = LazyLock::new(|| {
            trefoil_front::FRONT_ENDS
                .iter()
                .map(|front| (front.name(), KeyForms::read(front.manifest_schema())))
                .collect()
        });
        ALL.iter().find(|(name, _)| *name == format).map(|(_, forms)| forms)
    }

    fn read(schema: &str) -> Self {
        let whole: Value = read_json(schema).unwrap_or(Value::Bool(true));
        let mut keys: HashMap<String, Vec<Value>> = HashMap::default();
        let mut stack = vec![whole.clone()];
        while let Some(one) = stack.pop() {
            match &one {
                Value::Object(members) => {
                    let properties = members.get("properties").and_then(Value::as_object);
                    for (key, form) in properties.into_iter().flatten() {
                        keys.entry(key.to_string()).or_default().push(form.clone());
                    }
                    stack.extend(members.values().cloned());
                }
                Value::List(items) => stack.extend(items.iter().cloned()),
                _ => {}
            }
        }
        Self { whole, keys }
    }

    /// Whether a key may have a value of this form.
    pub fn allows_value(&self, key: &str, value: &YamlNode) -> bool {
        self.keys.get(key).is_none_or(|forms| forms.iter().any(|form| self.fits(form, value, 0)))
    }

    /// Whether a key has a list of words as values, and this is one of them.
    pub fn has_listed_word(&self, key: &str, word: &str) -> bool {
        let listed = |form: &Value| {
            let words = self.resolved(form).get("enum").and_then(Value::as_list).unwrap_or_default();
            words.iter().any(|one| one.as_str() == Some(word))
        };
        self.keys.get(key).is_some_and(|forms| forms.iter().any(listed))
    }

    fn resolved<'s>(&'s self, form: &'s Value) -> &'s Value {
        let name = form.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
        name.and_then(|name| self.whole.get("$defs")?.get(name)).unwrap_or(form)
    }

    fn fits(&self, form: &Value, node: &YamlNode, depth: u32) -> bool {
        let form = self.resolved(form);
        if depth > DEEPEST {
            return true;
        }
        if let Some(all) = ["anyOf", "oneOf"].into_iter().find_map(|key| form.get(key)?.as_list()) {
            return all.iter().any(|one| self.fits(one, node, depth + 1));
        }
        if let (Some(words), Some(text)) = (form.get("enum").and_then(Value::as_list), node.as_string()) {
            return words.iter().any(|word| word.as_str() == Some(&*text.value));
        }
        if let (Some(pattern), Some(text)) = (form.get("pattern").and_then(Value::as_str), node.as_string()) {
            return Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(&text.value));
        }
        let kinds: Vec<&str> = match form.get("type") {
            Some(Value::List(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            Some(kind) => kind.as_str().into_iter().collect(),
            None => return true,
        };
        let has = |wanted: &[&str]| kinds.iter().any(|kind| wanted.contains(kind));
        match &*node.kind {
            YamlNodeKind::Sequence(items) => {
                let each = form.get("items");
                has(&["array"]) && each.is_none_or(|each| items.iter().all(|item| self.fits(each, item, depth + 1)))
            }
            YamlNodeKind::Mapping(_) => has(&["object"]),
            YamlNodeKind::Scalar(YamlScalar::Null, _) => has(&["null"]),
            YamlNodeKind::Scalar(YamlScalar::Str, _) => has(&["string"]),
            YamlNodeKind::Scalar(YamlScalar::Bool(_), _) => has(&["boolean", "string"]),
            YamlNodeKind::Scalar(..) => has(&["integer", "number", "string"]),
        }
    }
}
