//! Implements the ports for `Arc`s of ports, so that a caller can pass a port and keep it.

use std::sync::Arc;

use async_trait::async_trait;
use trefoil_ir::{StepId, ToolKind};
use trefoil_template::{HoleKind, Value};

use super::{
    CallAdmission, CallPause, CallSite, Clock, CommandHost, CommandOutput, Draft, EventSink, HumanInbox,
    InboxMessageId, Journal, JournalError, ModelAnswer, ModelError, ModelProvider, QuestionState, RawDecision,
    RawRunMessage, ReceivedMessage, Secret, Secrets, ToolError, ToolHost, ToolRefusal,
};
use trefoil_machine::error::RunError;
use trefoil_machine::{CommandRequest, Entry, Event, HumanRequest, ModelRequest, ToolRequest, ToolSpec};

#[async_trait]
impl<T: ModelProvider + ?Sized> ModelProvider for Arc<T> {
    async fn call_model(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        T::call_model(self, at, request, delta).await
    }
    async fn admit_call(
        &self,
        step: StepId,
        request: &ModelRequest,
        tell: &(dyn Fn(CallPause) + Send + Sync),
    ) -> CallAdmission {
        T::admit_call(self, step, request, tell).await
    }
    fn call_pause(&self, step: StepId, request: &ModelRequest) -> Option<CallPause> {
        T::call_pause(self, step, request)
    }
    fn sees_holes(&self) -> bool {
        T::sees_holes(self)
    }
    fn calls_tools(&self) -> bool {
        T::calls_tools(self)
    }
    fn recall_model_call(&self, at: CallSite<'_>, request: &ModelRequest, error: Option<&RunError>) {
        T::recall_model_call(self, at, request, error);
    }
    fn label(&self, request: &ModelRequest) -> String {
        T::label(self, request)
    }
}

#[async_trait]
impl<T: ToolHost + ?Sized> ToolHost for Arc<T> {
    fn offers_tool(&self, name: &str, kind: &ToolKind) -> bool {
        T::offers_tool(self, name, kind)
    }
    async fn call_tool(&self, at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        T::call_tool(self, at, request).await
    }
    async fn list_tools(&self, at: CallSite<'_>, kind: &ToolKind) -> Result<Vec<ToolSpec>, ToolError> {
        T::list_tools(self, at, kind).await
    }
    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        T::is_idempotent(self, request)
    }
    fn recall_tool_call(&self, at: CallSite<'_>, request: &ToolRequest, error: Option<&RunError>) {
        T::recall_tool_call(self, at, request, error);
    }
    fn tool_refusal(&self, name: &str, kind: &ToolKind, arguments: &Value) -> Option<ToolRefusal> {
        T::tool_refusal(self, name, kind, arguments)
    }
}

#[async_trait]
impl<T: CommandHost + ?Sized> CommandHost for Arc<T> {
    async fn run_command(&self, at: CallSite<'_>, request: &CommandRequest) -> Result<CommandOutput, ToolError> {
        T::run_command(self, at, request).await
    }
    fn command_refusal(&self) -> Option<ToolRefusal> {
        T::command_refusal(self)
    }
}

#[async_trait]
impl<T: HumanInbox + ?Sized> HumanInbox for Arc<T> {
    async fn ask_question(&self, at: CallSite<'_>, request: &HumanRequest) -> QuestionState {
        T::ask_question(self, at, request).await
    }
    async fn find_decision(&self, at: CallSite<'_>) -> Option<ReceivedMessage<RawDecision>> {
        T::find_decision(self, at).await
    }
    async fn next_message(&self, run: &str) -> ReceivedMessage<RawRunMessage> {
        T::next_message(self, run).await
    }
    async fn waiting_message(&self, run: &str) -> Option<ReceivedMessage<RawRunMessage>> {
        T::waiting_message(self, run).await
    }
}

#[async_trait]
impl<T: Journal + ?Sized> Journal for Arc<T> {
    async fn append_entries(
        &self,
        run: &str,
        entries: &[Entry],
        message_ids: &[InboxMessageId],
    ) -> Result<(), JournalError> {
        T::append_entries(self, run, entries, message_ids).await
    }
    async fn read_entries(&self, run: &str, from: u64) -> Result<Vec<Entry>, JournalError> {
        T::read_entries(self, run, from).await
    }
    fn keeps_entries(&self) -> bool {
        T::keeps_entries(self)
    }
    fn keeps_drafts(&self) -> bool {
        T::keeps_drafts(self)
    }
    async fn keep_drafts(&self, run: &str, drafts: &[Draft]) {
        T::keep_drafts(self, run, drafts).await;
    }
    async fn read_drafts(&self, run: &str) -> Vec<Draft> {
        T::read_drafts(self, run).await
    }
}

#[async_trait]
impl<T: Clock + ?Sized> Clock for Arc<T> {
    fn now_ms(&self) -> u64 {
        T::now_ms(self)
    }
    async fn sleep_ms(&self, ms: u64) {
        T::sleep_ms(self, ms).await;
    }
    fn wall_ms(&self) -> u64 {
        T::wall_ms(self)
    }
}

impl<T: Secrets + ?Sized> Secrets for Arc<T> {
    fn get(&self, kind: HoleKind, name: &str) -> Option<Secret> {
        T::get(self, kind, name)
    }
    fn find_problem(&self, kind: HoleKind, name: &str) -> Option<String> {
        T::find_problem(self, kind, name)
    }
}

impl<T: EventSink + ?Sized> EventSink for Arc<T> {
    fn receive_event(&self, event: &Event) {
        T::receive_event(self, event);
    }
    fn receive_owned(&self, event: Event) {
        T::receive_owned(self, event);
    }
    fn caught_up(&self) {
        T::caught_up(self);
    }
    fn wants_events(&self) -> bool {
        T::wants_events(self)
    }
    fn wants_provenance(&self) -> bool {
        T::wants_provenance(self)
    }
}

#[cfg(test)]
mod tests {
    /// The names of the functions in the block that begins with this text.
    fn functions<'s>(source: &'s str, beginning: &str) -> Vec<&'s str> {
        let (_, block) = source.split_once(beginning).unwrap_or_else(|| panic!("no `{beginning}`"));
        let block = block.split("\n}\n").next().unwrap();
        let name = |line: &'s str| {
            let line = line.strip_prefix("    ")?;
            line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?.split(['(', '<']).next()
        };
        block.lines().filter_map(name).collect()
    }

    /// Most ports have functions with a default, and an `Arc` that does not pass one on would answer instead of its port.
    #[test]
    fn every_function_of_a_port_is_passed_on() {
        let ports = include_str!("mod.rs");
        let shared = include_str!("arc_ports.rs").split("mod tests").next().unwrap();
        let mut met = 0;
        for line in shared.lines().filter_map(|line| line.strip_prefix("impl<T: ")) {
            let name = line.split(' ').next().unwrap();
            let passed = functions(shared, &format!("impl<T: {line}"));
            let mut named = [functions(ports, &format!("pub trait {name}: ")), passed];
            named.iter_mut().for_each(|one| one.sort_unstable());
            assert_eq!(named[0], named[1], "{name}");
            met += 1;
        }
        assert_eq!(met, 8);
    }
}
