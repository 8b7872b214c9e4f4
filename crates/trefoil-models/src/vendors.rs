//! The known providers, one line each, and those that the operator declares. A new OpenAI-compatible provider needs only
//! a line here.

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::address::{AddressError, ProviderAddress};
use trefoil_runtime::locks::lock;

/// The protocol of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VendorProtocol {
    /// `POST {base}/chat/completions`, as OpenAI made it: <https://platform.openai.com/docs/api-reference/chat>.
    ChatCompletions(ChatQuirks),
    /// `POST {base}/responses`, OpenAI's newer API: <https://platform.openai.com/docs/api-reference/responses>.
    Responses {
        /// Appended to a base URL without a path.
        path: &'static str,
    },
    /// `POST {base}/v1/messages`, Anthropic's: <https://docs.anthropic.com/en/api/messages>.
    Messages,
    /// The provider's own API; it also has an OpenAI-compatible one.
    Own(ProprietaryApi, ChatQuirks),
}

/// APIs that only one provider has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProprietaryApi {
    /// `POST {base}/models/MODEL:generateContent`: <https://ai.google.dev/api/generate-content>.
    Gemini,
    /// `POST {base}/v2/chat`: <https://docs.cohere.com/v2/reference/chat>.
    Cohere,
    /// `POST {base}/api/chat`: <https://docs.ollama.com/api/chat>.
    Ollama,
}

/// Selects the API of a provider that has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VendorApi {
    /// Chat completions.
    Chat,
    /// Responses.
    Responses,
}

impl VendorApi {
    /// Parses its name in settings.
    pub fn parse_name(name: &str) -> Option<Self> {
        match name {
            "chat" => Some(Self::Chat),
            "responses" => Some(Self::Responses),
            _ => None,
        }
    }
}

impl VendorProtocol {
    /// The protocol for this API; `None` if the provider has only one API.
    pub fn with_api(self, api: VendorApi) -> Option<Self> {
        match (self, api) {
            (Self::ChatCompletions(quirks), VendorApi::Responses) => Some(Self::Responses { path: quirks.path }),
            (Self::ChatCompletions(_), VendorApi::Chat) | (Self::Responses { .. }, VendorApi::Responses) => Some(self),
            (Self::Own(_, quirks), VendorApi::Chat) => Some(Self::ChatCompletions(quirks)),
            (Self::Responses { .. }, VendorApi::Chat) | (Self::Messages, _) | (Self::Own(..), VendorApi::Responses) => {
                None
            }
        }
    }

    /// The protocol at this address: if its path ends like the compatible API's, that API is used.
    pub fn for_address(self, address: &ProviderAddress) -> Self {
        let path = address.as_url().path().trim_end_matches('/');
        match self {
            Self::Own(_, quirks) if path.ends_with(quirks.path) => Self::ChatCompletions(quirks),
            other => other,
        }
    }

    /// Its name in lists.
    pub fn name(self) -> &'static str {
        match self {
            Self::ChatCompletions(_) => "chat-completions",
            Self::Responses { .. } => "responses",
            Self::Messages => "messages",
            Self::Own(ProprietaryApi::Gemini, _) => "generate-content",
            Self::Own(ProprietaryApi::Cohere, _) => "cohere-chat",
            Self::Own(ProprietaryApi::Ollama, _) => "ollama-chat",
        }
    }
}

/// Deviations of an OpenAI-compatible server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatQuirks {
    /// The name of the seed parameter.
    pub seed: &'static str,
    /// Supports `response_format: json_schema`. If not, `json_object` is used, and the schema is sent as text.
    pub json_schema: bool,
    /// Reports the usage of a stream only on request (`stream_options`). Others always report it, and some reject the
    /// option.
    pub stream_options: bool,
    /// Appended to a base URL without a path. If the provider has its own API, a base URL with this path selects the
    /// compatible one.
    pub path: &'static str,
    /// Fields of a message with the model's thoughts, which must be sent back with its tool calls.
    pub thoughts: &'static [&'static str],
    /// Signs tool calls, and rejects calls without a signature.
    pub signs: bool,
    /// Audio is text next to its type, not an object with a format.
    pub plain_audio: bool,
}

/// A server that behaves like OpenAI's.
const PLAIN: ChatQuirks = ChatQuirks {
    seed: "seed",
    json_schema: true,
    stream_options: true,
    path: "",
    thoughts: &[],
    signs: false,
    plain_audio: false,
};
const UNASKED: ChatQuirks = ChatQuirks { stream_options: false, ..PLAIN };

/// A provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vendor {
    /// Its name in manifests and `--model`.
    pub name: &'static str,
    /// Its protocol.
    pub protocol: VendorProtocol,
    /// Its default address; `None` if the environment must set it.
    pub base_url: Option<&'static str>,
    /// The environment variable of its key.
    pub key_variable: &'static str,
    /// The environment variable of its address.
    pub base_url_variable: &'static str,
    /// Works without a key. Setting its address in the environment is then enough to enable it.
    pub key_optional: bool,
}

/// All providers, in the order they are shown.
pub const VENDORS: &[Vendor] = &[
    chat("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL", PLAIN),
    Vendor {
        name: "anthropic",
        protocol: VendorProtocol::Messages,
        base_url: Some("https://api.anthropic.com"),
        key_variable: "ANTHROPIC_API_KEY",
        base_url_variable: "ANTHROPIC_BASE_URL",
        key_optional: false,
    },
    Vendor {
        key_optional: true,
        ..own(
            "ollama",
            "http://localhost:11434",
            "OLLAMA_API_KEY",
            "OLLAMA_BASE_URL",
            VendorProtocol::Own(ProprietaryApi::Ollama, ChatQuirks { path: "/v1", ..PLAIN }),
        )
    },
    Vendor {
        base_url: None,
        key_optional: true,
        ..chat("openai-compatible", "", "OPENAI_COMPATIBLE_API_KEY", "OPENAI_COMPATIBLE_BASE_URL", PLAIN)
    },
    chat(
        "mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        "MISTRAL_BASE_URL",
        ChatQuirks { seed: "random_seed", plain_audio: true, ..UNASKED },
    ),
    chat("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "GROQ_BASE_URL", PLAIN),
    chat(
        "deepseek",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
        "DEEPSEEK_BASE_URL",
        // <https://api-docs.deepseek.com/guides/thinking_mode>
        ChatQuirks { json_schema: false, thoughts: &["reasoning_content"], ..PLAIN },
    ),
    chat(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        "OPENROUTER_BASE_URL",
        // <https://openrouter.ai/docs/use-cases/reasoning-tokens>
        ChatQuirks { thoughts: &["reasoning_details"], ..PLAIN },
    ),
    chat("xai", "https://api.x.ai/v1", "XAI_API_KEY", "XAI_BASE_URL", UNASKED),
    chat("perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY", "PERPLEXITY_BASE_URL", UNASKED),
    chat("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY", "TOGETHER_BASE_URL", PLAIN),
    // The compatible API: <https://ai.google.dev/gemini-api/docs/openai>.
    own(
        "google",
        "https://generativelanguage.googleapis.com",
        "GOOGLE_GENERATIVE_AI_API_KEY",
        "GOOGLE_GENERATIVE_AI_BASE_URL",
        VendorProtocol::Own(ProprietaryApi::Gemini, ChatQuirks { path: "/v1beta/openai", signs: true, ..PLAIN }),
    ),
    // The compatible API: <https://docs.cohere.com/docs/compatibility-api>.
    own(
        "cohere",
        "https://api.cohere.com",
        "COHERE_API_KEY",
        "COHERE_BASE_URL",
        VendorProtocol::Own(ProprietaryApi::Cohere, ChatQuirks { path: "/compatibility/v1", ..UNASKED }),
    ),
    // Every customer has a separate address: `https://RESOURCE.openai.azure.com`; the model is the name of a
    // deployment. The `v1` API accepts the key like OpenAI's and needs no `api-version`.
    Vendor {
        base_url: None,
        ..chat("azure", "", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_BASE_URL", ChatQuirks { path: "/openai/v1", ..PLAIN })
    },
];

impl Vendor {
    /// Parses and validates an address of this provider.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with it.
    pub fn parse_address(&self, text: &str) -> Result<ProviderAddress, AddressError> {
        let address = ProviderAddress::parse(text)?;
        // The address in the portal and in SDKs that use an older API.
        if self.name == "azure" && address.as_url().path().contains("/openai/deployments") {
            return Err(AddressError::Deployment);
        }
        Ok(address)
    }
}

/// The names and variables of declared providers. They live as long as the process, like those of the known ones.
/// Each is kept only once, so that reading settings again needs no memory.
static DECLARED: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

/// A text that lives as long as the process.
fn keep(declared: &mut BTreeSet<&'static str>, text: &str) -> &'static str {
    if let Some(kept) = declared.get(text) {
        return kept;
    }
    let kept: &'static str = Box::leak(text.to_owned().into_boxed_str());
    declared.insert(kept);
    kept
}

/// An OpenAI-compatible provider that the operator declares. Its key is in this variable; `None`: it gets no key.
pub(crate) fn declare_vendor(name: &str, key_variable: Option<&str>) -> Vendor {
    let mut declared = lock(&DECLARED);
    let mut keep = |text: &str| keep(&mut declared, text);
    Vendor {
        name: keep(name),
        protocol: VendorProtocol::ChatCompletions(PLAIN),
        base_url: None,
        // No variable has an empty name.
        key_variable: key_variable.map(&mut keep).unwrap_or_default(),
        base_url_variable: keep(&format!("providers.{name}.base_url")),
        key_optional: key_variable.is_none(),
    }
}

/// The provider with this name.
pub fn find_vendor(name: &str) -> Option<&'static Vendor> {
    VENDORS.iter().find(|v| v.name == name)
}

const fn chat(
    name: &'static str,
    base_url: &'static str,
    key_variable: &'static str,
    base_url_variable: &'static str,
    quirks: ChatQuirks,
) -> Vendor {
    own(name, base_url, key_variable, base_url_variable, VendorProtocol::ChatCompletions(quirks))
}

const fn own(
    name: &'static str,
    base_url: &'static str,
    key_variable: &'static str,
    base_url_variable: &'static str,
    protocol: VendorProtocol,
) -> Vendor {
    Vendor { name, protocol, base_url: Some(base_url), key_variable, base_url_variable, key_optional: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_variables_are_unique() {
        for (i, a) in VENDORS.iter().enumerate() {
            for b in &VENDORS[i + 1..] {
                assert_ne!(a.name, b.name);
                assert_ne!(a.key_variable, b.key_variable, "{} and {}", a.name, b.name);
            }
        }
    }
}
