//! Typed access to the spanned tree. Every problem is reported in its place, and reading continues.

mod form;
pub mod number;
mod unknown;

use std::cell::RefCell;
use std::ops::{Deref, RangeInclusive};
use std::sync::Arc;

use trefoil_ir::schema::pattern_weight;
use trefoil_ir::{Detail, Facts};
use trefoil_syntax::yaml::{Entry, Kind, Mapping, Node, Scalar, Style, Text};
use trefoil_syntax::{Diagnostic, Diagnostics, FileId, Severity, Span, suggest};
use trefoil_template::limits::{PATTERN_BYTES, PATTERNS_BYTES};
use trefoil_template::{Number, Object, Value, Words};

use self::number::NumberUnit;
use crate::mend::respelt;
use crate::project::{Document, Project};
use crate::source::Source;

/// Unknown keys of one mapping that are reported one by one.
const UNKNOWN_KEYS: usize = 500;

/// What reading and lowering find out.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// The findings for a person.
    pub diagnostics: Diagnostics,
    /// Facts for the checker and editors.
    pub facts: Facts,
    /// Blocks of text with lines that start like keys.
    pub blocks: Vec<TextBlock>,
    /// Bytes of the patterns in schemas that were compiled to be judged.
    pub(crate) patterns: usize,
}

impl Findings {
    /// Findings with facts about names.
    pub fn with_facts(detail: Detail, words: &'static Words) -> Self {
        Self { facts: Facts::of(detail).in_words(words), ..Self::default() }
    }
    /// None yet, and the same facts asked for.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self::with_facts(self.facts.detail(), self.facts.words())
    }
    /// Adds the findings of a part.
    pub fn absorb(&mut self, part: Self) {
        self.diagnostics.extend(part.diagnostics.iter().cloned());
        self.facts.merge(part.facts);
        self.blocks.extend(part.blocks);
    }
}

/// A block of text with lines that start like keys of the mapping that it is in, or of the one around that.
#[derive(Debug, Clone)]
pub struct TextBlock {
    /// Its file.
    pub file: FileId,
    /// The key that it is the value of.
    pub key: Text,
    /// The text.
    pub text: Text,
    /// Those lines.
    pub lines: Vec<KeyLine>,
}

/// A line of such a block.
#[derive(Debug, Clone)]
pub struct KeyLine {
    /// Where the key starts in the text.
    pub at: usize,
    /// The key, which the mapping knows and does not have.
    pub key: &'static str,
    /// It is one of the mapping around it.
    pub outer: bool,
    /// The mapping around has it soon after the block.
    pub follows: bool,
}

/// One file being read, and what is found in it.
pub struct Reader<'d> {
    source: Source<'d>,
    findings: RefCell<Findings>,
}

impl<'d> Deref for Reader<'d> {
    type Target = Source<'d>;
    fn deref(&self) -> &Source<'d> {
        &self.source
    }
}

impl<'d> Reader<'d> {
    /// A reader of a document of a project, with its text. It adds to these findings.
    pub fn of(project: &'d Project, document: &Document, findings: Findings) -> Self {
        Self { source: Source::of(project, document), findings: RefCell::new(findings) }
    }
    /// All that was found.
    pub fn into_findings(self) -> Findings {
        self.findings.into_inner()
    }
    /// Books the room that a pattern takes when it is compiled: about how many bytes, none if it does not compile. An error: all
    /// of this reader's together take more than those of a program may; whether this is the first that does.
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
    /// Reports.
    pub fn report(&self, diagnostic: Diagnostic) {
        self.findings.borrow_mut().diagnostics.push(diagnostic);
    }
    /// Reports what was found, if anything was.
    pub fn report_all(&self, found: impl IntoIterator<Item = Diagnostic>) {
        found.into_iter().for_each(|d| self.report(d));
    }
    /// Reads something in which no mistake may be an error: those that would be are warnings.
    pub fn at_most_warnings(&self, read: impl FnOnce(&Reader<'_>)) {
        let reader = Reader { source: self.source, findings: RefCell::new(self.findings.borrow().apart()) };
        read(&reader);
        let Findings { diagnostics, facts, blocks, .. } = reader.into_findings();
        for d in diagnostics.into_sorted() {
            self.report(Diagnostic { severity: d.severity.min(Severity::Warning), ..d });
        }
        let mut findings = self.findings.borrow_mut();
        findings.facts.merge(facts);
        findings.blocks.extend(blocks);
    }
    /// Whether facts are needed.
    pub fn wants_facts(&self) -> bool {
        self.detail() > Detail::Nothing
    }
    /// Which facts are needed.
    pub fn detail(&self) -> Detail {
        self.findings.borrow().facts.detail()
    }
    /// Notes facts, if they are needed.
    pub fn facts(&self, note: impl FnOnce(&mut Facts)) {
        let facts = &mut self.findings.borrow_mut().facts;
        if facts.detail() > Detail::Nothing {
            note(facts);
        }
    }
    /// Reports an error.
    pub fn error(&self, rule: &'static str, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(rule, self.at(span), message));
    }
    /// Reports a warning.
    pub fn warning(&self, rule: &'static str, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::warning(rule, self.at(span), message));
    }
    /// Reports `wrong-type`: `what` must be `expected`.
    pub fn wrong_type(&self, node: &Node, what: &str, expected: &str) {
        self.report(self.mistyped(node, what, expected, None));
    }
    /// The same, with the value that was surely meant, as it is written in the file.
    fn mistyped(&self, node: &Node, what: &str, expected: &str, meant: Option<String>) -> Diagnostic {
        // `a step` is a phrase, `steps` a key
        let advice = match expected {
            "a list" => form::list(node, what),
            "a mapping" => form::mapping(node, what),
            _ => None,
        };
        let what = if what.contains(' ') { what.to_owned() } else { format!("`{what}`") };
        let message = format!("{what} must be {expected}, not {}", node.describe());
        let d = Diagnostic::error("wrong-type", self.at(node.span), message);
        match meant {
            Some(meant) => d.fix(format!("write `{meant}`"), self.at(node.span), meant),
            None => Diagnostic { help: advice, ..d },
        }
    }
    /// The same for a number, with the one that was surely meant: without quotes, or in the notation and unit of the key.
    pub fn not_a_number(
        &self,
        node: &Node,
        what: &str,
        expected: &str,
        unit: Option<NumberUnit>,
        fits: impl Fn(&str) -> bool,
    ) {
        self.report(self.mistyped(node, what, expected, number::meant(node, unit).filter(|text| fits(text))));
    }
    /// The fields of a mapping; reports any other node. `what` names it in messages.
    pub fn fields<'n, 'r>(&'r self, node: &'n Node, what: &str) -> Option<Fields<'n, 'r>> {
        match node.mapping() {
            Some(mapping) => {
                let what = what.to_owned();
                // Most mappings of the formats know about so many keys.
                let (known, missing, nullable) = (Vec::with_capacity(24), Vec::new(), Vec::new());
                Some(Fields {
                    reader: self,
                    span: node.span,
                    mapping,
                    what,
                    known,
                    missing,
                    nullable,
                    others: &[],
                    elsewhere: &[],
                    around: &[],
                    deciding: &[],
                    forms: (&[], &[]),
                })
            }
            None => {
                self.wrong_type(node, what, "a mapping");
                None
            }
        }
    }
    /// Text, or a report.
    pub fn text<'n>(&self, node: &'n Node, what: &str) -> Option<&'n Text> {
        let text = node.string();
        if text.is_none() {
            self.report(self.mistyped(node, what, "text", quoted(node)));
        }
        text
    }
    /// A whole number in a range, or a report.
    pub fn integer(&self, node: &Node, what: &str, range: RangeInclusive<i64>) -> Option<i64> {
        match node.scalar() {
            Some((Scalar::Int(i), _)) if range.contains(&i) => Some(i),
            Some((Scalar::Int(_) | Scalar::UInt(_), t)) => {
                let bounds = if *range.end() == i64::MAX {
                    format!("at least {}", range.start())
                } else {
                    format!("from {} to {}", range.start(), range.end())
                };
                self.error("out-of-range", node.span, format!("`{what}` must be {bounds}, not {}", t.value));
                None
            }
            Some((Scalar::Float(_), t)) if t.value.bytes().all(|b| b.is_ascii_digit()) => {
                let message = format!("`{what}` is too large: {}", t.value);
                self.error("out-of-range", node.span, message);
                None
            }
            Some((Scalar::Float(_), t)) => {
                let message = format!("`{what}` must be a whole number, not {}", t.value);
                self.error("wrong-type", node.span, message);
                None
            }
            _ => {
                let fits = |text: &str| text.parse::<i64>().is_ok_and(|n| range.contains(&n));
                self.not_a_number(node, what, "a whole number", number::unit_of(what), fits);
                None
            }
        }
    }
    /// A number in a range, or a report.
    pub fn number(&self, node: &Node, what: &str, range: RangeInclusive<f64>) -> Option<f64> {
        let value = match node.scalar() {
            Some((Scalar::Int(i), _)) => i as f64,
            Some((Scalar::UInt(i), _)) => i as f64,
            Some((Scalar::Float(f), _)) => f,
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
        self.error("out-of-range", node.span, format!("`{what}` must be {bounds}, not {value}"));
        None
    }
    /// `true` or `false`, or a report.
    pub fn boolean(&self, node: &Node, what: &str) -> Option<bool> {
        match node.scalar() {
            Some((Scalar::Bool(b), _)) => Some(b),
            _ => {
                let meant = match node.string().map(|t| t.value.to_ascii_lowercase()).as_deref() {
                    Some("true" | "yes" | "on") => Some("true".to_owned()),
                    Some("false" | "no" | "off") => Some("false".to_owned()),
                    _ => None,
                };
                self.report(self.mistyped(node, what, "true or false", meant));
                None
            }
        }
    }
    /// A list, or a report.
    pub fn list<'n>(&self, node: &'n Node, what: &str) -> Option<&'n [Node]> {
        let items = node.sequence();
        if items.is_none() {
            self.wrong_type(node, what, "a list");
        }
        items
    }
    /// One of some words, or a report with the nearest.
    pub fn word<T: Copy>(&self, node: &Node, what: &str, words: &[(&str, T)]) -> Option<T> {
        let all = || words.iter().map(|(w, _)| format!("`{w}`")).collect::<Vec<_>>().join(", ");
        let Some(text) = node.string() else {
            // Quotes alone make no word of the list of it.
            self.report(self.mistyped(node, what, "text", None).help(format!("available: {}", all())));
            return None;
        };
        if let Some((_, value)) = words.iter().find(|(w, _)| *w == &*text.value) {
            return Some(*value);
        }
        let mut d =
            Diagnostic::error("unknown-value", self.at(node.span), format!("`{what}` cannot be `{}`", text.value));
        let near = suggest::near(&text.value, words.iter().map(|(w, _)| *w)).or_else(|| begun(&text.value, words));
        d = match near {
            Some(near) => {
                let d = d.help(format!("did you mean `{}`? available: {}", near.name, all()));
                respelt(d, self.at(node.span), text, near)
            }
            None => match words {
                [(word, _)] => {
                    let only = suggest::Near { name: word, distance: usize::MAX, sure: false };
                    respelt(d.help(format!("write `{word}`")), self.at(node.span), text, only)
                }
                _ => d.help(format!("available: {}", all())),
            },
        };
        self.report(d);
        None
    }
}

/// The only word that a text is the start of (`trunc`).
fn begun<'w, T>(text: &str, words: &[(&'w str, T)]) -> Option<suggest::Near<'w>> {
    let mut all = words.iter().map(|(w, _)| *w).filter(|w| text.len() > 2 && w.starts_with(text));
    let name = all.next().filter(|_| all.next().is_none())?;
    Some(suggest::Near { name, distance: name.len() - text.len(), sure: false })
}

/// A mapping that is read key by key; [`Fields::finish`] reports the keys that were not read.
pub struct Fields<'n, 'd> {
    /// The file's reader.
    pub reader: &'d Reader<'d>,
    /// The mapping's bytes.
    pub span: Span,
    mapping: &'n Mapping,
    what: String,
    known: Vec<&'static str>,
    /// Keys that had to be there and are not. They are reported at the end, unless another key was meant to be one of them.
    missing: Vec<&'static str>,
    /// Keys for which null is a value, or about which all is said.
    nullable: Vec<&'static str>,
    /// What people write for a key, and the key.
    others: &'static [(&'static str, &'static str)],
    /// Keys of other mappings that people write here, and where they belong.
    elsewhere: &'static [(&'static str, &'static str)],
    /// Keys of the mapping around this one that may follow it.
    around: &'static [&'static str],
    /// Keys that decide what runs, each with what happens without it.
    deciding: &'static [(&'static str, &'static str)],
    /// Keys whose values are lists, and keys whose values are texts or numbers.
    forms: (&'static [&'static str], &'static [&'static str]),
}

impl<'n, 'd> Fields<'n, 'd> {
    /// All that is written.
    pub fn mapping(&self) -> &'n Mapping {
        self.mapping
    }
    /// The entry of a key; null counts as absent.
    pub fn take(&mut self, key: &'static str) -> Option<&'n Entry> {
        self.known.push(key);
        self.mapping.get(key).filter(|e| !e.value.is_null())
    }
    /// The entry of a key, null or not.
    pub fn take_nullable(&mut self, key: &'static str) -> Option<&'n Entry> {
        self.known.push(key);
        self.nullable.push(key);
        self.mapping.get(key)
    }
    /// The entry of a key, or a report at the end that it is missing.
    pub fn require(&mut self, key: &'static str) -> Option<&'n Entry> {
        let entry = self.take(key);
        if entry.is_none() {
            self.missing.push(key);
        }
        entry
    }
    /// The place to report if one of these keys needs a value: the key without one, else the start of the mapping.
    pub fn lack(&self, keys: &[&str]) -> Span {
        keys.iter().find_map(|key| self.mapping.get(key)).map_or_else(|| self.head(), |e| e.key.span)
    }
    /// Words of other systems for keys of this mapping, for the reports about unknown keys.
    pub fn also_called(&mut self, others: &'static [(&'static str, &'static str)]) {
        self.others = others;
    }
    /// Keys that belong in other mappings of the format, each with the place where.
    pub fn elsewhere(&mut self, places: &'static [(&'static str, &'static str)]) {
        self.elsewhere = places;
    }
    /// Keys that decide what runs, each with what happens without it: a slip in one of them is an error, not only a key that
    /// has no effect.
    pub fn deciding(&mut self, keys: &'static [(&'static str, &'static str)]) {
        self.deciding = keys;
    }
    /// Keys that belong to the mapping around this one, and that a block of text at its end can have swallowed.
    pub fn around(&mut self, keys: &'static [&'static str]) {
        self.around = keys;
    }
    /// The key of a mapping that is written as a word of another system for `name`.
    pub fn written_as(&self, name: &str) -> Option<&'n Entry> {
        let words = self.others.iter().filter(|(_, key)| *key == name);
        words.into_iter().find_map(|(word, _)| self.mapping.get(word))
    }
    /// Which keys have lists as their values, and which have texts or numbers: what has another value was not meant by a
    /// word that is none of these.
    pub fn forms(&mut self, lists: &'static [&'static str], scalars: &'static [&'static str]) {
        self.forms = (lists, scalars);
    }
    /// What the value of a key would have to be, where another one is not.
    fn misfit(&self, key: &str, value: &Node) -> Option<&'static str> {
        let (lists, scalars) = self.forms;
        match &*value.kind {
            Kind::Sequence(_) => scalars.contains(&key).then_some("one value, not a list"),
            Kind::Mapping(_) if scalars.contains(&key) => Some("one value, not a mapping"),
            _ => lists.contains(&key).then_some("a list"),
        }
    }
    /// The place to point at when something is missing: the first key, or the empty mapping.
    pub fn head(&self) -> Span {
        self.mapping.entries.first().map_or(self.span, |e| e.key.span)
    }
    /// Text of a key.
    pub fn text(&mut self, key: &'static str) -> Option<&'n Text> {
        let entry = self.take(key)?;
        self.reader.text(&entry.value, key)
    }
    /// Text of a key that must be there.
    pub fn require_text(&mut self, key: &'static str) -> Option<&'n Text> {
        let entry = self.require(key)?;
        self.reader.text(&entry.value, key)
    }
    /// A whole number of a key.
    pub fn integer(&mut self, key: &'static str, range: RangeInclusive<i64>) -> Option<i64> {
        let entry = self.take(key)?;
        self.reader.integer(&entry.value, key, range)
    }
    /// A number of a key.
    pub fn number(&mut self, key: &'static str, range: RangeInclusive<f64>) -> Option<f64> {
        let entry = self.take(key)?;
        self.reader.number(&entry.value, key, range)
    }
    /// A boolean of a key.
    pub fn boolean(&mut self, key: &'static str) -> Option<bool> {
        let entry = self.take(key)?;
        self.reader.boolean(&entry.value, key)
    }
    /// A list of a key.
    pub fn list(&mut self, key: &'static str) -> Option<&'n [Node]> {
        let entry = self.take(key)?;
        self.reader.list(&entry.value, key)
    }
    /// One of some words of a key.
    pub fn word<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let entry = self.take(key)?;
        self.reader.word(&entry.value, key, words)
    }
    /// The fields of a key's mapping.
    pub fn fields(&mut self, key: &'static str) -> Option<Fields<'n, 'd>> {
        let entry = self.take(key)?;
        self.reader.fields(&entry.value, key)
    }
    /// The entry of a key, without asking for it.
    pub fn entry(&self, key: &str) -> Option<&'n Entry> {
        self.mapping.get(key)
    }
    /// Whether this key was read already.
    pub fn is_known(&self, key: &str) -> bool {
        self.known.contains(&key)
    }
    /// All entries of a mapping whose keys are the user's.
    pub fn entries(&self) -> &'n [Entry] {
        &self.mapping.entries
    }
    /// Names keys that are known and have no effect here: each present one is a warning that says so (nothing is silently ignored).
    pub fn no_effect(&mut self, keys: &[&'static str], why: &str) {
        for key in keys {
            if let Some(entry) = self.take_nullable(key) {
                self.reader.warning("no-effect", entry.key.span, format!("`{key}` has no effect: {why}"));
            }
        }
    }
    /// Reports a key that is surely a misspelling of one that was read; other keys are the user's own.
    pub fn misspelt(self) {
        for entry in &self.mapping.entries {
            let key = &*entry.key.value;
            let near = suggest::near(key, self.known.iter().copied()).filter(|near| near.sure);
            if let Some(near) = near.filter(|n| !self.known.contains(&key) && self.mapping.get(n.name).is_none()) {
                let message = format!("{} has no key `{key}`", self.what);
                let d = Diagnostic::warning("unknown-key", self.reader.at(entry.key.span), message)
                    .help(format!("did you mean `{}`?", near.name));
                self.reader.report(respelt(d, self.reader.at(entry.key.span), &entry.key, near));
            }
        }
    }
    /// Whatever is to be said of a null at these keys has been said.
    pub fn settle(&mut self, keys: &[&'static str]) {
        self.nullable.extend(keys);
    }
    /// Reports the keys that were not read (decision C6), and those without a value.
    pub fn finish(mut self) {
        self.without_value();
        self.mapping.entries.iter().for_each(|entry| self.note_block(entry));
        let meant = self.report_unknown();
        self.missing.retain(|key| !meant.contains(key));
    }
}

/// Whoever stops reading early has still required what is missing.
impl Drop for Fields<'_, '_> {
    fn drop(&mut self) {
        for key in &self.missing {
            self.reader.error("missing-key", self.lack(&[key]), format!("{} needs `{key}`", self.what));
        }
    }
}

impl Fields<'_, '_> {
    /// Notes the lines of a block of text that start like keys that are not there.
    fn note_block(&self, entry: &Entry) {
        let Some(text) = entry.value.string().filter(|t| t.style == Style::Literal) else { return };
        let mut lines = Vec::new();
        let mut start = 0;
        for line in text.value.split_inclusive('\n') {
            let at = start + (line.len() - line.trim_start().len());
            start += line.len();
            let Some((word, _)) = line.trim().split_once(':') else { continue };
            let absent = |key: &&&'static str| **key == word && self.mapping.get(word).is_none();
            let Some(key) = self.known.iter().chain(self.around).find(absent) else { continue };
            let outer = self.around.contains(key);
            lines.push(KeyLine { at, key, outer, follows: outer && self.follows(entry.value.span, key) });
        }
        if !lines.is_empty() {
            let block = TextBlock { file: self.reader.file, key: entry.key.clone(), text: text.clone(), lines };
            self.reader.findings.borrow_mut().blocks.push(block);
        }
    }
    /// Whether one of the lines after a value starts with this key.
    fn follows(&self, value: Span, key: &str) -> bool {
        let behind = self.reader.text.and_then(|t| t.get(value.end as usize..)).unwrap_or_default();
        let mut lines = behind.lines().map(str::trim_start).filter(|line| !line.is_empty()).take(8);
        lines.any(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))
    }
    /// A key with its colon and nothing after it: unfinished or emptied. An explicit `null` is meant.
    fn without_value(&self) {
        let known =
            |key: &str| self.known.contains(&key) && !self.missing.contains(&key) && !self.nullable.contains(&key);
        for entry in &self.mapping.entries {
            if let Some((Scalar::Null, text)) = entry.value.scalar()
                && text.value.is_empty()
                && known(&entry.key.value)
            {
                let message = format!("`{}` has no value, so it has no effect", entry.key.value);
                self.reader.warning("no-effect", entry.key.span, message);
            }
        }
    }
}

/// A number or boolean as the text that it looks like.
fn quoted(node: &Node) -> Option<String> {
    match node.scalar()? {
        (Scalar::Null | Scalar::Str, _) => None,
        (_, text) => Some(format!("\"{}\"", text.value)),
    }
}

/// A node as plain data (schemas, contexts, defaults, tool arguments).
pub fn to_value(node: &Node) -> Value {
    match &*node.kind {
        Kind::Scalar(scalar, text) => match scalar {
            Scalar::Null => Value::Null,
            Scalar::Bool(b) => Value::Bool(*b),
            Scalar::Int(i) => Value::Number(Number::Int(*i)),
            Scalar::UInt(u) => Value::Number(Number::UInt(*u)),
            Scalar::Float(f) => Value::Number(Number::Float(*f)),
            Scalar::Str => Value::Str(text.value.clone()),
        },
        Kind::Sequence(items) => Value::List(Arc::new(items.iter().map(to_value).collect())),
        Kind::Mapping(m) => Value::Object(Arc::new(
            m.entries.iter().map(|e| (e.key.value.clone(), to_value(&e.value))).collect::<Object>(),
        )),
    }
}
