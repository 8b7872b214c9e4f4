//! Reads the tables that need trust. A new setting is a line in [`TABLES`] and an arm in [`SettingsReading::table`].

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use trefoil_ir::prices::{ModelPrice, TokenRates, parse_dollars};
use trefoil_machine::Reserve;
use trefoil_models::{ModelName, ModelOverride};
use trefoil_runtime::OnUnknown;
use trefoil_syntax::{Diagnostic, FileId, Location, SourceFile, Span};
use trefoil_tools::guard::InvalidHost;

use super::values::{read_duration, read_words};
use super::{FoundSettings, TrustStanding, keep_size, keep_time};
use crate::file_access;
use crate::project_file::RULE;

/// The maximum number of models for one alias.
const MOST_MODELS: usize = 8;

/// The tables that only the operator may set, and their effect.
pub const TABLES: &[(&str, &str)] = &[
    ("models", "choose the models"),
    ("providers", "choose where prompts and keys are sent"),
    ("prices", "set the prices of models"),
    ("paths", "let manifests read files outside the project"),
    ("http", "let tools call hosts that are not public, and send them secrets and environment values"),
    ("secrets", "read secrets from a command or a file"),
    ("tools", "run programs as tools"),
    ("mcp", "start or call MCP servers"),
    ("python", "choose the program that runs Python functions"),
    ("run", "let steps run commands, pass them variables, or choose what cost limits reserve"),
    ("limits", "limit the number and rate of model calls"),
    ("store", "delete old runs"),
    ("serve", "choose what flows may read on a server, and let them run commands"),
    ("recovery", "decide whether commands and tool calls are repeated after a crash"),
];

/// A table of a file that needs trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedTable {
    /// Its name.
    pub table: &'static str,
    /// Its effect.
    pub does: &'static str,
    /// Its settings as written.
    pub settings: Vec<String>,
}

/// The tables of a file that need trust, in file order.
pub fn find_trusted_tables(file: &SourceFile) -> Vec<TrustedTable> {
    let (table, _) = DeTable::parse_recoverable(file.text());
    let mut found = Vec::new();
    for (key, value) in table.get_ref() {
        let Some((name, does)) = TABLES.iter().find(|(name, _)| *name == &**key.get_ref()) else { continue };
        let mut settings = Vec::new();
        leaves("", value, file.text(), &mut settings);
        found.push((key.span().start, TrustedTable { table: name, does, settings }));
    }
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, asked)| asked).collect()
}

/// Collects `a.b = value` for every value that is not a table.
fn leaves(path: &str, value: &Spanned<DeValue<'_>>, text: &str, found: &mut Vec<String>) {
    match value.get_ref() {
        DeValue::Table(table) => {
            for (key, value) in table {
                let dot = if path.is_empty() { "" } else { "." };
                leaves(&format!("{path}{dot}{}", key.get_ref()), value, text, found);
            }
        }
        _ => found.push(format!("{path} = {}", text.get(value.span()).unwrap_or_default())),
    }
}

/// Reads a file into `found`.
pub(super) fn read_settings_file(
    id: FileId,
    file: &SourceFile,
    base: &Path,
    standing: &TrustStanding,
    found: &mut FoundSettings,
) {
    let (table, errors) = DeTable::parse_recoverable(file.text());
    let mut reading = SettingsReading { id, name: file.name(), base, found };
    if let (Some(error), TrustStanding::Trusted) = (errors.first(), standing) {
        let span = error.span().unwrap_or(0..0);
        reading.report_wrong_value(span, &format!("invalid TOML: {}", error.message()));
        return;
    }
    let mut tables: Vec<_> = table.get_ref().iter().collect();
    // Other tables name the providers that this one declares.
    tables.sort_by_key(|(key, _)| (&**key.get_ref() != "providers", key.span().start));
    for (key, value) in tables {
        let Some((name, does)) = TABLES.iter().find(|(name, _)| *name == &**key.get_ref()) else { continue };
        match standing {
            TrustStanding::Trusted => reading.table(name, value),
            TrustStanding::Unknown | TrustStanding::Changed => reading.untrusted(key.span(), name, does, standing),
        }
    }
}

pub(super) struct SettingsReading<'f> {
    id: FileId,
    pub(super) name: &'f str,
    pub(super) base: &'f Path,
    pub(super) found: &'f mut FoundSettings,
}

impl SettingsReading<'_> {
    fn table(&mut self, name: &str, value: &Spanned<DeValue<'_>>) {
        let DeValue::Table(table) = value.get_ref() else {
            return self.report_wrong_value(value.span(), &format!("`{name}` must be a table: `[{name}]`"));
        };
        for (key, value) in table {
            let (key_name, at): (&str, _) = (key.get_ref(), key.span());
            match (name, key_name) {
                ("models", alias) => self.model(alias, value),
                ("providers", provider) => self.read_provider(provider, key.span(), value),
                ("prices", model) => self.price(model, key.span(), value),
                ("paths", "allow") => self.paths(value),
                ("http", "allow") => self.hosts(value),
                ("http", "ports") => self.ports(value),
                ("http", "timeout") => match read_duration(value) {
                    Ok(time) => {
                        let limits = &mut self.found.settings.http.limits;
                        (limits.time, limits.longest) = (time, limits.longest.max(time));
                    }
                    Err((at, why)) => self.report_wrong_value(at, &why),
                },
                ("secrets", "command") => self.command(value),
                ("secrets", "env_file") => match value.get_ref().as_str() {
                    Some(path) => self.found.settings.secrets.env_file = Some(self.base.join(path)),
                    None => self.report_wrong_value(
                        value.span(),
                        "`env_file` must be the path of a file with `NAME=value` lines",
                    ),
                },
                ("tools", tool) => self.read_tool(tool, at, value),
                ("mcp", server) => self.read_mcp_server(server, at, value),
                ("python", key) => self.read_python_setting(key, at, value),
                ("run", "allow-command") => match value.get_ref().as_bool() {
                    Some(allowed) => self.found.settings.commands = allowed,
                    None => self.report_wrong_value(value.span(), "`allow-command` must be true or false"),
                },
                ("run", "env") => match read_words(value) {
                    Ok(names) => self.found.settings.command_env = names,
                    Err((at, why)) => self.report_wrong_value(at, &why),
                },
                ("run", "reserve") => match value.get_ref().as_str() {
                    Some("bound") => self.found.settings.reserve = Some(Reserve::Bound),
                    Some("estimate") => self.found.settings.reserve = Some(Reserve::Estimate),
                    _ => self.report_wrong_value(value.span(), "`reserve` must be `\"bound\"` or `\"estimate\"`"),
                },
                ("serve", "env") => match read_words(value) {
                    Ok(names) => self.found.settings.served_env = names,
                    Err((at, why)) => self.report_wrong_value(at, &why),
                },
                ("serve", "flows") => self.read_flow_rules(value),
                ("limits", key) => self.limit(key, at, value),
                ("store", key) => self.keep(key, at, value),
                ("recovery", key) => self.recovery(key, at, value),
                (table, key_name) => {
                    self.report_wrong_value(key.span(), &format!("`[{table}]` has no key `{key_name}`"))
                }
            }
        }
    }

    /// One model, or a list in which each model is the fallback of those before it.
    fn model(&mut self, alias: &str, value: &Spanned<DeValue<'_>>) {
        let texts: Vec<&str> = match value.get_ref() {
            DeValue::Array(all) => all.iter().map(|one| one.get_ref().as_str().unwrap_or_default()).collect(),
            one => vec![one.as_str().unwrap_or_default()],
        };
        let mut read = texts.iter().map(|text| match format!("{alias}={text}").parse() {
            Ok(model @ ModelOverride::For { .. }) => Some(model),
            _ => None,
        });
        let first = read.next().flatten();
        let others: Option<Vec<ModelName>> = read
            .map(|model| match model? {
                ModelOverride::For { provider, model, .. } => Some(ModelName { provider, model }),
                _ => None,
            })
            .collect();
        match (first, others) {
            (Some(ModelOverride::For { name, provider, model, .. }), Some(others)) if others.len() < MOST_MODELS => {
                let model = ModelOverride::For { name, provider, model, others };
                let unknown = model.named_providers().find_map(|provider| self.unknown_provider_message(provider));
                match unknown {
                    Some(unknown) => self.report_wrong_value(value.span(), &unknown),
                    None => self.found.settings.models.push(model),
                }
            }
            _ => {
                let form = format!("`\"provider:name\"`, or a list of at most {MOST_MODELS} of them");
                self.report_wrong_value(value.span(), &format!("the model of `{alias}` must be {form}"));
            }
        }
    }

    fn price(&mut self, model: &str, at: std::ops::Range<usize>, value: &Spanned<DeValue<'_>>) {
        let (provider, name) = model.split_once(':').unwrap_or_default();
        if provider.is_empty() || name.is_empty() {
            return self.report_wrong_value(at, &format!("`{model}` must be `\"provider:name\"`"));
        }
        let Some(table) = value.get_ref().as_table() else {
            let form = "{ input = 1.25, output = 10 }";
            return self.report_wrong_value(value.span(), &format!("the price of `{model}` must be a table: `{form}`"));
        };
        let mut rates = TokenRates::default();
        let (mut input, mut output) = (None, None);
        for (key, value) in table {
            let Some(dollars) = dollars(value.get_ref()) else {
                let message = format!("`{}` must be dollars per million tokens, 0 or more", key.get_ref());
                self.report_wrong_value(value.span(), &message);
                continue;
            };
            match &**key.get_ref() {
                "input" => input = Some(dollars),
                "output" => output = Some(dollars),
                "cache_read" => rates.cache_read = Some(dollars),
                "cache_write" => rates.cache_write = Some(dollars),
                name => {
                    let keys = "`input`, `output`, `cache_read`, `cache_write`";
                    self.report_wrong_value(
                        key.span(),
                        &format!("unknown key `{name}` in a price; its keys are {keys}"),
                    );
                }
            }
        }
        let (Some(input), Some(output)) = (input, output) else {
            return self
                .report_wrong_value(value.span(), &format!("the price of `{model}` needs `input` and `output`"));
        };
        let price = ModelPrice { rates: TokenRates { input, output, ..rates }, ..ModelPrice::default() };
        self.found.settings.prices.push((model.to_owned(), price));
    }

    fn limit(&mut self, key: &str, at: std::ops::Range<usize>, value: &Spanned<DeValue<'_>>) {
        if let DeValue::Table(table) = value.get_ref() {
            return self.provider_limits(key, at, table);
        }
        let limits = self.found.settings.limits.get_or_insert_default();
        let field = match key {
            "in_flight" => &mut limits.in_flight,
            "in_flight_per_run" => &mut limits.in_flight_per_run,
            "runs_per_flow" => &mut limits.runs_per_flow,
            _ => {
                let keys =
                    "`in_flight`, `in_flight_per_run`, `runs_per_flow`, and a table for a provider: `[limits.openai]`";
                return self.no_key(at, "limits", key, keys);
            }
        };
        match number(value.get_ref()) {
            Some(n) => *field = Some(u32::try_from(n).unwrap_or(u32::MAX)),
            None => self.report_wrong_value(value.span(), &format!("`{key}` must be a whole number, 1 or more")),
        }
    }

    fn provider_limits(&mut self, provider: &str, at: std::ops::Range<usize>, table: &DeTable<'_>) {
        if let Some(unknown) = self.unknown_provider_message(provider) {
            return self.report_wrong_value(at, &unknown);
        }
        for (key, value) in table {
            let Some(n) = number(value.get_ref()) else {
                self.report_wrong_value(
                    value.span(),
                    &format!("`{}` must be a whole number, 1 or more", key.get_ref()),
                );
                continue;
            };
            let limits = self.found.settings.limits.get_or_insert_default();
            let limits = limits.providers.entry(provider.to_owned()).or_default();
            let small = u32::try_from(n).unwrap_or(u32::MAX);
            match &**key.get_ref() {
                "in_flight" => limits.in_flight = Some(small),
                "requests_per_minute" => limits.requests_per_minute = Some(small),
                "tokens_per_minute" => limits.tokens_per_minute = Some(n),
                name => {
                    let keys = "`in_flight`, `requests_per_minute`, `tokens_per_minute`";
                    self.no_key(key.span(), &format!("limits.{provider}"), name, keys);
                }
            }
        }
    }

    fn keep(&mut self, key: &str, at: std::ops::Range<usize>, value: &Spanned<DeValue<'_>>) {
        let text = value.get_ref().as_str().unwrap_or_default();
        let keep = &mut self.found.settings.keep;
        let read = match key {
            "keep" => set(&mut keep.ended, keep_time(text)),
            "keep_failed" => set(&mut keep.failed, keep_time(text)),
            "max_size" => set(&mut keep.max_bytes, keep_size(text).map(Some)),
            _ => return self.no_key(at, "store", key, "`keep`, `keep_failed`, `max_size`"),
        };
        if let Err(instead) = read {
            self.report_wrong_value(value.span(), &format!("invalid `{key}`: {instead}"));
        }
    }

    fn recovery(&mut self, key: &str, at: std::ops::Range<usize>, value: &Spanned<DeValue<'_>>) {
        let recovery = &mut self.found.settings.recovery;
        let policy = match key {
            "tools" => &mut recovery.tools,
            "commands" => &mut recovery.commands,
            _ => return self.no_key(at, "recovery", key, "`tools`, `commands`"),
        };
        *policy = match value.get_ref().as_str() {
            Some("ask") => OnUnknown::Ask,
            Some("retry") => OnUnknown::Retry,
            Some("fail") => OnUnknown::Fail,
            _ => {
                return self.report_wrong_value(
                    value.span(),
                    &format!("`{key}` must be `\"ask\"`, `\"retry\"` or `\"fail\"`"),
                );
            }
        };
    }

    fn paths(&mut self, value: &Spanned<DeValue<'_>>) {
        let Ok(folders) = read_words(value) else {
            return self.report_wrong_value(value.span(), "`allow` must be a list of folders: `[\"../shared\"]`");
        };
        for folder in folders {
            let folder = self.base.join(folder);
            if file_access::is_folder(&folder) {
                self.found.settings.allowed.push(folder);
            } else {
                self.report_wrong_value(value.span(), &format!("the folder `{}` does not exist", folder.display()));
            }
        }
    }

    fn hosts(&mut self, value: &Spanned<DeValue<'_>>) {
        let Some(all) = value.get_ref().as_array() else {
            return self.report_wrong_value(
                value.span(),
                "`allow` must be a list of hosts: `[\"api.internal\", \"127.0.0.1:8080\"]`",
            );
        };
        for one in all {
            match one.get_ref().as_str().unwrap_or_default().parse() {
                Ok(host) => self.found.settings.http.allow.push(host),
                Err(InvalidHost(_)) => {
                    self.report_wrong_value(
                        one.span(),
                        "invalid host: write `name`, `name:port`, `*.domain` or `10.0.0.0/8`",
                    );
                }
            }
        }
    }

    fn command(&mut self, value: &Spanned<DeValue<'_>>) {
        match read_words(value) {
            Ok(words) if words.iter().any(|word| word.contains("{name}")) => {
                self.found.settings.secrets.command = words;
            }
            _ => self.report_wrong_value(
                value.span(),
                "`command` must be a list with `{name}` in it: `[\"op\", \"read\", \"op://work/{name}\"]`",
            ),
        }
    }

    fn ports(&mut self, value: &Spanned<DeValue<'_>>) {
        match ports(value.get_ref()) {
            Some(ports) => self.found.settings.http.ports = ports,
            None => self.report_wrong_value(value.span(), "`ports` must be a list of ports: `[8443]`"),
        }
    }

    /// Reports a table without trust: one finding for a file, which shows all of its tables.
    fn untrusted(&mut self, span: std::ops::Range<usize>, table: &str, does: &str, standing: &TrustStanding) {
        let at = self.to_location(span);
        let first = |d: &Diagnostic| d.rule == super::UNTRUSTED && d.file == Some(self.id);
        if let Some(known) = self.found.findings.iter().position(first) {
            let known = self.found.findings.remove(known);
            self.found.findings.push(known.with_label(at, format!("`[{table}]` would {does}")));
            return;
        }
        let why = match standing {
            TrustStanding::Changed => "the file changed since you trusted it",
            _ => "you have not trusted this project",
        };
        let folder = if self.base.as_os_str().is_empty() { Path::new(".") } else { self.base };
        let message = format!("`[{table}]` would {does}, but {why}");
        let help =
            format!("read the file, then run `trefoil trust {}`; `--no-config` ignores the file", folder.display());
        self.found.findings.push(Diagnostic::new_error(super::UNTRUSTED, at, message).with_help(help));
    }

    pub(super) fn report_wrong_value(&mut self, span: std::ops::Range<usize>, message: &str) {
        let at = self.to_location(span);
        self.found.findings.push(Diagnostic::new_error(RULE, at, message));
    }

    pub(super) fn no_key(&mut self, span: std::ops::Range<usize>, table: &str, key: &str, keys: &str) {
        self.report_wrong_value(span, &format!("`[{table}]` has no key `{key}`; its keys are {keys}"));
    }

    pub(super) fn wrong_with(&mut self, span: std::ops::Range<usize>, message: &str, help: &str) {
        let at = self.to_location(span);
        self.found.findings.push(Diagnostic::new_error(RULE, at, message).with_help(help));
    }

    pub(super) fn to_location(&self, span: std::ops::Range<usize>) -> Location {
        Location::new(self.id, Span::new(span.start as u32, span.end as u32))
    }
}

/// Sets a field, if its value could be read.
fn set<T>(field: &mut T, read: Result<T, String>) -> Result<(), String> {
    *field = read?;
    Ok(())
}

/// An integer of at least 1.
fn number(value: &DeValue<'_>) -> Option<u64> {
    let DeValue::Integer(n) = value else { return None };
    match u64::from_str_radix(n.as_str(), n.radix()) {
        Ok(n @ 1..) => Some(n),
        _ => None,
    }
}

/// A list of port numbers.
fn ports(value: &DeValue<'_>) -> Option<Vec<u16>> {
    value.as_array()?.iter().map(|item| port(item.get_ref())).collect()
}

/// A port number.
fn port(value: &DeValue<'_>) -> Option<u16> {
    match value {
        DeValue::Integer(n) if n.radix() == 10 => match n.as_str().parse() {
            Ok(port @ 1..) => Some(port),
            _ => None,
        },
        _ => None,
    }
}

fn dollars(value: &DeValue<'_>) -> Option<u64> {
    match value {
        DeValue::Integer(n) if n.radix() == 10 => parse_dollars(n.as_str()),
        DeValue::Float(n) => parse_dollars(n.as_str()),
        _ => None,
    }
}
