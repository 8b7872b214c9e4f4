//! A snapshot of a folder: the report of a check, with lookups that features need.
//!
//! A snapshot is never changed; a new one is made after every change.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use trefoil_front::{DialectDetection, FrontEnd, detect_dialect};
use trefoil_ir::facts::{Facts, Mention, NameDeclaration, Scope};
use trefoil_project::file_access::{self, resolve_links};
use trefoil_project::load::{LoadReport, ParseCache};
use trefoil_syntax::yaml;
use trefoil_syntax::{Diagnostic, FileId, Location, SourceFile, Span};

/// A checked folder.
pub struct FolderAnalysis {
    report: LoadReport,
    /// The ids of files on disk or in the editor, by canonical path.
    by_path: HashMap<PathBuf, FileId>,
    /// The parsed trees of files, computed on first use.
    trees: Vec<OnceLock<Option<yaml::YamlNode>>>,
    /// A cache of trees that are parsed already.
    cache: ParseCache,
    /// Indices of mentions, by file and place.
    mentions: Vec<u32>,
    /// Declarations by the place of their name.
    declarations: HashMap<Location, u32>,
    /// The findings that are shown instead while a file is being typed.
    held: Option<Vec<Diagnostic>>,
}

impl FolderAnalysis {
    /// Creates the snapshot of a report. `cache` is the one with which the report was made.
    pub fn new(report: LoadReport, cache: ParseCache) -> Self {
        let mut by_path = HashMap::new();
        for (id, file) in report.files.iter() {
            // Folders have file ids too, for findings about them.
            let path = Path::new(file.name());
            if !file_access::is_folder(path) {
                by_path.entry(resolve_links(path)).or_insert(id);
            }
        }
        let trees = (0..report.files.len()).map(|_| OnceLock::new()).collect();
        let facts = &report.facts;
        let mut mentions: Vec<u32> = (0..facts.mentions.len() as u32).collect();
        mentions.sort_by_key(|i| facts.mentions.get(*i as usize).map(|m| m.at));
        let mut declarations = HashMap::new();
        for (i, declaration) in facts.declarations.iter().enumerate() {
            declarations.insert(declaration.at, i as u32);
        }
        Self { by_path, trees, cache, mentions, declarations, report, held: None }
    }
    /// The file at a canonical path.
    pub fn find_file(&self, path: &Path) -> Option<FileId> {
        self.by_path.get(path).copied()
    }
    /// The canonical path of a file.
    pub fn file_path(&self, file: FileId) -> Option<&Path> {
        let (path, _) = self.by_path.iter().find(|(_, id)| **id == file)?;
        Some(path)
    }
    /// Every file, with its canonical path.
    pub fn list_files(&self) -> impl Iterator<Item = (&Path, FileId)> {
        self.by_path.iter().map(|(path, id)| (&**path, *id))
    }
    /// Name and text of a file.
    pub fn source_file(&self, file: FileId) -> Option<&SourceFile> {
        self.report.files.get(file)
    }
    /// The text of a file.
    pub fn file_text(&self, file: FileId) -> &str {
        match self.source_file(file) {
            Some(source) => source.text(),
            None => "",
        }
    }
    /// The text at a location.
    pub fn text_at(&self, at: Location) -> &str {
        self.file_text(at.file).get(at.span.start as usize..at.span.end as usize).unwrap_or_default()
    }
    /// The findings.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.report.diagnostics
    }
    /// The findings that an editor shows; they may differ while a file is being typed.
    pub fn displayed_diagnostics(&self) -> &[Diagnostic] {
        self.held.as_deref().unwrap_or(&self.report.diagnostics)
    }
    /// Shows these findings instead.
    pub fn set_displayed_diagnostics(&mut self, shown: Vec<Diagnostic>) {
        self.held = Some(shown);
    }
    /// The facts about names.
    pub fn facts(&self) -> &Facts {
        &self.report.facts
    }
    /// The parsed tree of a file, if it can be parsed.
    pub fn yaml_tree(&self, file: FileId) -> Option<&yaml::YamlNode> {
        let source = self.source_file(file)?;
        let tree = self.trees.get(file.0 as usize)?.get_or_init(|| {
            if let Some(path) = self.file_path(file)
                && let Some(known) = self.cache.cached_tree(path, source)
            {
                return Some(known);
            }
            yaml::parse(file, source, &Default::default()).root
        });
        tree.as_ref()
    }
    /// The dialect of a file.
    pub fn dialect(&self, file: FileId) -> Option<&'static dyn FrontEnd> {
        match detect_dialect(self.yaml_tree(file)?) {
            DialectDetection::One(front) => Some(front),
            DialectDetection::Several(_) | DialectDetection::Unknown => None,
        }
    }
    /// Whether a file has this dialect.
    pub fn is_dialect(&self, file: FileId, name: &str) -> bool {
        matches!(self.dialect(file), Some(front) if front.name() == name)
    }
    /// The tree of a file that is a manifest.
    pub fn manifest_tree(&self, file: FileId) -> Option<&yaml::YamlNode> {
        self.dialect(file)?;
        self.yaml_tree(file)
    }
    /// The declaration whose name is at this location.
    pub fn declaration_of_name(&self, at: Location) -> Option<&NameDeclaration> {
        self.report.facts.declarations.get(*self.declarations.get(&at)? as usize)
    }
    /// The declaration that a mention refers to.
    pub fn mentioned_declaration(&self, mention: &Mention) -> Option<&NameDeclaration> {
        self.declaration_of_name(mention.to?)
    }
    /// The mentions that contain an offset or end there. There may be several if a file is used by several others.
    pub fn mentions_at(&self, file: FileId, offset: u32) -> Vec<&Mention> {
        self.mentions_in(file).filter(|m| touches_offset(m.at.span, offset)).collect()
    }
    /// The mentions of a file, in order.
    pub fn mentions_in(&self, file: FileId) -> impl Iterator<Item = &Mention> {
        let all = &self.report.facts.mentions;
        let start = self.mentions.partition_point(|i| matches!(all.get(*i as usize), Some(m) if m.at.file < file));
        self.mentions.iter().skip(start).filter_map(|i| all.get(*i as usize)).take_while(move |m| m.at.file == file)
    }
    /// The declaration at an offset: its name, or a place that refers to it.
    pub fn declaration_at(&self, file: FileId, offset: u32) -> Option<(&NameDeclaration, Location)> {
        for declaration in &self.report.facts.declarations {
            if location_touches(declaration.at, file, offset) {
                return Some((declaration, declaration.at));
            }
        }
        for mention in self.mentions_at(file, offset) {
            if let Some(declaration) = self.mentioned_declaration(mention) {
                return Some((declaration, mention.at));
            }
        }
        None
    }
    /// The text with templates that contains an offset.
    pub fn scope_at(&self, file: FileId, offset: u32) -> Option<&Scope> {
        let scopes = self.report.facts.scopes.iter().filter(|s| location_touches(s.at, file, offset));
        scopes.min_by_key(|s| s.at.span.len())
    }
}

/// Whether an offset is in a span or at its end, where a cursor still belongs to it.
pub fn touches_offset(span: Span, offset: u32) -> bool {
    span.start <= offset && offset <= span.end
}

/// Whether an offset of a file is at a location or at its end.
pub fn location_touches(at: Location, file: FileId, offset: u32) -> bool {
    at.file == file && touches_offset(at.span, offset)
}
