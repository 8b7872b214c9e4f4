//! Recognises environment variables that hold credentials, for warnings when one gets into a text.
//!
//! Knows only names, never values.

/// Whether an environment variable probably holds a credential, judging by its name.
pub fn is_credential(name: &str) -> bool {
    const LAST: [&str; 9] =
        ["APIKEY", "API_KEY", "SECRET", "SECRET_KEY", "PRIVATE_KEY", "ACCESS_KEY", "PASSWORD", "PASSWD", "TOKEN"];
    // Markers in tokenized text, not credentials: `STOP_TOKEN`.
    const MARKS: [&str; 7] = ["STOP", "START", "END", "BOS", "EOS", "SEP", "PAD"];
    let upper = name.to_ascii_uppercase();
    let word = |s: &str| upper.strip_suffix(s).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'));
    LAST.into_iter().any(word) && !upper.split('_').any(|part| MARKS.contains(&part))
}
