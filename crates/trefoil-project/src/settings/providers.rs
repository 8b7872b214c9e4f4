//! Reads `[providers.NAME]`: settings of a known provider, or the declaration of an OpenAI-compatible one under a name of
//! the operator's choice.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use trefoil_models::plan::{find_misspelled_provider, unknown_help};
use trefoil_models::vendors::{VENDORS, find_vendor};
use trefoil_models::{ProviderAddress, Registry, VendorApi};

use super::trusted_tables::SettingsReading;

/// An OpenAI-compatible provider that the operator declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredProvider {
    /// Its name.
    pub name: String,
    /// Its URL.
    pub base_url: String,
    /// Its API; `None`: chat completions.
    pub api: Option<VendorApi>,
    /// The environment variable of its key; `None`: it gets no key.
    pub key_env: Option<String>,
    /// The file that declares it.
    pub file: String,
}

impl SettingsReading<'_> {
    pub(super) fn read_provider(&mut self, provider: &str, at: Range<usize>, value: &Spanned<DeValue<'_>>) {
        if find_vendor(provider).is_none()
            && let Some(wrong) = wrong_name(provider)
        {
            return self.report_wrong_value(at, &wrong);
        }
        let Some(table) = value.get_ref().as_table() else {
            return self
                .report_wrong_value(value.span(), &format!("`{provider}` must be a table: `[providers.{provider}]`"));
        };
        match find_vendor(provider) {
            Some(_) => self.known_provider(provider, table),
            None => self.own_provider(provider, at, table),
        }
    }

    fn known_provider(&mut self, provider: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            match &**key.get_ref() {
                "base_url" => {
                    if let Some(address) = self.address(provider, value) {
                        let says = (provider.to_owned(), address, self.name.to_owned());
                        self.found.settings.addresses.push(says);
                    }
                }
                "api" => match value.get_ref().as_str().and_then(VendorApi::parse_name) {
                    Some(api) if has_api(provider, api) => {
                        self.found.settings.apis.push((provider.to_owned(), api));
                    }
                    _ => self.report_wrong_value(value.span(), &no_such_api(provider)),
                },
                name => self.no_key(key.span(), &format!("providers.{provider}"), name, "`base_url`, `api`"),
            }
        }
    }

    fn own_provider(&mut self, provider: &str, at: Range<usize>, table: &DeTable<'_>) {
        let (mut base_url, mut api, mut key_env) = (None, None, None);
        for (key, value) in table {
            let text = value.get_ref().as_str();
            match &**key.get_ref() {
                "base_url" => base_url = self.address(provider, value),
                "api" => match text.and_then(VendorApi::parse_name) {
                    Some(read) => api = Some(read),
                    None => self.report_wrong_value(value.span(), "`api` must be `\"chat\"` or `\"responses\"`"),
                },
                "key_env" => match text {
                    Some(variable) => match wrong_key(variable) {
                        None => key_env = Some(variable.to_owned()),
                        Some(wrong) => self.report_wrong_value(value.span(), &wrong),
                    },
                    None => {
                        self.report_wrong_value(value.span(), "`key_env` must be the name of an environment variable")
                    }
                },
                name => self.no_key(key.span(), &format!("providers.{provider}"), name, "`base_url`, `api`, `key_env`"),
            }
        }
        if !table.keys().any(|key| &**key.get_ref() == "base_url") {
            let message =
                format!("`[providers.{provider}]` needs `base_url`, because `{provider}` is not a known provider");
            return self.report_wrong_value(at, &message);
        }
        let Some(base_url) = base_url else { return };
        let file = self.name.to_owned();
        let declared = DeclaredProvider { name: provider.to_owned(), base_url, api, key_env, file };
        self.found.settings.providers.retain(|other| other.name != declared.name);
        self.found.settings.providers.push(declared);
    }

    fn address(&mut self, provider: &str, value: &Spanned<DeValue<'_>>) -> Option<String> {
        let Some(text) = value.get_ref().as_str() else {
            self.report_wrong_value(value.span(), "`base_url` must be a URL: `\"https://host/v1\"`");
            return None;
        };
        let read = match find_vendor(provider) {
            Some(vendor) => vendor.parse_address(text),
            None => ProviderAddress::parse(text),
        };
        match read {
            Ok(_) => Some(text.to_owned()),
            Err(why) => {
                self.report_wrong_value(value.span(), &format!("`base_url` of `{provider}` {why}"));
                None
            }
        }
    }

    /// The message for a provider that is neither known nor declared.
    pub(super) fn unknown_provider_message(&self, provider: &str) -> Option<String> {
        let mut all: Vec<&str> = Registry::known_providers().collect();
        all.extend(self.found.settings.providers.iter().map(|declared| &*declared.name));
        if all.contains(&provider) {
            return None;
        }
        Some(format!("unknown provider `{provider}`; {}", unknown_help(provider, all)))
    }
}

/// Why a provider cannot have this name.
fn wrong_name(name: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(is_plain) {
        return Some(format!("the provider `{name}` must be named with letters, digits, `-`, `_` and `.`"));
    }
    if matches!(name, "embedded" | "scripted") {
        return Some(format!("a provider cannot be named `{name}`"));
    }
    let near = find_misspelled_provider(name)?;
    Some(format!("unknown provider `{name}`; did you mean `{near}`? If not, choose a name that is less similar"))
}

/// Why this variable cannot have the key of a declared provider. The key of a known one is not sent to another host.
fn wrong_key(variable: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if variable.is_empty() || !variable.chars().all(is_plain) {
        return Some("`key_env` must be the name of an environment variable".to_owned());
    }
    let other = VENDORS.iter().find(|vendor| vendor.key_variable == variable)?;
    Some(format!("`{variable}` has the key of `{}`; put the key of this provider in another variable", other.name))
}

fn has_api(provider: &str, api: VendorApi) -> bool {
    matches!(find_vendor(provider), Some(vendor) if vendor.protocol.with_api(api).is_some())
}

fn no_such_api(provider: &str) -> String {
    match (has_api(provider, VendorApi::Chat), has_api(provider, VendorApi::Responses)) {
        (true, true) => "`api` must be `\"chat\"` or `\"responses\"`".to_owned(),
        (true, false) => {
            format!("`api` must be `\"chat\"`; remove it to use the native API of `{provider}`")
        }
        (false, _) => format!("`{provider}` has only one API; remove `api`"),
    }
}
