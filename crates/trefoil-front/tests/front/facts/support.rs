//! The facts about names of a folder of manifests, as text.

use std::fmt::Write;

use trefoil_front::{FrontEnd, ManifestDocument, Project};
use trefoil_ir::types::{ValueKind, ValueType};
use trefoil_ir::{FactDetail, Facts, ValuePresence};
use trefoil_syntax::{Diagnostic, DiagnosticList, FindingSeverity, Location, SourceFile, SourceFiles, Span, yaml};
use trefoil_template::Value;

use crate::support::about_names;

pub struct Learned {
    pub files: SourceFiles,
    pub facts: Facts,
    pub diagnostics: DiagnosticList,
}

/// Loads a folder and lowers its first file.
pub fn learn(front: &'static dyn FrontEnd, manifests: &[(&str, &str)]) -> Learned {
    learn_as(front, manifests, 0)
}

pub fn learn_as(front: &'static dyn FrontEnd, manifests: &[(&str, &str)], entry: usize) -> Learned {
    let mut project = Project::default();
    for (name, text) in manifests {
        let file = SourceFile::new(*name, *text);
        let id = project.files.add_file(file.clone());
        let parsed = yaml::parse(id, &file, &yaml::YamlLimits::default());
        assert!(parsed.diagnostics.is_empty(), "{name} is YAML");
        project.documents.push(ManifestDocument {
            file: id,
            path: (*name).to_owned(),
            root: parsed.root.unwrap(),
            front,
            project: 0,
        });
    }
    let linked = trefoil_lint::link_with_findings(front.compile_documents(&project, &[entry], FactDetail::Scopes));
    let mut diagnostics = DiagnosticList::default();
    diagnostics.extend(about_names(&linked));
    diagnostics.extend(linked.found);
    Learned { files: project.files, facts: linked.facts, diagnostics }
}

impl Learned {
    /// The bytes at a place.
    pub fn text(&self, at: Location) -> &str {
        &self.files.get(at.file).unwrap().text()[at.span.start as usize..at.span.end as usize]
    }

    /// `line:column`, with the file name if there are several files.
    fn place(&self, at: Location) -> String {
        let file = self.files.get(at.file).unwrap();
        let p = file.line_column(at.span.start);
        let name = if self.files.iter().count() > 1 { format!("{} ", file.name()) } else { String::new() };
        format!("{name}{}:{}", p.line, p.column)
    }

    /// Declarations, one on each line, in file order: `line:column kind name: type (note)`.
    pub fn declarations(&self) -> String {
        let mut all: Vec<_> = self.facts.declarations.iter().collect();
        all.sort_by_key(|d| d.at);
        let mut out = String::new();
        for d in all {
            let parent = d.parent.map(|p| format!(" in {}", self.place(p))).unwrap_or_default();
            let note = d.note.as_deref().map(|n| format!(" ({n})")).unwrap_or_default();
            let kind = format!("{:?}", d.kind).to_lowercase();
            let (at, schema) = (self.place(d.at), spell(&d.schema));
            writeln!(out, "{at} {kind} {}: {schema}{note}{parent}", d.name).unwrap();
        }
        out
    }

    /// Mentions, one on each line: `line:column text -> line:column kind: type`, with `?` if it may be undefined and
    /// `!` if it is.
    pub fn mentions(&self) -> String {
        let mut all: Vec<_> = self.facts.mentions.iter().collect();
        all.sort_by_key(|m| (m.at, m.to));
        let mut out = String::new();
        for m in all {
            let to = match m.to.map(|to| (to, self.facts.declaration_at(to))) {
                Some((to, Some(d))) => format!("{} {}", self.place(to), format!("{:?}", d.kind).to_lowercase()),
                Some((to, None)) => format!("{} ???", self.place(to)),
                None => "-".to_owned(),
            };
            let defined = mark(m.defined);
            let schema = if m.template { format!(": {}", spell(&m.schema)) } else { String::new() };
            writeln!(out, "{} {}{defined} -> {to}{schema}", self.place(m.at), self.text(m.at)).unwrap();
        }
        out
    }

    /// Scopes, one on each line: `line:column position: names`.
    pub fn scopes(&self) -> String {
        let mut all: Vec<_> = self.facts.scopes.iter().collect();
        all.sort_by_key(|s| s.at);
        let mut out = String::new();
        for s in all {
            let names: Vec<String> = s.names.iter().map(|n| format!("{}{}", n.name, mark(n.defined))).collect();
            let condition = if s.condition { " condition" } else { "" };
            let position = format!("{:?}", s.position).to_lowercase();
            let at = self.place(s.at);
            writeln!(
                out,
                "{at} {position}{}: {}",
                if position == "condition" { "" } else { condition },
                names.join(" ")
            )
            .unwrap();
        }
        out
    }

    pub fn story(&self) -> String {
        let mut out = String::new();
        for (_, file) in self.files.iter() {
            writeln!(out, "--- {}", file.name()).unwrap();
            for (i, line) in file.text().lines().enumerate() {
                writeln!(out, "{}", format!("{:>3} {line}", i + 1).trim_end()).unwrap();
            }
        }
        let (declarations, mentions, scopes) = (self.declarations(), self.mentions(), self.scopes());
        format!("{out}--- declarations\n{declarations}--- mentions\n{mentions}--- scopes\n{scopes}")
    }

    /// The first mention of this text in the file.
    pub fn mention(&self, text: &str) -> &trefoil_ir::Mention {
        let mut all: Vec<_> = self.facts.mentions.iter().filter(|m| self.text(m.at) == text).collect();
        all.sort_by_key(|m| m.at);
        all.first().copied().unwrap_or_else(|| panic!("nothing mentions `{text}`:\n{}", self.mentions()))
    }

    /// The names in the scope that contains this text.
    pub fn names_at(&self, text: &str) -> Vec<String> {
        let scope = self.facts.scopes.iter().find(|s| self.text(s.at).contains(text));
        let scope = scope.unwrap_or_else(|| panic!("no scope holds `{text}`:\n{}", self.scopes()));
        scope.names.iter().map(|n| format!("{}{}", n.name, mark(n.defined))).collect()
    }

    /// A property of the facts of any manifest: the text of a mention is the declared name, or is spelled like it in
    /// the file.
    pub fn check(&self) {
        for m in &self.facts.mentions {
            assert!(!self.text(m.at).is_empty(), "{} mentions nothing", self.place(m.at));
        }
        for m in &self.facts.mentions {
            let text = self.text(m.at);
            let Some(to) = m.to else { continue };
            let Some(d) = self.facts.declaration_at(to) else {
                // A file that is only referenced declares its names when it is an entry itself.
                assert_ne!(to.file, m.at.file, "{} `{text}` names what is not declared", self.place(m.at));
                continue;
            };
            let written = self.text(d.at);
            assert!(
                text == &*d.name || text == written || (m.template && text == written.split('@').next().unwrap())
                    // a workflow that is named after its file is referred to by a path
                    || (d.at.span.is_empty() && text.contains(&*d.name)),
                "{} `{text}` names `{}`, which is written `{written}`",
                self.place(m.at),
                d.name,
            );
            assert!(
                m.defined != ValuePresence::Never || m.template,
                "{} `{text}` is found and never there",
                self.place(m.at)
            );
        }
        self.agree();
        for d in &self.facts.declarations {
            let parent = d.parent.map(|p| self.facts.declaration_at(p));
            assert!(parent.is_none_or(|p| p.is_some()), "{} `{}` has a parent", self.place(d.at), d.name);
            let within = d.extent.start <= d.at.span.start && d.at.span.end <= d.extent.end;
            assert!(within || d.at.span.is_empty(), "{} `{}` is in its extent", self.place(d.at), d.name);
        }
    }

    /// Names that never exist are reported, and reported names never exist.
    fn agree(&self) {
        for m in self.facts.mentions.iter().filter(|m| m.defined == ValuePresence::Never) {
            let text = self.text(m.at);
            let within = |d: &Diagnostic| d.file == Some(m.at.file) && d.span.is_some_and(|s| covers(s, m.at.span));
            // One warning is enough for an undeclared name in several places.
            let same = |d: &Diagnostic| {
                d.file == Some(m.at.file)
                    && d.span.is_some_and(|s| self.text(Location::new(m.at.file, s)).ends_with(text))
            };
            // Without the owner there are no members.
            let file = self.files.get(m.at.file).unwrap().text();
            let member = file[..m.at.span.start as usize].ends_with(['.', '/']);
            let said = member || self.diagnostics.iter().any(|d| within(d) || same(d));
            assert!(said, "{} `{text}` is never there, and nobody says so", self.place(m.at));
        }
        let rules = ["unresolved-name", "unordered-read"];
        for d in self.diagnostics.iter().filter(|d| d.severity == FindingSeverity::Error && rules.contains(&d.rule)) {
            let (Some(file), Some(span)) = (d.file, d.span) else { continue };
            let mut inside =
                self.facts.mentions.iter().filter(|m| m.at.file == file && covers(span, m.at.span)).peekable();
            let at = self.place(Location::new(file, span));
            let agrees = inside.peek().is_none() || inside.any(|m| m.defined == ValuePresence::Never);
            assert!(agrees, "{at} is reported as undefined: {}", d.message);
        }
    }
}

fn covers(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

fn mark(defined: ValuePresence) -> &'static str {
    match defined {
        ValuePresence::Always => "",
        ValuePresence::Sometimes => "?",
        ValuePresence::Never => "!",
    }
}

/// A type in short.
fn spell(of: &ValueType) -> String {
    let names = match (of.schema_keyword("type").and_then(Value::as_list), of.value_kinds()) {
        (Some(names), _) => names.iter().filter_map(Value::as_str).collect(),
        (None, Some(_)) if of.is_integer() => vec!["integer"],
        (None, Some(kinds)) => kinds.iter().map(ValueKind::name).collect(),
        (None, None) => vec!["any"],
    };
    let members = of.object_members().map(|(name, member)| format!("{name}: {}", spell(member)));
    match (of.as_object(), of.as_list().and_then(|list| list.rest.as_ref())) {
        (Some(_), _) => format!("{{{}}}", members.collect::<Vec<_>>().join(", ")),
        (None, Some(item)) => format!("[{}]", spell(item)),
        (None, None) => names.join("|"),
    }
}
