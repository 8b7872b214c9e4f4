//! Who decides how bad a finding is: the rule, `--strict`, the project, the command line, in this order. Comments in the
//! manifest come after them; see [`suppress`](crate::suppress).

use trefoil_syntax::hash::HashMap;

use trefoil_syntax::{Diagnostic, Severity};

use crate::rule::Rule;
use crate::rules;

/// What somebody wants a rule to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Not reported. What keeps a program from loading is reported all the same.
    Allow,
    /// A warning.
    Warn,
    /// An error.
    Deny,
}

/// The levels of a check.
#[derive(Debug, Clone, Default)]
pub struct Levels {
    strict: bool,
    hints: bool,
    set: HashMap<&'static str, Level>,
}

impl Level {
    /// The word in the project file and on the command line.
    pub const WORDS: [(&'static str, Self); 3] = [("allow", Self::Allow), ("warn", Self::Warn), ("deny", Self::Deny)];
}

/// Whether a finding is an error without which there is no program: nobody can make less of it.
pub fn keeps_from_loading(diagnostic: &Diagnostic) -> bool {
    diagnostic.severity == Severity::Error && rules::rule(diagnostic.rule).is_none_or(Rule::is_of_loading)
}

impl Levels {
    /// With the stricter severities meant for CI.
    pub fn strict(&mut self) {
        self.strict = true;
    }
    /// With hints.
    pub fn hints(&mut self) {
        self.hints = true;
    }
    /// Sets a rule's level; a later call wins. Whether there is such a rule.
    pub fn set(&mut self, rule: &str, level: Level) -> bool {
        match rules::rule(rule) {
            Some(rule) => {
                self.set.insert(rule.name, level);
                true
            }
            None => false,
        }
    }
    /// These, said after others: where both say something, these count.
    #[must_use]
    pub fn after(&self, others: &Self) -> Self {
        let mut set = others.set.clone();
        set.extend(&self.set);
        Self { strict: self.strict || others.strict, hints: self.hints || others.hints, set }
    }
    /// What is set for a rule, or for one that it was a part of.
    fn of(&self, rule: &str) -> Option<Level> {
        self.set.get(rule).or_else(|| rules::split_from(rule).iter().find_map(|whole| self.set.get(whole))).copied()
    }
    /// What is set for the rule of a finding, or for one that it was a finding of before.
    fn of_finding(&self, diagnostic: &Diagnostic) -> Option<Level> {
        let before = || rules::formerly(diagnostic).iter().find_map(|rule| self.set.get(rule).copied());
        self.of(diagnostic.rule).or_else(before)
    }
    /// Whether the rule of a finding is requested by name or by `--strict`, so that what a manifest says about it does not
    /// count.
    pub fn insists(&self, diagnostic: &Diagnostic) -> bool {
        match self.of_finding(diagnostic) {
            Some(level) => level == Level::Deny,
            None => self.strict && rules::rule(diagnostic.rule).is_some_and(|r| r.strict.is_some()),
        }
    }
    /// Whether a finding of a rule can be shown. What keeps a program from loading always is.
    pub fn shows(&self, rule: &Rule) -> bool {
        if rule.is_of_loading() && rule.level.is_some() {
            return true;
        }
        match self.of(rule.name) {
            Some(level) => level != Level::Allow,
            None => rule.level.is_some() || self.strict && rule.strict.is_some(),
        }
    }
    /// What becomes of a finding; none: it is not shown. An error of loading stays one, because nothing can run.
    pub fn apply(&self, mut diagnostic: Diagnostic) -> Option<Diagnostic> {
        if keeps_from_loading(&diagnostic) {
            return Some(diagnostic);
        }
        let rule = rules::rule(diagnostic.rule);
        let asked = self.of_finding(&diagnostic);
        if diagnostic.severity == Severity::Hint && asked.is_none() {
            return Some(diagnostic).filter(|_| self.hints);
        }
        match (asked, rule) {
            (Some(Level::Allow), _) => return None,
            (Some(Level::Warn), _) => diagnostic.severity = Severity::Warning,
            (Some(Level::Deny), _) => diagnostic.severity = Severity::Error,
            (None, Some(rule)) => match rule.strict.filter(|_| self.strict) {
                Some(strict) => diagnostic.severity = diagnostic.severity.max(strict),
                None if rule.level.is_none() => return None,
                None => {}
            },
            (None, None) => {}
        }
        Some(diagnostic)
    }
}
