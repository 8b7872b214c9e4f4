//! Which names of environment variables are those of credentials: for those who warn where one gets into a text.
//!
//! Knows names only, never a value.

/// Whether a variable of the environment holds a credential, by its name.
pub fn is_credential(name: &str) -> bool {
    const LAST: [&str; 9] =
        ["APIKEY", "API_KEY", "SECRET", "SECRET_KEY", "PRIVATE_KEY", "ACCESS_KEY", "PASSWORD", "PASSWD", "TOKEN"];
    // Words of a text that is split, not of a door that is locked.
    const MARKS: [&str; 7] = ["STOP", "START", "END", "BOS", "EOS", "SEP", "PAD"];
    let upper = name.to_ascii_uppercase();
    let word = |s: &str| upper.strip_suffix(s).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'));
    LAST.into_iter().any(word) && !upper.split('_').any(|part| MARKS.contains(&part))
}
