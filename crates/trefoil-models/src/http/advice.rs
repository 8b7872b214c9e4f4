//! Help for a provider's errors whose text says more than their status.

use trefoil_runtime::ModelErrorKind;

use crate::vendors::vendor;

/// Parts of texts and codes in lower case, and the problem that they indicate.
const SAYS: &[(&str, About)] = &[
    ("context_length_exceeded", About::Length),
    ("maximum context length", About::Length),
    ("prompt is too long", About::Length),
    ("context window", About::Length),
    ("too many tokens", About::Length),
    ("maximum number of tokens", About::Length),
    ("exceeds the context length", About::Length),
    ("insufficient_quota", About::Credit),
    ("exceeded your current quota", About::Credit),
    ("credit balance is too low", About::Credit),
    ("model_not_found", About::Model),
    ("invalid_api_key", About::Key),
    ("incorrect api key", About::Key),
    ("api key not valid", About::Key),
];

#[derive(Clone, Copy)]
enum About {
    Length,
    Credit,
    Model,
    Key,
    Address,
}

/// Help for an error response with this status and body.
pub(super) fn of(provider: &str, kind: ModelErrorKind, body: &str) -> Option<String> {
    let ModelErrorKind::Status(status) = kind else { return None };
    let body = body.to_lowercase();
    let said = SAYS.iter().find(|(part, _)| body.contains(part)).map(|(_, about)| *about);
    let about = match (status, said) {
        (400..=429, Some(about)) => about,
        (401, None) => About::Key,
        // If the response is not the protocol's JSON, the address is probably wrong.
        (404 | 405, None) if !body.trim_start().starts_with('{') => About::Address,
        (404, None) => About::Model,
        (413, None) => About::Length,
        _ => return None,
    };
    Some(match about {
        About::Length => "pass less text to the step, or choose a model with a larger context window".to_owned(),
        About::Credit => "the account of this key has no credit left; check it with the provider".to_owned(),
        About::Address => match vendor(provider) {
            Some(vendor) => format!("check the base URL in `{}`", vendor.base_url_variable),
            None => "check the base URL".to_owned(),
        },
        About::Model if provider == "ollama" => {
            "download it with `ollama pull`, or choose another model; `trefoil doctor` lists the installed models"
                .to_owned()
        }
        About::Model => {
            "check the model's name, or choose another model; `trefoil doctor` compares it with the provider's list"
                .to_owned()
        }
        About::Key => match vendor(provider) {
            Some(vendor) => format!("check the key in `{}`", vendor.key_variable),
            None => "check the key".to_owned(),
        },
    })
}
