//! Help for a provider's errors whose text says more than their status.

use trefoil_runtime::ModelErrorKind;

use crate::vendors::find_vendor;

/// Parts of texts and codes in lower case, and the problem that they indicate.
const SAYS: &[(&str, ProviderErrorTopic)] = &[
    ("context_length_exceeded", ProviderErrorTopic::Length),
    ("maximum context length", ProviderErrorTopic::Length),
    ("prompt is too long", ProviderErrorTopic::Length),
    ("context window", ProviderErrorTopic::Length),
    ("too many tokens", ProviderErrorTopic::Length),
    ("maximum number of tokens", ProviderErrorTopic::Length),
    ("exceeds the context length", ProviderErrorTopic::Length),
    ("insufficient_quota", ProviderErrorTopic::Credit),
    ("exceeded your current quota", ProviderErrorTopic::Credit),
    ("credit balance is too low", ProviderErrorTopic::Credit),
    ("model_not_found", ProviderErrorTopic::Model),
    ("invalid_api_key", ProviderErrorTopic::Key),
    ("incorrect api key", ProviderErrorTopic::Key),
    ("api key not valid", ProviderErrorTopic::Key),
];

#[derive(Clone, Copy)]
enum ProviderErrorTopic {
    Length,
    Credit,
    Model,
    Key,
    Address,
}

/// Help for an error response with this status and body.
pub(super) fn find_advice(provider: &str, kind: ModelErrorKind, body: &str) -> Option<String> {
    let ModelErrorKind::Status(status) = kind else { return None };
    let body = body.to_lowercase();
    let said = SAYS.iter().find(|(part, _)| body.contains(part)).map(|(_, about)| *about);
    let about = match (status, said) {
        (400..=429, Some(about)) => about,
        (401, None) => ProviderErrorTopic::Key,
        // If the response is not the protocol's JSON, the address is probably wrong.
        (404 | 405, None) if !body.trim_start().starts_with('{') => ProviderErrorTopic::Address,
        (404, None) => ProviderErrorTopic::Model,
        (413, None) => ProviderErrorTopic::Length,
        _ => return None,
    };
    Some(match about {
        ProviderErrorTopic::Length => {
            "pass less text to the step, or choose a model with a larger context window".to_owned()
        }
        ProviderErrorTopic::Credit => {
            "the account of this key has no credit left; check it with the provider".to_owned()
        }
        ProviderErrorTopic::Address => match find_vendor(provider) {
            Some(vendor) => format!("check the base URL in `{}`", vendor.base_url_variable),
            None => "check the base URL".to_owned(),
        },
        ProviderErrorTopic::Model if provider == "ollama" => {
            "download it with `ollama pull`, or choose another model; `trefoil doctor` lists the installed models"
                .to_owned()
        }
        ProviderErrorTopic::Model => {
            "check the model's name, or choose another model; `trefoil doctor` compares it with the provider's list"
                .to_owned()
        }
        ProviderErrorTopic::Key => match find_vendor(provider) {
            Some(vendor) => format!("check the key in `{}`", vendor.key_variable),
            None => "check the key".to_owned(),
        },
    })
}
