//! Finds the manifests of a folder.
//!
//! Lists names; reads only `.gitignore` and `.ignore`, through the file access. Files nearer to the folder are found first, so
//! that a limit cuts off the most distant ones.

use std::collections::{HashSet, VecDeque};
use std::fs::{FileType, ReadDir};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::gitignore::Gitignore;

use super::file_loader::FileLoader;
use crate::file_access::{self, AccessRefusal, AllowedFolders, MemoryFiles};
use crate::patterns::{PATTERNS, ignore_patterns};

/// The default maximum number of YAML files in a folder.
pub const FILES: usize = 10_000;
/// The number of entries visited per allowed file.
const ENTRIES: usize = 20;
/// The maximum nesting of folders.
const DEPTH: usize = 32;
/// The maximum size in bytes of an ignore file.
const IGNORE_BYTES: u64 = 1 << 18;
/// The names of ignore files; later ones take precedence.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The contents of a folder.
#[derive(Debug, Default)]
pub(super) struct FolderContents {
    /// YAML files with their `/`-separated paths relative to the folder, in path order.
    pub files: Vec<(String, PathBuf)>,
    /// What could not be read, and why.
    pub problems: Vec<(PathBuf, UnreadFile)>,
    /// The limit that was reached, if any.
    pub cut: Option<SearchLimit>,
}

/// Why something was not read.
#[derive(Debug)]
pub(super) enum UnreadFile {
    /// It cannot be read.
    Unreadable(String),
    /// It is a link out of the project, with this target.
    Outside(PathBuf),
}

/// A limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchLimit {
    /// The number of files.
    Files(usize),
    /// The number of entries of all kinds.
    Entries(usize),
    /// The nesting of folders.
    Depth,
    /// The total size.
    Bytes,
    /// The number of ignore patterns.
    Patterns,
}

/// The ignore patterns that apply below a folder.
type IgnorePatterns = Arc<Vec<Gitignore>>;

/// How to search a folder.
pub(super) struct FolderSearch<'s> {
    /// The folder as named; names of files start with it.
    pub shown: &'s Path,
    /// The folder with links resolved.
    pub real: &'s Path,
    /// The folders that links may lead into.
    pub allowed_folders: &'s AllowedFolders,
    /// Whether to search folders below it.
    pub deep: bool,
    /// Whether to search folders below it that are separate projects.
    pub projects: bool,
}

impl FolderContents {
    /// Adds the YAML files below `real` that are only in an editor's buffers; `overlay` has the paths of the buffers.
    pub fn with_unsaved<'p>(&mut self, root: &Path, real: &Path, overlay: impl Iterator<Item = &'p PathBuf>) {
        for path in overlay {
            let Ok(relative) = path.strip_prefix(real) else { continue };
            let Some(names) = utf8_names(relative) else { continue };
            let Some((name, folders)) = names.split_last() else { continue };
            if is_yaml(name) && !folders.iter().any(|folder| is_skipped(folder)) && !file_access::path_exists(path) {
                let relative = [folders, &[*name]].concat().join("/");
                self.files.push((relative.clone(), root.join(relative)));
            }
        }
        self.files.sort();
    }
    /// The readable names in a folder, in order, each with what it is.
    fn names(
        &mut self,
        loader: &FileLoader,
        entries: ReadDir,
        shown: &Path,
        looked_at: &mut usize,
        limit: usize,
    ) -> Vec<(String, std::io::Result<FileType>)> {
        let mut names = Vec::new();
        for entry in entries.flatten() {
            if *looked_at == limit {
                self.cut = Some(SearchLimit::Entries(limit));
                break;
            }
            *looked_at += 1;
            loader.report_progress(super::CheckStep::Looking(*looked_at));
            match entry.file_name().into_string() {
                Ok(name) => names.push((name, entry.file_type())),
                Err(name) => {
                    if is_yaml(&name.to_string_lossy()) || entry.path().is_dir() {
                        let why = "its name is not UTF-8 text".to_owned();
                        self.problems.push((shown.join(name), UnreadFile::Unreadable(why)));
                    }
                }
            }
        }
        names.sort_by(|a, b| a.0.cmp(&b.0));
        names
    }
    /// The target of a link; a problem if the link was meant as a manifest or a folder of manifests and its target does
    /// not exist.
    fn linked(
        &mut self,
        allowed_folders: &AllowedFolders,
        name: &str,
        path: &Path,
        shown: &Path,
        ignored: &[Gitignore],
    ) -> Option<NameSort> {
        match resolve_link(allowed_folders, path) {
            Ok(sort) => return Some(sort),
            Err(AccessRefusal::Outside { to, .. }) => {
                // An ignored link, such as those of build systems, is ignored here too. A link with another extension
                // was not meant as a manifest or a folder of manifests.
                let meant = is_yaml(name) || Path::new(name).extension().is_none();
                let wanted = meant && !is_ignored(ignored, path, !is_yaml(name)) && !is_skipped(name);
                if wanted {
                    self.problems.push((shown.to_owned(), UnreadFile::Outside(to)));
                }
            }
            Err(why) => {
                // An editor's lock file is a dangling link and can be ignored.
                if is_yaml(name) && !name.starts_with(".#") {
                    self.problems.push((shown.to_owned(), UnreadFile::Unreadable(why.reason_text())));
                }
            }
        }
        None
    }
    /// Adds the YAML files of a folder in memory. All of them are read, because they were passed explicitly.
    fn with_memory(&mut self, memory: &MemoryFiles, search: &FolderSearch<'_>) {
        for path in memory.files_below(search.real) {
            let Some(names) = utf8_names(path) else { continue };
            let Some(name) = names.last() else { continue };
            if is_yaml(name) && (search.deep || names.len() == 1) {
                let relative = names.join("/");
                self.files.push((relative.clone(), search.shown.join(relative)));
            }
        }
        self.files.sort();
    }
}

/// The names in a path, if all of them are UTF-8 text.
fn utf8_names(path: &Path) -> Option<Vec<&str>> {
    path.iter().map(|name| name.to_str()).collect()
}

/// The `.yaml` and `.yml` files of a folder, except ignored ones and those in dot-folders, `node_modules` and `target`.
/// Links are followed within the allowed folders, each folder once.
pub(super) fn find_manifests(loader: &mut FileLoader, search: &FolderSearch<'_>) -> FolderContents {
    let mut found = FolderContents::default();
    if let Some(memory) = loader.options.file_access.memory_files() {
        found.with_memory(memory, search);
        return found;
    }
    let mut seen = HashSet::from([search.real.to_owned()]);
    let most = loader.options.max_files.unwrap_or(FILES);
    let entries_limit = most.saturating_mul(ENTRIES).max(1000);
    let mut looked_at = 0;
    let mut ignoring = IgnoreReader { allowed_folders: search.allowed_folders, left: PATTERNS, cut: false };
    let mut queue = VecDeque::from([(String::new(), 0, ignoring.above(loader, search.real))]);
    'folders: while let Some((prefix, depth, ignored)) = queue.pop_front() {
        let real = search.real.join(&prefix);
        let entries = match std::fs::read_dir(&real) {
            Ok(entries) => entries,
            Err(error) => {
                found
                    .problems
                    .push((search.shown.join(&prefix), UnreadFile::Unreadable(file_access::io_error_reason(&error))));
                continue;
            }
        };
        let names = found.names(loader, entries, &search.shown.join(&prefix), &mut looked_at, entries_limit);
        let all = found.cut.is_none();
        let has = |name: &str| !all || names.binary_search_by(|(other, _)| (**other).cmp(name)).is_ok();
        let ignored = ignoring.with_folder_patterns(loader, &real, ignored, &has);
        for (name, sort) in names {
            let relative = format!("{prefix}{name}");
            let path = real.join(&name);
            let shown = search.shown.join(&relative);
            let sort = match sort {
                Ok(sort) if sort.is_symlink() => found.linked(search.allowed_folders, &name, &path, &shown, &ignored),
                Ok(sort) if sort.is_dir() => Some(NameSort { folder: Some(path.clone()), file: false }),
                Ok(sort) => Some(NameSort { folder: None, file: sort.is_file() }),
                Err(error) => {
                    if is_yaml(&name) {
                        found
                            .problems
                            .push((shown.clone(), UnreadFile::Unreadable(file_access::io_error_reason(&error))));
                    }
                    None
                }
            };
            let Some(sort) = sort else { continue };
            if let Some(folder) = sort.folder {
                let wanted = search.deep && !is_skipped(&name) && !is_ignored(&ignored, &path, true);
                if !wanted || !search.projects && file_access::is_project(&folder) || !seen.insert(folder) {
                    continue;
                }
                if depth == DEPTH {
                    found.cut.get_or_insert(SearchLimit::Depth);
                    continue;
                }
                queue.push_back((format!("{relative}/"), depth + 1, ignored.clone()));
            } else if sort.file && is_yaml(&name) && !is_ignored(&ignored, &path, false) {
                if found.files.len() == most {
                    found.cut = Some(SearchLimit::Files(most));
                    break 'folders;
                }
                found.files.push((relative, shown));
            }
        }
        if matches!(found.cut, Some(SearchLimit::Entries(_))) {
            break;
        }
    }
    if ignoring.cut {
        found.cut.get_or_insert(SearchLimit::Patterns);
    }
    found.files.sort();
    found
}

/// What a name is.
struct NameSort {
    /// The real path, if it is a folder.
    folder: Option<PathBuf>,
    file: bool,
}

/// The target of a link inside.
fn resolve_link(allowed_folders: &AllowedFolders, path: &Path) -> Result<NameSort, AccessRefusal> {
    let real = match allowed_folders.resolve_path(path) {
        Ok(way) => way.real_path().to_owned(),
        Err(AccessRefusal::Room(real)) => real,
        Err(why) => return Err(why),
    };
    let meta = std::fs::symlink_metadata(&real).map_err(AccessRefusal::from_io)?;
    let folder = if meta.is_dir() { Some(real) } else { None };
    Ok(NameSort { folder, file: meta.is_file() })
}

/// Reads ignore files. Every name in a folder is compared with every pattern above it, so their number is limited.
struct IgnoreReader<'r> {
    allowed_folders: &'r AllowedFolders,
    left: usize,
    cut: bool,
}

impl IgnoreReader<'_> {
    /// The ignore files above a folder, from the project's root down, and the exclusions in the project file.
    fn above(&mut self, loader: &mut FileLoader, folder: &Path) -> IgnorePatterns {
        let mut all: Vec<Gitignore> = loader.excluded_patterns(folder).into_iter().collect();
        let mut above: Vec<&Path> =
            folder.ancestors().skip(1).filter(|dir| self.allowed_folders.contains_path(dir)).collect();
        above.reverse();
        for dir in above {
            all.extend(self.files(dir, &|_| true));
        }
        Arc::new(all)
    }
    /// The same with the ignore files in a folder. `has` says whether a name may be in it.
    fn with_folder_patterns(
        &mut self,
        loader: &mut FileLoader,
        folder: &Path,
        above: IgnorePatterns,
        has: &dyn Fn(&str) -> bool,
    ) -> IgnorePatterns {
        let mut here = self.files(folder, has);
        if has(crate::file_access::PROJECT_FILE) {
            here.extend(loader.excluded_patterns(folder));
        }
        if here.is_empty() {
            return above;
        }
        let mut all = Vec::clone(&above);
        all.extend(here);
        Arc::new(all)
    }
    fn files(&mut self, folder: &Path, has: &dyn Fn(&str) -> bool) -> Vec<Gitignore> {
        let mut found = Vec::new();
        for name in IGNORE_FILES {
            if !has(name) {
                continue;
            }
            let Ok(bytes) = self.allowed_folders.read_file(&folder.join(name), IGNORE_BYTES) else { continue };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
            let count = lines.clone().count();
            self.cut |= count > self.left;
            found.extend(ignore_patterns(folder, lines.take(self.left)));
            self.left = self.left.saturating_sub(count);
        }
        found
    }
}

/// Whether the last pattern that matches a path ignores it.
fn is_ignored(all: &[Gitignore], path: &Path, is_folder: bool) -> bool {
    for patterns in all.iter().rev() {
        let matched = patterns.matched(path, is_folder);
        if !matched.is_none() {
            return matched.is_ignore();
        }
    }
    false
}

/// Whether a folder with this name is never searched.
fn is_skipped(name: &str) -> bool {
    name.starts_with('.') || name == "node_modules" || name == "target"
}

pub(super) fn is_yaml(name: &str) -> bool {
    file_access::is_yaml(Path::new(name))
}
