//! `--model`, the same for every command that is about a run.

use std::io::IsTerminal as _;

use clap::Args;
use trefoil::EngineBuilder;
use trefoil::models::ModelOverride;
use trefoil::settings::Settings;

/// Which models answer.
#[derive(Args)]
pub struct ModelArgs {
    /// Model to use for every call: embedded, scripted=FILE, or PROVIDER:NAME; or NAME=PROVIDER:NAME for one alias, agent or
    /// step (repeatable)
    #[arg(long = "model", value_name = "MODEL", value_parser = read)]
    models: Vec<ModelOverride>,
}

impl ModelArgs {
    /// Tells an engine.
    pub fn apply(&self, builder: EngineBuilder, settings: &Settings) -> EngineBuilder {
        let builder = builder.placeholders(placeholders()).settings(settings.clone());
        self.models.iter().fold(builder, |builder, model| builder.model(model.clone()))
    }
    /// Whether the embedded model was asked for.
    pub fn embedded(&self) -> bool {
        self.models.contains(&ModelOverride::Embedded)
    }
}

fn read(text: &str) -> Result<ModelOverride, String> {
    text.parse::<ModelOverride>().map_err(|error| error.help.unwrap_or(error.message))
}

/// Whether somebody looks on who sees that answers are placeholders: a person at a terminal, not a build server.
fn placeholders() -> bool {
    let ci = std::env::var("CI").is_ok_and(|ci| !matches!(ci.trim(), "" | "0" | "false"));
    !ci && std::io::stdout().is_terminal() && std::io::stderr().is_terminal()
}
