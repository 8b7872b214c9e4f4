//! Keys of a mapping that were not read: the probably intended key, or the available ones.

use trefoil_syntax::suggestions::NearMatch;
use trefoil_syntax::yaml::{YamlEntry, YamlNodeKind, YamlScalar, YamlStyle};
use trefoil_syntax::{Diagnostic, FindingSeverity, Location, Span, suggestions};

use super::number::is_digits;
use super::{MappingReader, UNKNOWN_KEYS};
use crate::spelling_fixes::{fix_spelling, join_names};

impl MappingReader<'_, '_> {
    /// Reports the keys that were not read. Returns missing required keys that some of them were probably meant as.
    pub(super) fn report_unknown(&self) -> Vec<&'static str> {
        let mut required = Vec::new();
        let unknown: Vec<&YamlEntry> = self.unread_entries().collect();
        if unknown.is_empty() {
            return required;
        }
        let absent = |key: &&str| self.mapping.get(key).is_none();
        let free: Vec<&'static str> = self.known.iter().copied().filter(absent).collect();
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
            let at = self.reader.location_of(entry.key.span);
            if let Some((d, key)) = self.glued_key_finding(entry) {
                if self.missing.contains(&key) {
                    required.push(key);
                }
                self.reader.report_finding(d);
            } else if let Some(d) = self.comma(entry) {
                self.reader.report_finding(d);
            } else if let Some(d) = strange_space(&entry.key.value, at) {
                self.reader.report_finding(d);
            } else {
                let (d, meant) = self.unknown_key_finding(entry, &free);
                required.extend(meant);
                self.reader.report_finding(d);
            }
        }
        required
    }

    /// The entries whose keys were not read.
    fn unread_entries(&self) -> impl Iterator<Item = &YamlEntry> {
        self.mapping.entries.iter().filter(|entry| !self.known.contains(&&*entry.key.value))
    }

    /// The finding about an unknown key, and the missing required key that it was probably meant as. `free`: the known
    /// keys that are not present.
    fn unknown_key_finding(&self, entry: &YamlEntry, free: &[&'static str]) -> (Diagnostic, Option<&'static str>) {
        let key = &*entry.key.value;
        let at = self.reader.location_of(entry.key.span);
        let d = Diagnostic::new_warning("unknown-key", at, format!("{} has no key `{key}`", self.what));
        // Do not suggest a key that is already present.
        let near = suggestions::find_near_match(key, free.iter().copied())
            .or_else(|| suggestions::find_near_match(key, self.known.iter().copied()));
        let is_sure = matches!(near, Some(near) if near.sure);
        if !is_sure && let Some((_, place)) = self.elsewhere.iter().find(|(word, _)| *word == key) {
            return (d.with_help(format!("it belongs {place}")), None);
        }
        // A word of another system takes precedence over a key with a similar spelling.
        let differs_in_case_only = matches!(near, Some(near) if near.distance == 0);
        let meant = match self.others.iter().find(|(word, name)| *word == key && free.contains(name)) {
            Some((_, name)) if !differs_in_case_only => Some(NearMatch { name, distance: usize::MAX, sure: false }),
            _ => near,
        };
        match meant {
            Some(meant) => self.meant_key_finding(d, entry, meant, free),
            None if free.is_empty() => (d, None),
            None => {
                let available = join_names(free.iter().copied());
                (d.with_help(format!("it is ignored; available: {available}")), None)
            }
        }
    }

    /// The finding about a key that was probably meant as another one. Also returns that one if it is required and
    /// missing.
    fn meant_key_finding(
        &self,
        mut d: Diagnostic,
        entry: &YamlEntry,
        meant: NearMatch<'_>,
        free: &[&'static str],
    ) -> (Diagnostic, Option<&'static str>) {
        let misfit = self.misfit(meant.name, &entry.value);
        let is_free = free.contains(&meant.name);
        let mut help = format!("did you mean `{}`?", meant.name);
        if let Some(form) = misfit {
            help = format!("{help} it needs {form}");
        }
        if is_free && let Some((_, without)) = self.deciding.iter().find(|(name, _)| *name == meant.name) {
            d.severity = FindingSeverity::Error;
            let comma = if misfit.is_some() { ";" } else { "" };
            help = format!("{help}{comma} without it {without}");
        }
        if misfit.is_some() || !is_free || is_empty(entry) {
            return (d.with_help(help), None);
        }
        let missing = self.missing.iter().copied().find(|name| *name == meant.name);
        if let Some(missing) = missing {
            d.severity = FindingSeverity::Error;
            d.message = format!("{}, and lacks `{missing}`", d.message);
        }
        let at = self.reader.location_of(entry.key.span);
        (fix_spelling(d.with_help(help), at, &entry.key, meant), missing)
    }
}

impl MappingReader<'_, '_> {
    /// The finding about a key that is a required one, misspelt. The keys that are not read yet may be anything else.
    pub(super) fn misspelt_key_finding(&self, missing: &'static str) -> Option<Diagnostic> {
        let mut similar = None;
        for entry in self.unread_entries() {
            let Some(near) = suggestions::find_near_match(&entry.key.value, [missing]) else { continue };
            if similar.is_some() {
                return None;
            }
            similar = Some((entry, near));
        }
        let (entry, near) = similar?;
        if let Some((d, key)) = self.glued_key_finding(entry)
            && key == missing
        {
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
        let (key, value) = entry.key.value.split_once(':')?;
        if value.is_empty() || !is_empty(entry) {
            return None;
        }
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
        let key = &*entry.key.value;
        if !is_empty(entry) || !is_digits(key) {
            return None;
        }
        let index = self.mapping.entries.iter().position(|other| std::ptr::eq(other, entry))?;
        let before = self.mapping.entries.get(index.checked_sub(1)?)?;
        let (_, whole) = before.value.as_scalar()?;
        let whole = &*whole.value;
        if !is_digits(whole) || entry.key.span.start != before.value.span.end + 1 {
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
    let first = key.chars().next()?;
    if !first.is_whitespace() && first != '\u{200b}' {
        return None;
    }
    let message =
        format!("`{}` starts with a character that only looks like a space (U+{:04X})", key.trim(), first as u32);
    Some(Diagnostic::new_warning("unknown-key", at, message).with_help("indent the line with ordinary spaces"))
}
