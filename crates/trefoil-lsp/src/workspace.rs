//! Open buffers, their folders, and the analyses of these folders.
//!
//! The folder that is checked for a file is the highest one above it, inside the workspace folder, that directly
//! contains a manifest; between such folders there may be one that does not. So one open manifest does not cause the
//! root of a large repository to be searched, and a workflow next to `agents/` is found when an agent is open. A file
//! outside of every workspace folder is checked with its own folder, and a text whose folder does not exist is checked
//! alone.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trefoil_front::{DialectDetection, detect_dialect};
use trefoil_project::file_access::{self, resolve_links};
use trefoil_project::load::{CheckOptions, LoadOptions, ParseCache};
use trefoil_project::settings;
use trefoil_syntax::yaml;
use trefoil_syntax::{FileId, SourceFile};

use crate::analysis::FolderAnalysis;
use crate::retained_findings;

/// Larger files are not read to find out whether they are manifests.
const PEEK: u64 = 1 << 20;
/// Maximum number of files of a folder that are read for that.
const PEEKS: usize = 200;
/// Maximum number of manifests that are read around a file outside of every workspace folder, because its folder may
/// contain anything.
const STRANGE_FILES: usize = 500;

/// A text in the editor.
#[derive(Debug, Clone)]
pub struct EditorBuffer {
    /// Its current text.
    pub text: Arc<str>,
    /// The editor's version number.
    pub version: i32,
    /// The folder that is checked for it.
    root: PathBuf,
}

/// All open buffers.
#[derive(Default)]
pub struct EditorWorkspace {
    folders: Vec<PathBuf>,
    buffers: HashMap<PathBuf, EditorBuffer>,
    analyses: BTreeMap<PathBuf, Arc<FolderAnalysis>>,
    /// The last analysis of each folder that had no newly invalid file.
    whole: BTreeMap<PathBuf, Arc<FolderAnalysis>>,
    /// A keystroke changes one file, so the others of its folder need not be parsed again.
    cache: ParseCache,
}

impl EditorWorkspace {
    /// Sets the folders that are open in the editor.
    pub fn set_folders(&mut self, folders: impl IntoIterator<Item = PathBuf>) {
        self.folders = folders.into_iter().map(|f| resolve_links(&f)).collect();
        self.discard_analyses();
    }
    /// The folders that are open in the editor.
    pub fn open_folders(&self) -> &[PathBuf] {
        &self.folders
    }
    /// A buffer by its canonical path.
    pub fn find_buffer(&self, path: &Path) -> Option<&EditorBuffer> {
        self.buffers.get(path)
    }
    /// Opens a buffer, or changes its text.
    pub fn set_buffer(&mut self, path: PathBuf, text: impl Into<Arc<str>>, version: i32) {
        let text = text.into();
        if let Some(buffer) = self.buffers.get_mut(&path) {
            buffer.text = text;
            buffer.version = version;
        } else {
            let root = self.root_of(&path);
            self.buffers.insert(path.clone(), EditorBuffer { text, version, root });
        }
        self.forget(&path);
    }
    /// The bytes of all open buffers.
    pub fn open_bytes(&self) -> usize {
        self.buffers.values().map(|buffer| buffer.text.len()).sum()
    }
    /// Closes a buffer, so that the file on disk is used again.
    pub fn close(&mut self, path: &Path) {
        self.buffers.remove(path);
        self.forget(path);
        let roots: Vec<PathBuf> = self.buffers.values().map(|b| b.root.clone()).collect();
        self.analyses.retain(|root, _| roots.contains(root));
        self.whole.retain(|root, _| roots.contains(root));
    }
    /// Files on disk have changed, so all analyses are outdated.
    pub fn discard_analyses(&mut self) {
        self.analyses.clear();
        let paths: Vec<PathBuf> = self.buffers.keys().cloned().collect();
        for path in paths {
            let root = self.root_of(&path);
            if let Some(buffer) = self.buffers.get_mut(&path) {
                buffer.root = root;
            }
        }
    }
    /// Drops the analyses that a change of this file makes outdated.
    fn forget(&mut self, path: &Path) {
        let root = self.buffers.get(path).map(|buffer| &buffer.root);
        self.analyses.retain(|at, analysis| Some(at) != root && analysis.find_file(path).is_none());
    }
    /// Creates missing analyses. Returns whether there were any.
    pub fn analyse_missing(&mut self) -> bool {
        let mut missing: Vec<PathBuf> = self.buffers.values().map(|b| b.root.clone()).collect();
        missing.sort();
        missing.dedup();
        missing.retain(|root| !self.analyses.contains_key(root));
        for root in &missing {
            let mut analysis = self.check(root, []);
            let mut newly_broken = false;
            if let Some(before) = self.whole.get(root)
                && retained_findings::is_newly_broken(&analysis, before)
            {
                newly_broken = true;
                analysis.set_displayed_diagnostics(retained_findings::displayed_findings(&analysis, before));
            }
            let analysis = Arc::new(analysis);
            if !newly_broken {
                self.whole.insert(root.clone(), analysis.clone());
            }
            self.analyses.insert(root.clone(), analysis);
        }
        !missing.is_empty()
    }
    /// The analysis for an open file, and the file's id in it.
    pub fn analysis_for(&mut self, path: &Path) -> Option<(Arc<FolderAnalysis>, FileId)> {
        self.analyse_missing();
        let buffer = self.buffers.get(path)?;
        let analysis = self.analyses.get(&buffer.root)?;
        Some((analysis.clone(), analysis.find_file(path)?))
    }
    /// The analysis with another text of a buffer.
    pub fn analysis_with(&self, path: &Path, text: &str) -> Option<(FolderAnalysis, FileId)> {
        let analysis = self.analysis_after(path, [(path.to_owned(), text.to_owned())])?;
        let file = analysis.find_file(path)?;
        Some((analysis, file))
    }
    /// The facts about names with another text of a buffer. Rules are not run, which saves half of the time.
    pub fn names_with(&self, path: &Path, text: &str) -> Option<(FolderAnalysis, FileId)> {
        let root = &self.buffers.get(path)?.root;
        let analysis = self.analyse_folder(root, [(path.to_owned(), text.to_owned())], None);
        let file = analysis.find_file(path)?;
        Some((analysis, file))
    }
    /// The analysis for an open file with other texts of some files.
    pub fn analysis_after(
        &self,
        path: &Path,
        texts: impl IntoIterator<Item = (PathBuf, String)>,
    ) -> Option<FolderAnalysis> {
        Some(self.check(&self.buffers.get(path)?.root, texts))
    }
    /// All analyses, with their folders.
    pub fn list_analyses(&self) -> impl Iterator<Item = (&Path, &Arc<FolderAnalysis>)> {
        self.analyses.iter().map(|(root, a)| (&**root, a))
    }
    /// The folder whose analysis is used for a file: for an open file, its own folder.
    pub fn speaks_for(&self, path: &Path) -> Option<&Path> {
        if let Some(buffer) = self.buffers.get(path) {
            return Some(&buffer.root);
        }
        let with = self.analyses.iter().filter(|(_, analysis)| analysis.find_file(path).is_some());
        let (root, _) = with.min_by_key(|(root, _)| root.as_os_str().len())?;
        Some(root)
    }
    /// The texts of open buffers.
    fn texts(&self) -> HashMap<PathBuf, Arc<str>> {
        self.buffers.iter().map(|(path, b)| (path.clone(), b.text.clone())).collect()
    }
    /// The texts of open buffers, for loading.
    pub fn text_overlay(&self) -> Arc<HashMap<PathBuf, Arc<str>>> {
        Arc::new(self.texts())
    }
    fn check(&self, root: &Path, instead: impl IntoIterator<Item = (PathBuf, String)>) -> FolderAnalysis {
        self.analyse_folder(root, instead, Some(with_hints()))
    }
    fn analyse_folder(
        &self,
        root: &Path,
        instead: impl IntoIterator<Item = (PathBuf, String)>,
        checks: Option<CheckOptions>,
    ) -> FolderAnalysis {
        let mut overlay = self.texts();
        for (path, text) in instead {
            overlay.insert(path, text.into());
        }
        let within = self.folders.iter().any(|folder| root.starts_with(folder));
        let options = LoadOptions {
            max_files: if within { None } else { Some(STRANGE_FILES) },
            checks,
            scopes: true,
            overlay: Arc::new(overlay),
            cache: Some(self.cache.clone()),
            supplied: settings::load_user_settings().supplied_declarations(),
            ..LoadOptions::default()
        };
        let root = root.to_string_lossy().into_owned();
        FolderAnalysis::new(trefoil_project::load::check_paths(&[root], &options), self.cache.clone())
    }
    /// The folder that is checked for a file.
    fn root_of(&self, path: &Path) -> PathBuf {
        let own = path.parent().map(Path::to_owned).unwrap_or_default();
        if !file_access::is_folder(&own) {
            // It was never saved, so it has no neighbours.
            return path.to_owned();
        }
        let within = self.folders.iter().filter(|f| own.starts_with(f)).min_by_key(|f| f.as_os_str().len());
        let Some(within) = within else { return own };
        let mut root = own.clone();
        let mut without = 0;
        for folder in own.ancestors().skip(1) {
            if !folder.starts_with(within) {
                break;
            }
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

/// Whether a folder directly contains a manifest.
fn holds_manifest(folder: &Path) -> bool {
    file_access::yaml_files(folder, PEEKS).iter().any(|path| is_manifest(folder, path))
}

fn is_manifest(folder: &Path, path: &Path) -> bool {
    let Ok(bytes) = file_access::AllowedFolders::new([folder.to_owned()]).read_file(path, PEEK) else {
        return false;
    };
    let source = SourceFile::from_bytes("", bytes);
    let parsed = yaml::parse(FileId(0), &source, &yaml::YamlLimits::default());
    let Some(root) = parsed.root else { return false };
    !matches!(detect_dialect(&root), DialectDetection::Unknown)
}

/// Every rule at its default level, and hints, which editors show faintly.
fn with_hints() -> CheckOptions {
    let mut checks = CheckOptions::default();
    checks.levels.enable_hints();
    checks
}
