//! Derives keys from passphrases, with Argon2id (RFC 9106): slow to try, with a separate salt for each file.
//!
//! The passphrase comes from `TREFOIL_SECRETS_PASSPHRASE`, or from the person at the terminal, whom the command line
//! asks ([`ask_with`]). It is requested once.

use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{CHACHA20_POLY1305, LessSafeKey, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};

/// The environment variable with the passphrase.
pub const VARIABLE: &str = "TREFOIL_SECRETS_PASSPHRASE";
/// The length of a salt in bytes.
const SALT: usize = 16;
/// Memory and passes for a new file: the second recommended option of RFC 9106, with one thread.
const MEMORY_KIB: u32 = 64 << 10;
const PASSES: u32 = 3;
/// A file with a larger value is not ours, and would exhaust the memory.
const MOST_MEMORY_KIB: u32 = 1 << 20;
const MOST_PASSES: u32 = 64;

/// The parameters of the key derivation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyDerivation {
    salt: String,
    memory_kib: u32,
    passes: u32,
}

impl KeyDerivation {
    /// With a new salt. `None`: the system's random number generator failed.
    pub fn new() -> Option<Self> {
        let mut salt = [0; SALT];
        SystemRandom::new().fill(&mut salt).ok()?;
        Some(Self { salt: STANDARD.encode(salt), memory_kib: MEMORY_KIB, passes: PASSES })
    }

    /// The key. `None`: the parameters are invalid. The last key is cached, because a run reads several secrets.
    pub fn derive_key(&self, passphrase: &str) -> Option<LessSafeKey> {
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made, text, key)) = &*last
            && made == self
            && text == passphrase
        {
            return Some(key.clone());
        }
        let key = self.made_key(passphrase)?;
        *last = Some((self.clone(), passphrase.to_owned(), key.clone()));
        Some(key)
    }

    fn made_key(&self, passphrase: &str) -> Option<LessSafeKey> {
        if self.memory_kib > MOST_MEMORY_KIB || self.passes > MOST_PASSES {
            return None;
        }
        let salt = STANDARD.decode(&self.salt).ok()?;
        let mut bytes = [0; 32];
        let params = Params::new(self.memory_kib, self.passes, 1, Some(bytes.len())).ok()?;
        let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        argon.hash_password_into(passphrase.as_bytes(), &salt, &mut bytes).ok()?;
        Some(LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &bytes).ok()?))
    }
}

/// Asks the person at the terminal for the passphrase of a file. `None`: nobody is there.
pub type PassphrasePrompt = fn(&Path) -> Option<String>;

static ASK: OnceLock<PassphrasePrompt> = OnceLock::new();
static LAST: Mutex<Option<(KeyDerivation, String, LessSafeKey)>> = Mutex::new(None);
static KNOWN: Mutex<Option<String>> = Mutex::new(None);

/// Sets the function; the first call counts.
pub fn ask_with(ask: PassphrasePrompt) {
    let _ = ASK.set(ask);
}

/// The passphrase, requested if it is not known yet.
#[allow(clippy::disallowed_methods, reason = "this is where secrets come from")]
pub(super) fn request_passphrase(file: &Path) -> Option<String> {
    #[cfg(test)]
    if let Some(passphrase) = tests::passphrase() {
        return passphrase;
    }
    if let Ok(text) = std::env::var(VARIABLE)
        && !text.is_empty()
    {
        return Some(text);
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known.is_none()
        && let Some(ask) = ASK.get()
        && let Some(text) = ask(file)
        && !text.is_empty()
    {
        *known = Some(text);
    }
    known.clone()
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::RefCell;

    use super::*;

    thread_local! {
        static SAYS: RefCell<Option<Option<String>>> = const { RefCell::new(None) };
    }

    pub(super) fn passphrase() -> Option<Option<String>> {
        SAYS.with_borrow(Clone::clone)
    }

    /// Runs `todo` with this passphrase.
    pub fn say(text: Option<&str>, todo: impl FnOnce()) {
        SAYS.set(Some(text.map(str::to_owned)));
        todo();
        SAYS.set(None);
    }

    #[test]
    fn keys_are_those_of_argon2id() {
        // The key is from the reference implementation, the ciphertext from OpenSSL's ChaCha20-Poly1305.
        let made = KeyDerivation { salt: STANDARD.encode("somesaltsomesalt"), memory_kib: 64, passes: 1 };
        let key = made.derive_key("password").unwrap();
        let mut sealed = b"text".to_vec();
        let nonce = || ring::aead::Nonce::assume_unique_for_key([0; 12]);
        key.seal_in_place_append_tag(nonce(), ring::aead::Aad::empty(), &mut sealed).unwrap();
        assert_eq!(STANDARD.encode(&sealed), "miagk6knm9LikJXw0uDCS7ZyxlI=");
        assert!(KeyDerivation { memory_kib: u32::MAX, ..made.clone() }.derive_key("x").is_none());
        assert!(KeyDerivation { passes: 0, ..made }.derive_key("x").is_none());
    }
}
