//! Finds secrets in what is passed to a run, by their values. A run stores its input as it is, because steps read it.

use std::sync::Arc;

use trefoil_ir::Program;
use trefoil_machine::PreparedProgram;
use trefoil_runtime::driver::{HiddenValues, SecretFound};
use trefoil_runtime::ports::{Secret, Secrets};
use trefoil_syntax::{Diagnostic, FindingSeverity, Location};
use trefoil_template::{HoleKind, Value};

/// The rule for a secret in the input or in a prepared answer.
pub const IN_INPUT: &str = "secret-in-input";

/// The secrets in the input of a program's entry, each at the declaration of its input, or at the flow.
pub fn in_input(program: &Program, seen: &HiddenValues, input: &Value) -> Vec<Diagnostic> {
    let flow = program.entry_flow();
    let mut findings = Vec::new();
    for found in seen.secrets_in(input) {
        let (mut what, mut at) = ("the input".to_owned(), flow.origin);
        if let Some(name) = &found.member {
            what = format!("the input `{name}`");
            if let Some(field) = flow.intake.fields.iter().find(|field| *field.name == **name) {
                at = field.origin;
            }
        }
        findings.push(error(&found, (&what, "would be stored with the run"), Some(at)));
    }
    findings
}

/// Environment variables whose values contain a secret or the key of a provider, where a run would show them. Their names do not
/// tell, so the checks before a run do not know of them.
pub fn by_value(
    prepared: &PreparedProgram,
    secrets: &dyn Secrets,
    keys: &[Secret],
    credentials: &[Arc<str>],
) -> Vec<Diagnostic> {
    if prepared.holes.iter().all(|(kind, _)| *kind != HoleKind::Env) {
        return Vec::new();
    }
    let seen = HiddenValues::default();
    seen.hide_secrets(keys);
    seen.protect_variables(credentials.iter().cloned());
    seen.hide_holes(secrets, &prepared.holes);
    let found = seen.secret_variables(secrets, &prepared.holes);
    let variables: Vec<_> = found.iter().map(|one| (one.name.clone(), one.contains.clone())).collect();
    let is_key = |name: &str| found.iter().any(|one| *one.name == *name && one.is_key);
    trefoil_check::leaks_of(&prepared.program, &variables, &is_key)
}

/// The secrets in prepared answers to human steps.
pub fn in_answers(seen: &HiddenValues, answers: &[(String, String)]) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for (step, answer) in answers {
        let what = format!("the answer to `{step}`");
        for found in seen.secrets_in(&answer.as_str().into()) {
            findings.push(error(&found, (&what, "would be stored as `***`"), None));
        }
    }
    findings
}

fn error(found: &SecretFound, (what, then): (&str, &str), at: Option<Location>) -> Diagnostic {
    let (message, help) = match &found.name {
        Some((HoleKind::Env, name)) => (
            format!("{what} contains the value of `env.{name}`, which counts as a secret, and {then}"),
            format!("use another input, and write `{{{{env.{name}}}}}` in the manifest where the value is needed"),
        ),
        Some((HoleKind::Secret, name)) => (
            format!("{what} contains the value of the secret `{name}`, and {then}"),
            format!("use another input, and write `{{{{secrets.{name}}}}}` in the manifest where the value is needed"),
        ),
        None => (
            format!("{what} contains the key of a model provider, and {then}"),
            "use another input: the provider gets its key by itself".to_owned(),
        ),
    };
    let found = match at {
        Some(at) => Diagnostic::new_error(IN_INPUT, at, message),
        None => Diagnostic::without_location(IN_INPUT, FindingSeverity::Error, None, message),
    };
    found.with_help(help)
}
