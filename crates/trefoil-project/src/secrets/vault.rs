//! The encrypted file: `secrets.json` in the user's data folder. Names and dates are readable; values are encrypted
//! with ChaCha20-Poly1305 (RFC 8439) and a key of 32 bytes. The name is authenticated as well, so that values cannot be
//! swapped.
//!
//! The key is in `TREFOIL_SECRETS_KEY` (base64), or in `secrets.key` in the user's configuration folder, which is
//! created with the first secret. Or it is derived from a passphrase (see [`passphrase`](super::passphrase)) and not
//! stored in a file. Both files are readable only by the user (0600).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use etcetera::BaseStrategy as _;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};

use trefoil_runtime::ports::Secret;

use super::LARGEST;
use super::file_lock::{self, FileLock};
use super::passphrase::{self, KeyDerivation};
use crate::file_access;
use crate::folders::config_folder;
use crate::private_files;

/// The environment variable with the key.
const KEY: &str = "TREFOIL_SECRETS_KEY";
/// The maximum size of the file in bytes.
const BYTES: u64 = 16 << 20;
/// The minimum length of a passphrase in characters.
const SHORTEST: usize = 8;
/// The format version.
const VERSION: u32 = 1;

/// Why an operation on the vault failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    /// There is no home folder.
    #[error("no folder for secrets: set `TREFOIL_CONFIG_DIR`")]
    NoFolder,
    /// The name is invalid.
    #[error("`{0}` is not a valid name: use letters, digits, `_` and `-`, and start with a letter or `_`")]
    NotAName(String),
    /// The value is empty.
    #[error("the value is empty")]
    Empty,
    /// The value is too large.
    #[error("the value is larger than {} KB", LARGEST >> 10)]
    TooLarge,
    /// A file cannot be read or written.
    #[error("`{0}`: {1}")]
    File(String, String),
    /// A file has invalid contents.
    #[error("`{0}` is damaged, or written by a later version")]
    Damaged(String),
    /// The key is not 32 bytes.
    #[error("{0} is not a valid key: it must be 32 bytes in base64")]
    NotAKey(String),
    /// The file was encrypted with another key.
    #[error("`{0}` was encrypted with a different key")]
    OtherKey(String),
    /// No passphrase was entered.
    #[error("`{0}` is protected by a passphrase, and `{VARIABLE}` is not set", VARIABLE = passphrase::VARIABLE)]
    NoPassphrase(String),
    /// The passphrase is wrong.
    #[error("wrong passphrase for `{0}`")]
    WrongPassphrase(String),
    /// The passphrase is too short.
    #[error("the passphrase is too short: use at least {SHORTEST} characters")]
    ShortPassphrase,
    /// No key can be derived from the passphrase.
    #[error("cannot derive a key from this passphrase")]
    BadPassphrase,
}

impl VaultError {
    /// Advice.
    pub fn help_text(&self) -> Option<String> {
        match self {
            Self::NoPassphrase(_) => Some(format!("set `{}`, or run the command in a terminal", passphrase::VARIABLE)),
            Self::OtherKey(_) => Some(format!("set `{KEY}`, or restore the original `secrets.key`")),
            _ => None,
        }
    }
}

/// The encrypted file of a user.
#[derive(Debug, Clone)]
pub struct SecretVault {
    file: PathBuf,
    key_file: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct VaultContents {
    version: u32,
    /// The passphrase parameters; `None`: the key is in a file, or in the environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    passphrase: Option<ProtectedKey>,
    secrets: BTreeMap<String, SealedValue>,
}

/// How the key is derived, and a ciphertext that only the right key decrypts.
#[derive(Serialize, Deserialize)]
struct ProtectedKey {
    #[serde(flatten)]
    made: KeyDerivation,
    check: SealedValue,
}

/// The name of that ciphertext, which no secret can have.
const CHECK: &str = "";

#[derive(Serialize, Deserialize)]
struct SealedValue {
    nonce: String,
    sealed: String,
}

/// Whether a text is a valid name of a secret.
pub fn is_name(name: &str) -> bool {
    name.len() <= 128
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

impl SecretVault {
    /// The user's vault; `None`: there is no home folder.
    pub fn of_user() -> Option<Self> {
        let config = config_folder()?;
        // If the configuration folder is set explicitly, it also contains the data.
        let data = match std::env::var_os("TREFOIL_CONFIG_DIR") {
            Some(folder) if !folder.is_empty() => config.clone(),
            _ => etcetera::choose_base_strategy().ok()?.data_dir().join("trefoil"),
        };
        Some(Self { file: data.join("secrets.json"), key_file: config.join("secrets.key") })
    }

    /// A vault whose files are in this folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self { file: folder.join("secrets.json"), key_file: folder.join("secrets.key") }
    }

    /// The path of the file.
    pub fn file_path(&self) -> &Path {
        &self.file
    }

    /// The names, in order.
    pub fn secret_names(&self) -> Result<Vec<String>, VaultError> {
        Ok(self.read()?.secrets.into_keys().collect())
    }

    /// A value; `None`: the name is unknown.
    pub fn get(&self, name: &str) -> Result<Option<Secret>, VaultError> {
        let contents = self.read()?;
        let Some(sealed) = contents.secrets.get(name) else { return Ok(None) };
        let Some(key) = self.key(&contents)? else { return Err(self.other_key()) };
        match decrypt_value(&key, name, sealed) {
            Some(text) => Ok(Secret::new(&text)),
            None => Err(self.other_key()),
        }
    }

    /// Stores a value, replacing an existing one with that name.
    pub fn set_secret(&self, name: &str, value: &str) -> Result<(), VaultError> {
        if !is_name(name) {
            return Err(VaultError::NotAName(name.to_owned()));
        }
        if value.is_empty() {
            return Err(VaultError::Empty);
        }
        if value.len() as u64 > LARGEST {
            return Err(VaultError::TooLarge);
        }
        let (mut contents, _held) = self.to_change()?;
        let key = match self.key(&contents)? {
            Some(key) => key,
            None => self.new_key()?,
        };
        // Values with different keys in one file would make it impossible to tell which key is missing.
        if let Some((name, sealed)) = contents.secrets.first_key_value()
            && decrypt_value(&key, name, sealed).is_none()
        {
            return Err(self.other_key());
        }
        let Some(sealed) = seal(&key, name, value) else { return Err(VaultError::NotAKey(KEY.to_owned())) };
        contents.secrets.insert(name.to_owned(), sealed);
        self.write(&contents)
    }

    /// Removes a value. False: the name is unknown.
    pub fn remove(&self, name: &str) -> Result<bool, VaultError> {
        if !self.read()?.secrets.contains_key(name) {
            return Ok(false);
        }
        let _held = self.exclusive()?;
        let mut contents = self.read()?;
        let removed = contents.secrets.remove(name).is_some();
        if removed {
            self.write(&contents)?;
        }
        Ok(removed)
    }

    /// The number of secrets, after decrypting one of them as a test.
    pub fn count_decryptable(&self) -> Result<usize, VaultError> {
        let contents = self.read()?;
        if let Some(name) = contents.secrets.keys().next() {
            self.get(name)?;
        }
        Ok(contents.secrets.len())
    }

    /// Encrypts everything again, with a key derived from this passphrase, or, without one, with a key in a file. The
    /// current key must be available.
    pub fn change_protection(&self, passphrase: Option<&str>) -> Result<(), VaultError> {
        let (contents, _held) = self.to_change()?;
        let before = self.key(&contents)?;
        let mut values = BTreeMap::new();
        for (name, sealed) in &contents.secrets {
            let Some(key) = &before else { return Err(self.other_key()) };
            let Some(value) = decrypt_value(key, name, sealed) else { return Err(self.other_key()) };
            values.insert(name.clone(), value);
        }
        let (key, protected) = match passphrase {
            Some(text) if text.chars().count() < SHORTEST => return Err(VaultError::ShortPassphrase),
            Some(text) => {
                let made = KeyDerivation::new().ok_or(VaultError::BadPassphrase)?;
                let key = made.derive_key(text).ok_or(VaultError::BadPassphrase)?;
                let check = seal(&key, CHECK, CHECK).ok_or(VaultError::BadPassphrase)?;
                (key, Some(ProtectedKey { made, check }))
            }
            None => match self.kept_key()? {
                Some(key) => (key, None),
                None => (self.new_key()?, None),
            },
        };
        let mut secrets = BTreeMap::new();
        for (name, value) in values {
            let sealed = seal(&key, &name, &value).ok_or(VaultError::BadPassphrase)?;
            secrets.insert(name, sealed);
        }
        self.write(&VaultContents { version: VERSION, passphrase: protected, secrets })?;
        if passphrase.is_some() {
            // It decrypts nothing any more.
            file_lock::remove_file(&self.key_file).map_err(|why| file_error(&self.key_file, &why))?;
        }
        Ok(())
    }

    fn other_key(&self) -> VaultError {
        VaultError::OtherKey(display_path(&self.file))
    }

    fn exclusive(&self) -> Result<FileLock, VaultError> {
        file_lock::lock_file(&self.file).map_err(|why| file_error(&self.file, &why))
    }

    /// The contents, with a lock that prevents other processes from changing them. The passphrase is requested before
    /// locking, because other processes would have to wait while it is typed.
    fn to_change(&self) -> Result<(VaultContents, FileLock), VaultError> {
        self.key(&self.read()?)?;
        let held = self.exclusive()?;
        Ok((self.read()?, held))
    }

    fn read(&self) -> Result<VaultContents, VaultError> {
        if !file_access::path_exists(&self.file) {
            return Ok(VaultContents { version: VERSION, passphrase: None, secrets: BTreeMap::new() });
        }
        let bytes = file_access::read_named_file(&self.file, BYTES)
            .map_err(|why| file_error(&self.file, &why.reason_text()))?;
        match serde_json::from_slice::<VaultContents>(&bytes) {
            Ok(contents) if contents.version == VERSION => Ok(contents),
            _ => Err(VaultError::Damaged(display_path(&self.file))),
        }
    }

    fn write(&self, contents: &VaultContents) -> Result<(), VaultError> {
        let text = serde_json::to_string_pretty(contents).unwrap_or_default();
        private_files::replace_private_file(&self.file, text.as_bytes()).map_err(|why| file_error(&self.file, &why))
    }

    /// The key of these contents; `None`: there is none yet.
    fn key(&self, contents: &VaultContents) -> Result<Option<LessSafeKey>, VaultError> {
        let Some(ProtectedKey { made, check }) = &contents.passphrase else { return self.kept_key() };
        let Some(text) = passphrase::request_passphrase(&self.file) else {
            return Err(VaultError::NoPassphrase(display_path(&self.file)));
        };
        let Some(key) = made.derive_key(&text) else { return Err(VaultError::Damaged(display_path(&self.file))) };
        match decrypt_value(&key, CHECK, check) {
            Some(_) => Ok(Some(key)),
            None => Err(VaultError::WrongPassphrase(display_path(&self.file))),
        }
    }

    #[allow(clippy::disallowed_methods, reason = "this is where secrets come from")]
    fn kept_key(&self) -> Result<Option<LessSafeKey>, VaultError> {
        if let Ok(text) = std::env::var(KEY)
            && !text.is_empty()
        {
            return match key_of(&text) {
                Some(key) => Ok(Some(key)),
                None => Err(VaultError::NotAKey(format!("`{KEY}`"))),
            };
        }
        if !file_access::path_exists(&self.key_file) {
            return Ok(None);
        }
        let bytes = file_access::read_named_file(&self.key_file, 1_024)
            .map_err(|why| file_error(&self.key_file, &why.reason_text()))?;
        match std::str::from_utf8(&bytes).ok().and_then(key_of) {
            Some(key) => Ok(Some(key)),
            None => Err(VaultError::NotAKey(format!("`{}`", display_path(&self.key_file)))),
        }
    }

    fn new_key(&self) -> Result<LessSafeKey, VaultError> {
        let mut bytes = [0; 32];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| file_error(&self.key_file, &"the system's random number generator failed"))?;
        let text = STANDARD.encode(bytes);
        private_files::replace_private_file(&self.key_file, text.as_bytes())
            .map_err(|why| file_error(&self.key_file, &why))?;
        key_of(&text).ok_or_else(|| VaultError::NotAKey(KEY.to_owned()))
    }
}

fn key_of(text: &str) -> Option<LessSafeKey> {
    let bytes = STANDARD.decode(text.trim()).ok()?;
    Some(LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &bytes).ok()?))
}

fn bound_to(name: &str) -> Aad<Vec<u8>> {
    Aad::from(format!("trefoil secrets {VERSION}\0{name}").into_bytes())
}

fn seal(key: &LessSafeKey, name: &str, value: &str) -> Option<SealedValue> {
    let mut nonce = [0; NONCE_LEN];
    SystemRandom::new().fill(&mut nonce).ok()?;
    let mut bytes = value.as_bytes().to_vec();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), bound_to(name), &mut bytes).ok()?;
    Some(SealedValue { nonce: STANDARD.encode(nonce), sealed: STANDARD.encode(bytes) })
}

fn decrypt_value(key: &LessSafeKey, name: &str, sealed: &SealedValue) -> Option<String> {
    let nonce = STANDARD.decode(&sealed.nonce).ok()?;
    let mut bytes = STANDARD.decode(&sealed.sealed).ok()?;
    let nonce = Nonce::try_assume_unique_for_key(&nonce).ok()?;
    let value = key.open_in_place(nonce, bound_to(name), &mut bytes).ok()?;
    String::from_utf8(value.to_vec()).ok()
}

fn file_error(path: &Path, why: &dyn std::fmt::Display) -> VaultError {
    VaultError::File(display_path(path), why.to_string())
}

fn display_path(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vault(folder: &Path) -> SecretVault {
        SecretVault { file: folder.join("data/secrets.json"), key_file: folder.join("config/secrets.key") }
    }

    #[test]
    fn what_is_kept_comes_back_and_is_not_readable_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let vault = vault(folder.path());
        assert_eq!((vault.secret_names(), vault.get("A")), (Ok(Vec::new()), Ok(None)));
        let read = |name: &str| vault.get(name).unwrap().map(|secret| secret.expose_value().to_owned());
        vault.set_secret("B_KEY", "hunter2-hunter2").unwrap();
        vault.set_secret("A", "ü\n").unwrap();
        vault.set_secret("A", "second").unwrap();
        assert_eq!(vault.secret_names().unwrap(), ["A", "B_KEY"]);
        assert_eq!(read("A").as_deref(), Some("second"));
        let text = std::fs::read_to_string(vault.file_path()).unwrap();
        assert!(!text.contains("hunter2") && !text.contains(&STANDARD.encode("hunter2-hunter2")), "{text}");
        #[cfg(unix)]
        for file in [&vault.file, &vault.key_file] {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!((vault.remove("A"), vault.remove("A")), (Ok(true), Ok(false)));
        assert_eq!(vault.secret_names().unwrap(), ["B_KEY"]);
    }

    #[test]
    fn values_cannot_change_places_and_a_changed_byte_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let vault = vault(folder.path());
        vault.set_secret("A", "first").unwrap();
        vault.set_secret("B", "second").unwrap();
        let mut contents = vault.read().unwrap();
        let a = contents.secrets.remove("A").unwrap();
        let b = contents.secrets.remove("B").unwrap();
        contents.secrets.extend([("A".to_owned(), b), ("B".to_owned(), a)]);
        vault.write(&contents).unwrap();
        assert!(matches!(vault.get("A"), Err(VaultError::OtherKey(_))));
        std::fs::write(&vault.file, "{").unwrap();
        assert!(matches!(vault.get("A"), Err(VaultError::Damaged(_))));
        assert!(
            matches!(vault.set_secret("A", "x"), Err(VaultError::Damaged(_))),
            "nothing is written over what cannot be read"
        );
    }

    #[test]
    fn another_key_neither_reads_nor_writes() {
        let folder = tempfile::tempdir().unwrap();
        let vault = vault(folder.path());
        vault.set_secret("A", "first").unwrap();
        std::fs::remove_file(&vault.key_file).unwrap();
        assert!(matches!(vault.get("A"), Err(VaultError::OtherKey(_))));
        assert!(matches!(vault.set_secret("B", "x"), Err(VaultError::OtherKey(_))));
        std::fs::write(&vault.key_file, "short").unwrap();
        assert!(matches!(vault.get("A"), Err(VaultError::NotAKey(_))));
    }

    #[test]
    fn a_passphrase_protects_what_is_there_and_what_comes() {
        let folder = tempfile::tempdir().unwrap();
        let vault = vault(folder.path());
        vault.set_secret("A", "first").unwrap();
        let of_file = std::fs::read_to_string(&vault.file).unwrap();
        passphrase::tests::say(Some("correct horse"), || {
            vault.change_protection(Some("correct horse")).unwrap();
            assert!(!vault.key_file.exists());
            vault.set_secret("B", "second").unwrap();
            let read = |name: &str| vault.get(name).unwrap().unwrap().expose_value().to_owned();
            assert_eq!((read("A"), read("B")), ("first".to_owned(), "second".to_owned()));
        });
        let text = std::fs::read_to_string(&vault.file).unwrap();
        assert!(!text.contains("first") && !text.contains("horse") && text != of_file, "{text}");
        passphrase::tests::say(Some("another"), || {
            assert!(matches!(vault.get("A"), Err(VaultError::WrongPassphrase(_))));
            assert!(matches!(vault.set_secret("C", "x"), Err(VaultError::WrongPassphrase(_))));
            assert!(matches!(vault.change_protection(None), Err(VaultError::WrongPassphrase(_))));
        });
        passphrase::tests::say(None, || {
            assert!(matches!(vault.get("A"), Err(VaultError::NoPassphrase(_))));
            assert_eq!(vault.secret_names().unwrap(), ["A", "B"], "names are no secrets");
            assert_eq!(vault.remove("B"), Ok(true), "nor is what is thrown away");
        });
        passphrase::tests::say(Some("correct horse"), || vault.change_protection(None).unwrap());
        passphrase::tests::say(None, || assert_eq!(vault.get("A").unwrap(), Secret::new("first")));
    }

    #[test]
    fn names_are_plain() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["", "1A", "a b", "../x", "a/b", "ä", "-a"] {
            assert_eq!(vault(folder.path()).set_secret(name, "x"), Err(VaultError::NotAName(name.to_owned())));
        }
        assert_eq!(vault(folder.path()).set_secret("A", ""), Err(VaultError::Empty));
    }
}
