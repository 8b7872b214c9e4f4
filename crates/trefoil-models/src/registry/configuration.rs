//! The operator's settings for each provider, for display: where its key and address come from, but never the key.

use std::sync::Arc;

use super::{ProviderAvailability, Registry};
use crate::vendors::Vendor;

/// The settings of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderConfiguration {
    /// Its name.
    pub provider: &'static str,
    /// Its protocol, by [`VendorProtocol::name`](crate::VendorProtocol::name).
    pub protocol: &'static str,
    /// Whether it can be called.
    pub availability: ProviderAvailability,
    /// The environment variable for its key; `None` if it gets none.
    pub key_variable: Option<&'static str>,
    /// The key is set.
    pub has_key: bool,
    /// Its address without the query; `None` if it is not set or invalid.
    pub address: Option<String>,
    /// Where its address comes from.
    pub said_by: AddressSource,
    /// Whether the connection is unencrypted and leaves this machine.
    pub open: bool,
    /// Whether the connection is encrypted.
    pub encrypted: bool,
}

/// The source of a provider's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressSource {
    /// The vendor's default.
    Vendor,
    /// This environment variable.
    Variable(&'static str),
    /// This file of the operator.
    File(Arc<str>),
}

impl Registry {
    /// All providers, in the order they are shown.
    pub fn list_configurations(&self) -> Vec<ProviderConfiguration> {
        self.vendors().map(|vendor| self.configured_as(vendor)).collect()
    }

    fn configured_as(&self, vendor: &Vendor) -> ProviderConfiguration {
        let said = self.env.get(vendor.base_url_variable).map(String::as_str);
        let address = match said.or(vendor.base_url) {
            Some(text) => vendor.parse_address(text).ok(),
            None => None,
        };
        let said_by = match (said, self.files.get(vendor.name)) {
            (_, Some(file)) => AddressSource::File(file.clone()),
            (Some(_), None) => AddressSource::Variable(vendor.base_url_variable),
            (None, None) => AddressSource::Vendor,
        };
        ProviderConfiguration {
            provider: vendor.name,
            protocol: self.protocol(vendor).name(),
            availability: self.provider_availability(vendor.name),
            key_variable: if vendor.key_variable.is_empty() { None } else { Some(vendor.key_variable) },
            has_key: self.env.contains_key(vendor.key_variable),
            open: matches!(&address, Some(address) if address.is_open()),
            encrypted: matches!(&address, Some(address) if address.is_encrypted()),
            address: address.map(|address| address.without_query()),
            said_by,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_keys_and_addresses_come_from_is_told_and_the_key_is_not() {
        let env = [("OPENAI_API_KEY", "sk-very-secret"), ("GROQ_BASE_URL", "http://10.0.0.7/v1?token=abc")];
        let registry = Registry::new(env.map(|(k, v)| (k.to_owned(), v.to_owned())));
        let registry = registry.with_address("ollama", "http://localhost:9/v1", "config.toml");
        let all = registry.list_configurations();
        let of = |name: &str| all.iter().find(|one| one.provider == name).unwrap();
        assert!(of("openai").has_key && of("openai").said_by == AddressSource::Vendor);
        assert_eq!(of("openai").address.as_deref(), Some("https://api.openai.com/v1"));
        assert_eq!(of("groq").address.as_deref(), Some("http://10.0.0.7/v1"), "some put a key after the path");
        assert!(of("groq").open && !of("groq").has_key);
        assert_eq!(of("groq").said_by, AddressSource::Variable("GROQ_BASE_URL"));
        assert_eq!(of("ollama").said_by, AddressSource::File("config.toml".into()));
        assert_eq!(of("ollama").availability, ProviderAvailability::Ready);
        assert_eq!(of("azure").address, None);
        assert!(!format!("{all:?}").contains("secret"));
    }
}
