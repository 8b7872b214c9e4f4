//! Checks files and folders: what is requested in each folder, and the findings of each file, each once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use trefoil_ir::Facts;
use trefoil_syntax::{Diagnostic, DiagnosticList, FileId, FindingSeverity};

use super::compilation::LinkedProgram;
use super::file_loader::{FileLoader, LoadedManifest, about_shape, is_foreign};
use super::lowering::{LoadedFolder, folder_of, nothing_in};
use super::{CheckStep, rules};

/// The result of checking paths.
#[derive(Default)]
pub(super) struct CheckedPaths {
    /// The manifests, and whether each was fully checked.
    pub files: BTreeMap<FileId, bool>,
    /// Whether a path could not be used.
    pub unreadable: bool,
    /// The compiled programs.
    pub programs: Vec<LinkedProgram>,
}

/// Checks everything below the paths.
pub(super) fn check_paths(
    loader: &mut FileLoader,
    paths: &[String],
    found: &mut DiagnosticList,
    facts: &mut Facts,
) -> CheckedPaths {
    let (groups, mut unreadable) = groups(loader, paths, found);
    let (mut checked, mut programs) = (BTreeMap::new(), Vec::new());
    let mut reported = ReportedFiles::default();
    for FolderGroup { root, named, everything, .. } in groups {
        let mut found = Vec::new();
        let mut named_ids: Vec<FileId> = Vec::new();
        for path in &named {
            let file = loader.load_manifest(path).file;
            // A file that is named twice is checked once.
            if !named_ids.contains(&file) {
                named_ids.push(file);
            }
        }
        let (folder, made) = match everything {
            true => (LoadedFolder::read_whole_folder(loader, &root, &named), None),
            false => {
                let (folder, made) = LoadedFolder::load_and_compile(loader, &root, &named, &named_ids);
                (folder, Some(made))
            }
        };
        let mut entries = named_ids.clone();
        if !everything {
            found.extend(folder.limit_findings().cloned());
        }
        if everything {
            entries.extend(folder.listed.iter().filter(|file| !named_ids.contains(file)));
            unreadable |= folder.unseen.iter().any(|d| d.rule == rules::UNREADABLE);
            found.extend(folder.unseen.iter().cloned());
            found.extend(folder.duplicate_ids());
            if folder.has_no_manifest(loader.read_files()) {
                unreadable = true;
                found.push(nothing_in(loader, &root, !folder.listed.is_empty()));
            }
        }
        reported.entries(&entries);
        let all = entries.len();
        loader.report_progress(CheckStep::Checking(0, all));
        let made = match made {
            Some(made) => made,
            None => folder.make_as_meant(loader, &folder.document_indices(&entries)),
        };
        let made = made.with_rule_findings(loader);
        for (at, file) in entries.into_iter().enumerate() {
            loader.report_progress(CheckStep::Checking(at, all));
            let Some(manifest) = folder.manifest_of_file(file) else { continue };
            unreadable |= manifest.unreadable;
            if !manifest.unreadable {
                checked.entry(file).or_insert(false);
            }
            if folder.document_index(file).is_some() {
                checked.insert(file, made.is_proved(file));
            }
            folder.check_manifest(loader, manifest, named_ids.contains(&file), &mut found);
        }
        found.extend(made.findings);
        reported.groups.push(found);
        facts.merge_from(made.facts);
        programs.extend(made.programs);
    }
    found.extend(reported.each_once());
    CheckedPaths { files: checked, unreadable, programs }
}

impl LoadedFolder {
    /// Checks the tree of a manifest, and reports what is wrong with one that is no document.
    fn check_manifest(
        &self,
        loader: &mut FileLoader,
        manifest: &LoadedManifest,
        named: bool,
        found: &mut Vec<Diagnostic>,
    ) {
        let document = self.document_of_file(manifest.file);
        let foreign = !named && document.is_none() && is_foreign(manifest, loader.read_files());
        if let Some(root) = &manifest.root
            && loader.options.checks.is_some()
            && !foreign
        {
            let shown = loader.shown_in(manifest.file, manifest.suppressions.is_some());
            found.extend(trefoil_check::check_tree(root, manifest.file, &shown));
        }
        if document.is_none() {
            if !foreign {
                found.extend(manifest.diagnostics.iter().map(|d| of_stranger(d, named)));
            }
            found.extend(about_shape(manifest, loader.read_files(), named));
        }
    }
}

/// The findings of each group of files. A file used by several groups is reported by the one that checks it, otherwise
/// by the first one.
#[derive(Default)]
struct ReportedFiles {
    groups: Vec<Vec<Diagnostic>>,
    /// By file: the group that reports it.
    by: HashMap<FileId, usize>,
}

impl ReportedFiles {
    /// Records which files the next group checks.
    fn entries(&mut self, files: &[FileId]) {
        for file in files {
            self.by.entry(*file).or_insert(self.groups.len());
        }
    }
    fn each_once(self) -> Vec<Diagnostic> {
        let Self { groups, mut by } = self;
        let mut reported = Vec::new();
        for (group, found) in groups.into_iter().enumerate() {
            for d in found {
                match d.file {
                    Some(file) if *by.entry(file).or_insert(group) != group => {}
                    _ => reported.push(d),
                }
            }
        }
        reported
    }
}

/// A finding about a file that is not a manifest. If the file was not named and is empty, the finding is harmless.
fn of_stranger(d: &Diagnostic, named: bool) -> Diagnostic {
    let empty = d.rule == trefoil_syntax::yaml::rules::EMPTY && !named;
    Diagnostic { severity: if empty { FindingSeverity::Info } else { d.severity }, ..d.clone() }
}

/// What is requested in one folder.
struct FolderGroup {
    real: PathBuf,
    root: PathBuf,
    named: Vec<PathBuf>,
    everything: bool,
}

/// The requests for each folder, and whether a path could not be used.
fn groups(loader: &mut FileLoader, paths: &[String], found: &mut DiagnosticList) -> (Vec<FolderGroup>, bool) {
    let mut unreadable = false;
    let mut groups: Vec<FolderGroup> = Vec::new();
    let mut useless = BTreeSet::new();
    for path in paths {
        let path = PathBuf::from(path);
        if loader.options.file_access.is_folder(&path) {
            group(loader, &mut groups, &path).everything = true;
        } else {
            let manifest = loader.load_manifest(&path);
            if manifest.unreadable {
                unreadable = true;
                if useless.insert(manifest.file) {
                    found.extend(manifest.diagnostics.iter().cloned());
                }
            } else {
                group(loader, &mut groups, &folder_of(&path)).named.push(path);
            }
        }
    }
    (groups, unreadable)
}

fn group<'g>(loader: &FileLoader, groups: &'g mut Vec<FolderGroup>, root: &Path) -> &'g mut FolderGroup {
    let real = loader.options.file_access.folder_real(root).unwrap_or_else(|| root.to_owned());
    let at = match groups.iter().position(|group| group.real == real) {
        Some(at) => at,
        None => {
            groups.push(FolderGroup { real, root: root.to_owned(), named: Vec::new(), everything: false });
            groups.len() - 1
        }
    };
    #[allow(clippy::indexing_slicing, reason = "the position was just found or made")]
    &mut groups[at]
}
