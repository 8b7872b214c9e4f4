//! From the files of a folder to lowered documents: finds the folder's project, reads what its documents need, and
//! compiles them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trefoil_check::{RuleSource, find_rule};
use trefoil_front::project::resolve_path;
use trefoil_front::{FrontEnd, ManifestDocument, NeededFile, NeededFileKind, Project};
use trefoil_ir::{FactDetail, Facts, FlowId, Program};
use trefoil_runtime::ports::EnvFile;
use trefoil_syntax::yaml::WordRespellings;
use trefoil_syntax::{Diagnostic, FileId, FindingSeverity, Location, SourceFiles};
use trefoil_template::limits;

use super::compilation::{CompiledDocuments, LinkedProgram, files_of, is_in_one_of};
use super::discovery::{self, FolderSearch, SearchLimit, UnreadFile};
use super::file_loader::{DetectedFormat, FileLoader, LoadedManifest, is_foreign};
use super::{CheckStep, rules};
use crate::file_access::{self, AccessRefusal, AllowedFolders, NamedFile};
use crate::patterns::PATTERNS;
use crate::project_file::manifest_folder;

/// A folder with its manifests, ready to be lowered.
#[derive(Clone, Default)]
pub(super) struct LoadedFolder {
    /// As named; empty for the current folder.
    pub root: PathBuf,
    /// The path with links resolved.
    pub(super) real: PathBuf,
    /// Whether the folder itself was named.
    whole: bool,
    /// The data for the front ends.
    pub project: Project,
    /// Its documents by path and by file.
    pub(super) by_path: HashMap<String, usize>,
    by_file: HashMap<FileId, usize>,
    /// The roots of the projects of these manifests; the first one is that of the folder itself.
    pub(super) projects: Vec<PathBuf>,
    /// The project of each real folder, as an index into `projects`.
    project_of: HashMap<PathBuf, u32>,
    /// Every manifest that was read, by file, including those that are not documents.
    pub(super) manifests: HashMap<FileId, Arc<LoadedManifest>>,
    /// The files found in the folder, in path order.
    pub listed: Vec<FileId>,
    /// Findings about needed files that could not be opened.
    problems: Vec<Diagnostic>,
    /// The places that name them.
    refused: HashSet<Location>,
    /// Parts of the folder that could not be read.
    pub unseen: Vec<Diagnostic>,
    /// Which facts are needed.
    facts: FactDetail,
    /// Whether all its manifests were read, not just the named ones and those that they refer to.
    pub(super) complete: bool,
}

impl LoadedFolder {
    /// The directly named files of a folder, with everything that they need, and the compiled result. Most manifests
    /// need nothing else, and the folder may be large, so the rest is only read if they refer to unknown ids. If that
    /// finds nothing more, the first result is kept.
    pub fn load_and_compile(
        loader: &mut FileLoader,
        root: &Path,
        named: &[PathBuf],
        files: &[FileId],
    ) -> (Self, CompiledDocuments) {
        let alone = Self::around(loader, root, named);
        let made = alone.make_as_meant(loader, &alone.document_indices(files));
        if !made.needs_the_folder() {
            return (alone, made);
        }
        let all = Self::read(loader, root, named);
        let made =
            if all.has_the_same(&alone) { made } else { all.make_as_meant(loader, &all.document_indices(files)) };
        (all, made)
    }
    fn around(loader: &mut FileLoader, root: &Path, named: &[PathBuf]) -> Self {
        let (mut folder, _) = Self::start(loader, root, named, false);
        folder.finish(loader);
        folder
    }
    /// Reads a folder around the directly named files in it: those are read whatever their extension, their names are
    /// kept as given, and the requested dialect applies only to them.
    fn read(loader: &mut FileLoader, root: &Path, named: &[PathBuf]) -> Self {
        let (mut folder, named_ids) = Self::start(loader, root, named, false);
        folder.discover(loader, &named_ids);
        folder.finish(loader);
        folder
    }
    /// Whether the documents of both compile to the same result.
    fn has_the_same(&self, other: &Self) -> bool {
        self.manifests.len() == other.manifests.len()
            && self.manifests.keys().all(|file| other.manifests.contains_key(file))
            && self.document_identities().eq(other.document_identities())
    }
    /// The file, path, dialect and project of each document.
    fn document_identities(&self) -> impl Iterator<Item = (FileId, &str, &str, u32)> {
        self.project.documents.iter().map(|d| (d.file, &*d.path, d.front.name(), d.project))
    }
    /// Reads a folder that was itself named; the requested dialect applies to all its manifests.
    pub fn read_whole_folder(loader: &mut FileLoader, root: &Path, named: &[PathBuf]) -> Self {
        let (mut folder, named_ids) = Self::start(loader, root, named, true);
        folder.discover(loader, &named_ids);
        folder.finish(loader);
        folder
    }
    fn start(loader: &mut FileLoader, root: &Path, named: &[PathBuf], whole: bool) -> (Self, BTreeSet<FileId>) {
        let mut folder = Self {
            root: root.to_owned(),
            real: loader.options.file_access.folder_real(root).unwrap_or_else(|| root.to_owned()),
            whole,
            facts: loader.options.facts(),
            ..Self::default()
        };
        let project = loader.options.file_access.project_of(&folder.real, folder.whole_folder());
        folder.projects.push(project);
        let mut named_ids = BTreeSet::new();
        for path in named {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let manifest = loader.load_manifest(path);
            named_ids.insert(manifest.file);
            folder.add(loader, name, manifest, true);
        }
        (folder, named_ids)
    }
    /// The real folder, if the folder itself was named.
    fn whole_folder(&self) -> Option<&Path> {
        if self.whole { Some(&self.real) } else { None }
    }
    /// The real folder of a document.
    fn folder_of(&self, loader: &FileLoader, document: &str) -> PathBuf {
        let path = file_access::clean_path(&self.real.join(document));
        if let Some(folder) = path.parent()
            && let Some(real) = loader.options.file_access.folder_real(folder)
        {
            return real;
        }
        self.real.clone()
    }
    /// The real folder of a document itself, whose project decides what it may read: a link has the project of its target.
    fn home_of(&self, loader: &FileLoader, document: &str) -> PathBuf {
        let path = file_access::clean_path(&self.real.join(document));
        manifest_folder(&loader.options.file_access, &path).unwrap_or_else(|| self.folder_of(loader, document))
    }
    /// The folders that paths in a document may lead into.
    fn allowed_folders_of(&self, loader: &mut FileLoader, document: &str) -> Arc<AllowedFolders> {
        let folder = self.home_of(loader, document);
        loader.allowed_folders(&folder, self.whole_folder())
    }
    /// The folders that paths in a file of a folder may lead into.
    pub(super) fn allowed_folders(&self, loader: &mut FileLoader, document: &str) -> Arc<AllowedFolders> {
        let folder = self.folder_of(loader, document);
        loader.allowed_folders(&folder, self.whole_folder())
    }
    /// The project of a document.
    fn project_of(&mut self, loader: &FileLoader, document: &str) -> u32 {
        let folder = self.home_of(loader, document);
        if let Some(known) = self.project_of.get(&folder) {
            return *known;
        }
        // An unmarked folder within this one belongs to this project, whichever of the two was named.
        let root = loader.options.file_access.project_of(&folder, Some(&*self.real));
        let project = match self.projects.iter().position(|known| *known == root) {
            Some(known) => known as u32,
            None => {
                self.projects.push(root);
                (self.projects.len() - 1) as u32
            }
        };
        self.project_of.insert(folder, project);
        project
    }
    /// Adds a document.
    pub(super) fn push(
        &mut self,
        loader: &FileLoader,
        manifest: &LoadedManifest,
        path: String,
        front: &'static dyn FrontEnd,
    ) {
        let (Some(root), file) = (manifest.root.clone(), manifest.file) else { return };
        let project = self.project_of(loader, &path);
        self.project.documents.push(ManifestDocument { file, path, root, front, project });
        self.note(self.project.documents.len() - 1);
    }
    /// Adds a document to the indexes.
    fn note(&mut self, at: usize) {
        let Some(document) = self.project.documents.get(at) else { return };
        self.by_path.entry(document.path.clone()).or_insert(at);
        self.by_file.entry(document.file).or_insert(at);
    }
    fn discover(&mut self, loader: &mut FileLoader, named_ids: &BTreeSet<FileId>) {
        self.complete = true;
        let allowed_folders = self.allowed_folders(loader, "x");
        let (shown, real) = (self.root.clone(), self.real.clone());
        let search =
            FolderSearch { shown: &shown, real: &real, allowed_folders: &allowed_folders, deep: true, projects: true };
        let mut found = discovery::find_manifests(loader, &search);
        let overlay = loader.options.overlay.clone();
        found.with_unsaved(&self.root, &self.real, overlay.keys());
        let (all, mut bytes) = (found.files.len(), 0);
        for (at, (path, full)) in found.files.into_iter().enumerate() {
            loader.report_progress(CheckStep::Reading(at, all));
            let manifest = match loader.manifest_in(&allowed_folders, &full, &self.real.join(&path)) {
                Ok(manifest) => manifest,
                Err(AccessRefusal::Outside { to, .. }) => {
                    found.problems.push((full, UnreadFile::Outside(to)));
                    continue;
                }
                Err(why) => {
                    found.problems.push((full, UnreadFile::Unreadable(why.reason_text())));
                    continue;
                }
            };
            if let Some(file) = loader.read_files().get(manifest.file) {
                bytes += file.text().len() as u64;
            }
            if bytes > limits::FOLDER_BYTES {
                found.cut = Some(SearchLimit::Bytes);
                break;
            }
            self.listed.push(manifest.file);
            if !named_ids.contains(&manifest.file) {
                // Lists, texts and companion files of a format are never read as a requested dialect.
                let may_be_requested = match &manifest.root {
                    Some(root) => root.as_mapping().is_some() && trefoil_front::companion_kind(root).is_none(),
                    None => false,
                };
                self.add(loader, path, manifest, self.whole && may_be_requested);
            }
        }
        for (path, problem) in found.problems {
            let d = unread_finding(loader, &path, problem);
            self.unseen.push(d);
        }
        if let Some(cut) = found.cut {
            let d = too_much(loader, &self.root, cut);
            self.unseen.push(d);
        }
    }
    fn finish(&mut self, loader: &mut FileLoader) {
        self.project.documents.sort_by(|a, b| a.path.cmp(&b.path));
        (self.by_path, self.by_file) = Default::default();
        for at in 0..self.project.documents.len() {
            self.note(at);
        }
        self.read_dependencies(loader, 0);
        self.search_missing_ids(loader);
        self.project.files = loader.read_files().clone();
        self.project.context = loader.context.clone();
        self.project.skills = loader.skills.clone();
        let files: Vec<FileId> = self.project.documents.iter().map(|document| document.file).collect();
        self.project.providers = loader.provider_names(files.iter().copied());
        self.project.servers = files.into_iter().map(|file| (file, loader.server_names(file))).collect();
    }
    fn add(&mut self, loader: &FileLoader, path: String, manifest: Arc<LoadedManifest>, named: bool) {
        let front = match (&manifest.shape, loader.options.dialect) {
            (_, Some(front)) if named => Some(front),
            (DetectedFormat::One(front), _) => Some(*front),
            (DetectedFormat::Several(_), Some(front)) => Some(front),
            _ => None,
        };
        if let Some(front) = front {
            self.push(loader, &manifest, path, front);
        }
        self.manifests.insert(manifest.file, manifest);
    }
    /// Reads everything that the documents from this index on need, directly or indirectly, as far as it exists.
    pub(super) fn read_dependencies(&mut self, loader: &mut FileLoader, from: usize) {
        let mut next = from;
        while let Some(document) = self.project.documents.get(next).cloned() {
            next += 1;
            self.open(loader, &document);
        }
    }
    /// The same folder with these words in its documents, and with everything that they need then.
    pub(super) fn with_respellings(&self, loader: &mut FileLoader, words: &HashMap<FileId, WordRespellings>) -> Self {
        let mut folder = self.clone();
        let from = folder.project.documents.len();
        for at in 0..from {
            let Some(document) = folder.project.documents.get_mut(at) else { continue };
            let Some(words) = words.get(&document.file) else { continue };
            document.root = document.root.with_respellings(words);
            let document = document.clone();
            folder.problems.retain(|d| d.file != Some(document.file));
            folder.refused.retain(|at| at.file != document.file);
            folder.open(loader, &document);
        }
        folder.read_dependencies(loader, from);
        folder.project.files = loader.read_files().clone();
        folder
    }
    /// Reads what a document needs.
    fn open(&mut self, loader: &mut FileLoader, document: &ManifestDocument) {
        for need in document.front.needed_files(document) {
            let path = resolve_path(&document.path, &need.path);
            let (full, shown) = (self.real.join(&path), self.root.join(&path));
            let allowed_folders = self.allowed_folders_of(loader, &document.path);
            let opened = match need.kind {
                // It was read for another reason, which does not mean that this document may name it.
                NeededFileKind::Manifest if self.by_path.contains_key(&path) => allowed_folders.check_file(&full),
                NeededFileKind::Attachment if self.project.attachments.contains_key(&path) => continue,
                NeededFileKind::Manifest => self.open_manifest(loader, document, &allowed_folders, path),
                NeededFileKind::Attachment => self.open_attachment(loader, &allowed_folders, path),
                NeededFileKind::EnvFile => self.check_env_file(&allowed_folders, &full, &shown, need.location),
            };
            if let Err(why) = opened {
                self.refuse(loader, document, &need, &why, &allowed_folders);
            }
        }
    }
    /// Adds a manifest that a document names.
    fn open_manifest(
        &mut self,
        loader: &mut FileLoader,
        document: &ManifestDocument,
        allowed_folders: &AllowedFolders,
        path: String,
    ) -> Result<(), AccessRefusal> {
        let manifest = loader.manifest_in(allowed_folders, &self.root.join(&path), &self.real.join(&path))?;
        let front = match manifest.shape {
            DetectedFormat::One(front) => front,
            _ => document.front,
        };
        self.push(loader, &manifest, path, front);
        self.manifests.insert(manifest.file, manifest);
        Ok(())
    }
    /// Adds a text that a document names.
    fn open_attachment(
        &mut self,
        loader: &mut FileLoader,
        allowed_folders: &AllowedFolders,
        path: String,
    ) -> Result<(), AccessRefusal> {
        let text = loader.text_in(allowed_folders, &self.real.join(&path))?;
        loader.keep_text(&self.root.join(&path), &text);
        self.project.attachments.insert(path, text);
        Ok(())
    }
    /// The values of an environment file are read by the run, but its existence and its lines are checked now.
    fn check_env_file(
        &mut self,
        allowed_folders: &AllowedFolders,
        full: &Path,
        shown: &Path,
        named_at: Location,
    ) -> Result<(), AccessRefusal> {
        allowed_folders.check_file(full)?;
        let bytes = allowed_folders.read_file(full, limits::TEXT_FILE_BYTES).unwrap_or_default();
        let name = shown.display().to_string();
        for line in EnvFile::from_text(&String::from_utf8_lossy(&bytes)).unread {
            let fault = line.describe_fault(&name);
            self.problems.push(match line.is_open {
                true => Diagnostic::new_error(rules::ENV_LINE, named_at, fault).with_help(rules::ENV_LINE_HELP),
                false => Diagnostic::new_info(rules::ENV_LINE, named_at, fault),
            });
        }
        Ok(())
    }
    /// Reports why a needed file was not opened.
    fn refuse(
        &mut self,
        loader: &FileLoader,
        document: &ManifestDocument,
        need: &NeededFile,
        why: &AccessRefusal,
        allowed_folders: &AllowedFolders,
    ) {
        let key = need.kind.key();
        let d = match why {
            // Front ends have better advice about what exists instead.
            AccessRefusal::NotThere if need.kind != NeededFileKind::EnvFile => return,
            AccessRefusal::NotThere => {
                let shown = self.root.join(resolve_path(&document.path, &need.path));
                let message = format!("the environment file `{}` does not exist", shown.display());
                Diagnostic::new_error(rules::ENV_FILE, need.location, message)
                    .with_help("create it with one `NAME=value` per line, or remove `env_file`")
            }
            AccessRefusal::Outside { link, .. } => {
                let message = match link {
                    None => format!("`{key}` leads outside the project: `{}`", need.path),
                    Some(link) => {
                        let name = link.strip_prefix(&self.real).unwrap_or(link).display();
                        format!("`{key}` leads outside the project through the link `{name}`")
                    }
                };
                let d = Diagnostic::new_error(rules::OUTSIDE, need.location, message);
                if loader.options.file_access.memory_files().is_some() {
                    d.with_help("name one of the files that the flow was made of")
                } else {
                    let own = self.home_of(loader, &document.path);
                    let project =
                        allowed_folders.folder_paths().iter().find(|room| own.starts_with(room)).unwrap_or(&self.real);
                    let folder = why.needed_folder().unwrap_or(Path::new("DIR")).display();
                    d.with_help(format!(
                        "the project is `{}`; to allow the other folder as well, add `--allow-path {folder}`",
                        project.display()
                    ))
                }
            }
            _ => {
                let message = format!("`{key}` names `{}`, which cannot be read: {}", need.path, why.reason_text());
                let rule = if matches!(why, AccessRefusal::TooLarge { .. }) { rules::LIMIT } else { rules::UNREADABLE };
                Diagnostic::new_error(rule, need.location, message).with_help(why.help_text())
            }
        };
        self.refused.insert(need.location);
        self.problems.push(d);
    }
    /// The findings about limits reached while searching for names.
    pub fn limit_findings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.unseen.iter().filter(|d| d.rule == rules::FOLDER_LIMIT)
    }
    /// Reports manifests in one folder with the same id. References to that id are errors.
    pub(super) fn duplicate_ids(&self) -> Vec<Diagnostic> {
        let mut first: BTreeMap<(&str, &str, &str, String), Location> = BTreeMap::new();
        let mut found = Vec::new();
        for document in &self.project.documents {
            let (folder, _) = document.path.rsplit_once('/').unwrap_or_default();
            let kind = kind_of_names(document);
            for (id, at) in document.front.unit_ids(document) {
                match first.entry((folder, document.front.name(), kind, id.clone())) {
                    Entry::Vacant(entry) => drop(entry.insert(at)),
                    Entry::Occupied(entry) if entry.get().file != at.file => found.push(
                        Diagnostic::new_warning(
                            "duplicate-id",
                            at,
                            format!("another manifest in this folder has the id `{id}`"),
                        )
                        .with_label(*entry.get(), "here")
                        .with_help("rename one of them; a reference to this id could mean either"),
                    ),
                    Entry::Occupied(_) => {}
                }
            }
        }
        found
    }
    /// Whether none of its files is a manifest, not even a broken one.
    pub(super) fn has_no_manifest(&self, files: &SourceFiles) -> bool {
        if !self.project.documents.is_empty() {
            return false;
        }
        // A file without anything in it is no manifest that is broken.
        let is_wrong = |d: &Diagnostic| d.severity == FindingSeverity::Error && d.rule != "yaml-empty";
        for file in &self.listed {
            let Some(manifest) = self.manifest_of_file(*file) else { continue };
            if manifest.diagnostics.iter().any(is_wrong) && !is_foreign(manifest, files) {
                return false;
            }
        }
        true
    }
    /// The document of a file.
    pub(super) fn document_of_file(&self, file: FileId) -> Option<&ManifestDocument> {
        self.project.documents.get(self.document_index(file)?)
    }
    /// The index of the document of a file.
    pub fn document_index(&self, file: FileId) -> Option<usize> {
        self.by_file.get(&file).copied()
    }
    /// The documents among files.
    pub(super) fn document_indices(&self, files: &[FileId]) -> Vec<usize> {
        files.iter().filter_map(|file| self.document_index(*file)).collect()
    }
    /// The result of reading a file.
    pub fn manifest_of_file(&self, file: FileId) -> Option<&LoadedManifest> {
        Some(self.manifests.get(&file)?)
    }
    /// Compiles documents as entries, each with everything that it reaches.
    pub fn compile_entries(&self, entries: &[usize]) -> CompiledDocuments {
        let mut made = CompiledDocuments { facts: Facts::with_detail(self.facts), ..CompiledDocuments::default() };
        let mut by_dialect: BTreeMap<&str, (&dyn FrontEnd, Vec<usize>)> = BTreeMap::new();
        for at in entries {
            let Some(document) = self.project.documents.get(*at) else { continue };
            let (_, documents) = by_dialect.entry(document.front.name()).or_insert((document.front, Vec::new()));
            documents.push(*at);
            made.touched.insert(document.file);
        }
        for (front, entries) in by_dialect.into_values() {
            let compiled = front.compile_documents(&self.project, &entries, self.facts);
            let linked = trefoil_lint::link_with_findings(compiled);
            made.findings.extend(linked.found);
            made.facts.merge_from(linked.facts);
            let Some(program) = linked.program else { continue };
            made.touched.extend(program.file_ids());
            let mut entries = Vec::new();
            for (at, flow) in linked.entries {
                if let Some(document) = self.project.documents.get(at) {
                    entries.push((document.file, flow));
                }
            }
            made.programs.push(LinkedProgram { program, entries, env_files: linked.env_files });
        }
        made.touched.extend(made.findings.iter().filter_map(|d| d.file));
        self.complete_findings(&mut made);
        made
    }
    /// Adds the findings of reading the files, and removes findings that only follow from them.
    fn complete_findings(&self, made: &mut CompiledDocuments) {
        let mut broken = files_of(&made.findings, |d| d.severity == FindingSeverity::Error);
        made.seeks = made.findings.iter().any(|d| self.seeks(d));
        if made.seeks {
            // The missing name may be in a file that could not be read completely.
            for manifest in self.manifests.values() {
                if !manifest.complete && !is_foreign(manifest, &self.project.files) {
                    made.touched.insert(manifest.file);
                }
            }
        }
        // Only the first document of a file is read, so what the rest may hold is not missing.
        let mut parted: HashSet<FileId> = HashSet::new();
        for manifest in self.manifests.values() {
            if manifest.diagnostics.iter().any(|d| d.rule == "yaml-multiple-documents") {
                parted.insert(manifest.file);
            }
        }
        made.findings.retain(|d| self.holds(d) && !self.names_refused_file(d) && !is_in_one_of(d, &parted));
        let mut cut = HashSet::new();
        for file in &made.touched {
            let Some(manifest) = self.manifest_of_file(*file) else { continue };
            made.findings.extend(manifest.diagnostics.iter().cloned());
            if !manifest.complete {
                cut.insert(*file);
            }
        }
        for d in &self.problems {
            if matches!(d.file, Some(file) if made.touched.contains(&file)) {
                made.findings.push(d.clone());
            }
        }
        broken.extend(files_of(&made.findings, trefoil_check::keeps_from_loading));
        made.broken = made.callers_of(broken);
        made.cut = made.callers_of(cut);
    }
    /// Whether a finding is about a name that another file may declare.
    fn seeks(&self, d: &Diagnostic) -> bool {
        if d.rule != "unknown-reference" {
            return false;
        }
        let (Some(file), Some(at)) = (d.file, d.span) else { return true };
        let Some(document) = self.document_of_file(file) else { return true };
        document.front.may_reference_files(document, at)
    }
    /// Whether a finding only follows from a file that was rejected: that file is not missing.
    fn names_refused_file(&self, d: &Diagnostic) -> bool {
        let (Some(file), Some(span)) = (d.file, d.span) else { return false };
        d.rule == "unknown-reference" && self.refused.contains(&Location::new(file, span))
    }
    /// Whether a finding is valid although a part of its file could not be read.
    fn holds(&self, d: &Diagnostic) -> bool {
        if let Some(file) = d.file
            && let Some(manifest) = self.manifest_of_file(file)
            && !manifest.complete
        {
            return matches!(find_rule(d.rule), Some(rule) if matches!(rule.run, RuleSource::Place));
        }
        true
    }
    /// Environment files by project path, to be read later.
    pub fn env_files(&self, loader: &mut FileLoader, paths: &[String]) -> Vec<NamedFile> {
        let mut files = Vec::new();
        for path in paths {
            let allowed_folders = self.allowed_folders(loader, path);
            files.push(NamedFile::new(
                self.root.join(path),
                self.real.join(path),
                allowed_folders,
                limits::TEXT_FILE_BYTES,
            ));
        }
        files
    }
}

/// The kind of a document, if kinds of its format have names of their own: pipelines and agents share their names; other kinds
/// of a format are named by separate keys.
fn kind_of_names(document: &ManifestDocument) -> &str {
    if let Some(mapping) = document.root.as_mapping()
        && let Some(entry) = mapping.get("kind")
        && let Some(text) = entry.value.as_string()
    {
        let kind = text.value.trim_end_matches("Manifest");
        if kind.starts_with(|c: char| c.is_ascii_uppercase()) {
            return kind;
        }
    }
    ""
}

/// The folder of a file.
pub(super) fn folder_of(file: &Path) -> PathBuf {
    file.parent().map(Path::to_owned).unwrap_or_default()
}

/// The programs at a path with the flows of their entries; manifests with load errors are skipped.
pub(super) fn load_programs(loader: &mut FileLoader, path: &Path) -> Vec<(Program, Vec<FlowId>)> {
    let made = if loader.options.file_access.is_folder(path) {
        let folder = LoadedFolder::read_whole_folder(loader, path, &[]);
        folder.compile_entries(&folder.document_indices(&folder.listed))
    } else {
        let file = loader.load_manifest(path).file;
        LoadedFolder::load_and_compile(loader, &folder_of(path), &[path.to_owned()], &[file]).1
    };
    let CompiledDocuments { programs, broken, .. } = made;
    let mut loaded = Vec::new();
    for LinkedProgram { program, mut entries, .. } in programs {
        entries.retain(|(file, _)| !broken.contains(file));
        loaded.push((program, entries.into_iter().map(|(_, flow)| flow).collect()));
    }
    loaded
}

/// The finding about a folder without manifests. `others`: there are files that could have been some.
pub(super) fn nothing_in(loader: &mut FileLoader, root: &Path, others: bool) -> Diagnostic {
    let file = loader.add_message_file(root);
    let nothing = |message| Diagnostic::without_location(rules::NOTHING, FindingSeverity::Error, Some(file), message);
    if others {
        return nothing(format!("no manifest in `{}`", root.display()));
    }
    nothing(format!("no `.yaml` or `.yml` file in `{}`", root.display()))
        .with_help("dot-folders, `node_modules`, `target` and anything in `.gitignore` or `exclude` are skipped")
}

/// The finding about something in a folder that was not read.
fn unread_finding(loader: &mut FileLoader, path: &Path, problem: UnreadFile) -> Diagnostic {
    let file = loader.add_message_file(path);
    match problem {
        UnreadFile::Unreadable(why) => {
            let message = format!("`{}` cannot be opened: {why}", path.display());
            Diagnostic::without_location(rules::UNREADABLE, FindingSeverity::Error, Some(file), message)
        }
        UnreadFile::Outside(to) => {
            // Folders are linked for many reasons, but a link with the name of a manifest was meant as one.
            let yaml =
                matches!(path.file_name().and_then(|name| name.to_str()), Some(name) if discovery::is_yaml(name));
            let severity = if yaml { FindingSeverity::Warning } else { FindingSeverity::Info };
            let message =
                format!("`{}` is a link that leads outside the project, so it is not followed", path.display());
            let folder = if yaml { to.parent().unwrap_or(&to) } else { &to };
            Diagnostic::without_location(rules::OUTSIDE, severity, Some(file), message)
                .with_help(format!("to allow it, add `--allow-path {}`", folder.display()))
        }
    }
}

/// The finding about a folder that exceeds a limit.
pub(super) fn too_much(loader: &mut FileLoader, folder: &Path, cut: SearchLimit) -> Diagnostic {
    let file = loader.add_message_file(folder);
    let (message, help) = match cut {
        SearchLimit::Files(n) => (
            format!("the folder has more than {n} YAML files; the others were not checked"),
            "choose a smaller folder, exclude files with `exclude` in `trefoil.toml`, or raise `--max-files`",
        ),
        SearchLimit::Entries(n) => (
            format!("the folder has more than {n} entries; the others were not checked"),
            "choose a smaller folder, exclude files with `exclude` in `trefoil.toml`, or raise `--max-files`",
        ),
        SearchLimit::Patterns => (
            format!("the ignore files have more than {PATTERNS} patterns; the others have no effect"),
            "choose a smaller folder, or use fewer patterns",
        ),
        SearchLimit::Depth => {
            ("the folder is nested too deep; deeper folders were not checked".to_owned(), "choose a deeper folder")
        }
        SearchLimit::Bytes => (
            format!(
                "the YAML files are larger than {} MB together; the others were not checked",
                limits::FOLDER_BYTES >> 20
            ),
            "choose a smaller folder, or exclude files with `exclude` in `trefoil.toml`",
        ),
    };
    Diagnostic::without_location(rules::FOLDER_LIMIT, FindingSeverity::Warning, Some(file), message).with_help(help)
}
