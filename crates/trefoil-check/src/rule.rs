//! The definition of a rule.

use std::sync::Arc;

use trefoil_ir::prices::{ModelPrice, list_price};
use trefoil_ir::types::ValueType;
use trefoil_ir::{FlowId, ModelChoice};
use trefoil_syntax::yaml::YamlNode;
use trefoil_syntax::{Diagnostic, FileId, FindingSeverity, Location, MergedDiagnostics, Span};
use trefoil_template::Value;

pub use crate::group::RuleGroup;
use crate::semantic::SemanticModel;
use crate::semantic::call_bounds::CallBounds;

/// A rule: its name, its page and, for rules of this crate, its functions.
#[derive(Debug)]
pub struct Rule {
    /// The name: stable, kebab-case.
    pub name: &'static str,
    /// The group.
    pub group: RuleGroup,
    /// The default severity of its findings; `None`: off by default. Load rules set the severity of each finding; this
    /// is then the usual one.
    pub level: Option<FindingSeverity>,
    /// The severity with `--strict`, if different.
    pub strict: Option<FindingSeverity>,
    /// The page in Markdown: what, why, a wrong and a right example, how to fix it. Its first line is `# name`; its
    /// first paragraph is a sentence that makes sense on its own.
    pub page: &'static str,
    /// How it runs.
    pub run: RuleSource,
}

/// Where the findings of a rule come from.
#[derive(Debug, Clone, Copy)]
pub enum RuleSource {
    /// Reading, binding and finders.
    Load,
    /// The same, but a finding depends on its own place only: it also holds in a file that could not be read completely, because
    /// what is missing cannot cause it.
    Place,
    /// Several functions of this crate.
    Several(&'static [RuleSource]),
    /// A function on a program. A finding depends only on what it names and what that reads.
    Program(RuleFunction),
    /// The same, but a finding also depends on all declarations around its place: for example, that a state has no
    /// other transition.
    Declared(RuleFunction),
    /// The same, but a finding depends on the whole program: for example, that nothing reads a value.
    Whole(RuleFunction),
    /// A function on the text of a manifest, whether or not it loads.
    Tree(fn(&mut TreeContext<'_>)),
}

/// A rule's function on a program.
pub type RuleFunction = fn(&mut RuleContext<'_>);

/// The operator's limits for the cost of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunCostLimits {
    /// The maximum number of model calls in a run.
    pub max_calls: Option<u64>,
    /// The maximum cost of a run in micro-dollars.
    pub max_cost: Option<u64>,
}

/// The prices of models.
#[derive(Debug, Clone, Default)]
pub struct ModelPrices {
    /// The operator's, by `PROVIDER:NAME`. Of two for one model, the later one is used.
    pub own: Vec<(String, ModelPrice)>,
    /// The day for list prices, in days since 1970-01-01 UTC; `None`: list prices are not used.
    pub day: Option<u64>,
}

impl ModelPrices {
    /// The price of a model; `None`: it is unknown.
    pub fn price_of(&self, model: &ModelChoice) -> Option<ModelPrice> {
        let provider = model.provider.as_deref()?;
        for (name, price) in self.own.iter().rev() {
            if name.split_once(':') == Some((provider, &*model.name)) {
                return Some(price.clone());
            }
        }
        list_price(provider, &model.name, self.day?)
    }
}

/// What a project, or the user, declares outside of manifests.
#[derive(Debug, Clone, Default)]
pub struct ProjectDeclarations {
    /// The tools.
    pub tools: Vec<DeclaredTool>,
    /// The MCP servers.
    pub servers: Vec<DeclaredServer>,
    /// The model providers by name, in addition to the known ones.
    pub providers: Vec<String>,
    /// The prices of models.
    pub prices: ModelPrices,
}

impl ProjectDeclarations {
    /// The same with what another one declares under other names.
    pub fn add_declarations(&mut self, other: &Self) {
        let (mut tools, mut servers) = (Vec::new(), Vec::new());
        for tool in &other.tools {
            if !self.tools.iter().any(|known| known.name == tool.name) {
                tools.push(tool.clone());
            }
        }
        for server in &other.servers {
            if !self.servers.iter().any(|known| known.name == server.name) {
                servers.push(server.clone());
            }
        }
        self.tools.extend(tools);
        self.servers.extend(servers);
        self.providers.extend(other.providers.iter().cloned());
        self.prices.own.extend(other.prices.own.iter().cloned());
        self.prices.day = self.prices.day.or(other.prices.day);
    }
}

/// An MCP server that a project declares.
#[derive(Debug, Clone, Default)]
pub struct DeclaredServer {
    /// Its name.
    pub name: String,
    /// The tools that may be called; `None`: all.
    pub tools: Option<Vec<String>>,
    /// The tools that are declared as idempotent; `None`: all.
    pub idempotent: Option<Vec<String>>,
}

impl DeclaredServer {
    /// Whether a tool of it is declared as idempotent.
    pub fn is_idempotent(&self, tool: &str) -> bool {
        match &self.idempotent {
            Some(names) => names.iter().any(|name| name == tool),
            None => true,
        }
    }
}

/// A tool that a project declares.
#[derive(Debug, Clone, Default)]
pub struct DeclaredTool {
    /// Its name.
    pub name: String,
    /// The JSON Schema of its arguments; `None`: not declared.
    pub parameters: Option<Value>,
    /// The type of its result; `None`: not declared.
    pub result: Option<ValueType>,
    /// Whether it changes something, according to its declaration.
    pub writes: bool,
    /// Its arguments are among those of a process, where every user of the machine can see them.
    pub on_command_line: bool,
    /// If it is a flow: the file of the flow.
    pub flow: Option<String>,
    /// What a run of that flow does at most; none: nobody knows, or it is no flow.
    pub calls: Option<CallBounds>,
}

/// A flow that a run may start, and the limits of that run.
#[derive(Debug, Clone)]
pub struct CheckRoot {
    /// The flow.
    pub flow: FlowId,
    /// The limits.
    pub limits: RunCostLimits,
    /// The tools declared for it.
    pub supplied: Arc<ProjectDeclarations>,
}

/// The input of a rule, and its findings.
pub struct RuleContext<'c> {
    /// The program and the analyses of it.
    pub model: &'c SemanticModel<'c>,
    /// The flows that a run may start.
    pub roots: &'c [CheckRoot],
    /// What is declared for any of them.
    pub supplied: &'c [&'c ProjectDeclarations],
    pub(crate) rule: &'static Rule,
    pub(crate) run: RuleSource,
    /// Merged, because a file that is called in several ways becomes several flows with the same texts.
    pub(crate) found: MergedDiagnostics,
}

impl RuleContext<'_> {
    /// A finding of this rule, to be completed and [reported](RuleContext::report_finding).
    pub fn new_finding(&self, at: Location, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.rule.name, self.rule.level.unwrap_or(FindingSeverity::Warning), at, message)
    }
    /// Reports a finding, unless it may be caused by a part that could not be read.
    pub fn report_finding(&mut self, diagnostic: Diagnostic) {
        self.report_by(diagnostic, &[]);
    }
    /// Reports a finding that also depends on all declarations around these places.
    pub fn report_by(&mut self, diagnostic: Diagnostic, places: &[Location]) {
        let gaps = self.model.unread_parts();
        let at = finding_location(&diagnostic);
        let doubtful = match self.run {
            RuleSource::Whole(_) => gaps.affects_file(diagnostic.file),
            RuleSource::Declared(_) => matches!(at, Some(at) if gaps.affects_location(at)),
            RuleSource::Program(_)
            | RuleSource::Load
            | RuleSource::Place
            | RuleSource::Several(_)
            | RuleSource::Tree(_) => false,
        };
        if doubtful
            || matches!(at, Some(at) if gaps.has_wrong_name(at))
            || places.iter().any(|at| gaps.affects_location(*at))
        {
            return;
        }
        self.found.add_or_merge(diagnostic);
    }
    /// Reports a finding that is itself the cause of others, so it is never dropped.
    pub fn report_cause(&mut self, diagnostic: Diagnostic) {
        self.found.add_or_merge(diagnostic);
    }
}

/// The place of a finding, if it is about a part of a file.
pub(crate) fn finding_location(finding: &Diagnostic) -> Option<Location> {
    Some(Location::new(finding.file?, finding.span?))
}

/// The input of a rule on the text of a manifest, and its findings.
pub struct TreeContext<'c> {
    /// The file's tree.
    pub root: &'c YamlNode,
    /// The file.
    pub file: FileId,
    pub(crate) rule: &'static Rule,
    pub(crate) found: &'c mut MergedDiagnostics,
}

impl TreeContext<'_> {
    /// A finding of this rule, to be completed and [reported](TreeContext::report_finding).
    pub fn new_finding(&self, at: Span, message: impl Into<String>) -> Diagnostic {
        let level = self.rule.level.unwrap_or(FindingSeverity::Warning);
        Diagnostic::new(self.rule.name, level, Location::new(self.file, at), message)
    }
    /// Reports a finding.
    pub fn report_finding(&mut self, diagnostic: Diagnostic) {
        self.found.add_or_merge(diagnostic);
    }
}

impl Rule {
    /// Whether an error of it may prevent a program from being made.
    pub fn is_of_loading(&self) -> bool {
        matches!(self.run, RuleSource::Load | RuleSource::Place)
    }
    /// Its functions in this crate.
    pub fn rule_functions(&self) -> &[RuleSource] {
        match &self.run {
            RuleSource::Load | RuleSource::Place => &[],
            RuleSource::Several(all) => all,
            run => std::slice::from_ref(run),
        }
    }
    /// The first paragraph of its page.
    pub fn page_summary(&self) -> &'static str {
        let Some((_, text)) = self.page.split_once('\n') else { return "" };
        text.trim_start().split("\n\n").next().unwrap_or("").trim()
    }
}
