//! Whether a stored run may have the permissions of a project.
//!
//! A store names paths, but it may come from anybody: what it says about a project proves nothing. The settings of a project
//! (permissions, tools, sources of secrets) apply to a stored run only if all files of its program are those on the disk, and
//! the same for the runs that called it and that it has called. Only this module decides that, and only it knows the
//! path of a stored run, so nothing else can ask for the settings of a project that a store names.

use std::path::{Path, PathBuf};

use trefoil_ir::{StepKind, ToolKind, walk};
use trefoil_machine::RunStart;
use trefoil_store::{RunFilter, Status, Store};

use super::StoredRun;
use super::history::tools_of;
use crate::engine::AnswersFrom;
use trefoil_project::bundle::{FileOrigin, found_in};
use trefoil_project::error::Result;
use trefoil_project::settings::{self, FoundSettings};

/// Maximum number of runs that are compared.
const MOST: usize = 1_000;

/// The project of a stored run.
pub struct StoredProject(ProgramOrigin);

enum ProgramOrigin {
    /// The files that run are those on the disk. The file of the outermost caller, whose settings apply to what it calls.
    Disk(PathBuf),
    /// They are not, and why. The file that the store names.
    Store(String, PathBuf),
}

impl StoredProject {
    /// Compares the files of a run, of those that called it, and of those that it has called, with those on the disk.
    pub async fn compare_files(store: &dyn Store, stored: &StoredRun) -> Result<Self> {
        Self::compare_with(store, stored, None).await
    }

    /// The same for a worker in this folder. The run may come from another computer: then its files are compared with those
    /// at the same place in the folder's project.
    pub async fn of_worker(store: &dyn Store, stored: &StoredRun, folder: &Path) -> Result<Self> {
        let file = settings::project_file(folder);
        Self::compare_with(store, stored, file.as_deref().and_then(Path::parent)).await
    }

    async fn compare_with(store: &dyn Store, stored: &StoredRun, here: Option<&Path>) -> Result<Self> {
        let run = &stored.started.run;
        let mut file = match entry_file(store, stored, here).await? {
            Ok(file) => file,
            Err(why) => return Ok(Self(ProgramOrigin::Store(why, stored.entry_path().to_owned()))),
        };
        let mut above = store.record(run).await?.parent;
        let mut met = 0;
        while let Some(caller) = above.take() {
            if met >= MOST {
                break;
            }
            met += 1;
            // A caller that was deleted says nothing.
            let Ok(record) = store.record(&caller).await else { break };
            let Ok(stored) = StoredRun::read_run(store, &caller).await else { break };
            match entry_file(store, &stored, here).await? {
                Ok(of_caller) => file = of_caller,
                Err(why) => return Ok(Self(ProgramOrigin::Store(why, file))),
            }
            above = record.parent;
        }
        let mut open = vec![run.clone()];
        while let Some(caller) = open.pop() {
            if met >= MOST {
                break;
            }
            let called = RunFilter { parent: Some(caller), ..RunFilter::default() };
            for record in store.list_runs(&called, None, MOST).await?.runs {
                met += 1;
                // A call that has failed is made again, and continues the same run.
                if matches!(record.status, Status::Completed | Status::Cancelled) {
                    continue;
                }
                let Ok(stored) = StoredRun::read_run(store, &record.run).await else { continue };
                if let Err(why) = entry_file(store, &stored, here).await? {
                    return Ok(Self(ProgramOrigin::Store(why, file)));
                }
                open.push(record.run);
            }
        }
        Ok(Self(ProgramOrigin::Disk(file)))
    }

    /// The settings with which the run may continue: those of the user, and of its project if its files are that project's.
    pub fn settings(&self, without_project: bool) -> FoundSettings {
        match &self.0 {
            ProgramOrigin::Disk(file) => settings::find_settings(file, without_project),
            ProgramOrigin::Store(..) => settings::find_settings(Path::new(""), true),
        }
    }

    /// Whether the run calls a tool, or runs a command, that only the settings of the project have, so that it cannot continue with its
    /// own files.
    pub fn is_needed(&self, stored: &StoredRun) -> bool {
        let ProgramOrigin::Store(_, file) = &self.0 else { return false };
        let (without, with) = (self.settings(false).settings, settings::find_settings(file, false).settings);
        let starts = with.commands && !without.commands;
        let from = AnswersFrom::of_stored(&stored.current_start().answers);
        let (without, with) = (tools_of(without, &from), tools_of(with, &from));
        let program = &stored.flow.loaded_target().program;
        for (_, id) in walk::reachable_steps(program, program.entry) {
            let is_needed = match &program.steps[id].kind {
                StepKind::Tool(call) if call.kind == ToolKind::Python => starts,
                StepKind::Tool(call) => {
                    !without.offers_tool(&call.name, &call.kind) && with.offers_tool(&call.name, &call.kind)
                }
                StepKind::Command(_) => starts,
                _ => false,
            };
            if is_needed {
                return true;
            }
        }
        false
    }

    /// Whether the files of the run belong to the project around a folder.
    pub fn is_around(&self, folder: &Path) -> bool {
        let ProgramOrigin::Disk(file) = &self.0 else { return false };
        let project = settings::project_file(file);
        project.is_some() && project == settings::project_file(folder)
    }

    /// Why the settings of the project that the store names do not apply. `None` also if it names none.
    pub fn why_not(&self) -> Option<&str> {
        match &self.0 {
            ProgramOrigin::Disk(_) => None,
            ProgramOrigin::Store(_, file) if settings::project_file(file).is_none() => None,
            ProgramOrigin::Store(why, _) => Some(why),
        }
    }
}

/// The file of the entry on this disk, if all files of the run are there as they are stored; else why not.
async fn entry_file(
    store: &dyn Store,
    stored: &StoredRun,
    here: Option<&Path>,
) -> Result<std::result::Result<PathBuf, String>> {
    let why = match &stored.origin {
        FileOrigin::Disk(file) => return Ok(Ok(file.clone())),
        FileOrigin::Store { why, .. } => why.clone(),
    };
    let Some(here) = here else { return Ok(Err(why)) };
    let RunStart { run, program, .. } = &stored.started;
    Ok(found_in(here, store, run, program).await?.ok_or(why))
}
