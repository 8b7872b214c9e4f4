//! Applying safe fixes: files are checked, fixed and checked again until there is nothing more to fix.
//!
//! That happens in memory. What came of it is written at the end, or only shown. Nothing but the bytes of the fixes changes.
//! A file is replaced as a whole or not at all, only while it is what was checked, and only if it was named or is really in
//! a folder that was named. Fixes that need a person are left alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use similar::TextDiff;
use trefoil_syntax::diagnostic::edit;
use trefoil_syntax::{Edit, FileId, Files, Fix, SourceFile};

use crate::door::{self, Rooms};
use crate::load::{LoadOptions, Report, check};

/// How often files are checked again. A fix that makes room for another is rare; one that undoes another is a mistake.
const ROUNDS: usize = 10;

/// What came of it.
#[derive(Clone, Default)]
pub struct Fixed {
    /// What is left to say about the files.
    pub report: Report,
    /// What was fixed, in the order of fixing.
    pub done: Vec<Mended>,
    /// The files that changed, by name.
    pub changes: Vec<Change>,
    /// Files that could not be changed, by name, and why.
    pub refused: BTreeMap<String, String>,
}

/// One fix that was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    /// The file, as findings name it.
    pub file: String,
    /// Where the first change was; from 1.
    pub line: u32,
    /// The rule that asked for it.
    pub rule: &'static str,
    /// What was done.
    pub message: String,
}

/// A file before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The file, as findings name it.
    pub file: String,
    /// Its text as it was.
    pub before: Arc<str>,
    /// Its text with the fixes.
    pub after: Arc<str>,
}

impl Change {
    /// As a unified diff.
    pub fn diff(&self) -> String {
        let name = self.file.trim_start_matches("./");
        let diff = TextDiff::from_lines(&*self.before, &*self.after);
        diff.unified_diff().header(&format!("a/{name}"), &format!("b/{name}")).to_string()
    }
}

/// Checks the paths and applies the safe fixes of what is found.
pub fn fix(paths: &[String], options: &LoadOptions) -> Fixed {
    let mut fixing = Fixing::new(paths, options);
    fixing.rounds();
    fixing.write();
    fixing.out
}

/// Checks the paths and works out the same, without writing anything.
pub fn preview(paths: &[String], options: &LoadOptions) -> Fixed {
    let mut fixing = Fixing::new(paths, options);
    fixing.rounds();
    fixing.out
}

/// Files being fixed.
struct Fixing<'p> {
    paths: &'p [String],
    options: LoadOptions,
    /// The texts that stood in for files from the start.
    given: Arc<HashMap<PathBuf, Arc<str>>>,
    /// The real paths of what was named.
    named: Vec<PathBuf>,
    folders: Rooms,
    /// What changed, by real path.
    changed: BTreeMap<PathBuf, Change>,
    out: Fixed,
}

impl<'p> Fixing<'p> {
    fn new(paths: &'p [String], options: &LoadOptions) -> Self {
        let (folders, files): (Vec<_>, Vec<_>) = paths.iter().map(Path::new).partition(|path| door::is_folder(path));
        Self {
            paths,
            options: options.clone(),
            given: options.overlay.clone(),
            named: files.into_iter().map(door::real).collect(),
            folders: Rooms::new(folders.into_iter().map(door::real)),
            changed: BTreeMap::new(),
            out: Fixed::default(),
        }
    }
    /// Fixes in memory until nothing changes.
    fn rounds(&mut self) {
        for _ in 0..ROUNDS {
            self.out.report = check(self.paths, &self.options);
            if !self.round() {
                break;
            }
        }
        self.out.report = check(self.paths, &self.options);
        self.out.changes = self.changed.values().cloned().collect();
    }
    /// Applies the fixes of the report; whether anything changed.
    fn round(&mut self) -> bool {
        let report = std::mem::take(&mut self.out.report);
        let files = &report.files;
        let mut known = HashMap::new();
        let mut may = |id: FileId| *known.entry(id).or_insert_with(|| self.may_change(files.get(id)));
        let wanted = report.diagnostics.iter().filter_map(|d| Some((d.rule, d.fix.as_deref()?)));
        let wanted = wanted.filter(|(_, fix)| fix.safe && fix.edits.iter().all(|e| may(e.location.file)));
        let wanted: Vec<(&'static str, &Fix)> = wanted.collect();
        let wanted = one_slip_each(wanted, files);
        let chosen = edit::compatible(wanted.iter().map(|(_, fix)| *fix));
        let mut by_file: BTreeMap<FileId, Vec<&Edit>> = BTreeMap::new();
        for edit in chosen.iter().flat_map(|fix| &fix.edits) {
            by_file.entry(edit.location.file).or_default().push(edit);
        }
        let mut written = BTreeSet::new();
        for (id, edits) in by_file {
            let Some(file) = files.get(id) else { continue };
            if let Some(text) = edit::apply(file.text(), &edits) {
                self.change(file, &text);
                written.insert(id);
            }
        }
        for (rule, fix) in wanted {
            let Some(first) = fix.edits.first().filter(|e| written.contains(&e.location.file)) else { continue };
            if let Some(file) = files.get(first.location.file)
                && chosen.iter().any(|c| std::ptr::eq(*c, fix))
            {
                let line = file.position(first.location.span.start).line;
                let message = fix.message.clone();
                self.out.done.push(Mended { file: file.name().to_owned(), line, rule, message });
            }
        }
        !written.is_empty()
    }
    /// Whether a file was meant: it was named, or is really in a folder that was.
    fn may_change(&self, file: Option<&SourceFile>) -> bool {
        let Some(file) = file else { return false };
        let real = door::real(Path::new(file.name()));
        file.not_utf8().is_none() && (self.named.contains(&real) || self.folders.hold(&real))
    }
    fn change(&mut self, file: &SourceFile, text: &str) {
        let real = door::real(Path::new(file.name()));
        let after: Arc<str> = text.into();
        let mut overlay = HashMap::clone(&self.options.overlay);
        overlay.insert(real.clone(), after.clone());
        self.options.overlay = Arc::new(overlay);
        let change = self.changed.entry(real).or_insert_with(|| Change {
            file: file.name().to_owned(),
            before: file.text().clone(),
            after: after.clone(),
        });
        change.after = after;
    }
    /// Writes what changed; what could not be written is taken back.
    fn write(&mut self) {
        for (real, change) in &self.changed {
            if let Err(why) = replace(real, change) {
                self.out.refused.insert(change.file.clone(), why);
            }
        }
        if self.out.refused.is_empty() {
            return;
        }
        let refused = &self.out.refused;
        self.out.done.retain(|mended| !refused.contains_key(&mended.file));
        self.out.changes.retain(|change| !refused.contains_key(&change.file));
        let mut overlay = HashMap::clone(&self.options.overlay);
        for (path, _) in self.changed.iter().filter(|(_, change)| refused.contains_key(&change.file)) {
            match self.given.get(path) {
                Some(text) => drop(overlay.insert(path.clone(), text.clone())),
                None => drop(overlay.remove(path)),
            }
        }
        self.options.overlay = Arc::new(overlay);
        self.out.report = check(self.paths, &self.options);
    }
}

/// Leaves out what would give one name to two different words of a file (`descripton`, `desciption`) in one go: the next
/// round sees whether there is still room for it.
fn one_slip_each<'f>(wanted: Vec<(&'static str, &'f Fix)>, files: &Files) -> Vec<(&'static str, &'f Fix)> {
    let mut originals: BTreeMap<(FileId, &str), &str> = BTreeMap::new();
    let mut fits = |fix: &'f Fix| {
        fix.edits.iter().filter(|e| !e.text.is_empty()).all(|e| {
            let span = e.location.span;
            let text = files.get(e.location.file).map_or("", |f| f.text());
            let original = text.get(span.start as usize..span.end as usize).unwrap_or_default();
            *originals.entry((e.location.file, &e.text)).or_insert(original) == original
        })
    };
    wanted.into_iter().filter(|(_, fix)| fits(fix)).collect()
}

/// Replaces a file by its new text, if it still is what was read.
fn replace(path: &Path, change: &Change) -> Result<(), String> {
    let now = door::named(path, change.before.len() as u64).map_err(|why| why.reason());
    if now.ok().as_deref() != Some(change.before.as_bytes()) {
        return Err("it was changed during the check".to_owned());
    }
    let beside = beside(path);
    let done = write(path, &beside, &change.after);
    if done.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    done.map_err(|e| door::reason(&e))
}

/// A name for what is not finished, in the same folder: renaming works within a file system only.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

fn write(path: &Path, beside: &Path, text: &str) -> std::io::Result<()> {
    let permissions = std::fs::metadata(path)?.permissions();
    if permissions.readonly() {
        return Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    let mut file = std::fs::File::options().write(true).create_new(true).open(beside)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(permissions)?;
    file.sync_all()?;
    drop(file);
    std::fs::rename(beside, path)
}
