//! What becomes of findings: comments in the manifests, then the levels of the project and of whoever asks.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use trefoil_check::{Group, Levels, Limits, Suppressions, rule, suppress};
use trefoil_syntax::{Diagnostic, Diagnostics, FileId, SourceFile};

use super::Checks;
use super::project::{self, ProjectFile};
use super::read::Loader;

impl Loader {
    /// The project file of a file, read once.
    fn project(&mut self, file: FileId) -> Option<Arc<ProjectFile>> {
        if self.options.checks.as_ref().is_none_or(|c| c.without_project) {
            return None;
        }
        let folder = project::folder(&PathBuf::from(self.files().get(file)?.name()))?;
        if let Some(known) = self.projects.known(&folder) {
            return known;
        }
        let found = project::find(&folder);
        // Two folders may have one project file.
        let owner = found.as_ref().and_then(|f| f.path.parent()).map(PathBuf::from);
        if let Some(owner) = owner.filter(|owner| *owner != folder)
            && let Some(known) = self.projects.known(&owner)
        {
            self.projects.remember(folder, known.clone());
            return known;
        }
        let project = found.as_ref().map(|found| Arc::new(self.read_project(found)));
        if let Some(owner) = found.as_ref().and_then(|f| f.path.parent()) {
            self.projects.remember(owner.to_owned(), project.clone());
        }
        self.projects.remember(folder, project.clone());
        project
    }
    fn read_project(&mut self, found: &project::Found) -> ProjectFile {
        let mut findings = Vec::new();
        let project = match self.text(&found.path) {
            Ok(text) => {
                let not_utf8 = text.not_utf8().is_some();
                let file = SourceFile::new(found.name.clone(), text.text().clone());
                let id = self.add(file.clone());
                if not_utf8 {
                    findings.push(Diagnostic::nowhere(
                        project::RULE,
                        trefoil_syntax::Severity::Error,
                        Some(id),
                        "the project file is not UTF-8 text",
                    ));
                }
                project::read(id, &file, &mut findings)
            }
            Err(why) => {
                findings.push(Diagnostic { rule: project::RULE, ..why });
                ProjectFile::default()
            }
        };
        self.project_findings.extend(findings);
        project
    }
    /// What a run of a file's program may cost.
    pub fn limits(&mut self, file: FileId) -> Limits {
        let project = self.project(file);
        let asked = self.options.checks.as_ref().map(|c| c.limits).unwrap_or_default();
        Limits { max_calls: asked.max_calls.or(project.and_then(|p| p.limits.max_calls)) }
    }
    /// The findings that are shown, by file and place. `entries` are the files that were checked themselves, and whether
    /// everything was looked for in them: where it was, a comment that covers nothing is reported.
    pub fn settle(&mut self, found: Diagnostics, entries: &BTreeMap<FileId, bool>) -> Vec<Diagnostic> {
        let Some(checks) = self.options.checks.clone() else { return found.into_sorted() };
        let mut comments: HashMap<FileId, Suppressions> = self.suppressions();
        let mut kept = Diagnostics::default();
        let mut keep = |d: Diagnostic, comments: &mut HashMap<FileId, Suppressions>| {
            let covered = d.file.and_then(|file| comments.get_mut(&file)).is_some_and(|c| c.covers(&d));
            if !covered {
                kept.push(d);
            }
        };
        found.into_sorted().into_iter().for_each(|d| keep(d, &mut comments));
        for (file, proved) in entries {
            let limited = self.limits(*file).max_calls.is_some();
            let Some(of_file) = comments.get(file) else { continue };
            // A rule about limits finds nothing where nobody sets one.
            let active = |name: &str| {
                *proved
                    && !suppress::is_about_suppressions(name)
                    && (limited || rule(name).is_none_or(|r| r.group != Group::Cost))
            };
            of_file.findings(active).into_iter().for_each(|d| keep(d, &mut comments));
        }
        let levelled: Vec<Diagnostic> =
            kept.into_sorted().into_iter().filter_map(|d| self.levels(&checks, d.file).apply(d)).collect();
        let mut all = Diagnostics::default();
        all.extend(levelled);
        let about_projects = std::mem::take(&mut self.project_findings);
        all.extend(about_projects.into_iter().filter_map(|d| self.levels(&checks, d.file).apply(d)));
        all.into_sorted()
    }
    fn levels(&mut self, checks: &Checks, file: Option<FileId>) -> Levels {
        match file.and_then(|file| self.project(file)) {
            Some(project) => checks.levels.after(&project.levels),
            None => checks.levels.clone(),
        }
    }
}
