//! Compares the table with the crate that it was made from: the same cost for every model of every provider in the
//! table.

use std::time::{Duration, SystemTime};

use genai_prices::{Calculator, PriceRequest, Usage, UsageKey};
use trefoil_ir::prices::{CallTokens, list_price, table_source};

/// Our provider names and the oracle's.
const PROVIDERS: &[(&str, &str)] = &[
    ("anthropic", "anthropic"),
    ("cohere", "cohere"),
    ("deepseek", "deepseek"),
    ("google", "google"),
    ("groq", "groq"),
    ("mistral", "mistral"),
    ("openai", "openai"),
    ("openrouter", "openrouter"),
    ("perplexity", "perplexity"),
    ("together", "together"),
    ("xai", "x-ai"),
];
/// Models whose price depends on the time of day. The table has the most expensive one.
const BY_THE_HOUR: &[&str] =
    &["deepseek-chat", "deepseek-flash", "deepseek-reasoner", "deepseek-v4-flash", "deepseek-v4-pro"];
/// The cost of these models cannot be computed from tokens; the oracle ignores the parts that it does not know.
const NOT_BY_TOKENS: &str = "sonar-deep-research";

const CALLS: [CallTokens; 5] = [
    CallTokens { input: 1, output: 1, cache_read: 0, cache_write: 0 },
    CallTokens { input: 1_234, output: 567, cache_read: 0, cache_write: 0 },
    CallTokens { input: 50_000, output: 1_000, cache_read: 20_000, cache_write: 10_000 },
    CallTokens { input: 200_001, output: 9, cache_read: 1, cache_write: 0 },
    CallTokens { input: 1_000_000, output: 100_000, cache_read: 900_000, cache_write: 50_000 },
];

/// The oracle's cost in micro-dollars.
fn theirs(provider: &str, model: &str, tokens: CallTokens, at: SystemTime) -> Option<f64> {
    let n = |n: u64| n as f64;
    let usage = Usage::from([
        (UsageKey::INPUT_TOKENS, n(tokens.input)),
        (UsageKey::OUTPUT_TOKENS, n(tokens.output)),
        (UsageKey::CACHE_READ_TOKENS, n(tokens.cache_read)),
        (UsageKey::CACHE_WRITE_TOKENS, n(tokens.cache_write)),
    ]);
    let request = PriceRequest::new(model, &usage).with_provider_id(provider).with_timestamp(at);
    Calculator::bundled().calculate(&request).ok().map(|price| price.total_price * 1e6)
}

fn on(day: u64, hour: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(day * 86_400 + hour * 3_600)
}

/// The names of a provider's models, and names that only rules match. The oracle's rules for Google also lead to other
/// providers' tables; ours do not.
fn names(provider: &str) -> Vec<String> {
    let info = Calculator::bundled().providers().filter(|p| p.id() == provider);
    let ids: Vec<String> = info.flat_map(|p| p.models().map(|m| m.id().to_owned()).collect::<Vec<_>>()).collect();
    let ends = ["", "-20260115", "-2026-01-15", "-latest", ":free", "@20260115"];
    let ends = if provider == "google" { &ends[..1] } else { &ends[..] };
    let mut names: Vec<String> = ids.iter().flat_map(|id| ends.iter().map(move |end| format!("{id}{end}"))).collect();
    names.extend(ids.iter().map(|id| id.to_uppercase()));
    names.push("no-such-model-at-all".to_owned());
    names
}

#[test]
fn what_nobody_lists_is_unknown() {
    for (provider, model) in
        [("ollama", "llama3.3"), ("openai-compatible", "gpt-5"), ("openai", "my-model"), ("", ""), ("@openai", "gpt-5")]
    {
        assert_eq!(list_price(provider, model, 20_780), None, "{provider}:{model}");
    }
}

#[test]
fn the_table_says_where_it_is_from() {
    let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).unwrap();
    let version = lock.split("name = \"genai-prices\"\nversion = \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(table_source().starts_with(&format!("genai-prices {version}, 20")), "{}", table_source());
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn every_price_is_that_of_the_source() {
        let (mut held, mut unknown, mut wrong) = (0, 0, Vec::new());
        // Days before, between and after price changes, and a future one.
        for day in [20_500, 20_740, 20_780, 20_900] {
            for (ours, provider) in PROVIDERS {
                for name in names(provider) {
                    let lower = name.to_lowercase();
                    let noon = |tokens| theirs(provider, &name, tokens, on(day, 12));
                    let Some(price) = list_price(ours, &name, day) else {
                        unknown += 1;
                        // Embeddings have no price for output tokens, and models that are not priced by tokens have no
                        // price at all.
                        let out = noon(CallTokens { output: 1_000, ..CallTokens::default() });
                        if out.is_some_and(|cost| cost > 0.0) && !lower.contains(NOT_BY_TOKENS) {
                            wrong.push(format!("{ours}:{name} on {day}: unknown here, {out:?} there"));
                        }
                        continue;
                    };
                    for tokens in CALLS {
                        let by_the_hour = *provider == "deepseek" && BY_THE_HOUR.iter().any(|m| lower.starts_with(m));
                        let expected = match by_the_hour {
                            true => (0..24)
                                .filter_map(|hour| theirs(provider, &name, tokens, on(day, hour)))
                                .reduce(f64::max),
                            false => noon(tokens),
                        };
                        let cost = price.call_cost(tokens) as f64;
                        held += 1;
                        // Our cost is rounded up, and some rates are finer than a micro-dollar for a million tokens.
                        if expected.is_none_or(|expected| cost < expected - 1e-3 || cost > expected + 2.0) {
                            wrong.push(format!("{ours}:{name} on {day}: {cost} here, {expected:?} there"));
                        }
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
        assert!(held > 45_000 && unknown > 500, "{held} prices held, {unknown} unknown");
    }
}
