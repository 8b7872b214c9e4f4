//! The result of compiling the documents of a folder: programs with several entries, their findings, and which files
//! were fully checked.

use std::collections::{BTreeSet, HashMap, HashSet};

use trefoil_check::{CheckRoot, Rule, RuleGroup};
use trefoil_ir::{Facts, FlowCallee, FlowId, Program, StepKind, walk};
use trefoil_syntax::{Diagnostic, FileId};

use super::file_loader::FileLoader;

/// Compiled documents, with everything that they reach.
#[derive(Default)]
pub(super) struct CompiledDocuments {
    /// The programs, one for each dialect. Programs of files with errors are drafts.
    pub programs: Vec<LinkedProgram>,
    /// The same of the files as they were probably meant, and the findings about what is misspelt; `None`: nothing is.
    pub meant: Option<Box<(Self, Vec<Diagnostic>)>>,
    /// The findings in all files that were used.
    pub findings: Vec<Diagnostic>,
    /// The facts about names.
    pub facts: Facts,
    /// The files that can be reached from the entries.
    pub touched: BTreeSet<FileId>,
    /// Files with errors that prevent a program, and the files that call them.
    pub broken: HashSet<FileId>,
    /// Files that could not be read completely, and the files that call them.
    pub cut: HashSet<FileId>,
    /// Whether a name was not found that another file may declare.
    pub seeks: bool,
}

/// A program that may be started at several flows.
pub(super) struct LinkedProgram {
    /// The program.
    pub program: Program,
    /// The flow of each entry, by its file.
    pub entries: Vec<(FileId, FlowId)>,
    /// Environment files, as project paths.
    pub env_files: Vec<String>,
}

impl CompiledDocuments {
    /// Adds the findings of the rules about the programs, if checks are enabled.
    pub fn with_rule_findings(mut self, loader: &mut FileLoader) -> Self {
        let meant = self.meant.take();
        let written = self.apply_rules(loader);
        let Some(meant) = meant else { return written };
        let (meant, word_findings) = *meant;
        let meant = meant.apply_rules(loader);
        let mut comments = loader.comment_suppressions();
        written.of_meant(meant, word_findings, |d| loader.prevents_run(&mut comments, d))
    }
    /// Adds the findings of the rules about the programs as they are.
    fn apply_rules(mut self, loader: &mut FileLoader) -> Self {
        if loader.options.checks.is_none() {
            return self;
        }
        let mistakes = trefoil_check::collect_load_errors(&self.findings, self.doubtful().into_iter().collect());
        let mut found = Vec::new();
        for LinkedProgram { program, entries, .. } in &self.programs {
            let mut roots = Vec::new();
            for (file, flow) in entries {
                let (limits, supplied) = (loader.run_limits(*file), loader.supplied_declarations(*file));
                roots.push(CheckRoot { flow: *flow, limits, supplied });
            }
            let shown = loader.rule_visibility(entries.first().map(|(file, _)| *file), program);
            let files = program.file_ids();
            let wanted = |rule: &Rule| shown(rule) && files.iter().any(|file| self.is_looked_at(*file, rule));
            found.extend(trefoil_check::check_for(program, &self.facts, &mistakes, &roots, &wanted));
        }
        found.retain(|d| match (d.file, trefoil_check::find_rule(d.rule)) {
            (Some(file), Some(rule)) => self.is_looked_at(file, rule),
            _ => true,
        });
        self.findings.extend(found);
        self
    }
    /// Whether a rule checks a file. Load errors do not prevent it, so that users see all mistakes at once. In a file
    /// that could not be read completely, only dangerous mistakes are reported.
    fn is_looked_at(&self, file: FileId, rule: &Rule) -> bool {
        rule.group == RuleGroup::Safety || !self.cut.contains(&file)
    }
    /// Whether a file was fully checked: nothing prevented it, or what it calls, from loading.
    pub fn is_proved(&self, file: FileId) -> bool {
        !self.broken.contains(&file)
    }
    /// Whether other manifests of the folder could make a difference: a name was not found, or a callee is known only
    /// at run time.
    pub fn needs_the_folder(&self) -> bool {
        self.seeks || self.programs.iter().any(|linked| calls_by_name(&linked.program))
    }
    /// Calls from one file to another: caller and callee.
    pub fn file_calls(&self) -> impl Iterator<Item = (FileId, FileId)> {
        self.programs.iter().flat_map(|linked| linked.calls())
    }
    /// Files that are not fully known: those with errors, their callers, and what only those call.
    fn doubtful(&self) -> HashSet<FileId> {
        let mut entries = HashSet::new();
        for linked in &self.programs {
            entries.extend(linked.entries.iter().map(|(file, _)| *file));
        }
        spread_to_reachable(self.broken.clone(), self.file_calls().filter(|(_, to)| !entries.contains(to)))
    }
    /// These files, and all files from which one of them can be reached.
    pub fn callers_of(&self, files: HashSet<FileId>) -> HashSet<FileId> {
        spread_to_reachable(files, self.file_calls().map(|(from, to)| (to, from)))
    }
}

/// Whether a program calls an agent that is known only by its name.
fn calls_by_name(program: &Program) -> bool {
    let is_by_name = |kind: &StepKind| match kind {
        StepKind::Call(call) => matches!(call.callee, FlowCallee::Named { .. }),
        _ => false,
    };
    !program.missing_agents.is_empty() || program.steps.iter().any(|step| is_by_name(&step.kind))
}

/// The files of the findings for which something holds.
pub(super) fn files_of(findings: &[Diagnostic], mut holds: impl FnMut(&Diagnostic) -> bool) -> HashSet<FileId> {
    let mut files = HashSet::new();
    for d in findings {
        if holds(d) {
            files.extend(d.file);
        }
    }
    files
}

/// Whether a finding is in one of these files.
pub(super) fn is_in_one_of(d: &Diagnostic, files: &HashSet<FileId>) -> bool {
    matches!(d.file, Some(file) if files.contains(&file))
}

/// These files, and all files that can be reached from them.
pub(super) fn spread_to_reachable(
    mut files: HashSet<FileId>,
    ways: impl Iterator<Item = (FileId, FileId)>,
) -> HashSet<FileId> {
    if files.is_empty() {
        return files;
    }
    let mut targets: HashMap<FileId, Vec<FileId>> = HashMap::new();
    for (from, to) in ways {
        targets.entry(from).or_default().push(to);
    }
    let mut next: Vec<FileId> = files.iter().copied().collect();
    while let Some(file) = next.pop() {
        let Some(reached) = targets.get(&file) else { continue };
        for to in reached {
            if files.insert(*to) {
                next.push(*to);
            }
        }
    }
    files
}

impl LinkedProgram {
    fn calls(&self) -> Vec<(FileId, FileId)> {
        let file_of = |flow: FlowId| self.program.flows[flow].origin.file;
        let mut calls = Vec::new();
        for caller in self.program.flows.element_ids() {
            let from = file_of(caller);
            for callee in walk::called_by(&self.program, caller) {
                let to = file_of(callee);
                if from != to {
                    calls.push((from, to));
                }
            }
        }
        calls
    }
}
