//! What the models of a run cost: the operator's prices, else the table of list prices.

use std::collections::BTreeSet;

use trefoil_ir::{Guard, Program, StepKind, walk};
use trefoil_machine::Flags;
use trefoil_models::plan::models_used;
use trefoil_prices::{Price, listed, window};
use trefoil_syntax::{Diagnostic, Severity};

use super::{AnswersFrom, BOUND, PRICE};
use crate::describe;
use crate::settings::Settings;

const DAY_MS: u64 = 86_400_000;

/// The prices of the models that a program may ask, by `PROVIDER:NAME`, each once. Those of which nobody knows the price are
/// missing. `now`: milliseconds since 1970-01-01 UTC.
pub fn of(program: &Program, from: &AnswersFrom, settings: &Settings, now: u64) -> Vec<(String, Price)> {
    let mut all: Vec<(String, Price)> = Vec::new();
    for full in named(program) {
        let said = settings.prices.iter().rev().find(|(of, _)| *of == full).map(|(_, price)| price.clone());
        let price = match from {
            // Made here, or read from a file.
            AnswersFrom::Embedded | AnswersFrom::Script(_) => Some(Price::free()),
            // An embedder's provider may call anything under these names.
            AnswersFrom::Provider => said,
            AnswersFrom::One(_) | AnswersFrom::AsWritten => {
                let listed = || full.split_once(':').and_then(|(provider, name)| listed(provider, name, now / DAY_MS));
                said.or_else(listed)
            }
        };
        all.extend(price.map(|price| (full, price)));
    }
    all
}

/// The context windows of the models that a program may ask, by `PROVIDER:NAME`, as far as they are known.
pub fn windows(program: &Program) -> Vec<(String, u64)> {
    let window = |full: String| {
        let (provider, name) = full.split_once(':')?;
        let tokens = window(provider, name)?;
        Some((full, tokens))
    };
    named(program).into_iter().filter_map(window).collect()
}

/// Whether a program has a limit on money that a run can reach.
pub fn limits_cost(program: &Program) -> bool {
    walk::reachable(program, program.entry).into_iter().any(|(flow, step)| {
        let budget = program.flow(flow).and_then(|f| f.budget.as_ref());
        let capped = match program.step(step).map(|s| &s.kind) {
            Some(StepKind::Model(call)) => call.guards.iter().any(|guard| matches!(guard, Guard::CostCap { .. })),
            _ => false,
        };
        capped || budget.is_some_and(|budget| budget.max_cost_micro.is_some())
    })
}

/// Why a limit on money cannot be held: the models whose prices are not known.
pub fn missing(program: &Program, prices: &[(String, Price)]) -> Vec<Diagnostic> {
    let unknown = named(program).into_iter().filter(|model| !prices.iter().any(|(known, _)| known == model));
    let one = |model: String| {
        let message = format!("a limit on money needs the price of every model, but that of `{model}` is not known");
        let help = format!(
            "set it in `config.toml`, in dollars for a million tokens: `[prices]` with `\"{model}\" = {{ input = 1.25, output = 10 }}`"
        );
        Diagnostic::nowhere(PRICE, Severity::Error, None, message).help(help)
    };
    unknown.map(one).collect()
}

/// Why a strict limit on money cannot be held: the calls of which nobody knows the most that they can cost.
pub fn unbounded(program: &Program, flags: &Flags) -> Vec<Diagnostic> {
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    for (_, id) in walk::reachable(program, program.entry) {
        let Some(step) = program.step(id) else { continue };
        let StepKind::Model(call) = &step.kind else { continue };
        let provider = call.model.provider.as_deref();
        let limited = call.parameters.max_tokens.is_some() && call.parameters.provider_options.is_none();
        let free = flags.price(provider, &call.model.name).is_some_and(Price::is_free);
        if limited || free || flags.window(provider, &call.model.name).is_some() || !told.insert(step.origin) {
            continue;
        }
        let name = describe::model(&call.model);
        let message = format!(
            "a strict limit on money needs the most that each call can cost, but the context window of `{name}` is not known"
        );
        let help = match call.parameters.provider_options {
            Some(_) => "what provider options add is not known; remove them, or use `--reserve estimate`",
            None => "set `max_tokens`, or use `--reserve estimate`",
        };
        found.push(Diagnostic::error(BOUND, step.origin, message).help(help));
    }
    found
}

/// The models that a program may ask, as `PROVIDER:NAME`, each once.
fn named(program: &Program) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (_, model) in models_used(program) {
        let provider = model.provider.as_deref().map(|provider| format!("{provider}:")).unwrap_or_default();
        let full = format!("{provider}{}", model.name);
        if !all.contains(&full) {
            all.push(full);
        }
    }
    all
}
