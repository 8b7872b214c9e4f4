//! Reading: each file once, its size known before its content, parsed and its dialect told.

use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trefoil_check::Suppressions;
use trefoil_front::{Detection, Evidence, FrontEnd, detect};
use trefoil_syntax::yaml::{self, Node, Parsed};
use trefoil_syntax::{Diagnostic, Diagnostics, FileId, Files, Location, Severity, SourceFile, Span};

use super::project::ProjectFiles;
use super::{LoadOptions, discover, rules};

/// All files of one load. A file that several manifests need is read once.
pub(super) struct Loader {
    /// How.
    pub options: LoadOptions,
    files: Files,
    manifests: HashMap<PathBuf, Arc<Manifest>>,
    /// The texts that the options name.
    pub context: Option<String>,
    /// The same.
    pub skills: Option<String>,
    /// The project files of the folders that files are in.
    pub projects: ProjectFiles,
    /// What is wrong in those.
    pub project_findings: Vec<Diagnostic>,
}

/// A file that was read as a manifest.
pub(super) struct Manifest {
    /// Its file.
    pub file: FileId,
    /// Its tree, as far as there is one.
    pub root: Option<Node>,
    /// Whether the tree is all there.
    pub complete: bool,
    /// What its shape says.
    pub shape: Shape,
    /// What reading and parsing found.
    pub diagnostics: Vec<Diagnostic>,
    /// It could not be read at all.
    pub unreadable: bool,
    /// Comments in it that speak to the checker.
    pub suppressions: Option<Suppressions>,
}

/// Whose manifest it is.
#[derive(Clone)]
pub(super) enum Shape {
    /// One dialect's.
    One(&'static dyn FrontEnd),
    /// Keys of several dialects are in it.
    Several(Vec<(&'static str, Evidence)>),
    /// Nobody's.
    Unknown,
}

impl Loader {
    /// Nothing read yet.
    pub fn new(options: LoadOptions) -> Self {
        Self {
            options,
            files: Files::default(),
            manifests: HashMap::new(),
            context: None,
            skills: None,
            projects: ProjectFiles::default(),
            project_findings: Vec::new(),
        }
    }
    /// Reads the texts that the options name.
    pub fn texts(&mut self, found: &mut Diagnostics) {
        let (context, skills) = (self.options.context.clone(), self.options.skills.clone());
        self.context = context.and_then(|path| self.option_text(&path, found));
        self.skills = skills.and_then(|path| self.option_text(&path, found));
    }
    fn option_text(&mut self, path: &Path, found: &mut Diagnostics) -> Option<String> {
        match self.read(path) {
            Ok(text) if text.not_utf8().is_none() => Some(text.text().to_string()),
            Ok(_) => {
                let file = self.nameless(path);
                let message = format!("`{}` is not UTF-8 text", path.display());
                found.push(Diagnostic::nowhere(rules::UNREADABLE, Severity::Error, Some(file), message));
                None
            }
            Err(why) => {
                found.push(why);
                None
            }
        }
    }
    /// The files read so far.
    pub fn files(&self) -> &Files {
        &self.files
    }
    /// Adds a file that is no manifest.
    pub fn add(&mut self, file: SourceFile) -> FileId {
        self.files.add(file)
    }
    /// The comments in manifests that speak to the checker.
    pub fn suppressions(&self) -> HashMap<FileId, Suppressions> {
        let manifests = self.manifests.values();
        manifests.filter_map(|m| Some((m.file, m.suppressions.clone()?))).collect()
    }
    /// Whether a comment in one of them does.
    pub fn speaks(&self) -> bool {
        self.manifests.values().any(|m| m.suppressions.is_some())
    }
    /// The files, for good, and what was read from them.
    pub fn into_read(self) -> (Files, Vec<Arc<Manifest>>) {
        (self.files, self.manifests.into_values().collect())
    }
    /// A name in messages for something that is no file of ours.
    pub fn nameless(&mut self, path: &Path) -> FileId {
        self.files.add(SourceFile::new(path.display().to_string(), ""))
    }
    /// Reads and parses a file, unless that was done before. Its name in messages is `path` as it is written here first.
    pub fn manifest(&mut self, path: &Path) -> Arc<Manifest> {
        let real = real(path);
        if let Some(known) = self.manifests.get(&real) {
            return known.clone();
        }
        let manifest = Arc::new(match self.read(path) {
            Ok(source) => self.parse(source, &real),
            Err(diagnostic) => Manifest {
                file: diagnostic.file.unwrap_or(FileId(0)),
                root: None,
                complete: false,
                shape: Shape::Unknown,
                // What is too large is there and could be read; that is a mistake in the file.
                unreadable: diagnostic.rule != rules::LIMIT,
                diagnostics: vec![diagnostic],
                suppressions: None,
            },
        });
        self.manifests.insert(real, manifest.clone());
        manifest
    }
    /// Reads a text that a manifest refers to.
    pub fn text(&mut self, path: &Path) -> Result<SourceFile, Diagnostic> {
        self.read(path)
    }
    fn parse(&mut self, source: SourceFile, real: &Path) -> Manifest {
        let file = self.files.add(source.clone());
        let cache = self.options.cache.as_ref();
        let known = cache.and_then(|cache| cache.tree(real, &source));
        let parsed = match &known {
            Some(root) => Parsed { root: Some(root.clone()), complete: true, diagnostics: Vec::new() },
            None => yaml::parse(file, &source, &self.options.limits),
        };
        if let (Some(cache), None, Some(root)) = (cache, known, &parsed.root)
            && parsed.complete
            && parsed.diagnostics.is_empty()
        {
            cache.keep(real, source.text().clone(), root.clone());
        }
        let shape = match parsed.root.as_ref().map(detect) {
            Some(Detection::One(front)) => Shape::One(front),
            Some(Detection::Several(all)) => Shape::Several(all),
            Some(Detection::Unknown) | None => Shape::Unknown,
        };
        let whole = parsed.root.as_ref().filter(|_| parsed.complete && self.options.checks.is_some());
        Manifest {
            file,
            suppressions: whole.and_then(|root| Suppressions::read(file, &source, root)),
            root: parsed.root,
            complete: parsed.complete,
            shape,
            diagnostics: parsed.diagnostics,
            unreadable: false,
        }
    }
    /// The file's text; at most the limit is ever read, whatever the file says about its size.
    fn read(&mut self, path: &Path) -> Result<SourceFile, Diagnostic> {
        let name = path.display().to_string();
        let limit = self.options.limits.bytes as u64;
        if !self.options.overlay.is_empty()
            && let Some(text) = self.options.overlay.get(&real(path))
        {
            return Ok(SourceFile::new(name, text.clone()));
        }
        let open = || -> std::io::Result<Result<Vec<u8>, u64>> {
            let meta = std::fs::metadata(path)?;
            if meta.is_dir() {
                return Err(std::io::Error::other("it is a folder"));
            }
            if !meta.is_file() && !is_own(path) {
                return Err(std::io::Error::other("it is neither a file nor a folder"));
            }
            if meta.len() > limit {
                return Ok(Err(meta.len()));
            }
            let mut bytes = Vec::with_capacity(meta.len() as usize);
            std::fs::File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
            Ok(if bytes.len() as u64 > limit { Err(bytes.len() as u64) } else { Ok(bytes) })
        };
        let refuse = |loader: &mut Self, rule, message: String, help: &str| {
            let file = loader.nameless(path);
            Err(Diagnostic::nowhere(rule, Severity::Error, Some(file), message).help(help))
        };
        match open() {
            Ok(Ok(bytes)) => Ok(SourceFile::from_bytes(name, bytes)),
            Ok(Err(size)) => refuse(
                self,
                rules::LIMIT,
                format!("the file has {size} bytes or more, and {limit} is the limit"),
                "split the file",
            ),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let help = similar(path).map_or_else(
                    || "check the path; it is relative to the current folder".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
                refuse(self, rules::NOT_FOUND, format!("there is no file `{name}`"), &help)
            }
            Err(error) => refuse(
                self,
                rules::UNREADABLE,
                format!("`{name}` cannot be read: {}", reason(&error)),
                match error.kind() {
                    std::io::ErrorKind::PermissionDenied => "check its permissions",
                    _ => "put a file in its place",
                },
            ),
        }
    }
}

/// Whether a path is an open file of this process, as a shell hands over what another command writes. Nobody may ever write
/// to any other pipe.
fn is_own(path: &Path) -> bool {
    ["/dev/fd", "/dev/stdin", "/proc/self/fd"].iter().any(|own| path.starts_with(own))
}

/// The system's words for an error, without the number.
pub(super) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    chars.next().map(|c| c.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// The nearest name in the same folder.
fn similar(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let dir = path.parent().filter(|p| !p.as_os_str().is_empty());
    let names: Vec<String> = std::fs::read_dir(dir.unwrap_or(Path::new(".")))
        .ok()?
        .flatten()
        .take(1000)
        .filter_map(|e| e.file_name().into_string().ok())
        .collect();
    let near = trefoil_syntax::suggest::nearest(name, names.iter().map(String::as_str))?;
    Some(dir.map_or_else(|| near.to_owned(), |d| d.join(near).display().to_string()))
}

/// A path without links; of a file that is not there (a buffer that was never saved), its folder's.
pub(super) fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let parent = path.parent().and_then(|p| discover::readable(p).canonicalize().ok());
    match (parent, path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}

/// Whether a file that nobody named is somebody else's: a list of Kubernetes objects, a Helm template, a playbook. What is
/// wrong in it, or wrong for us, is not ours to say, and surely not to mend. A broken file counts as a manifest while it
/// could be one: while what can be read of it has a key that one of the formats has at its top.
pub(super) fn is_foreign(manifest: &Manifest) -> bool {
    let Some(root) = manifest.root.as_ref().filter(|_| matches!(manifest.shape, Shape::Unknown)) else { return false };
    let Some(mapping) = root.mapping() else { return manifest.complete || root.sequence().is_some() };
    // With this key the one format that has it would have been recognised.
    if manifest.complete || mapping.get("apiVersion").is_some() {
        return true;
    }
    let known: HashSet<String> = trefoil_front::FRONT_ENDS
        .iter()
        .flat_map(|front| crate::schema::keys_at(front.name(), root, &[]))
        .map(|key| key.name)
        .collect();
    !mapping.entries.is_empty() && !mapping.entries.iter().any(|e| known.contains(&*e.key.value))
}

/// What is said about a file that is no dialect's, or of two.
pub(super) fn about_shape(manifest: &Manifest, named: bool) -> Option<Diagnostic> {
    // A file that could not be parsed has its own findings; what little tree there is proves nothing.
    let broken = !manifest.complete || manifest.diagnostics.iter().any(|d| d.severity == Severity::Error);
    let silent = broken && (named || !is_foreign(manifest));
    if manifest.root.is_none() || matches!(manifest.shape, Shape::Unknown) && silent {
        return None;
    }
    let known: Vec<String> = trefoil_front::FRONT_ENDS.iter().map(|f| format!("`{}`", f.name())).collect();
    match &manifest.shape {
        Shape::One(_) => None,
        Shape::Unknown => {
            let at = Location::new(manifest.file, first_key(manifest.root.as_ref()));
            let severity = if named { Severity::Error } else { Severity::Info };
            let (rule, message) = match &manifest.root {
                Some(root) if root.mapping().is_none() => {
                    let is = root.describe();
                    (rules::UNKNOWN_DIALECT, format!("a manifest is a mapping at the top, and this is {is}"))
                }
                root => match root.as_ref().and_then(trefoil_front::companion) {
                    Some(what) => (rules::NOT_A_UNIT, format!("this is {what}")),
                    None => (rules::UNKNOWN_DIALECT, "the file is of no known dialect".to_owned()),
                },
            };
            let d = Diagnostic::new(rule, severity, at, message);
            Some(if named && rule == rules::UNKNOWN_DIALECT {
                d.help(format!("known are {}; `--dialect` says which one is meant", known.join(", ")))
            } else {
                d
            })
        }
        Shape::Several(all) => {
            let keys: Vec<_> = all.iter().map(|(name, e)| format!("`{}` ({name})", e.key)).collect();
            let (_, first) = all.first()?;
            let mut d = Diagnostic::error(
                rules::AMBIGUOUS_DIALECT,
                Location::new(manifest.file, first.span),
                format!("the file mixes dialects: {}", keys.join(" and ")),
            )
            .help("remove the keys of one of them, or say which is meant with `--dialect`");
            for (name, evidence) in all.iter().skip(1) {
                d = d.label(
                    Location::new(manifest.file, evidence.span),
                    format!("`{}` is a key of {name}", evidence.key),
                );
            }
            Some(d)
        }
    }
}

fn first_key(root: Option<&Node>) -> Span {
    let Some(root) = root else { return Span::new(0, 0) };
    root.mapping().and_then(|m| m.entries.first()).map_or(root.span, |e| e.key.span)
}
