//! Keys of a mapping that were not read: the probably intended key, or the available ones.

use trefoil_syntax::hash::HashSet;
use trefoil_syntax::yaml::{YamlEntry, YamlNodeKind, YamlScalar, YamlStyle};
use trefoil_syntax::{Diagnostic, FindingSeverity, Location, Span, suggestions};

use super::{MappingReader, UNKNOWN_KEYS};
use crate::spelling_fixes::{fix_spelling, join_names};

impl MappingReader<'_, '_> {
    /// Reports the keys that were not read. Returns missing required keys that some of them were probably meant as.
    pub(super) fn report_unknown(&self) -> Vec<&'static str> {
        let mut required = Vec::new();
        let unknown = self.mapping.entries.iter().filter(|entry| !self.known.contains(&&*entry.key.value));
        let unknown: Vec<&YamlEntry> = unknown.collect();
        if unknown.is_empty() {
            return required;
        }
        let present: HashSet<&str> = self.mapping.entries.iter().map(|e| &*e.key.value).collect();
        for (index, entry) in unknown.iter().enumerate() {
            if index == UNKNOWN_KEYS {
                let message = format!("{} more unknown keys of {} are not shown", unknown.len() - index, self.what);
                self.reader.report_finding(Diagnostic::new_warning(
                    "unknown-key",
                    self.reader.location_of(entry.key.span),
                    message,
                ));
                break;
            }
            let key = &*entry.key.value;
            let at = self.reader.location_of(entry.key.span);
            if let Some((d, key)) = self.glued_key_finding(entry) {
                required.extend(self.missing.iter().copied().filter(|missing| *missing == key));
                self.reader.report_finding(d);
                continue;
            }
            if let Some(d) = self.comma(entry).or_else(|| strange_space(key, at)) {
                self.reader.report_finding(d);
                continue;
            }
            let mut d = Diagnostic::new_warning("unknown-key", at, format!("{} has no key `{key}`", self.what));
            // Do not suggest a key that is already present.
            let free = |name: &str| !present.contains(name);
            let other =
                || self.others.iter().find(|(word, name)| *word == key && self.known.contains(name) && free(name));
            let known = || self.known.iter().copied();
            let near = suggestions::find_near_match(key, known().filter(|name| free(name)))
                .or_else(|| suggestions::find_near_match(key, known()));
            let foreign = |name: &'static str| suggestions::NearMatch { name, distance: usize::MAX, sure: false };
            // A word of another system takes precedence over a key with a similar spelling.
            let other = other().filter(|_| near.is_none_or(|near| near.distance > 0)).map(|(_, name)| foreign(name));
            let meant = other.or(near);
            let place = self.elsewhere.iter().find(|(word, _)| *word == key);
            if let Some((_, place)) = place.filter(|_| near.is_none_or(|near| !near.sure)) {
                d = d.with_help(format!("it belongs {place}"));
            } else if let Some(meant) = meant {
                let misfit = self.misfit(meant.name, &entry.value);
                let mut help = format!("did you mean `{}`?", meant.name);
                if let Some(form) = misfit {
                    help = format!("{help} it needs {form}");
                }
                if let Some((_, without)) = self.deciding.iter().find(|(name, _)| *name == meant.name && free(name)) {
                    d.severity = FindingSeverity::Error;
                    let comma = if misfit.is_some() { ";" } else { "" };
                    help = format!("{help}{comma} without it {without}");
                }
                let renames = misfit.is_none() && free(meant.name) && !is_empty(entry);
                if let Some(missing) = self.missing.iter().find(|name| **name == meant.name && renames) {
                    d.severity = FindingSeverity::Error;
                    d.message = format!("{}, and lacks `{missing}`", d.message);
                    required.push(*missing);
                }
                d = if renames { fix_spelling(d.with_help(help), at, &entry.key, meant) } else { d.with_help(help) };
            } else if self.known.iter().any(|name| free(name)) {
                d = d.with_help(format!(
                    "it is ignored; available: {}",
                    join_names(self.known.iter().copied().filter(|n| free(n)))
                ));
            }
            self.reader.report_finding(d);
        }
        required
    }
}

impl MappingReader<'_, '_> {
    /// The finding about a key that is a required one, misspelt. The keys that are not read yet may be anything else.
    pub(super) fn misspelt_key_finding(&self, missing: &'static str) -> Option<Diagnostic> {
        let unread = self.mapping.entries.iter().filter(|entry| !self.known.contains(&&*entry.key.value));
        let mut near =
            unread.filter_map(|entry| Some((entry, suggestions::find_near_match(&entry.key.value, [missing])?)));
        let (entry, near) = near.next().filter(|_| near.next().is_none())?;
        if let Some((d, _)) = self.glued_key_finding(entry).filter(|(_, key)| *key == missing) {
            return Some(d);
        }
        // A key of another form is another one, and one without a value has nothing to say.
        if self.misfit(missing, &entry.value).is_some() || is_empty(entry) {
            return None;
        }
        let at = self.reader.location_of(entry.key.span);
        let message = format!("{} has no key `{}`, and lacks `{missing}`", self.what, entry.key.value);
        let d = Diagnostic::new_error("unknown-key", at, message).with_help(format!("did you mean `{missing}`?"));
        Some(fix_spelling(d, at, &entry.key, near))
    }
    /// A key and its value without a space between them, `{ agent:a }`: one word. Also returns the key.
    fn glued_key_finding(&self, entry: &YamlEntry) -> Option<(Diagnostic, &'static str)> {
        let (key, value) = entry.key.value.split_once(':').filter(|(_, value)| !value.is_empty() && is_empty(entry))?;
        let key = self.known.iter().copied().find(|known| *known == key)?;
        let at = self.reader.location_of(entry.key.span);
        let message = format!("`{}` is one word, so {} has no `{key}` here", entry.key.value, self.what);
        let severity = if self.missing.contains(&key) { FindingSeverity::Error } else { FindingSeverity::Warning };
        let d = Diagnostic::new("unknown-key", severity, at, message);
        let meant = format!("{key}: {value}");
        let d = match entry.key.style {
            YamlStyle::Plain => d.with_safe_fix(format!("write `{meant}`: a key needs a space after `:`"), at, meant),
            _ => d.with_help(format!("write `{meant}`: a key needs a space after `:`")),
        };
        Some((d, key))
    }
    /// The second half of a number with a comma: in braces, a comma ends the value.
    fn comma(&self, entry: &YamlEntry) -> Option<Diagnostic> {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let key = &*entry.key.value;
        if !is_empty(entry) || !digits(key) {
            return None;
        }
        let index = self.mapping.entries.iter().position(|other| std::ptr::eq(other, entry))?;
        let before = self.mapping.entries.get(index.checked_sub(1)?)?;
        let whole = before.value.as_scalar().map(|(_, text)| &*text.value).filter(|text| digits(text))?;
        if entry.key.span.start != before.value.span.end + 1 {
            return None;
        }
        let name = &before.key.value;
        let at = self.reader.location_of(Span::new(before.value.span.start, entry.key.span.end));
        let message = format!("`{name}` is {whole}, because a comma ends the value here");
        let number = format!("{whole}.{key}");
        let d = Diagnostic::new_warning("unknown-key", at, message).with_help(format!("write `{name}: {number}`"));
        Some(d.with_safe_fix(format!("write `{number}`"), at, number))
    }
}

/// Whether a key has no value.
fn is_empty(entry: &YamlEntry) -> bool {
    matches!(&*entry.value.kind, YamlNodeKind::Scalar(YamlScalar::Null, text) if text.value.is_empty())
}

/// A key that starts with a space character that YAML treats as a letter.
fn strange_space(key: &str, at: Location) -> Option<Diagnostic> {
    let first = key.chars().next().filter(|c| c.is_whitespace() || *c == '\u{200b}')?;
    let message =
        format!("`{}` starts with a character that only looks like a space (U+{:04X})", key.trim(), first as u32);
    Some(Diagnostic::new_warning("unknown-key", at, message).with_help("indent the line with ordinary spaces"))
}
