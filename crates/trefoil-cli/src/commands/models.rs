//! `trefoil models [PATH]`: lists providers, aliases and models with their prices. Makes no calls.

use clap::Args;
use serde_json::{Value as Json, json};
use trefoil::models::{AddressSource, ProviderAvailability, ProviderConfiguration};
use trefoil_ir::prices::DollarAmount;

use crate::args::{ModelArgs, OptionalTargetArgs, ReportFormat};
use crate::columns::format_columns;
use crate::model_catalog::{CatalogModel, ModelAlias, ModelCatalog};
use crate::output;
use crate::terminal_text::escape_line;
use crate::words::group_digits;

/// List providers, aliases, and the models of the workflows here with their prices
#[derive(Args)]
pub struct ModelsCommandArgs {
    #[command(flatten)]
    place: OptionalTargetArgs,
    #[command(flatten)]
    models: ModelArgs,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: ReportFormat,
}

/// Exit code 0; 1: the list cannot be written; 2: the path cannot be read.
pub fn run(args: &ModelsCommandArgs) -> Result<u8, u8> {
    let offer = ModelCatalog::for_target(&args.place, &args.models)?;
    Ok(match args.format {
        ReportFormat::Text => output::write_result(text(&offer, &args.place.target)),
        ReportFormat::Json => output::json_result(&format_args!("{:#}", as_json(&offer))),
    })
}

fn text(offer: &ModelCatalog, target: &str) -> String {
    let mut out = "providers\n".to_owned();
    let (shown, others): (Vec<_>, Vec<_>) = offer.providers.iter().partition(|one| offer.is_of_interest(one));
    let rows = shown.iter().map(|one| {
        let address = one.address.as_deref().unwrap_or("no address");
        [one.provider.to_owned(), status(one), format!("{}{}", escape_line(address), said_by(one))]
    });
    out += &indented(rows);
    if !others.is_empty() {
        let names: Vec<&str> = others.iter().map(|one| one.provider).collect();
        out += &format!("  not set up: {}\n", names.join(", "));
    }
    if !offer.aliases.is_empty() {
        out += "\naliases\n";
        let rows = offer.aliases.iter().map(|ModelAlias { name, models }| {
            [
                escape_line(name).into_owned(),
                models.iter().map(|model| escape_line(model)).collect::<Vec<_>>().join(", else "),
            ]
        });
        out += &indented(rows);
    }
    out += &format!("\nmodels in {}\n", escape_line(target));
    if offer.models.is_empty() {
        out += "  none\n";
    }
    let rows = offer.models.iter().map(|model| {
        let price = match &model.price {
            Some(price) if price.is_free() => "free".to_owned(),
            Some(price) => format!("{} in, {} out", DollarAmount(price.rates.input), DollarAmount(price.rates.output)),
            None => "price unknown".to_owned(),
        };
        let window = model
            .window
            .map_or_else(|| "window unknown".to_owned(), |window| format!("{} tokens", group_digits(window)));
        let agents: Vec<_> = model.agents.iter().map(|agent| escape_line(agent)).collect();
        [escape_line(&model.name).into_owned(), price, window, agents.join(", ")]
    });
    out += &indented(rows);
    if offer.models.iter().any(|model| model.price.as_ref().is_some_and(|price| !price.is_free())) {
        out += "  prices are per million tokens\n";
    }
    for (model, why) in offer.models.iter().filter_map(|model| Some((model, model.problem.as_ref()?))) {
        out += &format!("\n{} cannot be called: {}\n", escape_line(&model.name), escape_line(why));
    }
    out
}

fn indented<const N: usize>(rows: impl Iterator<Item = [String; N]>) -> String {
    format_columns(rows).iter().map(|line| format!("  {line}\n")).collect()
}

/// Whether a provider can be called, and with which key.
fn status(one: &ProviderConfiguration) -> String {
    match one.availability {
        ProviderAvailability::Ready if one.has_key => format!("key from {}", one.key_variable.unwrap_or_default()),
        ProviderAvailability::Ready => "no key needed".to_owned(),
        ProviderAvailability::NoKey { variable, or: None } => format!("needs {variable}"),
        ProviderAvailability::NoKey { variable, or: Some(other) } => format!("needs {variable} or {other}"),
        ProviderAvailability::BadAddress { variable, why } => format!("{variable} {why}"),
        ProviderAvailability::Unknown => "unknown".to_owned(),
    }
}

fn said_by(one: &ProviderConfiguration) -> String {
    let open = if one.open { ", not encrypted" } else { "" };
    match &one.said_by {
        AddressSource::Vendor => String::new(),
        AddressSource::Variable(variable) => format!(" (from {variable}{open})"),
        AddressSource::File(file) => format!(" (from {}{open})", escape_line(file)),
    }
}

fn as_json(offer: &ModelCatalog) -> Json {
    let providers: Vec<Json> = offer.providers.iter().map(provider).collect();
    let aliases: Vec<Json> =
        offer.aliases.iter().map(|ModelAlias { name, models }| json!({"name": name, "models": models})).collect();
    let models: Vec<Json> = offer.models.iter().map(model).collect();
    json!({"version": 1, "providers": providers, "aliases": aliases, "models": models})
}

fn provider(one: &ProviderConfiguration) -> Json {
    let status = match one.availability {
        ProviderAvailability::Ready => "ready",
        ProviderAvailability::NoKey { .. } => "needs-key",
        ProviderAvailability::BadAddress { .. } => "bad-address",
        ProviderAvailability::Unknown => "unknown",
    };
    let (source, name) = match &one.said_by {
        AddressSource::Vendor => ("vendor", None),
        AddressSource::Variable(variable) => ("environment", Some((*variable).to_owned())),
        AddressSource::File(file) => ("file", Some(file.to_string())),
    };
    json!({
        "name": one.provider,
        "protocol": one.protocol,
        "status": status,
        "key": {"variable": one.key_variable, "set": one.has_key},
        "address": {"url": one.address, "source": source, "name": name, "encrypted": one.encrypted},
        "says": status_text(one),
    })
}

/// `None` if nothing is missing.
fn status_text(one: &ProviderConfiguration) -> Option<String> {
    (one.availability != ProviderAvailability::Ready).then(|| status(one))
}

fn model(model: &CatalogModel) -> Json {
    let dollars = |micro: u64| micro as f64 / 1e6;
    let price = model.price.as_ref().map(|price| {
        json!({
            "input": dollars(price.rates.input),
            "output": dollars(price.rates.output),
            "cache_read": price.rates.cache_read.map(dollars),
            "cache_write": price.rates.cache_write.map(dollars),
        })
    });
    json!({
        "name": model.name,
        "agents": model.agents,
        "usd_per_million_tokens": price,
        "context_window": model.window,
        "problem": model.problem,
    })
}
