//! Agents, workflows, states, nodes and files that are referred to but do not exist.

use std::path::{Path, PathBuf};

use trefoil_ir::facts::DeclarationKind;
use trefoil_project::file_access;
use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode};
use trefoil_syntax::{FileId, Location, SourceEdit, Span};

use super::{CreationProposal, insertion};
use crate::analysis::FolderAnalysis;
use crate::completion::{list_models, named_by, variable_names};
use crate::cursor::{entry_at, find_position, first_entry, last_key};

/// Creates what a key refers to.
pub fn create_missing(analysis: &FolderAnalysis, dialect: &str, at: Location) -> Option<CreationProposal> {
    let root = analysis.yaml_tree(at.file)?;
    let position = find_position(root, at.span.start);
    let key = last_key(&position.path)?;
    let name = analysis.text_at(at);
    let around = MissingDefinition { analysis, at, root, call: position.container.as_mapping(), name };
    if dialect == "sirenspec" && key == "ref" {
        return around.file_at(name);
    }
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let kinds = named_by(dialect, key)?;
    match (dialect, kinds.first()?) {
        ("agntz", _) => around.new_file(&around.agntz(), "agent"),
        ("aegis", DeclarationKind::Agent) => around.new_file(&around.aegis_agent(key.contains("judge")), "agent"),
        ("aegis", DeclarationKind::Workflow) => around.new_file(&around.aegis_workflow(), "workflow"),
        ("aegis", _) => around.state(),
        ("sirenspec", DeclarationKind::Agent) => around.siren_agent(),
        ("sirenspec", _) => around.node(),
        _ => None,
    }
}

/// Creates the environment file of a manifest with the variables that its folder reads, if its path is at this place.
pub fn env_file(
    analysis: &FolderAnalysis,
    dialect: &str,
    file: FileId,
    here: impl Fn(Span) -> bool,
) -> Option<CreationProposal> {
    if dialect != "sirenspec" {
        return None;
    }
    let root = analysis.yaml_tree(file)?;
    let path = root.as_mapping()?.get("env_file")?.value.as_string()?;
    let at = Location { file, span: path.content_span() };
    let around = MissingDefinition { analysis, at, root, call: None, name: &path.value };
    let own = around.folder()?;
    let target = file_access::clean_path(&own.join(&*path.value));
    if !here(at.span) || path.value.is_empty() || !target.starts_with(&own) || target == own {
        return None;
    }
    let mut text = String::new();
    for name in variable_names(analysis, |_| false) {
        text.push_str(&format!("{name}=\n"));
    }
    around.file(target, format!("create environment file `{}`", path.value), &text)
}

struct MissingDefinition<'a> {
    analysis: &'a FolderAnalysis,
    at: Location,
    root: &'a YamlNode,
    /// The mapping that refers to it.
    call: Option<&'a YamlMapping>,
    name: &'a str,
}

impl<'a> MissingDefinition<'a> {
    /// The first model that the folder uses.
    fn model(&self) -> (String, String) {
        for (provider, name) in list_models(self.analysis) {
            if !provider.is_empty() && !name.is_empty() {
                return (provider, name);
            }
        }
        ("openai".to_owned(), "gpt-4o-mini".to_owned())
    }
    fn folder(&self) -> Option<PathBuf> {
        let own = Path::new(self.analysis.source_file(self.at.file)?.name());
        file_access::folder_real(own.parent()?)
    }
    /// A new file with this name: in the folder of other agent files if they have a separate one, otherwise next to
    /// this file.
    fn new_file(&self, text: &str, what: &str) -> Option<CreationProposal> {
        let own = self.folder()?;
        let agents = own.join("agents");
        let has_agents = self.analysis.list_files().any(|(path, _)| path.parent() == Some(&agents));
        let folder = if has_agents && what == "agent" { agents } else { own.clone() };
        let path = folder.join(format!("{}.yaml", self.name));
        let shown = path.strip_prefix(&own).ok()?.to_string_lossy().into_owned();
        self.file(path, format!("create {what} `{}` in `{shown}`", self.name), text)
    }
    fn file(&self, path: PathBuf, title: String, text: &str) -> Option<CreationProposal> {
        if file_access::path_exists(&path) || self.analysis.find_file(&path).is_some() {
            return None;
        }
        Some(CreationProposal { title, edits: Vec::new(), files: vec![(path, text.to_owned())] })
    }
    fn edit(&self, title: String, edit: SourceEdit) -> CreationProposal {
        CreationProposal { title, edits: vec![edit], files: Vec::new() }
    }
    /// The inputs of the call: the keys below its `input`.
    fn input_names(&self) -> Vec<&'a str> {
        if let Some(call) = self.call
            && let Some(input) = first_entry(call, &["input", "inputs"])
            && let Some(inputs) = input.value.as_mapping()
        {
            return inputs.entries.iter().map(|e| &*e.key.value).collect();
        }
        Vec::new()
    }
    fn agntz(&self) -> String {
        let (provider, model) = self.model();
        let given = self.input_names();
        let inputs: String = given.iter().map(|key| format!("  {key}: string\n")).collect();
        let schema = if inputs.is_empty() { String::new() } else { format!("inputSchema:\n{inputs}") };
        let prompt = match given.as_slice() {
            [] => "{{userQuery}}".to_owned(),
            keys => keys.iter().map(|key| format!("{key}: {{{{{key}}}}}")).collect::<Vec<_>>().join("\n  "),
        };
        format!(
            "id: {}\nkind: llm\nmodel: {{ provider: {provider}, name: {model} }}\n{schema}instruction: |\n  Say what this agent \
             does.\nprompt: |\n  {prompt}\n",
            self.name
        )
    }
    fn aegis_agent(&self, judge: bool) -> String {
        let model = if judge { "judge" } else { "smart" };
        let schema = if judge {
            "  execution:\n    validation:\n      - type: json_schema\n        schema:\n          type: object\n          \
             required: [score, reasoning]\n          properties:\n            score: { type: number, minimum: 0, maximum: 1 \
             }\n            reasoning: { type: string }\n"
        } else {
            ""
        };
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata:\n  name: {}\n  version: \"1.0.0\"\nspec:\n  runtime:\n    model: \
             {model}\n  task:\n    instruction: Say what this agent does.\n{schema}",
            self.name
        )
    }
    fn aegis_workflow(&self) -> String {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata:\n  name: {}\n  version: \"1.0.0\"\nspec:\n  initial_state: \
             START\n  states:\n    START:\n      kind: System\n      command: echo done\n",
            self.name
        )
    }
    fn entry(&self, way: &[&str]) -> Option<&'a YamlEntry> {
        entry_at(self.root, way)
    }
    fn state(&self) -> Option<CreationProposal> {
        let states = &self.entry(&["spec", "states"])?.value;
        let body = "\n  kind: System\n  command: echo done";
        let edit = if insertion::is_open(states) {
            let short = "{ kind: System, command: echo done }";
            insertion::insert_entry(self.analysis, self.at.file, states, self.name, body, short)
        } else {
            let lines = format!("name: {}\nkind: System\ncommand: echo done", self.name);
            insertion::insert_item(self.analysis, self.at.file, states, &lines)
        };
        Some(self.edit(format!("add state `{}`", self.name), edit?))
    }
    fn siren_agent(&self) -> Option<CreationProposal> {
        let (provider, model) = self.model();
        let body = format!("\n  model: \"{provider}:{model}\"\n  system: Say what this agent does.");
        let short = format!("{{ model: \"{provider}:{model}\", system: Say what this agent does. }}");
        let edit = match self.entry(&["agents"]) {
            Some(agents) if insertion::is_open(&agents.value) => {
                insertion::insert_entry(self.analysis, self.at.file, &agents.value, self.name, &body, &short)
            }
            _ => {
                let value = format!("\n  {}:{}", self.name, body.replace('\n', "\n  "));
                insertion::insert_after(self.analysis, self.at.file, self.root, "version", "agents", &value)
            }
        };
        Some(self.edit(format!("add agent `{}`", self.name), edit?))
    }
    fn node(&self) -> Option<CreationProposal> {
        let nodes = self.entry(&["nodes"])?;
        let agent = &self.entry(&["agents"])?.value.as_mapping()?.entries.first()?.key.value;
        let body = format!("\n  agent: {agent}\n  writes: output.{}", self.name);
        let short = format!("{{ agent: {agent}, writes: output.{} }}", self.name);
        let edit = insertion::insert_entry(self.analysis, self.at.file, &nodes.value, self.name, &body, &short)?;
        Some(self.edit(format!("add node `{}`", self.name), edit))
    }
    /// A workflow file at a path below this file's folder.
    fn file_at(&self, written: &str) -> Option<CreationProposal> {
        let own = self.folder()?;
        let path = file_access::clean_path(&own.join(written));
        if !path.starts_with(&own) || !(written.ends_with(".yaml") || written.ends_with(".yml")) {
            return None;
        }
        let (provider, model) = self.model();
        let (mut inputs, mut read) = (String::new(), String::new());
        for key in self.input_names() {
            inputs.push_str(&format!("  {key}: \"\"\n"));
            read.push_str(&format!(" {key}: {{{{ inputs.{key} }}}}"));
        }
        let text = format!(
            "version: \"0.1\"\nagents:\n  worker:\n    model: \"{provider}:{model}\"\n    system: \"Say what this agent \
             does.{read}\"\nnodes:\n  work:\n    agent: worker\n    writes: output.text\ninput:\n  message: \"\"\n{inputs}"
        );
        self.file(path, format!("create workflow `{written}`"), &text)
    }
}
