//! Loads the flows of a catalog, and keeps the last versions of those whose edit does not load.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use trefoil_project::file_access;
use trefoil_project::load::{FolderTarget, LoadOptions, LoadReport, load_target};
use trefoil_project::target::LoadTarget;
use trefoil_project::{Error, Flow, FoundErrors};
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::{HumanInbox, HumanRequest, QuestionState};
use trefoil_syntax::yaml::{self, YamlLimits};
use trefoil_syntax::{Diagnostic, FileId, SourceFile, SourceFiles};

use super::{BrokenTarget, CatalogFlow, CatalogNotice, CatalogSnapshot, CatalogWatch};
use crate::engine::Engine;

/// Flows of the same project.
#[derive(Clone)]
pub(super) struct CatalogProject {
    pub engine: Arc<Engine>,
    pub options: LoadOptions,
}

/// A project, or why its settings do not apply.
pub(super) type FoundProject = Result<CatalogProject, FoundErrors>;

/// Flows being loaded.
pub(super) struct LoadingFlows<'b> {
    /// The flows so far.
    pub snapshot: CatalogSnapshot,
    /// The flows before the edit.
    before: &'b CatalogSnapshot,
    /// The files that were read, and their folders.
    pub files: BTreeSet<PathBuf>,
    /// The projects inside the folders that were named, by project file.
    pub projects: HashMap<Option<PathBuf>, FoundProject>,
    /// Findings that were shown. A manifest is also mentioned by those that may refer to it.
    shown: HashSet<String>,
}

/// Files that are no longer found in a folder.
#[derive(Default)]
pub(super) struct LostTargets {
    /// Those that do not load.
    pub broken: Vec<FolderTarget>,
    /// Whether there are others.
    pub some_load: bool,
}

impl<'b> LoadingFlows<'b> {
    pub fn new(before: &'b CatalogSnapshot) -> Self {
        Self {
            snapshot: CatalogSnapshot::default(),
            before,
            files: BTreeSet::new(),
            projects: HashMap::new(),
            shown: HashSet::new(),
        }
    }

    /// Adds a flow, and says what prevents its runs.
    pub fn add_target(&mut self, found: &FolderTarget, project: &CatalogProject, watch: &dyn CatalogWatch) {
        let FolderTarget { target, is_root } = found;
        match load_target(target, &project.options) {
            Ok(loaded) => {
                self.note_files(&loaded.files);
                self.files.extend(loaded.texts.keys().cloned());
                for called in project.engine.callable_flows(&loaded.program) {
                    self.note_files(&called.files);
                }
                let flow = Flow::from(loaded);
                let prevented = find_obstacle(&project.engine, &flow);
                let offered = self.snapshot.add_flow(CatalogFlow {
                    name: flow.name().to_owned(),
                    target: target.clone(),
                    is_root: *is_root,
                    flow,
                    engine: project.engine.clone(),
                    broken_edit: None,
                    prevented,
                });
                if let Some(why) = &offered.prevented {
                    watch.take_notice(CatalogNotice::CannotRun { name: &offered.name, why });
                }
            }
            Err(report) => self.add_broken(target, report, watch),
        }
    }

    /// Says why a target does not load, and keeps its last version.
    fn add_broken(&mut self, target: &LoadTarget, report: LoadReport, watch: &dyn CatalogWatch) {
        self.note_files(&report.files);
        let findings = FoundErrors::new(report.files, report.diagnostics);
        let last = self.before.flow_of_target(target);
        let said_before = self.before.findings_about(target).map(finding_identities);
        if said_before != Some(finding_identities(&findings)) {
            self.report_findings(&findings, watch);
            watch.take_notice(CatalogNotice::NotLoaded { target, kept: last.is_some() });
        }
        match last {
            Some(last) => self.keep_flow(last, findings),
            None => self.snapshot.broken.push(BrokenTarget { target: target.clone(), findings }),
        }
    }

    /// Says why the flows of a target cannot be read now, such as settings that do not apply, and keeps their last versions with the
    /// settings that they had.
    pub fn keep_target(&mut self, target: &LoadTarget, findings: FoundErrors, watch: &dyn CatalogWatch) {
        self.files.insert(target.path.clone());
        self.note_files(findings.source_files());
        let is_within = |path: &Path| target.id.is_none() && path.starts_with(&target.path);
        let mut kept = Vec::new();
        for last in self.before.offered_flows() {
            if last.target == *target || is_within(&last.target.path) {
                kept.push(last.clone());
            }
        }
        let earlier = match kept.first() {
            Some(last) => last.broken_edit.as_ref(),
            None => self.before.findings_about(target),
        };
        if earlier.map(finding_identities) != Some(finding_identities(&findings)) {
            self.report_findings(&findings, watch);
            watch.take_notice(CatalogNotice::NotLoaded { target, kept: !kept.is_empty() });
        }
        if kept.is_empty() {
            self.snapshot.broken.push(BrokenTarget { target: target.clone(), findings });
            return;
        }
        for last in kept {
            self.keep_flow(&last, findings.clone());
        }
    }

    fn keep_flow(&mut self, last: &CatalogFlow, findings: FoundErrors) {
        self.note_files(&last.flow.loaded_target().files);
        self.snapshot.add_flow(CatalogFlow {
            name: last.flow.name().to_owned(),
            target: last.target.clone(),
            is_root: last.is_root,
            flow: last.flow.clone(),
            engine: last.engine.clone(),
            broken_edit: Some(findings),
            prevented: last.prevented.clone(),
        });
    }

    /// Shows findings, except those that were shown with another target.
    fn report_findings(&mut self, findings: &FoundErrors, watch: &dyn CatalogWatch) {
        let files = findings.source_files();
        let mut new: Vec<Diagnostic> = Vec::new();
        for finding in findings.found_diagnostics() {
            if self.shown.insert(finding_identity(finding, files)) {
                new.push(finding.clone());
            }
        }
        if !new.is_empty() {
            watch.take_notice(CatalogNotice::Findings(&new, files));
        }
    }

    /// The files of a folder that were manifests before and are not found now. An editor writes a file in two steps, or a mistake
    /// is in the very lines by which a manifest is recognized: they stay in their last versions. One that loads was excluded, or
    /// was written just now.
    pub fn find_lost(&self, folder: &Path, found: &[FolderTarget]) -> LostTargets {
        let mut lost = LostTargets::default();
        for last in self.before.offered_flows() {
            let target = &last.target;
            if target.id.is_some() || !target.path.starts_with(folder) || !file_access::is_file(&target.path) {
                continue;
            }
            if found.iter().any(|found| found.target == *target) {
                continue;
            }
            let options = &last.flow.loaded_target().how.options;
            match load_target(target, options) {
                Ok(_) => lost.some_load = true,
                Err(_) => lost.broken.push(FolderTarget { target: target.clone(), is_root: last.is_root }),
            }
        }
        lost
    }

    /// Notes the files, and their folders, to which others may be added.
    pub fn note_files(&mut self, files: &SourceFiles) {
        for (_, file) in files.iter() {
            let path = PathBuf::from(file.name());
            if let Some(folder) = path.parent() {
                self.files.insert(folder.to_owned());
            }
            self.files.insert(path);
        }
    }
}

/// The files of a folder that may be meant as manifests, and of which nobody can say it, because they are no YAML. An empty one is
/// still to be written.
pub(super) fn find_unreadable(paths: &[PathBuf], found: &[FolderTarget], options: &LoadOptions) -> Vec<FolderTarget> {
    let mut unreadable = Vec::new();
    for path in paths {
        if found.iter().any(|found| found.target.path == *path) {
            continue;
        }
        let target = LoadTarget { path: path.clone(), id: None };
        if let Err(report) = load_target(&target, options)
            && report.files.iter().any(|(id, file)| Path::new(file.name()) == path && is_no_yaml(id, file))
        {
            unreadable.push(FolderTarget { target, is_root: true });
        }
    }
    unreadable
}

fn is_no_yaml(id: FileId, file: &SourceFile) -> bool {
    let is_empty = file.text().trim().is_empty();
    !is_empty && !yaml::parse(id, file, &YamlLimits::default()).complete
}

fn finding_identities(findings: &FoundErrors) -> Vec<String> {
    let files = findings.source_files();
    findings.found_diagnostics().iter().map(|finding| finding_identity(finding, files)).collect()
}

/// What is the same in two findings that say the same.
fn finding_identity(d: &Diagnostic, files: &SourceFiles) -> String {
    let file = d.file.and_then(|file| files.get(file));
    let name = file.map(|file| file.name()).unwrap_or_default();
    let start = d.span.map(|span| span.start).unwrap_or_default();
    format!("{name}:{start}: {}: {}", d.rule, d.message)
}

/// What prevents runs of a flow, such as a missing key. Whether people can be asked depends on the client.
pub(super) fn find_obstacle(engine: &Engine, flow: &Flow) -> Option<String> {
    match engine.clone().humans(AnybodyInbox).prepare_run(flow) {
        Ok(_) => None,
        Err(Error::NotStarted(why)) => {
            let all: Vec<&str> = why.found_diagnostics().iter().map(|d| &*d.message).collect();
            Some(all.join("; "))
        }
        Err(error) => Some(error.to_string()),
    }
}

/// People who may answer later.
struct AnybodyInbox;

#[async_trait]
impl HumanInbox for AnybodyInbox {
    async fn ask_question(&self, _at: CallSite<'_>, _request: &HumanRequest) -> QuestionState {
        QuestionState::Later
    }
}
