//! Runs of manifests with in-memory ports: a model that is a function, prepared answers of people, commands run by a
//! real `sh`.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::ports::{CollectEvents, FnModel, MapSecrets, MemoryJournal, NoTools, SeededRandom, VirtualClock};
use trefoil_runtime::{
    CommandHost, CommandOutput, CommandRequest, DriverOptions, EventKind, HumanInbox, HumanRequest, Key, ModelError,
    ModelErrorKind, ModelRequest, Ports, QuestionState, RunError, ToolError, driver,
};
use trefoil_template::Value;

use super::support::{load, show};

/// The calls that the model received: speaker and user message.
type Seen = Arc<Mutex<Vec<(String, String)>>>;

/// The ports and files for one folder.
pub struct World {
    files: Vec<(String, String)>,
    answers: Vec<(String, String)>,
    pub seen: Seen,
}

/// The result of a run.
pub struct Ended {
    pub result: Result<Value, RunError>,
    pub seen: Vec<(String, String)>,
    /// What the run warned about.
    pub warnings: Vec<String>,
}

impl Ended {
    /// The output as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        match &self.result {
            Ok(value) => value.to_json(),
            Err(error) => panic!("{}: {}", error.code, error.message),
        }
    }
    /// The output as text.
    #[track_caller]
    pub fn text(&self) -> String {
        self.json().as_str().map_or_else(|| self.json().to_string(), str::to_owned)
    }
    /// Code and message of the failure.
    #[track_caller]
    pub fn error(&self) -> String {
        match &self.result {
            Ok(value) => panic!("ended well: {}", value.to_text()),
            Err(error) => format!("{}: {}", error.code, error.message),
        }
    }
    /// The user messages that a speaker was sent.
    pub fn prompts(&self, speaker: &str) -> Vec<&str> {
        self.seen.iter().filter(|(s, _)| s == speaker).map(|(_, p)| p.as_str()).collect()
    }
}

struct People(Vec<(String, String)>);

#[async_trait]
impl HumanInbox for People {
    async fn ask_question(&self, _at: CallSite<'_>, request: &HumanRequest) -> QuestionState {
        self.0.iter().find(|(step, _)| **step == *request.step).map(|(_, answer)| answer.clone()).into()
    }
}

struct Shell;

#[async_trait]
impl CommandHost for Shell {
    async fn run_command(&self, _at: CallSite<'_>, request: &CommandRequest) -> Result<CommandOutput, ToolError> {
        let mut command = std::process::Command::new("sh");
        command.arg("-c").arg(&*request.script).arg("trefoil");
        for argument in &request.arguments {
            command.arg(&*argument.to_text());
        }
        for (name, value) in &request.env {
            command.env(&**name, &*value.to_text());
        }
        let output = command.output().map_err(|e| ToolError::Failed(e.to_string()))?;
        Ok(CommandOutput {
            exit_code: output.status.code().unwrap_or(-1).into(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

impl World {
    /// A workflow with these lines below `spec`, and agents whose prompt is their input.
    pub fn new(spec: &str, agents: &[&str]) -> Self {
        let flow = format!("apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: flow }}\nspec:\n{spec}");
        let mut world = Self { files: vec![("flow.yaml".into(), flow)], answers: Vec::new(), seen: Seen::default() };
        for name in agents {
            world = world.with(name, "instruction: x, prompt_template: '{{input}}'", "");
        }
        world
    }
    /// Only agents; the first one is run.
    pub fn agent(name: &str, task: &str, more: &str) -> Self {
        Self { files: Vec::new(), answers: Vec::new(), seen: Seen::default() }.with(name, task, more)
    }
    /// Adds an agent with this `task` and these additional lines below `spec`.
    pub fn with(mut self, name: &str, task: &str, more: &str) -> Self {
        let text = format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: {name}, version: '1' }}\nspec:\n  runtime: {{}}\n  task: {{ {task} }}\n{more}"
        );
        self.files.push((format!("{name}.yaml"), text));
        self
    }
    /// Adds a file.
    pub fn file(mut self, name: &str, text: &str) -> Self {
        self.files.push((name.into(), text.into()));
        self
    }
    /// Runs the file added last.
    pub fn main_last(mut self) -> Self {
        self.files.rotate_right(1);
        self.files.retain(|(name, _)| name != "flow.yaml");
        self
    }
    /// Sets a person's answer to a state.
    pub fn answer(mut self, state: &str, answer: &str) -> Self {
        self.answers.push((state.into(), answer.into()));
        self
    }

    /// Runs the first file. `model` gets the speaker, the number of its previous calls, and the user message; `Err` is
    /// an HTTP status.
    #[track_caller]
    pub fn run(
        self,
        input: serde_json::Value,
        model: impl Fn(&str, usize, &str) -> Result<String, u16> + Send + Sync + 'static,
    ) -> Ended {
        let files: Vec<_> = self.files.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
        let folder = load(&files);
        let Some(lowered) = folder.lowered else { panic!("{}", show(&folder.project.files, folder.diagnostics, true)) };
        let seen = self.seen.clone();
        let answer = FnModel(move |_: &Key, request: &ModelRequest| {
            let user = request.messages.last().map(|m| m.content.to_text().to_string()).unwrap_or_default();
            let mut seen = seen.lock().unwrap();
            let before = seen.iter().filter(|(s, _)| **s == *request.speaker).count();
            seen.push((request.speaker.to_string(), user.clone()));
            model(&request.speaker, before, &user)
                .map_err(|status| ModelError::new(ModelErrorKind::Status(status), format!("status {status}")))
        });
        let events = Arc::new(CollectEvents::new());
        let ports = Ports {
            models: Arc::new(answer),
            tools: Arc::new(NoTools),
            commands: Some(Arc::new(Shell)),
            humans: Arc::new(People(self.answers)),
            journal: Arc::new(MemoryJournal::new()),
            clock: Arc::new(VirtualClock::new()),
            random: Arc::new(SeededRandom::new(1)),
            secrets: Arc::new(MapSecrets::new()),
            events: events.clone(),
        };
        let options = DriverOptions { seed: Some(7), run: Some("r1".to_owned()), ..DriverOptions::default() };
        let input = (!input.is_null()).then(|| Value::from_json(input));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let outcome = runtime.block_on(driver::run(Arc::new(lowered.program), input, ports, options));
        let seen = self.seen.lock().unwrap().clone();
        let warnings = events.collected_events().into_iter().filter_map(|event| match event.kind {
            EventKind::Warning { message } => Some(message),
            _ => None,
        });
        Ended { result: outcome.result, seen, warnings: warnings.collect() }
    }
}
