//! What can be called from here: the providers that are set up, the operator's aliases, and the models that the workflows at a path
//! ask for. What `trefoil models` lists and `trefoil doctor` tries.

use std::path::Path;
use std::sync::Arc;

use trefoil::Engine;
use trefoil::internals::settings::{self, FoundSettings};
use trefoil::internals::{LoadOptions, door, programs};
use trefoil::models::{Availability, Configured, ModelOverride, Registry};
use trefoil_ir::Program;
use trefoil_models::plan::models_used;
use trefoil_prices::{Price, window};

use crate::args::{DialectArg, PathArgs};
use crate::{exit, output};

/// All of it.
pub struct Offer {
    /// Every provider, set up or not.
    pub providers: Vec<Configured>,
    /// In the order of the files.
    pub aliases: Vec<Alias>,
    /// By name.
    pub models: Vec<UsedModel>,
    /// With the operator's addresses.
    pub registry: Registry,
    /// The operator's files.
    pub found: FoundSettings,
}

/// A name that stands for models.
pub struct Alias {
    /// The alias, agent or step.
    pub name: String,
    /// As `PROVIDER:NAME`, the first choice first.
    pub models: Vec<String>,
}

/// A model that a workflow asks for.
pub struct UsedModel {
    /// `PROVIDER:NAME`, or an alias that nobody has mapped.
    pub name: String,
    /// Who asks for it.
    pub agents: Vec<String>,
    /// What it costs.
    pub price: Option<Price>,
    /// Its context window in tokens.
    pub window: Option<u64>,
    /// Why it cannot be called.
    pub problem: Option<String>,
}

impl UsedModel {
    /// None: an alias.
    pub fn provider(&self) -> Option<&str> {
        self.name.split_once(':').map(|(provider, _)| provider)
    }
}

impl Offer {
    /// What there is for the workflows at a path; else somebody has been told why not, and the exit code.
    pub fn find(path: &Path, no_config: bool, dialect: &DialectArg, paths: &PathArgs) -> Result<Self, u8> {
        if !door::is_there(path) {
            output::refuse(&format!("`{}` does not exist", path.display()), None);
            return Err(exit::NOT_STARTED);
        }
        let found = settings::find(path, no_config);
        if !found.findings.is_empty() {
            output::say(output::diagnostics(&found.findings, &found.files).trim_end());
        }
        let options = LoadOptions {
            dialect: dialect.dialect.map(|d| d.0),
            allowed: paths.allow_path.iter().chain(&found.settings.allowed).cloned().collect(),
            ..LoadOptions::default()
        };
        let registry = found.settings.registry(Registry::from_env());
        let engine = Engine::new().registry(registry.clone()).settings(found.settings.clone());
        let mut models: Vec<UsedModel> = Vec::new();
        for (program, entries) in programs(path, &options) {
            let mut program = Arc::new(program);
            // What keeps models from being called does not keep them from being listed.
            let _ = engine.aim(&mut program);
            for entry in entries {
                Arc::make_mut(&mut program).entry = entry;
                add_models(&mut models, &program, &engine, &registry);
            }
        }
        models.sort_by(|a, b| a.name.cmp(&b.name));
        let aliases = found.settings.models.iter().filter_map(alias).collect();
        Ok(Self { providers: registry.configured(), aliases, models, registry, found })
    }

    /// Whether somebody has set a provider up, or wants to call it.
    pub fn is_of_interest(&self, one: &Configured) -> bool {
        let wanted = |name: &str| name.split_once(':').is_some_and(|(provider, _)| provider == one.provider);
        let aliases = self.aliases.iter().flat_map(|alias| &alias.models);
        !matches!(one.availability, Availability::NoKey { .. })
            || one.has_key
            || self.models.iter().map(|model| &model.name).chain(aliases).any(|name| wanted(name))
    }
}

fn add_models(models: &mut Vec<UsedModel>, program: &Program, engine: &Engine, registry: &Registry) {
    let prices = engine.prices(program, &trefoil::AnswersFrom::AsWritten);
    for (agent, model) in models_used(program) {
        let name = match &model.provider {
            Some(provider) => format!("{provider}:{}", model.name),
            None => model.name.to_string(),
        };
        match models.iter_mut().find(|known| known.name == name) {
            Some(known) if known.agents.iter().any(|known| **known == *agent) => {}
            Some(known) => known.agents.push(agent.to_string()),
            None => {
                let provider = model.provider.as_deref();
                models.push(UsedModel {
                    agents: vec![agent.to_string()],
                    price: prices.iter().find(|(of, _)| *of == name).map(|(_, price)| price.clone()),
                    window: provider.and_then(|provider| window(provider, &model.name)),
                    problem: match provider {
                        Some(provider) => registry.problem(provider),
                        None => Some(format!("it is an alias without a model; set it in `[models]`, or use `--model {name}=provider:name`")),
                    },
                    name,
                });
            }
        }
    }
}

fn alias(model: &ModelOverride) -> Option<Alias> {
    match model {
        ModelOverride::For { name, provider, model } => {
            Some(Alias { name: name.to_string(), models: vec![format!("{provider}:{model}")] })
        }
        _ => None,
    }
}
