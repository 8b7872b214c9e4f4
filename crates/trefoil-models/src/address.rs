//! Addresses of providers, validated in one place before anything is sent to them.
//!
//! An address comes from the operator (see [`crate::registry`]), never from a manifest. An invalid one is reported
//! before the run starts. This module does no lookups and opens no connections.

use std::fmt;

use url::{Host, Url};

/// The base URL of a provider: http or https, a host, no user, no password.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderAddress(Url);

/// Why an address is invalid. Does not repeat the address, which may contain a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is not a URL.
    #[error("is not a URL such as `https://host/path`")]
    Malformed,
    /// Neither `http` nor `https`.
    #[error("is not an http or https URL")]
    Scheme,
    /// It has no host.
    #[error("has no host")]
    Host,
    /// It contains a user name or a password.
    #[error("contains a user name or password; put the key in the provider's key variable")]
    UserInfo,
    /// It contains the name of a deployment, which is the model.
    #[error("names a deployment; write it without `/deployments/...`, and the deployment as the model")]
    Deployment,
    /// Port 0 cannot be used.
    #[error("has port 0")]
    Port,
}

impl ProviderAddress {
    /// Parses and validates an address.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        // URL parsers accept line breaks, tabs, `\` for `/` and a missing `//`. People read such an address differently
        // from the parser, so it is invalid.
        let odd = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
        if text.is_empty() || text.chars().any(odd) {
            return Err(AddressError::Malformed);
        }
        let mut url = Url::parse(text).map_err(|_| AddressError::Malformed)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(AddressError::Scheme);
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(AddressError::Host);
        }
        // `https://api.vendor.com@elsewhere/` looks like the vendor's address but is not.
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressError::UserInfo);
        }
        let after = text.get(url.scheme().len()..).and_then(|rest| rest.strip_prefix("://"));
        let rest = after.ok_or(AddressError::Malformed)?;
        let written = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if written.is_empty() {
            return Err(AddressError::Malformed);
        }
        if written.contains('@') {
            return Err(AddressError::UserInfo);
        }
        if url.port() == Some(0) {
            return Err(AddressError::Port);
        }
        url.set_fragment(None);
        Ok(Self(url))
    }

    /// The whole URL.
    pub fn as_url(&self) -> &Url {
        &self.0
    }

    /// Scheme, host and port, which determine who receives the key.
    pub fn origin_text(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    /// The address without its query, which may contain a key.
    pub fn without_query(&self) -> String {
        format!("{}{}", self.origin_text(), self.0.path().trim_end_matches('/'))
    }

    /// Whether the connection is encrypted, also if it is to this machine.
    pub fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether the connection is unencrypted: plain http to another machine.
    pub fn is_open(&self) -> bool {
        let here = match self.0.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            None => false,
        };
        self.0.scheme() == "http" && !here
    }
}

/// Like [`ProviderAddress::without_query`].
impl fmt::Debug for ProviderAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({}{})", self.origin_text(), self.0.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_address_of_a_provider_is_refused_with_its_reason() {
        let refused = [
            ("", AddressError::Malformed),
            ("host", AddressError::Malformed),
            ("http://a b/", AddressError::Malformed),
            ("http://a\nb/", AddressError::Malformed),
            ("http://", AddressError::Malformed),
            ("file:///etc/passwd", AddressError::Scheme),
            ("javascript:alert(1)", AddressError::Scheme),
            ("https://api.openai.com@elsewhere.test/v1", AddressError::UserInfo),
            ("https://u:pw@h", AddressError::UserInfo),
            ("http://h:0", AddressError::Port),
            ("https:h", AddressError::Malformed),
            ("https:///h", AddressError::Malformed),
            ("https:\\\\h", AddressError::Malformed),
            ("https://@h", AddressError::UserInfo),
            ("http:@o://h", AddressError::Malformed),
            ("https://:@h", AddressError::UserInfo),
        ];
        for (text, why) in refused {
            assert_eq!(ProviderAddress::parse(text).unwrap_err(), why, "{text:?}");
        }
    }

    #[test]
    fn what_is_one_says_who_gets_the_key() {
        let address = |text: &str| ProviderAddress::parse(text).unwrap();
        assert_eq!(address(" https://API.OpenAI.com:443/v1 ").origin_text(), "https://api.openai.com");
        assert_eq!(address("http://2130706433/").origin_text(), "http://127.0.0.1");
        assert!(!address("http://127.0.0.1:8080").is_open() && !address("http://localhost/v1").is_open());
        assert!(address("http://10.0.0.7/v1").is_open() && !address("https://10.0.0.7/v1").is_open());
        assert_eq!(format!("{:?}", address("https://h/v1?key=secret#x")), "Address(https://h/v1)");
    }
}
