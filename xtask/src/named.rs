//! Finds files and items that a document names but that do not exist.

/// What is wrong with the names in `text`. `files` are paths from the root of the repository, `code` is the text of all
/// sources.
pub fn missing(text: &str, files: &[String], code: &str) -> Vec<String> {
    let prose = text.split("```").step_by(2).collect::<String>();
    let names = prose.split('`').skip(1).step_by(2).filter(|name| !name.contains(char::is_whitespace));
    let mut missing: Vec<String> = names.filter(|name| !exists(name, files, code)).map(str::to_owned).collect();
    missing.sort();
    missing.dedup();
    missing
}

/// Whether a name is that of a file or item; names that are neither by their form are taken to exist.
fn exists(name: &str, files: &[String], code: &str) -> bool {
    if is_path(name) {
        let path = name.trim_end_matches('/');
        return files.iter().any(|file| {
            let mut tails = std::iter::successors(Some(file.as_str()), |tail| Some(tail.split_once('/')?.1));
            tails.any(|tail| tail.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
                // `front/src` stands for `crates/trefoil-front/src`.
                || file.contains(&format!("trefoil-{path}"))
        });
    }
    let item = name.strip_suffix("()").unwrap_or(name);
    if !item.contains("::") && !item.starts_with(char::is_uppercase) {
        return true;
    }
    let word = |part: &str| part.chars().all(|c| c.is_alphanumeric() || c == '_');
    !item.split("::").all(word) || item.split("::").all(|part| code.contains(part))
}

fn is_path(name: &str) -> bool {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
    let ends = [".rs", ".sql", ".md", ".txt"].iter().any(|end| name.ends_with(end));
    plain && (name.contains('/') || ends)
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn a_renamed_file_or_type_is_found() {
        let files = ["crates/trefoil-front/src/bound.rs".to_owned(), "crates/trefoil/src/door/mod.rs".to_owned()];
        let text = "`front/src/bound.rs`, `trefoil/src/door`, `door/`, `Owner::take`, `env.*`, `cargo run`,
            `bind.rs`, `front/src/names`, `Gone`, `Owner::gone`\n```\n`Not::read`\n```\n";
        let code = "pub struct Owner; fn take() {}";
        assert_eq!(missing(text, &files, code), ["Gone", "Owner::gone", "bind.rs", "front/src/names"]);
    }
}
