//! Which model a run uses: the one from `--model`, otherwise the one in the manifest. The embedded model answers only
//! if it is clear that no real one was meant.
//!
//! Only [`ModelPlan::decide_models`] decides this, for both `run` and `plan`. It writes its decision into the program, so
//! every output names the model that really answers.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use trefoil_ir::{FlowId, ModelCaller, ModelChoice, Program, StepId, StepKind, walk};
use trefoil_machine::key::label_path;
use trefoil_machine::step_path::{is_marked, step_places};
use trefoil_syntax::{Location, suggestions};

use crate::named_calls::{NamedModelCalls, find_model_calls};
use crate::registry::{ModelName, ProviderAvailability, Registry, StepFallbacks, unknown_provider_message};

/// A `--model` argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelOverride {
    /// `embedded`
    Embedded,
    /// `scripted=FILE`
    Scripted(PathBuf),
    /// `provider:name`: this model for every call.
    Named {
        /// The part before the first colon.
        provider: Arc<str>,
        /// The part after it.
        model: Arc<str>,
    },
    /// `NAME=provider:name`: this model for an alias, an agent or a step.
    For {
        /// The alias, agent or step.
        name: Arc<str>,
        /// The provider.
        provider: Arc<str>,
        /// Its model.
        model: Arc<str>,
        /// Fallback models, in the order in which they are tried.
        others: Vec<ModelName>,
    },
}

impl ModelOverride {
    /// Whether this argument chose this model.
    fn is(&self, model: &ModelChoice) -> bool {
        match self {
            Self::Embedded | Self::Scripted(_) => false,
            Self::Named { provider, model: name } | Self::For { provider, model: name, .. } => {
                model.provider.as_ref() == Some(provider) && model.name == *name
            }
        }
    }
    /// The providers that it names.
    pub fn named_providers(&self) -> impl Iterator<Item = &Arc<str>> {
        let (first, others) = match self {
            Self::Embedded | Self::Scripted(_) => (None, [].as_slice()),
            Self::Named { provider, .. } => (Some(provider), [].as_slice()),
            Self::For { provider, others, .. } => (Some(provider), others.as_slice()),
        };
        first.into_iter().chain(others.iter().map(|other| &other.provider))
    }
    /// The message for a provider that is certainly misspelt, which can be said before any settings are read: no declared
    /// provider may have such a name (see [`find_misspelled_provider`]).
    pub fn unknown_provider(&self) -> Option<String> {
        let misspelled = self.named_providers().find(|provider| find_misspelled_provider(provider).is_some())?;
        Some(unknown_provider_message(misspelled, Registry::known_providers()))
    }
}

impl TryFrom<&str> for ModelOverride {
    type Error = PlanError;

    fn try_from(text: &str) -> Result<Self, PlanError> {
        text.parse()
    }
}

impl TryFrom<String> for ModelOverride {
    type Error = PlanError;

    fn try_from(text: String) -> Result<Self, PlanError> {
        text.parse()
    }
}

impl std::str::FromStr for ModelOverride {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        if text == "embedded" {
            return Ok(Self::Embedded);
        }
        if let Some(file) = text.strip_prefix("scripted=")
            && !file.is_empty()
        {
            return Ok(Self::Scripted(file.into()));
        }
        let (name, model) = split_name(text);
        let Some((provider, model)) = split_provider(model) else {
            let error = PlanError::new(format!("`{text}` is not a model"));
            let help = "write `embedded`, `scripted=FILE`, `provider:name`, or `NAME=provider:name` for one alias, agent or step";
            return Err(error.help(help));
        };
        let (provider, model) = (provider.into(), model.into());
        Ok(match name {
            Some(name) => Self::For { name: name.into(), provider, model, others: Vec::new() },
            None => Self::Named { provider, model },
        })
    }
}

/// The name before a model, if there is one, and the model. A name may contain `=` and `:`, and so may a model; a provider
/// contains no `=`.
fn split_name(text: &str) -> (Option<&str>, &str) {
    let mut splits = Vec::new();
    for (at, _) in text.match_indices('=') {
        if let (Some(name), Some(model)) = (text.get(..at), text.get(at + 1..))
            && !name.is_empty()
        {
            splits.push((name, model));
        }
    }
    for &(name, model) in &splits {
        if has_known_provider(model) {
            return (Some(name), model);
        }
    }
    if has_known_provider(text) {
        return (None, text);
    }
    for (name, model) in splits {
        if split_provider(model).is_some() {
            return (Some(name), model);
        }
    }
    (None, text)
}

fn has_known_provider(model: &str) -> bool {
    let Some((provider, _)) = model.split_once(':') else { return false };
    Registry::known_providers().any(|known| known == provider)
}

/// The provider and the name of a model.
fn split_provider(model: &str) -> Option<(&str, &str)> {
    match model.split_once(':') {
        Some((provider, name)) if !provider.is_empty() && !provider.contains('=') && !name.is_empty() => {
            Some((provider, name))
        }
        _ => None,
    }
}

/// The known provider that a name almost certainly means: a single character is different.
pub fn find_misspelled_provider(provider: &str) -> Option<&'static str> {
    let near = suggestions::find_near_match(provider, Registry::known_providers())?;
    if near.sure && near.distance == 1 { Some(near.name) } else { None }
}

/// How to fix an unknown provider: use the name that was probably meant, or declare it.
pub fn unknown_help<'n>(provider: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let declare = format!("declare it with `base_url` under `[providers.{provider}]`");
    match suggestions::nearest_name(provider, names) {
        Some(near) if find_misspelled_provider(provider).is_some() => format!("did you mean `{near}`?"),
        Some(near) => format!("did you mean `{near}`? If not, {declare}"),
        None => declare,
    }
}

/// The models that a run uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelPlan {
    /// The embedded model.
    Embedded,
    /// Answers from a file.
    Scripted(PathBuf),
    /// This model for every call.
    Named {
        /// The provider.
        provider: Arc<str>,
        /// Its model.
        model: Arc<str>,
    },
    /// The models named by the steps, with their fallbacks.
    AsWritten(StepFallbacks),
}

/// One reason why a run cannot start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError {
    /// The message, one line.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
    /// The place that names the model.
    pub place: Option<Location>,
}

impl PlanError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, place: None }
    }
    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for PlanError {}

/// For models that are given without text, so that parsing cannot fail.
impl From<Infallible> for PlanError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// The other inputs of a decision.
#[derive(Debug, Clone, Copy)]
pub struct PlanInput<'a> {
    /// The `--model` arguments.
    pub chosen: &'a [ModelOverride],
    /// Whether placeholder answers cannot be mistaken for real ones: the output is a terminal, and this is not a CI
    /// server.
    pub placeholders: bool,
    /// Whether they are the models of a run that has begun, which accepts no others: what is missing has to be supplied.
    pub is_begun: bool,
}

/// The agents and the models that they use, each pair once, in program order.
pub fn models_used(program: &Program) -> Vec<(Arc<str>, ModelChoice)> {
    models_used_from(program, program.entry)
}

/// The same for a run that starts another flow.
pub fn models_used_from(program: &Program, entry: FlowId) -> Vec<(Arc<str>, ModelChoice)> {
    let mut all: Vec<(Arc<str>, ModelChoice)> = Vec::new();
    for (_, id) in walk::reachable_steps(program, entry) {
        if let StepKind::Model(call) = &program.steps[id].kind {
            let same = |(speaker, model): &(Arc<str>, ModelChoice)| {
                *speaker == call.speaker && model.provider == call.model.provider && model.name == call.model.name
            };
            if !all.iter().any(same) {
                all.push((call.speaker.clone(), call.model.clone()));
            }
        }
    }
    all
}

impl ModelPlan {
    /// Decides which models a run of this program uses, and writes them into the program, which is copied only if they
    /// change. The error has every reason why the run cannot start.
    pub fn decide_models(
        program: &mut Arc<Program>,
        registry: &Registry,
        asked: PlanInput<'_>,
    ) -> Result<Self, Vec<PlanError>> {
        let mut errors = Vec::new();
        let everything = everything(asked.chosen).map_err(|error| vec![error])?;
        for chosen in asked.chosen {
            if let ModelOverride::For { name, .. } = chosen
                && !is_known(program, name)
            {
                errors.push(match find_model_calls(program, name) {
                    NamedModelCalls { shared: Some((other, agent)), .. } => shared_agent_error(name, &other, &agent),
                    NamedModelCalls { calls, .. } if calls.is_empty() => nobody(program, name),
                    NamedModelCalls { .. } => continue,
                });
            }
        }
        let aims = |c: &ModelOverride| matches!(c, ModelOverride::Named { .. } | ModelOverride::For { .. });
        let mut fallbacks = StepFallbacks::default();
        if asked.chosen.iter().any(aims) {
            fallbacks = aim(Arc::make_mut(program), asked.chosen);
        }
        match everything {
            Some(ModelOverride::Embedded) if errors.is_empty() => return Ok(Self::Embedded),
            Some(ModelOverride::Scripted(file)) if errors.is_empty() => return Ok(Self::Scripted(file.clone())),
            _ => {}
        }
        let used = models_used(program);
        if asked.placeholders && asked.chosen.is_empty() && !registry.is_configured() && !used.is_empty() {
            return Ok(Self::Embedded);
        }
        errors.extend(cannot(registry, program, &fallbacks, asked));
        match everything {
            _ if !errors.is_empty() => Err(errors),
            Some(ModelOverride::Named { provider, model }) if asked.chosen.len() == 1 => {
                Ok(Self::Named { provider: provider.clone(), model: model.clone() })
            }
            _ => Ok(Self::AsWritten(fallbacks)),
        }
    }
}

/// The argument for every call; there may be at most one.
fn everything(chosen: &[ModelOverride]) -> Result<Option<&ModelOverride>, PlanError> {
    let mut for_all = None;
    let mut is_any_named = false;
    for argument in chosen {
        match for_all {
            _ if matches!(argument, ModelOverride::For { .. }) => is_any_named = true,
            None => for_all = Some(argument),
            Some(first) if first == argument => {}
            Some(_) => {
                let error = PlanError::new("`--model` names more than one model for every call");
                return Err(error.help("use `NAME=provider:name` for an alias, an agent or a step"));
            }
        }
    }
    if is_any_named && matches!(for_all, Some(ModelOverride::Embedded | ModelOverride::Scripted(_))) {
        let error =
            PlanError::new("`embedded` and `scripted=FILE` answer every call, so they must be the only `--model`");
        return Err(error.help("remove the other `--model` arguments"));
    }
    Ok(for_all)
}

/// Whether a program has an alias, an agent or a step with this name.
pub fn has_name(program: &Program, name: &str) -> bool {
    if is_known(program, name) {
        return true;
    }
    let found = find_model_calls(program, name);
    found.shared.is_none() && !found.calls.is_empty()
}

/// Whether the name is that of a model call or its agent or alias.
fn is_known(program: &Program, name: &str) -> bool {
    program.steps.iter().any(|step| match &step.kind {
        StepKind::Model(call) => is_called(name, step.label.as_deref(), &call.speaker, &call.model),
        _ => false,
    })
}

fn is_called(name: &str, label: Option<&str>, speaker: &str, model: &ModelChoice) -> bool {
    label == Some(name) || speaker == name || (model.provider.is_none() && &*model.name == name)
}

fn shared_agent_error(name: &str, other: &str, agent: &str) -> PlanError {
    let error =
        PlanError::new(format!("`{name}` and `{other}` run the same agent, `{agent}`, which can have only one model"));
    error.help(format!("set it for both with `--model {agent}=provider:name`"))
}

fn nobody(program: &Program, name: &str) -> PlanError {
    let mut known: Vec<&str> = Vec::new();
    for step in &program.steps {
        if matches!(step.kind, StepKind::Call(_)) {
            known.extend(step.label.as_deref());
        }
        if let StepKind::Model(call) = &step.kind {
            known.extend(step.label.as_deref());
            known.push(&call.speaker);
            if call.model.provider.is_none() {
                known.push(&call.model.name);
            }
        }
    }
    let bare = label_path(name);
    if is_marked(name) && has_name(program, &bare) {
        let error = PlanError::new(format!("`{name}` names one pass or item, and a model is for all of them"));
        return error.help(format!("choose it with `--model {bare}=provider:name`"));
    }
    let calls = step_places(program, |step| matches!(step.kind, StepKind::Tool(_)));
    let error = PlanError::new(format!("no alias, agent or step is named `{name}`"));
    for call in &calls {
        if let Some(inner) = call.names_inside(name).next() {
            let help = "if it is a step of the flow that this step calls, its model is for all calls";
            return error.help(format!("{help}: write `--model {inner}=provider:name`"));
        }
    }
    known.retain(|known| has_name(program, known));
    let mut told = BTreeSet::new();
    known.retain(|known| told.insert(*known));
    match suggestions::nearest_name(name, known.iter().copied()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None if known.is_empty() => error.help("this workflow calls no model"),
        None => error.help(format!("available: `{}`", known.join("`, `"))),
    }
}

/// What a `--model` argument names, of what a call belongs to. The first has precedence.
#[derive(PartialEq, PartialOrd)]
enum NamedPart {
    Path,
    Label,
    Around,
    Agent,
    Alias,
    EveryCall,
}

/// The calls inside of the steps that arguments name, by name.
type CallsInside<'c> = Vec<(&'c str, BTreeSet<StepId>)>;

fn find_calls_inside<'c>(program: &Program, chosen: &'c [ModelOverride]) -> CallsInside<'c> {
    let mut inside = Vec::new();
    for argument in chosen {
        if let ModelOverride::For { name, .. } = argument
            && !is_known(program, name)
        {
            let found = find_model_calls(program, name);
            if found.shared.is_none() {
                inside.push((&**name, found.calls));
            }
        }
    }
    inside
}

/// What a name means of what a call belongs to; `None`: nothing.
fn named_part(
    name: &str,
    caller: &ModelCaller<'_>,
    choice: &ModelChoice,
    inside: &CallsInside<'_>,
) -> Option<NamedPart> {
    let is_around = inside.iter().any(|(around, calls)| *around == name && calls.contains(&caller.step));
    // `b`, or a step without a label, in `x/b`.
    let is_path = match (name.rsplit_once('/'), caller.label) {
        (Some((_, last)), Some(label)) => is_around && label == last,
        (Some(_), None) => is_around,
        (None, _) => false,
    };
    match () {
        () if is_path => Some(NamedPart::Path),
        () if caller.label == Some(name) => Some(NamedPart::Label),
        () if is_around => Some(NamedPart::Around),
        () if **caller.speaker == *name => Some(NamedPart::Agent),
        () if choice.provider.is_none() && *choice.name == *name => Some(NamedPart::Alias),
        () => None,
    }
}

/// Writes the chosen models into the program. A choice for a step takes precedence over one for its agent, then an
/// alias, then every call; of two for the same, the last one counts. Returns the fallback models.
fn aim(program: &mut Program, chosen: &[ModelOverride]) -> StepFallbacks {
    let mut fallbacks = StepFallbacks::default();
    let inside = find_calls_inside(program, chosen);
    for (caller, choice) in program.model_choices() {
        let mut best = None;
        for argument in chosen {
            let (part, aimed) = match argument {
                ModelOverride::Embedded | ModelOverride::Scripted(_) => continue,
                ModelOverride::Named { provider, model } => (NamedPart::EveryCall, (provider, model, [].as_slice())),
                ModelOverride::For { name, provider, model, others } => {
                    let Some(part) = named_part(name, &caller, choice, &inside) else { continue };
                    (part, (provider, model, others.as_slice()))
                }
            };
            match &best {
                Some((known, _)) if *known < part => {}
                _ => best = Some((part, aimed)),
            }
        }
        if let Some((_, (provider, model, others))) = best {
            choice.provider = Some(provider.clone());
            choice.name = model.clone();
            if !others.is_empty() {
                fallbacks.insert(caller.step, others.into());
            }
        }
    }
    fallbacks
}

/// The reasons why models cannot be called, each with all agents that it affects, and how to fix it.
fn cannot(registry: &Registry, program: &Program, fallbacks: &StepFallbacks, asked: PlanInput<'_>) -> Vec<PlanError> {
    let mut reasons: Vec<(PlanError, Vec<&str>)> = Vec::new();
    for (_, id) in walk::reachable_steps(program, program.entry) {
        let StepKind::Model(call) = &program.steps[id].kind else { continue };
        let (speaker, model) = (&call.speaker, &call.model);
        let Some(error) = why(registry, model, asked.is_begun) else { continue };
        let ready = |other: &ModelName| registry.provider_availability(&other.provider) == ProviderAvailability::Ready;
        if let Some(others) = fallbacks.get(&id)
            && others.iter().any(ready)
        {
            continue;
        }
        // A model from the command line has no place in a manifest.
        let is_written = !asked.chosen.iter().any(|argument| argument.is(model));
        let place = if is_written { Some(model.origin) } else { None };
        match reasons.iter_mut().find(|(known, _)| known.message == error.message) {
            Some((_, speakers)) if speakers.contains(&&**speaker) => {}
            Some((_, speakers)) => speakers.push(speaker),
            None => reasons.push((PlanError { place, ..error }, vec![speaker])),
        }
    }
    let mut errors = Vec::new();
    for (error, speakers) in reasons {
        let count = if speakers.len() == 1 { "1 agent".to_owned() } else { format!("{} agents", speakers.len()) };
        let message = format!("{}: `{}` ({count})", error.message, speakers.join("`, `"));
        errors.push(PlanError { message, ..error });
    }
    errors
}

/// Why a model cannot be called. `is_begun`: another one cannot be chosen.
fn why(registry: &Registry, model: &ModelChoice, is_begun: bool) -> Option<PlanError> {
    let name = &model.name;
    let Some(provider) = &model.provider else {
        let error = PlanError::new(format!("the alias `{name}` has no model"));
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let key = if name.chars().all(is_plain) { name.to_string() } else { format!("\"{name}\"") };
        let option = if is_begun { String::new() } else { format!("`--model {name}=provider:name`, or with ") };
        let file = format!("`{key} = \"provider:name\"` under `[models]` in `config.toml`");
        return Some(error.help(format!("map it with {option}{file}")));
    };
    let error = PlanError::new(missing(registry, provider)?);
    let mut ways = Vec::new();
    match registry.provider_availability(provider) {
        ProviderAvailability::NoKey { variable, .. } => ways.push(format!("set `{variable}`")),
        ProviderAvailability::BadAddress { variable, .. } => ways.push(format!("correct `{variable}`")),
        ProviderAvailability::Unknown => return Some(error.help(unknown_help(provider, registry.provider_names()))),
        ProviderAvailability::Ready => {}
    }
    if !is_begun {
        ways.push("choose another model with `--model provider:name`".to_owned());
    }
    Some(if ways.is_empty() { error } else { error.help(ways.join(", or ")) })
}

/// What is missing before this provider can be called.
fn missing(registry: &Registry, provider: &str) -> Option<String> {
    match registry.provider_availability(provider) {
        ProviderAvailability::Ready => None,
        ProviderAvailability::NoKey { variable, or: None } => Some(format!("`{variable}` is not set")),
        ProviderAvailability::NoKey { variable, or: Some(other) } => {
            Some(format!("neither `{variable}` nor `{other}` is set"))
        }
        ProviderAvailability::BadAddress { variable, why } => Some(format!("`{variable}` {why}")),
        ProviderAvailability::Unknown => Some(format!("unknown provider `{provider}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read() {
        let read = |text: &str| text.parse::<ModelOverride>();
        assert_eq!(read("scripted=a=b.yaml").unwrap(), ModelOverride::Scripted("a=b.yaml".into()));
        let named = ModelOverride::Named { provider: "ollama".into(), model: "llama3:8b".into() };
        assert_eq!(read("ollama:llama3:8b").unwrap(), named);
        let (provider, model) = ("openai".into(), "gpt-x".into());
        assert_eq!(
            read("smart=openai:gpt-x").unwrap(),
            ModelOverride::For { name: "smart".into(), provider, model, others: Vec::new() }
        );
        let split = |text: &str| match read(text).unwrap() {
            ModelOverride::For { name, provider, model, .. } => [name, provider, model].map(|part| part.to_string()),
            ModelOverride::Named { provider, model } => [String::new(), provider.to_string(), model.to_string()],
            other => panic!("{text}: {other:?}"),
        };
        for (text, parts) in [
            ("mail:send=openai:gpt", ["mail:send", "openai", "gpt"]),
            ("mail:send=local:m:8b", ["mail:send", "local", "m:8b"]),
            ("openai:x=openai:gpt", ["openai:x", "openai", "gpt"]),
            ("a=b:c=openai:gpt", ["a=b:c", "openai", "gpt"]),
            ("x=y=local:m", ["x=y", "local", "m"]),
            ("a=local:m=1", ["a", "local", "m=1"]),
            ("openai:ft=a:b", ["", "openai", "ft=a:b"]),
            ("local:m=1", ["", "local", "m=1"]),
        ] {
            assert_eq!(split(text), parts, "{text}");
        }
        for wrong in ["", "gpt-4", ":x", "openai:", "scripted=", "smart=", "=openai:x", "smart=gpt"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
