//! Rename: a step, state, node, agent, input or key and all references to it, in all files of the folder.
//!
//! Things that share a name are renamed together: a step without a key is named by its agent's id. An id with hyphens
//! has a second form in templates (`web-researcher` is `webResearcher`); each place keeps its form.

use trefoil_ir::facts::{DeclarationKind, NameDeclaration};
use trefoil_syntax::yaml::{YamlScalar, YamlStyle};
use trefoil_syntax::{Diagnostic, FileId, FindingSeverity, Location, SourceEdit, Span};
use trefoil_template::policy::ConditionGrammar;

use crate::analysis::FolderAnalysis;
use crate::cursor::{TreeElement, find_position};

/// What can be renamed at an offset: its bytes, and its name as written there.
pub fn prepare_rename(analysis: &FolderAnalysis, file: FileId, offset: u32) -> Option<(Span, String)> {
    let (declaration, at) = analysis.declaration_at(file, offset)?;
    let name = analysis.text_at(at);
    if is_written(analysis, &group(analysis, declaration), name) { Some((at.span, name.to_owned())) } else { None }
}

/// Whether the name is written in declarations. A file that is referred to by its path cannot be renamed.
fn is_written(analysis: &FolderAnalysis, group: &[&NameDeclaration], name: &str) -> bool {
    for declaration in group {
        let written = analysis.text_at(declaration.at);
        if *declaration.name != *written && *declaration.name != camel_case(written) {
            return false;
        }
    }
    !name.is_empty() && spellings_of(analysis, group, "").replacement_for(name).is_some()
}

/// The spellings of a name in its declarations.
fn spellings_of(analysis: &FolderAnalysis, group: &[&NameDeclaration], new: &str) -> NameSpellings {
    NameSpellings::new(group.iter().map(|d| analysis.text_at(d.at)), new)
}

/// A rename: the edits, and what must stay the same.
#[derive(Debug)]
pub struct RenamePlan {
    /// The changes, by file and place.
    pub edits: Vec<SourceEdit>,
    /// Each renamed thing and its number of references.
    counts: Vec<(Location, usize)>,
}

/// The edits that rename what is at an offset, or why this is impossible.
pub fn plan_rename(analysis: &FolderAnalysis, file: FileId, offset: u32, new: &str) -> Result<RenamePlan, String> {
    let Some((declaration, here)) = analysis.declaration_at(file, offset) else {
        return Err("nothing here can be renamed".to_owned());
    };
    let group = group(analysis, declaration);
    let old = analysis.text_at(here).to_owned();
    if !is_written(analysis, &group, &old) {
        return Err(format!("`{old}` is not defined in a manifest"));
    }
    valid(new)?;
    let spellings = spellings_of(analysis, &group, new);
    let mut edits = Vec::new();
    for at in places_of(analysis, &group) {
        let Some(text) = spellings.replacement_for(analysis.text_at(at)) else { continue };
        if in_python_condition(analysis, at) && !new.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Err(format!("a condition reads `{old}` but could not read `{new}`; use letters, digits and `_`"));
        }
        if plain(analysis, at) && !keeps_its_type(&text) {
            return Err(format!("without quotes, `{new}` is not text in YAML"));
        }
        edits.push(SourceEdit { location: at, text });
    }
    clash(analysis, &group, new)?;
    let counts = group.iter().map(|d| (d.at, count_references(analysis, d.at))).collect();
    Ok(RenamePlan { edits, counts })
}

/// The places of the names of some declarations, and of all references to them, in order.
fn places_of(analysis: &FolderAnalysis, group: &[&NameDeclaration]) -> Vec<Location> {
    let mut places: Vec<Location> = group.iter().map(|d| d.at).collect();
    for mention in &analysis.facts().mentions {
        if let Some(to) = mention.to
            && group.iter().any(|d| d.at == to)
        {
            places.push(mention.at);
        }
    }
    places.sort();
    places.dedup();
    places
}

fn in_python_condition(analysis: &FolderAnalysis, at: Location) -> bool {
    let Some(scope) = analysis.scope_at(at.file, at.span.start) else { return false };
    scope.condition && scope.policy.conditions == ConditionGrammar::Python
}

fn count_references(analysis: &FolderAnalysis, declaration: Location) -> usize {
    analysis.facts().mentions.iter().filter(|m| m.to == Some(declaration)).count()
}

/// All declarations that share their name's text with this one.
fn group<'a>(analysis: &'a FolderAnalysis, first: &'a NameDeclaration) -> Vec<&'a NameDeclaration> {
    let mentions = &analysis.facts().mentions;
    let mut group = vec![first];
    let mut next = 0;
    while let Some(declaration) = group.get(next).copied() {
        next += 1;
        // Declarations that this text refers to, and declarations that refer to it by the same text.
        let mut related: Vec<Location> = Vec::new();
        for mention in mentions {
            if mention.at == declaration.at && !mention.template {
                related.extend(mention.to);
            }
        }
        for mention in mentions {
            if mention.to == Some(declaration.at) && !mention.template {
                related.push(mention.at);
            }
        }
        for at in related {
            if let Some(other) = analysis.declaration_of_name(at)
                && !group.iter().any(|known| known.at == other.at)
            {
                group.push(other);
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
fn plain(analysis: &FolderAnalysis, at: Location) -> bool {
    let Some(root) = analysis.yaml_tree(at.file) else { return false };
    match find_position(root, at.span.start).element {
        TreeElement::Key(text) | TreeElement::Value(text) => {
            text.style == YamlStyle::Plain && text.content_span() == at.span
        }
        TreeElement::Between => false,
    }
}

/// Whether a text without quotes is a string in YAML.
fn keeps_its_type(text: &str) -> bool {
    let source = trefoil_syntax::SourceFile::new("", text);
    let parsed = trefoil_syntax::yaml::parse(FileId(0), &source, &Default::default());
    let Some(root) = parsed.root else { return false };
    parsed.diagnostics.is_empty() && matches!(root.as_scalar(), Some((YamlScalar::Str, _)))
}

/// Whether another thing of the same kind already has the new name.
fn clash(analysis: &FolderAnalysis, group: &[&NameDeclaration], new: &str) -> Result<(), String> {
    for declaration in group {
        for other in &analysis.facts().declarations {
            if shares_names(declaration, other)
                && (&*other.name == new || analysis.text_at(other.at) == new)
                && !group.iter().any(|renamed| renamed.at == other.at)
            {
                let (name, line) = match analysis.source_file(other.at.file) {
                    Some(source) => (source.name(), source.line_column(other.at.span.start).line),
                    None => ("", 0),
                };
                return Err(format!("`{new}` is already used in {name}:{line}"));
            }
        }
    }
    Ok(())
}

/// Whether two declarations must have different names.
fn shares_names(declaration: &NameDeclaration, other: &NameDeclaration) -> bool {
    if is_global(declaration) {
        return is_global(other);
    }
    other.parent == declaration.parent
        && other.at.file == declaration.at.file
        && !are_apart(declaration.kind, other.kind)
}

fn is_global(declaration: &NameDeclaration) -> bool {
    matches!(declaration.kind, DeclarationKind::Agent | DeclarationKind::Workflow) && declaration.parent.is_none()
}

/// Whether things of these kinds may share a name, because no reference could mean the wrong one. [`RenamePlan::check_outcome`]
/// checks this again after the edits.
fn are_apart(one: DeclarationKind, other: DeclarationKind) -> bool {
    use DeclarationKind::{Agent, Key, Node, State, Step};
    let apart = |a, b| matches!((a, b), (Agent, Node | State | Step | Key) | (Key, Node));
    apart(one, other) || apart(other, one)
}

/// The possible spellings of the name, and their replacements.
struct NameSpellings {
    pairs: Vec<(String, String)>,
}

impl NameSpellings {
    fn new<'t>(written: impl Iterator<Item = &'t str>, new: &str) -> Self {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for old in written {
            for (old, new) in [(old.to_owned(), new.to_owned()), (camel_case(old), camel_case(new))] {
                if !pairs.iter().any(|(o, _)| *o == old) {
                    pairs.push((old, new));
                }
            }
        }
        Self { pairs }
    }
    /// The new text of a place; `None` if it has an unrelated text (an alias in YAML).
    fn replacement_for(&self, text: &str) -> Option<String> {
        // `id@latest`
        let (name, rest) = text.split_at(text.find('@').unwrap_or(text.len()));
        let (_, new) = self.pairs.iter().find(|(old, _)| old == name)?;
        Some(format!("{new}{rest}"))
    }
}

/// The form of `web-researcher` in templates: `webResearcher`.
pub(crate) fn camel_case(name: &str) -> String {
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

impl RenamePlan {
    /// Compares the analyses before and after the edits: there must be no new findings, and the number of references
    /// must be the same.
    pub fn check_outcome(
        &self,
        before: &FolderAnalysis,
        after: &FolderAnalysis,
        path: impl Fn(FileId) -> Option<FileId>,
    ) -> Result<(), String> {
        let mut new = new_findings(before, after);
        new.sort_by_key(|d| std::cmp::Reverse(d.severity));
        if let Some(d) = new.first() {
            let would = if d.severity == FindingSeverity::Error { "fail" } else { "warn" };
            return Err(format!("with this name the check would {would}: {}", d.message));
        }
        for (at, count) in &self.counts {
            let Some(file) = path(at.file) else { continue };
            if count_references(after, Location::new(file, self.moved(*at))) != *count {
                return Err("this name would change the meaning of other references".to_owned());
            }
        }
        Ok(())
    }
    /// The place of a declaration after the edits.
    fn moved(&self, at: Location) -> Span {
        let (mut start, mut end) = (i64::from(at.span.start), i64::from(at.span.end));
        for edit in &self.edits {
            if edit.location.file != at.file {
                continue;
            }
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

/// The errors and warnings of the second analysis that the first one does not have.
fn new_findings<'a>(before: &FolderAnalysis, after: &'a FolderAnalysis) -> Vec<&'a Diagnostic> {
    // A new warning may also indicate a change of meaning: an input that is passed by its name, or an example that
    // repeats a property.
    let mut known = Vec::new();
    for finding in before.diagnostics() {
        if finding.severity > FindingSeverity::Info {
            known.push((finding.rule, finding.severity));
        }
    }
    let mut new = Vec::new();
    for finding in after.diagnostics() {
        if finding.severity > FindingSeverity::Info {
            match known.iter().position(|known| *known == (finding.rule, finding.severity)) {
                Some(at) => {
                    known.swap_remove(at);
                }
                None => new.push(finding),
            }
        }
    }
    new
}

/// Applies edits to a text.
pub fn apply_edits<'e>(text: &str, edits: impl IntoIterator<Item = &'e SourceEdit>) -> String {
    let mut edits: Vec<&SourceEdit> = edits.into_iter().collect();
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
    use super::{NameSpellings, camel_case, valid};

    #[test]
    fn both_forms_of_an_id_are_kept_apart() {
        assert_eq!(camel_case("web-researcher-2b"), "webResearcher-2b");
        let spellings = NameSpellings::new(["web-researcher"].into_iter(), "deep-search");
        assert_eq!(spellings.replacement_for("web-researcher").as_deref(), Some("deep-search"));
        assert_eq!(spellings.replacement_for("webResearcher").as_deref(), Some("deepSearch"));
        assert_eq!(spellings.replacement_for("web-researcher@latest").as_deref(), Some("deep-search@latest"));
        assert_eq!(spellings.replacement_for("other"), None);
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
