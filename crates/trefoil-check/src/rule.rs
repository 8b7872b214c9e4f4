//! What a rule is.

use std::sync::Arc;

use trefoil_ir::FlowId;
use trefoil_syntax::yaml::Node;
use trefoil_syntax::{Diagnostic, FileId, Location, Severity, Shared, Span};
use trefoil_template::{Value, Words};

pub use crate::group::Group;
use crate::semantic::Model;

/// A rule: its name, its page, and, for those of this crate, how it looks.
#[derive(Debug)]
pub struct Rule {
    /// Stable, kebab-case.
    pub name: &'static str,
    /// What it is about.
    pub group: Group,
    /// The severity of its findings, unless somebody says otherwise; none: off until asked for. Rules of loading give each
    /// finding its own (decision C9); this is then the usual one.
    pub level: Option<Severity>,
    /// The severity under `--strict`, where that is another one.
    pub strict: Option<Severity>,
    /// Markdown: what, why, a wrong example, a right one, how to fix it. Its first line is `# name`, its first paragraph a
    /// sentence that stands alone.
    pub page: &'static str,
    /// How it looks.
    pub run: Run,
}

/// Who finds it.
#[derive(Debug, Clone, Copy)]
pub enum Run {
    /// Reading, binding and the finders of mistakes in what is written.
    Load,
    /// This crate, in several ways.
    Several(&'static [Run]),
    /// This crate, in a program: what it says rests on nothing but what it names and what that reads.
    Program(Look),
    /// The same; what it says rests on all of what is declared around the place: that a state has no other transition.
    Declared(Look),
    /// The same; what it says rests on the whole program: that nothing in it reads a value.
    Whole(Look),
    /// This crate, in the text of a manifest, whether or not it loads.
    Tree(fn(&mut TreeContext<'_>)),
}

/// How a rule looks at a program.
pub type Look = fn(&mut Context<'_>);

/// What an operator allows a run to cost.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// Model calls of a run.
    pub max_calls: Option<u64>,
}

/// The tools that a project declares beside its manifests.
#[derive(Debug, Clone, Default)]
pub struct Supplied {
    /// Tools.
    pub tools: Vec<SuppliedTool>,
    /// MCP servers by name.
    pub servers: Vec<String>,
}

/// A tool that a project declares.
#[derive(Debug, Clone, Default)]
pub struct SuppliedTool {
    /// Its name.
    pub name: String,
    /// The JSON Schema of its arguments; none: nobody says.
    pub parameters: Option<Value>,
    /// The JSON Schema of its result; none: nobody says.
    pub result: Option<Value>,
    /// It changes something, as far as whoever declares it says.
    pub writes: bool,
    /// The file of the flow that it is, if it is one.
    pub flow: Option<String>,
}

/// A flow that a run may start, and what the operator allows that run.
#[derive(Debug, Clone)]
pub struct Root {
    /// The flow.
    pub flow: FlowId,
    /// What a run of it may cost.
    pub limits: Limits,
    /// What is there for it.
    pub supplied: Arc<Supplied>,
}

/// What a rule sees, and where it reports.
pub struct Context<'c> {
    /// The program and what is known about it.
    pub model: &'c Model<'c>,
    /// Where a run may start.
    pub roots: &'c [Root],
    pub(crate) rule: &'static Rule,
    pub(crate) run: Run,
    /// A file that is called in several ways is several flows with the same texts.
    pub(crate) found: Shared,
}

impl Context<'_> {
    /// A finding of this rule, to be completed and [reported](Context::report).
    pub fn finding(&self, at: Location, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.rule.name, self.rule.level.unwrap_or(Severity::Warning), at, message)
    }
    /// Reports, unless what could not be read may be what the finding says is missing.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.report_by(diagnostic, &[]);
    }
    /// Reports what also rests on all of what is declared around these places.
    pub fn report_by(&mut self, diagnostic: Diagnostic, places: &[Location]) {
        let gaps = self.model.gaps();
        let at = diagnostic.file.zip(diagnostic.span).map(|(file, span)| Location::new(file, span));
        let doubtful = match self.run {
            Run::Whole(_) => gaps.reach(diagnostic.file),
            Run::Declared(_) => at.is_some_and(|at| gaps.touch(at)),
            Run::Program(_) | Run::Load | Run::Several(_) | Run::Tree(_) => false,
        };
        if doubtful || at.is_some_and(|at| gaps.rename(at)) || places.iter().any(|at| gaps.touch(*at)) {
            return;
        }
        self.found.add(diagnostic);
    }
    /// Reports what makes others drop their findings: the cause itself.
    pub fn report_cause(&mut self, diagnostic: Diagnostic) {
        self.found.add(diagnostic);
    }
}

/// What a rule on the text of a manifest sees, and where it reports.
pub struct TreeContext<'c> {
    /// The file's tree.
    pub root: &'c Node,
    /// The file.
    pub file: FileId,
    /// What its format calls things, if that is known.
    pub words: Option<&'static Words>,
    pub(crate) rule: &'static Rule,
    pub(crate) found: &'c mut Shared,
}

impl TreeContext<'_> {
    /// A finding of this rule, to be completed and [reported](TreeContext::report).
    pub fn finding(&self, at: Span, message: impl Into<String>) -> Diagnostic {
        let level = self.rule.level.unwrap_or(Severity::Warning);
        Diagnostic::new(self.rule.name, level, Location::new(self.file, at), message)
    }
    /// Reports.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.found.add(diagnostic);
    }
}

impl Rule {
    /// Whether an error of it may keep a program from being made.
    pub fn is_of_loading(&self) -> bool {
        matches!(self.run, Run::Load)
    }
    /// How this crate looks.
    pub fn looks(&self) -> &[Run] {
        match &self.run {
            Run::Load => &[],
            Run::Several(all) => all,
            run => std::slice::from_ref(run),
        }
    }
    /// The first paragraph of its page.
    pub fn summary(&self) -> &'static str {
        let text = self.page.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
        text.split("\n\n").next().unwrap_or("").trim()
    }
}
