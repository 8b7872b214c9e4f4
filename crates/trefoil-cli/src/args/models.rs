//! `--model`, shared by all commands that need models.

use clap::Args;
use trefoil::Engine;
use trefoil_ir::Program;
use trefoil_models::ModelOverride;
use trefoil_models::plan::has_name;
use trefoil_project::settings::Settings;

#[cfg(feature = "mcp")]
use crate::output;
use crate::placeholders::placeholders_allowed;

/// Which models answer.
#[derive(Args, Clone, Default)]
pub struct ModelArgs {
    /// Model to use for every call: embedded, scripted=FILE, or PROVIDER:NAME; or NAME=PROVIDER:NAME for one alias, agent or
    /// step (repeatable)
    #[arg(long = "model", value_name = "MODEL", value_parser = read)]
    models: Vec<ModelOverride>,
}

impl ModelArgs {
    /// Applies the choice to an engine.
    pub fn configure_engine(&self, engine: Engine, settings: &Settings) -> Engine {
        self.choose_models(engine.allow_placeholders(placeholders_allowed()).settings(settings.clone()))
    }
    /// Applies only the choice.
    pub fn choose_models(&self, engine: Engine) -> Engine {
        let mut engine = engine;
        for model in &self.models {
            engine = engine.model(model.clone());
        }
        engine
    }
    /// Those of them that concern one of several programs: the models of names that it does not use are for others. A name that none
    /// uses concerns all of them, so that it is reported.
    pub fn of_program(&self, program: &Program, all: &[&Program]) -> Self {
        let concerns = |model: &&ModelOverride| match model {
            ModelOverride::For { name, .. } => {
                has_name(program, name) || !all.iter().any(|other| has_name(other, name))
            }
            _ => true,
        };
        Self { models: self.models.iter().filter(concerns).cloned().collect() }
    }
    /// Reports a name for which a model was chosen, and which none of several programs has.
    #[cfg(feature = "mcp")]
    pub fn check_names(&self, all: &[&Program]) -> Result<(), u8> {
        for model in &self.models {
            if let ModelOverride::For { name, .. } = model
                && !all.iter().any(|program| has_name(program, name))
            {
                let why = format!("no flow has an alias, agent or step named `{name}`");
                return Err(output::report_not_started(&why, Some("remove this `--model`, or correct its name")));
            }
        }
        Ok(())
    }
    /// The models that are to be used for every call.
    pub fn every_call_models(&self) -> impl Iterator<Item = (&str, &str)> {
        self.models.iter().filter_map(|model| match model {
            ModelOverride::Named { provider, model } => Some((&**provider, &**model)),
            _ => None,
        })
    }
    /// The first model that was chosen, for every call or for a name, as it is written.
    pub fn first_choice(&self) -> Option<String> {
        for model in &self.models {
            match model {
                ModelOverride::Named { provider, model } => return Some(format!("{provider}:{model}")),
                ModelOverride::For { name, provider, model, .. } => return Some(format!("{name}={provider}:{model}")),
                ModelOverride::Embedded | ModelOverride::Scripted(_) => {}
            }
        }
        None
    }
    /// Whether a real model may be called.
    pub fn is_real(&self) -> bool {
        !self.models.iter().any(|model| matches!(model, ModelOverride::Embedded | ModelOverride::Scripted(_)))
    }
    /// Whether the embedded model was requested.
    pub fn is_embedded(&self) -> bool {
        self.models.contains(&ModelOverride::Embedded)
    }
}

fn read(text: &str) -> Result<ModelOverride, String> {
    let read = text.parse::<ModelOverride>().map_err(|error| error.help.unwrap_or(error.message))?;
    match read.unknown_provider() {
        Some(why) => Err(why),
        None => Ok(read),
    }
}
