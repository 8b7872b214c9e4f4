//! Which model a run uses: what `--model` says, else what the keys in the environment allow.
//!
//! Without `--model`, the embedded model answers exactly when no provider that the program uses has a key. Some with and
//! some without is an error that names those without: nobody wants half of a run to be made up.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use trefoil_ir::{ModelChoice, Program, StepKind, walk};

use crate::registry::{Availability, Registry, unknown};

/// A `--model` argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelOverride {
    /// `embedded`
    Embedded,
    /// `scripted=FILE`
    Scripted(PathBuf),
    /// `provider:name`: this model for every call.
    Named {
        /// Before the first colon.
        provider: Arc<str>,
        /// After it.
        model: Arc<str>,
    },
}

impl std::str::FromStr for ModelOverride {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        if text == "embedded" {
            return Ok(Self::Embedded);
        }
        if let Some(file) = text.strip_prefix("scripted=").filter(|f| !f.is_empty()) {
            return Ok(Self::Scripted(file.into()));
        }
        match text.split_once(':') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
                Ok(Self::Named { provider: provider.into(), model: model.into() })
            }
            _ => Err(PlanError::new(format!("`{text}` is not a model"))
                .help("write `embedded`, `scripted=FILE` or `provider:name`")),
        }
    }
}

/// What a run will use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelPlan {
    /// The embedded model.
    Embedded,
    /// Answers from a file.
    Scripted(PathBuf),
    /// This model for every call.
    Named {
        /// The provider.
        provider: Arc<str>,
        /// Its model.
        model: Arc<str>,
    },
    /// The model that each step names.
    AsWritten,
}

/// Why a run cannot start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError {
    /// One line.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl PlanError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None }
    }
    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for PlanError {}

/// The models that a run of this program can call, each once, in the order of the program.
pub fn models_used(program: &Program) -> Vec<&ModelChoice> {
    let mut all: Vec<&ModelChoice> = Vec::new();
    for (_, id) in walk::reachable(program, program.entry) {
        if let Some(StepKind::Model(call)) = program.step(id).map(|s| &s.kind)
            && !all.iter().any(|m| m.provider == call.model.provider && m.name == call.model.name)
        {
            all.push(&call.model);
        }
    }
    all
}

impl ModelPlan {
    /// What a run of this program will use.
    pub fn decide(program: &Program, registry: &Registry, chosen: Option<&ModelOverride>) -> Result<Self, PlanError> {
        let plan = Self::decide_for(&models_used(program), registry, chosen)?;
        if plan != Self::Embedded && !program.missing_agents.is_empty() {
            let names: Vec<String> = program.missing_agents.iter().map(|(name, _)| format!("`{name}`")).collect();
            let message = format!("these agents are not defined: {}", names.join(", "));
            return Err(PlanError::new(message)
                .help("put their manifests beside the workflow, or run with `--model embedded`, which can stand in for any agent"));
        }
        Ok(plan)
    }

    /// The same for these models.
    pub fn decide_for(
        used: &[&ModelChoice],
        registry: &Registry,
        chosen: Option<&ModelOverride>,
    ) -> Result<Self, PlanError> {
        match chosen {
            Some(ModelOverride::Embedded) => return Ok(Self::Embedded),
            Some(ModelOverride::Scripted(file)) => return Ok(Self::Scripted(file.clone())),
            Some(ModelOverride::Named { provider, model }) => {
                return match missing(registry, provider) {
                    Some(why) => Err(PlanError::new(why)),
                    None => Ok(Self::Named { provider: provider.clone(), model: model.clone() }),
                };
            }
            None => {}
        }
        let mut providers: Vec<&Arc<str>> = Vec::new();
        for provider in used.iter().filter_map(|m| m.provider.as_ref()) {
            if !providers.contains(&provider) {
                providers.push(provider);
            }
        }
        let has_key = |p: &&&Arc<str>| {
            matches!(registry.availability(p), Availability::Ready | Availability::Unavailable { key_set: true })
        };
        if !providers.iter().any(|p| has_key(&p)) {
            return Ok(Self::Embedded);
        }
        let mut wrong: Vec<String> = providers.iter().filter_map(|p| missing(registry, p)).collect();
        let aliases: Vec<String> =
            used.iter().filter(|m| m.provider.is_none()).map(|m| format!("`{}`", m.name)).collect();
        if !aliases.is_empty() {
            wrong.push(format!("{} names no provider", aliases.join(", ")));
        }
        if wrong.is_empty() {
            return Ok(Self::AsWritten);
        }
        Err(PlanError::new(wrong.join("; ")).help(
            "set what is missing, or choose one model for all calls with `--model provider:name` or `--model embedded`",
        ))
    }
}

/// What keeps this provider from being called.
fn missing(registry: &Registry, provider: &str) -> Option<String> {
    match registry.availability(provider) {
        Availability::Ready => None,
        Availability::NoKey { variable, or: None } => {
            Some(format!("`{provider}` needs `{variable}`, which is not set"))
        }
        Availability::NoKey { variable, or: Some(other) } => {
            Some(format!("`{provider}` needs `{variable}` or `{other}`, and neither is set"))
        }
        Availability::Unavailable { .. } => Some(format!("`{provider}` is not available in this version")),
        Availability::Unknown => Some(unknown(provider)),
    }
}

#[cfg(test)]
mod tests {
    use trefoil_syntax::{FileId, Location, Span};

    use super::*;

    fn choice(text: &str) -> ModelChoice {
        let (provider, name) = match text.split_once(':') {
            Some((p, n)) => (Some(p.into()), n),
            None => (None, text),
        };
        ModelChoice { provider, name: name.into(), origin: Location::new(FileId(0), Span::new(0, 0)) }
    }

    fn decide(used: &[&str], keys: &[&str], chosen: Option<&str>) -> Result<ModelPlan, String> {
        let used: Vec<ModelChoice> = used.iter().map(|m| choice(m)).collect();
        let registry = Registry::new(keys.iter().map(|k| ((*k).to_owned(), "x".to_owned())));
        let chosen = chosen.map(|c| c.parse::<ModelOverride>().unwrap());
        ModelPlan::decide_for(&used.iter().collect::<Vec<_>>(), &registry, chosen.as_ref()).map_err(|e| e.message)
    }

    #[test]
    fn without_any_key_the_embedded_model_answers() {
        assert_eq!(decide(&["openai:a", "anthropic:b", "smart"], &[], None), Ok(ModelPlan::Embedded));
        assert_eq!(decide(&["openai:a"], &["ANTHROPIC_API_KEY"], None), Ok(ModelPlan::Embedded), "a key nobody uses");
        assert_eq!(decide(&["smart"], &["OPENAI_API_KEY"], None), Ok(ModelPlan::Embedded));
        assert_eq!(decide(&[], &["OPENAI_API_KEY"], None), Ok(ModelPlan::Embedded));
    }

    #[test]
    fn with_all_keys_the_manifest_decides() {
        let keys = ["OPENAI_API_KEY", "OLLAMA_BASE_URL"];
        assert_eq!(decide(&["openai:a", "ollama:b"], &keys, None), Ok(ModelPlan::AsWritten));
    }

    #[test]
    fn some_keys_are_not_enough() {
        let error =
            decide(&["openai:a", "anthropic:b", "ollama:c", "google:d", "foo:e", "smart"], &["OPENAI_API_KEY"], None)
                .unwrap_err();
        assert_eq!(
            error,
            "`anthropic` needs `ANTHROPIC_API_KEY`, which is not set; `ollama` needs `OLLAMA_API_KEY` or \
             `OLLAMA_BASE_URL`, and neither is set; `google` is not available in this version; \
             there is no provider `foo`; `smart` names no provider"
        );
        let error = decide(&["google:d"], &["GOOGLE_GENERATIVE_AI_API_KEY"], None).unwrap_err();
        assert_eq!(error, "`google` is not available in this version");
    }

    #[test]
    fn the_argument_wins() {
        let named = |p: &str, m: &str| ModelPlan::Named { provider: p.into(), model: m.into() };
        assert_eq!(decide(&["openai:a"], &["OPENAI_API_KEY"], Some("embedded")), Ok(ModelPlan::Embedded));
        assert_eq!(
            decide(&["openai:a"], &["OPENAI_API_KEY"], Some("scripted=a=b.yaml")),
            Ok(ModelPlan::Scripted("a=b.yaml".into()))
        );
        let keys = ["OLLAMA_BASE_URL"];
        assert_eq!(decide(&["smart"], &keys, Some("ollama:llama3:8b")), Ok(named("ollama", "llama3:8b")));
        assert_eq!(
            decide(&["smart"], &[], Some("openai:gpt-x")),
            Err("`openai` needs `OPENAI_API_KEY`, which is not set".to_owned())
        );
        for wrong in ["", "gpt-4", ":x", "openai:", "scripted="] {
            assert!(wrong.parse::<ModelOverride>().is_err(), "{wrong}");
        }
    }
}
