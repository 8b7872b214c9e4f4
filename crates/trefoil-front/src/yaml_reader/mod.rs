//! Typed access to the spanned tree. Every problem is reported at its place, and reading continues.

mod block;
mod form_advice;
pub mod number;
mod unknown_keys;

use std::cell::RefCell;
use std::ops::{Deref, RangeInclusive};
use std::sync::Arc;

use trefoil_ir::schema::pattern_weight;
use trefoil_ir::{FactDetail, Facts};
use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode, YamlNodeKind, YamlScalar, YamlText};
use trefoil_syntax::{Diagnostic, DiagnosticList, FindingSeverity, Span, suggestions};
use trefoil_template::limits::{PATTERN_BYTES, PATTERNS_BYTES};
use trefoil_template::{DialectWords, Value, ValueNumber, ValueObject};

pub use self::block::{KeyLine, KeyOwner, TextBlock};
use self::number::NumberUnit;
use crate::manifest_source::ManifestSource;
use crate::project::{ManifestDocument, Project};
use crate::spelling_fixes::fix_spelling;

/// The maximum number of unknown keys in one mapping that are reported individually.
const UNKNOWN_KEYS: usize = 500;

/// The results of reading and lowering.
#[derive(Debug, Clone, Default)]
pub struct CompileFindings {
    /// The findings for users.
    pub diagnostics: DiagnosticList,
    /// Facts for the checker and editors.
    pub facts: Facts,
    /// Block texts with lines that start like keys.
    pub blocks: Vec<TextBlock>,
    /// The bytes of the schema patterns that were compiled to check them.
    pub(crate) patterns: usize,
}

impl CompileFindings {
    /// No findings, with facts at this level of detail.
    pub fn with_facts(detail: FactDetail, words: &'static DialectWords) -> Self {
        Self { facts: Facts::with_detail(detail).in_words(words), ..Self::default() }
    }
    /// No findings, with facts at the same level of detail.
    #[must_use]
    pub fn empty_copy(&self) -> Self {
        Self::with_facts(self.facts.detail_level(), self.facts.dialect_words())
    }
    /// Adds other findings.
    pub fn add_findings(&mut self, part: Self) {
        self.diagnostics.extend(part.diagnostics.iter().cloned());
        self.facts.merge_from(part.facts);
        self.blocks.extend(part.blocks);
    }
}

/// A file being read, with its findings.
pub struct ManifestReader<'d> {
    source: ManifestSource<'d>,
    findings: RefCell<CompileFindings>,
}

impl<'d> Deref for ManifestReader<'d> {
    type Target = ManifestSource<'d>;
    fn deref(&self) -> &ManifestSource<'d> {
        &self.source
    }
}

impl<'d> ManifestReader<'d> {
    /// A reader for a document of a project. Adds to these findings.
    pub fn for_document(project: &'d Project, document: &ManifestDocument, findings: CompileFindings) -> Self {
        Self { source: ManifestSource::for_document(project, document), findings: RefCell::new(findings) }
    }
    /// All findings.
    pub fn into_findings(self) -> CompileFindings {
        self.findings.into_inner()
    }
    /// Compiles a pattern and counts its memory against the limit. Returns the approximate number of bytes, or `None`
    /// if it does not compile. `Err`: the patterns of this reader together exceed the limit of a program; the value is
    /// true for the first one that does.
    pub(crate) fn book_pattern(&self, pattern: &str) -> Result<Option<usize>, bool> {
        let mut findings = self.findings.borrow_mut();
        let before = findings.patterns;
        if before > PATTERNS_BYTES {
            return Err(false);
        }
        let weight = pattern_weight(pattern);
        findings.patterns = before.saturating_add(weight.unwrap_or(PATTERN_BYTES));
        if findings.patterns > PATTERNS_BYTES { Err(true) } else { Ok(weight) }
    }
    /// Reports a finding.
    pub fn report_finding(&self, diagnostic: Diagnostic) {
        self.findings.borrow_mut().diagnostics.push(diagnostic);
    }
    /// Reports the findings, if any.
    pub fn report_all(&self, found: impl IntoIterator<Item = Diagnostic>) {
        for diagnostic in found {
            self.report_finding(diagnostic);
        }
    }
    /// Calls `read` with errors reduced to warnings.
    pub fn at_most_warnings(&self, read: impl FnOnce(&ManifestReader<'_>)) {
        let reader =
            ManifestReader { source: self.source, findings: RefCell::new(self.findings.borrow().empty_copy()) };
        read(&reader);
        let CompileFindings { diagnostics, facts, blocks, .. } = reader.into_findings();
        for d in diagnostics.into_sorted() {
            self.report_finding(Diagnostic { severity: d.severity.min(FindingSeverity::Warning), ..d });
        }
        let mut findings = self.findings.borrow_mut();
        findings.facts.merge_from(facts);
        findings.blocks.extend(blocks);
    }
    /// Whether facts are needed.
    pub fn wants_facts(&self) -> bool {
        self.fact_detail() > FactDetail::Nothing
    }
    /// Which facts are needed.
    pub fn fact_detail(&self) -> FactDetail {
        self.findings.borrow().facts.detail_level()
    }
    /// Records facts, if they are needed.
    pub fn record_facts(&self, note: impl FnOnce(&mut Facts)) {
        let facts = &mut self.findings.borrow_mut().facts;
        if facts.detail_level() > FactDetail::Nothing {
            note(facts);
        }
    }
    /// Reports an error.
    pub fn report_error(&self, rule: &'static str, span: Span, message: impl Into<String>) {
        self.report_finding(Diagnostic::new_error(rule, self.location_of(span), message));
    }
    /// Reports a warning.
    pub fn report_warning(&self, rule: &'static str, span: Span, message: impl Into<String>) {
        self.report_finding(Diagnostic::new_warning(rule, self.location_of(span), message));
    }
    /// Reports that two things have the same name.
    pub fn report_duplicate(&self, at: Span, first: Span, message: impl Into<String>) {
        let d = Diagnostic::new_error("duplicate-id", self.location_of(at), message);
        self.report_finding(d.with_label(self.location_of(first), "the first one"));
    }
    /// Reports `wrong-type`: `what` must be `expected`.
    pub fn wrong_type(&self, node: &YamlNode, what: &str, expected: &str) {
        self.report_finding(self.wrong_type_finding(node, what, expected, None));
    }
    /// The same, with a fix to the value that was certainly meant.
    fn wrong_type_finding(&self, node: &YamlNode, what: &str, expected: &str, meant: Option<String>) -> Diagnostic {
        // `a step` is a phrase, `steps` is a key
        let advice = match expected {
            "a list" => form_advice::list_example(node, what),
            "a mapping" => form_advice::mapping_example(node, what),
            _ => None,
        };
        let what = if what.contains(' ') { what.to_owned() } else { format!("`{what}`") };
        let message = format!("{what} must be {expected}, not {}", node.kind_description());
        let d = Diagnostic::new_error("wrong-type", self.location_of(node.span), message);
        match meant {
            Some(meant) => d.with_safe_fix(format!("write `{meant}`"), self.location_of(node.span), meant),
            None => Diagnostic { help: advice, ..d },
        }
    }
    /// The same for a number, with a fix to the one that was certainly meant: without quotes, or in the notation and
    /// unit of the key.
    pub fn not_a_number(
        &self,
        node: &YamlNode,
        what: &str,
        expected: &str,
        unit: Option<NumberUnit>,
        fits: impl Fn(&str) -> bool,
    ) {
        self.report_finding(self.wrong_type_finding(
            node,
            what,
            expected,
            number::intended_number(node, unit).filter(|text| fits(text)),
        ));
    }
    /// The fields of a mapping; reports any other node. `what` is its name in messages.
    pub fn read_mapping<'n, 'r>(&'r self, node: &'n YamlNode, what: &str) -> Option<MappingReader<'n, 'r>> {
        match node.as_mapping() {
            Some(mapping) => {
                let what = what.to_owned();
                // The typical number of keys in a mapping.
                let (known, missing, nullable) = (Vec::with_capacity(24), Vec::new(), Vec::new());
                Some(MappingReader {
                    reader: self,
                    span: node.span,
                    mapping,
                    what,
                    known,
                    missing,
                    needed: Vec::new(),
                    nullable,
                    others: &[],
                    elsewhere: &[],
                    inert: Vec::new(),
                    blocks_before: self.block_count(),
                    deciding: &[],
                    forms: (&[], &[]),
                    finished: false,
                })
            }
            None => {
                self.wrong_type(node, what, "a mapping");
                None
            }
        }
    }
    /// A text; reports anything else.
    pub fn read_text<'n>(&self, node: &'n YamlNode, what: &str) -> Option<&'n YamlText> {
        let text = node.as_string();
        if text.is_none() {
            self.report_finding(self.wrong_type_finding(node, what, "text", quoted(node)));
        }
        text
    }
    /// An integer in a range; reports anything else.
    pub fn read_integer(&self, node: &YamlNode, what: &str, range: RangeInclusive<i64>) -> Option<i64> {
        match node.as_scalar() {
            Some((YamlScalar::Int(i), _)) if range.contains(&i) => Some(i),
            Some((YamlScalar::Int(_) | YamlScalar::UInt(_), t)) => {
                self.report_out_of_range(node, what, &range, &t.value);
                None
            }
            Some((YamlScalar::Float(_), t)) if t.value.bytes().all(|b| b.is_ascii_digit()) => {
                let message = format!("`{what}` is too large: {}", t.value);
                self.report_error("out-of-range", node.span, message);
                None
            }
            Some((YamlScalar::Float(_), t)) => {
                let message = format!("`{what}` must be a whole number, not {}", t.value);
                self.report_error("wrong-type", node.span, message);
                None
            }
            _ => {
                let fits = |text: &str| text.parse::<i64>().is_ok_and(|n| range.contains(&n));
                self.not_a_number(node, what, "a whole number", number::unit_of(what), fits);
                None
            }
        }
    }
    /// Reports a whole number outside of a range.
    pub fn report_out_of_range(
        &self,
        node: &YamlNode,
        what: &str,
        range: &RangeInclusive<i64>,
        value: &dyn std::fmt::Display,
    ) {
        // A bound that is only the size of a number in memory helps nobody who wrote a smaller one.
        let is_less = value.to_string().parse::<i64>().is_ok_and(|value| value < *range.start());
        let bounds = match *range.end() {
            i64::MAX => format!("at least {}", range.start()),
            most if most == i64::from(u32::MAX) && is_less => format!("at least {}", range.start()),
            most => format!("from {} to {most}", range.start()),
        };
        self.report_error("out-of-range", node.span, format!("`{what}` must be {bounds}, not {value}"));
    }
    /// A number in a range; reports anything else.
    pub fn read_number(&self, node: &YamlNode, what: &str, range: RangeInclusive<f64>) -> Option<f64> {
        let value = match node.as_scalar() {
            Some((YamlScalar::Int(i), _)) => i as f64,
            Some((YamlScalar::UInt(i), _)) => i as f64,
            Some((YamlScalar::Float(f), _)) => f,
            _ => {
                let fits = |text: &str| text.parse::<f64>().is_ok_and(|n| range.contains(&n));
                self.not_a_number(node, what, "a number", number::unit_of(what), fits);
                return None;
            }
        };
        if range.contains(&value) {
            return Some(value);
        }
        let bounds = if *range.end() >= f64::MAX {
            format!("at least {}", range.start())
        } else {
            format!("from {} to {}", range.start(), range.end())
        };
        self.report_error("out-of-range", node.span, format!("`{what}` must be {bounds}, not {value}"));
        None
    }
    /// `true` or `false`; reports anything else.
    pub fn read_boolean(&self, node: &YamlNode, what: &str) -> Option<bool> {
        match node.as_scalar() {
            Some((YamlScalar::Bool(b), _)) => Some(b),
            _ => {
                let meant = match node.as_string().map(|t| t.value.to_ascii_lowercase()).as_deref() {
                    Some("true" | "yes" | "on") => Some("true".to_owned()),
                    Some("false" | "no" | "off") => Some("false".to_owned()),
                    _ => None,
                };
                self.report_finding(self.wrong_type_finding(node, what, "true or false", meant));
                None
            }
        }
    }
    /// A list; reports anything else.
    pub fn read_list<'n>(&self, node: &'n YamlNode, what: &str) -> Option<&'n [YamlNode]> {
        let items = node.as_sequence();
        if items.is_none() {
            self.wrong_type(node, what, "a list");
        }
        items
    }
    /// One of several words; reports anything else, with the most similar word.
    pub fn read_word<T: Copy>(&self, node: &YamlNode, what: &str, words: &[(&str, T)]) -> Option<T> {
        let all = || words.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        let Some(text) = node.as_string() else {
            // A value that is not text cannot be fixed by adding quotes.
            self.report_finding(
                self.wrong_type_finding(node, what, "text", None).with_help(format!("available: {}", all())),
            );
            return None;
        };
        if let Some((_, value)) = words.iter().find(|(w, _)| *w == &*text.value) {
            return Some(*value);
        }
        let mut d = Diagnostic::new_error(
            "unknown-value",
            self.location_of(node.span),
            format!("`{what}` cannot be `{}`", text.value),
        );
        let near = suggestions::find_near_match(&text.value, words.iter().map(|(w, _)| *w))
            .or_else(|| begun(&text.value, words));
        d = match near {
            Some(near) => {
                let d = d.with_help(format!("did you mean `{}`? available: {}", near.name, all()));
                fix_spelling(d, self.location_of(node.span), text, near)
            }
            None => match words {
                [(word, _)] => {
                    let only = suggestions::NearMatch { name: word, distance: usize::MAX, sure: false };
                    fix_spelling(d.with_help(format!("write `{word}`")), self.location_of(node.span), text, only)
                }
                _ => d.with_help(format!("available: {}", all())),
            },
        };
        self.report_finding(d);
        None
    }
}

/// The only word that starts with a text (`trunc`).
fn begun<'w, T>(text: &str, words: &[(&'w str, T)]) -> Option<suggestions::NearMatch<'w>> {
    if text.len() <= 2 {
        return None;
    }
    let mut only = None;
    for (word, _) in words {
        if !word.starts_with(text) {
            continue;
        }
        if only.is_some() {
            return None;
        }
        only = Some(*word);
    }
    let name = only?;
    Some(suggestions::NearMatch { name, distance: name.len() - text.len(), sure: false })
}

/// A mapping that is read key by key. [`MappingReader::finish_mapping`] reports the keys that were not read.
pub struct MappingReader<'n, 'd> {
    /// The file's reader.
    pub reader: &'d ManifestReader<'d>,
    /// The span of the mapping.
    pub span: Span,
    mapping: &'n YamlMapping,
    what: String,
    known: Vec<&'static str>,
    /// Missing required keys. Reported at the end, unless an unknown key was meant as one of them.
    missing: Vec<&'static str>,
    /// Missing keys that the caller reports.
    needed: Vec<&'static str>,
    /// Keys for which null is valid, or about which everything was already reported.
    nullable: Vec<&'static str>,
    /// Common wrong names, and the right keys.
    others: &'static [(&'static str, &'static str)],
    /// Keys of other mappings that are written here by mistake, and where they belong.
    elsewhere: &'static [(&'static str, &'static str)],
    /// Keys that are known, but belong in another mapping.
    inert: Vec<&'static str>,
    /// The number of block texts that were read before this mapping.
    blocks_before: usize,
    /// Keys that affect what runs, each with the consequence if it is missing.
    deciding: &'static [(&'static str, &'static str)],
    /// Keys whose values are lists, and keys whose values are texts or numbers.
    forms: (&'static [&'static str], &'static [&'static str]),
    /// Whether the unknown keys are reported.
    finished: bool,
}

impl<'n, 'd> MappingReader<'n, 'd> {
    /// The mapping as written.
    pub fn source_mapping(&self) -> &'n YamlMapping {
        self.mapping
    }
    /// The entry of a key; null counts as absent.
    pub fn take(&mut self, key: &'static str) -> Option<&'n YamlEntry> {
        self.known.push(key);
        let entry = self.mapping.get(key)?;
        if entry.value.is_null() { None } else { Some(entry) }
    }
    /// The entry of a key, even if it is null.
    pub fn take_nullable(&mut self, key: &'static str) -> Option<&'n YamlEntry> {
        self.known.push(key);
        self.nullable.push(key);
        self.mapping.get(key)
    }
    /// The entry of a required key; if it is missing, this is reported at the end.
    pub fn require_entry(&mut self, key: &'static str) -> Option<&'n YamlEntry> {
        let entry = self.take(key);
        if entry.is_none() {
            self.missing.push(key);
        }
        entry
    }
    /// Notes that a key is missing, which the caller reports.
    pub fn note_need(&mut self, key: &'static str) {
        self.needed.push(key);
    }
    /// The place for a finding that one of these keys needs a value: the key without a value, otherwise the start of
    /// the mapping.
    pub fn missing_key_span(&self, keys: &[&str]) -> Span {
        for key in keys {
            if let Some(entry) = self.mapping.get(key) {
                return entry.key.span;
            }
        }
        self.owner_span()
    }
    /// Sets common wrong names for keys of this mapping, used when reporting unknown keys.
    pub fn also_called(&mut self, others: &'static [(&'static str, &'static str)]) {
        self.others = others;
    }
    /// Sets keys that belong in other mappings of the format, each with that place.
    pub fn set_foreign_keys(&mut self, places: &'static [(&'static str, &'static str)]) {
        self.elsewhere = places;
    }
    /// Sets keys that affect what runs, each with the consequence if it is missing: misspelling one of them is an error
    /// rather than a key without effect.
    pub fn set_deciding_keys(&mut self, keys: &'static [(&'static str, &'static str)]) {
        self.deciding = keys;
    }
    /// The entry that is written with a wrong name for `name`.
    pub fn written_as(&self, name: &str) -> Option<&'n YamlEntry> {
        for (word, key) in self.others {
            if *key == name
                && let Some(entry) = self.mapping.get(word)
            {
                return Some(entry);
            }
        }
        None
    }
    /// Sets which keys have lists as values, and which have texts or numbers. An unknown key whose value has another
    /// form was not meant as one of these.
    pub fn set_key_forms(&mut self, lists: &'static [&'static str], scalars: &'static [&'static str]) {
        self.forms = (lists, scalars);
    }
    /// The required form of a key's value, if the value has another one.
    fn misfit(&self, key: &str, value: &YamlNode) -> Option<&'static str> {
        let (lists, scalars) = self.forms;
        match &*value.kind {
            YamlNodeKind::Sequence(_) if scalars.contains(&key) => Some("one value, not a list"),
            YamlNodeKind::Sequence(_) => None,
            YamlNodeKind::Mapping(_) if scalars.contains(&key) => Some("one value, not a mapping"),
            _ if lists.contains(&key) => Some("a list"),
            _ => None,
        }
    }
    /// The place for findings about something missing: the key whose value this is, otherwise its head.
    pub fn owner_span(&self) -> Span {
        match self.mapping.owner {
            Some(owner) => owner,
            None => self.head_span(),
        }
    }
    /// The place of the mapping as a whole: the first key, or the empty mapping.
    pub fn head_span(&self) -> Span {
        match self.mapping.entries.first() {
            Some(entry) => entry.key.span,
            None => self.span,
        }
    }
    /// The text of a key.
    pub fn read_text(&mut self, key: &'static str) -> Option<&'n YamlText> {
        let entry = self.take(key)?;
        self.reader.read_text(&entry.value, key)
    }
    /// The text of a required key.
    pub fn require_text(&mut self, key: &'static str) -> Option<&'n YamlText> {
        let entry = self.require_entry(key)?;
        self.reader.read_text(&entry.value, key)
    }
    /// The integer of a key.
    pub fn read_integer(&mut self, key: &'static str, range: RangeInclusive<i64>) -> Option<i64> {
        let entry = self.take(key)?;
        self.reader.read_integer(&entry.value, key, range)
    }
    /// The number of a key.
    pub fn read_number(&mut self, key: &'static str, range: RangeInclusive<f64>) -> Option<f64> {
        let entry = self.take(key)?;
        self.reader.read_number(&entry.value, key, range)
    }
    /// The boolean of a key.
    pub fn read_boolean(&mut self, key: &'static str) -> Option<bool> {
        let entry = self.take(key)?;
        self.reader.read_boolean(&entry.value, key)
    }
    /// The list of a key.
    pub fn read_list(&mut self, key: &'static str) -> Option<&'n [YamlNode]> {
        let entry = self.take(key)?;
        self.reader.read_list(&entry.value, key)
    }
    /// The word of a key, one of several.
    pub fn read_word<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let entry = self.take(key)?;
        self.reader.read_word(&entry.value, key, words)
    }
    /// The fields of a key's mapping.
    pub fn read_mapping(&mut self, key: &'static str) -> Option<MappingReader<'n, 'd>> {
        let entry = self.take(key)?;
        self.reader.read_mapping(&entry.value, key)
    }
    /// The word of a required key, one of several.
    pub fn require_word<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let entry = self.require_entry(key)?;
        self.reader.read_word(&entry.value, key, words)
    }
    /// The fields of a required key's mapping.
    pub fn require_mapping(&mut self, key: &'static str) -> Option<MappingReader<'n, 'd>> {
        let entry = self.require_entry(key)?;
        self.reader.read_mapping(&entry.value, key)
    }
    /// The entry of a key, without marking it as read.
    pub fn peek_entry(&self, key: &str) -> Option<&'n YamlEntry> {
        self.mapping.get(key)
    }
    /// Whether this key was read already.
    pub fn is_known(&self, key: &str) -> bool {
        self.known.contains(&key)
    }
    /// All entries of a mapping with keys chosen by the user.
    pub fn entries(&self) -> &'n [YamlEntry] {
        &self.mapping.entries
    }
    /// Marks keys that belong in another mapping, with that place.
    pub fn mark_misplaced(&mut self, keys: &[&'static str], place: &str) {
        self.inert.extend(keys);
        self.no_effect(keys, &format!("it belongs {place}"));
    }
    /// Marks keys that are known but have no effect here; each one present is reported with a warning (nothing is
    /// silently ignored).
    pub fn no_effect(&mut self, keys: &[&'static str], why: &str) {
        for key in keys {
            if let Some(entry) = self.take_nullable(key) {
                self.reader.report_warning("no-effect", entry.key.span, format!("`{key}` has no effect: {why}"));
            }
        }
    }
    /// Reports keys that are certainly misspellings of one that was read. Other keys are the user's own.
    pub fn report_misspelt(self) {
        for entry in &self.mapping.entries {
            let key = &*entry.key.value;
            let Some(near) = suggestions::find_near_match(key, self.known.iter().copied()) else { continue };
            if !near.sure || self.known.contains(&key) || self.mapping.get(near.name).is_some() {
                continue;
            }
            let at = self.reader.location_of(entry.key.span);
            let d = Diagnostic::new_warning("unknown-key", at, format!("{} has no key `{key}`", self.what))
                .with_help(format!("did you mean `{}`?", near.name));
            self.reader.report_finding(fix_spelling(d, at, &entry.key, near));
        }
    }
    /// Marks keys for which null needs no further report.
    pub fn mark_settled(&mut self, keys: &[&'static str]) {
        self.nullable.extend(keys);
    }
    /// Reports the keys that were not read, and those without a value.
    pub fn finish_mapping(mut self) {
        self.without_value();
        self.note_blocks();
        let meant = self.report_unknown();
        self.finished = true;
        self.missing.retain(|key| !meant.contains(key));
    }
}

/// If reading stops early, missing required keys are still reported.
impl Drop for MappingReader<'_, '_> {
    fn drop(&mut self) {
        for key in &self.missing {
            let misspelt = if self.finished { None } else { self.misspelt_key_finding(key) };
            match misspelt {
                Some(d) => self.reader.report_finding(d),
                None => self.reader.report_error(
                    "missing-key",
                    self.missing_key_span(&[key]),
                    format!("{} needs `{key}`", self.what),
                ),
            }
        }
    }
}

impl MappingReader<'_, '_> {
    /// Reports a key with a colon and nothing after it: it is unfinished. An explicit `null` is intended.
    fn without_value(&self) {
        let known =
            |key: &str| self.known.contains(&key) && !self.missing.contains(&key) && !self.nullable.contains(&key);
        for entry in &self.mapping.entries {
            if let Some((YamlScalar::Null, text)) = entry.value.as_scalar()
                && text.value.is_empty()
                && known(&entry.key.value)
            {
                let message = format!("`{}` has no value, so it has no effect", entry.key.value);
                self.reader.report_warning("no-effect", entry.key.span, message);
            }
        }
    }
}

/// A number or boolean as quoted text.
fn quoted(node: &YamlNode) -> Option<String> {
    match node.as_scalar()? {
        (YamlScalar::Null | YamlScalar::Str, _) => None,
        (_, text) => Some(format!("\"{}\"", text.value)),
    }
}

/// A node as plain data (schemas, contexts, defaults, tool arguments).
pub fn to_value(node: &YamlNode) -> Value {
    match &*node.kind {
        YamlNodeKind::Scalar(scalar, text) => match scalar {
            YamlScalar::Null => Value::Null,
            YamlScalar::Bool(b) => Value::Bool(*b),
            YamlScalar::Int(i) => Value::Number(ValueNumber::Int(*i)),
            YamlScalar::UInt(u) => Value::Number(ValueNumber::UInt(*u)),
            YamlScalar::Float(f) => Value::Number(ValueNumber::Float(*f)),
            YamlScalar::Str => Value::Str(text.value.clone()),
        },
        YamlNodeKind::Sequence(items) => Value::List(Arc::new(items.iter().map(to_value).collect())),
        YamlNodeKind::Mapping(m) => Value::Object(Arc::new(
            m.entries.iter().map(|entry| (entry.key.value.clone(), to_value(&entry.value))).collect::<ValueObject>(),
        )),
    }
}
