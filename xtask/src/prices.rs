//! Generates the table of list prices from the data of the crate `genai-prices` (MIT). `trefoil-ir/src/prices/table.rs`
//! describes its format.

#![allow(clippy::indexing_slicing, reason = "a member that a JSON value does not have is null")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value as Json};

use crate::Outcome;

/// The providers of the table: their names in manifests and in the source. Azure's deployments have names chosen by the
/// customer, and local models have no list price.
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
/// Prices that our usage does not cover. A model with one of them has no price in the table.
const ASIDE: &[&str] = &["output_reasoning_mtok", "output_citation_mtok"];
const SOURCE: &str = "genai-prices";

/// Regenerates the table. `date` is the day on which this version of the source was published.
pub fn run(root: &Path, date: &str) -> Outcome {
    let (version, data) = source(root)?;
    let text = std::fs::read_to_string(&data).map_err(|e| format!("{}: {e}", data.display()))?;
    let all: Vec<Json> = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", data.display()))?;
    let mut table = format!("# {SOURCE} {version}, {date}\n");
    for (name, theirs) in PROVIDERS {
        let provider = all.iter().find(|p| p["id"] == *theirs).ok_or(format!("no provider `{theirs}`"))?;
        let _ = writeln!(table, "@{name}");
        for model in provider["models"].as_array().into_iter().flatten() {
            table.push_str(&line(model).map_err(|why| format!("{name}:{}: {why}", model["id"]))?);
        }
    }
    let path = root.join("crates/trefoil-ir/data/prices.txt");
    std::fs::write(&path, &table).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("{} models, {} bytes", table.lines().filter(|line| line.contains('\t')).count(), table.len());
    Ok(0)
}

/// The version and data of the source, as Cargo uses them for the tests.
fn source(root: &Path) -> Result<(String, PathBuf), String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root)
        .output()
        .map_err(|e| format!("cargo metadata: {e}"))?;
    let all: Json = serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    let found = all["packages"].as_array().into_iter().flatten().find(|p| p["name"] == SOURCE);
    let (version, manifest) =
        found.and_then(|p| Some((p["version"].as_str()?, p["manifest_path"].as_str()?))).ok_or("no such package")?;
    Ok((version.to_owned(), Path::new(manifest).with_file_name("data").join("prices.json")))
}

/// Formats a model's line. If the cost of a call does not depend on tokens alone, the line has `-` instead of prices:
/// without a line, rules for other models would match its name.
fn line(model: &Json) -> Result<String, String> {
    let mut rules = Vec::new();
    names(&model["match"], &mut rules)?;
    rules.extend(model["context_window"].as_u64().map(|tokens| format!("n{tokens}")));
    let rules = rules.join(" ");
    let one = [Json::from(Map::from_iter([("prices".to_owned(), model["prices"].clone())]))];
    let all = model["prices"].as_array().map_or(&one[..], Vec::as_slice);
    let mut columns: Vec<String> = Vec::new();
    for (n, conditional) in all.iter().enumerate() {
        let of = |one: &Json| one["prices"].as_object().cloned().ok_or("prices are not an object");
        let by_the_hour = |one: &&Json| one["constraint"].get("start_time").is_some();
        if by_the_hour(&conditional) {
            continue;
        }
        // Some prices depend on the time of day. The highest one is used, so that the cost is never underestimated.
        let mut prices = of(conditional)?;
        for other in all.iter().skip(n + 1).filter(by_the_hour) {
            prices = dearest(&prices, &of(other)?);
        }
        let written = written(&prices)?.unwrap_or_else(|| "-".to_owned());
        columns.push(match conditional["constraint"].get("start_date") {
            Some(from) => format!("@{} {written}", from.as_str().ok_or("a date is not a text")?),
            None => written,
        });
    }
    Ok(format!("{rules}\t{}\n", columns.join("\t")))
}

fn dearest(a: &Map<String, Json>, b: &Map<String, Json>) -> Map<String, Json> {
    let dear = |(key, price): (&String, &Json)| {
        let other = b.get(key).and_then(Json::as_f64).unwrap_or(0.0);
        (key.clone(), price.as_f64().map_or_else(|| price.clone(), |price| price.max(other).into()))
    };
    a.iter().map(dear).collect()
}

/// The patterns of a rule.
fn names(rule: &Json, found: &mut Vec<String>) -> Result<(), String> {
    for (how, what) in rule.as_object().ok_or("a rule is not an object")? {
        if let Some(all) = what.as_array() {
            // In the source, `and` only excludes names, which is written with `!` in any position.
            all.iter().try_for_each(|rule| names(rule, found))?;
            continue;
        }
        let what = what.as_str().ok_or("a rule is not a text")?.to_lowercase();
        match how.as_str() {
            "equals" => found.push(format!("={what}")),
            "starts_with" => found.push(format!("^{what}")),
            "ends_with" => found.push(format!("${what}")),
            "contains" => found.push(format!("*{what}")),
            "regex" => found.extend(patterns(&what)?),
            other => return Err(format!("unknown rule `{other}`")),
        }
    }
    Ok(())
}

/// Converts a regular expression, as far as the source needs: dates at the end, either of two characters, and names
/// that are not for speech.
fn patterns(regex: &str) -> Result<Vec<String>, String> {
    if regex == "^(?!.*-[tt][tt][ss](?:$|-))" {
        return Ok(vec!["!*-tts".to_owned()]);
    }
    let unknown = || format!("unknown regular expression `{regex}`");
    let text = regex.strip_prefix('^').ok_or_else(unknown)?;
    let (kind, text) = text.strip_suffix('$').map_or(('^', text), |text| ('=', text));
    let digits = [r"\d{8}", r"\d{4}", r"\d{2}", r"\d"].iter().zip([8, 4, 2, 1]);
    let text = digits.fold(text.replace(r"\.", "."), |text, (from, n)| text.replace(from, &"#".repeat(n)));
    let all = match text.split_once("[-@]") {
        Some((before, after)) => vec![format!("{kind}{before}-{after}"), format!("{kind}{before}@{after}")],
        None => vec![format!("{kind}{text}")],
    };
    if all.iter().any(|p| p[1..].contains(['[', '\\', '(', '|', '*', '+', '?', '$', '^', '{'])) {
        return Err(unknown());
    }
    Ok(all)
}

/// Formats prices for the table; `None` if the cost of a call does not depend on tokens alone.
fn written(prices: &Map<String, Json>) -> Result<Option<String>, String> {
    if ASIDE.iter().any(|key| prices.contains_key(*key))
        || !["input_mtok", "output_mtok"].iter().all(|k| prices.contains_key(*k))
    {
        return Ok(None);
    }
    let mut edges: Vec<u64> = Vec::new();
    for tier in prices.values().filter_map(|p| p["tiers"].as_array()).flatten() {
        edges.push(tier["start"].as_u64().ok_or("a tier begins at no whole number")?);
    }
    edges.sort_unstable();
    edges.dedup();
    let mut text = rates(prices, None)?;
    if let Some(call) = prices.get("requests_kcount").and_then(Json::as_f64) {
        let _ = write!(text, " c{}", decimal(call / 1000.0));
    }
    for edge in edges {
        let _ = write!(text, " >{edge} {}", rates(prices, Some(edge))?);
    }
    Ok(Some(text))
}

/// The rates above a threshold.
fn rates(prices: &Map<String, Json>, edge: Option<u64>) -> Result<String, String> {
    let mut words = Vec::new();
    for (key, prefix) in [("input_mtok", ""), ("output_mtok", ""), ("cache_read_mtok", "r"), ("cache_write_mtok", "w")]
    {
        let Some(price) = prices.get(key) else { continue };
        let base = price.as_f64().or_else(|| price["base"].as_f64()).ok_or("a price is not a number")?;
        let tiers = price["tiers"].as_array().into_iter().flatten();
        let mut above = tiers.filter(|tier| tier["start"].as_u64() <= edge).filter_map(|tier| tier["price"].as_f64());
        words.push(format!("{prefix}{}", decimal(above.next_back().unwrap_or(base))));
    }
    Ok(words.join(" "))
}

/// Formats dollars as an exact decimal without floating-point errors. The table's parser rounds up fractions of a
/// micro-dollar.
fn decimal(dollars: f64) -> String {
    let text = format!("{dollars:.10}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
