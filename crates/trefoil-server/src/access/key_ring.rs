//! Keys: made, listed, revoked, and recognized. The store has a hash of each, never the key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use trefoil_runtime::locks::lock;
use trefoil_store::{Document, Store, StoreError};
use trefoil_template::read_json_bytes;
use utoipa::ToSchema;

use super::KeyRights;

/// The collection of documents with keys.
const COLLECTION: &str = "api-key";
/// How a key begins, so that people and scanners recognize one.
const PREFIX: &str = "trefoil_";
/// How long a server may believe what it has read of a key: a revoked one is refused after that.
const FRESH: Duration = Duration::from_secs(1);
/// Time between two looks at the key of an open stream.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// The most keys in one list.
const MOST: usize = 1_000;
/// The most keys that are remembered.
const REMEMBERED: usize = 10_000;

/// A key, without what is secret.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct KeyRecord {
    /// Its id, which is a part of the key.
    #[serde(default)]
    pub id: String,
    /// Its name: who or what uses it.
    pub name: String,
    /// When it was made: milliseconds since 1970-01-01 UTC.
    pub created: u64,
    /// What it may be used for.
    #[serde(flatten)]
    pub rights: KeyRights,
}

/// A key as it is stored.
#[derive(Serialize, Deserialize)]
struct StoredKey {
    #[serde(flatten)]
    record: KeyRecord,
    /// The hash of its secret, which no interface shows.
    #[serde(default)]
    hash: String,
}

/// Why keys cannot be used.
#[derive(Debug)]
pub enum KeyError {
    /// The store.
    Store(StoreError),
    /// The system gives no random numbers.
    NoRandom,
    /// Its name is empty or too long, or would do something in a terminal or a log.
    Name,
    /// Several keys have this name. Their ids.
    SameName(Vec<String>),
}

impl From<StoreError> for KeyError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl std::fmt::Display for KeyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::NoRandom => f.write_str("the system gives no random numbers"),
            Self::Name => f.write_str("the name of a key has 1 to 100 characters, and none of them is a line break or another control character"),
            Self::SameName(ids) => write!(f, "{} keys have this name: {}", ids.len(), ids.join(", ")),
        }
    }
}

/// What was read of a key, and when.
type FreshKey = (Instant, Arc<StoredKey>);

/// The keys in a store.
pub struct KeyRing {
    store: Arc<dyn Store>,
    fresh: Mutex<HashMap<String, FreshKey>>,
}

impl KeyRing {
    /// Those of a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, fresh: Mutex::default() }
    }

    /// Makes a key. It is returned this once, with its record.
    ///
    /// # Errors
    ///
    /// The store, or what is wrong with the name.
    pub async fn add_key(&self, name: &str, rights: KeyRights) -> Result<(String, KeyRecord), KeyError> {
        if name.trim().is_empty() || name.chars().count() > 100 || name.chars().any(char::is_control) {
            return Err(KeyError::Name);
        }
        let (mut id, mut secret) = ([0; 6], [0; 32]);
        let random = SystemRandom::new();
        if random.fill(&mut id).is_err() || random.fill(&mut secret).is_err() {
            return Err(KeyError::NoRandom);
        }
        let id = hex(&id);
        let secret = BASE64_URL_SAFE_NO_PAD.encode(secret);
        let created = self.store.clock().wall_ms();
        let record = KeyRecord { id: id.clone(), name: name.trim().to_owned(), created, rights };
        let stored = StoredKey { record: record.clone(), hash: hash_secret(&secret) };
        let value = serde_json::to_string(&stored).unwrap_or_default();
        let document =
            Document { collection: COLLECTION.to_owned(), name: id.clone(), version: 0, value, expires: None };
        self.store.write_document(document).await?;
        Ok((format!("{PREFIX}{id}_{secret}"), record))
    }

    /// All keys, by id.
    ///
    /// # Errors
    ///
    /// The store.
    pub async fn list_keys(&self) -> Result<Vec<KeyRecord>, KeyError> {
        let now = self.store.clock().wall_ms();
        let mut keys = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.store.list_documents(COLLECTION, after.as_deref(), MOST, now).await?;
            let Some(last) = page.last() else { return Ok(keys) };
            after = Some(last.name.clone());
            for document in &page {
                keys.extend(read_stored(document).map(|stored| stored.record));
            }
        }
    }

    /// Revokes a key, by its id, or by its name if no other key has it. `None`: there is none.
    ///
    /// # Errors
    ///
    /// The store; [`KeyError::SameName`] if several keys have this name, of which none is revoked.
    pub async fn revoke_key(&self, named: &str) -> Result<Option<KeyRecord>, KeyError> {
        let mut found: Vec<KeyRecord> = Vec::new();
        for key in self.list_keys().await? {
            if key.id == named {
                found = vec![key];
                break;
            }
            if key.name == named {
                found.push(key);
            }
        }
        if found.len() > 1 {
            return Err(KeyError::SameName(found.into_iter().map(|key| key.id).collect()));
        }
        let Some(key) = found.pop() else { return Ok(None) };
        let is_gone = self.store.delete_document(COLLECTION, &key.id).await?;
        lock(&self.fresh).remove(&key.id);
        Ok(if is_gone { Some(key) } else { None })
    }

    /// The record of a key that a client has sent. `None`: it is none, or was revoked.
    ///
    /// # Errors
    ///
    /// The store.
    pub async fn find_key(&self, sent: &str) -> Result<Option<KeyRecord>, StoreError> {
        let Some((id, secret)) = sent.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_')) else {
            return Ok(None);
        };
        if id.len() != 12 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let Some(stored) = self.read_key(id).await? else { return Ok(None) };
        // Hashes are compared, so the time of the comparison tells nothing about the key.
        if stored.hash == hash_secret(secret) { Ok(Some(stored.record.clone())) } else { Ok(None) }
    }

    /// Waits until a key is no longer in the store. Returns a few seconds after that at the latest. What cannot be read is
    /// looked at again.
    pub async fn wait_revoked(&self, id: &str) {
        loop {
            tokio::time::sleep(LOOK_AGAIN).await;
            if let Ok(None) = self.read_key(id).await {
                return;
            }
        }
    }

    async fn read_key(&self, id: &str) -> Result<Option<Arc<StoredKey>>, StoreError> {
        if let Some((read, record)) = lock(&self.fresh).get(id)
            && read.elapsed() < FRESH
        {
            return Ok(Some(record.clone()));
        }
        let now = self.store.clock().wall_ms();
        let found = self.store.read_document(COLLECTION, id, now).await?;
        let record = found.as_ref().and_then(read_stored).map(Arc::new);
        let mut fresh = lock(&self.fresh);
        if fresh.len() >= REMEMBERED {
            fresh.clear();
        }
        match &record {
            Some(record) => drop(fresh.insert(id.to_owned(), (Instant::now(), record.clone()))),
            None => drop(fresh.remove(id)),
        }
        Ok(record)
    }
}

/// A record as it is stored. What cannot be read is no key.
fn read_stored(document: &Document) -> Option<StoredKey> {
    let mut stored: StoredKey = read_json_bytes(document.value.as_bytes()).ok()?;
    stored.record.id.clone_from(&document.name);
    Some(stored)
}

fn hash_secret(secret: &str) -> String {
    hex(&Sha256::digest(secret))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}
