//! Holes filled from the environment and the secret store, and secret values masked in whatever comes back (decision C8).

use std::sync::{Mutex, PoisonError};

use trefoil_template::{Hole, HoleKind, Object, Value};

use crate::error::RunError;
use crate::ports::Secrets;

/// What stands where a secret stood.
const HIDDEN: &str = "***";
/// Shorter ones would mask half of any text.
const SHORTEST: usize = 6;

/// Secret values that this run has used, longest first.
#[derive(Default)]
pub struct Seen {
    values: Mutex<Vec<String>>,
}

impl Seen {
    /// What the environment or the store has for a hole. A strict hole without anything is an error.
    pub fn fill(&self, secrets: &dyn Secrets, hole: &Hole) -> Result<Option<String>, RunError> {
        let found = secrets.get(hole.kind, &hole.name);
        if let (HoleKind::Secret, Some(value)) = (hole.kind, &found) {
            self.remember(value);
        }
        if found.is_none() && hole.default.is_none() && !hole.lenient {
            let (namespace, name) = (hole.kind.namespace(), &hole.name);
            let reason = match hole.kind {
                HoleKind::Env => format!("Environment variable '{name}' is not set"),
                HoleKind::Secret => format!("Secret '{name}' is not set"),
            };
            return Err(RunError::interpolation(&format!("{namespace}.{name}"), namespace, reason));
        }
        Ok(found)
    }

    /// A value as it may be shown: `***` where something came from outside, the default where that fired.
    pub fn shown(&self, secrets: &dyn Secrets, value: &Value) -> Value {
        let shown = value.replace(&mut |hole: &Hole| -> Result<Option<String>, std::convert::Infallible> {
            let found = secrets.get(hole.kind, &hole.name);
            let content = hole.content(found.clone());
            let defaulted = hole.default.is_some() && content == hole.content(None);
            Ok(if found.is_none() || defaulted { content } else { Some(HIDDEN.to_owned()) })
        });
        shown.unwrap_or_else(|never| match never {})
    }

    fn remember(&self, value: &str) {
        if value.chars().count() < SHORTEST {
            return;
        }
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        if !values.iter().any(|v| v == value) {
            values.push(value.to_owned());
            values.sort_by_key(|v| std::cmp::Reverse(v.len()));
        }
    }

    fn known(&self) -> Vec<String> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A text without secret values.
    pub fn scrub(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in self.known() {
            if text.contains(&secret) {
                text = text.replace(&secret, HIDDEN);
            }
        }
        text
    }

    /// A value without secret values in its texts and keys.
    pub fn scrub_value(&self, value: Value) -> Value {
        if self.known().is_empty() { value } else { self.scrubbed(value) }
    }

    fn scrubbed(&self, value: Value) -> Value {
        match value {
            Value::Str(text) => Value::from(self.scrub(&text)),
            Value::List(items) => items.iter().map(|v| self.scrubbed(v.clone())).collect(),
            Value::Object(object) => {
                let members = object.iter().map(|(k, v)| (self.scrub(k).into(), self.scrubbed(v.clone())));
                Value::from(members.collect::<Object>())
            }
            other => other,
        }
    }

    /// An error without secret values.
    pub fn scrub_error(&self, mut error: RunError) -> RunError {
        if !self.known().is_empty() {
            error.message = self.scrub(&error.message);
            error.help = error.help.map(|help| self.scrub(&help));
            if let Some(failed) = &mut error.interpolation {
                failed.reason = self.scrub(&failed.reason);
            }
        }
        error
    }

    /// Masks a stream of text: a secret that is cut in two by the stream does not get through.
    pub fn stream(&self) -> Stream {
        Stream { secrets: self.known(), held: String::new() }
    }
}

/// A stream of text that holds back what could be the beginning of a secret.
pub struct Stream {
    secrets: Vec<String>,
    held: String,
}

impl Stream {
    /// What may be shown now.
    pub fn push(&mut self, text: &str) -> String {
        if self.secrets.is_empty() {
            return text.to_owned();
        }
        self.held.push_str(text);
        for secret in &self.secrets {
            if self.held.contains(secret.as_str()) {
                self.held = self.held.replace(secret.as_str(), HIDDEN);
            }
        }
        let held = &self.held;
        let begins = |at: &usize| {
            let tail = held.get(*at..).unwrap_or_default();
            self.secrets.iter().any(|s| s.starts_with(tail))
        };
        let cut = held.char_indices().map(|(at, _)| at).find(begins).unwrap_or(held.len());
        let rest = self.held.split_off(cut);
        std::mem::replace(&mut self.held, rest)
    }

    /// What was held back to the end.
    pub fn finish(self) -> String {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One(&'static str);
    impl Secrets for One {
        fn get(&self, _kind: HoleKind, name: &str) -> Option<String> {
            (name == "TOKEN").then(|| self.0.to_owned())
        }
    }

    fn seen(secret: &'static str) -> Seen {
        let seen = Seen::default();
        seen.fill(&One(secret), &Hole::new(HoleKind::Secret, "TOKEN")).unwrap();
        seen
    }

    #[test]
    fn secrets_of_six_characters_and_more_are_masked_by_value() {
        assert_eq!(seen("hunter22").scrub("say hunter22 twice: hunter22"), "say *** twice: ***");
        assert_eq!(seen("short").scrub("short"), "short");
        let value: Value = [("hunter22", Value::from(vec!["x hunter22".into()]))].into_iter().collect();
        assert_eq!(seen("hunter22").scrub_value(value).to_text().as_ref(), r#"{"***":["x ***"]}"#);
    }

    #[test]
    fn a_secret_cut_in_two_by_the_stream_does_not_get_through() {
        let seen = seen("hunter22");
        let mut stream = seen.stream();
        let mut shown = String::new();
        for piece in ["a hun", "ter", "22 b hu", "nt"] {
            shown.push_str(&stream.push(piece));
        }
        shown.push_str(&stream.finish());
        assert_eq!(shown, "a *** b hunt");
    }

    #[test]
    fn an_unset_strict_hole_is_an_interpolation_error() {
        let error = Seen::default().fill(&One("x"), &Hole::new(HoleKind::Env, "NAME")).unwrap_err();
        assert_eq!(
            error.message,
            "InterpolationError in '{{ env.NAME }}' [env]: Environment variable 'NAME' is not set"
        );
        let parts = error.interpolation.unwrap();
        assert_eq!((&*parts.expression, &*parts.namespace), ("env.NAME", "env"));
        assert_eq!(parts.reason, "Environment variable 'NAME' is not set");
    }

    #[test]
    fn what_is_shown_hides_what_came_from_outside_and_shows_defaults() {
        let hole = |name: &str, default: &str| Hole { default: Some(default.into()), ..Hole::new(HoleKind::Env, name) };
        let value = |hole| trefoil_template::Masked::lone(hole).into_value();
        let seen = Seen::default();
        assert_eq!(seen.shown(&One("secret"), &value(hole("TOKEN", "d"))), Value::from("***"));
        assert_eq!(seen.shown(&One("secret"), &value(hole("OTHER", "d"))), Value::from("d"));
        let json = Hole { json: true, ..hole("TOKEN", "[]") };
        assert_eq!(seen.shown(&One("not json"), &value(json.clone())), Value::from("[]"));
        assert_eq!(seen.shown(&One("[1]"), &value(json)), Value::from("***"));
    }
}
