//! Searches for the ids that documents refer to: outwards from the folder of each referring document, then in the rest
//! of the project. An id found in a nearer folder is not searched further away.

use std::borrow::Cow;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use trefoil_front::ManifestDocument;
use trefoil_syntax::{Diagnostic, FindingSeverity};
use trefoil_template::limits;

use super::discovery::{self, FolderSearch, SearchLimit};
use super::file_loader::{DetectedFormat, FileLoader};
use super::lowering::{LoadedFolder, too_much};
use crate::file_access;

/// The progress of the search, and the data read so far.
#[derive(Default)]
struct IdSearchProgress {
    /// Folders with their contents, by path and by whether everything below is included.
    rings: HashMap<(PathBuf, bool), Rc<FolderIndex>>,
    /// Ids that were searched in a folder; without a folder, everywhere.
    sought: HashSet<(Option<PathBuf>, String)>,
    /// Ids of documents, by folder.
    known: HashSet<(PathBuf, String)>,
    /// The number of documents already processed.
    documents: usize,
}

/// An index of the files in a folder, so that most files of a large project need not be parsed.
struct FolderIndex {
    files: Vec<PathBuf>,
    /// The hash of each word and of each file's name, with the file that contains it; sorted.
    words: Vec<(u32, u32)>,
}

impl IdSearchProgress {
    /// Adds the ids of a document.
    fn add_ids(&mut self, folder: &Path, ids: impl IntoIterator<Item = String>) {
        for id in ids {
            self.known.insert((folder.to_owned(), id));
        }
    }
}

impl LoadedFolder {
    /// Searches for the ids that documents refer to, outwards from the folder of each document.
    pub(super) fn search_missing_ids(&mut self, loader: &mut FileLoader) {
        let mut seen = IdSearchProgress::default();
        let project = self.projects.first().cloned().unwrap_or_else(|| self.real.clone());
        loop {
            let named = self.unsearched_ids(&mut seen);
            if named.is_empty() {
                return;
            }
            let mut rest = BTreeSet::new();
            for (folder, mut ids) in named {
                for dir in folder.ancestors() {
                    if !dir.starts_with(&project) {
                        break;
                    }
                    let mut wanted = BTreeSet::new();
                    for id in &ids {
                        if seen.sought.insert((Some(dir.to_owned()), id.clone())) {
                            wanted.insert(id.clone());
                        }
                    }
                    self.adopt(loader, &mut seen, dir, false, &wanted);
                    ids.retain(|id| !seen.known.contains(&(dir.to_owned(), id.clone())));
                }
                for id in ids {
                    if seen.sought.insert((None, id.clone())) {
                        rest.insert(id);
                    }
                }
            }
            self.adopt(loader, &mut seen, &project, true, &rest);
        }
    }
    /// The ids to which documents refer and that were not searched yet, by folder. Ids from templates are unknown.
    fn unsearched_ids(&self, seen: &mut IdSearchProgress) -> BTreeMap<PathBuf, BTreeSet<String>> {
        let mut named: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
        let first = std::mem::replace(&mut seen.documents, self.project.documents.len());
        for document in self.project.documents.iter().skip(first) {
            if document.project != 0 {
                continue;
            }
            let folder = self.dir_of(document);
            let declared: BTreeSet<String> = document.front.unit_ids(document).into_iter().map(|(id, _)| id).collect();
            for name in document.front.mentioned_units(document) {
                let is_plain = !name.is_empty() && !name.contains(['{', ' ', '\n']);
                if is_plain && !declared.contains(name) {
                    named.entry(folder.clone()).or_default().insert(name.to_owned());
                }
            }
            seen.add_ids(&folder, declared);
        }
        named
    }
    /// The folder of a document, as named.
    fn dir_of(&self, document: &ManifestDocument) -> PathBuf {
        super::lowering::folder_of(&file_access::clean_path(&self.real.join(&document.path)))
    }
    /// Adds the manifests in a folder that have one of these ids.
    fn adopt(
        &mut self,
        loader: &mut FileLoader,
        seen: &mut IdSearchProgress,
        dir: &Path,
        deep: bool,
        wanted: &BTreeSet<String>,
    ) {
        // Everything below the folder itself was already read.
        if wanted.is_empty() || self.complete && dir.starts_with(&self.real) {
            return;
        }
        let allowed_folders = self.allowed_folders(loader, "x");
        let ring = match seen.rings.get(&(dir.to_owned(), deep)) {
            Some(known) => known.clone(),
            None => {
                let ring = Rc::new(self.ring(loader, dir, deep));
                seen.rings.insert((dir.to_owned(), deep), ring.clone());
                ring
            }
        };
        let first = self.project.documents.len();
        for at in ring.may_have(wanted) {
            let path = relative(&self.real, at);
            if self.by_path.contains_key(&path) {
                continue;
            }
            let Ok(manifest) = loader.manifest_in(&allowed_folders, &self.root.join(&path), at) else { continue };
            let (DetectedFormat::One(front), Some(root)) = (&manifest.shape, &manifest.root) else { continue };
            let document = ManifestDocument {
                file: manifest.file,
                path: path.clone(),
                root: root.clone(),
                front: *front,
                project: 0,
            };
            let ids = front.unit_ids(&document);
            if ids.iter().any(|(id, _)| wanted.contains(id)) && self.document_index(manifest.file).is_none() {
                seen.add_ids(&self.dir_of(&document), ids.into_iter().map(|(id, _)| id));
                self.push(loader, &manifest, path, *front);
                self.manifests.insert(manifest.file, manifest);
            }
        }
        self.read_dependencies(loader, first);
    }
    /// Indexes a folder.
    fn ring(&mut self, loader: &mut FileLoader, dir: &Path, deep: bool) -> FolderIndex {
        let shown = self.root.join(relative(&self.real, dir));
        let allowed_folders = self.allowed_folders(loader, "x");
        let search =
            FolderSearch { shown: &shown, real: dir, allowed_folders: &allowed_folders, deep, projects: false };
        let found = discovery::find_manifests(loader, &search);
        let mut cut = found.cut;
        let (mut ring, mut bytes) = (FolderIndex { files: Vec::new(), words: Vec::new() }, 0);
        for (name, _) in found.files {
            let at = dir.join(name);
            // The ids of documents are already known.
            if self.by_path.contains_key(&relative(&self.real, &at)) {
                continue;
            }
            let Ok(text) = loader.text_in(&allowed_folders, &at) else { continue };
            bytes += text.len() as u64;
            if bytes > limits::FOLDER_BYTES {
                cut = Some(SearchLimit::Bytes);
                break;
            }
            ring.add(at, &text);
        }
        ring.words.sort_unstable();
        if let Some(cut) = cut {
            let d = too_much(loader, &shown, cut);
            self.unseen.push(Diagnostic { severity: FindingSeverity::Warning, ..d });
        }
        ring
    }
}

impl FolderIndex {
    fn add(&mut self, at: PathBuf, text: &str) {
        let file = self.files.len() as u32;
        // An id may be the name of the file.
        let stem = at.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let mut all: Vec<u32> = words(text).chain([stem]).map(hash).collect();
        all.sort_unstable();
        all.dedup();
        for word in all {
            self.words.push((word, file));
        }
        self.files.push(at);
    }
    /// The files that may have one of these ids, in order.
    fn may_have(&self, ids: &BTreeSet<String>) -> impl Iterator<Item = &Path> {
        let mut found = BTreeSet::new();
        for id in ids {
            let Some(longest) = words(id).max_by_key(|word| word.len()) else {
                found.extend(0..self.files.len() as u32);
                continue;
            };
            for word in [hash(longest), hash(id)] {
                let from = self.words.partition_point(|(other, _)| *other < word);
                for (other, file) in self.words.iter().skip(from) {
                    if *other != word {
                        break;
                    }
                    found.insert(*file);
                }
            }
        }
        found.into_iter().filter_map(|file| Some(self.files.get(file as usize)?.as_path()))
    }
}

/// The words of a text. An id is written as a scalar, so a word is not next to characters that could belong to it.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').filter(|word| !word.is_empty())
}

fn hash(word: &str) -> u32 {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish() as u32
}

/// The relative path from a folder to another place, with `/`.
fn relative(from: &Path, to: &Path) -> String {
    let mut shared = 0;
    for (one, other) in from.components().zip(to.components()) {
        if one != other {
            break;
        }
        shared += 1;
    }
    let mut parts = vec![Cow::Borrowed(".."); from.components().count() - shared];
    for part in to.components().skip(shared) {
        parts.push(part.as_os_str().to_string_lossy());
    }
    parts.join("/")
}
