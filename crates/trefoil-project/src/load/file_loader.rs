//! Reads each file once, through the file access, parses it and detects its dialect.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trefoil_check::{ProjectDeclarations, SuppressionComments};
use trefoil_front::{DialectDetection, DialectEvidence, FRONT_ENDS, FrontEnd, detect_dialect};
use trefoil_syntax::yaml::{self, YamlDocument, YamlNode};
use trefoil_syntax::{Diagnostic, DiagnosticList, FileId, FindingSeverity, Location, SourceFile, SourceFiles, Span};

use super::project::ProjectFiles;
use super::tool_flows::{CallsOfTools, FlowOfTool};
use super::{LoadOptions, rules};
use crate::file_access::{AccessRefusal, AllowedFolders};
use crate::settings;

/// All files of one load. A file needed by several manifests is read once.
#[derive(Default)]
pub(super) struct FileLoader {
    /// The options.
    pub options: LoadOptions,
    files: SourceFiles,
    manifests: HashMap<PathBuf, Arc<LoadedManifest>>,
    /// The context text named by the options.
    pub context: Option<String>,
    /// The skills text named by the options.
    pub skills: Option<String>,
    /// The folders that paths in the files of a folder may lead into, by real folder.
    allowed_folders: HashMap<PathBuf, Arc<AllowedFolders>>,
    /// The project files of the folders that files are in.
    pub projects: ProjectFiles,
    /// The mistakes in project files.
    pub project_findings: Vec<Diagnostic>,
    /// The flows that are tools of others, by their files.
    pub flows_of_tools: HashMap<String, Option<Arc<FlowOfTool>>>,
    /// What projects declare, by the addresses of their project files, which `projects` keeps; `None`: what the user's own
    /// settings declare.
    pub supplied_by_project: HashMap<Option<usize>, Arc<ProjectDeclarations>>,
    /// What one call of each does, by the tools that a project has and their files.
    pub calls_of_tools: HashMap<Vec<(String, String)>, Arc<CallsOfTools>>,
    /// The texts in programs that are not manifests, by path.
    others: BTreeMap<PathBuf, Arc<str>>,
}

/// A file that was read as a manifest.
pub(super) struct LoadedManifest {
    /// Its file.
    pub file: FileId,
    /// Its tree, if it could be parsed.
    pub root: Option<YamlNode>,
    /// Whether the tree is complete.
    pub complete: bool,
    /// Its detected format.
    pub shape: DetectedFormat,
    /// The findings of reading and parsing.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether it could not be read at all.
    pub unreadable: bool,
    /// The suppressions in its comments.
    pub suppressions: Option<SuppressionComments>,
}

/// The format of a manifest.
#[derive(Clone)]
pub(super) enum DetectedFormat {
    /// One dialect.
    One(&'static dyn FrontEnd),
    /// It has keys of several dialects.
    Several(Vec<(&'static str, DialectEvidence)>),
    /// Unknown.
    Unknown,
}

impl FileLoader {
    /// A loader that has not read anything.
    pub fn new(options: LoadOptions) -> Self {
        Self { options, ..Self::default() }
    }
    /// Reads the texts named by the options.
    pub fn read_option_texts(&mut self, found: &mut DiagnosticList) {
        if let Some(path) = self.options.context.clone() {
            self.context = self.option_text(&path, found);
        }
        if let Some(path) = self.options.skills.clone() {
            self.skills = self.option_text(&path, found);
        }
    }
    fn option_text(&mut self, path: &Path, found: &mut DiagnosticList) -> Option<String> {
        match self.named_text(path) {
            Ok(text) if text.not_utf8().is_none() => {
                self.keep_text(path, text.text());
                Some(text.text().to_string())
            }
            Ok(_) => {
                let file = self.add_message_file(path);
                let message = format!("`{}` is not UTF-8 text", path.display());
                found.push(Diagnostic::without_location(
                    rules::UNREADABLE,
                    FindingSeverity::Error,
                    Some(file),
                    message,
                ));
                None
            }
            Err(why) => {
                found.push(why);
                None
            }
        }
    }
    /// The files read so far.
    pub fn read_files(&self) -> &SourceFiles {
        &self.files
    }
    /// Adds a file that is not a manifest.
    pub fn add_file(&mut self, file: SourceFile) -> FileId {
        self.files.add_file(file)
    }
    /// The suppressions in comments of manifests.
    pub fn manifest_suppressions(&self) -> HashMap<FileId, SuppressionComments> {
        let manifests = self.manifests.values();
        manifests.filter_map(|m| Some((m.file, m.suppressions.clone()?))).collect()
    }
    /// Whether any manifest has a suppression.
    pub fn has_suppressions(&self) -> bool {
        self.manifests.values().any(|m| m.suppressions.is_some())
    }
    /// Records a text that is part of a program but not a manifest.
    pub fn keep_text(&mut self, path: &Path, text: &str) {
        self.others.insert(path.to_owned(), text.into());
    }
    /// Returns the files, the manifests, and the texts that are not manifests.
    pub fn into_read(self) -> (SourceFiles, Vec<Arc<LoadedManifest>>, BTreeMap<PathBuf, Arc<str>>) {
        (self.files, self.manifests.into_values().collect(), self.others)
    }
    /// A file id for something that is not one of the files, for messages.
    pub fn add_message_file(&mut self, path: &Path) -> FileId {
        self.files.add_file(SourceFile::new(path.display().to_string(), ""))
    }
    /// Reads and parses a file named by the operator, unless it was already read. Its name in messages is the `path` of
    /// the first call.
    pub fn load_manifest(&mut self, path: &Path) -> Arc<LoadedManifest> {
        let real = self.options.file_access.resolve_links(path);
        self.manifest_at(path, real, |loader| {
            loader.options.file_access.read_named_file(path, loader.options.limits.bytes as u64)
        })
    }
    /// The same for a file to which another file refers. `path` is its name in messages, `at` its location.
    pub fn manifest_in(
        &mut self,
        allowed_folders: &AllowedFolders,
        path: &Path,
        at: &Path,
    ) -> Result<Arc<LoadedManifest>, AccessRefusal> {
        let way = allowed_folders.resolve_path(at)?;
        let real = way.real_path().to_owned();
        if let Some(known) = self.manifests.get(&real) {
            return Ok(known.clone());
        }
        if self.options.overlay.contains_key(&real) {
            return Ok(self.manifest_at(path, real, |_| Err(AccessRefusal::NotThere)));
        }
        let opened = way.open()?;
        Ok(self.manifest_at(path, real, |loader| opened.read_contents(loader.options.limits.bytes as u64)))
    }
    fn manifest_at(
        &mut self,
        path: &Path,
        real: PathBuf,
        open: impl FnOnce(&Self) -> Result<Vec<u8>, AccessRefusal>,
    ) -> Arc<LoadedManifest> {
        if let Some(known) = self.manifests.get(&real) {
            return known.clone();
        }
        let manifest = Arc::new(match self.source(path, &real, open) {
            Ok(source) => self.parse(source, &real),
            Err(diagnostic) => LoadedManifest {
                file: diagnostic.file.unwrap_or(FileId(0)),
                root: None,
                complete: false,
                shape: DetectedFormat::Unknown,
                // A file that is too large exists and is readable; its size is a mistake in the file.
                unreadable: diagnostic.rule != rules::LIMIT,
                diagnostics: vec![diagnostic],
                suppressions: None,
            },
        });
        self.manifests.insert(real, manifest.clone());
        manifest
    }
    /// Reads a text that the operator named.
    pub fn named_text(&mut self, path: &Path) -> Result<SourceFile, Diagnostic> {
        let real = self.options.file_access.resolve_links(path);
        self.source(path, &real, |loader| {
            loader.options.file_access.read_named_file(path, loader.options.limits.bytes as u64)
        })
    }
    /// The text of a file to which another file refers, from an editor's buffer or from disk.
    pub fn text_in(&self, allowed_folders: &AllowedFolders, at: &Path) -> Result<String, AccessRefusal> {
        let way = allowed_folders.resolve_path(at)?;
        if let Some(text) = self.options.overlay.get(way.real_path()) {
            return Ok(text.to_string());
        }
        let bytes = way.open()?.read_contents(self.options.limits.bytes as u64)?;
        String::from_utf8(bytes).map_err(|_| AccessRefusal::NotAFile("it is not UTF-8 text"))
    }
    /// The folders that paths in files of a real folder may lead into. `whole` is the folder that was named as a whole,
    /// if any.
    pub fn allowed_folders(&mut self, folder: &Path, whole: Option<&Path>) -> Arc<AllowedFolders> {
        if let Some(known) = self.allowed_folders.get(folder) {
            return known.clone();
        }
        let file_access = &self.options.file_access;
        let by_project = match self.options.allowed_by_projects {
            true => settings::find_settings(folder, false).settings.allowed,
            false => Vec::new(),
        };
        let mut allowed = Vec::new();
        for outside in self.options.allowed.iter().chain(&by_project) {
            allowed.extend(file_access.folder_real(outside));
        }
        allowed.push(file_access.project_of(folder, whole));
        let allowed_folders = Arc::new(file_access.allowed_folders(allowed));
        self.allowed_folders.insert(folder.to_owned(), allowed_folders.clone());
        allowed_folders
    }
    /// Reports progress.
    pub fn report_progress(&self, step: super::CheckStep) {
        if let Some(progress) = &self.options.progress {
            (progress.0)(step);
        }
    }
    fn parse(&mut self, source: SourceFile, real: &Path) -> LoadedManifest {
        let file = self.files.add_file(source.clone());
        let cache = self.options.cache.as_ref();
        let known = cache.and_then(|cache| cache.cached_tree(real, &source));
        let parsed = match &known {
            Some(root) => YamlDocument { root: Some(root.clone()), complete: true, diagnostics: Vec::new() },
            None => yaml::parse(file, &source, &self.options.limits),
        };
        if let (Some(cache), None, Some(root)) = (cache, known, &parsed.root)
            && parsed.complete
            && parsed.diagnostics.is_empty()
        {
            cache.keep_tree(real, source.text().clone(), root.clone());
        }
        let shape = match parsed.root.as_ref().map(detect_dialect) {
            Some(DialectDetection::One(front)) => DetectedFormat::One(front),
            Some(DialectDetection::Several(all)) => DetectedFormat::Several(all),
            Some(DialectDetection::Unknown) | None => DetectedFormat::Unknown,
        };
        let suppressions = match &parsed.root {
            Some(root) if parsed.complete && self.options.checks.is_some() => {
                SuppressionComments::read_comments(file, &source, root)
            }
            _ => None,
        };
        LoadedManifest {
            file,
            suppressions,
            root: parsed.root,
            complete: parsed.complete,
            shape,
            diagnostics: parsed.diagnostics,
            unreadable: false,
        }
    }
    /// The file's text, from an editor's buffer or from disk.
    fn source(
        &mut self,
        path: &Path,
        real: &Path,
        open: impl FnOnce(&Self) -> Result<Vec<u8>, AccessRefusal>,
    ) -> Result<SourceFile, Diagnostic> {
        let name = path.display().to_string();
        if let Some(text) = self.options.overlay.get(real) {
            return Ok(SourceFile::new(name, text.clone()));
        }
        let why = match open(self) {
            Ok(bytes) => return Ok(SourceFile::from_bytes(name, bytes)),
            Err(why) => why,
        };
        let (rule, message, help) = match &why {
            AccessRefusal::TooLarge { .. } => {
                (rules::LIMIT, format!("the file is too large: {}", why.reason_text()), "split the file")
            }
            AccessRefusal::NotThere => (
                rules::NOT_FOUND,
                format!("the file `{name}` does not exist"),
                "check the path; it is relative to the current folder",
            ),
            _ => (rules::UNREADABLE, format!("`{name}` cannot be read: {}", why.reason_text()), why.help_text()),
        };
        let near = match why {
            AccessRefusal::NotThere => self.options.file_access.name_like(path),
            _ => None,
        };
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => help.to_owned(),
        };
        let file = self.add_message_file(path);
        Err(Diagnostic::without_location(rule, FindingSeverity::Error, Some(file), message).with_help(help))
    }
}

/// Whether a file that was not named belongs to another tool: a list of Kubernetes objects, a Helm template, a
/// playbook. Mistakes in it are not reported or fixed. A broken file counts as a manifest if its text has top-level
/// keys of one of the formats. A file that is not UTF-8 counts as what the rest of its text is.
pub(super) fn is_foreign(manifest: &LoadedManifest, files: &SourceFiles) -> bool {
    // A file with NUL characters is UTF-16 or not text, so its format is unknown.
    if let Some(file) = files.get(manifest.file)
        && file.not_utf8().is_some()
        && !file.text().contains('\0')
    {
        let lossy = SourceFile::new(file.name(), file.text().clone());
        let parsed = yaml::parse(manifest.file, &lossy, &yaml::YamlLimits::default());
        return match parsed.root.as_ref().map(detect_dialect) {
            Some(DialectDetection::One(_) | DialectDetection::Several(_)) => false,
            Some(DialectDetection::Unknown) | None => !resembles(lossy.text()),
        };
    }
    let (Some(root), DetectedFormat::Unknown) = (&manifest.root, &manifest.shape) else { return false };
    let sound = manifest.complete && manifest.diagnostics.iter().all(|d| d.severity != FindingSeverity::Error);
    if sound {
        return root.as_mapping().is_some() || root.as_sequence().is_some();
    }
    // Its kind says that it is no manifest, whatever is wrong with the rest.
    if trefoil_front::companion_kind(root).is_some() {
        return true;
    }
    let text = match files.get(manifest.file) {
        Some(file) => file.text(),
        None => "",
    };
    !resembles(text)
}

/// Whether a text has top-level keys of one of the formats.
fn resembles(text: &str) -> bool {
    let is_key = |line: &str, key: &str| matches!(line.strip_prefix(key), Some(rest) if rest.starts_with(':'));
    let has = |key: &str| text.lines().any(|line| is_key(line, key));
    FRONT_ENDS.iter().any(|front| front.matches_unparsed(text, &has))
}

/// The finding about a file of no dialect, or of several.
pub(super) fn about_shape(manifest: &LoadedManifest, files: &SourceFiles, named: bool) -> Option<Diagnostic> {
    // A file that could not be parsed has its own findings, and its partial tree shows nothing.
    let broken = !manifest.complete || manifest.diagnostics.iter().any(|d| d.severity == FindingSeverity::Error);
    let silent = broken && (named || !is_foreign(manifest, files));
    if manifest.root.is_none() || matches!(manifest.shape, DetectedFormat::Unknown) && silent {
        return None;
    }
    match &manifest.shape {
        DetectedFormat::One(_) => None,
        DetectedFormat::Unknown => {
            let at = Location::new(manifest.file, first_key(manifest.root.as_ref()));
            let severity = if named { FindingSeverity::Error } else { FindingSeverity::Info };
            let (rule, message) = match &manifest.root {
                Some(root) if root.as_mapping().is_none() => {
                    let is = root.kind_description();
                    (rules::UNKNOWN_DIALECT, format!("the top level of a manifest must be a mapping, not {is}"))
                }
                root => match root.as_ref().and_then(trefoil_front::companion_kind) {
                    Some(what) => (rules::NOT_A_UNIT, format!("this is {what}")),
                    None => (rules::UNKNOWN_DIALECT, format!("this is not an {} file", formats())),
                },
            };
            let d = Diagnostic::new(rule, severity, at, message);
            Some(if named && rule == rules::UNKNOWN_DIALECT {
                let mut formats = Vec::new();
                for front in FRONT_ENDS {
                    let (name, keys) = front.format_description();
                    formats.push(format!("{name} has {keys}"));
                }
                d.with_help(format!("{}; or choose one with `--dialect`", formats.join(", ")))
            } else {
                d
            })
        }
        DetectedFormat::Several(all) => {
            let keys: Vec<_> = all.iter().map(|(name, e)| format!("`{}` ({name})", e.key)).collect();
            let (_, first) = all.first()?;
            let mut d = Diagnostic::new_error(
                rules::AMBIGUOUS_DIALECT,
                Location::new(manifest.file, first.span),
                format!("the file mixes formats: {}", keys.join(" and ")),
            )
            .with_help("remove the keys of one of them, or choose one with `--dialect`");
            for (name, evidence) in all.iter().skip(1) {
                d = d.with_label(
                    Location::new(manifest.file, evidence.span),
                    format!("`{}` is a key of {name}", evidence.key),
                );
            }
            Some(d)
        }
    }
}

/// Every format: `agntz, AEGIS or SirenSpec`.
fn formats() -> String {
    let names: Vec<_> = FRONT_ENDS.iter().map(|front| front.format_description().0).collect();
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!("{} or {last}", others.join(", "))
}

fn first_key(root: Option<&YamlNode>) -> Span {
    let Some(root) = root else { return Span::new(0, 0) };
    if let Some(mapping) = root.as_mapping()
        && let Some(first) = mapping.entries.first()
    {
        return first.key.span;
    }
    root.span
}
