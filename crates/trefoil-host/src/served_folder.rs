//! Paths for clients of a server: relative to the folder that it serves, because where that is on the machine is not theirs to know.

use std::path::Path;

/// A folder that is served, as paths in it may be written.
#[derive(Debug, Clone, Default)]
pub struct ServedFolder {
    prefixes: Vec<String>,
}

impl ServedFolder {
    /// The folder at a path.
    pub fn from_path(folder: &Path) -> Self {
        let mut prefixes = Vec::new();
        let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let real = trefoil_project::file_access::folder_real(folder);
        for path in [real.as_deref(), Some(&*whole), Some(folder)].into_iter().flatten() {
            let text = format!("{}/", path.display().to_string().trim_end_matches('/'));
            if text != "./" && text != "/" && !prefixes.contains(&text) {
                prefixes.push(text);
            }
        }
        Self { prefixes }
    }

    /// A text without the folder at the start of its paths.
    pub fn hide_folder(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for prefix in &self.prefixes {
            if text.contains(prefix.as_str()) {
                text = without_prefix(&text, prefix);
            }
        }
        text
    }
}

fn without_prefix(text: &str, prefix: &str) -> String {
    let (mut shown, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(prefix) {
        let (before, found) = rest.split_at(at);
        shown.push_str(before);
        let (named, after) = found.split_at(prefix.len());
        if !shown.ends_with(is_in_path) {
            rest = after;
            continue;
        }
        // A part of a longer path.
        shown.push_str(named);
        rest = after;
    }
    shown.push_str(rest);
    shown
}

fn is_in_path(letter: char) -> bool {
    letter.is_alphanumeric() || "/._-~".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_in_the_folder_lose_it() {
        let hide = |folder: &str, text: &str| ServedFolder::from_path(Path::new(folder)).hide_folder(text);
        assert_eq!(hide("/srv/flows", "--> /srv/flows/a.yaml:3, `/srv/flows/b/c`"), "--> a.yaml:3, `b/c`");
        assert_eq!(hide("/srv/flows/", "/srv/flows/a.yaml"), "a.yaml");
        assert_eq!(hide("/srv/flows", "/mnt/srv/flows/a /srv/flows2/b"), "/mnt/srv/flows/a /srv/flows2/b");
        assert_eq!(hide("no-such-flows", "--> no-such-flows/a.yaml:3"), "--> a.yaml:3");
        assert_eq!(hide("/", "/a.yaml"), "/a.yaml");
    }
}
