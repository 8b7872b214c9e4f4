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
            let (Some(file), Some(span)) = (d.file, d.span) else { continue };
            let at = Location::new(file, span);
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
        let mut names = mistakes.names.clone();
        let mut errors = Vec::new();
        for read in reads {
            let Some(is_error) = is_error(read) else { continue };
            names.push(read.at);
            if is_error {
                errors.push(read.at);
            }
        }
        for name in names {
            gaps.names.entry(name.file).or_default().push(name.span);
        }
        let mut unmeant = unmeant(program, &mistakes.missing);
        unmeant.extend(&errors);
        if mistakes.places.is_empty() && unmeant.is_empty() {
            return gaps;
        }
        gaps.files = mistakes.files.clone();
        for error in errors {
            gaps.files.insert(error.file);
        }
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
        match file {
            Some(file) => self.files.contains(&file),
            None => !self.files.is_empty(),
        }
    }

    /// Whether there is a mistake in the smallest declaration around a place, or in any declaration inside it.
    pub fn affects_location(&self, at: Location) -> bool {
        let Some(all) = self.declared.get(&at.file) else { return self.affects_file(Some(at.file)) };
        let Some((around, _)) = smallest(all, at.span) else { return self.affects_file(Some(at.file)) };
        all.iter().any(|(span, mistaken)| *mistaken && contains(*around, *span))
    }

    /// Whether a place is in a wrong name, so that the intended value is unknown.
    pub fn has_wrong_name(&self, at: Location) -> bool {
        let Some(names) = self.names.get(&at.file) else { return false };
        names.iter().any(|name| contains(*name, at.span))
    }

    fn around(&mut self, at: Location) -> Option<&mut (Span, bool)> {
        let all = self.declared.entry(at.file).or_default();
        let extent = match smallest(all, at.span) {
            Some((span, _)) => *span,
            None => {
                let whole_file = Span::new(0, u32::MAX);
                all.push((whole_file, false));
                whole_file
            }
        };
        all.iter_mut().find(|(span, _)| *span == extent)
    }
}

/// Whether a read that never has a value prevents the run; `None`: it has a value.
fn is_error(read: &ValueRead<'_>) -> Option<bool> {
    match read.source {
        Source::Missing(_, BindingFault::Late { .. }) => Some(true),
        Source::Missing(_, BindingFault::Beyond(beyond)) => {
            let has_default = matches!(read.reference, Some(reference) if reference.default.is_some());
            Some(beyond.refused && !has_default)
        }
        _ => None,
    }
}

/// The missing keys that affect when a transition is taken.
fn unmeant(program: &Program, missing: &[Location]) -> Vec<Location> {
    if missing.is_empty() {
        return Vec::new();
    }
    let mut places: HashMap<FileId, Vec<Span>> = HashMap::default();
    for step in &program.steps {
        let StepKind::StateMachine(machine) = &step.kind else { continue };
        for state in &machine.states {
            for transition in &state.transitions {
                places.entry(transition.origin.file).or_default().push(transition.origin.span);
            }
        }
    }
    let mut unmeant = Vec::new();
    for at in missing {
        if let Some(transitions) = places.get(&at.file)
            && transitions.iter().any(|transition| contains(*transition, at.span))
        {
            unmeant.push(*at);
        }
    }
    unmeant
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// The smallest of these spans around a place.
fn smallest(all: &[(Span, bool)], at: Span) -> Option<&(Span, bool)> {
    all.iter().filter(|(span, _)| contains(*span, at)).min_by_key(|(span, _)| span.end - span.start)
}
