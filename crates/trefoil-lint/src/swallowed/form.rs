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
        static ALL: LazyLock<HashMap<&str, KeyForms>> = LazyLock::new(|| {
            let mut all = HashMap::default();
            for front in trefoil_front::FRONT_ENDS {
                all.insert(front.name(), KeyForms::read(front.manifest_schema()));
            }
            all
        });
        ALL.get(format)
    }

    fn read(schema: &str) -> Self {
        let whole: Value = read_json(schema).unwrap_or(Value::Bool(true));
        let mut keys: HashMap<String, Vec<Value>> = HashMap::default();
        let mut stack = vec![whole.clone()];
        while let Some(one) = stack.pop() {
            match &one {
                Value::Object(members) => {
                    if let Some(Value::Object(properties)) = members.get("properties") {
                        for (key, form) in properties.iter() {
                            keys.entry(key.to_string()).or_default().push(form.clone());
                        }
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
        match self.keys.get(key) {
            Some(forms) => forms.iter().any(|form| self.fits(form, value, 0)),
            None => true,
        }
    }

    /// Whether a key has a list of words as values, and this is one of them.
    pub fn has_listed_word(&self, key: &str, word: &str) -> bool {
        let Some(forms) = self.keys.get(key) else { return false };
        forms.iter().any(|form| matches!(listed_words(self.resolved(form)), Some(words) if has_word(words, word)))
    }

    fn resolved<'s>(&'s self, form: &'s Value) -> &'s Value {
        self.definition(form).unwrap_or(form)
    }

    /// The definition to which a form refers.
    fn definition(&self, form: &Value) -> Option<&Value> {
        let name = form.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
        self.whole.get("$defs")?.get(name)
    }

    fn fits(&self, form: &Value, node: &YamlNode, depth: u32) -> bool {
        let form = self.resolved(form);
        if depth > DEEPEST {
            return true;
        }
        if let Some(all) = ["anyOf", "oneOf"].into_iter().find_map(|key| form.get(key)?.as_list()) {
            return all.iter().any(|one| self.fits(one, node, depth + 1));
        }
        if let Some(text) = node.as_string() {
            if let Some(words) = listed_words(form) {
                return has_word(words, &text.value);
            }
            if let Some(Value::Str(pattern)) = form.get("pattern") {
                return matches!(Regex::new(pattern), Ok(pattern) if pattern.is_match(&text.value));
            }
        }
        let kinds: Vec<&str> = match form.get("type") {
            Some(Value::List(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            Some(kind) => kind.as_str().into_iter().collect(),
            None => return true,
        };
        let has = |wanted: &[&str]| kinds.iter().any(|kind| wanted.contains(kind));
        match &*node.kind {
            YamlNodeKind::Sequence(_) if !has(&["array"]) => false,
            YamlNodeKind::Sequence(items) => match form.get("items") {
                Some(each) => items.iter().all(|item| self.fits(each, item, depth + 1)),
                None => true,
            },
            YamlNodeKind::Mapping(_) => has(&["object"]),
            YamlNodeKind::Scalar(YamlScalar::Null, _) => has(&["null"]),
            YamlNodeKind::Scalar(YamlScalar::Str, _) => has(&["string"]),
            YamlNodeKind::Scalar(YamlScalar::Bool(_), _) => has(&["boolean", "string"]),
            YamlNodeKind::Scalar(..) => has(&["integer", "number", "string"]),
        }
    }
}

/// The words of which a value must be one.
fn listed_words(form: &Value) -> Option<&[Value]> {
    form.get("enum")?.as_list()
}

fn has_word(words: &[Value], word: &str) -> bool {
    words.iter().any(|listed| listed.as_str() == Some(word))
}
