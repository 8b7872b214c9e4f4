//! Fills holes from the environment and the secret store, and hides their values in incoming data
//! (`docs/decisions/secrets.md`).
//!
//! A *secret* is replaced by `***` before anything is stored: a value of the secret store, the key of a provider, and an
//! environment variable that is [a credential](trefoil_ir::credential) by its name or by where it is used, or whose value contains
//! another secret. Any other environment variable is configuration: data that contains its value is not changed, but the parts are recorded with it
//! ([`PrivateValue`]), and no view shows them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use trefoil_coordinator::IncomingValue;
use trefoil_ir::credential::is_credential;
use trefoil_template::{Hole, HoleKind, Value};

use super::mask::{KnownValues, Mask, MaskedStream, SHORTEST};
use crate::locks::lock;
use crate::ports::{Secret, Secrets};
use trefoil_machine::error::RunError;
use trefoil_machine::private::{Filling, HIDDEN, PrivateValue};

/// Values to be hidden. They are read for every event and answer, and rarely change.
type SharedKnownValues = Mutex<KnownValues>;

/// Values that this run may use.
///
/// A run shares them with the runs that its tools start, because a server may return to one of these runs what another one has sent.
#[derive(Default)]
pub struct HiddenValues {
    /// Values of the secret store and keys of providers. No prompt may have them.
    keys: SharedKnownValues,
    /// Replaced in all incoming data.
    secrets: SharedKnownValues,
    /// Recorded in all incoming data.
    settings: SharedKnownValues,
    /// Hidden in everything that is shown.
    all: SharedKnownValues,
    /// The environment variables that are secrets because of where they are used.
    credentials: Mutex<BTreeSet<Arc<str>>>,
}

/// A secret in a value. Its own value is not part of this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretFound {
    /// The member of the object that contains it. `None`: the value is not an object, or a member's name contains it.
    pub member: Option<Arc<str>>,
    /// The kind and the name of the secret. `None`: the key of a model provider.
    pub name: Option<(HoleKind, Arc<str>)>,
}

/// An environment variable that is a secret because of its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretVariable {
    /// Its name.
    pub name: Arc<str>,
    /// The secret that its value contains, in words.
    pub contains: String,
    /// Whether that is of the secret store or the key of a provider, which no prompt may have.
    pub is_key: bool,
}

impl std::fmt::Debug for HiddenValues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HiddenValues").finish_non_exhaustive()
    }
}

impl HiddenValues {
    /// Contains all values that a program names, even unused ones: an earlier process of the run may have used them, so they may
    /// occur in any answer.
    pub(crate) fn from_holes(secrets: &dyn Secrets, holes: &[(HoleKind, Arc<str>)]) -> Self {
        let seen = Self::default();
        seen.hide_holes(secrets, holes);
        seen
    }

    /// From now on, the values of these environment variables are secrets. To be called before their values are added.
    pub fn protect_variables(&self, variables: impl IntoIterator<Item = Arc<str>>) {
        lock(&self.credentials).extend(variables);
    }

    /// Adds the values of more holes.
    pub fn hide_holes(&self, secrets: &dyn Secrets, holes: &[(HoleKind, Arc<str>)]) {
        for (kind, name) in holes {
            if let Some(value) = secrets.get(*kind, name) {
                self.remember_hole(*kind, value.expose_value(), name);
            }
        }
    }

    /// Adds secret values without names: the keys of providers.
    pub fn hide_secrets(&self, values: &[Secret]) {
        for value in values {
            remember_value(&self.all, value.expose_value(), None);
            remember_value(&self.keys, value.expose_value(), None);
            self.add_secret(value.expose_value(), None);
        }
    }

    /// Adds a value that is replaced in incoming data. Values that came before and contain it are secrets from now on.
    fn add_secret(&self, value: &str, name: Option<&Arc<str>>) {
        if !remember_value(&self.secrets, value, name) {
            return;
        }
        let mask = prepared_mask(&self.secrets);
        let found = lock(&self.settings).give_up(&mask);
        for (text, name) in found {
            remember_value(&self.secrets, &text, name.as_ref());
        }
    }

    /// Adds the parts of a stored value that must not be shown, whether or not this process knows the variable that they are from.
    pub fn hide_parts_of(&self, value: &PrivateValue) {
        for text in value.hidden_texts() {
            if prepared_mask(&self.all).mask_text(&text) != HIDDEN {
                remember_value(&self.all, &text, None);
            }
            if prepared_mask(&self.settings).mask_text(&text) != HIDDEN {
                remember_value(&self.settings, &text, None);
            }
        }
    }

    /// Whether the value of a hole is a secret: by what it is called, by where it is used, or because it contains one.
    fn is_secret(&self, kind: HoleKind, name: &str, value: &str) -> bool {
        let is_named = kind == HoleKind::Secret || is_credential(name) || lock(&self.credentials).contains(name);
        is_named || prepared_mask(&self.secrets).matches_text(value)
    }

    /// The values of all holes come in here.
    fn remember_hole(&self, kind: HoleKind, value: &str, name: &str) {
        let path: Arc<str> = format!("{}.{name}", kind.template_namespace()).into();
        remember_value(&self.all, value, Some(&path));
        if kind == HoleKind::Secret {
            remember_value(&self.keys, value, Some(&path));
        }
        if self.is_secret(kind, name, value) {
            self.add_secret(value, Some(&path));
        } else {
            remember_value(&self.settings, value, Some(&path));
        }
    }

    /// The secret or the key of a provider that a value contains, in words.
    fn key_in(&self, value: &str) -> Option<String> {
        if !prepared_mask(&self.keys).matches_text(value) {
            return None;
        }
        let path = lock(&self.keys).names_in(&value.into()).into_iter().flatten().next();
        match path.as_deref().and_then(|path| path.split_once('.')) {
            Some((_, name)) => Some(format!("the secret `{name}`")),
            None => Some("the key of a model provider".to_owned()),
        }
    }

    /// The environment variable among the secrets that the value of another one contains, in words.
    fn variable_in(&self, value: &str, own: &str) -> Option<String> {
        if !prepared_mask(&self.secrets).matches_text(value) {
            return None;
        }
        let names = lock(&self.secrets).names_in(&value.into());
        for path in names.into_iter().flatten() {
            if let Some(name) = path.strip_prefix("env.")
                && name != own
            {
                return Some(format!("that of the secret `{path}`"));
            }
        }
        None
    }

    /// The environment variables among these holes that are secrets because of their values, each with the secret that its value
    /// contains.
    pub fn secret_variables(&self, secrets: &dyn Secrets, holes: &[(HoleKind, Arc<str>)]) -> Vec<SecretVariable> {
        let mut found = Vec::new();
        for (kind, name) in holes {
            let Some(value) = secrets.get(*kind, name) else { continue };
            if *kind != HoleKind::Env {
                continue;
            }
            let key = self.key_in(value.expose_value());
            let is_key = key.is_some();
            if let Some(contains) = key.or_else(|| self.variable_in(value.expose_value(), name)) {
                found.push(SecretVariable { name: name.clone(), contains, is_key });
            }
        }
        found
    }

    /// The value of an environment variable in a prompt, which must not have a secret or the key of a provider.
    pub(crate) fn fill_prompt(&self, secrets: &dyn Secrets, hole: &Hole) -> Result<Option<String>, RunError> {
        let found = self.fill_hole(secrets, hole)?;
        if let Some(value) = &found
            && let Some(key) = self.key_in(value)
        {
            let message = format!("`env.{}` contains {key}, which would be sent to the model", hole.name);
            return Err(RunError::new("SECRET_IN_PROMPT", message));
        }
        Ok(found)
    }

    /// Returns the value of a hole. A strict hole without a value is an error.
    pub(crate) fn fill_hole(&self, secrets: &dyn Secrets, hole: &Hole) -> Result<Option<String>, RunError> {
        let found = secrets.get(hole.kind, &hole.name);
        if let Some(value) = &found {
            self.remember_hole(hole.kind, value.expose_value(), &hole.name);
        }
        if found.is_none() && hole.default.is_none() && !hole.lenient {
            let (namespace, name) = (hole.kind.template_namespace(), &hole.name);
            let reason = match hole.kind {
                HoleKind::Env => format!("Environment variable '{name}' is not set"),
                HoleKind::Secret => format!("Secret '{name}' is not set"),
            };
            let reason = match secrets.find_problem(hole.kind, name) {
                Some(problem) if hole.kind == HoleKind::Env => format!("{reason}: {problem}"),
                _ => reason,
            };
            return Err(RunError::for_placeholder(&format!("{namespace}.{name}"), namespace, reason));
        }
        Ok(found.map(|value| value.expose_value().to_owned()))
    }

    /// The result of a run: environment values are filled in, and recorded as parts that no view shows.
    pub(crate) fn fill_result(&self, secrets: &dyn Secrets, value: &Value) -> Result<PrivateValue, RunError> {
        let filled = PrivateValue::fill_holes(value, &mut |hole: &Hole| {
            let value = secrets.get(hole.kind, &hole.name);
            let text = match &value {
                Some(value) => value.expose_value(),
                None => "",
            };
            if self.is_secret(hole.kind, &hole.name, text) {
                let path = format!("{}.{}", hole.kind.template_namespace(), hole.name);
                let error = RunError::new("SECRET_IN_RESULT", format!("the result would contain the secret `{path}`"));
                return Err(error.with_help("remove it from the output, or pass the value as an input"));
            }
            let found = self.fill_hole(secrets, hole)?;
            let hidden = found.is_some() && !hole.takes_default(found.as_deref());
            Ok(Filling { text: hole.filled_text(found), hidden })
        })?;
        let found = prepared_mask(&self.settings).hidden_parts(filled.exact_value());
        Ok(filled.with_hidden(found))
    }

    /// A value as it may be shown: `***` for values from outside, the default if it was used.
    pub(crate) fn displayed_value(&self, secrets: &dyn Secrets, value: &Value) -> Value {
        let shown = value.replace_holes(&mut |hole: &Hole| -> Result<Option<String>, std::convert::Infallible> {
            let found = secrets.get(hole.kind, &hole.name);
            let content = hole.filled_text(found.as_ref().map(|value| value.expose_value().to_owned()));
            let defaulted = hole.default.is_some() && content == hole.filled_text(None);
            Ok(if found.is_none() || defaulted { content } else { Some(HIDDEN.to_owned()) })
        });
        shown.unwrap_or_else(|never| match never {})
    }

    /// Data from outside, as the run gets and stores it.
    pub(crate) fn take_in(&self, value: Value) -> IncomingValue {
        let mask = prepared_mask(&self.secrets);
        let (mut value, mut replaced) = (value, Vec::new());
        if mask.matches_value(&value) {
            let names = lock(&self.secrets).names_in(&value);
            for name in names.into_iter().flatten() {
                replaced.push(name.to_string());
            }
            replaced.sort_unstable();
            value = mask.mask_value(value);
        }
        IncomingValue { value: self.with_private_parts(value), replaced }
    }

    /// Data that must not be changed, with the parts that no view shows.
    pub(crate) fn with_private_parts(&self, value: Value) -> PrivateValue {
        let found = prepared_mask(&self.settings).hidden_parts(&value);
        PrivateValue::new(value, found)
    }

    /// The variables and secrets whose values are too short to be recognised in incoming data: `env.NAME`, `secrets.NAME`.
    pub(crate) fn too_short(secrets: &dyn Secrets, holes: &[(HoleKind, Arc<str>)]) -> Vec<String> {
        let mut short = Vec::new();
        for (kind, name) in holes {
            if let Some(value) = secrets.get(*kind, name)
                && (1..SHORTEST).contains(&value.expose_value().chars().count())
            {
                short.push(format!("{}.{name}", kind.template_namespace()));
            }
        }
        short
    }

    /// The secrets that a value contains, in any form that is hidden: one for each member of an object, or one for the whole value.
    pub fn secrets_in(&self, value: &Value) -> Vec<SecretFound> {
        let mask = prepared_mask(&self.secrets);
        if !mask.matches_value(value) {
            return Vec::new();
        }
        // A name with a secret in it must not be shown.
        match value {
            Value::Object(members) if !members.iter().any(|(name, _)| mask.matches_value(&Value::from(&**name))) => {
                let mut found = Vec::new();
                for (name, value) in members.iter() {
                    if mask.matches_value(value) {
                        found.push(SecretFound { member: Some((&**name).into()), name: self.secret_name(value) });
                    }
                }
                found
            }
            value => vec![SecretFound { member: None, name: self.secret_name(value) }],
        }
    }

    /// The name of the first secret that a value contains, if it has one.
    fn secret_name(&self, value: &Value) -> Option<(HoleKind, Arc<str>)> {
        let path = lock(&self.secrets).names_in(value).into_iter().next().flatten()?;
        let (namespace, name) = path.split_once('.')?;
        let is_variable = namespace == HoleKind::Env.template_namespace();
        Some((if is_variable { HoleKind::Env } else { HoleKind::Secret }, name.into()))
    }

    /// A text as it may be shown.
    pub fn mask_text(&self, text: &str) -> String {
        prepared_mask(&self.all).mask_text(text)
    }

    /// The search for all that must not be shown.
    pub(super) fn current_mask(&self) -> Arc<Mask> {
        prepared_mask(&self.all)
    }

    /// Returns a masked stream of text.
    pub(super) fn masked_stream(&self) -> MaskedStream {
        MaskedStream::new(prepared_mask(&self.all))
    }
}

fn remember_value(values: &SharedKnownValues, value: &str, name: Option<&Arc<str>>) -> bool {
    lock(values).remember_value(value, name)
}

fn prepared_mask(values: &SharedKnownValues) -> Arc<Mask> {
    lock(values).prepared_mask()
}

#[cfg(test)]
mod tests {
    use trefoil_machine::event::EventKind;

    use super::super::event::mask_event;
    use super::*;

    struct One(&'static str);
    impl Secrets for One {
        fn get(&self, _kind: HoleKind, name: &str) -> Option<Secret> {
            Secret::new(self.0).filter(|_| name == "TOKEN" || name == "REGION")
        }
    }

    fn seen(secret: &'static str) -> HiddenValues {
        let seen = HiddenValues::default();
        seen.fill_hole(&One(secret), &Hole::new(HoleKind::Secret, "TOKEN")).unwrap();
        seen
    }

    #[test]
    fn secrets_of_six_characters_and_more_are_masked_by_value() {
        assert_eq!(seen("hunter22").mask_text("say hunter22 twice: hunter22"), "say *** twice: ***");
        assert_eq!(seen("short").mask_text("short"), "short");
        let value: Value = [("hunter22", Value::from(vec!["x hunter22".into()]))].into_iter().collect();
        let incoming = seen("hunter22").take_in(value);
        assert_eq!(incoming.value.exact_value().to_text().as_ref(), r#"{"***":["x ***"]}"#);
        assert_eq!(
            (incoming.value.hidden_parts().is_empty(), incoming.replaced),
            (true, vec!["secrets.TOKEN".to_owned()])
        );
    }

    #[test]
    fn a_value_is_masked_as_json_has_it_too() {
        let seen = seen("line one\nline \"two\"");
        assert_eq!(seen.mask_text(r#"got "line one\nline \"two\"" "#), r#"got "***" "#);
        assert_eq!(seen.mask_text("got line one\nline \"two\""), "got ***");
    }

    #[test]
    fn the_environment_is_hidden_in_what_is_shown_and_noted_in_what_comes_in() {
        let seen = HiddenValues::default();
        seen.fill_hole(&One("hunter22"), &Hole::new(HoleKind::Env, "REGION")).unwrap();
        let value: Value = [("hunter22", Value::from(vec!["é hunter22 aHVudGVyMjI= é".into()]))].into_iter().collect();
        let incoming = seen.take_in(value.clone());
        assert_eq!((incoming.value.exact_value(), incoming.replaced), (&value, Vec::new()));
        assert_eq!(incoming.value.visible_value().to_text().as_ref(), r#"{"***":["é *** ***I= é"]}"#);
        // Another process knows what is stored.
        let other = HiddenValues::default();
        other.hide_parts_of(&incoming.value);
        for seen in [&seen, &other] {
            assert_eq!(seen.mask_text("hunter22, aHVudGVyMjI"), "***, ***I");
            assert!(!seen.with_private_parts("hunter22".into()).hidden_parts().is_empty());
        }
        let shown =
            mask_event(EventKind::StepFinished { output: "say hunter22".into(), items: None }, &seen.current_mask());
        assert_eq!(shown, EventKind::StepFinished { output: "say ***".into(), items: None });
        assert_eq!(seen.current_mask().mask_error(RunError::new("MODEL_ERROR", "got hunter22")).message, "got ***");
    }

    #[test]
    fn a_value_that_a_message_cuts_is_masked_up_to_the_cut() {
        let seen = seen("hunter22-and-more");
        let shown =
            |message: &str| seen.current_mask().mask_error(RunError::new("MODEL_ERROR", message)).into_data().message;
        assert_eq!(shown("it begins `the key hunter22-an...`"), "it begins `the key ***...`");
        assert_eq!(shown("it begins `hunt...`"), "it begins `hunt...`", "too short to tell");
        assert_eq!(shown("so... then hunter22-a…"), "so... then ***…", "whatever was cut before");
        assert_eq!(shown("…nter22-and-more, and …and-more"), "…***, and …***");
        assert_eq!(shown("more... hunter22-…22-and-more"), "more... ***…***");
        assert_eq!(shown("… more of it"), "… more of it");
    }

    #[test]
    fn a_secret_in_a_value_is_named_and_never_quoted() {
        let seen = seen("hunter22");
        let found = |member: Option<&str>| {
            let name = Some((HoleKind::Secret, "TOKEN".into()));
            vec![SecretFound { member: member.map(Into::into), name }]
        };
        assert_eq!(seen.secrets_in(&"say hunter22".into()), found(None));
        let input = |name: &str, value: &str| Value::from_json(serde_json::json!({ "a": 1, name: [{ "b": value }] }));
        assert_eq!(seen.secrets_in(&input("key", "aHVudGVyMjI=")), found(Some("key")));
        assert_eq!(seen.secrets_in(&input("hunter22", "x")), found(None), "its place would show it");
        assert_eq!(seen.secrets_in(&input("key", "hunter2")), []);
        let seen = HiddenValues::default();
        seen.fill_hole(&One("hunter22"), &Hole::new(HoleKind::Env, "REGION")).unwrap();
        assert_eq!(seen.secrets_in(&"hunter22".into()), [], "configuration is not a secret");
        let by_name = HiddenValues::default();
        by_name.fill_hole(&One("hunter22"), &Hole::new(HoleKind::Env, "TOKEN")).unwrap();
        let by_use = HiddenValues::default();
        by_use.protect_variables(["REGION".into()]);
        by_use.fill_hole(&One("hunter22"), &Hole::new(HoleKind::Env, "REGION")).unwrap();
        for (seen, name) in [(by_name, "TOKEN"), (by_use, "REGION")] {
            let name = Some((HoleKind::Env, name.into()));
            assert_eq!(seen.secrets_in(&"hunter22".into()), [SecretFound { member: None, name }]);
            assert_eq!(seen.take_in("a hunter22".into()).value.exact_value(), &Value::from("a ***"));
        }
        seen.hide_secrets(&Secret::new("key-of-a-provider").into_iter().collect::<Vec<_>>());
        assert_eq!(seen.secrets_in(&"key-of-a-provider".into()), [SecretFound { member: None, name: None }]);
    }

    #[test]
    fn a_secret_cut_in_two_by_the_stream_does_not_get_through() {
        let seen = seen("hunter22");
        let mut stream = seen.masked_stream();
        let mut shown = String::new();
        for piece in ["a hun", "ter", "22 b hu", "nt"] {
            shown.push_str(&stream.push(piece));
        }
        shown.push_str(&stream.take_rest());
        assert_eq!(shown, "a *** b hunt");
    }

    #[test]
    fn an_unset_strict_hole_is_an_interpolation_error() {
        let error = HiddenValues::default().fill_hole(&One("x"), &Hole::new(HoleKind::Env, "NAME")).unwrap_err();
        assert_eq!(
            error.message,
            "InterpolationError in '{{ env.NAME }}' [env]: Environment variable 'NAME' is not set"
        );
        let parts = error.interpolation.as_ref().unwrap();
        assert_eq!((&*parts.expression, &*parts.namespace), ("env.NAME", "env"));
        assert_eq!(parts.reason, "Environment variable 'NAME' is not set");
    }

    #[test]
    fn what_is_shown_hides_what_came_from_outside_and_shows_defaults() {
        let hole = |name: &str, default: &str| Hole { default: Some(default.into()), ..Hole::new(HoleKind::Env, name) };
        let value = |hole| trefoil_template::Masked::from_hole(hole).into_value();
        let seen = HiddenValues::default();
        assert_eq!(seen.displayed_value(&One("secret"), &value(hole("TOKEN", "d"))), Value::from("***"));
        assert_eq!(seen.displayed_value(&One("secret"), &value(hole("OTHER", "d"))), Value::from("d"));
        let json = Hole { json: true, ..hole("TOKEN", "[]") };
        assert_eq!(seen.displayed_value(&One("not json"), &value(json.clone())), Value::from("[]"));
        assert_eq!(seen.displayed_value(&One("[1]"), &value(json)), Value::from("***"));
    }

    #[test]
    fn a_variable_that_contains_a_secret_is_one_whichever_was_known_first() {
        let place = [(HoleKind::Env, "REGION".into())];
        let key = Secret::new("hunter22").unwrap();
        let [first, last] = [true, false].map(|first| {
            let seen = HiddenValues::default();
            if first {
                seen.hide_secrets(std::slice::from_ref(&key));
            }
            seen.hide_holes(&One("Bearer hunter22"), &place);
            if !first {
                seen.hide_secrets(std::slice::from_ref(&key));
            }
            seen
        });
        for seen in [first, last] {
            let incoming = seen.take_in("so Bearer hunter22 it is".into());
            assert_eq!(&*incoming.value.exact_value().to_text(), "so *** it is");
            assert_eq!(incoming.replaced, ["env.REGION"]);
            assert_eq!(seen.secret_variables(&One("Bearer hunter22"), &place).len(), 1);
            assert_eq!(seen.secret_variables(&One("Bearer"), &place), []);
            assert!(seen.secret_variables(&One("Bearer hunter22"), &place)[0].is_key);
            let filled = seen.fill_prompt(&One("Bearer hunter22"), &Hole::new(HoleKind::Env, "REGION"));
            assert_eq!(filled.unwrap_err().code, "SECRET_IN_PROMPT");
        }
    }

    #[test]
    fn a_variable_that_contains_a_variable_with_the_name_of_a_secret_is_one() {
        let both = [(HoleKind::Env, "REGION".into()), (HoleKind::Env, "TOKEN".into())];
        for holes in [both.clone(), [both[1].clone(), both[0].clone()]] {
            let seen = HiddenValues::default();
            seen.hide_holes(&One("hunter22"), &holes);
            let found = seen.secret_variables(&One("hunter22"), &holes);
            let found: Vec<_> = found.iter().map(|one| (&*one.name, &*one.contains, one.is_key)).collect();
            assert_eq!(found, [("REGION", "that of the secret `env.TOKEN`", false)]);
            // A prompt may have it, as that of the other.
            assert!(seen.fill_prompt(&One("hunter22"), &Hole::new(HoleKind::Env, "REGION")).is_ok());
        }
    }
}
