//! Journal entries: the only internal types that are stored.
//!
//! They are a contract, as [stored requests](crate::wire) are: what one version writes, all later ones read. A new field is
//! optional; a changed meaning is a new [`VERSION`]. An entry is a JSON object; numbers that may be beyond 2^53 are texts,
//! values are in [their wire form](trefoil_template::wire), and nothing in it means something only to the load that wrote it:
//! no file numbers, no steps by position. Golden journals are in `tests/machine/journals`.

use serde::{Deserialize, Serialize};
use trefoil_prices::Price;
use trefoil_template::{Value, wire};

use crate::error::RunError;
use crate::event::Told;
use crate::guard::Verdict;
use crate::key::{ContentKey, Key};
use crate::request::Usage;

/// The version that this build writes.
pub const VERSION: u16 = 1;

/// One entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// [`VERSION`] of the writer.
    pub v: u16,
    /// From 0, without gaps.
    pub seq: u64,
    /// Milliseconds on the run's clock: the time since it began, whether anything was running or not. It never goes back.
    /// Limits of time go by it.
    pub at_ms: u64,
    /// What happened.
    #[serde(rename = "entry")]
    pub kind: EntryKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// The run began. The first entry, and no other.
    Started(Box<Started>),
    /// The machine asked for an activity. Nothing of it has been done before this is stored.
    Scheduled {
        /// Which.
        key: Key,
        /// `model`, `tool`, `command`, `human`, `timer`, `decide`.
        sort: String,
        /// What it depends on.
        content: ContentKey,
        /// Of a timer: when it is due, on the run's clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due_ms: Option<u64>,
        /// Of a model call: as [`Activity::again`](crate::Activity::again), so it is not a call of its own.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// It ended well.
    Completed {
        /// Which.
        key: Key,
        /// Its result.
        #[serde(with = "wire")]
        value: Value,
        /// What else is known about it.
        #[serde(default, skip_serializing_if = "About::is_nothing")]
        about: About,
    },
    /// It failed.
    Failed {
        /// Which.
        key: Key,
        /// Why.
        error: RunError,
        /// What else is known about it.
        #[serde(default, skip_serializing_if = "About::is_nothing")]
        about: About,
    },
    /// Another process continues with the run, or the same one again.
    Resumed {
        /// Version of its engine.
        engine: String,
        /// How often the run has been resumed, including this time.
        execution: u32,
        /// The model calls that were in progress when the process before ended: nobody knows what they used. Each is requested
        /// again, as a call like any other: it has a new `scheduled`, unless a limit ends the run before it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lost: Vec<Lost>,
        /// What is different from now on.
        #[serde(default, skip_serializing_if = "Changes::is_nothing")]
        changes: Box<Changes>,
    },
    /// A run that had failed continues from the step that failed. Its end is void, and so are the ends of some activities; everything
    /// else is kept.
    Reopened {
        /// Version of the engine.
        engine: String,
        /// How often the run has been resumed, including this time.
        execution: u32,
        /// When, in milliseconds since 1970-01-01 UTC. The time since its end does not count.
        at: u64,
        /// The activities that are done again: what came of them before this entry is void.
        again: Vec<Key>,
        /// What is different from now on.
        #[serde(default, skip_serializing_if = "Changes::is_nothing")]
        changes: Box<Changes>,
    },
    /// A tool or command that was in progress when its process ended is done again: nobody knows whether it was done.
    Restarted {
        /// Which.
        key: Key,
        /// Of a model call, in journals of earlier builds: what it is taken to have used the first time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Whether the time limit of its step begins with this entry. In journals of earlier builds it went on.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        anew: bool,
    },
    /// All that is left to do is to wait, for people or for time, and the process ended.
    Suspended {
        /// When time alone continues with the run, in milliseconds since 1970-01-01 UTC.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wake_at: Option<u64>,
    },
    /// Somebody asked the run to stop.
    CancelRequested {},
    /// The run ended.
    Finished {
        /// Its output.
        #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::wire::optional")]
        output: Option<Value>,
        /// Or why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<RunError>,
    },
}

/// A model call of which nobody knows how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lost {
    /// Which.
    pub key: Key,
    /// What it counts as.
    pub usage: Usage,
    /// The text that had come, as it may be shown, as far as it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
}

/// What whoever continues with a run wants otherwise than it was so far. What is not set stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// Model calls that the run may make, those before included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u64>,
    /// Micro-dollars that the run may spend, those spent before included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_micro: Option<u64>,
    /// What cost limits set aside for a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Reserve>,
    /// With [`Reserve::Bound`]: as [`Flags::windows`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<(String, u64)>,
    /// Other models answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Answering>,
}

impl Changes {
    /// Whether everything stays as it is.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What answers model calls, and what that costs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Answering {
    /// As [`Started::answers`].
    pub answers: String,
    /// As [`Started::models`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<(String, String)>,
    /// As [`Flags::prices`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<(String, Price)>,
    /// As [`Flags::windows`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<(String, u64)>,
    /// As [`Flags::fallbacks`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<(String, Vec<String>)>,
}

impl Answering {
    /// Whether no answer costs anything.
    pub fn is_free(&self) -> bool {
        is_free(&self.prices)
    }
}

fn is_free(prices: &[(String, Price)]) -> bool {
    !prices.is_empty() && prices.iter().all(|(_, price)| price.is_free())
}

/// How a run began: everything that it depends on and that is not in later entries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// The run's id.
    pub run: String,
    /// When, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// What runs.
    pub program: Identity,
    /// Its input.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::wire::optional")]
    pub input: Option<Value>,
    /// What else the machine depends on.
    pub flags: Flags,
    /// What answers model calls: `embedded`, `scripted=FILE`, `PROVIDER:NAME` for every call, `manifest` for the models
    /// that [the program](Self::program) names, `host` for the embedder's own.
    #[serde(default)]
    pub answers: String,
    /// Which model each agent is answered by: its name and `PROVIDER:NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<(String, String)>,
    /// The earlier run whose results it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Box<Basis>>,
}

/// What runs, by content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// [`trefoil_ir::Fingerprint`] of the program, as text.
    pub fingerprint: String,
    /// [`trefoil_ir::SEMANTICS`] of the build that made it.
    pub semantics: u32,
    /// Version of the engine.
    pub engine: String,
    /// The entry flow.
    pub flow: String,
    /// The files that it was made of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceFile>,
    /// How they make it: SHA-256, as text, of a description that whoever stores journals has under it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
}

/// A file that a program was made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its path in the project.
    pub path: String,
    /// SHA-256 of its bytes, as text. Whoever stores journals has the bytes under it.
    pub sha256: String,
}

/// What is known about how an activity ended, beside its result. None of it decides what the machine does but what it used, and whether
/// it may be called again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// Of a model call: the model, as `PROVIDER:NAME`, `embedded` or `scripted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Of a tool that failed: calling it again does no harm (decision C15).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeatable: bool,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Of a model call: what its provider said beside the answer.
    #[serde(default, skip_serializing_if = "Told::is_nothing")]
    pub told: Told,
    /// The result was there before: the entry that has it. Nothing was done and nothing used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<u64>,
    /// The result is that of an earlier run. Nothing was done and nothing used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Box<Cited>>,
    /// What else there is to say before its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Of an answer that guardrails looked at: what each came to; empty: every one let it pass as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<Vec<Verdict>>,
    /// Of a model call that failed: the text that had come, as it may be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
}

/// An activity of an earlier run whose result is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cited {
    /// The run.
    pub run: String,
    /// What the activity is called there, where that is another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    /// What was requested, there as here.
    pub content: ContentKey,
    /// What was requested there, if it differs: the request names its step, which has another name now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub there: Option<ContentKey>,
    /// Of a model call: what it used when it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Usage>,
}

impl Cited {
    /// What was requested there.
    pub fn content_there(&self) -> ContentKey {
        self.there.unwrap_or(self.content)
    }
}

/// The run whose results a run uses, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    /// That run. Empty, with [`answers`](Self::answers): any earlier one.
    pub run: String,
    /// Only the answers of models are used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answers: bool,
    /// The step from which on nothing of it is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The steps whose tools and commands may be done again although they are not idempotent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rerun: Vec<String>,
    /// Model calls that the run may make. Results that it takes cost nothing and do not count, which the machine cannot know before:
    /// it has no such limit, and whoever makes the calls holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u64>,
    /// Micro-dollars that the run may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_micro: Option<u64>,
}

impl About {
    /// Whether the result was there before: nothing was done.
    pub fn is_reused(&self) -> bool {
        self.kept.is_some() || self.from.is_some()
    }
    /// Only what it used.
    pub fn usage(usage: Option<Usage>) -> Self {
        Self { usage, ..Self::default() }
    }
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What the machine depends on beside program, input and entries.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Flags {
    /// Seed of retry jitter.
    #[serde(default, with = "number_as_text")]
    pub seed: u64,
    /// Model calls that the run may make; none: as many as it wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u64>,
    /// Micro-dollars that the run may spend; none: as much as it wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_micro: Option<u64>,
    /// The prices of the models that the run may call, by `PROVIDER:NAME`, as they were when it began: those of a later build do not
    /// change what it has spent. A model without one has no known price.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<(String, Price)>,
    /// What a cost limit reserves for a call.
    #[serde(default, skip_serializing_if = "Reserve::is_estimate")]
    pub reserve: Reserve,
    /// The context windows of these models in tokens, as far as they are known: for [`Reserve::Bound`] only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<(String, u64)>,
    /// The models that may answer instead of one, by `PROVIDER:NAME`. A cost limit goes by the most expensive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<(String, Vec<String>)>,
}

/// What a cost limit reserves for a call before it starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reserve {
    /// What it is expected to cost: calls that are in progress may pass the limit by what they cost more.
    #[default]
    Estimate,
    /// The most that it can cost: nothing passes the limit.
    Bound,
}

impl Reserve {
    fn is_estimate(&self) -> bool {
        *self == Self::Estimate
    }
}

impl Flags {
    /// With what is different from now on.
    pub fn change(&mut self, changes: &Changes) {
        self.max_calls = changes.max_calls.or(self.max_calls);
        self.max_cost_micro = changes.max_cost_micro.or(self.max_cost_micro);
        self.reserve = changes.reserve.unwrap_or(self.reserve);
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

    /// The price of a model; none: it is not known.
    pub fn price(&self, provider: Option<&str>, model: &str) -> Option<&Price> {
        of_model(&self.prices, provider, model)
    }

    /// The models that may answer a call, the one that is asked first, each with its price and context window as far as they are known.
    pub fn candidates<'f>(
        &'f self,
        provider: Option<&str>,
        model: &str,
    ) -> impl Iterator<Item = (&'f str, Option<&'f Price>, Option<u64>)> {
        let by_name = |name: &'f String| {
            let price = self.prices.iter().find(|(known, _)| known == name).map(|(_, price)| price);
            let window = self.windows.iter().find(|(known, _)| known == name).map(|(_, window)| *window);
            (name.as_str(), price, window)
        };
        let own = ("", self.price(provider, model), self.window(provider, model));
        let others = of_model(&self.fallbacks, provider, model).into_iter().flatten();
        std::iter::once(own).chain(others.map(by_name))
    }

    /// The price of the model that answered a call, where `by` says which; none: it is not known.
    pub fn price_by(&self, provider: Option<&str>, model: &str, by: Option<&str>) -> Option<&Price> {
        let mut others = self.candidates(provider, model).skip(1);
        match by.and_then(|by| others.find(|(name, ..)| *name == by)) {
            Some((_, price, _)) => price,
            None => self.price(provider, model),
        }
    }

    /// The context window of a model; none: it is not known.
    pub fn window(&self, provider: Option<&str>, model: &str) -> Option<u64> {
        of_model(&self.windows, provider, model).copied()
    }
}

/// What is listed for a model under `PROVIDER:NAME`.
fn of_model<'l, T>(list: &'l [(String, T)], provider: Option<&str>, model: &str) -> Option<&'l T> {
    let is = |name: &str| match provider {
        Some(provider) => name.strip_prefix(provider).and_then(|rest| rest.strip_prefix(':')) == Some(model),
        None => name == model,
    };
    list.iter().find(|(name, _)| is(name)).map(|(_, listed)| listed)
}

/// Sixty-four bits: not every reader of JSON keeps them.
mod number_as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
