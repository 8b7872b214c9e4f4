//! The one layer between a run and its ports that hides values, in both directions (`docs/decisions/secrets.md`).
//!
//! What comes in from a port is a [`RawOutcome`], a message or a decision. Only this layer makes what the coordinator takes of
//! it. What goes out to people is an event, which goes through [`MaskingLayer::event`], or what a stored run says of what it
//! waits for. What goes out to a port is filled here: a hole has its value only for the moment of the call.

mod asked;
mod event;
mod forms;
mod incoming;
mod mask;
mod seen_values;

use std::sync::Arc;

use trefoil_machine::error::RunError;
use trefoil_machine::event::{EventKind, Waiting};
use trefoil_machine::journal::About;
use trefoil_machine::private::PrivateValue;
use trefoil_template::{Hole, HoleKind, Value};

pub use incoming::{RawOutcome, command_result};
pub use mask::{SHORTEST, Stream};
pub use seen_values::{SecretFound, SecretVariable, SeenValues};

use crate::ports::{Secret, Secrets};

/// The values of a run that must be hidden, and where they come from.
pub struct MaskingLayer {
    seen: Arc<SeenValues>,
    source: Arc<dyn Secrets>,
}

impl MaskingLayer {
    /// Hides the values of these holes.
    pub fn new(source: Arc<dyn Secrets>, holes: &[(HoleKind, Arc<str>)]) -> Self {
        let seen = Arc::new(SeenValues::of(&*source, holes));
        Self { seen, source }
    }

    /// The same layer with the values that a run shares with those above and below it.
    pub fn sharing(&self, seen: Arc<SeenValues>) -> Self {
        Self { seen, source: self.source.clone() }
    }

    /// From now on, the values of these environment variables are secrets. To be called before their values are added.
    pub fn protect(&self, variables: impl IntoIterator<Item = Arc<str>>) {
        self.seen.protect(variables);
    }

    /// Hides the values of more holes.
    pub fn also(&self, holes: &[(HoleKind, Arc<str>)]) {
        self.seen.also(&*self.source, holes);
    }

    /// Hides more values: keys of providers.
    pub fn keep(&self, values: &[Secret]) {
        self.seen.keep(values);
    }

    /// Hides the parts of a stored value that must not be shown.
    pub fn learn(&self, value: &PrivateValue) {
        self.seen.learn(value);
    }

    /// The value of a hole, for a port.
    ///
    /// # Errors
    ///
    /// A strict hole has no value.
    pub fn fill(&self, hole: &Hole) -> Result<Option<String>, RunError> {
        self.seen.fill(&*self.source, hole)
    }

    /// The same for a prompt, which must not have a secret or the key of a provider.
    ///
    /// # Errors
    ///
    /// As for [`MaskingLayer::fill`], and `SECRET_IN_PROMPT`.
    pub fn fill_prompt(&self, hole: &Hole) -> Result<Option<String>, RunError> {
        self.seen.fill_prompt(&*self.source, hole)
    }

    /// The result of the run, with environment values filled in. No view shows these parts.
    ///
    /// # Errors
    ///
    /// A hole has no value, or is a secret.
    pub fn result(&self, value: &Value) -> Result<PrivateValue, RunError> {
        self.seen.result(&*self.source, value)
    }

    /// A value with holes as it may be shown.
    pub fn shown(&self, value: &Value) -> Value {
        self.seen.shown(&*self.source, value)
    }

    /// A text as it may be shown.
    pub fn text(&self, text: &str) -> String {
        self.seen.hide(text)
    }

    /// A masked stream of text. It also masks secrets that are split between two pieces.
    pub fn stream(&self) -> Stream {
        self.seen.stream()
    }

    /// An error as it may be shown and stored.
    pub fn error(&self, error: RunError) -> RunError {
        self.seen.mask().error(error)
    }

    /// An event as it may be shown.
    pub fn event(&self, kind: EventKind) -> EventKind {
        let mask = self.seen.mask();
        if mask.is_empty() { kind } else { event::mask_event(kind, &mask) }
    }

    /// What a run waits for, as it may be shown and stored.
    pub fn waiting(&self, mut waiting: Waiting) -> Waiting {
        self.seen.mask().waiting(&mut waiting);
        waiting
    }

    /// The metadata of a result, as it may be shown and stored.
    pub fn about(&self, mut about: About) -> About {
        self.seen.mask().about(&mut about);
        about
    }
}
