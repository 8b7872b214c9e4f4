//! Keys of providers, as a type that does not show its contents.

use std::fmt;
use std::sync::Arc;

/// A provider's key. Has no text form: `Debug` masks it, and there is neither `Display` nor serde.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderCredential(Arc<str>);

/// Shorter keys are not masked in messages, because they would mask ordinary words.
const SHORTEST_SCRUBBED: usize = 6;

impl ProviderCredential {
    /// Removes surrounding whitespace (such as a line break from a file). `None` if nothing is left.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() { None } else { Some(Self(text.into())) }
    }

    /// The key itself, for the request header.
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only calls need it"))]
    pub(crate) fn expose_key(&self) -> &str {
        &self.0
    }

    /// Masks every occurrence of the key, because servers often repeat a key that they reject.
    pub fn mask_key(&self, text: &str) -> String {
        if self.0.len() < SHORTEST_SCRUBBED { text.to_owned() } else { text.replace(&*self.0, "***") }
    }
}

impl fmt::Debug for ProviderCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProviderCredential(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_itself_nowhere() {
        let key = ProviderCredential::new("  sk-very-secret\n").unwrap();
        assert_eq!(key.expose_key(), "sk-very-secret");
        assert_eq!(format!("{key:?}"), "ProviderCredential(***)");
        assert_eq!(key.mask_key("bad key sk-very-secret!"), "bad key ***!");
    }

    #[test]
    fn nothing_is_not_a_key() {
        assert_eq!(ProviderCredential::new(" \n"), None);
    }
}
