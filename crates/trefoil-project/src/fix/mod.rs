//! Applies safe fixes: files are checked, fixed and checked again until there is nothing left to fix.
//!
//! This happens in memory; the result is written at the end, or only shown. Only the bytes of the fixes change. A file
//! is replaced as a whole or not at all, only if it has not changed since the check, and only if it was named or is
//! really in a named folder. Fixes that need review are not applied, and neither are those that cause new findings
//! where they changed the text, or after which their own finding is still there (see `history`).

mod history;
mod replacement;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use similar::TextDiff;
use trefoil_syntax::diagnostic::edit;
use trefoil_syntax::{Diagnostic, FileId, Fix, Location, SourceEdit, SourceFile, SourceFiles};

use self::history::{FixHistory, KnownFinding};
use crate::file_access::{self, AllowedFolders};
use crate::load::{LoadOptions, LoadReport, check_paths};

/// The maximum number of rounds. Fixes that enable others are rare, and fixes that undo others are bugs.
const ROUNDS: usize = 10;

/// How often everything is repeated without the fixes that caused new findings. If there are still new ones then,
/// nothing is fixed.
const ATTEMPTS: usize = 5;

/// The result.
#[derive(Clone, Default)]
pub struct FixResult {
    /// The remaining findings.
    pub report: LoadReport,
    /// The applied fixes, in order.
    pub done: Vec<AppliedFix>,
    /// Safe fixes that were not applied, because they would cause new findings or would not help.
    pub withdrawn: Vec<WithdrawnFix>,
    /// The files that changed, by name.
    pub changes: Vec<FileChange>,
    /// Files that could not be changed, by name, with the reason.
    pub refused: BTreeMap<String, String>,
}

/// An applied fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedFix {
    /// The file, as findings name it.
    pub file: String,
    /// The line of the first change, from 1.
    pub line: u32,
    /// The rule of the finding.
    pub rule: &'static str,
    /// What was changed.
    pub message: String,
}

/// A fix that was withdrawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithdrawnFix {
    /// The fix; its line is that before all changes.
    pub fix: AppliedFix,
    /// The reason.
    pub why: String,
}

/// A file before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The file, as findings name it.
    pub file: String,
    /// The old text.
    pub before: Arc<str>,
    /// The fixed text.
    pub after: Arc<str>,
}

impl FileChange {
    /// As a unified diff.
    pub fn unified_diff(&self) -> String {
        let name = self.file.trim_start_matches("./");
        let diff = TextDiff::from_lines(&*self.before, &*self.after);
        diff.unified_diff().header(&format!("a/{name}"), &format!("b/{name}")).to_string()
    }
}

/// Checks the paths and applies the safe fixes.
pub fn apply_fixes(paths: &[String], options: &LoadOptions) -> FixResult {
    let mut fixing = FixSession::new(paths, options);
    fixing.settle();
    fixing.write();
    fixing.out
}

/// The same without writing anything.
pub fn preview_fixes(paths: &[String], options: &LoadOptions) -> FixResult {
    let mut fixing = FixSession::new(paths, options);
    fixing.settle();
    fixing.out
}

/// Files being fixed.
struct FixSession<'p> {
    paths: &'p [String],
    options: LoadOptions,
    /// The texts that replaced files from the start.
    given: Arc<HashMap<PathBuf, Arc<str>>>,
    /// The real paths of the named files and folders.
    named: Vec<PathBuf>,
    folders: AllowedFolders,
    /// The changes by real path.
    changed: BTreeMap<PathBuf, FileChange>,
    /// The changes to each file, and the original findings.
    history: FixHistory,
    /// Fixes that are not applied, because they cause new findings.
    barred: BTreeMap<KnownFinding, WithdrawnFix>,
    out: FixResult,
}

impl<'p> FixSession<'p> {
    fn new(paths: &'p [String], options: &LoadOptions) -> Self {
        let (mut folders, mut named) = (Vec::new(), Vec::new());
        for path in paths {
            let path = Path::new(path);
            let real = file_access::resolve_links(path);
            if file_access::is_folder(path) {
                folders.push(real);
            } else {
                named.push(real);
            }
        }
        Self {
            paths,
            options: options.clone(),
            given: options.overlay.clone(),
            named,
            folders: AllowedFolders::new(folders),
            changed: BTreeMap::new(),
            history: FixHistory::default(),
            barred: BTreeMap::new(),
            out: FixResult::default(),
        }
    }
    /// Fixes in memory, and repeats without the fixes that caused new findings, until there are none.
    fn settle(&mut self) {
        for attempt in 0..=ATTEMPTS {
            self.rounds(if attempt < ATTEMPTS { ROUNDS } else { 0 });
            let made = self.history.failed_fixes(&self.out.report);
            if made.is_empty() {
                break;
            }
            self.barred.extend(made);
            self.restart();
        }
        self.out.changes = self.changed.values().cloned().collect();
        self.out.withdrawn = self.barred.values().cloned().collect();
        let report = &mut self.out.report;
        for d in &mut report.diagnostics {
            let known = self.history.to_original_position(d, &report.files);
            let is_barred = matches!(known, Some(known) if self.barred.contains_key(&known));
            if is_barred && let Some(fix) = &mut d.fix {
                fix.safe = false;
            }
        }
    }
    /// Restores the state before the first round.
    fn restart(&mut self) {
        self.options.overlay = self.given.clone();
        self.changed.clear();
        self.history = FixHistory::default();
        self.out = FixResult::default();
    }
    /// Fixes in memory until nothing changes.
    fn rounds(&mut self, most: usize) {
        for done in 0..=most {
            let report = check_paths(self.paths, &self.options);
            self.history.record_check(&report);
            if done == most || !self.round(&report) {
                self.out.report = report;
                break;
            }
        }
    }
    /// Applies the fixes of the report; returns whether anything changed.
    fn round(&mut self, report: &LoadReport) -> bool {
        let files = &report.files;
        let mut known = HashMap::new();
        let mut may = |id: FileId| *known.entry(id).or_insert_with(|| self.may_change(files.get(id)));
        let mut wanted: Vec<(&Diagnostic, &Fix)> = Vec::new();
        for d in &report.diagnostics {
            if let Some(fix) = d.fix.as_deref()
                && fix.safe
                && fix.edits.iter().all(|edit| may(edit.location.file))
                && !self.is_barred(d, files)
            {
                wanted.push((d, fix));
            }
        }
        let wanted = one_slip_each(wanted, files);
        let chosen = edit::compatible_fixes(wanted.iter().map(|(_, fix)| *fix));
        let mut by_file: BTreeMap<FileId, Vec<&SourceEdit>> = BTreeMap::new();
        for fix in &chosen {
            for edit in &fix.edits {
                by_file.entry(edit.location.file).or_default().push(edit);
            }
        }
        let mut written = BTreeSet::new();
        for (id, edits) in by_file {
            let Some(file) = files.get(id) else { continue };
            if let Some(text) = edit::apply_edits(file.text(), &edits) {
                self.change(file, &text);
                self.history.record_change(file, &edits);
                written.insert(id);
            }
        }
        for (d, fix) in wanted {
            let Some(first) = fix.edits.first() else { continue };
            if let Some(file) = files.get(first.location.file)
                && written.contains(&first.location.file)
                && chosen.iter().any(|chosen| std::ptr::eq(*chosen, fix))
            {
                let line = file.line_column(first.location.span.start).line;
                let message = fix.message.clone();
                let done = AppliedFix { file: file.name().to_owned(), line, rule: d.rule, message };
                self.history.record_fix(d, fix, files, &done);
                self.out.done.push(done);
            }
        }
        !written.is_empty()
    }
    /// Whether the fix of a finding is not applied, because it causes new findings.
    fn is_barred(&self, d: &Diagnostic, files: &SourceFiles) -> bool {
        matches!(self.history.to_original_position(d, files), Some(known) if self.barred.contains_key(&known))
    }
    /// Whether a file may be changed: it was named, or is really in a named folder.
    fn may_change(&self, file: Option<&SourceFile>) -> bool {
        let Some(file) = file else { return false };
        let real = file_access::resolve_links(Path::new(file.name()));
        file.not_utf8().is_none() && (self.named.contains(&real) || self.folders.contains_path(&real))
    }
    fn change(&mut self, file: &SourceFile, text: &str) {
        let real = file_access::resolve_links(Path::new(file.name()));
        let after: Arc<str> = text.into();
        let mut overlay = HashMap::clone(&self.options.overlay);
        overlay.insert(real.clone(), after.clone());
        self.options.overlay = Arc::new(overlay);
        let change = self.changed.entry(real).or_insert_with(|| FileChange {
            file: file.name().to_owned(),
            before: file.text().clone(),
            after: after.clone(),
        });
        change.after = after;
    }
    /// Writes the changes; files that cannot be written are reverted.
    fn write(&mut self) {
        for (real, change) in &self.changed {
            if let Err(why) = replacement::replace_file(real, change) {
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
        for (path, change) in &self.changed {
            if !refused.contains_key(&change.file) {
                continue;
            }
            match self.given.get(path) {
                Some(text) => drop(overlay.insert(path.clone(), text.clone())),
                None => drop(overlay.remove(path)),
            }
        }
        self.options.overlay = Arc::new(overlay);
        self.out.report = check_paths(self.paths, &self.options);
    }
}

/// Skips fixes that would rename two different words of a file (`descripton`, `desciption`) to the same name in one
/// round; the next round checks whether the second one still applies.
fn one_slip_each<'f>(
    mut wanted: Vec<(&'f Diagnostic, &'f Fix)>,
    files: &'f SourceFiles,
) -> Vec<(&'f Diagnostic, &'f Fix)> {
    let mut originals = BTreeMap::new();
    wanted.retain(|(_, fix)| replaces_one_word_each(fix, files, &mut originals));
    wanted
}

/// Whether a fix writes no name in place of another word than the fixes before it did. `originals` are their words, by file and
/// name.
fn replaces_one_word_each<'f>(
    fix: &'f Fix,
    files: &'f SourceFiles,
    originals: &mut BTreeMap<(FileId, &'f str), &'f str>,
) -> bool {
    for edit in &fix.edits {
        if edit.text.is_empty() {
            continue;
        }
        let Location { file, span } = edit.location;
        let text = match files.get(file) {
            Some(file) => file.text(),
            None => "",
        };
        let original = text.get(span.start as usize..span.end as usize).unwrap_or_default();
        if *originals.entry((file, &edit.text)).or_insert(original) != original {
            return false;
        }
    }
    true
}
