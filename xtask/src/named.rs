//! Finds files and items that a document names but that do not exist.

use std::collections::BTreeSet;

use crate::words::within;

/// The names in `text` that do not exist. `files` are paths from the root of the repository, `known` are all names in its
/// sources.
pub fn missing(text: &str, files: &[String], known: &BTreeSet<&str>) -> Vec<String> {
    let prose = text.split("```").step_by(2).collect::<String>();
    let names = prose.split('`').skip(1).step_by(2).filter(|name| !name.contains(char::is_whitespace));
    let mut missing: Vec<String> = names.filter(|name| !exists(name, files, known)).map(str::to_owned).collect();
    missing.sort();
    missing.dedup();
    missing
}

/// Whether a name is that of an existing file or item. Names that have the form of neither are taken to exist.
fn exists(name: &str, files: &[String], known: &BTreeSet<&str>) -> bool {
    if is_path(name) {
        return files.iter().any(|file| {
            let mut tails = std::iter::successors(Some(file.as_str()), |tail| Some(tail.split_once('/')?.1));
            // `front/src` stands for `crates/trefoil-front/src`.
            tails.any(|tail| within(tail, name) || tail.strip_prefix("trefoil-").is_some_and(|tail| within(tail, name)))
        });
    }
    let item = name.strip_suffix("()").unwrap_or(name);
    if !item.contains("::") && !item.starts_with(char::is_uppercase) {
        return true;
    }
    let word = |part: &str| part.chars().all(|c| c.is_alphanumeric() || c == '_');
    !item.split("::").all(word) || item.split("::").all(|part| known.contains(part))
}

fn is_path(name: &str) -> bool {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
    let ends = [".rs", ".sql", ".md", ".txt"].iter().any(|end| name.ends_with(end));
    plain && (name.contains('/') || ends)
}

#[cfg(test)]
mod tests {
    use super::missing;
    use crate::words::names;

    #[test]
    fn a_renamed_file_or_type_is_found() {
        let files = [
            "crates/trefoil-front/src/bound.rs".to_owned(),
            "crates/trefoil-project/src/file_access/mod.rs".to_owned(),
        ];
        let text = "`front/src/bound.rs`, `trefoil-project/src/file_access`, `file_access/`, `Owner::take`, `env.*`, `cargo run`,
            `bind.rs`, `front/src/names`, `Gone`, `Owner::gone`\n```\n`Not::read`\n```\n";
        let known = names("pub struct Owner; fn take() {}").collect();
        assert_eq!(missing(text, &files, &known), ["Gone", "Owner::gone", "bind.rs", "front/src/names"]);
        // A part of another name is not the name.
        assert_eq!(
            missing("`Own`, `Owner::tak`, `front/s`, `ile_access/mod.rs`", &files, &known),
            ["Own", "Owner::tak", "front/s", "ile_access/mod.rs"]
        );
    }
}
