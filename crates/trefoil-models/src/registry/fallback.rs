//! Models that answer where the one that was asked cannot: unreachable, overloaded, at a limit, or without a key.
//!
//! Never for what would be no different elsewhere, or is the model's own answer: a refusal, a request that is wrong, an answer
//! that was cut off. Nor once text of an answer was shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use trefoil_ir::StepId;
use trefoil_runtime::ports::{CallSite, Instead};
use trefoil_runtime::{ModelAnswer, ModelError, ModelErrorKind, ModelProvider, ModelRequest, Usage};

use super::{Availability, Registry};

/// A model by its provider's name and its own.
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

/// The other models of each step that has some, in the order in which they are tried.
pub type Fallbacks = BTreeMap<StepId, Arc<[ModelName]>>;

/// The model that each request names, then those of its step.
pub(super) struct ByStep {
    pub registry: Registry,
    pub others: Fallbacks,
}

/// Whether another model may do better.
fn may_be_better_elsewhere(error: &ModelError) -> bool {
    match error.kind {
        ModelErrorKind::Network | ModelErrorKind::Credit => true,
        ModelErrorKind::Status(status) => matches!(status, 402 | 429) || status >= 500,
        ModelErrorKind::Timeout | ModelErrorKind::Protocol | ModelErrorKind::Setup => false,
    }
}

impl ByStep {
    /// Asks one model. True: another may do better.
    async fn ask(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        name: &ModelName,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, (ModelError, bool)> {
        let provider = self.registry.provider(&name.provider).map_err(|error| {
            let missing = matches!(self.registry.availability(&name.provider), Availability::NoKey { .. });
            (error, missing)
        })?;
        let (provider_name, model) = (Some(name.provider.clone()), name.model.clone());
        let aimed = ModelRequest { provider: provider_name, model, ..request.clone() };
        let mut shown = false;
        let mut show = |text: &str| {
            shown = true;
            delta(text);
        };
        let answer = provider.call(at, &aimed, &mut show).await;
        answer.map_err(|error| {
            let go_on = !shown && may_be_better_elsewhere(&error);
            (error, go_on)
        })
    }
}

#[async_trait]
impl ModelProvider for ByStep {
    async fn call(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let (Some(others), Some(provider)) = (self.others.get(&at.step), &request.provider) else {
            return self.registry.by_name().call(at, request, delta).await;
        };
        let own = ModelName { provider: provider.clone(), model: request.model.clone() };
        let mut failed = Failed::default();
        for name in std::iter::once(&own).chain(others.iter()) {
            match self.ask(at, request, name, delta).await {
                Ok(answer) => return Ok(failed.then(name, answer)),
                Err((error, true)) => failed.add(name, error),
                Err((error, false)) => return Err(failed.and(name.to_string(), error)),
            }
        }
        Err(failed.all())
    }

    fn label(&self, request: &ModelRequest) -> String {
        self.registry.by_name().label(request)
    }
}

/// The models that could not be asked, so far.
#[derive(Default)]
struct Failed {
    errors: Vec<ModelError>,
    /// Calls that broke off may have to be paid for, each at the price of its model.
    spent: Vec<(String, Usage)>,
    /// The last of them.
    last: String,
}

impl Failed {
    fn add(&mut self, name: &ModelName, error: ModelError) {
        self.last = name.to_string();
        if let Some(came) = &error.came {
            self.spent.push((self.last.clone(), came.usage));
        }
        self.errors.push(error);
    }

    fn why(&self) -> String {
        self.errors.iter().map(|error| error.message.as_str()).collect::<Vec<_>>().join("; ")
    }

    /// An answer after all.
    fn then(self, name: &ModelName, mut answer: ModelAnswer) -> ModelAnswer {
        if !self.errors.is_empty() {
            answer.instead = Some(Box::new(Instead { by: name.to_string(), why: self.why(), spent: self.spent }));
        }
        answer
    }

    /// An error that no other model would have spared.
    fn and(self, by: String, mut error: ModelError) -> ModelError {
        if self.errors.is_empty() {
            return error;
        }
        let why = self.why();
        error.message = format!("{}; before that, {why}", error.message);
        if error.came.is_some() || !self.spent.is_empty() {
            let came = error.came.get_or_insert_with(|| Box::new(ModelAnswer::new("", Usage::default())));
            came.instead = Some(Box::new(Instead { by, why, spent: self.spent }));
        }
        error
    }

    /// None could be asked. The next try need not wait for longer than the first of them wants.
    fn all(mut self) -> ModelError {
        let waits: Option<Vec<u64>> = self.errors.iter().map(|error| error.retry_after_ms).collect();
        let wait = waits.and_then(|waits| waits.into_iter().min());
        let Some(last) = self.errors.pop() else {
            return ModelError::new(ModelErrorKind::Setup, "no model is configured");
        };
        // Here it is not one of those before.
        if last.came.is_some() {
            self.spent.pop();
        }
        let by = std::mem::take(&mut self.last);
        ModelError { retry_after_ms: wait, ..self.and(by, last) }
    }
}
