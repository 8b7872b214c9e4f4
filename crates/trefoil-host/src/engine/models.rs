//! The models for a flow's calls, chosen and prepared once for all of an engine's runs of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use trefoil_embedded::EmbeddedModel;
use trefoil_ir::Program;
use trefoil_machine::{PreparedProgram, RunStart};
use trefoil_models::{
    ModelOverride, ModelPlan, NonDefaultAddress, PlanError, PlanInput, Registry, Scripted, StepFallbacks,
    plan::{has_name, models_used},
};
use trefoil_runtime::ModelProvider;
use trefoil_syntax::{Diagnostic, FindingSeverity, Location};
use trefoil_tools::HttpTools;
use trefoil_tools::guard::{GuardRules, GuardedClient};

use super::{AnswersFrom, Engine, EngineParts, MODEL, SCRIPT};
use crate::durable::StoredRun;
use trefoil_project::flow::{Flow, WeakFlow};
use trefoil_project::settings;
use trefoil_runtime::locks::lock;
use trefoil_view::model_name;

/// The source of a program's model answers, with its details.
#[derive(Debug, Clone)]
pub struct AnswerSource {
    /// The source.
    pub from: AnswersFrom,
    /// Providers that are called at a URL other than the vendor's default.
    pub elsewhere: Vec<NonDefaultAddress>,
    /// The fallbacks of the program's models.
    pub fallbacks: StepFallbacks,
}

impl From<AnswersFrom> for AnswerSource {
    fn from(from: AnswersFrom) -> Self {
        Self { from, elsewhere: Vec::new(), fallbacks: StepFallbacks::default() }
    }
}

/// A flow prepared by an engine.
pub(super) struct PreparedFlow {
    /// The program with the chosen models.
    pub prepared: Arc<PreparedProgram>,
    /// What answers.
    pub from: AnswersFrom,
    /// Providers that are called at a URL other than the vendor's default.
    pub elsewhere: Vec<NonDefaultAddress>,
    /// The fallbacks of the program's models.
    pub fallbacks: StepFallbacks,
    /// The provider; `None`: a script, which starts again with each run.
    pub provider: Option<Arc<dyn ModelProvider>>,
}

impl PreparedFlow {
    /// The same for a resumed run: its program is the one with which it started, according to its journal, whatever
    /// answers now. Named models are part of the program, so they are the original ones.
    pub fn for_begun(self: Arc<Self>, parts: &EngineParts, flow: &Flow) -> Result<Arc<Self>, Vec<Diagnostic>> {
        if let Some(begun) = parts.begun.as_deref() {
            let (own, first) = (&flow.loaded_target().program, &begun.first);
            let is_it = |program: &Program| program.fingerprint().to_string() == first.program.fingerprint;
            if first.program.semantics != trefoil_ir::SEMANTICS || is_it(&self.prepared.program) {
                return Ok(self);
            }
            let program = if is_it(own) { own.clone() } else { program_of(own, first) };
            if !is_it(&program) {
                // The models do not cause the mismatch; the replay reports the difference.
                return Ok(self);
            }
            let provider: Option<Arc<dyn ModelProvider>> = match self.from {
                AnswersFrom::Embedded => Some(Arc::new(EmbeddedModel::new(&program, parts.seed.unwrap_or(0)))),
                AnswersFrom::Script(_) | AnswersFrom::Provider => self.provider.clone(),
                AnswersFrom::One(_) | AnswersFrom::AsWritten => return Err(vec![other_models(first)]),
            };
            let (from, elsewhere) = (self.from.clone(), self.elsewhere.clone());
            let (prepared, fallbacks) = (PreparedProgram::new(program), StepFallbacks::default());
            return Ok(Arc::new(Self { prepared, from, elsewhere, fallbacks, provider }));
        }
        let _ = (parts, flow);
        Ok(self)
    }
}

impl Engine {
    /// Chooses the models as [`Self::prepare_run`] would, and writes them into a program without running it.
    pub fn choose_models(&self, program: &mut Arc<Program>) -> std::result::Result<AnswerSource, Vec<Diagnostic>> {
        self.cache.decide_models(&self.parts_for(program), program)
    }

    /// A flow with the models of its runs.
    pub(super) fn prepared_flow(&self, flow: &Flow) -> std::result::Result<Arc<PreparedFlow>, Vec<Diagnostic>> {
        self.cache.prepared_flow(&self.parts_for(&flow.loaded_target().program), flow)
    }

    /// The parts without the models that are only for other flows, such as those which a program calls as tools.
    fn parts_for(&self, program: &Program) -> Arc<EngineParts> {
        let is_other = |model: &ModelOverride| match model {
            ModelOverride::For { name, .. } => !has_name(program, name),
            _ => false,
        };
        if !self.parts.models.iter().any(is_other) {
            return self.parts.clone();
        }
        let shared = self.parts.shares_models;
        let flows = self.flow_tools();
        let has_called = |name: &str| matches!(&flows, Some(flows) if flows.have_model(program, name));
        let is_theirs = |model: &ModelOverride| match model {
            ModelOverride::For { name, .. } => is_other(model) && (shared || has_called(name)),
            _ => false,
        };
        let mut parts = (*self.parts).clone();
        parts.models.retain(|model| !is_theirs(model));
        Arc::new(parts)
    }

    /// With these models, unless this engine sets models.
    pub(crate) fn with_models_of(self, run: &RunStart) -> Engine {
        if self.chooses_models() {
            return self;
        }
        match run.answers.as_str() {
            "host" | "" => self,
            "manifest" => self.with_models_of_run(run.models.iter().filter(|(_, model)| model.contains(':'))),
            one => self.model(one),
        }
    }

    /// With the models of a run's agents, which were not chosen for this engine.
    pub(crate) fn with_models_of_run<'m>(self, models: impl Iterator<Item = &'m (String, String)>) -> Self {
        let mut engine = self;
        for (agent, model) in models {
            engine = engine.model(format!("{agent}={model}").as_str());
        }
        engine.with_parts(|parts| parts.models_of_run = true)
    }

    /// Whether models were chosen for it.
    pub(crate) fn chooses_models(&self) -> bool {
        self.parts.provider.is_some() || !self.parts.models.is_empty()
    }
}

/// A program with the models chosen for a run of it.
pub(crate) fn program_of(own: &Arc<Program>, run: &RunStart) -> Arc<Program> {
    let mut program = own.clone();
    let engine = Engine::new().registry(Registry::to_read()).with_models_of(run);
    let _ = engine.choose_models(&mut program);
    program
}

/// The models that were chosen for a run, each as `--model` takes it.
pub(crate) fn chosen_models(run: &StoredRun) -> Vec<String> {
    let now = run.current_start();
    match AnswersFrom::of_stored(&now.answers) {
        AnswersFrom::One(model) => return vec![model],
        AnswersFrom::AsWritten => {}
        AnswersFrom::Embedded | AnswersFrom::Script(_) | AnswersFrom::Provider => return Vec::new(),
    }
    let mut program = run.flow.loaded_target().program.clone();
    let settings = settings::find_settings(run.entry_path(), now.permissions.no_config).settings;
    // What is not known here was chosen.
    let _ = Engine::new().settings(settings).registry(Registry::to_read()).choose_models(&mut program);
    let own: Vec<(String, String)> =
        models_used(&program).iter().map(|(agent, model)| (agent.to_string(), model_name(model))).collect();
    let mut chosen = Vec::new();
    for used in &now.models {
        let (agent, model) = used;
        if model.contains(':') && !own.contains(used) {
            chosen.push(format!("{agent}={model}"));
        }
    }
    chosen
}

fn other_models(first: &RunStart) -> Diagnostic {
    let mut models: Vec<String> = first.models.iter().map(|(_, model)| format!("`{model}`")).collect();
    models.dedup();
    let message = format!("the run cannot continue with models other than its original ones: {}", models.join(", "));
    let help =
        "resume it without `--model`, or with `--model embedded` or a script; or start a new run with its results";
    Diagnostic::without_location(MODEL, FindingSeverity::Error, None, message).with_help(help)
}

/// The cached results of an engine.
#[derive(Default)]
pub(super) struct EngineCache {
    registry: OnceLock<Registry>,
    /// Connections and tokens, and the same if only allowed hosts are called.
    http: [OnceLock<Arc<HttpTools>>; 2],
    /// Those of flows that may call only some hosts, by the name of the flow.
    restricted: Mutex<HashMap<String, Arc<EngineCache>>>,
    /// By flow. Entries of dropped flows are removed when the next one is added.
    flows: Mutex<HashMap<usize, (WeakFlow, Arc<PreparedFlow>)>>,
}

impl EngineCache {
    /// The results for a flow that may call only some hosts.
    pub fn for_restricted(&self, flow: &str) -> Arc<EngineCache> {
        lock(&self.restricted).entry(flow.to_owned()).or_default().clone()
    }

    /// The prepared flow, computed at its first run.
    pub fn prepared_flow(&self, parts: &EngineParts, flow: &Flow) -> Result<Arc<PreparedFlow>, Vec<Diagnostic>> {
        let key = flow.identity_address();
        if let Some((_, aimed)) = lock(&self.flows).get(&key) {
            return Ok(aimed.clone());
        }
        // Without holding the lock, so that other flows need not wait. If two threads do this at once, the results are
        // equal.
        let aimed = Arc::new(self.prepare_flow(parts, flow)?);
        let mut flows = lock(&self.flows);
        flows.retain(|_, (flow, _)| flow.is_alive());
        Ok(flows.entry(key).or_insert_with(|| (flow.to_weak(), aimed)).1.clone())
    }

    fn prepare_flow(&self, parts: &EngineParts, flow: &Flow) -> Result<PreparedFlow, Vec<Diagnostic>> {
        let mut program = flow.loaded_target().program.clone();
        let AnswerSource { from, elsewhere, fallbacks } = self.decide_models(parts, &mut program)?;
        let prepared = match Arc::ptr_eq(&program, &flow.loaded_target().program) {
            true => flow.prepared_program(),
            false => PreparedProgram::new(program.clone()),
        };
        let provider: Option<Arc<dyn ModelProvider>> = match &from {
            AnswersFrom::Provider => parts.provider.clone(),
            AnswersFrom::Embedded => Some(Arc::new(EmbeddedModel::new(&program, parts.seed.unwrap_or(0)))),
            AnswersFrom::Script(_) => None,
            AnswersFrom::One(_) | AnswersFrom::AsWritten => Some(self.registry(parts).by_step(fallbacks.clone())),
        };
        Ok(PreparedFlow { prepared, from, elsewhere, fallbacks, provider })
    }

    /// The HTTP tools, if they are available. `only_allowed`: for hosts that the operator allowed by name.
    pub fn http_tools(&self, parts: &EngineParts, only_allowed: bool) -> Option<Arc<HttpTools>> {
        let rules = parts.http.as_ref()?;
        let [any, allowed] = &self.http;
        let tools_cell = if only_allowed { allowed } else { any };
        let tools = || HttpTools::new(GuardedClient::new(GuardRules { only_allowed, ..rules.clone() }));
        Some(tools_cell.get_or_init(|| Arc::new(tools())).clone())
    }

    /// Decides what answers, and writes it into the program.
    pub fn decide_models(
        &self,
        parts: &EngineParts,
        program: &mut Arc<Program>,
    ) -> Result<AnswerSource, Vec<Diagnostic>> {
        if parts.provider.is_some() {
            return Ok(AnswersFrom::Provider.into());
        }
        if !parts.wrong_models.is_empty() {
            return Err(parts.wrong_models.iter().cloned().map(not_a_model).collect());
        }
        let registry = self.registry(parts);
        let chosen = chosen(parts, program);
        let is_begun = parts.begun.is_some();
        let asked = PlanInput { chosen: &chosen, placeholders: parts.placeholders, is_begun };
        let plan = match ModelPlan::decide_models(program, registry, asked) {
            Ok(plan) => plan,
            Err(errors) => return Err(errors.into_iter().map(not_a_model).collect()),
        };
        Ok(match plan {
            ModelPlan::Embedded => AnswersFrom::Embedded.into(),
            ModelPlan::AsWritten(fallbacks) => {
                let elsewhere = other_endpoints(registry, program, &fallbacks);
                AnswerSource { from: AnswersFrom::AsWritten, elsewhere, fallbacks }
            }
            ModelPlan::Named { provider, model } => {
                let elsewhere = other_endpoints(registry, program, &StepFallbacks::default());
                AnswerSource { elsewhere, ..AnswersFrom::One(format!("{provider}:{model}")).into() }
            }
            ModelPlan::Scripted(path) => AnswersFrom::Script(path).into(),
        })
    }

    /// Uses only the operator's environment, nothing that a manifest names: an `env_file` is for `env.*`.
    pub(super) fn registry(&self, parts: &EngineParts) -> &Registry {
        self.registry.get_or_init(|| {
            let registry = parts.registry.clone().unwrap_or_else(Registry::from_env).with_limits(parts.limits);
            parts.settings.apply_to_registry(registry)
        })
    }
}

/// The script for a run.
pub(super) fn load_script(from: &AnswersFrom) -> Result<Option<Arc<Scripted>>, Diagnostic> {
    let AnswersFrom::Script(path) = from else { return Ok(None) };
    match Scripted::read_file(path) {
        Ok(script) => Ok(Some(Arc::new(script))),
        Err(error) => {
            let help = "correct the path in `--model scripted=FILE`, or fix the file as docs/models.md describes it";
            Err(Diagnostic::without_location(SCRIPT, FindingSeverity::Error, None, error.message).with_help(help))
        }
    }
}

/// The models in the operator's files that this program uses, then those chosen for this run. If one model was chosen
/// for every call, the files are not used.
fn chosen(parts: &EngineParts, program: &Program) -> Vec<ModelOverride> {
    let by_name = |model: &ModelOverride| match model {
        ModelOverride::For { name, .. } => has_name(program, name),
        _ => false,
    };
    let settled = parts.models.iter().any(|model| !matches!(model, ModelOverride::For { .. }));
    let mut chosen = Vec::new();
    if !settled {
        chosen.extend(parts.settings.models.iter().filter(|model| by_name(model)).cloned());
    }
    chosen.extend_from_slice(&parts.models);
    chosen
}

fn other_endpoints(registry: &Registry, program: &Program, fallbacks: &StepFallbacks) -> Vec<NonDefaultAddress> {
    let mut elsewhere: Vec<NonDefaultAddress> = Vec::new();
    let mut providers = Vec::new();
    for (_, model) in models_used(program) {
        providers.extend(model.provider);
    }
    for others in fallbacks.values() {
        providers.extend(others.iter().map(|other| other.provider.clone()));
    }
    for provider in providers {
        if let Some(found) = registry.non_default_address(&provider)
            && !elsewhere.contains(&found)
        {
            elsewhere.push(found);
        }
    }
    elsewhere
}

fn not_a_model(error: PlanError) -> Diagnostic {
    missing_model(error.place, error.message, error.help)
}

fn missing_model(place: Option<Location>, message: String, help: Option<String>) -> Diagnostic {
    let d = match place {
        Some(at) => Diagnostic::new_error(MODEL, at, message),
        None => Diagnostic::without_location(MODEL, FindingSeverity::Error, None, message),
    };
    Diagnostic { help, ..d }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::PreparedFlow;
    use crate::Engine;
    use trefoil_project::flow::Flow;

    const AGENT: &str = "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I\nprompt: P\n\
                         outputSchema: { type: object, properties: { x: { type: string, pattern: '^a+$' } } }\n";

    fn aimed(engine: &Engine, flow: &Flow) -> Arc<PreparedFlow> {
        engine.prepared_flow(flow).unwrap_or_else(|found| panic!("{found:?}"))
    }

    #[test]
    fn a_flow_is_prepared_once_for_all_runs_and_engines() {
        let flow = Flow::from_text("a.yaml", AGENT).unwrap();
        let engine = Engine::new().model("embedded");
        let (first, again) = (aimed(&engine, &flow), aimed(&engine.clone(), &flow.clone()));
        assert!(Arc::ptr_eq(&first, &again), "schemas, patterns and the embedded model's knowledge are the same");
        let other = aimed(&Engine::new().model("embedded").random_seed(7), &flow);
        assert!(Arc::ptr_eq(&first.prepared, &other.prepared), "schemas and patterns are those of the flow");
        assert!(Arc::ptr_eq(&first.prepared.program, &flow.loaded_target().program), "nothing is copied");
    }

    #[test]
    fn other_models_are_another_program_and_the_flow_stays_as_it_is() {
        let flow = Flow::from_text("a.yaml", AGENT).unwrap();
        let registry = trefoil_models::Registry::new([("OLLAMA_API_KEY".to_owned(), "k".to_owned())]);
        let engine = Engine::new().registry(registry).model("ollama:llama3");
        let first = aimed(&engine, &flow);
        assert!(!Arc::ptr_eq(&first.prepared.program, &flow.loaded_target().program));
        assert!(Arc::ptr_eq(&first, &aimed(&engine, &flow)), "that, too, is worked out once");
        assert!(Arc::ptr_eq(&aimed(&Engine::new().model("embedded"), &flow).prepared, &flow.prepared_program()));
    }

    #[test]
    fn a_flow_that_is_gone_is_not_kept() {
        let engine = Engine::new().model("embedded");
        for _ in 0..3 {
            aimed(&engine, &Flow::from_text("a.yaml", AGENT).unwrap());
        }
        assert_eq!(engine.cache.flows.lock().unwrap().len(), 1, "only the last, until the next one comes");
    }
}
