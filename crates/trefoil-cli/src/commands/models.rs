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
    let mut others = Vec::new();
    let mut rows = Vec::new();
    for one in &offer.providers {
        if !offer.is_of_interest(one) {
            others.push(one.provider);
            continue;
        }
        let address = one.address.as_deref().unwrap_or("no address");
        rows.push([one.provider.to_owned(), status(one), format!("{}{}", escape_line(address), said_by(one))]);
    }
    out += &indented(rows);
    if !others.is_empty() {
        out += &format!("  not set up: {}\n", others.join(", "));
    }
    if !offer.aliases.is_empty() {
        out += "\naliases\n";
        let mut rows = Vec::new();
        for ModelAlias { name, models } in &offer.aliases {
            let models: Vec<_> = models.iter().map(|model| escape_line(model)).collect();
            rows.push([escape_line(name).into_owned(), models.join(", else ")]);
        }
        out += &indented(rows);
    }
    out += &format!("\nmodels in {}\n", escape_line(target));
    if offer.models.is_empty() {
        out += "  none\n";
    }
    let mut rows = Vec::new();
    for model in &offer.models {
        let price = match &model.price {
            Some(price) if price.is_free() => "free".to_owned(),
            Some(price) => format!("{} in, {} out", DollarAmount(price.rates.input), DollarAmount(price.rates.output)),
            None => "price unknown".to_owned(),
        };
        let window = match model.window {
            Some(window) => format!("{} tokens", group_digits(window)),
            None => "window unknown".to_owned(),
        };
        let agents: Vec<_> = model.agents.iter().map(|agent| escape_line(agent)).collect();
        rows.push([escape_line(&model.name).into_owned(), price, window, agents.join(", ")]);
    }
    out += &indented(rows);
    if offer.models.iter().any(|model| matches!(&model.price, Some(price) if !price.is_free())) {
        out += "  prices are per million tokens\n";
    }
    for model in &offer.models {
        if let Some(why) = &model.problem {
            out += &format!("\n{} cannot be called: {}\n", escape_line(&model.name), escape_line(why));
        }
    }
    out
}

fn indented<const N: usize>(rows: Vec<[String; N]>) -> String {
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
    let mut aliases: Vec<Json> = Vec::new();
    for ModelAlias { name, models } in &offer.aliases {
        aliases.push(json!({"name": name, "models": models}));
    }
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
    if one.availability == ProviderAvailability::Ready { None } else { Some(status(one)) }
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
