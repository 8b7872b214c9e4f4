//! Comments for the checker: `# trefoil: allow RULE`, `# trefoil: allow-file RULE`.
//!
//! Reads them, determines which findings they cover, and reports comments that cover nothing or are invalid. The loader
//! decides when: all findings about a file must be known first.

use trefoil_syntax::yaml::{FileComments, YamlComment, YamlNode, find_comments};
use trefoil_syntax::{Diagnostic, FileId, Fix, Location, SourceEdit, SourceFile, Span, suggestions};

use crate::levels::keeps_from_loading;
use crate::rules::{RULES, find_rule, former_rules, split_from};

/// A suppression that covers no finding.
pub const UNUSED: &str = "unused-suppression";
/// An invalid suppression.
pub const UNKNOWN: &str = "unknown-suppression";

/// The maximum number of suppressions in a file. People write only a few.
const MOST: usize = 2000;

/// The text in every suppression.
const MARK: &str = "trefoil:";

/// The suppressions of a file.
#[derive(Debug, Clone, Default)]
pub struct SuppressionComments {
    all: Vec<RuleSuppression>,
    /// Findings about the comments themselves.
    findings: Vec<Diagnostic>,
}

/// One rule in one comment.
#[derive(Debug, Clone)]
struct RuleSuppression {
    rule: &'static str,
    /// The span in which a covered finding starts.
    covers: Span,
    /// The rule's name in the comment.
    name: Location,
    /// The span that is deleted to remove it.
    removal: Span,
    used: bool,
    /// Whether it would cover an error that prevents the program from loading.
    in_vain: bool,
}

impl SuppressionComments {
    /// The suppressions of a file, if there are any. `root` is its whole tree.
    pub fn read_comments(id: FileId, file: &SourceFile, root: &YamlNode) -> Option<Self> {
        let text = file.text();
        if !text.contains(MARK) && !speaks_of_us(text) {
            return None;
        }
        let found = find_comments(text, root);
        let first_key = if let Some(mapping) = root.as_mapping()
            && let Some(first) = mapping.entries.first()
        {
            first.key.span.start
        } else {
            root.span.start
        };
        let mut reading =
            SuppressionReader { id, file, found: &found, first_key, silent: (0, 0), out: Self::default() };
        for comment in &found.all {
            if reading.out.all.len() + reading.out.findings.len() >= MOST {
                let message =
                    format!("the file has more than {MOST} such comments; this one and those after it have no effect");
                reading.unknown(comment.span, &message, "set the level of the rule in `trefoil.toml`");
                break;
            }
            reading.comment(comment);
        }
        let out = reading.out;
        if out.all.is_empty() && out.findings.is_empty() { None } else { Some(out) }
    }
    /// Whether a finding of this file is covered; marks the suppression as used.
    pub fn covers_finding(&mut self, finding: &Diagnostic) -> bool {
        let Some(span) = finding.span else {
            // A finding about the whole file is only covered by a suppression for the whole file.
            return self.cover(finding, |s| s.covers.start == 0 && s.covers.end == u32::MAX);
        };
        self.cover(finding, |s| s.covers.start <= span.start && span.start <= s.covers.end)
    }
    fn cover(&mut self, finding: &Diagnostic, reaches: impl Fn(&RuleSuppression) -> bool) -> bool {
        let fixed = keeps_from_loading(finding);
        let mut covered = false;
        let names = |rule: &str| {
            rule == finding.rule || split_from(finding.rule).contains(&rule) || former_rules(finding).contains(&rule)
        };
        for suppression in &mut self.all {
            if !names(suppression.rule) || !reaches(suppression) {
                continue;
            }
            suppression.used |= !fixed;
            suppression.in_vain |= fixed;
            covered |= !fixed;
        }
        covered
    }
    /// The findings about the comments, after every finding was passed to [`covers_finding`](Self::covers_finding). `active`: whether a
    /// rule ran at all.
    pub fn comment_findings(&self, active: impl Fn(&str) -> bool) -> Vec<Diagnostic> {
        let mut findings = self.findings.clone();
        for suppression in &self.all {
            let RuleSuppression { rule, name, .. } = suppression;
            if suppression.used {
                continue;
            }
            if suppression.in_vain {
                let message = format!("`{rule}` is a load error here and cannot be allowed");
                findings.push(Diagnostic::new_warning(UNUSED, *name, message));
            } else if active(rule) {
                let message = format!("`{rule}` reports nothing here");
                let edit = SourceEdit { location: Location::new(name.file, suppression.removal), text: String::new() };
                let fix = Fix { message: "remove it".to_owned(), edits: vec![edit], safe: true };
                let finding = Diagnostic::new_warning(UNUSED, *name, message);
                findings.push(Diagnostic { fix: Some(Box::new(fix)), ..finding });
            }
        }
        findings
    }
}

/// The comments of a file, being read.
struct SuppressionReader<'f> {
    id: FileId,
    file: &'f SourceFile,
    found: &'f FileComments,
    first_key: u32,
    /// The lines from the first to before the second contain only comments or nothing: a suppression among them applies
    /// to what follows.
    silent: (u32, u32),
    out: SuppressionComments,
}

impl SuppressionReader<'_> {
    fn comment(&mut self, comment: &YamlComment) {
        let text = self.file.text();
        let Some(written) = text.get(comment.span.start as usize..comment.span.end as usize) else { return };
        let Some(comment_text) = written.trim_start_matches('#').trim_start().strip_prefix(MARK) else {
            return self.nearly(written, comment.span.start);
        };
        let mut words = words(comment_text, comment.span.end - comment_text.len() as u32);
        if words.is_empty() {
            return;
        }
        let (verb, verb_at) = words.remove(0);
        let covers = match verb {
            "allow" => self.reach(comment),
            "allow-file" if comment.span.start < self.first_key => Span::new(0, u32::MAX),
            "allow-file" => {
                self.unknown(
                    verb_at,
                    "`allow-file` has no effect after the first key",
                    "move it to the top of the file, or write `allow` above the line it is for",
                );
                return;
            }
            other if let Some((bare, rest)) = joined(other) => {
                let rest = rest.trim_matches(|c: char| !c.is_ascii_alphanumeric());
                let rule = if rest.is_empty() { "RULE" } else { rest };
                self.unknown(
                    verb_at,
                    &format!("`{other}` is not spelled correctly and has no effect"),
                    &format!("write `# trefoil: {bare} {rule}`"),
                );
                return;
            }
            other => {
                // Prose may start with our name.
                let near = suggestions::nearest_name(other, ["allow", "allow-file"]);
                if near.is_some() || ["ignore", "disable", "deny", "warn", "off"].contains(&other) {
                    let help = match near {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => {
                            "a comment can only `allow` or `allow-file`; levels are set in `trefoil.toml`".to_owned()
                        }
                    };
                    self.unknown(verb_at, &format!("a comment cannot set `{other}`"), &help);
                }
                return;
            }
        };
        if words.is_empty() {
            self.unknown(verb_at, &format!("`{verb}` names no rule"), "name it, as in `# trefoil: allow unknown-key`");
        }
        let several = words.len() > 1;
        for (at, (name, span)) in words.iter().enumerate() {
            match find_rule(name) {
                Some(rule) => {
                    let removal = if several { between(&words, at, *span) } else { self.whole(comment) };
                    self.out.all.push(RuleSuppression {
                        rule: rule.name,
                        covers,
                        name: Location::new(self.id, *span),
                        removal,
                        used: false,
                        in_vain: false,
                    });
                }
                None => self.unknown_rule(name, *span),
            }
        }
    }
    /// Reports a comment that is almost a suppression.
    fn nearly(&mut self, written: &str, start: u32) {
        for (at, _) in written.match_indices('#') {
            let comment_text = written.get(at..).unwrap_or_default().trim_start_matches(['#', ' ', '\t']);
            let Some(name) = mark_prefix(comment_text) else { continue };
            if !starts_a_comment(written, at) {
                continue;
            }
            let rest = comment_text.get(name.len()..).unwrap_or_default();
            let verb = rest.trim_start_matches([' ', '\t', ':']);
            let word = verb.split([' ', '\t', ',']).next().unwrap_or_default();
            let apart = verb.len() < rest.len();
            let known = ["allow", "allow-file"].iter().any(|v| v.eq_ignore_ascii_case(word));
            // `allow` may be part of a sentence, which has no rule after it.
            let after = verb.get(word.len()..).unwrap_or_default().trim_start();
            let rule = after.split([' ', '\t', ',', '#']).next().unwrap_or_default();
            if !(apart && known && rule_like(rule)) {
                continue;
            }
            let begin = start + (written.len() - comment_text.len()) as u32;
            let end = begin + (comment_text.len() - verb.len() + word.len()) as u32;
            let meant = format!("{MARK} {}", word.to_ascii_lowercase());
            let found = comment_text.get(..(end - begin) as usize).unwrap_or_default();
            let place = Location::new(self.id, Span::new(begin, end));
            let d = if found == meant {
                Diagnostic::new_warning(UNKNOWN, place, "this is part of another comment and has no effect")
                    .with_help(format!("put it on its own line: `# {meant} ...`"))
            } else {
                Diagnostic::new_warning(UNKNOWN, place, format!("`{found}` is not spelled correctly and has no effect"))
                    .with_help(format!("write `# {meant} ...`"))
            };
            // After another comment, it would still be part of that comment.
            let d =
                if at == 0 && found != meant { d.with_suggestion(format!("write `{meant}`"), place, meant) } else { d };
            self.out.findings.push(d);
            return;
        }
    }
    fn unknown(&mut self, at: Span, message: &str, help: &str) {
        let d = Diagnostic::new_warning(UNKNOWN, Location::new(self.id, at), message).with_help(help);
        self.out.findings.push(d);
    }
    fn unknown_rule(&mut self, name: &str, at: Span) {
        let at = Location::new(self.id, at);
        let d = Diagnostic::new_warning(UNKNOWN, at, format!("unknown rule `{name}`"));
        let d = match suggestions::nearest_name(name, RULES.iter().map(|r| r.name)) {
            Some(near) => {
                d.with_help(format!("did you mean `{near}`?")).with_suggestion(format!("write `{near}`"), at, near)
            }
            None => d.with_help("`trefoil rules` lists them"),
        };
        self.out.findings.push(d);
    }
    /// The line to which a comment applies, including the whole of a text that starts there.
    fn reach(&mut self, comment: &YamlComment) -> Span {
        let mut line = self.file.line_column(comment.span.start).line;
        if comment.alone {
            line += 1;
            let first = line;
            if (self.silent.0..self.silent.1).contains(&line) {
                line = self.silent.1;
            }
            while line <= self.file.line_count() && self.says_nothing(line) {
                line += 1;
            }
            self.silent = (first, line);
        }
        let line = self.file.line_span(line);
        let mut end = line.end;
        for scalar in &self.found.scalars {
            if line.start <= scalar.start && scalar.start < line.end {
                end = end.max(scalar.end);
            }
        }
        Span::new(line.start, end)
    }
    fn says_nothing(&self, line: u32) -> bool {
        let span = self.file.line_span(line);
        let text = self.file.text().get(span.start as usize..span.end as usize).unwrap_or_default().trim();
        text.is_empty() || text.starts_with('#')
    }
    /// The comment with the whitespace before it; with its line if it is alone there.
    fn whole(&self, comment: &YamlComment) -> Span {
        let text = self.file.text();
        let line = self.file.line_span(self.file.line_column(comment.span.start).line);
        if comment.alone {
            let next = text.get(line.end as usize..).unwrap_or_default();
            let ending = next.len() - next.strip_prefix("\r\n").or(next.strip_prefix('\n')).unwrap_or(next).len();
            return Span::new(line.start, line.end + ending as u32);
        }
        let before = text.get(line.start as usize..comment.span.start as usize).unwrap_or_default();
        Span::new(line.start + before.trim_end().len() as u32, comment.span.end)
    }
}

/// A verb and text attached to it: `allow(unknown-key)`, `allow=unknown-key`, `allow:`.
fn joined(word: &str) -> Option<(&str, &str)> {
    let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '-')?;
    let (verb, rest) = word.split_at_checked(end)?;
    if matches!(verb, "allow" | "allow-file") { Some((verb, rest)) } else { None }
}

/// Whether something like a comment starts with our name, in any spelling.
fn speaks_of_us(text: &str) -> bool {
    text.split('#').skip(1).any(|comment_text| mark_prefix(comment_text.trim_start()).is_some())
}

/// Whether a `#` inside a comment could start another one: it is not in quotes or in a word.
fn starts_a_comment(written: &str, at: usize) -> bool {
    let Some(before) = written.get(..at) else { return false };
    before.chars().all(|c| c == '#') || before.ends_with([' ', '\t'])
}

/// Our name at the start of a text, in any case.
fn mark_prefix(comment_text: &str) -> Option<&str> {
    let mark = MARK.trim_end_matches(':');
    let start = comment_text.get(..mark.len())?;
    if start.eq_ignore_ascii_case(mark) { Some(start) } else { None }
}

/// Whether a word is a rule, or was meant as one.
fn rule_like(word: &str) -> bool {
    find_rule(word).is_some()
        || suggestions::nearest_name(word, RULES.iter().map(|r| r.name)).is_some()
        || word.contains('-')
}

/// The words of a comment up to `--` or another `#`, with their spans. `start` is the offset of the text in the file.
fn words(text: &str, start: u32) -> Vec<(&str, Span)> {
    let mut out = Vec::new();
    let mut at = 0;
    for word in text.split([' ', '\t', ',']) {
        if word.starts_with("--") || word.starts_with('#') {
            break;
        }
        if !word.is_empty() {
            let begin = start + at as u32;
            out.push((word, Span::new(begin, begin + word.len() as u32)));
        }
        at += word.len() + 1;
    }
    out
}

/// A word with the separator to its neighbour.
fn between(words: &[(&str, Span)], at: usize, span: Span) -> Span {
    if let Some((_, next)) = words.get(at + 1) {
        return Span::new(span.start, next.start);
    }
    match words.get(..at) {
        Some([.., (_, before)]) => Span::new(before.end, span.end),
        _ => span,
    }
}

/// Whether findings about suppressions belong to this rule.
pub fn is_about_suppressions(rule: &str) -> bool {
    rule == UNUSED || rule == UNKNOWN
}
