//! Targets as users write them: a file, a folder, or an id in a folder.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::file_access::FileAccess;

/// What to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadTarget {
    /// The file or folder, as given.
    pub path: PathBuf,
    /// The id after `#`.
    pub id: Option<String>,
}

impl LoadTarget {
    /// Parses `file`, `dir` or `dir#id`. A text that exists as a path is one, whatever characters it contains;
    /// otherwise the last `#` separates the path from the id.
    pub fn parse(text: &str) -> Self {
        Self::parse_at(&FileAccess::Disk, text)
    }
    /// The same with another location of files.
    pub fn parse_at(file_access: &FileAccess, text: &str) -> Self {
        if !file_access.path_exists(Path::new(text))
            && let Some((path, id)) = text.rsplit_once('#')
            && !id.is_empty()
        {
            // In memory, the folder of all files has no name.
            let path = if path.is_empty() && file_access.memory_files().is_none() { "." } else { path };
            return Self { path: path.into(), id: Some(id.to_owned()) };
        }
        Self { path: text.into(), id: None }
    }
}

impl fmt::Display for LoadTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)?;
        match &self.id {
            Some(id) => write!(f, "#{id}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LoadTarget;

    #[test]
    fn the_last_hash_parts_path_and_id() {
        let target = |path: &str, id: Option<&str>| LoadTarget { path: path.into(), id: id.map(str::to_owned) };
        assert_eq!(LoadTarget::parse("flows#main"), target("flows", Some("main")));
        assert_eq!(LoadTarget::parse("a#b#c"), target("a#b", Some("c")));
        assert_eq!(LoadTarget::parse("#main"), target(".", Some("main")));
        assert_eq!(LoadTarget::parse("flows"), target("flows", None));
        assert_eq!(LoadTarget::parse("flows#"), target("flows#", None));
    }
}
