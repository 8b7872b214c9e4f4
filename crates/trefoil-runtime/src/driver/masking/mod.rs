//! The one layer between a run and its ports that hides values, in both directions (`docs/decisions/secrets.md`).
//!
//! What comes in from a port is a [`RawOutcome`], a message or a decision. Only this layer makes what the coordinator takes of
//! it. What goes out to people is an event, which goes through [`MaskingLayer::mask_event`], or what a stored run says of what it
//! waits for. What goes out to a port is filled here: a hole has its value only for the moment of the call.

mod displayed_requests;
mod event;
mod forms;
mod hidden_values;
mod incoming_data;
mod mask;

use std::sync::Arc;

use trefoil_machine::error::RunError;
use trefoil_machine::event::{AwaitedActivity, EventKind};
use trefoil_machine::journal::ActivityMetadata;
use trefoil_machine::private::PrivateValue;
use trefoil_template::{Hole, HoleKind, Value};

pub use hidden_values::{HiddenValues, SecretFound, SecretVariable};
pub use incoming_data::{RawOutcome, command_result};
pub use mask::{MaskedStream, SHORTEST};

use crate::ports::{Secret, Secrets};

/// The values of a run that must be hidden, and where they come from.
pub struct MaskingLayer {
    hidden_values: Arc<HiddenValues>,
    source: Arc<dyn Secrets>,
}

impl MaskingLayer {
    /// Hides the values of these holes.
    pub fn new(source: Arc<dyn Secrets>, holes: &[(HoleKind, Arc<str>)]) -> Self {
        let hidden_values = Arc::new(HiddenValues::from_holes(&*source, holes));
        Self { hidden_values, source }
    }

    /// The same layer with the values that a run shares with those above and below it.
    pub fn with_shared_values(&self, hidden_values: Arc<HiddenValues>) -> Self {
        Self { hidden_values, source: self.source.clone() }
    }

    /// From now on, the values of these environment variables are secrets. To be called before their values are added.
    pub fn protect_variables(&self, variables: impl IntoIterator<Item = Arc<str>>) {
        self.hidden_values.protect_variables(variables);
    }

    /// Hides the values of more holes.
    pub fn hide_holes(&self, holes: &[(HoleKind, Arc<str>)]) {
        self.hidden_values.hide_holes(&*self.source, holes);
    }

    /// Hides more values: keys of providers.
    pub fn hide_secrets(&self, values: &[Secret]) {
        self.hidden_values.hide_secrets(values);
    }

    /// Hides the parts of a stored value that must not be shown.
    pub fn hide_parts_of(&self, value: &PrivateValue) {
        self.hidden_values.hide_parts_of(value);
    }

    /// The value of a hole, for a port.
    ///
    /// # Errors
    ///
    /// A strict hole has no value.
    pub fn fill_hole(&self, hole: &Hole) -> Result<Option<String>, RunError> {
        self.hidden_values.fill_hole(&*self.source, hole)
    }

    /// The same for a prompt, which must not have a secret or the key of a provider.
    ///
    /// # Errors
    ///
    /// As for [`MaskingLayer::fill_hole`], and `SECRET_IN_PROMPT`.
    pub fn fill_prompt(&self, hole: &Hole) -> Result<Option<String>, RunError> {
        self.hidden_values.fill_prompt(&*self.source, hole)
    }

    /// The result of the run, with environment values filled in. No view shows these parts.
    ///
    /// # Errors
    ///
    /// A hole has no value, or is a secret.
    pub fn fill_result(&self, value: &Value) -> Result<PrivateValue, RunError> {
        self.hidden_values.fill_result(&*self.source, value)
    }

    /// A value with holes as it may be shown.
    pub fn displayed_value(&self, value: &Value) -> Value {
        self.hidden_values.displayed_value(&*self.source, value)
    }

    /// A text as it may be shown.
    pub fn mask_text(&self, text: &str) -> String {
        self.hidden_values.mask_text(text)
    }

    /// A masked stream of text. It also masks secrets that are split between two pieces.
    pub fn masked_stream(&self) -> MaskedStream {
        self.hidden_values.masked_stream()
    }

    /// An error as it may be shown and stored.
    pub fn mask_error(&self, error: RunError) -> RunError {
        self.hidden_values.current_mask().mask_error(error)
    }

    /// An event as it may be shown.
    pub fn mask_event(&self, kind: EventKind) -> EventKind {
        let mask = self.hidden_values.current_mask();
        if mask.is_empty() { kind } else { event::mask_event(kind, &mask) }
    }

    /// What a run waits for, as it may be shown and stored.
    pub fn mask_waiting(&self, mut waiting: AwaitedActivity) -> AwaitedActivity {
        self.hidden_values.current_mask().mask_waiting(&mut waiting);
        waiting
    }

    /// The metadata of a result, as it may be shown and stored.
    pub fn mask_about(&self, mut about: ActivityMetadata) -> ActivityMetadata {
        self.hidden_values.current_mask().mask_about(&mut about);
        about
    }
}
