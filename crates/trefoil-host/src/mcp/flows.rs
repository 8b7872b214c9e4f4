//! Finds and loads the flows that are served, and loads them again after an edit.
//!
//! A folder may contain other projects. Each flow runs with the settings of its own project, so a flow of a project that
//! the user does not trust has no permissions.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::engine::Engine;
use tokio::sync::mpsc;
use trefoil_project::file_access::{self, PathStamp};
use trefoil_project::load::LoadOptions;
use trefoil_project::settings::{self, FoundSettings, Settings};
use trefoil_project::target::LoadTarget;
use trefoil_project::target_settings::target_settings;
use trefoil_project::{Error, Flow};
use trefoil_runtime::locks::lock;
use trefoil_syntax::{Diagnostic, SourceFiles};

use super::notices::{ServerNotice, ServerWatch};
use super::question::QuestionInbox;
use super::{OfferedFlow, OfferedTools};

/// What is served, and how.
pub struct FlowSource {
    /// The targets that were named.
    pub targets: Vec<LoadTarget>,
    /// The options for loading them, without any settings.
    pub options: LoadOptions,
    /// Whether project files are ignored.
    pub no_config: bool,
    /// The engine for flows of a project with these settings.
    pub engine: Box<dyn Fn(&Settings) -> Engine + Send + Sync>,
    /// Gets what prevents flows from being served.
    pub watch: Arc<dyn ServerWatch>,
}

/// The flows that are served now.
pub struct ServedFlows {
    source: FlowSource,
    served: Mutex<ServedFlow>,
}

#[derive(Default)]
struct ServedFlow {
    tools: Arc<OfferedTools>,
    /// The files that were read, and their folders.
    seen: BTreeMap<PathBuf, PathStamp>,
}

/// Flows of the same project.
#[derive(Clone)]
struct ServedProject {
    engine: Arc<Engine>,
    options: LoadOptions,
}

/// Flows being loaded.
#[derive(Default)]
struct LoadingFlows {
    tools: OfferedTools,
    files: BTreeSet<PathBuf>,
    /// The projects inside the folders that were named, by project file; none for a project whose settings do not apply.
    projects: HashMap<Option<PathBuf>, Option<ServedProject>>,
    /// Findings that were shown. A manifest is also mentioned by those that may refer to it.
    shown: HashSet<String>,
}

impl ServedFlows {
    /// Loads the flows. `None`: the settings of a target do not apply.
    pub fn new(source: FlowSource) -> Option<Self> {
        let served = source.load(true)?;
        Some(Self { source, served: Mutex::new(served) })
    }

    /// The flows in their current state.
    pub fn current_tools(&self) -> Arc<OfferedTools> {
        let mut served = lock(&self.served);
        let mut changed = Vec::new();
        for (path, stamp) in &served.seen {
            if file_access::read_stamp(path) != *stamp {
                changed.push(path);
            }
        }
        if !changed.is_empty() {
            // Other files come and go in a folder: the store of the runs, for example.
            let may_be_others = changed.iter().all(|path| file_access::is_folder(path));
            let before = served.tools.clone();
            *served = self.source.load(false).unwrap_or_default();
            if !may_be_others || served.tools.tool_names() != before.tool_names() {
                self.source.watch.take_notice(ServerNotice::FlowsChanged(&served.tools.tool_names()));
            }
        }
        served.tools.clone()
    }
}

impl FlowSource {
    /// `strict`: returns `None` if the settings of a target do not apply. Otherwise its flows are not served.
    fn load(&self, strict: bool) -> Option<ServedFlow> {
        let mut loading = LoadingFlows::default();
        for target in &self.targets {
            let found = match target.id {
                Some(_) => target_settings(target, &self.options, self.no_config),
                None => settings::find_settings(&target.path, self.no_config),
            };
            match self.project(found, &mut loading) {
                Some(own) => self.serve(target, &own, &mut loading),
                None if strict => return None,
                None => loading.files.extend([target.path.clone()]),
            }
        }
        let LoadingFlows { tools, files, .. } = loading;
        let mut seen = BTreeMap::new();
        for path in files.into_iter().chain(settings::user_settings_files()) {
            let stamp = file_access::read_stamp(&path);
            seen.insert(path, stamp);
        }
        Some(ServedFlow { tools: Arc::new(tools), seen })
    }

    /// The project with these settings. If they do not apply, reports why.
    fn project(&self, found: FoundSettings, loading: &mut LoadingFlows) -> Option<ServedProject> {
        loading.read(&found.files);
        if !found.findings.is_empty() {
            self.watch.take_notice(ServerNotice::Findings(&found.findings, &found.files));
            return None;
        }
        let settings = found.settings;
        let allowed = self.options.allowed.iter().chain(&settings.allowed).cloned().collect();
        let options = LoadOptions { allowed, supplied: settings.supplied_declarations(), ..self.options.clone() };
        Some(ServedProject { engine: Arc::new((self.engine)(&settings)), options })
    }

    /// Adds the flows of a target.
    fn serve(&self, target: &LoadTarget, own: &ServedProject, loading: &mut LoadingFlows) {
        loading.files.insert(target.path.clone());
        if target.id.is_some() {
            return loading.add(target, own, &*self.watch);
        }
        let project_of = |path: &Path| if self.no_config { None } else { settings::project_file(path) };
        let here = project_of(&target.path);
        for found in trefoil_project::load::find_root_targets(&target.path, &own.options) {
            let there = project_of(&found.path);
            if there == here {
                loading.add(&found, own, &*self.watch);
                continue;
            }
            let project = match loading.projects.get(&there) {
                Some(known) => known.clone(),
                None => {
                    let project = self.project(settings::find_settings(&found.path, self.no_config), loading);
                    loading.projects.insert(there, project.clone());
                    project
                }
            };
            match project {
                Some(project) => loading.add(&found, &project, &*self.watch),
                None => self.watch.take_notice(ServerNotice::ProjectIgnored(&found)),
            }
        }
    }
}

impl LoadingFlows {
    /// Adds a flow, and says what prevents its runs.
    fn add(&mut self, target: &LoadTarget, project: &ServedProject, watch: &dyn ServerWatch) {
        match trefoil_project::load::load_target(target, &project.options) {
            Ok(loaded) => {
                self.read(&loaded.files);
                self.files.extend(loaded.texts.keys().cloned());
                for called in project.engine.callable_flows(&loaded.program) {
                    self.read(&called.files);
                }
                let flow = Flow::from(loaded);
                let prevented = prevented(&project.engine, &flow);
                let name = self.tools.add_flow(OfferedFlow::new(flow, project.engine.clone()));
                if let Some(why) = prevented {
                    watch.take_notice(ServerNotice::CannotRun { name: &name, why: &why });
                }
            }
            Err(report) => {
                self.read(&report.files);
                let new = report.diagnostics.iter().filter(|d| self.shown.insert(place(d, &report.files)));
                let new: Vec<Diagnostic> = new.cloned().collect();
                if !new.is_empty() {
                    watch.take_notice(ServerNotice::Findings(&new, &report.files));
                }
                watch.take_notice(ServerNotice::NotLoaded(target));
            }
        }
    }

    /// Notes the files, and their folders, to which others may be added.
    fn read(&mut self, files: &SourceFiles) {
        for (_, file) in files.iter() {
            let path = PathBuf::from(file.name());
            if let Some(folder) = path.parent() {
                self.files.insert(folder.to_owned());
            }
            self.files.insert(path);
        }
    }
}

/// What is the same in two findings that say the same.
fn place(d: &Diagnostic, files: &SourceFiles) -> String {
    let file = d.file.and_then(|file| files.get(file));
    let name = file.map(|file| file.name()).unwrap_or_default();
    let start = d.span.map(|span| span.start).unwrap_or_default();
    format!("{name}:{start}: {}: {}", d.rule, d.message)
}

/// What prevents runs of a flow, such as a missing key. Whether people can be asked depends on the client.
fn prevented(engine: &Engine, flow: &Flow) -> Option<String> {
    let anybody = QuestionInbox { questions: mpsc::unbounded_channel().0, is_stored: true };
    match engine.clone().humans(anybody).prepare_run(flow) {
        Ok(_) => None,
        Err(Error::NotStarted(why)) => {
            let all: Vec<&str> = why.found_diagnostics().iter().map(|d| &*d.message).collect();
            Some(all.join("; "))
        }
        Err(error) => Some(error.to_string()),
    }
}
