//! Open buffers, the folders they belong to, and the analyses of these.
//!
//! Which folder is checked for a file: the highest folder above it, inside of the workspace folder, that holds a manifest
//! directly, with at most one folder between such folders that holds none. So the root of a large repository is not
//! searched because one manifest is open, and a workflow beside its `agents/` is seen when an agent is open. A file outside
//! of every workspace folder is checked with its own folder, and a text whose folder is not there alone.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trefoil::internals::door::{self, real};
use trefoil::internals::{Cache, Checks, LoadOptions};
use trefoil_front::{Detection, detect};
use trefoil_syntax::yaml;
use trefoil_syntax::{FileId, SourceFile};

use crate::analysis::Analysis;
use crate::held;

/// A file larger than this is not looked into to find out whether it is a manifest.
const PEEK: u64 = 1 << 20;
/// Files of a folder that are looked into for that.
const PEEKS: usize = 200;
/// Manifests that are read around a file outside of every workspace folder: it may be in a folder of anything at all.
const STRANGE_FILES: usize = 500;

/// A text in an editor.
#[derive(Debug, Clone)]
pub struct Buffer {
    /// What the editor shows.
    pub text: Arc<str>,
    /// The editor's count of changes.
    pub version: i32,
    /// The folder that is checked for it.
    root: PathBuf,
}

/// Everything that is open.
#[derive(Default)]
pub struct Workspace {
    folders: Vec<PathBuf>,
    buffers: HashMap<PathBuf, Buffer>,
    analyses: BTreeMap<PathBuf, Arc<Analysis>>,
    /// The last analyses in which nothing was broken that is not still broken.
    whole: BTreeMap<PathBuf, Arc<Analysis>>,
    /// A keystroke changes one file; the others of its folder are not parsed again.
    cache: Cache,
}

impl Workspace {
    /// The folders that the editor has open.
    pub fn set_folders(&mut self, folders: impl IntoIterator<Item = PathBuf>) {
        self.folders = folders.into_iter().map(|f| real(&f)).collect();
        self.refresh();
    }
    /// The folders that the editor has open.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }
    /// A buffer by its canonical path.
    pub fn buffer(&self, path: &Path) -> Option<&Buffer> {
        self.buffers.get(path)
    }
    /// A buffer is opened, or its text is another one now.
    pub fn set_buffer(&mut self, path: PathBuf, text: impl Into<Arc<str>>, version: i32) {
        let text = text.into();
        if let Some(buffer) = self.buffers.get_mut(&path) {
            buffer.text = text;
            buffer.version = version;
        } else {
            let root = self.root_of(&path);
            self.buffers.insert(path.clone(), Buffer { text, version, root });
        }
        self.forget(&path);
    }
    /// A buffer is closed: the file counts again.
    pub fn close(&mut self, path: &Path) {
        self.buffers.remove(path);
        self.forget(path);
        let roots: Vec<PathBuf> = self.buffers.values().map(|b| b.root.clone()).collect();
        self.analyses.retain(|root, _| roots.contains(root));
        self.whole.retain(|root, _| roots.contains(root));
    }
    /// Files on disk have changed.
    pub fn refresh(&mut self) {
        self.analyses.clear();
        let paths: Vec<PathBuf> = self.buffers.keys().cloned().collect();
        for path in paths {
            let root = self.root_of(&path);
            if let Some(buffer) = self.buffers.get_mut(&path) {
                buffer.root = root;
            }
        }
    }
    /// Drops what a change of this file makes untrue.
    fn forget(&mut self, path: &Path) {
        let root = self.buffers.get(path).map(|b| b.root.clone());
        self.analyses.retain(|at, analysis| Some(at) != root.as_ref() && analysis.file(path).is_none());
    }
    /// Makes every analysis that is missing; whether there was one.
    pub fn analyse(&mut self) -> bool {
        let mut missing: Vec<PathBuf> = self.buffers.values().map(|b| b.root.clone()).collect();
        missing.sort();
        missing.dedup();
        missing.retain(|root| !self.analyses.contains_key(root));
        for root in &missing {
            let mut analysis = self.check(root, []);
            let broken = self.whole.get(root).filter(|before| held::is_newly_broken(&analysis, before)).cloned();
            if let Some(before) = &broken {
                analysis.hold(held::findings(&analysis, before));
            }
            let analysis = Arc::new(analysis);
            if broken.is_none() {
                self.whole.insert(root.clone(), analysis.clone());
            }
            self.analyses.insert(root.clone(), analysis);
        }
        !missing.is_empty()
    }
    /// The analysis for an open file, and its file there.
    pub fn analysis(&mut self, path: &Path) -> Option<(Arc<Analysis>, FileId)> {
        self.analyse();
        let buffer = self.buffers.get(path)?;
        let analysis = self.analyses.get(&buffer.root)?;
        Some((analysis.clone(), analysis.file(path)?))
    }
    /// The analysis there would be if a buffer had another text.
    pub fn analysis_with(&self, path: &Path, text: &str) -> Option<(Analysis, FileId)> {
        let analysis = self.analysis_after(path, [(path.to_owned(), text.to_owned())])?;
        let file = analysis.file(path)?;
        Some((analysis, file))
    }
    /// What there would be to know about names if a buffer had another text. Nothing is judged, which takes half of the time.
    pub fn names_with(&self, path: &Path, text: &str) -> Option<(Analysis, FileId)> {
        let root = &self.buffers.get(path)?.root;
        let analysis = self.look(root, [(path.to_owned(), text.to_owned())], None);
        let file = analysis.file(path)?;
        Some((analysis, file))
    }
    /// The analysis for an open file that there would be if some files had other texts.
    pub fn analysis_after(&self, path: &Path, texts: impl IntoIterator<Item = (PathBuf, String)>) -> Option<Analysis> {
        Some(self.check(&self.buffers.get(path)?.root, texts))
    }
    /// Every analysis, with its folder.
    pub fn analyses(&self) -> impl Iterator<Item = (&Path, &Arc<Analysis>)> {
        self.analyses.iter().map(|(root, a)| (&**root, a))
    }
    /// The folder whose analysis speaks for a file: of an open one its own.
    pub fn speaks_for(&self, path: &Path) -> Option<&Path> {
        let own = self.buffers.get(path).map(|b| &*b.root);
        own.or_else(|| {
            let with = self.analyses.iter().filter(|(_, a)| a.file(path).is_some());
            with.map(|(root, _)| &**root).min_by_key(|root| root.as_os_str().len())
        })
    }
    /// What is open, as the editor shows it.
    fn texts(&self) -> HashMap<PathBuf, Arc<str>> {
        self.buffers.iter().map(|(path, b)| (path.clone(), b.text.clone())).collect()
    }
    /// The same, for loading.
    pub fn overlay(&self) -> Arc<HashMap<PathBuf, Arc<str>>> {
        Arc::new(self.texts())
    }
    fn check(&self, root: &Path, instead: impl IntoIterator<Item = (PathBuf, String)>) -> Analysis {
        self.look(root, instead, Some(with_hints()))
    }
    fn look(
        &self,
        root: &Path,
        instead: impl IntoIterator<Item = (PathBuf, String)>,
        checks: Option<Checks>,
    ) -> Analysis {
        let mut overlay = self.texts();
        overlay.extend(instead.into_iter().map(|(path, text)| (path, text.into())));
        let within = self.folders.iter().any(|folder| root.starts_with(folder));
        let options = LoadOptions {
            max_files: (!within).then_some(STRANGE_FILES),
            checks,
            scopes: true,
            overlay: Arc::new(overlay),
            cache: Some(self.cache.clone()),
            ..LoadOptions::default()
        };
        let root = root.to_string_lossy().into_owned();
        Analysis::new(trefoil::internals::check(&[root], &options), self.cache.clone())
    }
    /// The folder that is checked for a file.
    fn root_of(&self, path: &Path) -> PathBuf {
        let own = path.parent().map(Path::to_owned).unwrap_or_default();
        if !door::is_folder(&own) {
            // It was never saved, and nothing is beside it.
            return path.to_owned();
        }
        let within = self.folders.iter().filter(|f| own.starts_with(f)).min_by_key(|f| f.as_os_str().len());
        let Some(within) = within else { return own };
        let mut root = own.clone();
        let mut without = 0;
        for folder in own.ancestors().skip(1).take_while(|f| f.starts_with(within)) {
            if holds_manifest(folder) {
                root = folder.to_owned();
                without = 0;
            } else {
                without += 1;
                if without > 1 {
                    break;
                }
            }
        }
        root
    }
}

/// Whether a file of the folder itself is a manifest.
fn holds_manifest(folder: &Path) -> bool {
    door::yaml_files(folder, PEEKS).into_iter().any(|path| {
        let Ok(bytes) = door::Rooms::new([folder.to_owned()]).read(&path, PEEK) else { return false };
        let source = SourceFile::from_bytes("", bytes);
        let parsed = yaml::parse(FileId(0), &source, &yaml::Limits::default());
        parsed.root.is_some_and(|root| !matches!(detect(&root), Detection::Unknown))
    })
}

/// Every rule at its own level, and hints, which editors show faintly.
fn with_hints() -> Checks {
    let mut checks = Checks::default();
    checks.levels.hints();
    checks
}
