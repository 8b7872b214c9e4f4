//! Resolves names, and passes only allowed addresses to the connection.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address;
use super::rules::GuardRules;

/// Looks names up.
#[async_trait]
pub trait HostNameLookup: Send + Sync {
    /// The addresses of a name.
    async fn resolve_addresses(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The name lookup of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemLookup;

#[async_trait]
impl HostNameLookup for SystemLookup {
    async fn resolve_addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|found| found.ip()).collect())
    }
}

/// The resolver of the connection: returns only allowed addresses.
pub(super) struct GuardedResolver {
    pub lookup: Arc<dyn HostNameLookup>,
    pub rules: Arc<GuardRules>,
    /// Whether the operator has allowed this name, whatever its addresses are.
    pub trusted: bool,
}

/// All addresses of a name are forbidden. The client looks for this error inside those of the HTTP library.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NoPublicAddress(pub String);

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, rules, trusted) = (self.lookup.clone(), self.rules.clone(), self.trusted);
        Box::pin(async move {
            let found = lookup.resolve_addresses(name.as_str()).await?;
            let mut refused = None;
            let mut kept = Vec::new();
            for address in found {
                match address::check_public(address) {
                    Err(why) if !trusted && !rules.allow.iter().any(|rule| rule.allows_address(address)) => {
                        refused = Some(why)
                    }
                    _ => kept.push(SocketAddr::new(address, 0)),
                }
            }
            match refused {
                Some(why) if kept.is_empty() => Err(NoPublicAddress(format!("`{}`: {why}", name.as_str())).into()),
                _ => Ok(Box::new(kept.into_iter()) as Addrs),
            }
        })
    }
}
