//! What is known about a folder at one moment: the report of a check, with the ways into it that features need.
//!
//! A snapshot. It is made again after every change and never altered.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use trefoil::internals::door::{self, real};
use trefoil::internals::{Cache, Report};
use trefoil_front::{Detection, FrontEnd, detect};
use trefoil_ir::facts::{Declaration, Facts, Mention, Scope};
use trefoil_syntax::yaml;
use trefoil_syntax::{Diagnostic, FileId, Location, SourceFile, Span};

/// A checked folder.
pub struct Analysis {
    report: Report,
    /// Files on disk or in the editor, by canonical path.
    by_path: HashMap<PathBuf, FileId>,
    /// The trees of files that a feature has looked into.
    trees: Vec<OnceLock<Option<yaml::Node>>>,
    /// Trees that are there already.
    cache: Cache,
    /// Indices of mentions, by file and place.
    mentions: Vec<u32>,
    /// Declarations by the place of their name.
    declarations: HashMap<Location, u32>,
    /// What is shown in the place of what was found, while a file is being typed.
    held: Option<Vec<Diagnostic>>,
}

impl Analysis {
    /// The snapshot of a report, which was made with this cache.
    pub fn new(report: Report, cache: Cache) -> Self {
        let mut by_path = HashMap::new();
        for (id, file) in report.files.iter() {
            // A folder has a name among the files as well, for what is said about it.
            let path = Path::new(file.name());
            if !door::is_folder(path) {
                by_path.entry(real(path)).or_insert(id);
            }
        }
        let trees = (0..report.files.len()).map(|_| OnceLock::new()).collect();
        let facts = &report.facts;
        let mut mentions: Vec<u32> = (0..facts.mentions.len() as u32).collect();
        mentions.sort_by_key(|i| facts.mentions.get(*i as usize).map(|m| m.at));
        let declarations = facts.declarations.iter().enumerate().map(|(i, d)| (d.at, i as u32)).collect();
        Self { by_path, trees, cache, mentions, declarations, report, held: None }
    }
    /// The file at a canonical path.
    pub fn file(&self, path: &Path) -> Option<FileId> {
        self.by_path.get(path).copied()
    }
    /// The canonical path of a file.
    pub fn path(&self, file: FileId) -> Option<&Path> {
        self.by_path.iter().find(|(_, id)| **id == file).map(|(path, _)| &**path)
    }
    /// Every file, with its canonical path.
    pub fn files(&self) -> impl Iterator<Item = (&Path, FileId)> {
        self.by_path.iter().map(|(path, id)| (&**path, *id))
    }
    /// Name and text of a file.
    pub fn source(&self, file: FileId) -> Option<&SourceFile> {
        self.report.files.get(file)
    }
    /// The text of a file.
    pub fn text(&self, file: FileId) -> &str {
        self.source(file).map_or("", |s| s.text())
    }
    /// The text of a place.
    pub fn text_at(&self, at: Location) -> &str {
        self.text(at.file).get(at.span.start as usize..at.span.end as usize).unwrap_or_default()
    }
    /// What was found.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.report.diagnostics
    }
    /// What an editor shows of that: something else while a file is being typed.
    pub fn shown(&self) -> &[Diagnostic] {
        self.held.as_deref().unwrap_or(&self.report.diagnostics)
    }
    /// Shows this instead of what was found.
    pub fn hold(&mut self, shown: Vec<Diagnostic>) {
        self.held = Some(shown);
    }
    /// What is known about names.
    pub fn facts(&self) -> &Facts {
        &self.report.facts
    }
    /// The tree of a file, as far as there is one.
    pub fn tree(&self, file: FileId) -> Option<&yaml::Node> {
        let source = self.source(file)?;
        let known = || self.cache.tree(self.path(file)?, source);
        let parsed = || yaml::parse(file, source, &Default::default()).root;
        self.trees.get(file.0 as usize)?.get_or_init(|| known().or_else(parsed)).as_ref()
    }
    /// The dialect of a file.
    pub fn dialect(&self, file: FileId) -> Option<&'static dyn FrontEnd> {
        match detect(self.tree(file)?) {
            Detection::One(front) => Some(front),
            Detection::Several(_) | Detection::Unknown => None,
        }
    }
    /// The declaration whose name is there.
    pub fn declaration(&self, at: Location) -> Option<&Declaration> {
        self.report.facts.declarations.get(*self.declarations.get(&at)? as usize)
    }
    /// The mentions that an offset is in or at the end of. More than one where a file is read from several others.
    pub fn mentions_at(&self, file: FileId, offset: u32) -> Vec<&Mention> {
        self.mentions_in(file).filter(|m| touches(m.at.span, offset)).collect()
    }
    /// The mentions of a file, in order.
    pub fn mentions_in(&self, file: FileId) -> impl Iterator<Item = &Mention> {
        let all = &self.report.facts.mentions;
        let start = self.mentions.partition_point(|i| all.get(*i as usize).is_some_and(|m| m.at.file < file));
        self.mentions.iter().skip(start).filter_map(|i| all.get(*i as usize)).take_while(move |m| m.at.file == file)
    }
    /// The declaration that an offset is on: its name, or a place that names it.
    pub fn declaration_at(&self, file: FileId, offset: u32) -> Option<(&Declaration, Location)> {
        let own = self.report.facts.declarations.iter().find(|d| d.at.file == file && touches(d.at.span, offset));
        if let Some(d) = own {
            return Some((d, d.at));
        }
        self.mentions_at(file, offset).into_iter().find_map(|m| Some((self.declaration(m.to?)?, m.at)))
    }
    /// The text with templates that an offset is in.
    pub fn scope_at(&self, file: FileId, offset: u32) -> Option<&Scope> {
        let scopes = self.report.facts.scopes.iter().filter(|s| s.at.file == file && touches(s.at.span, offset));
        scopes.min_by_key(|s| s.at.span.len())
    }
}

/// Whether an offset is in a span or right after it, where a cursor still belongs to it.
pub fn touches(span: Span, offset: u32) -> bool {
    span.start <= offset && offset <= span.end
}
