//! Resolves names, and passes only allowed addresses to the connection.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address;
use super::rules::Rules;

/// Looks names up.
#[async_trait]
pub trait Lookup: Send + Sync {
    /// The addresses of a name.
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The name lookup of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

#[async_trait]
impl Lookup for System {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|found| found.ip()).collect())
    }
}

/// The resolver of the connection: returns only allowed addresses.
pub(super) struct Checked {
    pub lookup: Arc<dyn Lookup>,
    pub rules: Arc<Rules>,
    /// Whether the operator has allowed this name, whatever its addresses are.
    pub trusted: bool,
}

/// All addresses of a name are forbidden. The client looks for this error inside those of the HTTP library.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotPublic(pub String);

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, rules, trusted) = (self.lookup.clone(), self.rules.clone(), self.trusted);
        Box::pin(async move {
            let found = lookup.addresses(name.as_str()).await?;
            let mut refused = None;
            let mut kept = Vec::new();
            for address in found {
                match address::check(address) {
                    Err(why) if !trusted && !rules.allow.iter().any(|rule| rule.holds(address)) => refused = Some(why),
                    _ => kept.push(SocketAddr::new(address, 0)),
                }
            }
            match refused {
                Some(why) if kept.is_empty() => Err(NotPublic(format!("`{}`: {why}", name.as_str())).into()),
                _ => Ok(Box::new(kept.into_iter()) as Addrs),
            }
        })
    }
}
