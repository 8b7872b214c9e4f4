//! `--model`, shared by all commands that need models.

use clap::Args;
use trefoil::Engine;
use trefoil::internals::settings::Settings;
use trefoil_models::ModelOverride;

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
    pub fn apply(&self, engine: Engine, settings: &Settings) -> Engine {
        let engine = engine.placeholders(placeholders()).settings(settings.clone());
        self.models.iter().fold(engine, |engine, model| engine.model(model.clone()))
    }
    /// Whether the embedded model was requested.
    pub fn embedded(&self) -> bool {
        self.models.contains(&ModelOverride::Embedded)
    }
}

fn read(text: &str) -> Result<ModelOverride, String> {
    let read = text.parse::<ModelOverride>().map_err(|error| error.help.unwrap_or(error.message))?;
    read.unknown_provider().map_or(Ok(read), Err)
}

/// Whether this runs in CI.
fn ci() -> bool {
    std::env::var("CI").is_ok_and(|ci| !matches!(ci.trim(), "" | "0" | "false"))
}

fn terminal() -> bool {
    crate::output::is_result_shown() && crate::output::is_terminal()
}

/// Whether a person will see the notice about placeholder answers: output is a terminal, and this is not CI.
fn placeholders() -> bool {
    !ci() && terminal()
}

/// Why placeholder answers must be requested explicitly here; empty if they are the default without a configured
/// provider.
pub fn unasked() -> &'static str {
    match (ci(), terminal()) {
        (true, _) => " (with `CI` set, they are never used automatically)",
        (false, false) => " (without a terminal, they are never used automatically)",
        (false, true) => "",
    }
}
