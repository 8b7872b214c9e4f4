//! From the files of a folder to lowered documents: the folder's project, what its documents need, and checking them all.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trefoil_check::Rule;
use trefoil_front::project::resolve_path;
use trefoil_front::{Document, Findings, Lowered, NeedKind, Project};
use trefoil_ir::{Callee, Detail, Facts, Program, StepKind};
use trefoil_syntax::{Diagnostic, Diagnostics, FileId, Severity};

use super::read::{Loader, Manifest, Shape, about_shape, is_foreign};
use super::{discover, rules};

/// A folder with all its manifests, ready to be lowered.
pub(super) struct Folder {
    /// As given; empty for the current one.
    pub root: PathBuf,
    /// What the front ends see.
    pub project: Project,
    /// Every manifest read, documents or not, by file.
    manifests: HashMap<FileId, Arc<Manifest>>,
    /// The files found in the folder, in the order of their paths.
    pub listed: Vec<FileId>,
    /// Attachments that are there and could not be read.
    problems: Vec<Diagnostic>,
    /// Parts of the folder that could not be looked at.
    pub unseen: Vec<Diagnostic>,
    /// Which facts anybody asks for.
    facts: Detail,
    /// Whether all its manifests are here, not just the named ones and what those name.
    complete: bool,
}

/// A document lowered as an entry, and what there is to say about it.
pub(super) struct Attempt {
    /// The program, if it can be one.
    pub lowered: Option<Lowered>,
    /// As much of it as there is, if it cannot.
    draft: Option<Program>,
    /// The findings in every file it touches.
    pub findings: Vec<Diagnostic>,
    /// What lowering learned about names.
    pub facts: Facts,
    /// Something was not found that another file may have.
    seeks: bool,
}

impl Folder {
    /// The files of a folder that were named directly, with what else of it they need. Most manifests need no more than
    /// themselves, and the folder may be large; it is read for ids that they name and nobody here has.
    pub fn around(loader: &mut Loader, root: &Path, named: &[PathBuf]) -> Self {
        let alone = Self::alone(loader, root, named);
        if alone.lacks_names() { Self::read(loader, root, named) } else { alone }
    }
    /// Reads a folder around the files in it that were named directly: they count whatever their extension, their names
    /// are kept as given, and the dialect asked for is theirs alone.
    pub fn read(loader: &mut Loader, root: &Path, named: &[PathBuf]) -> Self {
        let (mut folder, named_ids) = Self::start(loader, root, named);
        folder.discover(loader, &named_ids, false);
        folder.finish(loader);
        folder
    }
    /// Reads a folder that was itself named: the dialect asked for is that of every manifest in it.
    pub fn whole(loader: &mut Loader, root: &Path, named: &[PathBuf]) -> Self {
        let (mut folder, named_ids) = Self::start(loader, root, named);
        folder.discover(loader, &named_ids, true);
        folder.finish(loader);
        folder
    }
    /// The same, with nothing in the folder but the named files and what they name by path.
    fn alone(loader: &mut Loader, root: &Path, named: &[PathBuf]) -> Self {
        let (mut folder, _) = Self::start(loader, root, named);
        folder.finish(loader);
        folder
    }
    fn start(loader: &mut Loader, root: &Path, named: &[PathBuf]) -> (Self, BTreeSet<FileId>) {
        let mut folder = Self {
            root: root.to_owned(),
            project: Project::default(),
            manifests: HashMap::new(),
            listed: Vec::new(),
            problems: Vec::new(),
            unseen: Vec::new(),
            facts: loader.options.facts(),
            complete: false,
        };
        let mut named_ids = BTreeSet::new();
        for path in named {
            let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            let manifest = loader.manifest(path);
            named_ids.insert(manifest.file);
            folder.add(loader, name, manifest, true);
        }
        (folder, named_ids)
    }
    fn discover(&mut self, loader: &mut Loader, named_ids: &BTreeSet<FileId>, whole: bool) {
        self.complete = true;
        let mut found = discover::manifests(&self.root);
        found.with_unsaved(&self.root, loader.options.overlay.keys());
        for (path, full) in found.files {
            let manifest = loader.manifest(&full);
            self.listed.push(manifest.file);
            if !named_ids.contains(&manifest.file) {
                // Lists, texts and files that go with manifests stay what they are, whatever dialect is asked for.
                let mapping = manifest.root.as_ref().is_some_and(|r| r.mapping().is_some());
                let other = manifest.root.as_ref().and_then(trefoil_front::companion).is_some();
                self.add(loader, path, manifest, whole && mapping && !other);
            }
        }
        for (path, why) in found.problems {
            let file = loader.nameless(&path);
            let message = format!("`{}` cannot be looked at: {why}", path.display());
            self.unseen.push(Diagnostic::nowhere(rules::UNREADABLE, Severity::Error, Some(file), message));
        }
        if found.cut {
            let file = loader.nameless(&self.root);
            let message = "the folder is too deep or has too many files; the rest was not looked at";
            self.unseen.push(
                Diagnostic::nowhere(rules::FOLDER_LIMIT, Severity::Warning, Some(file), message)
                    .help("name a smaller folder"),
            );
        }
    }
    fn finish(&mut self, loader: &mut Loader) {
        self.project.documents.sort_by(|a, b| a.path.cmp(&b.path));
        self.close(loader);
        self.project.files = loader.files().clone();
        self.project.context = loader.context.clone();
        self.project.skills = loader.skills.clone();
    }
    fn add(&mut self, loader: &Loader, path: String, manifest: Arc<Manifest>, named: bool) {
        let front = match (&manifest.shape, loader.options.dialect) {
            (_, Some(front)) if named => Some(front),
            (Shape::One(front), _) => Some(*front),
            (Shape::Several(_), Some(front)) => Some(front),
            _ => None,
        };
        if let (Some(front), Some(root)) = (front, &manifest.root) {
            self.project.documents.push(Document { file: manifest.file, path, root: root.clone(), front });
        }
        self.manifests.insert(manifest.file, manifest);
    }
    /// Reads what the documents need, and what that needs, until nothing is missing that is there.
    fn close(&mut self, loader: &mut Loader) {
        let mut next = 0;
        while let Some(document) = self.project.documents.get(next).cloned() {
            next += 1;
            for need in document.front.needs(&document) {
                let path = resolve_path(&document.path, &need.path);
                let full = self.root.join(&path);
                match need.kind {
                    NeedKind::Manifest if self.project.document(&path).is_none() && full.is_file() => {
                        let manifest = loader.manifest(&full);
                        if let Some(root) = &manifest.root {
                            let front = match manifest.shape {
                                Shape::One(front) => front,
                                _ => document.front,
                            };
                            let file = manifest.file;
                            self.project.documents.push(Document { file, path, root: root.clone(), front });
                        }
                        self.manifests.insert(manifest.file, manifest);
                    }
                    NeedKind::Attachment if !self.project.attachments.contains_key(&path) && full.is_file() => {
                        match loader.text(&full) {
                            Ok(text) if text.not_utf8().is_none() => {
                                self.project.attachments.insert(path, text.text().to_string());
                            }
                            Ok(_) => self.problems.push(Diagnostic::error(
                                rules::UNREADABLE,
                                need.location,
                                format!("`{}` is not UTF-8 text", full.display()),
                            )),
                            Err(why) => {
                                self.problems.push(Diagnostic::error(rules::UNREADABLE, need.location, why.message))
                            }
                        }
                    }
                    // What is in it is the run's business; that it is there, everybody's.
                    NeedKind::EnvFile if !full.is_file() => self.problems.push(
                        Diagnostic::error(
                            rules::ENV_FILE,
                            need.location,
                            format!("there is no environment file `{}`", full.display()),
                        )
                        .help("create it, or remove `env_file`; it holds one `NAME=value` a line"),
                    ),
                    NeedKind::Manifest | NeedKind::Attachment | NeedKind::EnvFile => {}
                }
            }
        }
    }
    /// Whether a document names units by ids that nobody here has.
    fn lacks_names(&self) -> bool {
        let documents = &self.project.documents;
        let ids: HashSet<String> = documents.iter().flat_map(|d| d.front.ids(d)).map(|(id, _)| id).collect();
        documents.iter().any(|d| d.front.names(d).iter().any(|name| !ids.contains(*name)))
    }
    /// Whether more manifests of the folder could make a difference to what was lowered.
    pub fn lacks(&self, attempt: &Attempt) -> bool {
        !self.complete && attempt.needs_the_folder()
    }
    /// The document of a file.
    pub fn document(&self, file: FileId) -> Option<usize> {
        self.project.documents.iter().position(|d| d.file == file)
    }
    /// What reading a file found.
    pub fn manifest(&self, file: FileId) -> Option<&Manifest> {
        self.manifests.get(&file).map(|m| &**m)
    }
    /// Lowers a document as the entry of a program.
    pub fn lower(&self, index: usize) -> Attempt {
        let Some(document) = self.project.documents.get(index) else {
            return Attempt { lowered: None, draft: None, findings: Vec::new(), facts: Facts::default(), seeks: false };
        };
        let mut found = Findings::with_facts(self.facts);
        let lowered = document.front.lower(&self.project, index, &mut found);
        let Findings { diagnostics: found, facts, draft } = found;
        let mut touched = BTreeSet::from([document.file]);
        touched.extend(found.iter().filter_map(|d| d.file));
        if let Some(lowered) = &lowered {
            touched.extend(lowered.program.flows.iter().map(|f| f.origin.file));
            touched.extend(lowered.program.steps.iter().map(|s| s.origin.file));
        }
        let seeks = found.iter().any(|d| self.seeks(d));
        if seeks {
            // What is looked for may be in a file that could not be read to its end.
            touched.extend(self.manifests.values().filter(|m| !m.complete && !is_foreign(m)).map(|m| m.file));
        }
        let mut findings: Vec<Diagnostic> = found.iter().filter(|d| self.holds(d)).cloned().collect();
        for file in &touched {
            findings.extend(self.manifest(*file).into_iter().flat_map(|m| m.diagnostics.iter().cloned()));
        }
        findings.extend(self.problems.iter().filter(|d| d.file.is_some_and(|f| touched.contains(&f))).cloned());
        Attempt { lowered, draft, findings, facts, seeks }
    }
    /// Whether a finding is about something that another file may have.
    fn seeks(&self, d: &Diagnostic) -> bool {
        let document = || self.project.documents.get(self.document(d.file?)?);
        d.rule == "unknown-reference" && d.span.zip(document()).is_none_or(|(at, found)| found.front.seeks(found, at))
    }
    /// Whether a finding stands although a part of its file could not be read.
    fn holds(&self, d: &Diagnostic) -> bool {
        let complete = d.file.and_then(|f| self.manifest(f)).is_none_or(|m| m.complete);
        complete || rules::LOCAL.iter().any(|rule| d.rule.starts_with(rule))
    }
    /// Project paths as paths on disk.
    pub fn on_disk(&self, paths: &[String]) -> Vec<PathBuf> {
        paths.iter().map(|p| self.root.join(p)).collect()
    }
}

impl Attempt {
    /// With what the rules say about the program of a file, if there is one and they are asked. What mistakes keep from being
    /// a program is looked through for what is dangerous: whoever mends one mistake should not learn of that one only then.
    pub fn proved(mut self, loader: &mut Loader, file: FileId) -> Self {
        let whole = self.lowered.as_ref().map(|l| &l.program);
        if let Some(program) = whole.or(self.draft.as_ref()).filter(|_| loader.options.checks.is_some()) {
            let (limits, shown) = (loader.limits(file), loader.shown(file, program));
            let wanted = |rule: &Rule| shown(rule) && (whole.is_some() || rule.group == trefoil_check::Group::Safety);
            let found = trefoil_check::check_for(program, &self.facts, &limits, &wanted);
            let new = trefoil_check::unsaid(found, &self.findings);
            self.findings.extend(new);
        }
        self
    }
    /// Whether everything that can be found was looked for: nothing kept the program from loading.
    pub fn is_proved(&self) -> bool {
        self.lowered.is_some() && !self.findings.iter().any(trefoil_check::keeps_from_loading)
    }
    /// Whether other manifests of the folder could make a difference: something was not found, or is found by a name that
    /// only the run knows.
    fn needs_the_folder(&self) -> bool {
        let by_name = |program: &Program| {
            !program.missing_agents.is_empty()
                || program
                    .steps
                    .iter()
                    .any(|s| matches!(&s.kind, StepKind::Call(call) if matches!(call.callee, Callee::Named { .. })))
        };
        self.seeks || self.lowered.as_ref().is_some_and(|l| by_name(&l.program))
    }
}

/// The folder of a file.
pub(super) fn folder_of(file: &Path) -> PathBuf {
    file.parent().map(Path::to_owned).unwrap_or_default()
}

/// Checks everything below the paths; which manifests that were and whether each was proved, and whether a path was of no use.
pub(super) fn check(
    loader: &mut Loader,
    paths: &[String],
    found: &mut Diagnostics,
    facts: &mut Facts,
) -> (BTreeMap<FileId, bool>, bool) {
    let mut unreadable = false;
    let mut groups: Vec<Group> = Vec::new();
    for path in paths.iter().map(PathBuf::from) {
        if path.is_dir() {
            group(&mut groups, &path).everything = true;
        } else {
            let manifest = loader.manifest(&path);
            if manifest.unreadable {
                unreadable = true;
                found.extend(manifest.diagnostics.iter().cloned());
            } else {
                group(&mut groups, &folder_of(&path)).named.push(path);
            }
        }
    }
    let mut checked = BTreeMap::new();
    for Group { root, named, everything, .. } in groups {
        let named_ids: Vec<FileId> = named.iter().map(|p| loader.manifest(p).file).collect();
        let mut folder =
            if everything { Folder::whole(loader, &root, &named) } else { Folder::around(loader, &root, &named) };
        let mut attempts: HashMap<usize, Attempt> = HashMap::new();
        if !everything {
            let indices = named_ids.iter().filter_map(|file| folder.document(*file));
            attempts.extend(indices.map(|i| (i, folder.lower(i))));
            if attempts.values().any(|attempt| folder.lacks(attempt)) {
                folder = Folder::read(loader, &root, &named);
                attempts.clear();
            }
        }
        let mut entries = named_ids.clone();
        if everything {
            entries.extend(folder.listed.iter().filter(|f| !named_ids.contains(f)));
            unreadable |= folder.unseen.iter().any(|d| d.rule == rules::UNREADABLE);
            found.extend(folder.unseen.iter().cloned());
            if folder.listed.is_empty() {
                unreadable = true;
                found.push(nothing_in(loader, &root));
            }
        }
        for file in entries {
            let Some(manifest) = folder.manifest(file) else { continue };
            unreadable |= manifest.unreadable;
            if !manifest.unreadable {
                checked.entry(file).or_insert(false);
            }
            let named = named_ids.contains(&file);
            let foreign = !named && folder.document(file).is_none() && is_foreign(manifest);
            if let Some(root) = manifest.root.as_ref().filter(|_| loader.options.checks.is_some() && !foreign) {
                found.extend(trefoil_check::check_tree(root, file));
            }
            match folder.document(file) {
                Some(index) => {
                    let attempt = attempts.remove(&index).unwrap_or_else(|| folder.lower(index));
                    let attempt = attempt.proved(loader, file);
                    checked.insert(file, attempt.is_proved());
                    found.extend(attempt.findings);
                    facts.merge(attempt.facts);
                }
                None => {
                    if !foreign {
                        found.extend(manifest.diagnostics.iter().map(|d| of_stranger(d, named)));
                    }
                    found.extend(about_shape(manifest, named));
                }
            }
        }
    }
    (checked, unreadable)
}

/// A finding about a file that is no manifest. That one which nobody named is empty harms nobody.
fn of_stranger(d: &Diagnostic, named: bool) -> Diagnostic {
    let empty = d.rule == trefoil_syntax::yaml::rules::EMPTY && !named;
    Diagnostic { severity: if empty { Severity::Info } else { d.severity }, ..d.clone() }
}

/// The folder has no manifest.
pub(super) fn nothing_in(loader: &mut Loader, root: &Path) -> Diagnostic {
    let file = loader.nameless(root);
    let message = format!("there is no `.yaml` or `.yml` file in `{}`", root.display());
    Diagnostic::nowhere(rules::NOTHING, Severity::Error, Some(file), message)
        .help("folders that begin with a dot, `node_modules` and `target` are not looked into")
}

/// What is asked for in one folder.
struct Group {
    real: PathBuf,
    root: PathBuf,
    named: Vec<PathBuf>,
    everything: bool,
}

fn group<'g>(groups: &'g mut Vec<Group>, root: &Path) -> &'g mut Group {
    let real = discover::readable(root).canonicalize().unwrap_or_else(|_| root.to_owned());
    let at = groups.iter().position(|g| g.real == real).unwrap_or_else(|| {
        groups.push(Group { real, root: root.to_owned(), named: Vec::new(), everything: false });
        groups.len() - 1
    });
    #[allow(clippy::indexing_slicing, reason = "the position was just found or made")]
    &mut groups[at]
}
