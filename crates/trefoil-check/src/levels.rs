//! The severity of a finding is decided by the rule, `--strict`, the project and the command line, in this order.
//! Comments in the manifest are evaluated afterwards; see [`suppress`](crate::suppress).

use trefoil_syntax::hash::HashMap;

use trefoil_syntax::{Diagnostic, FindingSeverity};

use crate::rule::Rule;
use crate::rules;

/// A level that a user sets for a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleLevel {
    /// Not reported. Findings that prevent a program from loading are still reported.
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
    set: HashMap<&'static str, RuleLevel>,
}

impl RuleLevel {
    /// The words in the project file and on the command line.
    pub const WORDS: [(&'static str, Self); 3] = [("allow", Self::Allow), ("warn", Self::Warn), ("deny", Self::Deny)];
}

/// Rules about whole programs whose findings are load errors all the same: what they find needs the flow of data.
const OF_DATA: [&str; 1] = ["secret-in-result"];

/// Whether a finding is a load error: there is no program until it is fixed, so its level cannot be reduced.
pub fn keeps_from_loading(diagnostic: &Diagnostic) -> bool {
    if diagnostic.severity != FindingSeverity::Error {
        return false;
    }
    match rules::find_rule(diagnostic.rule) {
        Some(rule) => is_of_loading(rule),
        None => true,
    }
}

fn is_of_loading(rule: &Rule) -> bool {
    rule.is_of_loading() || OF_DATA.contains(&rule.name)
}

impl Levels {
    /// Enables the stricter severities meant for CI.
    pub fn enable_strict(&mut self) {
        self.strict = true;
    }
    /// Enables hints.
    pub fn enable_hints(&mut self) {
        self.hints = true;
    }
    /// Sets a rule's level; a later call takes precedence. Returns whether the rule exists.
    pub fn set_level(&mut self, rule: &str, level: RuleLevel) -> bool {
        match rules::find_rule(rule) {
            Some(rule) => {
                self.set.insert(rule.name, level);
                true
            }
            None => false,
        }
    }
    /// These levels after other ones; if both set a level, these take precedence.
    #[must_use]
    pub fn with_fallback(&self, others: &Self) -> Self {
        let mut set = others.set.clone();
        set.extend(&self.set);
        Self { strict: self.strict || others.strict, hints: self.hints || others.hints, set }
    }
    /// The level set for a rule, or for one that it was split from.
    fn level_for_rule(&self, rule: &str) -> Option<RuleLevel> {
        if let Some(level) = self.set.get(rule) {
            return Some(*level);
        }
        rules::split_from(rule).iter().find_map(|whole| self.set.get(whole).copied())
    }
    /// The level set for the rule of a finding, or for one that it belonged to before.
    fn of_finding(&self, diagnostic: &Diagnostic) -> Option<RuleLevel> {
        if let Some(level) = self.level_for_rule(diagnostic.rule) {
            return Some(level);
        }
        rules::former_rules(diagnostic).iter().find_map(|rule| self.set.get(rule).copied())
    }
    /// Whether the rule of a finding is requested by name or by `--strict`, so that comments in a manifest do not
    /// apply.
    pub fn is_requested(&self, diagnostic: &Diagnostic) -> bool {
        match self.of_finding(diagnostic) {
            Some(level) => level == RuleLevel::Deny,
            None => self.strict && matches!(rules::find_rule(diagnostic.rule), Some(rule) if rule.strict.is_some()),
        }
    }
    /// Whether findings of a rule can be shown. Errors that prevent loading always are.
    pub fn can_report(&self, rule: &Rule) -> bool {
        if is_of_loading(rule) && rule.level.is_some() {
            return true;
        }
        match self.level_for_rule(rule.name) {
            Some(level) => level != RuleLevel::Allow,
            None => rule.level.is_some() || self.strict && rule.strict.is_some(),
        }
    }
    /// The finding at its final level; `None` if it is not shown. A load error remains one, because nothing can run.
    pub fn apply_level(&self, mut diagnostic: Diagnostic) -> Option<Diagnostic> {
        if keeps_from_loading(&diagnostic) {
            return Some(diagnostic);
        }
        let rule = rules::find_rule(diagnostic.rule);
        let asked = self.of_finding(&diagnostic);
        if diagnostic.severity == FindingSeverity::Hint && asked.is_none() {
            return if self.hints { Some(diagnostic) } else { None };
        }
        match (asked, rule) {
            (Some(RuleLevel::Allow), _) => return None,
            (Some(RuleLevel::Warn), _) => diagnostic.severity = FindingSeverity::Warning,
            (Some(RuleLevel::Deny), _) => diagnostic.severity = FindingSeverity::Error,
            (None, Some(rule)) => match rule.strict {
                Some(strict) if self.strict => diagnostic.severity = diagnostic.severity.max(strict),
                _ if rule.level.is_none() => return None,
                _ => {}
            },
            (None, None) => {}
        }
        Some(diagnostic)
    }
}
