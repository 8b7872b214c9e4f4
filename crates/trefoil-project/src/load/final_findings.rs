//! Determines the final findings: applies comments in manifests, then the levels of the project and of the caller.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::gitignore::Gitignore;
use trefoil_check::{
    Levels, ProjectDeclarations, Rule, RuleGroup, RunCostLimits, SuppressionComments, find_rule, suppress,
};
use trefoil_ir::Program;
use trefoil_machine::Flags;
use trefoil_syntax::{Diagnostic, DiagnosticList, FileId, SourceFile, yaml};

use trefoil_template::Value;

use super::compilation::{files_of, is_in_one_of};
use super::doubtful_fixes::mark_doubtful_fixes;
use super::file_loader::FileLoader;
use super::lookalike_names;
use super::merged_findings::merge_findings;
use super::project::{self, ProjectFile};
use super::tool_flows::{CallsOfTools, FlowOfTool};
use super::{CheckOptions, LoadOptions};
use crate::patterns::ignore_patterns;
use crate::project_file::{ProjectPath, RULE, find_project, manifest_folder, project_bytes};
use crate::target::LoadTarget;
use crate::tool_interface::FlowToolInterface;
use trefoil_view::plan::called_flows::{self, CalledFlow};

/// Days since 1970-01-01 UTC, for list prices.
fn today() -> u64 {
    match std::time::SystemTime::UNIX_EPOCH.elapsed() {
        Ok(since) => since.as_secs() / 86_400,
        Err(_) => 0,
    }
}

impl FileLoader {
    /// The project file of a file, read once.
    fn project(&mut self, file: FileId) -> Option<Arc<ProjectFile>> {
        if !matches!(&self.options.checks, Some(checks) if !checks.without_project) {
            return None;
        }
        if let Some(known) = self.projects.known_of(file) {
            return known;
        }
        let folder = manifest_folder(&self.options.file_access, Path::new(self.read_files().get(file)?.name()));
        let project = folder.and_then(|folder| self.project_of_folder(folder));
        self.projects.remember_of(file, project.clone());
        project
    }
    /// The project file of a real folder.
    fn project_of_folder(&mut self, folder: PathBuf) -> Option<Arc<ProjectFile>> {
        if let Some(known) = self.projects.cached_project(&folder) {
            return known;
        }
        let Some(found) = find_project(&self.options.file_access, &folder) else {
            self.projects.cache_project(folder, None);
            return None;
        };
        // Two folders may have the same project file.
        let owner = found.path.parent();
        if let Some(owner) = owner
            && *owner != folder
            && let Some(known) = self.projects.cached_project(owner)
        {
            self.projects.cache_project(folder, known.clone());
            return known;
        }
        let project = Some(Arc::new(self.read_project(&found)));
        if let Some(owner) = owner {
            self.projects.cache_project(owner.to_owned(), project.clone());
        }
        self.projects.cache_project(folder, project.clone());
        project
    }
    /// The exclusions in the project file of a real folder, if project files are used.
    pub fn excluded_patterns(&mut self, folder: &Path) -> Option<Gitignore> {
        if matches!(&self.options.checks, Some(checks) if checks.without_project) {
            return None;
        }
        let owner = find_project(&self.options.file_access, folder)?.path.parent()?.to_owned();
        let project = self.project_of_folder(folder.to_owned())?;
        ignore_patterns(&owner, project.exclude.iter().map(String::as_str))
    }
    fn read_project(&mut self, found: &ProjectPath) -> ProjectFile {
        let mut findings = Vec::new();
        let project = match project_bytes(&self.options.file_access, &found.path) {
            Ok(bytes) => {
                let file = SourceFile::from_bytes(found.name.clone(), bytes);
                let id = self.add_file(file.clone());
                if file.not_utf8().is_some() {
                    findings.push(Diagnostic::without_location(
                        RULE,
                        trefoil_syntax::FindingSeverity::Error,
                        Some(id),
                        "the project file is not UTF-8 text",
                    ));
                }
                let folder = found.path.parent().unwrap_or(Path::new(""));
                let mut project = project::read_project_file(id, folder, &file, &mut findings);
                // A check must not trust it, so it may only name files in its own folder.
                let allowed_folders = self.options.file_access.allowed_folders([folder.to_owned()]);
                for tool in &mut project.supplied.tools {
                    if let Some(flow) = &tool.flow
                        && allowed_folders
                            .check_file(&LoadTarget::parse_at(&self.options.file_access, flow).path)
                            .is_err()
                    {
                        tool.flow = None;
                    }
                }
                project
            }
            Err(why) => {
                let id = self.add_file(SourceFile::new(found.name.clone(), ""));
                let message = format!("`{}` cannot be read: {}", found.name, why.reason_text());
                let error = trefoil_syntax::FindingSeverity::Error;
                findings.push(Diagnostic::without_location(RULE, error, Some(id), message));
                ProjectFile::default()
            }
        };
        self.project_findings.extend(findings);
        project
    }
    /// The limits for a run of a file's program.
    pub fn run_limits(&mut self, file: FileId) -> RunCostLimits {
        let of_project = match self.project(file) {
            Some(project) => project.limits,
            None => RunCostLimits::default(),
        };
        let asked = match &self.options.checks {
            Some(checks) => checks.limits,
            None => RunCostLimits::default(),
        };
        RunCostLimits {
            max_calls: asked.max_calls.or(of_project.max_calls),
            max_cost: asked.max_cost.or(of_project.max_cost),
        }
    }
    /// What a file's project and the user's own settings declare, once for all files of the project.
    pub fn supplied_declarations(&mut self, file: FileId) -> Arc<ProjectDeclarations> {
        let project = self.project(file);
        let owner = project.as_ref().map(|project| Arc::as_ptr(project).addr());
        if let Some(known) = self.supplied_by_project.get(&owner) {
            return known.clone();
        }
        let supplied = Arc::new(self.supplied_by(project.as_deref()));
        self.supplied_by_project.insert(owner, supplied.clone());
        supplied
    }
    fn supplied_by(&mut self, project: Option<&ProjectFile>) -> ProjectDeclarations {
        let mut supplied = match project {
            Some(project) => project.supplied.clone(),
            None => ProjectDeclarations::default(),
        };
        // If two have the same name, a run uses that of the project.
        supplied.add_declarations(&self.options.supplied);
        supplied.prices.day = Some(today());
        let mut flows = Vec::new();
        let declared = supplied.clone();
        for tool in &mut supplied.tools {
            let Some(flow) = &tool.flow else { continue };
            if let Some(seen) = self.flow_of_tool(flow) {
                tool.parameters = Some(seen.parameters.clone());
                tool.result = seen.result.clone();
                tool.writes =
                    trefoil_check::semantic::effects::flow_writes(&seen.program, seen.program.entry, &declared);
            }
            flows.push((tool.name.clone(), flow.clone()));
        }
        if flows.is_empty() {
            return supplied;
        }
        let calls = self.calls_of(flows);
        for tool in &mut supplied.tools {
            tool.calls = calls.get(&*tool.name).cloned();
        }
        supplied
    }
    /// The model providers declared by the projects of these files and by the user's own settings.
    pub fn provider_names(&mut self, files: impl Iterator<Item = FileId>) -> Vec<String> {
        let mut all = self.options.supplied.providers.clone();
        for file in files {
            let Some(project) = self.project(file) else { continue };
            for name in &project.supplied.providers {
                if !all.contains(name) {
                    all.push(name.clone());
                }
            }
        }
        all
    }
    /// The names that mean an MCP server among the tools of a file's agents. A name that another declared tool has means that
    /// one.
    pub fn server_names(&mut self, file: FileId) -> BTreeSet<String> {
        if let Some(servers) = &self.options.servers {
            return servers.clone();
        }
        let project = self.project(file);
        let mut declarations = vec![&self.options.supplied];
        if let Some(project) = &project {
            declarations.push(&project.supplied);
        }
        let mut names = BTreeSet::new();
        for declared in &declarations {
            names.extend(declared.servers.iter().map(|server| server.name.clone()));
        }
        for declared in &declarations {
            for tool in &declared.tools {
                names.remove(&tool.name);
            }
        }
        names
    }
    /// What one call of each of these tools does, which are flows: names and files.
    fn calls_of(&mut self, flows: Vec<(String, String)>) -> Arc<CallsOfTools> {
        if let Some(known) = self.calls_of_tools.get(&flows) {
            return known.clone();
        }
        let mut called = Vec::new();
        for (name, flow) in &flows {
            let Some(seen) = self.flow_of_tool(flow) else { continue };
            let (program, files) = (seen.program.clone(), seen.files.clone());
            called.push(CalledFlow { tool: name.as_str().into(), program, files, money: Flags::default() });
        }
        let calls = Arc::new(called_flows::calls_per_flow(&called));
        self.calls_of_tools.insert(flows, calls.clone());
        calls
    }
    /// The flow of a tool; none: it does not load.
    fn flow_of_tool(&mut self, flow: &str) -> Option<Arc<FlowOfTool>> {
        if let Some(known) = self.flows_of_tools.get(flow) {
            return known.clone();
        }
        let LoadOptions { file_access, allowed, overlay, cache, limits, .. } = self.options.clone();
        let target = LoadTarget::parse_at(&file_access, flow);
        let options = LoadOptions { file_access, allowed, overlay, cache, limits, ..LoadOptions::default() };
        let seen = match super::load_target(&target, &options) {
            Ok(loaded) => {
                let (program, files) = (loaded.program.clone(), loaded.files.clone());
                let parameters = FlowToolInterface::new(&program, &files, loaded.about.as_deref()).parameters;
                let parameters = Value::from_json(serde_json::Value::Object(parameters));
                let result = Some(trefoil_check::semantic::ProgramTypes::returned_by(&program));
                Some(Arc::new(FlowOfTool { parameters, result, program, files }))
            }
            Err(_) => None,
        };
        self.flows_of_tools.insert(flow.to_owned(), seen.clone());
        seen
    }
    /// Whether a finding of a rule could be shown for a program, as far as that is easy to determine. Unused
    /// suppressions are reported, which requires that the rule runs, and other folders may have other levels.
    pub fn rule_visibility(&mut self, file: Option<FileId>, program: &Program) -> impl Fn(&Rule) -> bool + use<> {
        let files = self.read_files();
        let folder_of = |file: FileId| Some(Path::new(files.get(file)?.name()).parent());
        let folder = file.and_then(folder_of);
        let here = program.file_ids().iter().all(|file| folder_of(*file) == folder);
        let speaks = !here || self.has_suppressions();
        self.shown_if(file, speaks)
    }
    /// The same for a single file; `speaks`: whether it has a suppression.
    pub fn shown_in(&mut self, file: FileId, speaks: bool) -> impl Fn(&Rule) -> bool + use<> {
        self.shown_if(Some(file), speaks)
    }
    fn shown_if(&mut self, file: Option<FileId>, speaks: bool) -> impl Fn(&Rule) -> bool + use<> {
        let levels = match self.options.checks.clone() {
            Some(checks) if !speaks => Some(self.levels(&checks, file)),
            _ => None,
        };
        move |rule| match &levels {
            Some(levels) => levels.can_report(rule),
            None => true,
        }
    }
    /// The findings that are shown, by file and place. `entries` are the files that were checked themselves, and
    /// whether each was fully checked: only then are its unused suppressions reported.
    pub fn settle_findings(&mut self, found: DiagnosticList, entries: &BTreeMap<FileId, bool>) -> Vec<Diagnostic> {
        let mut found = without_echoes(found.into_sorted());
        let Some(checks) = self.options.checks.clone() else {
            found.retain(|d| !matches!(find_rule(d.rule), Some(rule) if rule.level.is_none()));
            lookalike_names::name_strangers(&mut found, self.read_files());
            return found;
        };
        let mut comments = self.comment_suppressions();
        // The caller's levels take precedence; a suppression that would cover such a finding counts as used.
        let covered = |d: &Diagnostic, comments: &mut HashMap<FileId, SuppressionComments>| {
            is_covered(comments, d) && !checks.levels.is_requested(d)
        };
        // A suppression applies where a name is read as well as where it is declared, if the finding is moved there.
        found.retain(|d| !covered(d, &mut comments));
        mark_doubtful_fixes(&mut found, self.read_files());
        lookalike_names::name_strangers(&mut found, self.read_files());
        found.retain(|d| !covered(d, &mut comments));
        let mut kept = DiagnosticList::default();
        kept.extend(found);
        for (file, proved) in entries {
            let limited = self.run_limits(*file).max_calls.is_some();
            let Some(of_file) = comments.get(file) else { continue };
            // A rule about limits does not run if no limit is set.
            let active = |name: &str| {
                *proved
                    && !suppress::is_about_suppressions(name)
                    && (limited || !matches!(find_rule(name), Some(rule) if rule.group == RuleGroup::Cost))
            };
            for about_comment in of_file.comment_findings(active) {
                if !covered(&about_comment, &mut comments) {
                    kept.push(about_comment);
                }
            }
        }
        let mut all = DiagnosticList::default();
        all.extend(self.apply_levels(&checks, kept.into_sorted()));
        let about_projects = std::mem::take(&mut self.project_findings);
        all.extend(self.apply_levels(&checks, about_projects));
        let all = all.into_sorted();
        // An editor marks every place.
        if self.options.scopes { all } else { merge_findings(all) }
    }
    /// The comments that suppress findings, by file; none if they are ignored.
    pub fn comment_suppressions(&mut self) -> HashMap<FileId, SuppressionComments> {
        match &self.options.checks {
            Some(checks) if !checks.without_comments => self.manifest_suppressions(),
            _ => HashMap::new(),
        }
    }
    /// Whether a finding will be shown: neither a comment nor a level hides it.
    pub fn is_reported(&mut self, comments: &mut HashMap<FileId, SuppressionComments>, d: &Diagnostic) -> bool {
        if trefoil_check::keeps_from_loading(d) {
            return true;
        }
        let Some(checks) = self.options.checks.clone() else { return true };
        let covered = is_covered(comments, d);
        (!covered || checks.levels.is_requested(d)) && self.levels(&checks, d.file).apply_level(d.clone()).is_some()
    }
    /// Whether a finding prevents a run.
    pub fn prevents_run(&mut self, comments: &mut HashMap<FileId, SuppressionComments>, d: &Diagnostic) -> bool {
        if trefoil_check::keeps_from_loading(d) {
            return true;
        }
        let Some(checks) = self.options.checks.clone() else { return false };
        let Some(levelled) = self.levels(&checks, d.file).apply_level(d.clone()) else { return false };
        levelled.severity == trefoil_syntax::FindingSeverity::Error && self.is_reported(comments, d)
    }
    /// Applies the levels, which are computed once for each file.
    fn apply_levels(&mut self, checks: &CheckOptions, found: impl IntoIterator<Item = Diagnostic>) -> Vec<Diagnostic> {
        let mut known: HashMap<Option<FileId>, Levels> = HashMap::new();
        let mut levelled = Vec::new();
        for d in found {
            let levels = known.entry(d.file).or_insert_with(|| self.levels(checks, d.file));
            levelled.extend(levels.apply_level(d));
        }
        levelled
    }
    fn levels(&mut self, checks: &CheckOptions, file: Option<FileId>) -> Levels {
        match file.and_then(|file| self.project(file)) {
            Some(project) => checks.levels.with_fallback(&project.levels),
            None => checks.levels.clone(),
        }
    }
}

/// Whether a comment suppresses a finding; it counts as used then.
fn is_covered(comments: &mut HashMap<FileId, SuppressionComments>, d: &Diagnostic) -> bool {
    let Some(file) = d.file else { return false };
    let Some(of_file) = comments.get_mut(&file) else { return false };
    of_file.covers_finding(d)
}

/// Removes findings caused by a mistake in the YAML: what follows an open quote is not missing.
fn without_echoes(mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let broken = files_of(&found, |d| d.rule == yaml::rules::SYNTAX);
    found.retain(|d| d.rule != "missing-key" || !is_in_one_of(d, &broken));
    found
}
