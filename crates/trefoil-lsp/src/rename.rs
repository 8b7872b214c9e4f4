//! Rename: a step, state, node, agent, input or key and all references to it, in all files of the folder.
//!
//! Things that share a name are renamed together: a step without a key is named by its agent's id. An id with hyphens
//! has a second form in templates (`web-researcher` is `webResearcher`); each place keeps its form.

use trefoil_ir::facts::{Declaration, DeclarationKind};
use trefoil_syntax::yaml::{Scalar, Style};
use trefoil_syntax::{Diagnostic, Edit, FileId, Location, Severity, Span};
use trefoil_template::policy::ConditionGrammar;

use crate::analysis::Analysis;
use crate::cursor::{On, spot};

/// What can be renamed at an offset: its bytes, and its name as written there.
pub fn prepare(analysis: &Analysis, file: FileId, offset: u32) -> Option<(Span, String)> {
    let (declaration, at) = analysis.declaration_at(file, offset)?;
    let name = analysis.text_at(at);
    is_written(analysis, &group(analysis, declaration), name).then(|| (at.span, name.to_owned()))
}

/// Whether the name is written in declarations. A file that is referred to by its path cannot be renamed.
fn is_written(analysis: &Analysis, group: &[&Declaration], name: &str) -> bool {
    let own = |d: &&&Declaration| {
        let written = analysis.text_at(d.at);
        *d.name == *written || *d.name == camel(written)
    };
    let written = Spellings::new(group.iter().map(|d| analysis.text_at(d.at)), "");
    !name.is_empty() && group.iter().filter(own).count() == group.len() && written.of(name).is_some()
}

/// A rename: the edits, and what must stay the same.
#[derive(Debug)]
pub struct Rename {
    /// The changes, by file and place.
    pub edits: Vec<Edit>,
    /// Each renamed thing and its number of references.
    counts: Vec<(Location, usize)>,
}

/// The edits that rename what is at an offset, or why this is impossible.
pub fn rename(analysis: &Analysis, file: FileId, offset: u32, new: &str) -> Result<Rename, String> {
    let Some((declaration, here)) = analysis.declaration_at(file, offset) else {
        return Err("nothing here can be renamed".to_owned());
    };
    let group = group(analysis, declaration);
    let old = analysis.text_at(here).to_owned();
    if !is_written(analysis, &group, &old) {
        return Err(format!("`{old}` is not defined in a manifest"));
    }
    valid(new)?;
    let mut places: Vec<Location> = group.iter().map(|d| d.at).collect();
    let facts = analysis.facts();
    let mentions: Vec<_> =
        facts.mentions.iter().filter(|m| m.to.is_some_and(|to| group.iter().any(|d| d.at == to))).collect();
    places.extend(mentions.iter().map(|m| m.at));
    places.sort();
    places.dedup();
    let spellings = Spellings::new(group.iter().map(|d| analysis.text_at(d.at)), new);
    let mut edits = Vec::new();
    for at in places {
        let Some(text) = spellings.of(analysis.text_at(at)) else { continue };
        let python = analysis
            .scope_at(at.file, at.span.start)
            .is_some_and(|s| s.condition && s.policy.conditions == ConditionGrammar::Python);
        if python && !new.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Err(format!("a condition reads `{old}` but could not read `{new}`; use letters, digits and `_`"));
        }
        if plain(analysis, at) && !keeps_its_type(&text) {
            return Err(format!("without quotes, `{new}` is not text in YAML"));
        }
        edits.push(Edit { location: at, text });
    }
    clash(analysis, &group, new)?;
    let count = |d: &&Declaration| (d.at, facts.mentions.iter().filter(|m| m.to == Some(d.at)).count());
    Ok(Rename { edits, counts: group.iter().map(count).collect() })
}

/// All declarations that share their name's text with this one.
fn group<'a>(analysis: &'a Analysis, first: &'a Declaration) -> Vec<&'a Declaration> {
    let facts = analysis.facts();
    let mut group = vec![first];
    let mut next = 0;
    while let Some(one) = group.get(next).copied() {
        next += 1;
        // Declarations that this text refers to, and declarations that refer to it by the same text.
        let named = facts.mentions.iter().filter(|m| m.at == one.at && !m.template).filter_map(|m| m.to);
        let naming = facts.mentions.iter().filter(|m| m.to == Some(one.at) && !m.template).map(|m| m.at);
        for at in named.chain(naming) {
            if let Some(d) = analysis.declaration(at).filter(|d| !group.iter().any(|g| g.at == d.at)) {
                group.push(d);
            }
        }
    }
    group
}

/// Checks that a name can be used in a path of every dialect and in YAML.
fn valid(new: &str) -> Result<(), String> {
    let refused = r#"{}.|=!<>&()"'#/+*,[]:@%`\"#;
    if new.is_empty() {
        return Err("a name cannot be empty".to_owned());
    }
    if let Some(c) = new.chars().find(|c| c.is_whitespace() || c.is_control() || refused.contains(*c)) {
        return Err(match c {
            c if c.is_whitespace() => "a name cannot contain spaces".to_owned(),
            c => format!("`{c}` is not allowed in a name"),
        });
    }
    if !new.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return Err(format!("`{new}` does not start with a letter or `_`"));
    }
    Ok(())
}

/// Whether the place is an unquoted scalar.
fn plain(analysis: &Analysis, at: Location) -> bool {
    let Some(root) = analysis.tree(at.file) else { return false };
    match spot(root, at.span.start).on {
        On::Key(text) | On::Value(text) => text.style == Style::Plain && text.content() == at.span,
        On::Between => false,
    }
}

/// Whether a text without quotes is a string in YAML.
fn keeps_its_type(text: &str) -> bool {
    let source = trefoil_syntax::SourceFile::new("", text);
    let parsed = trefoil_syntax::yaml::parse(FileId(0), &source, &Default::default());
    parsed.diagnostics.is_empty() && parsed.root.is_some_and(|r| r.scalar().is_some_and(|(s, _)| s == Scalar::Str))
}

/// Whether another thing of the same kind already has the new name.
fn clash(analysis: &Analysis, group: &[&Declaration], new: &str) -> Result<(), String> {
    for d in group {
        let global = matches!(d.kind, DeclarationKind::Agent | DeclarationKind::Workflow) && d.parent.is_none();
        let taken = analysis.facts().declarations.iter().find(|other| {
            let same = if global {
                matches!(other.kind, DeclarationKind::Agent | DeclarationKind::Workflow) && other.parent.is_none()
            } else {
                other.parent == d.parent && other.at.file == d.at.file && !are_apart(d.kind, other.kind)
            };
            same && (&*other.name == new || analysis.text_at(other.at) == new)
                && !group.iter().any(|g| g.at == other.at)
        });
        if let Some(taken) = taken {
            let line = analysis.source(taken.at.file).map(|s| (s.name(), s.position(taken.at.span.start).line));
            let (name, line) = line.unwrap_or_default();
            return Err(format!("`{new}` is already used in {name}:{line}"));
        }
    }
    Ok(())
}

/// Whether things of these kinds may share a name, because no reference could mean the wrong one. [`Rename::verify`]
/// checks this again after the edits.
fn are_apart(one: DeclarationKind, other: DeclarationKind) -> bool {
    use DeclarationKind::{Agent, Key, Node, State, Step};
    let apart = |a, b| matches!((a, b), (Agent, Node | State | Step | Key) | (Key, Node));
    apart(one, other) || apart(other, one)
}

/// The possible spellings of the name, and their replacements.
struct Spellings {
    pairs: Vec<(String, String)>,
}

impl Spellings {
    fn new<'t>(written: impl Iterator<Item = &'t str>, new: &str) -> Self {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for old in written {
            for (old, new) in [(old.to_owned(), new.to_owned()), (camel(old), camel(new))] {
                if !pairs.iter().any(|(o, _)| *o == old) {
                    pairs.push((old, new));
                }
            }
        }
        Self { pairs }
    }
    /// The new text of a place; `None` if it has an unrelated text (an alias in YAML).
    fn of(&self, text: &str) -> Option<String> {
        // `id@latest`
        let (name, rest) = text.find('@').map_or((text, ""), |at| text.split_at(at));
        self.pairs.iter().find(|(old, _)| old == name).map(|(_, new)| format!("{new}{rest}"))
    }
}

/// The form of `web-researcher` in templates: `webResearcher`.
pub(crate) fn camel(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(next) if c == '-' && next.is_ascii_lowercase() => {
                out.push(next.to_ascii_uppercase());
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}

impl Rename {
    /// Compares the analyses before and after the edits: there must be no new findings, and the number of references
    /// must be the same.
    pub fn verify(
        &self,
        before: &Analysis,
        after: &Analysis,
        path: impl Fn(FileId) -> Option<FileId>,
    ) -> Result<(), String> {
        // A new warning may also indicate a change of meaning: an input that is passed by its name, or an example that
        // repeats a property.
        let said = |a: &Analysis| -> Vec<(&'static str, Severity)> {
            a.diagnostics().iter().filter(|d| d.severity > Severity::Info).map(|d| (d.rule, d.severity)).collect()
        };
        let mut known = said(before);
        let is_new = |d: &&Diagnostic| {
            let at = known.iter().position(|known| *known == (d.rule, d.severity));
            at.map(|at| known.swap_remove(at)).is_none()
        };
        let mut new: Vec<&Diagnostic> =
            after.diagnostics().iter().filter(|d| d.severity > Severity::Info).filter(is_new).collect();
        new.sort_by_key(|d| std::cmp::Reverse(d.severity));
        if let Some(d) = new.first() {
            let would = if d.severity == Severity::Error { "fail" } else { "warn" };
            return Err(format!("with this name the check would {would}: {}", d.message));
        }
        for (at, count) in &self.counts {
            let Some(file) = path(at.file) else { continue };
            let moved = Location::new(file, self.moved(*at));
            let now = after.facts().mentions.iter().filter(|m| m.to == Some(moved)).count();
            if now != *count {
                return Err("this name would change the meaning of other references".to_owned());
            }
        }
        Ok(())
    }
    /// The place of a declaration after the edits.
    fn moved(&self, at: Location) -> Span {
        let (mut start, mut end) = (i64::from(at.span.start), i64::from(at.span.end));
        for edit in self.edits.iter().filter(|e| e.location.file == at.file) {
            let grown = edit.text.len() as i64 - i64::from(edit.location.span.len());
            if edit.location.span.end <= at.span.start {
                start += grown;
                end += grown;
            } else if edit.location.span == at.span {
                end += grown;
            }
        }
        Span::new(u32::try_from(start).unwrap_or(0), u32::try_from(end).unwrap_or(0))
    }
}

/// Applies edits to a text.
pub fn apply<'e>(text: &str, edits: impl IntoIterator<Item = &'e Edit>) -> String {
    let mut edits: Vec<&Edit> = edits.into_iter().collect();
    edits.sort_by_key(|e| std::cmp::Reverse(e.location.span.start));
    let mut out = text.to_owned();
    for edit in edits {
        let range = edit.location.span.start as usize..edit.location.span.end as usize;
        if out.get(range.clone()).is_some() {
            out.replace_range(range, &edit.text);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Spellings, camel, valid};

    #[test]
    fn both_forms_of_an_id_are_kept_apart() {
        assert_eq!(camel("web-researcher-2b"), "webResearcher-2b");
        let spellings = Spellings::new(["web-researcher"].into_iter(), "deep-search");
        assert_eq!(spellings.of("web-researcher").as_deref(), Some("deep-search"));
        assert_eq!(spellings.of("webResearcher").as_deref(), Some("deepSearch"));
        assert_eq!(spellings.of("web-researcher@latest").as_deref(), Some("deep-search@latest"));
        assert_eq!(spellings.of("other"), None);
    }

    #[test]
    fn names_that_paths_cannot_have_are_refused() {
        for bad in ["", "a b", "a.b", "1a", "{{x}}", "a|b", "-a"] {
            assert!(valid(bad).is_err(), "{bad}");
        }
        for good in ["a", "web-researcher", "_x1", "É"] {
            assert!(valid(good).is_ok(), "{good}");
        }
    }
}
