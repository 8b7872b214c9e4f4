//! What was made of the documents of a folder: programs with many entries, what there is to say about them, and which files
//! were proved to be sound.

use std::collections::{BTreeSet, HashMap, HashSet};

use trefoil_check::{Group, Root, Rule};
use trefoil_ir::{Callee, Facts, FlowId, Program, StepKind, walk};
use trefoil_syntax::{Diagnostic, FileId};

use super::read::Loader;

/// Documents that were compiled, with what they lead to.
#[derive(Default)]
pub(super) struct Made {
    /// The programs, one a dialect. Those of files with mistakes are drafts.
    pub programs: Vec<Linked>,
    /// The findings in every file that was touched.
    pub findings: Vec<Diagnostic>,
    /// What was learned about names.
    pub facts: Facts,
    /// The files that the entries lead to.
    pub touched: BTreeSet<FileId>,
    /// Files with a mistake that keeps a program from being made, and those that call them.
    pub broken: HashSet<FileId>,
    /// Files that could not be read to their end, and those that call them.
    pub cut: HashSet<FileId>,
    /// Something was not found that another file may have.
    pub seeks: bool,
}

/// A program that a run may start at several flows.
pub(super) struct Linked {
    /// The program.
    pub program: Program,
    /// The flow of each entry, by its file.
    pub entries: Vec<(FileId, FlowId)>,
    /// Environment files, as project paths.
    pub env_files: Vec<String>,
}

impl Made {
    /// With what the rules say about the programs, if they are asked.
    pub fn proved(mut self, loader: &mut Loader) -> Self {
        if loader.options.checks.is_none() {
            return self;
        }
        let mistakes = trefoil_check::mistakes(&self.findings, self.doubtful().into_iter().collect());
        let mut found = Vec::new();
        for Linked { program, entries, .. } in &self.programs {
            let roots = entries.iter().map(|(file, flow)| Root {
                flow: *flow,
                limits: loader.limits(*file),
                supplied: loader.supplied(*file),
            });
            let roots: Vec<Root> = roots.collect();
            let shown = loader.shown(entries.first().map(|(file, _)| *file), program);
            let files = program.files();
            let wanted = |rule: &Rule| shown(rule) && files.iter().any(|file| self.is_looked_at(*file, rule));
            found.extend(trefoil_check::check_for(program, &self.facts, &mistakes, &roots, &wanted));
        }
        let looked_at = |d: &Diagnostic| {
            d.file.zip(trefoil_check::rule(d.rule)).is_none_or(|(file, rule)| self.is_looked_at(file, rule))
        };
        found.retain(looked_at);
        self.findings.extend(found);
        self
    }
    /// Whether a rule looks at a file. Mistakes do not keep it from that: whoever fixes one should not learn of the next one
    /// only then. Of what could not be read to its end only what is dangerous is told.
    fn is_looked_at(&self, file: FileId, rule: &Rule) -> bool {
        rule.group == Group::Safety || !self.cut.contains(&file)
    }
    /// Whether everything that can be found in a file was looked for: nothing kept it, or what it calls, from loading.
    pub fn is_proved(&self, file: FileId) -> bool {
        !self.broken.contains(&file)
    }
    /// Whether other manifests of the folder could make a difference: something was not found, or is found by a name that
    /// only the run knows.
    pub fn needs_the_folder(&self) -> bool {
        let by_name = |program: &Program| {
            !program.missing_agents.is_empty()
                || program
                    .steps
                    .iter()
                    .any(|s| matches!(&s.kind, StepKind::Call(call) if matches!(call.callee, Callee::Named { .. })))
        };
        self.seeks || self.programs.iter().any(|linked| by_name(&linked.program))
    }
    /// Calls from one file to another: who calls, whom.
    pub fn calls(&self) -> impl Iterator<Item = (FileId, FileId)> {
        self.programs.iter().flat_map(|linked| linked.calls())
    }
    /// Files of which the whole is not known: those with a mistake, what calls them, and what only they call.
    fn doubtful(&self) -> HashSet<FileId> {
        let entries: HashSet<FileId> =
            self.programs.iter().flat_map(|linked| &linked.entries).map(|(file, _)| *file).collect();
        spread(self.broken.clone(), self.calls().filter(|(_, to)| !entries.contains(to)))
    }
    /// These files, and all that lead to one of them.
    pub fn callers_of(&self, files: HashSet<FileId>) -> HashSet<FileId> {
        spread(files, self.calls().map(|(from, to)| (to, from)))
    }
}

/// Files, and all that ways from one to another lead to.
fn spread(mut files: HashSet<FileId>, ways: impl Iterator<Item = (FileId, FileId)>) -> HashSet<FileId> {
    let mut on: HashMap<FileId, Vec<FileId>> = HashMap::new();
    ways.for_each(|(from, to)| on.entry(from).or_default().push(to));
    let mut next: Vec<FileId> = files.iter().copied().collect();
    while let Some(file) = next.pop() {
        let more = on.get(&file).into_iter().flatten().copied();
        next.extend(more.filter(|to| files.insert(*to)));
    }
    files
}

impl Linked {
    fn calls(&self) -> impl Iterator<Item = (FileId, FileId)> {
        let file = |flow: FlowId| self.program.flow(flow).map(|f| f.origin.file);
        let flows = (0..self.program.flows.len() as u32).map(FlowId);
        flows
            .flat_map(|flow| walk::called_by(&self.program, flow).into_iter().map(move |callee| (flow, callee)))
            .filter_map(move |(from, to)| Some((file(from)?, file(to)?)))
            .filter(|(from, to)| from != to)
    }
}
