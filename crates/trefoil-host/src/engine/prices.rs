//! The prices of a run's models: the operator's, otherwise list prices.

use std::collections::BTreeSet;

use trefoil_ir::prices::{ModelPrice, context_window, list_price};
use trefoil_ir::{Guard, Program, StepKind, walk};
use trefoil_machine::Flags;
use trefoil_models::StepFallbacks;
use trefoil_models::plan::models_used;
use trefoil_syntax::{Diagnostic, FindingSeverity};

use super::{AnswerSource, AnswersFrom, BOUND, Engine, PRICE};
use trefoil_project::flow::Flow;
use trefoil_project::settings::Settings;
use trefoil_view::model_name;
use trefoil_view::plan::Plan;

const DAY_MS: u64 = 86_400_000;

impl Engine {
    /// Returns the current price of a model, written as `PROVIDER:NAME`.
    pub fn model_price(&self, model: &str) -> Option<ModelPrice> {
        current_price(model, &self.parts.settings, self.parts.clock().wall_ms())
    }

    /// The plan of a flow with the models that answer here, and what they cost.
    pub fn plan_flow(&self, flow: &Flow) -> Plan {
        let loaded = flow.loaded_target();
        let mut program = loaded.program.clone();
        // A program that cannot run here can still be shown.
        let answering = self.choose_models(&mut program).unwrap_or_else(|_| AnswersFrom::AsWritten.into());
        let money = self.price_flags(&program, &answering);
        let called = self.callable_flows(&program);
        Plan::with_money(&program, &loaded.files, &money, &called).with_proofs(&loaded.proofs, &loaded.files)
    }
    /// Returns the current prices and the context windows of a program's models, and those that may answer instead.
    pub fn price_flags(&self, program: &Program, answering: &AnswerSource) -> Flags {
        let fallbacks = fallback_models(program, &answering.fallbacks);
        let prices =
            model_prices(program, &answering.from, &fallbacks, &self.parts.settings, self.parts.clock().wall_ms());
        Flags { windows: context_windows(program, &fallbacks), prices, fallbacks, ..Flags::default() }
    }
}

/// The operator's price of a model, otherwise the list price.
pub fn current_price(full: &str, settings: &Settings, now: u64) -> Option<ModelPrice> {
    if let Some(price) = operator_price(full, settings) {
        return Some(price);
    }
    let (provider, name) = full.split_once(':')?;
    list_price(provider, name, now / DAY_MS)
}

fn operator_price(full: &str, settings: &Settings) -> Option<ModelPrice> {
    let (_, price) = settings.prices.iter().rev().find(|(model, _)| model == full)?;
    Some(price.clone())
}

/// The models that may answer instead of another one, by `PROVIDER:NAME`.
pub type FallbackModels = [(String, Vec<String>)];

/// The fallbacks of a program's steps. A model used by several steps has the fallbacks of all of them.
pub fn fallback_models(program: &Program, fallbacks: &StepFallbacks) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for (id, others) in fallbacks {
        let StepKind::Model(call) = &program.steps[*id].kind else { continue };
        let own = model_name(&call.model);
        if !all.iter().any(|(model, _)| *model == own) {
            all.push((own.clone(), Vec::new()));
        }
        let Some((_, known)) = all.iter_mut().find(|(model, _)| *model == own) else { continue };
        for other in others.iter() {
            let other = other.to_string();
            if !known.contains(&other) {
                known.push(other);
            }
        }
    }
    all
}

/// The prices of the models that a program may call, by `PROVIDER:NAME`, without duplicates. Models of unknown price
/// are missing. `now`: milliseconds since 1970-01-01 UTC.
pub fn model_prices(
    program: &Program,
    from: &AnswersFrom,
    others: &FallbackModels,
    settings: &Settings,
    now: u64,
) -> Vec<(String, ModelPrice)> {
    let mut all: Vec<(String, ModelPrice)> = Vec::new();
    for full in callable_models(program, others) {
        let price = match from {
            // Answered locally, or from a file.
            AnswersFrom::Embedded | AnswersFrom::Script(_) => Some(ModelPrice::without_cost()),
            // An embedder's provider may call any model under these names.
            AnswersFrom::Provider => operator_price(&full, settings),
            AnswersFrom::One(_) | AnswersFrom::AsWritten => current_price(&full, settings, now),
        };
        if let Some(price) = price {
            all.push((full, price));
        }
    }
    all
}

/// The known context windows of the models that a program may call, by `PROVIDER:NAME`.
pub fn context_windows(program: &Program, others: &FallbackModels) -> Vec<(String, u64)> {
    let mut windows = Vec::new();
    for full in callable_models(program, others) {
        if let Some((provider, name)) = full.split_once(':')
            && let Some(tokens) = context_window(provider, name)
        {
            windows.push((full, tokens));
        }
    }
    windows
}

/// Whether a program has a cost limit that a run can reach.
pub fn limits_cost(program: &Program) -> bool {
    for (flow, step) in walk::reachable_steps(program, program.entry) {
        if let StepKind::Model(call) = &program.steps[step].kind
            && call.guards.iter().any(|guard| matches!(guard, Guard::CostCap { .. }))
        {
            return true;
        }
        if let Some(budget) = &program.flows[flow].budget
            && budget.max_cost_micro.is_some()
        {
            return true;
        }
    }
    false
}

/// Why a cost limit cannot be enforced: models of unknown price.
pub fn missing_prices(program: &Program, flags: &Flags) -> Vec<Diagnostic> {
    let mut missing = Vec::new();
    for model in callable_models(program, &flags.fallbacks) {
        if flags.prices.iter().any(|(known, _)| *known == model) {
            continue;
        }
        let message = format!("a cost limit needs the price of every model, but the price of `{model}` is unknown");
        let help = format!(
            "set it in `config.toml`, in dollars per million tokens: `[prices]` with `\"{model}\" = {{ input = 1.25, output = 10 }}`"
        );
        missing.push(Diagnostic::without_location(PRICE, FindingSeverity::Error, None, message).with_help(help));
    }
    missing
}

/// Why a strict cost limit cannot be enforced: calls of unknown maximum cost.
pub fn unbounded_calls(program: &Program, flags: &Flags) -> Vec<Diagnostic> {
    let mut reported = BTreeSet::new();
    let mut found = Vec::new();
    for (_, id) in walk::reachable_steps(program, program.entry) {
        let step = &program.steps[id];
        let StepKind::Model(call) = &step.kind else { continue };
        let provider = call.model.provider.as_deref();
        let limited = call.parameters.max_tokens.is_some() && call.parameters.provider_options.is_none();
        let mut all = flags.candidate_models(provider, &call.model.name);
        let unknown = all.find(|(_, price, window)| !price.is_some_and(ModelPrice::is_free) && window.is_none());
        let Some((name, ..)) = unknown else { continue };
        if limited || !reported.insert(step.origin) {
            continue;
        }
        let name = if name.is_empty() { model_name(&call.model) } else { name.to_owned() };
        let message = format!(
            "a strict cost limit needs the maximum cost of each call, but the context window of `{name}` is unknown"
        );
        let help = match call.parameters.provider_options {
            Some(_) => "provider options add an unknown amount; remove them, or use `--reserve estimate`",
            None => "set `max_tokens`, or use `--reserve estimate`",
        };
        found.push(Diagnostic::new_error(BOUND, step.origin, message).with_help(help));
    }
    found
}

/// The models that a program may call, as `PROVIDER:NAME`, without duplicates.
fn callable_models(program: &Program, others: &FallbackModels) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut add = |full: String| {
        if !all.contains(&full) {
            all.push(full);
        }
    };
    for (_, model) in models_used(program) {
        add(model_name(&model));
    }
    for (_, instead) in others {
        for full in instead {
            add(full.clone());
        }
    }
    all
}
