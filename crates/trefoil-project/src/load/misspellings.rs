//! Files with misspelt words of their format, or names of states, nodes and agents, as they were meant. What only follows from such a
//! word is not reported: the word is, and everything else that is wrong with the file. A word that is only guessed is reported and
//! otherwise ignored, and no word stops a run that would start without it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use trefoil_syntax::yaml::WordRespellings;
use trefoil_syntax::{Diagnostic, FileId, FindingSeverity, SourceFiles, Span, suggestions};

use super::compilation::{CompiledDocuments, files_of, is_in_one_of, spread_to_reachable};
use super::file_loader::FileLoader;
use super::lowering::LoadedFolder;

/// How often a file is read with the words that were found so far. A key that is read correctly only now may contain others.
const ROUNDS: usize = 8;

/// The rules about words of the format.
const OF_WORDS: [&str; 2] = ["unknown-key", "unknown-value"];
/// The rule about names of states, nodes and agents. They may be misspelt where they are declared, but what is meant is the same.
const OF_NAMES: &str = "unknown-reference";

/// A misspelt word.
struct MisspelledWord {
    /// The finding about it.
    finding: Diagnostic,
    file: FileId,
    at: Span,
    /// What was probably meant.
    word: Arc<str>,
}

impl LoadedFolder {
    /// Compiles documents as [`LoadedFolder::compile_entries`] does, and as if misspelt words were written correctly.
    pub(super) fn make_as_meant(&self, loader: &mut FileLoader, entries: &[usize]) -> CompiledDocuments {
        let mut made = self.compile_entries(entries);
        let mut misspellings: Vec<MisspelledWord> = Vec::new();
        let mut seen: HashSet<(FileId, Span)> = HashSet::new();
        let mut meant: Option<CompiledDocuments> = None;
        let mut comments = None;
        for _ in 0..ROUNDS {
            let before = misspellings.len();
            let found = &meant.as_ref().unwrap_or(&made).findings;
            let new: Vec<MisspelledWord> =
                found.iter().filter_map(|d| find_misspelling(d, loader.read_files())).collect();
            for misspelling in new {
                // What follows from a finding that nobody sees has to be reported itself.
                let comments = comments.get_or_insert_with(|| loader.comment_suppressions());
                if seen.insert((misspelling.file, misspelling.at)) && loader.is_reported(comments, &misspelling.finding)
                {
                    misspellings.push(misspelling);
                }
            }
            if misspellings.len() == before {
                break;
            }
            let (now, fitting) = self.make_with(loader, entries, &misspellings, &made);
            let all = misspellings.len();
            misspellings.retain(|misspelling| fitting.contains(&(misspelling.file, misspelling.at)));
            meant = match misspellings.len() {
                0 => break,
                left if left == all => Some(now),
                _ => Some(self.make_with(loader, entries, &misspellings, &made).0),
            };
        }
        if let Some(meant) = meant
            && !misspellings.is_empty()
        {
            made.as_meant(meant, misspellings.into_iter().map(|misspelling| misspelling.finding).collect());
        }
        made
    }

    /// Compiles documents with other words. Also returns the places of those that may have been meant: the value of such a key has
    /// the form that the key needs, and such a name leaves no template of its file without a name that it has as it is `written`: a
    /// step may have the name of the agent that it calls.
    fn make_with(
        &self,
        loader: &mut FileLoader,
        entries: &[usize],
        misspellings: &[MisspelledWord],
        written: &CompiledDocuments,
    ) -> (CompiledDocuments, HashSet<(FileId, Span)>) {
        let mut words: HashMap<FileId, WordRespellings> = HashMap::new();
        for misspelling in misspellings {
            words.entry(misspelling.file).or_default().insert(misspelling.at, misspelling.word.clone());
        }
        let made = self.with_respellings(loader, &words).compile_entries(entries);
        let mut mistyped: HashSet<(FileId, Span)> = HashSet::new();
        for d in &made.findings {
            if let (Some(file), Some(span)) = (d.file, d.span)
                && d.rule == "wrong-type"
            {
                mistyped.insert((file, span));
            }
        }
        let mut values: HashMap<(FileId, Span), Span> = HashMap::new();
        for (file, words) in &words {
            let Some(document) = self.document_of_file(*file) else { continue };
            for (key, value) in document.root.values_of(words) {
                values.insert((*file, key), value);
            }
        }
        let mut fitting = HashSet::new();
        for misspelling in misspellings {
            let place = (misspelling.file, misspelling.at);
            let is_mistyped =
                matches!(values.get(&place), Some(value) if mistyped.contains(&(misspelling.file, *value)));
            if !is_mistyped
                && (misspelling.finding.rule != OF_NAMES
                    || made.unresolved_in(misspelling.file) <= written.unresolved_in(misspelling.file))
            {
                fitting.insert(place);
            }
        }
        (made, fitting)
    }
}

impl CompiledDocuments {
    /// The number of names in templates of a file that nothing has.
    fn unresolved_in(&self, file: FileId) -> usize {
        self.findings.iter().filter(|d| d.rule == "unresolved-name" && d.file == Some(file)).count()
    }

    /// Adds the files as they were probably meant. The programs stay, and so do the files that are broken: what runs is what is written.
    fn as_meant(&mut self, meant: Self, word_findings: Vec<Diagnostic>) {
        self.touched.extend(meant.touched.iter().copied());
        self.cut.extend(meant.cut.iter().copied());
        self.seeks |= meant.seeks;
        self.meant = Some(Box::new((meant, word_findings)));
    }

    /// The findings about misspelt words, and all others of the files as they were probably meant. `errors`: whether a finding
    /// prevents a run. If the files as they are written have such a finding and the others have none there, the word is what
    /// prevents it.
    pub(super) fn of_meant(
        mut self,
        meant: Self,
        mut word_findings: Vec<Diagnostic>,
        mut errors: impl FnMut(&Diagnostic) -> bool,
    ) -> Self {
        let calls: Vec<_> = meant.file_calls().collect();
        let places: HashSet<_> = word_findings.iter().map(|d| (d.rule, d.file, d.span)).collect();
        let mut more = meant.findings;
        more.retain(|d| !places.contains(&(d.rule, d.file, d.span)));
        let before = files_of(&self.findings, &mut errors);
        let now = &files_of(&more, &mut errors) | &files_of(&word_findings, &mut errors);
        for file in &before - &now {
            let callees = spread_to_reachable([file].into(), self.file_calls());
            let callers = self.callers_of([file].into());
            let near = [HashSet::from([file]), callees, callers];
            let cause = near.iter().find(|files| word_findings.iter().any(|d| is_in_one_of(d, files)));
            for d in &mut word_findings {
                let is_cause = match cause {
                    Some(files) => is_in_one_of(d, files),
                    None => true,
                };
                if is_cause {
                    d.severity = FindingSeverity::Error;
                }
            }
        }
        // What runs is what is written. If that has no mistake, what is below a misspelt key keeps nothing from running.
        let stopped = &before | &files_of(&word_findings, &mut errors);
        let mut ways = Vec::new();
        for (from, to) in self.file_calls().chain(calls) {
            ways.extend([(from, to), (to, from)]);
        }
        let stopped = spread_to_reachable(stopped, ways.into_iter());
        for d in &mut more {
            if !is_in_one_of(d, &stopped) {
                d.severity = d.severity.min(FindingSeverity::Warning);
            }
        }
        self.findings = [word_findings, more].concat();
        self.facts = meant.facts;
        self
    }
}

/// The misspelt word that a finding is about, if one is probably meant.
fn find_misspelling(d: &Diagnostic, files: &SourceFiles) -> Option<MisspelledWord> {
    let fix = d.fix.as_deref()?;
    // A suggestion is only a guess. Where something necessary is missing, nothing runs without it, so the guess does no harm.
    let certain = OF_WORDS.contains(&d.rule) && (fix.safe || d.severity == FindingSeverity::Error)
        || d.rule == OF_NAMES && fix.safe;
    if !certain {
        return None;
    }
    let [edit] = fix.edits.as_slice() else { return None };
    let (file, at) = (edit.location.file, edit.location.span);
    // A suggestion may be another word, which is only a guess.
    let written = files.get(file)?.text().get(at.start as usize..at.end as usize)?;
    suggestions::find_near_match(written, [edit.text.as_str()])?;
    Some(MisspelledWord { finding: d.clone(), file, at, word: edit.text.as_str().into() })
}
