//! The parts of a program that could not be read. Findings that could be caused by them are not reported.

use trefoil_ir::{BindingFault, Facts, Program, Source, StepKind};
use trefoil_syntax::hash::{HashMap, HashSet};
use trefoil_syntax::{Diagnostic, FileId, FindingSeverity, Location, Span};

use super::reads::ValueRead;

/// The load errors of a program.
#[derive(Debug, Default)]
pub struct LoadErrors {
    /// The places of the errors that prevent the program, or parts of it, from running.
    places: Vec<Location>,
    /// The files with such errors, and the files that call them.
    files: HashSet<FileId>,
    /// Names that are not defined as written, or for which another one is suggested.
    names: Vec<Location>,
    /// Places of missing keys whose default is rarely intended.
    missing: Vec<Location>,
}

impl LoadErrors {
    /// The load errors among these findings; `files` are those that cannot run because of them, including their
    /// callers. `about_names`: whether a rule is about names.
    pub fn from_findings(found: &[Diagnostic], files: HashSet<FileId>, about_names: impl Fn(&str) -> bool) -> Self {
        let mut mistakes = Self { files, ..Self::default() };
        for d in found {
            let Some(at) = d.file.zip(d.span).map(|(file, span)| Location::new(file, span)) else { continue };
            let error = d.severity == FindingSeverity::Error;
            let named = about_names(d.rule);
            if error {
                mistakes.places.push(at);
            }
            if named && (error || d.severity == FindingSeverity::Warning && d.fix.is_some()) {
                mistakes.names.push(at);
            }
            if !error && d.rule == "missing-key" {
                mistakes.missing.push(at);
            }
        }
        mistakes
    }
}

/// The places of the mistakes that prevent a program from running.
#[derive(Debug, Default)]
pub struct UnreadParts {
    /// For each file: its declarations, and whether each contains a mistake that is in no smaller declaration.
    declared: HashMap<FileId, Vec<(Span, bool)>>,
    files: HashSet<FileId>,
    /// For each file: the names that are wrong.
    names: HashMap<FileId, Vec<Span>>,
}

impl UnreadParts {
    /// The gaps caused by these mistakes, and by reads that never have a value.
    pub fn from_load_errors(program: &Program, facts: &Facts, mistakes: &LoadErrors, reads: &[ValueRead<'_>]) -> Self {
        let mut gaps = Self::default();
        let lost: Vec<(Location, bool)> = reads.iter().filter_map(|read| Some((read.at, is_error(read)?))).collect();
        for name in mistakes.names.iter().chain(lost.iter().map(|(at, _)| at)) {
            gaps.names.entry(name.file).or_default().push(name.span);
        }
        let mut unmeant = unmeant(program, &mistakes.missing);
        let errors = || lost.iter().filter(|(_, error)| *error).map(|(at, _)| *at);
        unmeant.extend(errors());
        if mistakes.places.is_empty() && unmeant.is_empty() {
            return gaps;
        }
        gaps.files = mistakes.files.iter().copied().chain(errors().map(|at| at.file)).collect();
        for declaration in &facts.declarations {
            gaps.declared.entry(declaration.at.file).or_default().push((declaration.extent, false));
        }
        for at in mistakes.places.iter().chain(&unmeant) {
            if let Some((_, mistaken)) = gaps.around(*at) {
                *mistaken = true;
            }
        }
        gaps
    }

    /// Whether a part of a file, or of its callees, could not be read.
    pub fn affects_file(&self, file: Option<FileId>) -> bool {
        file.map_or(!self.files.is_empty(), |file| self.files.contains(&file))
    }

    /// Whether there is a mistake in the smallest declaration around a place, or in any declaration inside it.
    pub fn affects_location(&self, at: Location) -> bool {
        let Some(all) = self.declared.get(&at.file) else { return self.affects_file(Some(at.file)) };
        let Some((around, _)) = smallest(all, at.span) else { return self.affects_file(Some(at.file)) };
        all.iter().any(|(span, mistaken)| *mistaken && contains(*around, *span))
    }

    /// Whether a place is in a wrong name, so that the intended value is unknown.
    pub fn has_wrong_name(&self, at: Location) -> bool {
        self.names.get(&at.file).is_some_and(|all| all.iter().any(|name| contains(*name, at.span)))
    }

    fn around(&mut self, at: Location) -> Option<&mut (Span, bool)> {
        let all = self.declared.entry(at.file).or_default();
        let extent = smallest(all, at.span).map(|(span, _)| *span);
        if extent.is_none() {
            all.push((Span::new(0, u32::MAX), false));
        }
        let extent = extent.unwrap_or(Span::new(0, u32::MAX));
        all.iter_mut().find(|(span, _)| *span == extent)
    }
}

/// Whether a read that never has a value prevents the run; `None`: it has a value.
fn is_error(read: &ValueRead<'_>) -> Option<bool> {
    match read.source {
        Source::Missing(_, BindingFault::Late { .. }) => Some(true),
        Source::Missing(_, BindingFault::Beyond(beyond)) => {
            Some(beyond.refused && read.reference.is_none_or(|reference| reference.default.is_none()))
        }
        _ => None,
    }
}

/// The missing keys that affect when a transition is taken.
fn unmeant(program: &Program, missing: &[Location]) -> Vec<Location> {
    if missing.is_empty() {
        return Vec::new();
    }
    let machines = program.steps.iter().filter_map(|step| match &step.kind {
        StepKind::StateMachine(machine) => Some(machine),
        _ => None,
    });
    let transitions = machines.flat_map(|machine| &machine.states).flat_map(|state| &state.transitions);
    let mut places: HashMap<FileId, Vec<Span>> = HashMap::default();
    transitions.for_each(|t| places.entry(t.origin.file).or_default().push(t.origin.span));
    let inside = |at: &&Location| {
        places.get(&at.file).is_some_and(|all| all.iter().any(|transition| contains(*transition, at.span)))
    };
    missing.iter().filter(inside).copied().collect()
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// The smallest of these spans around a place.
fn smallest(all: &[(Span, bool)], at: Span) -> Option<&(Span, bool)> {
    all.iter().filter(|(span, _)| contains(*span, at)).min_by_key(|(span, _)| span.end - span.start)
}
