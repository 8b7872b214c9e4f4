//! `trefoil keys`: the keys of the servers of a store.

use clap::{Args, Subcommand};
use serde_json::json;
use trefoil_ir::prices::DollarAmount;
use trefoil_server::{KeyError, KeyRecord, KeyRights, KeyRing, KeyScope, KeyScopes};
use trefoil_view::trace::rfc3339_ms;

use crate::args::{DurabilityArg, OutputFormat, StoreArgs, parse_dollars};
use crate::columns::format_columns;
use crate::refusal::refuse_store;
use crate::store::block_on;
use crate::terminal_text::escape_line;
use crate::words::count_of;
use crate::{exit, output};

/// Make, list and revoke the keys with which clients call `trefoil serve`
#[derive(Args)]
pub struct KeysCommandArgs {
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Subcommand)]
enum KeysCommand {
    Add(KeysAddArgs),
    List(KeysListArgs),
    Revoke(KeysRevokeArgs),
}

/// Make a key and print it. It is not shown again
#[derive(Args)]
struct KeysAddArgs {
    /// Who or what uses it
    name: String,
    /// What it may be used for: `read`, `run`, `answer`, `admin`
    #[arg(long, value_name = "SCOPE", value_delimiter = ',', default_value = "read,run,answer")]
    scope: Vec<KeyScope>,
    /// Only this flow (repeatable; default: all)
    #[arg(long, value_name = "NAME")]
    flow: Vec<String>,
    /// Let it see the runs of all keys, not only its own
    #[arg(long)]
    all_runs: bool,
    /// Maximum number of its runs that are in progress at a time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs_in_flight: Option<u32>,
    /// Maximum number of its requests in a minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    requests_per_minute: Option<u32>,
    /// Maximum cost of its runs in a day (UTC), in dollars
    #[arg(long, value_name = "USD", value_parser = parse_dollars, allow_negative_numbers = true)]
    cost_per_day: Option<u64>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    durability: DurabilityArg,
}

/// List the keys
#[derive(Args)]
struct KeysListArgs {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    output: OutputFormat,
    #[command(flatten)]
    store: StoreArgs,
}

/// Revoke a key. Servers refuse it within a second
#[derive(Args)]
struct KeysRevokeArgs {
    /// Its id, or its name
    key: String,
    #[command(flatten)]
    store: StoreArgs,
}

/// Exit code 0: done; 1: there is no such key; 2: the store cannot be used.
pub fn run(args: &KeysCommandArgs) -> Result<u8, u8> {
    match &args.command {
        KeysCommand::Add(args) => add(args),
        KeysCommand::List(args) => list(args),
        KeysCommand::Revoke(args) => revoke(args),
    }
}

fn refuse(error: KeyError) -> u8 {
    match &error {
        KeyError::Store(error) => refuse_store(error),
        KeyError::SameName(_) => output::report_failure(&error.to_string(), Some("revoke each by its id")),
        other => output::report_not_started(&other.to_string(), None),
    }
}

fn add(args: &KeysAddArgs) -> Result<u8, u8> {
    let ring = KeyRing::new(args.store.open_for_new_run(&args.durability)?);
    let rights = KeyRights {
        scopes: KeyScopes(args.scope.clone()),
        flows: args.flow.clone(),
        all_runs: args.all_runs,
        runs_in_flight: args.runs_in_flight,
        requests_per_minute: args.requests_per_minute,
        cost_per_day_micro: args.cost_per_day,
    };
    let mut others = block_on(ring.list_keys())?.map_err(refuse)?;
    let (key, record) = block_on(ring.add_key(&args.name, rights))?.map_err(refuse)?;
    others.retain(|other| other.name == record.name);
    if let Some(other) = others.first() {
        output::print_note(format!(
            "there is another key `{}`: {}; `trefoil keys revoke` needs the id",
            record.name, other.id
        ));
    }
    output::print_note(format!(
        "key {} for `{}`, with {}; it is not shown again",
        record.id, record.name, record.rights.scopes
    ));
    Ok(output::write_result(format!("{key}\n")))
}

fn list(args: &KeysListArgs) -> Result<u8, u8> {
    let Some(store) = args.store.open_if_present()? else { return Ok(exit::OK) };
    let keys = block_on(KeyRing::new(store).list_keys())?.map_err(refuse)?;
    if args.output.is_json() {
        let keys: Vec<_> = keys.iter().map(record_json).collect();
        return Ok(output::json_result(&json!({ "keys": keys })));
    }
    if keys.is_empty() {
        output::print_note("no keys yet; `trefoil keys add NAME` makes one");
        return Ok(exit::OK);
    }
    let rows = keys.iter().map(|key| {
        [key.id.clone(), escape_line(&key.name).into_owned(), key.rights.scopes.to_string(), rights_text(&key.rights)]
    });
    let mut text = format_columns(rows).join("\n");
    text.push('\n');
    Ok(output::write_result(text))
}

fn record_json(key: &KeyRecord) -> serde_json::Value {
    json!({ "id": key.id, "name": key.name, "created": rfc3339_ms(key.created), "rights": key.rights })
}

/// What a key may do beside its scopes.
fn rights_text(rights: &KeyRights) -> String {
    let mut parts = Vec::new();
    if !rights.flows.is_empty() {
        parts.push(format!("only {}", rights.flows.join(", ")));
    }
    if rights.all_runs {
        parts.push("runs of all keys".to_owned());
    }
    if let Some(most) = rights.runs_in_flight {
        parts.push(format!("{} at a time", count_of(most.into(), "run")));
    }
    if let Some(most) = rights.requests_per_minute {
        parts.push(format!("{} a minute", count_of(most.into(), "request")));
    }
    if let Some(most) = rights.cost_per_day_micro {
        parts.push(format!("{} a day", DollarAmount(most)));
    }
    escape_line(&parts.join(", ")).into_owned()
}

fn revoke(args: &KeysRevokeArgs) -> Result<u8, u8> {
    let store = args.store.open_to_change()?;
    let gone = block_on(KeyRing::new(store).revoke_key(&args.key))?.map_err(refuse)?;
    let Some(key) = gone else {
        let help = "`trefoil keys list` shows the keys";
        return Err(output::report_failure(&format!("there is no key `{}`", args.key), Some(help)));
    };
    output::print_note(format!("revoked key {} of `{}`", key.id, key.name));
    Ok(exit::OK)
}
