//! Finds whole names in code. A name that is only a part of a longer one is another name.

fn in_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether code says this: `fs::read(` says `fs::read`, but `vfs::read` and `fs::ready` do not.
pub fn says(code: &str, what: &str) -> bool {
    let cut = |inner: Option<char>, outer: Option<char>| inner.is_some_and(in_name) && outer.is_some_and(in_name);
    code.match_indices(what).any(|(at, _)| {
        let (before, after) = (code.get(..at).unwrap_or_default(), code.get(at + what.len()..).unwrap_or_default());
        !cut(what.chars().next(), before.chars().next_back()) && !cut(what.chars().next_back(), after.chars().next())
    })
}

/// All names in code.
pub fn names(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !in_name(c)).filter(|name| !name.is_empty())
}

/// Whether a name in code is made of this word and others: `SirenSpecUnits` and `in_sirenspec` have `sirenspec`, `aegises`
/// does not have `aegis`.
pub fn speaks_of(code: &str, word: &str) -> bool {
    names(code).any(|name| {
        let parts = parts(name);
        (0..parts.len()).any(|from| {
            let mut joined = String::new();
            parts.iter().skip(from).any(|part| {
                joined.push_str(part);
                joined == word
            })
        })
    })
}

/// The words of a name, in lower case: those of `snake_case`, `CamelCase` and `HTTPServer`.
fn parts(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut parts = vec![String::new()];
    for (at, c) in letters.iter().enumerate() {
        let (before, after) = (at.checked_sub(1).and_then(|i| letters.get(i)), letters.get(at + 1));
        let starts = c.is_uppercase()
            && before.is_some_and(|b| b.is_lowercase() || b.is_uppercase() && after.is_some_and(|a| a.is_lowercase()));
        if *c == '_' || starts {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| *c != '_') {
            part.extend(c.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Whether a path is this file, or in this folder.
pub fn within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::{says, speaks_of, within};

    #[test]
    fn a_part_of_a_longer_name_is_another_name() {
        assert!(says("let a = std::fs::read(b);", "std::fs") && says("fs::read(b)", "fs::read"));
        assert!(!says("mystd::fs", "std::fs") && !says("vfs::read(b)", "fs::read") && !says("fs::ready()", "fs::read"));
        assert!(says("if path.exists() {", ".exists()") && says("tokio::spawn", "tokio::"));
        assert!(says("println!()", "println!") && !says("eprintln!()", "println!"));
    }

    #[test]
    fn a_format_is_named_by_words_of_their_own() {
        for code in ["aegis::Units", "AEGIS", "in_aegis()", "AegisAgent", "read_AegisYAML", "\"an aegis file\""] {
            assert!(speaks_of(code, "aegis"), "{code}");
        }
        assert!(speaks_of("SirenSpecUnits", "sirenspec") && speaks_of("siren_spec", "sirenspec"));
        assert!(!speaks_of("workflow.flows()", "flow") && speaks_of("sub_flow", "flow"));
        assert!(!speaks_of("screwed", "crew"));
    }

    #[test]
    fn a_folder_is_not_what_its_name_starts() {
        assert!(within("crates/a/src/shell/mod.rs", "crates/a/src/shell") && within("a/b.rs", "a/b.rs"));
        assert!(within("crates/a/src/shell/mod.rs", "crates/a/src/shell/"));
        assert!(!within("crates/a/src/shells.rs", "crates/a/src/shell"));
    }
}
