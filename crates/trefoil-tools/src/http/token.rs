//! Tokens that were got, in memory only. Calls that want the same token at the same time get it once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use trefoil_runtime::ToolError;

use super::auth::Auth;
use crate::guard::Client;

/// Different tokens that are kept.
const MOST: usize = 1_000;

/// The tokens of a process.
#[derive(Default)]
pub struct Tokens(Mutex<HashMap<String, Arc<Slot>>>);

#[derive(Default)]
struct Slot(tokio::sync::Mutex<Option<(Arc<str>, Instant)>>);

impl Tokens {
    /// A token that is good, as far as is known.
    pub async fn get(&self, client: &Client, auth: &Auth) -> Result<Arc<str>, ToolError> {
        let slot = self.slot(&auth.key);
        let mut held = slot.0.lock().await;
        if let Some((token, until)) = &*held
            && *until > Instant::now()
        {
            return Ok(token.clone());
        }
        let (token, lives) = auth.read(&client.send(auth.call()).await?)?;
        let token: Arc<str> = token.into();
        // A life without end is as good as a day's.
        *held = Some((token.clone(), Instant::now() + lives.min(Duration::from_secs(86_400))));
        Ok(token)
    }

    /// This token is not good any more; another one that somebody has got since is.
    pub async fn forget(&self, auth: &Auth, token: &str) {
        let slot = self.slot(&auth.key);
        let mut held = slot.0.lock().await;
        if held.as_ref().is_some_and(|(have, _)| **have == *token) {
            *held = None;
        }
    }

    fn slot(&self, key: &str) -> Arc<Slot> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST && !all.contains_key(key) {
            all.clear();
        }
        all.entry(key.to_owned()).or_default().clone()
    }
}
