//! A cache of parsed trees of unchanged files, for repeated checks of the same folder.
//!
//! Keeps the last text of each file. A file is read each time, and its text decides, not its modification time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trefoil_syntax::SourceFile;
use trefoil_syntax::yaml::YamlNode;

/// Trees parsed in earlier loads. Clones share the cache. Loads that share it must have the same limits.
#[derive(Clone, Default)]
pub struct ParseCache(Arc<Mutex<HashMap<PathBuf, CachedTree>>>);

/// The tree of a text without findings. Trees with findings are not cached, because findings refer to the file ids of
/// their load; trees contain none.
struct CachedTree {
    text: Arc<str>,
    root: YamlNode,
}

impl ParseCache {
    /// The tree of a file, if its text has not changed.
    pub fn cached_tree(&self, path: &Path, source: &SourceFile) -> Option<YamlNode> {
        match self.trees().get(path) {
            Some(tree) if source.not_utf8().is_none() && tree.text == *source.text() => Some(tree.root.clone()),
            _ => None,
        }
    }
    /// Adds a tree.
    pub(super) fn keep_tree(&self, path: &Path, text: Arc<str>, root: YamlNode) {
        self.trees().insert(path.to_owned(), CachedTree { text, root });
    }
    fn trees(&self) -> MutexGuard<'_, HashMap<PathBuf, CachedTree>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::ParseCache;
    use std::path::Path;
    use trefoil_syntax::yaml::{self, YamlLimits};
    use trefoil_syntax::{FileId, SourceFile};

    #[test]
    fn another_text_has_another_tree() {
        let (cache, path) = (ParseCache::default(), Path::new("a.yaml"));
        let source = SourceFile::new("a.yaml", "id: a\n");
        let root = yaml::parse(FileId(0), &source, &YamlLimits::default()).root.unwrap();
        cache.keep_tree(path, source.text().clone(), root);
        assert!(cache.cached_tree(path, &source).is_some());
        assert!(cache.cached_tree(path, &SourceFile::new("a.yaml", "id: b\n")).is_none());
        assert!(cache.cached_tree(Path::new("b.yaml"), &source).is_none());
    }
}
