//! Recognises credentials in texts. Never prints one.

use std::ops::Range;
use std::sync::LazyLock;

/// Something in a text that looks like a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundCredential {
    /// Its span.
    pub range: Range<usize>,
    /// `an OpenAI or Anthropic key`.
    pub what: &'static str,
}

/// The prefixes of providers' keys, the minimum number of letters, digits, `_` and `-` after the prefix, and the
/// provider.
const PREFIXES: &[(&str, usize, &str)] = &[
    ("sk-", 20, "a model provider's key"),
    ("sk_live_", 16, "a payment provider's key"),
    ("rk_live_", 16, "a payment provider's key"),
    ("AKIA", 16, "a cloud access key"),
    ("ASIA", 16, "a cloud access key"),
    ("AIza", 30, "a cloud access key"),
    ("ghp_", 30, "a GitHub token"),
    ("gho_", 30, "a GitHub token"),
    ("ghu_", 30, "a GitHub token"),
    ("ghs_", 30, "a GitHub token"),
    ("ghr_", 30, "a GitHub token"),
    ("github_pat_", 22, "a GitHub token"),
    ("glpat-", 20, "a GitLab token"),
    ("xoxb-", 10, "a Slack token"),
    ("xoxp-", 10, "a Slack token"),
    ("xoxa-", 10, "a Slack token"),
    ("xoxs-", 10, "a Slack token"),
    ("hf_", 30, "a model hub's token"),
    ("npm_", 36, "a package registry's token"),
    ("Bearer ", 16, "a bearer token"),
];

/// The last words of keys whose values are shorter than a token.
const PASSWORDS: [&str; 4] = ["password", "passwd", "passphrase", "pwd"];

/// Keys of manifests whose values are credentials.
const KEYS: &[&str] = &[
    "apikey",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "clientsecret",
    "secretkey",
    "accesskey",
    "secretaccesskey",
    "accesstoken",
    "authtoken",
    "refreshtoken",
    "bearertoken",
    "privatekey",
    "token",
    "xapikey",
    "pwd",
    "signingkey",
    "encryptionkey",
    "authkey",
];

/// Placeholders for credentials in examples.
const STAND_INS: &[&str] = &["example", "your", "xxxx", "placeholder", "changeme", "dummy", "redacted", "***"];

/// Every credential in a text.
pub(super) fn in_text(text: &str) -> Vec<FoundCredential> {
    let mut found: Vec<FoundCredential> = Vec::new();
    let places = places(text);
    if places.is_empty() {
        return found;
    }
    for (prefix, least, what) in PREFIXES {
        for start in starting(text, &places, prefix) {
            let token = token_from(text, start + prefix.len());
            let range = start..start + prefix.len() + token.len();
            let is_known = found.iter().any(|f| f.range.start < range.end && range.start < f.range.end);
            if starts_word(text, start) && !is_known && token.len() >= *least && is_random(token) && !is_stand_in(token)
            {
                found.push(FoundCredential { range, what });
            }
        }
    }
    for start in starting(text, &places, "-----BEGIN ") {
        let rest = text.get(start..).unwrap_or_default();
        let line = rest.lines().next().unwrap_or_default();
        if line.contains("PRIVATE KEY-----") {
            found.push(FoundCredential { range: start..start + line.len(), what: "a private key" });
        }
    }
    for start in starting(text, &places, "://") {
        let address = text.get(start + 3..).unwrap_or_default();
        found.extend(in_query(start + 3, address));
        found.extend(in_login(start + 3, address));
    }
    for start in starting(text, &places, "Basic ") {
        let token = token_from(text, start + 6);
        if let Some(login) = base64(token)
            && let Some((_, password)) = login.split_once(':')
            && password.len() >= 4
            && !is_stand_in(password)
        {
            found.push(FoundCredential { range: start..start + 6 + token.len(), what: "a login" });
        }
    }
    found
}

/// Whether no word continues at an offset.
fn starts_word(text: &str, start: usize) -> bool {
    match text.get(..start) {
        Some(before) => !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'),
        None => true,
    }
}

/// The token that starts at an offset.
fn token_from(text: &str, start: usize) -> &str {
    let rest = text.get(start..).unwrap_or_default();
    let length = rest.find(|c: char| !in_token(c)).unwrap_or(rest.len());
    rest.get(..length).unwrap_or_default()
}

/// The password in an address that starts here.
fn in_login(start: usize, address: &str) -> Option<FoundCredential> {
    let authority = address.split(['/', '?', '#', ' ', '\n']).next()?;
    let (login, _) = authority.rsplit_once('@')?;
    let (user, password) = login.split_once(':')?;
    if password.len() < 6 || user.is_empty() || is_stand_in(password) || password.contains(['{', '$', '<']) {
        return None;
    }
    let at = start + user.len() + 1;
    Some(FoundCredential { range: at..at + password.len(), what: "a password in a URL" })
}

/// The credentials in the query of an address that starts here.
fn in_query(start: usize, address: &str) -> Vec<FoundCredential> {
    let end = address.find([' ', '\n', '"', '\'', '#']).unwrap_or(address.len());
    let address = address.get(..end).unwrap_or_default();
    let Some(query) = address.find('?') else { return Vec::new() };
    let mut at = query + 1;
    let mut found = Vec::new();
    for pair in address.get(at..).unwrap_or_default().split('&') {
        if let Some((key, value)) = pair.split_once('=')
            && (is_key(key) || key.eq_ignore_ascii_case("key"))
            && is_value(value)
        {
            let from = start + at + key.len() + 1;
            found.push(FoundCredential { range: from..from + value.len(), what: "a key in a URL" });
        }
        at += pair.len() + 1;
    }
    found
}

/// The decoded base64, if it is text.
fn base64(token: &str) -> Option<String> {
    let token = token.trim_end_matches('=');
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0u8);
    for letter in token.bytes() {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(six)) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    if text.contains(char::is_control) { None } else { Some(text) }
}

/// The offsets where the first two bytes match any of the searched texts. A single pass over the text, where a search
/// for each prefix would take many.
fn places(text: &str) -> Vec<usize> {
    let starts = &*STARTS;
    let mut found = Vec::new();
    let mut seconds = 0;
    for (at, byte) in text.bytes().enumerate() {
        if seconds >> (byte & 63) & 1 == 1 {
            found.push(at - 1);
        }
        seconds = starts.after(byte);
    }
    found
}

/// The offsets at which `what` starts.
fn starting<'p>(text: &'p str, places: &'p [usize], what: &'p str) -> impl Iterator<Item = usize> + 'p {
    let starts = move |at: usize| matches!(text.get(at..), Some(rest) if rest.starts_with(what));
    places.iter().copied().filter(move |at| starts(*at))
}

/// The first two bytes of the searched texts as a bit set: one word for each first byte, one bit for the low six bits
/// of the second byte. May have false positives, but no false negatives.
struct CredentialPrefixTable([u64; 256]);

static STARTS: LazyLock<CredentialPrefixTable> = LazyLock::new(|| {
    let mut starts = CredentialPrefixTable([0; 256]);
    for (prefix, ..) in PREFIXES {
        starts.add(prefix);
    }
    for text in ["-----BEGIN ", "://", "Basic "] {
        starts.add(text);
    }
    starts
});

impl CredentialPrefixTable {
    /// Adds the first two bytes of a text.
    fn add(&mut self, text: &str) {
        if let [first, second, ..] = text.as_bytes()
            && let Some(word) = self.0.get_mut(usize::from(*first))
        {
            *word |= 1 << (second & 63);
        }
    }
    /// The second bytes that follow this first one.
    fn after(&self, first: u8) -> u64 {
        self.0.get(usize::from(first)).copied().unwrap_or_default()
    }
}

/// Whether a key of a manifest holds a credential, judging by its name or its last words (`SLACK_BOT_TOKEN`,
/// `dbPassword`).
pub(super) fn is_key(key: &str) -> bool {
    let mut plain = [0; 16];
    // From the end, word by word, as long as it can match one of the names.
    let mut start = key.len();
    for (at, letter) in key.char_indices().rev() {
        if letter.is_ascii_alphanumeric() {
            start = at;
        }
        if !letter.is_ascii_alphanumeric() || !begins_word(key, at, letter) {
            continue;
        }
        let mut length = 0;
        for byte in key.get(start..).unwrap_or_default().bytes().filter(u8::is_ascii_alphanumeric) {
            let Some(place) = plain.get_mut(length) else { return false };
            *place = byte.to_ascii_lowercase();
            length += 1;
        }
        if let Some(plain) = plain.get(..length)
            && KEYS.iter().any(|k| k.as_bytes() == plain)
        {
            return true;
        }
    }
    false
}

/// Whether a word of a key begins with the letter at an offset.
fn begins_word(key: &str, at: usize, letter: char) -> bool {
    let before = key.get(..at).unwrap_or_default();
    match before.chars().next_back() {
        Some(last) => !last.is_ascii_alphanumeric() || last.is_ascii_lowercase() && letter.is_ascii_uppercase(),
        None => true,
    }
}

/// Whether a value is a password, judging by its key. Passwords are shorter than tokens.
pub(super) fn is_password(key: &str, value: &str) -> bool {
    // Fast path: almost no key has these suffixes, and every text of a file is checked.
    if !PASSWORDS.into_iter().any(|end| ends_with_word(key, end)) {
        return false;
    }
    let value = value.trim();
    let mixed = value.contains(|c: char| c.is_ascii_digit()) && value.contains(|c: char| c.is_ascii_alphabetic());
    value.len() >= 6
        && mixed
        && !is_variable_name(value)
        && value.chars().all(in_value)
        && !value.starts_with(['/', '.'])
        && !is_stand_in(value)
}

/// Whether a key ends with a word, in upper or lower case.
fn ends_with_word(key: &str, word: &str) -> bool {
    let Some(at) = key.len().checked_sub(word.len()) else { return false };
    matches!(key.get(at..), Some(last) if last.eq_ignore_ascii_case(word))
}

/// Whether a value is the name of a variable of the environment.
fn is_variable_name(value: &str) -> bool {
    value.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Whether a value is a credential, not the name of where one is stored.
pub(super) fn is_value(value: &str) -> bool {
    let value = value.trim();
    value.len() >= 12
        && !is_variable_name(value)
        && value.chars().all(in_value)
        && is_random(value)
        && !is_stand_in(value)
}

fn in_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/' | '=' | '~')
}

/// References (`env:X`, `{{secrets.x}}`, `$X`, `vault://x`) contain other characters.
fn in_value(c: char) -> bool {
    c.is_ascii_graphic() && !matches!(c, '{' | '}' | '$' | '<' | '>' | ':' | '(' | ')' | ',' | '"' | '\'')
}

/// Whether letters and digits are mixed as in no word.
fn is_random(token: &str) -> bool {
    let digits = token.chars().filter(char::is_ascii_digit).count();
    let letters = token.chars().filter(char::is_ascii_alphabetic).count();
    digits >= 2 && letters >= 2
}

fn is_stand_in(token: &str) -> bool {
    let lower = token.to_lowercase();
    let mut letters: Vec<char> = lower.chars().collect();
    letters.sort_unstable();
    letters.dedup();
    letters.len() < 6 || STAND_INS.iter().any(|s| lower.contains(s))
}

#[cfg(test)]
mod tests {
    use super::{in_text, is_key, is_password, is_value};

    #[test]
    fn credentials_are_found_where_they_stand() {
        let key = ["sk-", "ab12CD34ef56GH78ij90", "kl"].concat();
        let text = format!("use {key} for it");
        let found = in_text(&text);
        assert_eq!(found.len(), 1);
        assert_eq!(&text[found[0].range.clone()], key);
        for text in [
            "AKIA7QWERTY3UIOP4ASD",
            "https://bot:k3yH0rse!9@host/x",
            "https://host/x?q=1&api_key=9f8e7d6c5b4a39281706",
            "Basic Ym90OmszeUhvcnNlITk=",
            "-----BEGIN RSA PRIVATE KEY-----\nMII",
        ] {
            assert_eq!(in_text(text).len(), 1, "{text}");
        }
        assert_eq!(in_text(&format!("Bearer {key}")).len(), 1, "one credential is one finding");
    }

    #[test]
    fn names_and_stand_ins_are_none() {
        for text in [
            "sk-your-key-goes-here-0123",
            "AKIAIOSFODNN7EXAMPLE",
            "Bearer {{secrets.TOKEN}}",
            "Bearer token-in-the-header",
            "https://{{user}}:{{password}}@host",
            "https://host/x?api_key={{env.KEY}}&q=9f8e7d6c5b4a39281706",
            "Basic knowledge of the subject",
            "Basic {{env.LOGIN}}",
            "task-management-and-scheduling-2024-01",
            "a risk-based-approach-for-release-2024-10",
        ] {
            assert_eq!(in_text(text), [], "{text}");
        }
    }

    #[test]
    fn a_key_that_names_a_credential_has_one_or_its_name() {
        assert!(is_key("api_key") && is_key("X-API-Key") && is_key("clientSecret") && !is_key("max_tokens"));
        assert!(
            is_key("SLACK_BOT_TOKEN") && is_key("db_password") && is_key("githubToken") && is_key("STRIPE-API-KEY")
        );
        assert!(!is_key("TOKEN_BUDGET") && !is_key("password_policy") && !is_key("monkey") && !is_key("tokens"));
        assert!(is_password("DB_PASSWORD", "hunter2") && !is_password("DB_PASSWORD", "postgres"));
        assert!(!is_password("PASSWORD", "{{env.PW1}}") && !is_password("PASSWORD", "/run/secrets/pw1"));
        assert!(is_value("tr0ub4dor-and-3"));
        for value in ["OPENAI_API_KEY_2", "{{secrets.x12y34}}", "env:API_KEY_12", "string", "billing-signing-secret"] {
            assert!(!is_value(value), "{value}");
        }
    }
}
