//! The configured providers, the operator's aliases, and the models that the workflows at a path use. `trefoil models`
//! lists them, and `trefoil doctor` tests them.

use std::sync::Arc;

use trefoil::Engine;
use trefoil::models::{ModelOverride, ProviderAvailability, ProviderConfiguration, Registry};
use trefoil_ir::prices::{ModelPrice, context_window};
use trefoil_ir::{Program, StepKind};
use trefoil_models::plan::models_used_from;
use trefoil_project::file_access;
use trefoil_project::load::{LoadOptions, load_programs};
use trefoil_project::settings::FoundSettings;
use trefoil_project::target_settings::target_settings;
use trefoil_view::model_name;

use crate::args::{ModelArgs, OptionalTargetArgs};
use crate::loading::load_with;
use crate::output;

/// Providers, aliases and models.
pub struct ModelCatalog {
    /// All providers, configured or not.
    pub providers: Vec<ProviderConfiguration>,
    /// Aliases, in the order of the files.
    pub aliases: Vec<ModelAlias>,
    /// Models, by name.
    pub models: Vec<CatalogModel>,
    /// The registry with the operator's addresses.
    pub registry: Registry,
    /// The operator's files.
    pub found: FoundSettings,
}

/// A name that stands for models.
pub struct ModelAlias {
    /// The alias, agent or step.
    pub name: String,
    /// Its models as `PROVIDER:NAME`, the first choice first.
    pub models: Vec<String>,
}

/// A model that a workflow uses.
pub struct CatalogModel {
    /// `PROVIDER:NAME`, or an alias that is not mapped.
    pub name: String,
    /// The agents that use it.
    pub agents: Vec<String>,
    /// Its price.
    pub price: Option<ModelPrice>,
    /// Its context window in tokens.
    pub window: Option<u64>,
    /// Why it cannot be called.
    pub problem: Option<String>,
}

impl CatalogModel {
    /// The provider; `None` for an alias.
    pub fn provider(&self) -> Option<&str> {
        let (provider, _) = self.name.split_once(':')?;
        Some(provider)
    }
}

impl ModelCatalog {
    /// Collects these for the workflows at a place. On failure, reports why and returns the exit code.
    pub fn for_target(place: &OptionalTargetArgs, chosen: &ModelArgs) -> Result<Self, u8> {
        let (target, options) = (place.parse_target(), place.load_options());
        if !file_access::path_exists(&target.path) {
            load_with(&target, &options)?;
        }
        let found = target_settings(&target, &options, place.read.no_config);
        if !found.findings.is_empty() {
            output::print_line(output::format_message_findings(&found.findings, &found.files).trim_end());
        }
        let mut allowed = options.allowed.clone();
        allowed.extend(found.settings.allowed.iter().cloned());
        let options = LoadOptions { allowed, supplied: found.settings.supplied_declarations(), ..options };
        let all = match &target.id {
            None => load_programs(&target.path, &options),
            Some(_) => {
                let program = Arc::unwrap_or_clone(load_with(&target, &options)?.program);
                let entry = program.entry;
                vec![(program, vec![entry])]
            }
        };
        let registry = found.settings.apply_to_registry(Registry::from_env());
        let engine = Engine::new().registry(registry.clone()).settings(found.settings.clone());
        let known: Vec<&Program> = all.iter().map(|(program, _)| program).collect();
        let mut models: Vec<CatalogModel> = Vec::new();
        for (program, entries) in &all {
            let chosen = chosen.of_program(program, &known);
            let mut program = Arc::new(program.clone());
            // Models that cannot be called are still listed.
            let answering = chosen
                .choose_models(engine.clone())
                .choose_models(&mut program)
                .unwrap_or_else(|_| trefoil::AnswersFrom::AsWritten.into());
            for entry in entries {
                for (agent, model) in models_used_from(&program, *entry) {
                    add(&mut models, &agent, model_name(&model), &engine, &registry);
                }
            }
            for (step, others) in &answering.fallbacks {
                let StepKind::Model(call) = &program.steps[*step].kind else { continue };
                for name in others.iter() {
                    add(&mut models, &call.speaker, name.to_string(), &engine, &registry);
                }
            }
        }
        models.sort_by(|a, b| a.name.cmp(&b.name));
        let aliases = found.settings.models.iter().filter_map(alias).collect();
        Ok(Self { providers: registry.list_configurations(), aliases, models, registry, found })
    }

    /// Whether a provider is configured or used.
    pub fn is_of_interest(&self, one: &ProviderConfiguration) -> bool {
        if one.has_key || !matches!(one.availability, ProviderAvailability::NoKey { .. }) {
            return true;
        }
        let is_wanted = |name: &String| matches!(name.split_once(':'), Some((provider, _)) if provider == one.provider);
        self.models.iter().any(|model| is_wanted(&model.name))
            || self.aliases.iter().any(|alias| alias.models.iter().any(is_wanted))
    }
}

fn add(models: &mut Vec<CatalogModel>, agent: &str, name: String, engine: &Engine, registry: &Registry) {
    if let Some(known) = models.iter_mut().find(|known| known.name == name) {
        if !known.agents.iter().any(|known| known == agent) {
            known.agents.push(agent.to_owned());
        }
        return;
    }
    let parts = name.split_once(':');
    let problem = match parts {
        Some((provider, _)) => registry.provider_problem(provider),
        None => {
            let set = format!("set it in `[models]`, or use `--model {name}=provider:name`");
            Some(format!("it is an alias without a model; {set}"))
        }
    };
    models.push(CatalogModel {
        agents: vec![agent.to_owned()],
        price: engine.model_price(&name),
        window: parts.and_then(|(provider, model)| context_window(provider, model)),
        problem,
        name,
    });
}

fn alias(model: &ModelOverride) -> Option<ModelAlias> {
    match model {
        ModelOverride::For { name, provider, model, others } => {
            let mut models = vec![format!("{provider}:{model}")];
            models.extend(others.iter().map(ToString::to_string));
            Some(ModelAlias { name: name.to_string(), models })
        }
        _ => None,
    }
}
