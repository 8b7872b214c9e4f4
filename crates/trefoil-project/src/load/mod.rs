//! Loading: from a target on disk to a program with its findings.
//!
//! ```text
//! TARGET --(target)--> file or folder --(discovery, file_loader)--> manifests --(project)--> what they need --(lowering)--> program
//! ```
//!
//! The only place that reads manifests, all of them through the [file access](crate::file_access). It never stops at a mistake: every
//! mistake becomes a diagnostic, and the rest is still checked. Runs nothing.

mod cache;
mod compilation;
mod discovery;
mod doubtful_fixes;
mod file_loader;
mod final_findings;
mod id_search;
mod lookalike_names;
mod lowering;
mod merged_findings;
mod misspellings;
mod path_check;
mod project;
mod roots;
pub mod rules;
mod tool_flows;
mod unproven_facts;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use trefoil_check::proof::ProgramProof;
use trefoil_check::{Levels, ProjectDeclarations, RunCostLimits};
use trefoil_front::FrontEnd;
use trefoil_ir::{FactDetail, Facts, FlowId, Program};
use trefoil_machine::journal::ProgramFile;
use trefoil_runtime::ports::EnvSecrets;
use trefoil_syntax::{Diagnostic, DiagnosticList, FileId, FindingSeverity, SourceFiles, yaml};

pub use cache::ParseCache;
pub use roots::FolderTarget;

use file_loader::FileLoader;
use path_check::CheckedPaths;

use crate::file_access::{FileAccess, NamedFile};
use crate::target::LoadTarget;

/// Options for loading.
#[derive(Clone, Default)]
pub struct LoadOptions {
    /// The dialect of the named files, and of all manifests in a named folder; otherwise it is detected.
    pub dialect: Option<&'static dyn FrontEnd>,
    /// Resource limits for untrusted files.
    pub limits: yaml::YamlLimits,
    /// The text that replaces every agent's own context.
    pub context: Option<PathBuf>,
    /// The text of the agents' skills.
    pub skills: Option<PathBuf>,
    /// The checks beyond loading; `None`: no checks.
    pub checks: Option<CheckOptions>,
    /// Whether to say what the checks prove about the program; only if there are checks.
    pub proofs: bool,
    /// Texts that replace files on disk, by canonical path: an editor's unsaved buffers.
    pub overlay: Arc<HashMap<PathBuf, Arc<str>>>,
    /// Whether the facts include the available names in every text, as editors need, also for files that are not
    /// checked.
    pub scopes: bool,
    /// A cache of trees, for loading the same files repeatedly.
    pub cache: Option<ParseCache>,
    /// Folders outside the project that paths in manifests may lead into.
    pub allowed: Vec<PathBuf>,
    /// Whether the folders that a trusted project file allows are allowed in manifests of its project.
    pub allowed_by_projects: bool,
    /// The tools declared in the user's own settings, in addition to those of the project.
    pub supplied: ProjectDeclarations,
    /// The names that mean an MCP server among the tools of agents, when a run is continued; `None`: those that are declared
    /// now.
    pub servers: Option<BTreeSet<String>>,
    /// The maximum number of manifests in a folder; default: 10,000.
    pub max_files: Option<usize>,
    /// The receiver of progress reports.
    pub progress: Option<CheckProgress>,
    /// The location of the files.
    pub file_access: FileAccess,
}

/// Called often with the progress of a check.
#[derive(Clone)]
pub struct CheckProgress(pub Arc<dyn Fn(CheckStep) + Send + Sync>);

/// The progress of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckStep {
    /// The number of folder entries visited.
    Looking(usize),
    /// The number of files read, and their total.
    Reading(usize, usize),
    /// The number of files checked, and their total.
    Checking(usize, usize),
}

/// Which rules check a program, and the levels of their findings.
#[derive(Debug, Clone, Default)]
pub struct CheckOptions {
    /// The levels of findings.
    pub levels: Levels,
    /// Limits on the cost of a run.
    pub limits: RunCostLimits,
    /// Whether project files are ignored. Otherwise their levels apply before `levels`, and their limits are the
    /// defaults for `limits`.
    pub without_project: bool,
    /// Whether comments in manifests that suppress findings are ignored.
    pub without_comments: bool,
}

impl LoadOptions {
    /// Enables checks with every rule at its default level.
    #[must_use]
    pub fn with_checks(self) -> Self {
        Self { checks: Some(CheckOptions::default()), ..self }
    }
    fn facts(&self) -> FactDetail {
        match (&self.checks, self.scopes) {
            (_, true) => FactDetail::Scopes,
            (Some(_), false) => FactDetail::Names,
            (None, false) => FactDetail::Nothing,
        }
    }
}

/// A target that can run.
#[derive(Clone)]
pub struct LoadedTarget {
    /// The program.
    pub program: Arc<Program>,
    /// Every file that was read, for the locations in the program.
    pub files: SourceFiles,
    /// Findings that do not prevent a run, by file and place.
    pub diagnostics: Vec<Diagnostic>,
    /// Environment files that the program's workflows name, in order.
    pub env_files: Vec<NamedFile>,
    /// The dialect of the entry.
    pub dialect: &'static str,
    /// The entry's file.
    pub entry: FileId,
    /// The description in the entry.
    pub about: Option<String>,
    /// The facts about its names, if it was checked.
    pub facts: Facts,
    /// What is proved about it, if that was requested.
    pub proofs: Vec<ProgramProof>,
    /// The texts that are part of the program but not manifests, by path.
    pub texts: BTreeMap<PathBuf, Arc<str>>,
    /// The names in it that mean an MCP server.
    pub servers: BTreeSet<String>,
    /// How it was loaded.
    pub how: LoadRecipe,
}

/// How something was loaded, so that it can be loaded again.
#[derive(Clone)]
pub struct LoadRecipe {
    /// The target.
    pub target: LoadTarget,
    /// The options.
    pub options: LoadOptions,
}

impl LoadedTarget {
    /// The same without the variables of environment files.
    #[must_use]
    pub fn without_env_files(self) -> Self {
        Self { env_files: Vec::new(), ..self }
    }

    /// The file of the entry.
    pub fn entry_file(&self) -> PathBuf {
        match self.files.get(self.entry) {
            Some(file) => file.name().into(),
            None => self.how.target.path.clone(),
        }
    }

    /// The environment, with the environment files that can be read.
    pub fn environment_secrets(&self) -> EnvSecrets {
        let mut environment = EnvSecrets::new();
        for file in &self.env_files {
            if let Ok(text) = file.text() {
                environment = environment.with_env_file(&file.path.display().to_string(), &text);
            }
        }
        environment
    }

    /// The files of the program, with the hashes of their texts.
    pub fn source_hashes(&self) -> Vec<ProgramFile> {
        let hash = |text: &str| Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        self.source_texts()
            .map(|file| ProgramFile { path: file.name().to_owned(), sha256: hash(file.text()) })
            .collect()
    }

    /// The files themselves.
    pub fn source_texts(&self) -> impl Iterator<Item = &trefoil_syntax::SourceFile> {
        self.program.file_ids().into_iter().filter_map(|id| self.files.get(id))
    }
}

/// The findings, whether or not the target loads.
#[derive(Clone, Default)]
pub struct LoadReport {
    /// Every file that was read, for the diagnostics.
    pub files: SourceFiles,
    /// The findings, by file and place.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of checked manifests.
    pub checked: usize,
    /// Whether a requested path could not be read at all.
    pub unreadable: bool,
    /// The facts about the names in the files.
    pub facts: Facts,
}

impl LoadReport {
    /// Whether any finding is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == FindingSeverity::Error)
    }
    /// For people, without colours.
    pub fn text(&self) -> String {
        render_plain(&self.diagnostics, &self.files)
    }
}

/// Findings for people, without colours.
pub(crate) fn render_plain(diagnostics: &[Diagnostic], files: &SourceFiles) -> String {
    trefoil_syntax::diagnostic::render::render_text(diagnostics, files, Default::default())
}

/// Loads a target: the program to run, or why there is none.
#[allow(clippy::result_large_err, reason = "made once a load, and what is wrong is the result that was asked for")]
pub fn load_target(target: &LoadTarget, options: &LoadOptions) -> Result<LoadedTarget, LoadReport> {
    let mut loader = FileLoader::new(options.clone());
    let mut found = DiagnosticList::default();
    loader.read_option_texts(&mut found);
    let loaded = roots::find_entry(&mut loader, target, &mut found);
    let entries = loaded.iter().map(|e| (e.file, e.proved)).collect();
    let diagnostics = loader.settle_findings(found, &entries);
    let (files, _, texts) = loader.into_read();
    let failed = diagnostics.iter().any(|d| d.severity == FindingSeverity::Error);
    match loaded {
        Some(entry) if !failed => Ok(LoadedTarget {
            program: Arc::new(entry.program),
            files,
            diagnostics,
            env_files: entry.env_files,
            dialect: entry.dialect,
            entry: entry.file,
            about: entry.about,
            facts: entry.facts,
            proofs: entry.proofs,
            texts,
            servers: entry.servers,
            how: LoadRecipe { target: target.clone(), options: options.clone() },
        }),
        _ => Err(LoadReport { files, diagnostics, checked: 1, unreadable: false, facts: Facts::default() }),
    }
}

/// The manifests at a path that no other manifest there references, as candidates for a run.
pub fn find_root_targets(path: &Path, options: &LoadOptions) -> Vec<LoadTarget> {
    let mut roots = Vec::new();
    for found in find_folder_targets(path, options) {
        if found.is_root {
            roots.push(found.target);
        }
    }
    roots
}

/// The manifests of a folder, each as a target, and whether no other manifest references it. For a file, the file itself.
pub fn find_folder_targets(path: &Path, options: &LoadOptions) -> Vec<FolderTarget> {
    roots::find_folder_targets(&mut FileLoader::new(options.clone()), path)
}

/// The file of the manifest that a target means, without checking it; `None` if it means none, or several.
pub fn entry_file(target: &LoadTarget, options: &LoadOptions) -> Option<PathBuf> {
    roots::find_target_file(&mut FileLoader::new(options.clone()), target)
}

/// The programs of all manifests at a path, one for each dialect, with the flows at which a run may start: for
/// inspection, not for running.
pub fn load_programs(path: &Path, options: &LoadOptions) -> Vec<(Program, Vec<FlowId>)> {
    lowering::load_programs(&mut FileLoader::new(options.clone()), path)
}

/// The data of a check. Freeing it, node by node, takes a twentieth of the time of a check; a process that ends after
/// the report can skip that.
#[derive(Default)]
#[allow(dead_code, reason = "is only there to be kept")]
pub struct CheckLeftovers(Vec<Arc<file_loader::LoadedManifest>>, Vec<compilation::LinkedProgram>);

/// Checks files and folders: every finding of every manifest in one pass, each once.
pub fn check_paths(paths: &[String], options: &LoadOptions) -> LoadReport {
    check_and_keep(paths, options).0
}

/// The same, with the data of the check.
pub fn check_and_keep(paths: &[String], options: &LoadOptions) -> (LoadReport, CheckLeftovers) {
    let mut loader = FileLoader::new(options.clone());
    let mut found = DiagnosticList::default();
    let mut facts = Facts::with_detail(options.facts());
    let CheckedPaths { files: checked, unreadable, programs } =
        path_check::check_paths(&mut loader, paths, &mut found, &mut facts);
    let diagnostics = loader.settle_findings(found, &checked);
    let (files, trees, _) = loader.into_read();
    (LoadReport { files, diagnostics, checked: checked.len(), unreadable, facts }, CheckLeftovers(trees, programs))
}
