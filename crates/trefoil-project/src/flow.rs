//! Flows: manifests that are read, checked and compiled once, and run any number of times.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};

use trefoil_front::{FRONT_ENDS, front_end};
use trefoil_machine::PreparedProgram;
use trefoil_runtime::Event;
use trefoil_syntax::{Diagnostic, FindingSeverity, Location, SourceFiles};

use crate::bundle::PackedFlow;
use crate::file_access::{FileAccess, MemoryFiles};
use crate::tool_interface::FlowToolInterface;

use crate::error::{Error, FoundErrors, Result};
use crate::load::{CheckOptions, LoadOptions, LoadReport, LoadedTarget, load_target, rules};
use crate::target::LoadTarget;
use trefoil_view::graph::{GraphPicture, draw_graph};
use trefoil_view::plan::Plan;
use trefoil_view::trace::event_json;

/// A workflow or an agent that can run.
///
/// Loading reports all mistakes in all of its files, and checks it as `trefoil check` does. A flow is immutable; clones
/// are cheap and share everything.
///
/// ```
/// use trefoil::Flow;
///
/// let mistake = Flow::from_text("hello.yaml", "id: hello\nkind: llm\nmodle: { provider: openai, name: gpt-x }\n");
/// assert!(mistake.unwrap_err().to_string().contains("hello.yaml:3:1"));
/// ```
#[derive(Clone)]
pub struct Flow(Arc<FlowData>);

struct FlowData {
    loaded: LoadedTarget,
    warnings: FoundErrors,
    prepared: OnceLock<Arc<PreparedProgram>>,
    credentials: OnceLock<Vec<Arc<str>>>,
    packed: OnceLock<PackedFlow>,
}

/// A weak reference to a flow.
pub struct WeakFlow(Weak<FlowData>);

impl WeakFlow {
    /// Whether the flow still exists.
    pub fn is_alive(&self) -> bool {
        self.0.strong_count() > 0
    }
}

impl std::fmt::Debug for Flow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "flow `{}`", self.name())
    }
}

impl Flow {
    /// Its description as a tool.
    pub fn as_tool(&self) -> FlowToolInterface {
        FlowToolInterface::new(&self.0.loaded.program, &self.0.loaded.files, self.manifest_description())
    }
}

/// Loading with options.
impl From<LoadedTarget> for Flow {
    fn from(loaded: LoadedTarget) -> Self {
        let warnings = FoundErrors::new(loaded.files.clone(), loaded.diagnostics.clone());
        Self(Arc::new(FlowData {
            loaded,
            warnings,
            prepared: OnceLock::new(),
            credentials: OnceLock::new(),
            packed: OnceLock::new(),
        }))
    }
}

impl Flow {
    /// Loads a flow from disk: a manifest, a folder in which one manifest is the entry, or `FOLDER#ID`. Files that the
    /// manifest refers to must be inside its project.
    ///
    /// # Errors
    ///
    /// [`Error::Load`] with all mistakes in all of its files.
    pub fn load_from_disk(target: impl AsRef<str>) -> Result<Self> {
        Self::load_options().load_from_disk(target)
    }
    /// Loads a flow from one manifest in memory. `name` is its file name in findings. Nothing is read from disk.
    ///
    /// # Errors
    ///
    /// As [`Self::load_from_disk`].
    pub fn from_text(name: impl AsRef<str>, text: impl Into<String>) -> Result<Self> {
        Self::load_options().from_text(name, text)
    }
    /// Loads a flow from several files in memory: manifests and the files that they refer to, by path. `entry` is one
    /// of the paths, or `#ID`; if it is empty, the only manifest that no other manifest uses. Nothing is read from
    /// disk, so all files must be passed.
    ///
    /// ```
    /// # fn main() -> trefoil::Result<()> {
    /// let files = [
    ///     ("main.yaml", "id: main\nkind: sequential\nsteps:\n  - ref: hello\n"),
    ///     ("agents/hello.yaml", "id: hello\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: Say hello.\n"),
    /// ];
    /// assert_eq!(trefoil::Flow::from_files("#main", files)?.name(), "main");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Self::load_from_disk`].
    pub fn from_files<P: AsRef<str>, T: Into<String>>(
        entry: impl AsRef<str>,
        files: impl IntoIterator<Item = (P, T)>,
    ) -> Result<Self> {
        Self::load_options().from_files(entry, files)
    }
    /// Options for loading.
    pub fn load_options() -> FlowOptions {
        FlowOptions::default()
    }

    /// Its name: the id or name in the manifest.
    pub fn name(&self) -> &str {
        &self.0.loaded.program.name
    }
    /// Its purpose: the manifest's `description` (in AEGIS under `metadata`).
    pub fn manifest_description(&self) -> Option<&str> {
        self.0.loaded.about.as_deref()
    }
    /// The format of its manifest: `agntz`, `aegis`, `sirenspec`.
    pub fn dialect(&self) -> &'static str {
        self.0.loaded.dialect
    }
    /// Findings in its files that do not prevent a run.
    pub fn load_warnings(&self) -> &FoundErrors {
        &self.0.warnings
    }
    /// The plan of a run: inputs, steps in order, models, maximum number of calls. Tools count as one call each, even if an
    /// engine's settings make them flows.
    pub fn plan(&self) -> Plan {
        Plan::for_program(&self.0.loaded.program, &self.0.loaded.files)
    }
    /// The graph of the flow, which can be written in one of the [formats](trefoil_view::graph::FORMATS).
    pub fn draw_graph(&self) -> GraphPicture {
        draw_graph(&self.0.loaded.program, &self.0.loaded.files)
    }
    /// An event of one of its runs as JSON, with its place in the manifest: what `trefoil run --events jsonl` writes.
    pub fn event_json(&self, event: &Event) -> serde_json::Value {
        event_json(event, &self.0.loaded.files)
    }
    /// A location in its files as `FILE:LINE:COLUMN`.
    pub fn display_location(&self, location: Location) -> Option<String> {
        self.0.loaded.files.display_location(location)
    }

    /// Everything about it.
    pub fn loaded_target(&self) -> &LoadedTarget {
        &self.0.loaded
    }
    /// The original program, prepared.
    pub fn prepared_program(&self) -> Arc<PreparedProgram> {
        self.0.prepared.get_or_init(|| PreparedProgram::new(self.0.loaded.program.clone())).clone()
    }
    /// The environment variables that it sends as credentials, whatever their names.
    pub fn credential_variables(&self) -> &[Arc<str>] {
        self.0.credentials.get_or_init(|| trefoil_check::credentials_of(&self.0.loaded.program))
    }
    /// Its files in the form for stores: hashed once, and shared by all its runs.
    pub fn to_packed(&self) -> PackedFlow {
        self.0.packed.get_or_init(|| PackedFlow::of_loaded(&self.0.loaded)).clone()
    }
    /// An identity that is unique as long as a reference to the flow exists, weak or not.
    pub fn identity_address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }
    /// A weak reference to it.
    pub fn to_weak(&self) -> WeakFlow {
        WeakFlow(Arc::downgrade(&self.0))
    }
}

/// How to load a flow.
///
/// ```no_run
/// # fn main() -> trefoil::Result<()> {
/// let options = trefoil::Flow::load_options().with_dialect("agntz").allow_path("/srv/shared-agents");
/// let flow = options.load_from_disk("flows#triage")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FlowOptions {
    options: LoadOptions,
    dialect: Option<String>,
}

impl Default for FlowOptions {
    fn default() -> Self {
        Self { options: LoadOptions::default().with_checks(), dialect: None }
    }
}

impl FlowOptions {
    /// Sets the format of the manifest instead of detecting it: `agntz`, `aegis`, `sirenspec`.
    #[must_use]
    pub fn with_dialect(self, name: impl Into<String>) -> Self {
        Self { dialect: Some(name.into()), ..self }
    }
    /// Skips the checks: only load errors prevent a run.
    #[must_use]
    pub fn without_checks(mut self) -> Self {
        self.options.checks = None;
        self
    }
    /// Uses the levels meant for CI: more findings are errors.
    #[must_use]
    pub fn with_strict_levels(mut self) -> Self {
        self.options.checks.get_or_insert_with(CheckOptions::default).levels.enable_strict();
        self
    }
    /// Allows paths in the manifests to lead to this folder outside their project. May be called more than once.
    #[must_use]
    pub fn allow_path(mut self, folder: impl Into<PathBuf>) -> Self {
        self.options.allowed.push(folder.into());
        self
    }
    /// Sets the file with the text for `{{context}}` of AEGIS agents.
    #[must_use]
    pub fn with_context_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.options.context = Some(file.into());
        self
    }
    /// Sets the file with the text for `{{agentskills}}` of AEGIS agents.
    #[must_use]
    pub fn with_skills_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.options.skills = Some(file.into());
        self
    }

    /// Loads from disk: see [`Flow::load_from_disk`].
    pub fn load_from_disk(self, target: impl AsRef<str>) -> Result<Flow> {
        self.load_target(&LoadTarget::parse(target.as_ref()))
    }
    /// Reads one manifest in memory: see [`Flow::from_text`].
    pub fn from_text(self, name: impl AsRef<str>, text: impl Into<String>) -> Result<Flow> {
        let target = LoadTarget { path: name.as_ref().into(), id: None };
        self.in_memory([(name, text)], |_| target)
    }
    /// Reads several files in memory: see [`Flow::from_files`].
    pub fn from_files<P: AsRef<str>, T: Into<String>>(
        self,
        entry: impl AsRef<str>,
        files: impl IntoIterator<Item = (P, T)>,
    ) -> Result<Flow> {
        self.in_memory(files, |file_access| LoadTarget::parse_at(file_access, entry.as_ref()))
    }

    fn in_memory<P: AsRef<str>, T: Into<String>>(
        mut self,
        files: impl IntoIterator<Item = (P, T)>,
        target: impl FnOnce(&FileAccess) -> LoadTarget,
    ) -> Result<Flow> {
        let mut memory = MemoryFiles::default();
        for (name, text) in files {
            if !memory.add_file(Path::new(name.as_ref()), text.into().into()) {
                let message = format!("`{}` is a duplicate path, or leads outside the files", name.as_ref());
                return Err(load_refusal(rules::OUTSIDE, message, "use a different relative path for each file"));
            }
        }
        self.options.file_access = FileAccess::Memory(Arc::new(memory));
        let target = target(&self.options.file_access);
        self.load_target(&target)
    }
    fn load_target(mut self, target: &LoadTarget) -> Result<Flow> {
        if let Some(name) = self.dialect {
            let Some(front) = front_end(&name) else {
                let known: Vec<&str> = FRONT_ENDS.iter().map(|front| front.name()).collect();
                let help = format!("the dialects are `{}`", known.join("`, `"));
                return Err(load_refusal(rules::UNKNOWN_DIALECT, format!("unknown dialect `{name}`"), &help));
            };
            self.options.dialect = Some(front);
        }
        load_target(target, &self.options).map(Flow::from).map_err(Error::from)
    }
}

/// The findings for invalid arguments of a load.
fn load_refusal(rule: &'static str, message: String, help: &str) -> Error {
    let found = Diagnostic::without_location(rule, FindingSeverity::Error, None, message).with_help(help);
    Error::Load(FoundErrors::new(SourceFiles::default(), vec![found]))
}

impl From<LoadReport> for Error {
    fn from(report: LoadReport) -> Self {
        Self::Load(FoundErrors::new(report.files, report.diagnostics))
    }
}
