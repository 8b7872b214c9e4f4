//! The flows that a server offers: found in folders and files, loaded, and loaded again after an edit. A flow whose edit does
//! not load stays in its last version, with the findings about the edit.
//!
//! A folder may contain other projects. Each flow runs with the settings of its own project, so a flow of a project that
//! the user does not trust has no permissions.

mod flow_files;
mod loading;
mod notices;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use trefoil_ir::Program;
use trefoil_project::file_access::{self, PathStamp};
use trefoil_project::load::{FolderTarget, LoadOptions, find_folder_targets, load_target};
use trefoil_project::settings::{self, FoundSettings, Settings};
use trefoil_project::target::LoadTarget;
use trefoil_project::target_settings::target_settings;
use trefoil_project::{Flow, FoundErrors};
use trefoil_runtime::locks::lock;

use crate::engine::Engine;
use loading::{CatalogProject, FoundProject, LoadingFlows, find_unreadable};

pub use flow_files::{FlowFile, UsedFiles};
pub use notices::{CatalogNotice, CatalogWatch};

/// The accuracy of the times of files, and some more.
const TICK: Duration = Duration::from_millis(20);
/// The most files of a folder that are watched although they are no manifests.
const MOST_FILES: usize = 10_000;

/// What is offered, and how.
pub struct CatalogSource {
    /// The targets that were named.
    pub targets: Vec<LoadTarget>,
    /// The options for loading them, without any settings.
    pub options: LoadOptions,
    /// Whether manifests that others use are offered, too.
    pub with_called: bool,
    /// Whether project files are ignored.
    pub no_config: bool,
    /// The engine for flows of a project with these settings.
    pub engine: Box<dyn Fn(&Settings) -> Engine + Send + Sync>,
    /// Gets what prevents flows from being offered.
    pub watch: Arc<dyn CatalogWatch>,
}

/// A flow that is offered.
pub struct CatalogFlow {
    /// Its name, which no other flow of the catalog has.
    pub name: String,
    /// Where it comes from.
    pub target: LoadTarget,
    /// Whether no other manifest uses it.
    pub is_root: bool,
    /// The version that runs.
    pub flow: Flow,
    /// The engine that runs it.
    pub engine: Arc<Engine>,
    /// Why the files as they are now do not load; `None`: the version that runs is what they say.
    pub broken_edit: Option<FoundErrors>,
    /// What prevents its runs, such as a missing key.
    pub prevented: Option<String>,
}

/// A target that has not loaded yet, and why.
#[derive(Clone)]
pub struct BrokenTarget {
    /// The target.
    pub target: LoadTarget,
    /// Why it does not load.
    pub findings: FoundErrors,
}

/// The flows at one moment.
#[derive(Default, Clone)]
pub struct CatalogSnapshot {
    flows: Vec<Arc<CatalogFlow>>,
    broken: Vec<BrokenTarget>,
}

impl CatalogSnapshot {
    /// The flows, in the order in which they were found.
    pub fn offered_flows(&self) -> &[Arc<CatalogFlow>] {
        &self.flows
    }
    /// The targets that do not load.
    pub fn broken_targets(&self) -> &[BrokenTarget] {
        &self.broken
    }
    /// The flow with this name.
    pub fn find_flow(&self, name: &str) -> Option<&Arc<CatalogFlow>> {
        self.flows.iter().find(|offered| offered.name == name)
    }
    /// The names of all flows.
    pub fn flow_names(&self) -> Vec<&str> {
        self.flows.iter().map(|offered| &*offered.name).collect()
    }

    /// The programs of all flows.
    pub fn flow_programs(&self) -> Vec<&Program> {
        self.flows.iter().map(|offered| &*offered.flow.loaded_target().program).collect()
    }

    /// Whether the files of all flows say the same as those of another moment.
    fn has_same_sources(&self, other: &Self) -> bool {
        let is_same = |(one, other): (&Arc<CatalogFlow>, &Arc<CatalogFlow>)| {
            let (loaded, earlier) = (one.flow.loaded_target(), other.flow.loaded_target());
            let texts = loaded.source_texts().map(|file| (file.name(), file.text()));
            let earlier_texts = earlier.source_texts().map(|file| (file.name(), file.text()));
            let same_texts = texts.eq(earlier_texts) && loaded.texts == earlier.texts;
            one.name == other.name && same_texts && one.broken_edit.is_some() == other.broken_edit.is_some()
        };
        self.flows.len() == other.flows.len() && self.flows.iter().zip(&other.flows).all(is_same)
    }

    /// What is wrong with the files of a target, if they do not load.
    fn findings_about(&self, target: &LoadTarget) -> Option<&FoundErrors> {
        let broken = self.broken.iter().find(|broken| broken.target == *target);
        match broken {
            Some(broken) => Some(&broken.findings),
            None => self.flow_of_target(target)?.broken_edit.as_ref(),
        }
    }

    /// Adds a flow under its name, or under its name and a number if another one has it.
    fn add_flow(&mut self, mut offered: CatalogFlow) -> &CatalogFlow {
        let plain = offered.name.clone();
        let mut number = 2;
        while self.find_flow(&offered.name).is_some() {
            offered.name = format!("{plain}_{number}");
            number += 1;
        }
        let index = self.flows.len();
        self.flows.push(Arc::new(offered));
        #[allow(clippy::indexing_slicing, reason = "it was just added")]
        &self.flows[index]
    }

    /// Adds flows that come from no file, as far as no file has their names.
    fn add_others(&mut self, others: &[Arc<CatalogFlow>]) {
        for other in others {
            if self.find_flow(&other.name).is_none() {
                self.flows.push(other.clone());
            }
        }
    }

    /// The flow that was loaded from a target.
    fn flow_of_target(&self, target: &LoadTarget) -> Option<&Arc<CatalogFlow>> {
        self.flows.iter().find(|offered| offered.target == *target)
    }
}

/// The flows that are offered now.
pub struct FlowCatalog {
    source: CatalogSource,
    state: Mutex<CatalogState>,
}

#[derive(Default)]
struct CatalogState {
    snapshot: Arc<CatalogSnapshot>,
    /// The flows of the snapshot that come from the files.
    of_files: CatalogSnapshot,
    /// Flows that come from elsewhere.
    others: Vec<Arc<CatalogFlow>>,
    /// The files that were read, and their folders.
    seen: BTreeMap<PathBuf, SeenFile>,
}

/// A file as it was when it was read.
struct SeenFile {
    stamp: PathStamp,
    /// It may have changed after it was read, within the accuracy of its time.
    is_recent: bool,
}

impl SeenFile {
    fn has_changed(&self, path: &Path) -> bool {
        file_access::read_stamp(path) != self.stamp
    }
}

impl CatalogState {
    fn set_others(&mut self, others: Vec<Arc<CatalogFlow>>) {
        let mut snapshot = self.of_files.clone();
        snapshot.add_others(&others);
        (self.snapshot, self.others) = (Arc::new(snapshot), others);
    }
}

impl FlowCatalog {
    /// Offers other flows beside those of the files, such as those that a server has received. They replace those that were given
    /// here before. A file with the same name takes precedence.
    pub fn offer_others(&self, flows: Vec<Flow>, engine: &Arc<Engine>) {
        let mut others = Vec::new();
        for flow in flows {
            let prevented = loading::find_obstacle(engine, &flow);
            others.push(Arc::new(CatalogFlow {
                name: flow.name().to_owned(),
                target: flow.loaded_target().how.target.clone(),
                is_root: true,
                flow,
                engine: engine.clone(),
                broken_edit: None,
                prevented,
            }));
        }
        lock(&self.state).set_others(others);
    }

    /// Whether a flow comes from a file.
    pub fn has_file(&self, name: &str) -> bool {
        lock(&self.state).of_files.find_flow(name).is_some()
    }

    /// Loads the flows. `None`: the settings of a target do not apply.
    pub fn load_flows(source: CatalogSource) -> Option<Self> {
        let state = source.load(true, &CatalogSnapshot::default())?;
        Some(Self { source, state: Mutex::new(state) })
    }

    /// The flows as they were loaded last.
    pub fn last_snapshot(&self) -> Arc<CatalogSnapshot> {
        lock(&self.state).snapshot.clone()
    }

    /// The flows in their current state: loads them again if files have changed. Reads the disk.
    pub fn current_snapshot(&self) -> Arc<CatalogSnapshot> {
        let (before, is_due, is_edited) = {
            let state = lock(&self.state);
            let is_recent = state.seen.values().any(|file| file.is_recent);
            let changed: Vec<_> = state.seen.iter().filter(|(path, file)| file.has_changed(path)).collect();
            // Other files come and go in a folder: the store of the runs, for example.
            let is_edited = changed.iter().any(|(path, _)| !file_access::is_folder(path));
            (state.snapshot.clone(), is_recent || !changed.is_empty(), is_edited)
        };
        if !is_due {
            return before;
        }
        let loaded = self.source.load(false, &before).unwrap_or_default();
        let snapshot = {
            let mut state = lock(&self.state);
            let others = std::mem::take(&mut state.others);
            *state = loaded;
            state.set_others(others);
            state.snapshot.clone()
        };
        if is_edited || !snapshot.has_same_sources(&before) {
            self.source.watch.take_notice(CatalogNotice::FlowsChanged(&snapshot.flow_names()));
        }
        snapshot
    }
}

impl CatalogSource {
    /// `strict`: returns `None` if the settings of a target do not apply. Otherwise its flows are not offered.
    fn load(&self, strict: bool, before: &CatalogSnapshot) -> Option<CatalogState> {
        let begun = SystemTime::now();
        let mut loading = LoadingFlows::new(before);
        for target in &self.targets {
            let found = match target.id {
                Some(_) => target_settings(target, &self.options, self.no_config),
                None => settings::find_settings(&target.path, self.no_config),
            };
            match self.find_project(found, &mut loading) {
                Ok(own) => self.offer(target, &own, &mut loading),
                Err(findings) if strict => {
                    let (found, files) = (findings.found_diagnostics(), findings.source_files());
                    self.watch.take_notice(CatalogNotice::Findings(found, files));
                    return None;
                }
                Err(findings) => loading.keep_target(target, findings, &*self.watch),
            }
        }
        let LoadingFlows { snapshot, files, .. } = loading;
        let mut seen = BTreeMap::new();
        for path in files.into_iter().chain(settings::user_settings_files()) {
            let stamp = file_access::read_stamp(&path);
            let is_recent = matches!(stamp, PathStamp::File(Some(changed), _) if changed + TICK >= begun);
            seen.insert(path, SeenFile { stamp, is_recent });
        }
        Some(CatalogState { snapshot: Arc::new(snapshot.clone()), of_files: snapshot, others: Vec::new(), seen })
    }

    /// The project with these settings, or why they do not apply.
    fn find_project(&self, found: FoundSettings, loading: &mut LoadingFlows<'_>) -> FoundProject {
        loading.note_files(&found.files);
        if !found.findings.is_empty() {
            return Err(FoundErrors::from(&found));
        }
        let settings = found.settings;
        let allowed = self.options.allowed.iter().chain(&settings.allowed).cloned().collect();
        let options = LoadOptions { allowed, supplied: settings.supplied_declarations(), ..self.options.clone() };
        Ok(CatalogProject { engine: Arc::new((self.engine)(&settings)), options })
    }

    /// Adds the flows of a target.
    fn offer(&self, target: &LoadTarget, own: &CatalogProject, loading: &mut LoadingFlows<'_>) {
        loading.files.insert(target.path.clone());
        if target.id.is_some() {
            let named = FolderTarget { target: target.clone(), is_root: true };
            return loading.add_target(&named, own, &*self.watch);
        }
        if file_access::read_stamp(&target.path) == PathStamp::Missing
            && let Err(report) = load_target(target, &own.options)
        {
            // The whole folder is being replaced, or was moved away.
            let findings = FoundErrors::new(report.files, report.diagnostics);
            return loading.keep_target(target, findings, &*self.watch);
        }
        // Also those that are no manifests yet, or no longer: their next edit is seen.
        let yaml = file_access::yaml_files(&target.path, MOST_FILES);
        loading.files.extend(yaml.iter().cloned());
        let mut found = find_folder_targets(&target.path, &own.options);
        let mut lost = loading.find_lost(&target.path, &found);
        if lost.some_load {
            found = find_folder_targets(&target.path, &own.options);
            lost = loading.find_lost(&target.path, &found);
        }
        found.append(&mut lost.broken);
        let mut unreadable = find_unreadable(&yaml, &found, &own.options);
        found.append(&mut unreadable);
        for found in found {
            if !found.is_root && !self.with_called {
                continue;
            }
            match self.project_of_file(&found.target.path, target, own, loading) {
                Ok(project) => loading.add_target(&found, &project, &*self.watch),
                Err(findings) => loading.keep_target(&found.target, findings, &*self.watch),
            }
        }
    }

    /// The project of a file in a folder that was named.
    fn project_of_file(
        &self,
        file: &Path,
        named: &LoadTarget,
        own: &CatalogProject,
        loading: &mut LoadingFlows<'_>,
    ) -> FoundProject {
        let project_of = |path: &Path| if self.no_config { None } else { settings::project_file(path) };
        let there = project_of(file);
        if there == project_of(&named.path) {
            return Ok(own.clone());
        }
        if let Some(known) = loading.projects.get(&there) {
            return known.clone();
        }
        let project = self.find_project(settings::find_settings(file, self.no_config), loading);
        loading.projects.insert(there, project.clone());
        project
    }
}
