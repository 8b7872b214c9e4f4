//! The project file, `trefoil.toml`: levels and limits that a folder's manifests share.
//!
//! A manifest's project file is the one in its folder or in the nearest folder above it. The command line takes
//! precedence over it but is not known here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use trefoil_check::{Levels, ProjectDeclarations, RULES, RuleLevel, RunCostLimits};
use trefoil_ir::prices::parse_dollars;
use trefoil_syntax::{Diagnostic, FileId, Location, SourceFile, Span, suggestions};
use trefoil_template::limits::MANY_CALLS;

use crate::patterns::PATTERNS;
use crate::project_file::RULE;
use crate::settings::{TABLES, read_supplied_tools, supplied_servers};

/// The settings of a project.
#[derive(Debug, Clone, Default)]
pub(super) struct ProjectFile {
    /// The levels of findings.
    pub levels: Levels,
    /// Limits on the cost of a run.
    pub limits: RunCostLimits,
    /// Patterns of files to ignore, in the syntax of `.gitignore`.
    pub exclude: Vec<String>,
    /// The tools that it declares. Whether they are trusted is decided when they are run.
    pub supplied: ProjectDeclarations,
}

/// The project files that were searched for, by starting folder.
#[derive(Default)]
pub(super) struct ProjectFiles {
    by_folder: HashMap<PathBuf, Option<Arc<ProjectFile>>>,
    /// The same by file, because it is needed for every finding.
    by_file: HashMap<FileId, Option<Arc<ProjectFile>>>,
}

impl ProjectFiles {
    /// What is known about a folder; `None` if it was not searched yet.
    pub fn cached_project(&self, folder: &Path) -> Option<Option<Arc<ProjectFile>>> {
        self.by_folder.get(folder).cloned()
    }
    /// The same for a file.
    pub fn known_of(&self, file: FileId) -> Option<Option<Arc<ProjectFile>>> {
        self.by_file.get(&file).cloned()
    }
    /// Stores it.
    pub fn remember_of(&mut self, file: FileId, project: Option<Arc<ProjectFile>>) {
        self.by_file.insert(file, project);
    }
    /// Stores it.
    pub fn cache_project(&mut self, folder: PathBuf, project: Option<Arc<ProjectFile>>) {
        self.by_folder.insert(folder, project);
    }
}

/// Reads a project file; mistakes go to `found`, and the rest is used.
pub(super) fn read_project_file(
    id: FileId,
    folder: &Path,
    file: &SourceFile,
    found: &mut Vec<Diagnostic>,
) -> ProjectFile {
    let (table, errors) = DeTable::parse_recoverable(file.text());
    for error in errors {
        let at = match error.span() {
            Some(span) => Span::new(span.start as u32, span.end as u32),
            None => Span::new(0, 0),
        };
        found.push(Diagnostic::new_error(
            RULE,
            Location::new(id, at),
            format!("invalid TOML: {}", one_line(error.message())),
        ));
    }
    let mut reading = ProjectReading { id, folder, text: file.text(), found, out: ProjectFile::default() };
    reading.top(table.get_ref());
    reading.out
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A project file being read.
struct ProjectReading<'f> {
    id: FileId,
    folder: &'f Path,
    text: &'f str,
    found: &'f mut Vec<Diagnostic>,
    out: ProjectFile,
}

impl ProjectReading<'_> {
    fn top(&mut self, table: &DeTable<'_>) {
        for (key, value) in in_order(table) {
            match (&**key.get_ref(), value.get_ref()) {
                ("rules", DeValue::Table(rules)) => in_order(rules).for_each(|(name, level)| self.rule(name, level)),
                ("check", DeValue::Table(check)) => in_order(check).for_each(|(key, value)| self.check(key, value)),
                ("tools", DeValue::Table(tools)) => self.out.supplied.tools = read_supplied_tools(self.folder, tools),
                ("mcp", DeValue::Table(servers)) => self.out.supplied.servers = supplied_servers(servers),
                ("providers", DeValue::Table(providers)) => self.out.supplied.providers = names(providers),
                // Only used if the user trusts the file; `settings` reads them.
                (name, _) if TABLES.iter().any(|(table, _)| *table == name) => {}
                (name @ ("rules" | "check"), _) => self.wrong(value, &format!("`{name}` must be a table: `[{name}]`")),
                (name, _) => self.unknown(key, &format!("unknown key `{name}`"), &["rules", "check"]),
            }
        }
    }
    fn rule(&mut self, name: &Spanned<impl AsRef<str>>, level: &Spanned<DeValue<'_>>) {
        let rule = name.get_ref().as_ref();
        let word = level.get_ref().as_str().unwrap_or_default();
        let Some((_, level)) = RuleLevel::WORDS.into_iter().find(|(known, _)| *known == word) else {
            self.wrong(level, &format!("the level of `{rule}` must be `\"allow\"`, `\"warn\"` or `\"deny\"`"));
            return;
        };
        if !self.out.levels.set_level(rule, level) {
            let all: Vec<&str> = RULES.iter().map(|r| r.name).collect();
            self.unknown(name, &format!("unknown rule `{rule}`"), &all);
        }
    }
    fn check(&mut self, key: &Spanned<impl AsRef<str>>, value: &Spanned<DeValue<'_>>) {
        match key.get_ref().as_ref() {
            "strict" => match value.get_ref() {
                DeValue::Boolean(true) => self.out.levels.enable_strict(),
                DeValue::Boolean(false) => {}
                _ => self.wrong(value, "`strict` must be true or false"),
            },
            "max-calls" => {
                let number = match value.get_ref() {
                    DeValue::Integer(n) => u64::from_str_radix(n.as_str(), n.radix()).ok(),
                    _ => None,
                };
                match number {
                    // An untrusted file may be stricter than the default, but not laxer.
                    Some(n) if n > MANY_CALLS => {
                        let at = self.to_location(value.span());
                        let message = format!("`max-calls` can lower the limit of {MANY_CALLS}, not raise it");
                        let help = "raise it with `--max-calls`, or set the level of `too-many-calls`";
                        self.found.push(Diagnostic::new_warning(RULE, at, message).with_help(help));
                    }
                    Some(n) => self.out.limits.max_calls = Some(n),
                    None => self.wrong(value, "`max-calls` must be a whole number, 0 or more"),
                }
            }
            "max-cost" => {
                let amount = match value.get_ref() {
                    DeValue::Integer(n) => parse_dollars(n.as_str()),
                    DeValue::Float(n) => parse_dollars(n.as_str()),
                    _ => None,
                };
                match amount {
                    Some(micro) => self.out.limits.max_cost = Some(micro),
                    None => self.wrong(value, "`max-cost` must be an amount in dollars, such as 2.50"),
                }
            }
            "exclude" => match texts(value.get_ref()) {
                Some(globs) if globs.len() > PATTERNS => {
                    self.wrong(value, &format!("`exclude` has more than {PATTERNS} patterns"));
                }
                Some(globs) => self.out.exclude = globs,
                None => self.wrong(value, "`exclude` must be a list of patterns: `[\"drafts/\", \"*.tmpl.yaml\"]`"),
            },
            name => {
                let message = format!("`[check]` has no key `{name}`");
                self.unknown(key, &message, &["strict", "max-calls", "max-cost", "exclude"]);
            }
        }
    }
    fn wrong(&mut self, value: &Spanned<DeValue<'_>>, message: &str) {
        let at = self.to_location(value.span());
        self.found.push(Diagnostic::new_error(RULE, at, message));
    }
    fn unknown(&mut self, key: &Spanned<impl AsRef<str>>, message: &str, known: &[&str]) {
        let at = self.to_location(key.span());
        let name = key.get_ref().as_ref();
        let mut d = Diagnostic::new_warning(RULE, at, message);
        d = match suggestions::nearest_name(name, known.iter().copied()) {
            Some(near) => d.with_help(format!("did you mean `{near}`?")),
            None if known.len() < 5 => d.with_help(format!("available: `{}`", known.join("`, `"))),
            None => d.with_help("`trefoil rules` lists them"),
        };
        let bare = self.text.get(at.span.start as usize..at.span.end as usize) == Some(name);
        if bare && let Some(near) = suggestions::nearest_name(name, known.iter().copied()) {
            d = d.with_suggestion(format!("write `{near}`"), at, near);
        }
        self.found.push(d);
    }
    fn to_location(&self, span: std::ops::Range<usize>) -> Location {
        Location::new(self.id, Span::new(span.start as u32, span.end as u32))
    }
}

/// The entries of a table in file order.
fn in_order<'t, 'i>(
    table: &'t DeTable<'i>,
) -> impl Iterator<Item = (&'t Spanned<toml::de::DeString<'i>>, &'t Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries.into_iter()
}

/// The items of a list of texts.
fn texts(value: &DeValue<'_>) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|item| Some(item.get_ref().as_str()?.to_owned())).collect()
}

/// The keys of a table.
fn names(table: &DeTable<'_>) -> Vec<String> {
    table.keys().map(|name| name.get_ref().to_string()).collect()
}
