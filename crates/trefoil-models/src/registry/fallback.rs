//! Fallback models, for a model that is unreachable, overloaded, rate-limited, or has no key.
//!
//! There is no fallback for failures that would be the same elsewhere or are the model's own answer: a refusal, an
//! invalid request, a truncated answer. Nor if text of an answer was already shown.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use trefoil_ir::StepId;
use trefoil_machine::FailedModelCall;
use trefoil_runtime::ports::{CallAdmission, CallPause, CallSite, SubstituteModel};
use trefoil_runtime::{ModelAnswer, ModelError, ModelErrorKind, ModelProvider, ModelRequest, Usage};

use super::{ProviderAvailability, Registry};

/// A model with its provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelName {
    /// The provider.
    pub provider: Arc<str>,
    /// Its model.
    pub model: Arc<str>,
}

impl std::fmt::Display for ModelName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.provider, self.model)
    }
}

/// The fallback models of each step that has some, in the order in which they are tried.
pub type StepFallbacks = BTreeMap<StepId, Arc<[ModelName]>>;

/// Calls the model that each request names, then the fallback models of its step.
pub(super) struct StepFallbackProvider {
    pub registry: Registry,
    pub others: StepFallbacks,
}

/// Whether another model may succeed.
fn may_be_better_elsewhere(error: &ModelError) -> bool {
    match error.kind {
        ModelErrorKind::Network | ModelErrorKind::Credit => true,
        ModelErrorKind::Status(status) => matches!(status, 402 | 408 | 429) || status >= 500,
        ModelErrorKind::Timeout | ModelErrorKind::Protocol | ModelErrorKind::Setup => false,
    }
}

impl StepFallbackProvider {
    /// The model of a step and its fallbacks, each with its request. `None`: the step has none.
    fn models<'r>(&'r self, step: StepId, request: &'r ModelRequest) -> Option<Vec<(ModelName, ModelRequest)>> {
        let (others, provider) = (self.others.get(&step)?, request.provider.as_ref()?);
        let own = ModelName { provider: provider.clone(), model: request.model.clone() };
        let mut models = Vec::new();
        for name in std::iter::once(&own).chain(others.iter()) {
            let (provider, model) = (Some(name.provider.clone()), name.model.clone());
            models.push((name.clone(), ModelRequest { provider, model, ..request.clone() }));
        }
        Some(models)
    }

    /// Why each of these models is not called now.
    fn pauses(&self, step: StepId, models: &[(ModelName, ModelRequest)]) -> Vec<Option<CallPause>> {
        models.iter().map(|(_, request)| self.registry.by_name().call_pause(step, request)).collect()
    }

    /// Calls one model, as soon as the limits of its provider allow it. The flag of an error says whether to try the next model.
    async fn ask(
        &self,
        at: CallSite<'_>,
        (name, aimed): (&ModelName, &ModelRequest),
        instead: Option<SubstituteModel>,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, (ModelError, bool)> {
        let provider = match self.registry.provider(&name.provider) {
            Ok(provider) => provider,
            Err(error) => {
                let availability = self.registry.provider_availability(&name.provider);
                return Err((error, matches!(availability, ProviderAvailability::NoKey { .. })));
            }
        };
        // From here on the call is this model's, also if it is stopped.
        if let Some(instead) = instead {
            at.meter.turn_to(instead, aimed).await;
        }
        let mut shown = false;
        let mut show = |text: &str| {
            shown = true;
            delta(text);
        };
        match provider.call_model(at, aimed, &mut show).await {
            Ok(answer) => Ok(answer),
            Err(error) => {
                let go_on = !shown && may_be_better_elsewhere(&error);
                Err((error, go_on))
            }
        }
    }
}

#[async_trait]
impl ModelProvider for StepFallbackProvider {
    async fn call_model(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let Some(models) = self.models(at.step, request) else {
            return self.registry.by_name().call_model(at, request, delta).await;
        };
        // A model that keeps failing is passed over, if another one may answer.
        let pauses = self.pauses(at.step, &models);
        let is_any_open = pauses.iter().any(Option::is_none);
        let mut failed = FailedModels::default();
        for ((name, aimed), pause) in models.iter().zip(pauses) {
            if let Some(pause) = pause
                && is_any_open
            {
                failed.add(name, passed_over(name, &pause));
                continue;
            }
            match self.ask(at, (name, aimed), failed.instead(name), delta).await {
                Ok(answer) => return Ok(failed.annotate_answer(name, answer)),
                Err((error, true)) => failed.add(name, error),
                Err((error, false)) => return Err(failed.and(name.to_string(), error)),
            }
        }
        Err(failed.into_error())
    }

    async fn admit_call(
        &self,
        step: StepId,
        request: &ModelRequest,
        tell: &(dyn Fn(CallPause) + Send + Sync),
    ) -> CallAdmission {
        let by_name = self.registry.by_name();
        let Some(models) = self.models(step, request) else { return by_name.admit_call(step, request, tell).await };
        let pauses = self.pauses(step, &models);
        if pauses.iter().any(Option::is_none) {
            return CallAdmission::default();
        }
        // All of them fail: the first one that is tried again decides.
        let wait = |pause: &Option<CallPause>| match pause {
            Some(CallPause { wait: Some(wait), .. }) => *wait,
            _ => Duration::MAX,
        };
        let next = models.iter().zip(&pauses).min_by_key(|(_, pause)| wait(pause));
        match next {
            Some(((_, request), _)) => by_name.admit_call(step, request, tell).await,
            None => CallAdmission::default(),
        }
    }

    fn call_pause(&self, step: StepId, request: &ModelRequest) -> Option<CallPause> {
        let Some(models) = self.models(step, request) else { return self.registry.by_name().call_pause(step, request) };
        let mut first = None;
        for pause in self.pauses(step, &models) {
            first.get_or_insert(pause?);
        }
        first
    }

    fn label(&self, request: &ModelRequest) -> String {
        self.registry.by_name().label(request)
    }
}

/// Why a model was not called.
fn passed_over(name: &ModelName, pause: &CallPause) -> ModelError {
    let wait = match pause.wait {
        Some(wait) => format!(" for another {}s", wait.as_secs_f64().ceil()),
        None => String::new(),
    };
    let message =
        format!("`{name}` is not called{wait}, because most of its calls failed; the last one: {}", pause.why);
    ModelError::new(ModelErrorKind::Network, message)
}

/// The models that have failed so far.
#[derive(Default)]
struct FailedModels(Vec<(String, ModelError)>);

impl FailedModels {
    fn add(&mut self, name: &ModelName, error: ModelError) {
        self.0.push((name.to_string(), error));
    }

    /// Another one is asked now; none: it is the first.
    fn instead(&self, by: &ModelName) -> Option<SubstituteModel> {
        if self.0.is_empty() { None } else { Some(self.to_instead(by.to_string())) }
    }

    /// Interrupted calls may cost money, each at the price of its model.
    fn to_instead(&self, by: String) -> SubstituteModel {
        let mut before = Vec::new();
        for (model, error) in &self.0 {
            let usage = error.came.as_ref().map(|came| came.usage);
            before.push(FailedModelCall { model: model.clone(), why: error.message.clone(), usage });
        }
        SubstituteModel { by, before }
    }

    /// Adds the earlier failures to an answer.
    fn annotate_answer(self, name: &ModelName, mut answer: ModelAnswer) -> ModelAnswer {
        answer.instead = self.instead(name).map(Box::new);
        answer
    }

    /// Adds the earlier failures to an error that ends the call.
    fn and(self, by: String, mut error: ModelError) -> ModelError {
        if self.0.is_empty() {
            return error;
        }
        let told = self.to_instead(by);
        error.message = format!("{}; before that, {}", error.message, told.failure_reasons());
        if error.came.is_some() || told.before.iter().any(|one| one.usage.is_some()) {
            let came = error.came.get_or_insert_with(|| Box::new(ModelAnswer::new("", Usage::default())));
            came.instead = Some(Box::new(told));
        }
        error
    }

    /// All models have failed. The wait before a retry is the shortest one that they requested.
    fn into_error(mut self) -> ModelError {
        let waits: Option<Vec<u64>> = self.0.iter().map(|(_, error)| error.retry_after_ms).collect();
        let wait = waits.and_then(|waits| waits.into_iter().min());
        let Some((by, last)) = self.0.pop() else {
            return ModelError::new(ModelErrorKind::Setup, "no model is configured");
        };
        ModelError { retry_after_ms: wait, ..self.and(by, last) }
    }
}
