//! A cache of tokens, in memory only. Concurrent requests for the same token get it once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use trefoil_runtime::ToolError;

use super::auth::TokenAuth;
use crate::guard::HttpAnswer;
use trefoil_runtime::locks::lock;

/// Maximum number of tokens in the cache.
const MOST: usize = 1_000;

/// The token cache of a process.
#[derive(Default)]
pub struct TokenCache(Mutex<HashMap<String, Arc<TokenSlot>>>);

#[derive(Default)]
struct TokenSlot(tokio::sync::Mutex<Option<(Arc<str>, Instant)>>);

impl TokenCache {
    /// Returns a cached token that has not expired, or the one in this answer, which is only requested if needed.
    pub async fn get_token(
        &self,
        auth: &TokenAuth,
        answer: impl Future<Output = Result<HttpAnswer, ToolError>>,
    ) -> Result<Arc<str>, ToolError> {
        let slot = self.slot(&auth.key);
        let mut held = slot.0.lock().await;
        if let Some((token, until)) = &*held
            && *until > Instant::now()
        {
            return Ok(token.clone());
        }
        let (token, lives) = auth.read_token(&answer.await?)?;
        let token: Arc<str> = token.into();
        // A cached token is replaced after a day at the latest.
        *held = Some((token.clone(), Instant::now() + lives.min(Duration::from_secs(86_400))));
        Ok(token)
    }

    /// Forgets this token, but not a newer one.
    pub async fn forget_token(&self, auth: &TokenAuth, token: &str) {
        let slot = self.slot(&auth.key);
        let mut held = slot.0.lock().await;
        if held.as_ref().is_some_and(|(have, _)| **have == *token) {
            *held = None;
        }
    }

    fn slot(&self, key: &str) -> Arc<TokenSlot> {
        let mut all = lock(&self.0);
        if all.len() >= MOST && !all.contains_key(key) {
            all.clear();
        }
        all.entry(key.to_owned()).or_default().clone()
    }
}
