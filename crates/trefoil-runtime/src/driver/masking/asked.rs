//! Requests as they may be shown, for comparisons with later ones.

use std::borrow::Cow;
use std::sync::Arc;

use trefoil_template::Value;

use super::SeenValues;
use trefoil_machine::provenance::realign;
use trefoil_machine::request::{Activity, CommandRequest, HumanRequest, Message, ModelRequest, Request, ToolRequest};

impl SeenValues {
    /// The activity with a request that may be shown. It cannot be made any more.
    pub fn shown_activity<'a>(&self, activity: &'a Activity) -> Cow<'a, Activity> {
        if self.mask().is_empty() {
            return Cow::Borrowed(activity);
        }
        let mut shown = activity.clone();
        match &mut shown.request {
            Request::Model(request) => self.of_model(request),
            Request::Tool(ToolRequest { arguments, .. }) => self.cover(arguments),
            Request::Command(CommandRequest { script, arguments, env, workdir }) => {
                *script = self.hide(script).into();
                arguments.iter_mut().chain(workdir).for_each(|value| self.cover(value));
                env.iter_mut().for_each(|(_, value)| self.cover(value));
            }
            Request::Human(HumanRequest { prompt, refused, .. }) => {
                self.cover(prompt);
                *refused = refused.take().map(|answer| Arc::from(self.hide(&answer)));
            }
            Request::Describe(_) | Request::Timer { .. } | Request::Decide(_) => {}
        }
        Cow::Owned(shown)
    }

    fn of_model(&self, request: &mut ModelRequest) {
        for Message { content, parts, calls, .. } in &mut request.messages {
            let text = content.to_text().to_string();
            let hidden = self.hide(&text);
            if hidden != text {
                *parts = realign(std::mem::take(parts), &text, &hidden);
                *content = Value::from(hidden);
            }
            calls.iter_mut().for_each(|call| self.cover(&mut call.arguments));
        }
        request.parameters.provider_options.iter_mut().for_each(|options| self.cover(options));
    }

    fn cover(&self, value: &mut Value) {
        *value = self.mask().value(std::mem::take(value));
    }
}
