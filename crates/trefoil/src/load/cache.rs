//! Trees of files that have not changed since they were parsed, for whoever checks the same folder again and again.
//!
//! Keeps one text a file, the last. A file is read again each time: its text decides, not the clock of the disk.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trefoil_syntax::SourceFile;
use trefoil_syntax::yaml::Node;

/// What was parsed in earlier loads. Clones are one and the same; loads that share it must have the same limits.
#[derive(Clone, Default)]
pub struct Cache(Arc<Mutex<HashMap<PathBuf, CachedTree>>>);

/// The tree of a text in which nothing was found wrong: findings name the file of the load that they were made in, trees
/// name none.
struct CachedTree {
    text: Arc<str>,
    root: Node,
}

impl Cache {
    /// The tree of a file, if its text is still the same.
    pub fn tree(&self, path: &Path, source: &SourceFile) -> Option<Node> {
        let same = |t: &&CachedTree| source.not_utf8().is_none() && t.text == *source.text();
        self.trees().get(path).filter(same).map(|t| t.root.clone())
    }
    /// Keeps one.
    pub(super) fn keep(&self, path: &Path, text: Arc<str>, root: Node) {
        self.trees().insert(path.to_owned(), CachedTree { text, root });
    }
    fn trees(&self) -> MutexGuard<'_, HashMap<PathBuf, CachedTree>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::Cache;
    use std::path::Path;
    use trefoil_syntax::yaml::{self, Limits};
    use trefoil_syntax::{FileId, SourceFile};

    #[test]
    fn another_text_has_another_tree() {
        let (cache, path) = (Cache::default(), Path::new("a.yaml"));
        let source = SourceFile::new("a.yaml", "id: a\n");
        let root = yaml::parse(FileId(0), &source, &Limits::default()).root.unwrap();
        cache.keep(path, source.text().clone(), root);
        assert!(cache.tree(path, &source).is_some());
        assert!(cache.tree(path, &SourceFile::new("a.yaml", "id: b\n")).is_none());
        assert!(cache.tree(Path::new("b.yaml"), &source).is_none());
    }
}
