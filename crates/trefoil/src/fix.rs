//! Applying safe fixes: files are checked, mended and checked again until nothing more can be mended.
//!
//! Nothing but the bytes of the fixes changes. A file is replaced as a whole or not at all, and only while it is what was
//! checked. Fixes that need a person are left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use trefoil_syntax::diagnostic::edit;
use trefoil_syntax::{Edit, FileId, Files, Fix, SourceFile};

use crate::load::{LoadOptions, Report, check};

/// How often files are checked again. A fix that makes room for another is rare; one that undoes another is a mistake.
const ROUNDS: usize = 10;

/// What came of it.
#[derive(Clone, Default)]
pub struct Fixed {
    /// What is left to say about the files.
    pub report: Report,
    /// What was mended, in the order of mending.
    pub done: Vec<Mended>,
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

/// Checks the paths and applies the safe fixes of what is found.
pub fn fix(paths: &[String], options: &LoadOptions) -> Fixed {
    let mut out = Fixed::default();
    for _ in 0..ROUNDS {
        out.report = check(paths, options);
        if !out.round() {
            return out;
        }
    }
    out.report = check(paths, options);
    out
}

impl Fixed {
    /// Applies the fixes of the report; whether anything changed.
    fn round(&mut self) -> bool {
        let files = &self.report.files;
        let refused: BTreeSet<FileId> =
            files.iter().filter(|(_, f)| self.refused.contains_key(f.name())).map(|(id, _)| id).collect();
        let wanted = self.report.diagnostics.iter().filter_map(|d| Some((d.rule, d.fix.as_deref()?)));
        let wanted =
            wanted.filter(|(_, fix)| fix.safe && fix.edits.iter().all(|e| !refused.contains(&e.location.file)));
        let wanted: Vec<(&'static str, &Fix)> = wanted.collect();
        let wanted = one_slip_each(wanted, files);
        let chosen = edit::compatible(wanted.iter().map(|(_, fix)| *fix));
        let mut by_file: BTreeMap<FileId, Vec<&Edit>> = BTreeMap::new();
        for edit in chosen.iter().flat_map(|fix| &fix.edits) {
            by_file.entry(edit.location.file).or_default().push(edit);
        }
        let mut written = BTreeSet::new();
        let mut refusals = Vec::new();
        for (id, edits) in by_file {
            let Some(file) = files.get(id) else { continue };
            match edit::apply(file.text(), &edits).ok_or_else(changed).and_then(|text| replace(file, &text)) {
                Ok(()) => drop(written.insert(id)),
                Err(why) => refusals.push((file.name().to_owned(), why)),
            }
        }
        for (rule, fix) in wanted {
            let Some(first) = fix.edits.first().filter(|e| written.contains(&e.location.file)) else { continue };
            if let Some(file) = files.get(first.location.file)
                && chosen.iter().any(|c| std::ptr::eq(*c, fix))
            {
                let line = file.position(first.location.span.start).line;
                let message = fix.message.clone();
                self.done.push(Mended { file: file.name().to_owned(), line, rule, message });
            }
        }
        self.refused.extend(refusals);
        !written.is_empty()
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

fn changed() -> String {
    "it changed while it was checked".to_owned()
}

/// Replaces a file by a text, if it still is what was read.
fn replace(file: &SourceFile, text: &str) -> Result<(), String> {
    // A link stays one: what it leads to is replaced.
    let path = Path::new(file.name()).canonicalize().map_err(|e| e.to_string())?;
    if file.not_utf8().is_some() {
        return Err("it is not UTF-8 text".to_owned());
    }
    let now = std::fs::read(&path).map_err(|e| e.to_string())?;
    if now != file.text().as_bytes() {
        return Err(changed());
    }
    let beside = beside(&path);
    let done = write(&path, &beside, text);
    if done.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    done.map_err(|e| e.to_string())
}

/// A name for what is not finished, in the same folder: renaming works within a file system only.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

fn write(path: &Path, beside: &Path, text: &str) -> std::io::Result<()> {
    let permissions = std::fs::metadata(path)?.permissions();
    if permissions.readonly() {
        return Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, "it may not be written"));
    }
    let mut file = std::fs::File::options().write(true).create_new(true).open(beside)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(permissions)?;
    file.sync_all()?;
    drop(file);
    std::fs::rename(beside, path)
}
