//! What the models of a run cost: the operator's prices, else the table of list prices.

use trefoil_ir::Program;
use trefoil_models::plan::models_used;
use trefoil_prices::{Price, listed};

use super::AnswersFrom;
use crate::settings::Settings;

const DAY_MS: u64 = 86_400_000;

/// The prices of the models that a program may ask, by `PROVIDER:NAME`, each once. Those of which nobody knows the price are
/// missing. `now`: milliseconds since 1970-01-01 UTC.
pub fn of(program: &Program, from: &AnswersFrom, settings: &Settings, now: u64) -> Vec<(String, Price)> {
    let mut all: Vec<(String, Price)> = Vec::new();
    for (_, model) in models_used(program) {
        let (provider, name) = (model.provider.as_deref(), &*model.name);
        let full = provider.map_or_else(|| name.to_owned(), |provider| format!("{provider}:{name}"));
        if all.iter().any(|(known, _)| *known == full) {
            continue;
        }
        let said = settings.prices.iter().rev().find(|(of, _)| *of == full).map(|(_, price)| price.clone());
        let price = match from {
            // Made here, or read from a file.
            AnswersFrom::Embedded | AnswersFrom::Script(_) => Some(Price::free()),
            // An embedder's provider may call anything under these names.
            AnswersFrom::Provider => said,
            AnswersFrom::One(_) | AnswersFrom::AsWritten => {
                said.or_else(|| listed(provider.unwrap_or_default(), name, now / DAY_MS))
            }
        };
        all.extend(price.map(|price| (full, price)));
    }
    all
}
