//! Journal entries: the only internal types that are stored.
//!
//! They are a contract: all later versions read what one version writes. A new field is
//! optional, and a changed meaning needs a new [`VERSION`]. An entry is a JSON object. Numbers that may exceed 2^53 are strings,
//! and values are in [their wire form](trefoil_template::wire). Nothing in an entry depends on the process that wrote it: no file
//! numbers, no step positions. Golden journals are in `tests/machine/journals`.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use trefoil_ir::prices::ModelPrice;

use crate::error::RunError;
use crate::event::{AnswerMetadata, ItemTally, ReuseOrigin};
use crate::guard::Verdict;
use crate::key::{ContentKey, Key};
use crate::private::{PrivateValue, stored_form};
use crate::receipt::AnswerReceipt;
use crate::request::{Request, Usage};
use crate::run_limits::RunLimits;

/// The version that this build writes.
pub const VERSION: u16 = 1;

/// One entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// [`VERSION`] of the writer.
    pub v: u16,
    /// The number of the entry: from 0, without gaps.
    pub seq: u64,
    /// Milliseconds on the run's clock: the time since the run started, even if no process was working on it. It never goes back.
    /// Waits use this clock; time limits use the [work clock](crate::clock) that the machine computes from the entries.
    pub at_ms: u64,
    /// What happened.
    #[serde(rename = "entry")]
    pub kind: EntryKind,
}

/// A run that a tool call started, and that is suspended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalledRun {
    /// The tool call.
    pub key: Key,
    /// The id of the run.
    pub run: String,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// The run started. Always the first entry, and only that.
    Started(Box<RunStart>),
    /// The machine requested an activity. It is not started before this entry is stored.
    Scheduled {
        /// The activity.
        key: Key,
        /// `model`, `tool`, `command`, `human`, `timer`, `decide`.
        #[serde(deserialize_with = "sort_name")]
        sort: Cow<'static, str>,
        /// The content key of its request.
        content: ContentKey,
        /// For a wait: when it is due, on the run's clock. The machine computes when time limits are due.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due_ms: Option<u64>,
        /// For a model call: as [`Activity::again`](crate::Activity::again), so the call is already counted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// An activity succeeded.
    Completed {
        /// The activity.
        key: Key,
        /// Its result, as it is, with the parts that no view may show.
        #[serde(with = "stored_form")]
        value: PrivateValue,
        /// Metadata. Boxed, because most entries have none, and a journal is read in pages of many entries.
        #[serde(default, skip_serializing_if = "ActivityMetadata::is_nothing")]
        about: Box<ActivityMetadata>,
    },
    /// An activity failed.
    Failed {
        /// The activity.
        key: Key,
        /// Why.
        error: RunError,
        /// Metadata. Boxed, because most entries have none, and a journal is read in pages of many entries.
        #[serde(default, skip_serializing_if = "ActivityMetadata::is_nothing")]
        about: Box<ActivityMetadata>,
    },
    /// The run was resumed, by another process or the same one.
    Resumed {
        /// Version of its engine.
        engine: String,
        /// How often the run has been resumed, including this time.
        execution: u32,
        /// The model calls that were in progress when the previous process ended. Their usage is unknown. Each is requested again
        /// like any other call: it has a new `scheduled`, unless a limit ends the run before it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lost: Vec<LostModelCall>,
        /// The changes requested at this resume.
        #[serde(default, skip_serializing_if = "ResumeChanges::is_nothing")]
        changes: Box<ResumeChanges>,
    },
    /// A failed run continues from the step that failed. The end of the run is void, and so are the ends of some activities.
    /// Everything else is kept.
    Reopened {
        /// Version of the engine.
        engine: String,
        /// How often the run has been resumed, including this time.
        execution: u32,
        /// When, in milliseconds since 1970-01-01 UTC. The time since its end does not count.
        at: u64,
        /// The activities to repeat. Their earlier ends are void.
        again: Vec<Key>,
        /// The changes requested at this resume.
        #[serde(default, skip_serializing_if = "ResumeChanges::is_nothing")]
        changes: Box<ResumeChanges>,
    },
    /// A tool or command that was in progress when its process ended is repeated. Its earlier outcome is unknown. The time limit of
    /// its step starts again.
    Restarted {
        /// The activity.
        key: Key,
        /// Who decided it, if somebody decided about this activity.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        given_by: Option<Box<AnswerReceipt>>,
    },
    /// The run can only wait, for people or for a time, and the process ended.
    Suspended {
        /// When the run can continue without an answer, in milliseconds since 1970-01-01 UTC.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wake_at: Option<u64>,
        /// Tool calls that started runs which are suspended too. They are made again when the run is resumed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        called: Vec<CalledRun>,
        /// Why the run waits for permission to continue: a limit, or a step that must not be repeated unasked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<Box<RunError>>,
    },
    /// A request to cancel the run.
    CancelRequested {},
    /// The run ended.
    Finished {
        /// Its output, as it is, with the parts that no view may show.
        #[serde(default, skip_serializing_if = "Option::is_none", with = "stored_form::optional")]
        output: Option<PrivateValue>,
        /// Or why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<RunError>,
        /// The items of the fan-outs in which some failed, and the run went on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        items: Option<ItemTally>,
        /// Warnings about the output, reported before the end.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
    },
}

/// A model call whose outcome is unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LostModelCall {
    /// The call.
    pub key: Key,
    /// The usage that it counts for.
    pub usage: Usage,
    /// The text received so far, as it may be shown, if it was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
}

/// The changes requested when a run is resumed. Unset fields change nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResumeChanges {
    /// Other settings. Limits include earlier calls and costs.
    #[serde(flatten)]
    pub spec: RunSpec,
    /// With [`Reserve::Bound`]: as [`Flags::windows`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<(String, u64)>,
    /// A different source of answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<AnswerSettings>,
    /// More steps as in [`Basis::rerun`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rerun: Vec<String>,
    /// Other permissions than before. See [`RunStart::permissions`].
    #[serde(default, skip_serializing_if = "GivenPermissions::is_none")]
    pub permissions: GivenPermissions,
}

/// What the command line of a process allowed to a run. It is kept to name the command that continues the run, and grants nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenPermissions {
    /// Whether steps may run commands.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub commands: bool,
    /// The hosts that HTTP tools may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Whether the settings of the project were ignored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_config: bool,
}

impl GivenPermissions {
    /// These, and where nothing is said, those of an earlier process.
    #[must_use]
    pub fn with_earlier(self, earlier: &Self) -> Self {
        Self {
            commands: self.commands || earlier.commands,
            hosts: if self.hosts.is_empty() { earlier.hosts.clone() } else { self.hosts },
            no_config: self.no_config || earlier.no_config,
        }
    }

    /// Whether nothing was allowed.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl ResumeChanges {
    /// Whether nothing changes.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What answers model calls, and the prices.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerSettings {
    /// As [`RunStart::answers`].
    pub answers: String,
    /// As [`RunStart::models`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<(String, String)>,
    /// As [`Flags::prices`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<(String, ModelPrice)>,
    /// As [`Flags::windows`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<(String, u64)>,
    /// As [`Flags::fallbacks`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<(String, Vec<String>)>,
}

impl AnswerSettings {
    /// Whether no answer costs anything.
    pub fn is_free(&self) -> bool {
        is_free(&self.prices)
    }
}

fn is_free(prices: &[(String, ModelPrice)]) -> bool {
    !prices.is_empty() && prices.iter().all(|(_, price)| price.is_free())
}

/// The start of a run: everything that it depends on and that is not in later entries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStart {
    /// The run's id.
    pub run: String,
    /// When, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The program.
    pub program: ProgramIdentity,
    /// Its input.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "stored_form::optional")]
    pub input: Option<PrivateValue>,
    /// Warnings about what the run starts with, reported first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Other data that the machine depends on.
    pub flags: Flags,
    /// What answers model calls: `embedded`, `scripted=FILE`, `PROVIDER:NAME` for every call, `manifest` for the models
    /// that [the program](Self::program) names, `host` for the embedder's own.
    #[serde(default)]
    pub answers: String,
    /// The model of each agent: the agent's name and `PROVIDER:NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<(String, String)>,
    /// The earlier run whose results are reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Box<Basis>>,
    /// What the command line allowed.
    #[serde(default, skip_serializing_if = "GivenPermissions::is_none")]
    pub permissions: GivenPermissions,
}

impl RunStart {
    /// The id that the program sees as its own.
    pub fn execution_id(&self) -> &str {
        self.basis.as_ref().and_then(|basis| basis.execution.as_deref()).unwrap_or(&self.run)
    }

    /// The settings of the run. Its limits are those of the basis if the coordinator enforces them.
    pub fn run_spec(&self) -> RunSpec {
        let basis = self.basis.as_deref().map(|basis| basis.limits).unwrap_or_default();
        RunSpec {
            limits: self.flags.spec.limits.with_defaults(basis),
            reserve: Some(self.flags.spec.reserve()),
            ..self.flags.spec
        }
    }

    /// As if the run had started with what a later process has changed.
    pub fn apply_changes(&mut self, changes: &ResumeChanges) {
        self.flags.apply_changes(changes);
        if let Some(basis) = &mut self.basis {
            basis.limits = changes.spec.limits.with_defaults(basis.limits);
        }
        if let Some(models) = &changes.models {
            self.answers.clone_from(&models.answers);
            self.models.clone_from(&models.models);
        }
        self.permissions = changes.permissions.clone().with_earlier(&self.permissions);
    }
}

/// The identity of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramIdentity {
    /// [`trefoil_ir::Fingerprint`] of the program, as text.
    pub fingerprint: String,
    /// [`trefoil_ir::SEMANTICS`] of the build that made it.
    pub semantics: u32,
    /// Version of the engine.
    pub engine: String,
    /// The entry flow.
    pub flow: String,
    /// The program's files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<ProgramFile>,
    /// SHA-256, as text, of a description of how the program is built from these files. The store that holds the journal has the
    /// description under this hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
}

/// A file of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramFile {
    /// Its path in the project.
    pub path: String,
    /// SHA-256 of its bytes, as text. The store that holds the journal has the bytes under this hash.
    pub sha256: String,
}

/// Metadata of the end of an activity. Only its usage and whether it may be called again affect what the machine does.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ActivityMetadata {
    /// For a model call: the model, as `PROVIDER:NAME`, `embedded` or `scripted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// For a tool that failed: it is safe to call it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeatable: bool,
    /// Its duration in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// For a model call: the provider's metadata.
    #[serde(default, skip_serializing_if = "AnswerMetadata::is_nothing", rename = "told")]
    pub answer_metadata: AnswerMetadata,
    /// The result is from before the run was reopened: the number of its entry. Nothing was performed and nothing used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<u64>,
    /// The result is reused from an earlier run. Nothing was performed and nothing used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Box<Cited>>,
    /// For a tool call that started a run: the run's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// The secrets that were replaced by `***` in the result: `secrets.NAME`, `env.NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<String>,
    /// Warnings, reported before the end of the activity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// For an answer checked by guardrails: their verdicts. Empty if all of them passed it unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<Vec<Verdict>>,
    /// For an answer that guardrails changed: a digest of their settings. A run with other settings asks again, because the
    /// answer as it came is not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<ContentKey>,
    /// For a failed model call: the text received so far, as it may be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// For an answer that does not match its schema: what was sent, in one line. It is part of the step's failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<String>,
    /// For tools that describe themselves: what they said, unless an earlier entry has it. A tool that says something else
    /// later in the run is not called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDigest>,
    /// For a person's answer, or a decision about an unknown outcome: who gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_by: Option<Box<AnswerReceipt>>,
}

/// The description of a tool, as the run first saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolDigest {
    /// Where it comes from: the name or address of a server.
    pub place: String,
    /// Its name there.
    pub tool: String,
    /// A digest of its description and its schemas.
    pub digest: String,
}

/// An activity of an earlier run whose result is reused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cited {
    /// The run.
    pub run: String,
    /// The activity's key there, if it is different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    /// The content key of the request, here and there.
    pub content: ContentKey,
    /// For a model call, or a tool that called models: its usage when it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Usage>,
}

impl Cited {
    /// The same, as events have it.
    pub fn reused_from(&self) -> ReuseOrigin {
        ReuseOrigin { run: self.run.clone(), key: self.key.clone(), usage: self.used }
    }
}

/// The run whose results are reused, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    /// The run's id. Empty, with [`answers`](Self::answers): any earlier run. Empty otherwise: none, but the run that called this one
    /// reuses results, so this one treats limits as that one does.
    pub run: String,
    /// Whether only model answers are reused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answers: bool,
    /// No results of this step and of anything after it are reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The only step that is performed, by its name in this run: the run is cancelled where it needs more than that and earlier results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    /// The same for these steps: earlier runs were to repeat them, and did not come to that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_from: Vec<String>,
    /// No results are reused, but what the earlier run has done still counts as done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// Whether this run has the files of the earlier one. Results of flows that it called are then reused even if those were edited.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forked: bool,
    /// Whether the step at which the earlier run failed is repeated, also if the files are others. So in every fork.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// The steps whose tools and commands may be repeated although they are not idempotent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rerun: Vec<String>,
    /// The id that the program sees as its own (`execution.id`): that of the earlier run. What was done there was done under this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<String>,
    /// The limits of the run. Reused results do not count. The machine cannot know in advance which results will be reused, so the
    /// coordinator enforces these limits.
    #[serde(flatten)]
    pub limits: RunLimits,
}

impl Basis {
    /// Whether the step at which the earlier run failed is repeated.
    pub fn repeats_failed(&self) -> bool {
        self.forked || self.failed
    }
    /// The run whose results are reused, if not only the answers of models are.
    pub fn earlier_run(&self) -> Option<&str> {
        Some(self.run.as_str()).filter(|run| !self.answers && !run.is_empty())
    }
}

impl ActivityMetadata {
    /// Whether the result is reused, so nothing was performed.
    pub fn is_reused(&self) -> bool {
        self.kept.is_some() || self.from.is_some()
    }
    /// For a result that is reused from an earlier run: its usage there, as far as it is known.
    pub fn reused_usage(&self) -> Option<Usage> {
        self.from.as_ref().map(|cited| cited.used.unwrap_or_default())
    }
    /// Metadata with only the usage.
    pub fn from_usage(usage: Option<Usage>) -> Self {
        Self { usage, ..Self::default() }
    }
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What the machine depends on in addition to program, input and entries.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Flags {
    /// Seed of retry jitter.
    #[serde(default, with = "number_as_text")]
    pub seed: u64,
    /// Its settings.
    #[serde(flatten)]
    pub spec: RunSpec,
    /// The prices of the models that the run may call, by `PROVIDER:NAME`, as of its start, so the prices of a later build do not
    /// change its cost. A model that is not listed has no known price.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<(String, ModelPrice)>,
    /// The known context windows of these models in tokens, for [`Reserve::Bound`] only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<(String, u64)>,
    /// The fallbacks of models, by `PROVIDER:NAME`. Cost limits use the most expensive one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<(String, Vec<String>)>,
    /// Whether results of earlier runs are reused. A model call then counts towards the limits of the manifest only if no result is
    /// found for it, and the usage of reused results is in what the program reads about its usage, and in budgets that skip nodes
    /// when they are exceeded, so that the run has the result of a run from scratch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reuses: bool,
    /// What guardrails found in the input before it was stored: what they redacted, or why it is stored as it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_verdicts: Vec<Verdict>,
}

/// The settings of a run that its journal stores: what the command line or the program around the run sets. A run starts with them
/// ([`Flags`]), and a process that resumes it may change them ([`ResumeChanges`]). A new setting is a field here, a new limit a row
/// of [`RunLimits`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSpec {
    /// What ends a run that reaches it.
    #[serde(flatten)]
    pub limits: RunLimits,
    /// What a cost limit reserves for a call. `None`: the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Reserve>,
    /// Of which budget the limit of cost is what was left. `None`: somebody set it for this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_budget: Option<CostBudget>,
}

impl RunSpec {
    /// Nothing is set.
    pub const NONE: Self = Self { limits: RunLimits::NONE, reserve: None, cost_budget: None };

    /// These settings, and the others where nothing is set.
    #[must_use]
    pub fn with_defaults(self, other: Self) -> Self {
        let has_own = self.limits.cost_micro.is_some() || self.cost_budget.is_some();
        Self {
            limits: self.limits.with_defaults(other.limits),
            reserve: self.reserve.or(other.reserve),
            cost_budget: if has_own { self.cost_budget } else { other.cost_budget },
        }
    }

    /// Those of these settings that are others than before.
    #[must_use]
    pub fn changed_from(self, before: Self) -> Self {
        let reserve = self.reserve.filter(|own| *own != before.reserve());
        let limits = self.limits.changed_from(before.limits);
        let cost_budget = if limits.cost_micro.is_some() { self.cost_budget } else { None };
        Self { limits, reserve, cost_budget }
    }

    /// The settings without the limits.
    #[must_use]
    pub fn without_limits(self) -> Self {
        Self { limits: RunLimits::NONE, ..self }
    }

    /// As the start of a run stores them: a default is not written.
    #[must_use]
    pub fn at_start(self) -> Self {
        Self { reserve: self.reserve.filter(|reserve| *reserve != Reserve::default()), ..self }
    }

    /// What a cost limit reserves for a call.
    pub fn reserve(&self) -> Reserve {
        self.reserve.unwrap_or_default()
    }
}

/// A budget for all runs of a day, of which a run gets what is left. The run cannot be allowed more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostBudget {
    /// That of the key with which it was started.
    Key,
    /// That of its flow.
    Flow,
}

impl CostBudget {
    /// Says in the error of a run that reached its limit of cost whose limit that is, and what can be done.
    #[must_use]
    pub fn explain_limit(self, mut error: RunError) -> RunError {
        let (whose, who) = match self {
            Self::Key => {
                ("the key that started the run", "give the key a larger one (`trefoil keys add --cost-per-day`)")
            }
            Self::Flow => ("the flow", "give the flow a larger one (`cost_per_day_micro` of its rule)"),
        };
        error.message.push_str(&format!("; the limit is what was left of the day's budget of {whose}"));
        error.raise = None;
        let help = format!(
            "start it again when more of the budget is left, on the next day (UTC) at the latest; or the operator of the server can {who}"
        );
        error.with_help(help)
    }
}

/// What a cost limit reserves for a call before it starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reserve {
    /// The expected cost. Calls in progress may exceed the limit by the difference to their actual cost.
    #[default]
    Estimate,
    /// The maximum cost, so the limit is never exceeded.
    Bound,
}

impl Flags {
    /// Applies changes.
    pub fn apply_changes(&mut self, changes: &ResumeChanges) {
        // The coordinator enforces those of a run that reuses results.
        let spec = if self.reuses { changes.spec.without_limits() } else { changes.spec };
        self.spec = spec.with_defaults(self.spec);
        if !changes.windows.is_empty() {
            self.windows.clone_from(&changes.windows);
        }
        if let Some(models) = &changes.models {
            self.prices.clone_from(&models.prices);
            self.windows.clone_from(&models.windows);
            self.fallbacks.clone_from(&models.fallbacks);
        }
    }

    /// Whether no answer costs anything.
    pub fn is_free(&self) -> bool {
        is_free(&self.prices)
    }

    /// The price of a model. `None`: it is not known.
    pub fn model_price(&self, provider: Option<&str>, model: &str) -> Option<&ModelPrice> {
        of_model(&self.prices, provider, model)
    }

    /// The models that may answer a call, the requested one first, each with its price and context window if they are known.
    pub fn candidate_models<'f>(
        &'f self,
        provider: Option<&str>,
        model: &str,
    ) -> impl Iterator<Item = (&'f str, Option<&'f ModelPrice>, Option<u64>)> {
        let by_name = |name: &'f String| {
            let price = self.prices.iter().find(|(known, _)| known == name).map(|(_, price)| price);
            let window = self.windows.iter().find(|(known, _)| known == name).map(|(_, window)| *window);
            (name.as_str(), price, window)
        };
        let own = ("", self.model_price(provider, model), self.context_window(provider, model));
        let others = of_model(&self.fallbacks, provider, model).into_iter().flatten();
        std::iter::once(own).chain(others.map(by_name))
    }

    /// The price of the model that answered a call. `by`: its name, if it is not the requested one. `None`: it is not known.
    pub fn price_by(&self, provider: Option<&str>, model: &str, by: Option<&str>) -> Option<&ModelPrice> {
        let mut others = self.candidate_models(provider, model).skip(1);
        match by.and_then(|by| others.find(|(name, ..)| *name == by)) {
            Some((_, price, _)) => price,
            None => self.model_price(provider, model),
        }
    }

    /// The context window of a model. `None`: it is not known.
    pub fn context_window(&self, provider: Option<&str>, model: &str) -> Option<u64> {
        of_model(&self.windows, provider, model).copied()
    }
}

/// The list's element for a model, by `PROVIDER:NAME`.
fn of_model<'l, T>(list: &'l [(String, T)], provider: Option<&str>, model: &str) -> Option<&'l T> {
    let is = |name: &str| match provider {
        Some(provider) => name.strip_prefix(provider).and_then(|rest| rest.strip_prefix(':')) == Some(model),
        None => name == model,
    };
    list.iter().find(|(name, _)| is(name)).map(|(_, listed)| listed)
}

/// Reads the kind of an activity. The known ones are not copied, because every second entry of a journal has one.
fn sort_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'static, str>, D::Error> {
    struct SortName;

    impl serde::de::Visitor<'_> for SortName {
        type Value = Cow<'static, str>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the kind of an activity")
        }
        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            let known = Request::SORTS.into_iter().find(|sort| *sort == text);
            Ok(known.map_or_else(|| text.to_owned().into(), Cow::Borrowed))
        }
    }

    deserializer.deserialize_str(SortName)
}

/// Writes a 64-bit number as a string, because not every JSON parser preserves it.
mod number_as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
