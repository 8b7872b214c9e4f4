//! Loading: from a target on disk to a program and everything that is to be said about it.
//!
//! ```text
//! TARGET --(target)--> file or folder --(discover, read)--> manifests --(project)--> what they need --(lower)--> program
//! ```
//!
//! The only place that reads manifests, all of them through the [door](crate::door). Stops at nothing: whatever is wrong becomes a diagnostic, and the rest is still
//! looked at. Runs nothing.

mod cache;
mod discover;
mod doubt;
mod lower;
mod made;
mod nearby;
pub mod project;
mod read;
mod roots;
pub mod rules;
mod settle;
mod target;
mod united;
mod unproven;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use trefoil_check::{Levels, Limits, Supplied};
use trefoil_front::FrontEnd;
use trefoil_ir::{Detail, Facts, FlowId, Program};
use trefoil_machine::journal::SourceFile;
use trefoil_syntax::{Diagnostic, Diagnostics, FileId, Files, Severity, yaml};

pub use cache::Cache;
pub use target::Target;

use lower::Checked;
use read::Loader;

use crate::door::{Door, Named};

/// How to load.
#[derive(Clone, Default)]
pub struct LoadOptions {
    /// The dialect of the files that are named, and of all manifests in a folder that is named; else it is detected.
    pub dialect: Option<&'static dyn FrontEnd>,
    /// What a hostile file may cost.
    pub limits: yaml::Limits,
    /// The text that stands in for every agent's own context (decision E4).
    pub context: Option<PathBuf>,
    /// The text of the agents' skills (decision E4).
    pub skills: Option<PathBuf>,
    /// What is proved beyond that it loads; none: nothing.
    pub checks: Option<Checks>,
    /// Texts that stand in for files on disk, by canonical path: an editor's unsaved buffers.
    pub overlay: Arc<HashMap<PathBuf, Arc<str>>>,
    /// Whether the facts say which names are available in every text, as editors ask; also of what is not checked.
    pub scopes: bool,
    /// Trees of earlier loads, for whoever loads the same files again.
    pub cache: Option<Cache>,
    /// Folders outside the project that paths in manifests may lead into.
    pub allowed: Vec<PathBuf>,
    /// The tools that the user's own settings declare, beside those of the project.
    pub supplied: Supplied,
    /// How many manifests of a folder are read; without: 10,000.
    pub max_files: Option<usize>,
    /// Who is notified how far a check is.
    pub progress: Option<Progress>,
    /// Where the files are.
    pub door: Door,
}

/// Is notified often how far a check is.
#[derive(Clone)]
pub struct Progress(pub Arc<dyn Fn(CheckStep) + Send + Sync>);

/// How far a check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckStep {
    /// Entries of folders that were looked at.
    Looking(usize),
    /// Files that were read, of so many.
    Reading(usize, usize),
    /// Files that were checked, of so many.
    Checking(usize, usize),
}

/// Which rules look at a program, and what becomes of what they find.
#[derive(Debug, Clone, Default)]
pub struct Checks {
    /// How bad findings are.
    pub levels: Levels,
    /// What a run may cost.
    pub limits: Limits,
    /// Whether project files are left alone. Else what they say comes before `levels`, and counts for `limits` that are not
    /// given here.
    pub without_project: bool,
    /// Whether comments in manifests that speak to the checker are ignored.
    pub without_comments: bool,
}

impl LoadOptions {
    /// The same with every rule at its own level.
    #[must_use]
    pub fn checked(self) -> Self {
        Self { checks: Some(Checks::default()), ..self }
    }
    fn facts(&self) -> Detail {
        match (&self.checks, self.scopes) {
            (_, true) => Detail::Scopes,
            (Some(_), false) => Detail::Names,
            (None, false) => Detail::Nothing,
        }
    }
}

/// A target that can run.
#[derive(Clone)]
pub struct Loaded {
    /// What a run executes.
    pub program: Arc<Program>,
    /// Every file that was read, as the locations in the program name them.
    pub files: Files,
    /// Findings that do not stop a run, by file and place.
    pub diagnostics: Vec<Diagnostic>,
    /// Environment files that the program's workflows name, in order.
    pub env_files: Vec<Named>,
    /// The dialect of the entry.
    pub dialect: &'static str,
    /// The entry's file.
    pub entry: FileId,
    /// What the entry says that it is for.
    pub about: Option<String>,
    /// What is known about the names in it, if it was checked.
    pub facts: Facts,
    /// The texts that are part of the program and no manifests, by their paths.
    pub texts: BTreeMap<PathBuf, Arc<str>>,
    /// How it was loaded.
    pub how: How,
}

/// How something was loaded, to do it again.
#[derive(Clone)]
pub struct How {
    /// What was loaded.
    pub target: Target,
    /// With which options.
    pub options: LoadOptions,
}

impl Loaded {
    /// The files that the program is written in, with the hashes of their texts.
    pub fn sources(&self) -> Vec<SourceFile> {
        let hash = |text: &str| Sha256::digest(text).iter().map(|b| format!("{b:02x}")).collect();
        self.source_texts().map(|f| SourceFile { path: f.name().to_owned(), sha256: hash(f.text()) }).collect()
    }

    /// The same files themselves.
    pub fn source_texts(&self) -> impl Iterator<Item = &trefoil_syntax::SourceFile> {
        self.program.files().into_iter().filter_map(|id| self.files.get(id))
    }
}

/// Everything that was found, whether or not it loads.
#[derive(Clone, Default)]
pub struct Report {
    /// Every file that was read, as the diagnostics name them.
    pub files: Files,
    /// The findings, by file and place.
    pub diagnostics: Vec<Diagnostic>,
    /// How many manifests were checked.
    pub checked: usize,
    /// A path that was asked for could not be read at all.
    pub unreadable: bool,
    /// What is known about the names in the files.
    pub facts: Facts,
}

impl Report {
    /// Whether one of the findings is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }
    /// For people, without colours.
    pub fn text(&self) -> String {
        plain(&self.diagnostics, &self.files)
    }
}

/// Findings for people, without colours.
pub(crate) fn plain(diagnostics: &[Diagnostic], files: &Files) -> String {
    trefoil_syntax::diagnostic::render::text(diagnostics, files, Default::default())
}

/// Loads a target: the program to run, or why there is none.
#[allow(clippy::result_large_err, reason = "made once a load, and what is wrong is the result that was asked for")]
pub fn load(target: &Target, options: &LoadOptions) -> Result<Loaded, Report> {
    let mut loader = Loader::new(options.clone());
    let mut found = Diagnostics::default();
    loader.texts(&mut found);
    let loaded = roots::entry(&mut loader, target, &mut found);
    let entries = loaded.iter().map(|e| (e.file, e.proved)).collect();
    let diagnostics = loader.settle(found, &entries);
    let (files, _, texts) = loader.into_read();
    let failed = diagnostics.iter().any(|d| d.severity == Severity::Error);
    match loaded {
        Some(entry) if !failed => Ok(Loaded {
            program: Arc::new(entry.program),
            files,
            diagnostics,
            env_files: entry.env_files,
            dialect: entry.dialect,
            entry: entry.file,
            about: entry.about,
            facts: entry.facts,
            texts,
            how: How { target: target.clone(), options: options.clone() },
        }),
        _ => Err(Report { files, diagnostics, checked: 1, unreadable: false, facts: Facts::default() }),
    }
}

/// The manifests at a path that no other one there references: what somebody may want to run.
pub fn roots(path: &Path, options: &LoadOptions) -> Vec<Target> {
    roots::roots(&mut Loader::new(options.clone()), path)
}

/// The programs of all manifests at a path, one a dialect, with the flows at which a run may start: to be looked at, not to be run.
pub fn programs(path: &Path, options: &LoadOptions) -> Vec<(Program, Vec<FlowId>)> {
    lower::programs(&mut Loader::new(options.clone()), path)
}

/// What was read and made for a report. Taking it apart, node by node, takes a twentieth of the time of a check: whoever ends
/// with the report need not wait for that.
#[derive(Default)]
#[allow(dead_code, reason = "is only there to be kept")]
pub struct Leftovers(Vec<Arc<read::Manifest>>, Vec<made::Linked>);

/// Checks files and folders: every finding of every manifest in one pass, each once.
pub fn check(paths: &[String], options: &LoadOptions) -> Report {
    check_and_keep(paths, options).0
}

/// The same, and what is left of it.
pub fn check_and_keep(paths: &[String], options: &LoadOptions) -> (Report, Leftovers) {
    let mut loader = Loader::new(options.clone());
    let mut found = Diagnostics::default();
    let mut facts = Facts::of(options.facts());
    let Checked { files: checked, unreadable, programs } = lower::check(&mut loader, paths, &mut found, &mut facts);
    let diagnostics = loader.settle(found, &checked);
    let (files, trees, _) = loader.into_read();
    (Report { files, diagnostics, checked: checked.len(), unreadable, facts }, Leftovers(trees, programs))
}
