//! Implements the ports for `Arc`s of ports, so that a caller can pass a port and keep it.

use std::sync::Arc;

use async_trait::async_trait;
use trefoil_ir::{StepId, ToolKind};
use trefoil_template::{HoleKind, Value};

use super::{
    Admission, Arrived, Asked, CallPause, CallSite, Clock, CommandHost, CommandOutput, Decided, Draft, EventSink,
    HumanInbox, Journal, JournalError, LetterId, ModelAnswer, ModelError, ModelProvider, Received, Secret, Secrets,
    ToolError, ToolHost, ToolRefusal,
};
use trefoil_machine::error::RunError;
use trefoil_machine::{CommandRequest, Entry, Event, HumanRequest, ModelRequest, ToolRequest, ToolSpec};

#[async_trait]
impl<T: ModelProvider + ?Sized> ModelProvider for Arc<T> {
    async fn call(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        T::call(self, at, request, delta).await
    }
    async fn admit(&self, step: StepId, request: &ModelRequest, tell: &(dyn Fn(CallPause) + Send + Sync)) -> Admission {
        T::admit(self, step, request, tell).await
    }
    fn pause(&self, step: StepId, request: &ModelRequest) -> Option<CallPause> {
        T::pause(self, step, request)
    }
    fn sees_holes(&self) -> bool {
        T::sees_holes(self)
    }
    fn calls_tools(&self) -> bool {
        T::calls_tools(self)
    }
    fn recall(&self, at: CallSite<'_>, request: &ModelRequest, error: Option<&RunError>) {
        T::recall(self, at, request, error);
    }
    fn label(&self, request: &ModelRequest) -> String {
        T::label(self, request)
    }
}

#[async_trait]
impl<T: ToolHost + ?Sized> ToolHost for Arc<T> {
    fn offers(&self, name: &str, kind: &ToolKind) -> bool {
        T::offers(self, name, kind)
    }
    async fn call(&self, at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        T::call(self, at, request).await
    }
    async fn list(&self, at: CallSite<'_>, kind: &ToolKind) -> Result<Vec<ToolSpec>, ToolError> {
        T::list(self, at, kind).await
    }
    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        T::is_idempotent(self, request)
    }
    fn recall(&self, at: CallSite<'_>, request: &ToolRequest, error: Option<&RunError>) {
        T::recall(self, at, request, error);
    }
    fn refusal(&self, name: &str, kind: &ToolKind, arguments: &Value) -> Option<ToolRefusal> {
        T::refusal(self, name, kind, arguments)
    }
}

#[async_trait]
impl<T: CommandHost + ?Sized> CommandHost for Arc<T> {
    async fn run(&self, at: CallSite<'_>, request: &CommandRequest) -> Result<CommandOutput, ToolError> {
        T::run(self, at, request).await
    }
}

#[async_trait]
impl<T: HumanInbox + ?Sized> HumanInbox for Arc<T> {
    async fn ask(&self, at: CallSite<'_>, request: &HumanRequest) -> Asked {
        T::ask(self, at, request).await
    }
    async fn decided(&self, at: CallSite<'_>) -> Option<Received<Decided>> {
        T::decided(self, at).await
    }
    async fn arrived(&self, run: &str) -> Received<Arrived> {
        T::arrived(self, run).await
    }
    async fn waiting(&self, run: &str) -> Option<Received<Arrived>> {
        T::waiting(self, run).await
    }
}

#[async_trait]
impl<T: Journal + ?Sized> Journal for Arc<T> {
    async fn append(&self, run: &str, entries: &[Entry], letters: &[LetterId]) -> Result<(), JournalError> {
        T::append(self, run, entries, letters).await
    }
    async fn read(&self, run: &str, from: u64) -> Result<Vec<Entry>, JournalError> {
        T::read(self, run, from).await
    }
    fn keeps(&self) -> bool {
        T::keeps(self)
    }
    fn keeps_drafts(&self) -> bool {
        T::keeps_drafts(self)
    }
    async fn keep_drafts(&self, run: &str, drafts: &[Draft]) {
        T::keep_drafts(self, run, drafts).await;
    }
    async fn drafts(&self, run: &str) -> Vec<Draft> {
        T::drafts(self, run).await
    }
}

#[async_trait]
impl<T: Clock + ?Sized> Clock for Arc<T> {
    fn now_ms(&self) -> u64 {
        T::now_ms(self)
    }
    async fn sleep(&self, ms: u64) {
        T::sleep(self, ms).await;
    }
    fn wall_ms(&self) -> u64 {
        T::wall_ms(self)
    }
}

impl<T: Secrets + ?Sized> Secrets for Arc<T> {
    fn get(&self, kind: HoleKind, name: &str) -> Option<Secret> {
        T::get(self, kind, name)
    }
    fn problem(&self, kind: HoleKind, name: &str) -> Option<String> {
        T::problem(self, kind, name)
    }
}

impl<T: EventSink + ?Sized> EventSink for Arc<T> {
    fn event(&self, event: &Event) {
        T::event(self, event);
    }
    fn take(&self, event: Event) {
        T::take(self, event);
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
        let shared = include_str!("shared.rs").split("mod tests").next().unwrap();
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
