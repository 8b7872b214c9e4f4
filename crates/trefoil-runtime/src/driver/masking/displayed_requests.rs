//! Requests as they may be shown, for comparisons with later ones.

use std::borrow::Cow;
use std::sync::Arc;

use trefoil_template::Value;

use super::HiddenValues;
use trefoil_machine::provenance::realign_parts;
use trefoil_machine::request::{
    Activity, CommandRequest, HumanRequest, ModelMessage, ModelRequest, Request, ToolRequest,
};

impl HiddenValues {
    /// The activity with a request that may be shown. It cannot be made any more.
    pub fn displayed_activity<'a>(&self, activity: &'a Activity) -> Cow<'a, Activity> {
        if self.current_mask().is_empty() {
            return Cow::Borrowed(activity);
        }
        let mut shown = activity.clone();
        match &mut shown.request {
            Request::Model(request) => self.of_model(request),
            Request::Tool(ToolRequest { arguments, .. }) => self.mask_in_place(arguments),
            Request::Command(CommandRequest { script, arguments, env, workdir }) => {
                *script = self.mask_text(script).into();
                arguments.iter_mut().chain(workdir).for_each(|value| self.mask_in_place(value));
                env.iter_mut().for_each(|(_, value)| self.mask_in_place(value));
            }
            Request::Human(HumanRequest { prompt, refused, .. }) => {
                self.mask_in_place(prompt);
                *refused = refused.take().map(|answer| Arc::from(self.mask_text(&answer)));
            }
            Request::Describe(_) | Request::Timer { .. } | Request::Decide(_) => {}
        }
        Cow::Owned(shown)
    }

    fn of_model(&self, request: &mut ModelRequest) {
        for ModelMessage { content, parts, calls, .. } in &mut request.messages {
            let text = content.to_text().to_string();
            let hidden = self.mask_text(&text);
            if hidden != text {
                *parts = realign_parts(std::mem::take(parts), &text, &hidden);
                *content = Value::from(hidden);
            }
            calls.iter_mut().for_each(|call| self.mask_in_place(&mut call.arguments));
        }
        request.parameters.provider_options.iter_mut().for_each(|options| self.mask_in_place(options));
    }

    fn mask_in_place(&self, value: &mut Value) {
        *value = self.current_mask().mask_value(std::mem::take(value));
    }
}
