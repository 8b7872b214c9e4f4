//! Ports whose answers depend only on the request.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use trefoil_ir::ToolKind;
use trefoil_machine::{ContentKey, Request, Role, ToolUse, said};
use trefoil_runtime::ports::{
    Asked, CallSite, CommandHost, CommandOutput, MapSecrets, MemoryJournal, NoEvents, SeededRandom, ToolError,
    VirtualClock,
};
use trefoil_runtime::{
    CommandRequest, HumanInbox, HumanRequest, ModelAnswer, ModelError, ModelErrorKind, ModelProvider, ModelRequest,
    Ports, ToolHost, ToolRequest,
};
use trefoil_template::Value;

/// Whether a call of a tool changes nothing.
pub fn only_reads(request: &ToolRequest) -> bool {
    request.kind == ToolKind::Http && request.arguments.get("method").is_some_and(|method| *method.to_text() == *"GET")
}

/// Models, tools, commands and people.
pub struct World {
    /// Requests that have already failed once.
    flaky: Mutex<BTreeSet<String>>,
}

impl World {
    pub fn ports(journal: Arc<MemoryJournal>) -> Ports {
        let world = Arc::new(Self { flaky: Mutex::default() });
        Ports {
            models: world.clone(),
            tools: world.clone(),
            commands: Some(world.clone()),
            humans: world,
            journal,
            clock: Arc::new(VirtualClock::new()),
            random: Arc::new(SeededRandom::new(1)),
            secrets: Arc::new(MapSecrets::new()),
            events: Arc::new(NoEvents),
        }
    }

    /// A number that depends on the request.
    fn digits(&self, request: Request) -> u64 {
        let key = ContentKey::of(&request);
        u64::from_le_bytes(key.0[..8].try_into().unwrap())
    }

    fn says(&self, request: &ModelRequest) -> Result<Value, u16> {
        let digits = self.digits(Request::Model(Box::new(request.clone())));
        let last = request.messages.last().map(|m| m.content.canonical()).unwrap_or_default();
        let last = last.trim_matches('"');
        let text = match &*request.model {
            "bad" => return Err(500),
            "flaky" if self.flaky.lock().unwrap().insert(digits.to_string()) => return Err(429),
            "talker" => return Ok(self.talk(request)),
            "judge" if last.contains("better") => "{\"score\": 0.9}".to_owned(),
            "judge" => "{\"score\": 0.1, \"reasoning\": \"thin\"}".to_owned(),
            "looping" if last.contains(':') => "stop".to_owned(),
            "state" if !last.contains("again after") && digits.is_multiple_of(2) => "back".to_owned(),
            "list" => "[1, \"two\", null]".to_owned(),
            "plain" if last.starts_with("why: ") && last.len() > 5 => format!("plain:{digits:x} better"),
            other => format!("{other}:{digits:x}"),
        };
        Ok(if request.schema.is_some() { format!("{{\"said\": {:?}}}", text).into() } else { text.into() })
    }

    /// Calls some tools in the first turns.
    fn talk(&self, request: &ModelRequest) -> Value {
        let before = request.messages.iter().filter(|m| m.role == Role::Assistant).count() as u64;
        let opening = request.messages.iter().take_while(|m| m.role != Role::Assistant);
        let opening = ModelRequest { messages: opening.cloned().collect(), ..request.clone() };
        let seed = self.digits(Request::Model(Box::new(opening)));
        if before >= seed % 4 {
            return format!("talker:{:x}", self.digits(Request::Model(Box::new(request.clone())))).into();
        }
        let calls = request.tools.iter().enumerate().filter_map(|(at, tool)| {
            let luck = (seed >> 8).rotate_left(7 * (at as u32 + before as u32));
            let name = if luck % 11 == 5 { "stranger" } else { &*tool.name };
            let input = if luck % 7 == 3 { Value::from(1) } else { Value::from(format!("in {before}.{at}")) };
            let arguments: Value = [("input", input)].into_iter().collect();
            (!luck.is_multiple_of(3)).then(|| ToolUse::new(format!("c{at}"), name, arguments))
        });
        said::value(format!("turn {before}"), calls.collect())
    }

    async fn takes_a_while(&self, digits: u64) {
        for _ in 0..(digits >> 40) % 6 {
            tokio::task::yield_now().await;
        }
    }
}

#[async_trait]
impl ModelProvider for World {
    async fn call(
        &self,
        _at: CallSite<'_>,
        request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        self.takes_a_while(self.digits(Request::Model(Box::new(request.clone())))).await;
        match self.says(request) {
            Ok(said) => {
                let usage = trefoil_runtime::Usage { input_tokens: 3, output_tokens: 1, ..Default::default() };
                let (text, calls) = said::calls(&said).unwrap_or((said, Vec::new()));
                Ok(ModelAnswer { calls, ..ModelAnswer::new(text.to_text().to_string(), usage) })
            }
            Err(status) => Err(ModelError::new(ModelErrorKind::Status(status), "no")),
        }
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "test".to_owned()
    }
}

#[async_trait]
impl ToolHost for World {
    fn offers(&self, _name: &str, _kind: &ToolKind) -> bool {
        true
    }
    async fn call(&self, _at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        self.takes_a_while(self.digits(Request::Tool(request.clone()))).await;
        Ok([("tool", request.arguments.clone())].into_iter().collect())
    }
    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        only_reads(request)
    }
}

#[async_trait]
impl CommandHost for World {
    async fn run(&self, _at: CallSite<'_>, request: &CommandRequest) -> Result<CommandOutput, ToolError> {
        let digits = self.digits(Request::Command(request.clone()));
        self.takes_a_while(digits).await;
        Ok(CommandOutput { exit_code: 0, stdout: format!("out {digits:x}"), stderr: String::new() })
    }
}

#[async_trait]
impl HumanInbox for World {
    async fn ask(&self, _at: CallSite<'_>, request: &HumanRequest) -> Asked {
        Asked::Answer(if request.refused.is_some() { "sure" } else { "yes" }.to_owned())
    }
}
