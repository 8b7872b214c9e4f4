//! Common wrong names for keys of the format: from other systems, or from another place of the format.

/// Wrong names and the right keys.
pub type KeySynonyms = &'static [(&'static str, &'static str)];

/// At the top level of a manifest.
pub const TOP: KeySynonyms = &[
    ("meta", "metadata"),
    ("api_version", "apiVersion"),
    ("version", "apiVersion"),
    ("type", "kind"),
    ("specs", "spec"),
];
/// The right place for keys wrongly written at the top level.
pub const NOT_TOP: KeySynonyms = &[
    ("name", "under `metadata`"),
    ("description", "under `metadata`"),
    ("labels", "under `metadata`"),
    ("annotations", "under `metadata`"),
    ("output_schema", "under `metadata`"),
    ("output_template", "under `metadata`"),
    ("states", "under `spec`"),
    ("initial_state", "under `spec`"),
    ("context", "under `spec`"),
    ("task", "under `spec`"),
    ("runtime", "under `spec`"),
    ("execution", "under `spec`"),
    ("security", "under `spec`"),
    ("tools", "under `spec`"),
    ("volumes", "under `spec`"),
    ("transitions", "in a state"),
];
/// In `metadata`.
pub const METADATA: KeySynonyms = &[("title", "name"), ("id", "name"), ("summary", "description")];
/// The right place for keys wrongly written in the `metadata` of an agent.
pub const NOT_METADATA_OF_AGENT: KeySynonyms =
    &[("input_schema", "under `spec`"), ("output_schema", "in a validator with `type: json_schema`")];
/// In the `spec` of an agent.
pub const AGENT: KeySynonyms = &[("environment", "env"), ("schema", "input_schema")];
/// The right place for keys wrongly written in the `spec` of an agent.
pub const NOT_AGENT: KeySynonyms = &[
    ("instruction", "under `task`"),
    ("prompt_template", "under `task`"),
    ("prompt", "under `task`, as `prompt_template`"),
    ("model", "under `runtime`"),
    ("temperature", "under `runtime`"),
    ("language", "under `runtime`"),
    ("image", "under `runtime`"),
    ("isolation", "under `runtime`"),
    ("mode", "under `execution`"),
    ("max_iterations", "under `execution`"),
    ("max_retries", "under `execution`"),
    ("iteration_timeout", "under `execution`"),
    ("llm_timeout_seconds", "under `execution`"),
    ("validation", "under `execution`"),
    ("tool_validation", "under `execution`"),
    ("network", "under `security`"),
    ("filesystem", "under `security`"),
    ("resources", "under `security`"),
    ("labels", "under `metadata`"),
    ("description", "under `metadata`"),
];
/// In `task`.
pub const TASK: KeySynonyms = &[
    ("instructions", "instruction"),
    ("system", "instruction"),
    ("system_prompt", "instruction"),
    ("prompt", "prompt_template"),
    ("template", "prompt_template"),
];
/// The right place for keys wrongly written in `task`.
pub const NOT_TASK: KeySynonyms = &[
    ("max_iterations", "under `execution`"),
    ("validation", "under `execution`"),
    ("mode", "under `execution`"),
    ("model", "under `runtime`"),
    ("temperature", "under `runtime`"),
    ("input_schema", "under `spec`"),
    ("context", "under `spec`"),
    ("tools", "under `spec`"),
];
/// The right place for keys wrongly written in `runtime`.
pub const NOT_RUNTIME: KeySynonyms = &[
    ("timeout", "under `security.resources`"),
    ("resources", "under `security`"),
    ("memory", "under `security.resources`"),
    ("cpu", "under `security.resources`"),
    ("env", "under `spec`"),
    ("max_iterations", "under `execution`"),
];
/// In `execution`.
pub const EXECUTION: KeySynonyms = &[
    ("iterations", "max_iterations"),
    ("retries", "max_retries"),
    ("validators", "validation"),
    ("timeout", "iteration_timeout"),
    ("llm_timeout", "llm_timeout_seconds"),
];
/// The right place for keys wrongly written in `execution`.
pub const NOT_EXECUTION: KeySynonyms = &[
    ("resources", "under `security`"),
    ("model", "under `runtime`"),
    ("temperature", "under `runtime`"),
    ("instruction", "under `task`"),
    ("prompt_template", "under `task`"),
];
/// In a validator.
pub const VALIDATOR: KeySynonyms = &[
    ("judge", "judge_agent"),
    ("agent", "judge_agent"),
    ("agent_id", "judge_agent"),
    ("agents", "judges"),
    ("regex", "pattern"),
    ("expression", "pattern"),
    ("criterion", "criteria"),
    ("json_schema", "schema"),
    ("score", "min_score"),
    ("threshold", "min_score"),
    ("timeout", "timeout_seconds"),
    ("strategy", "consensus"),
    ("value", "expected"),
];
/// Keys of a validator whose values are lists.
pub const LISTS_OF_VALIDATOR: &[&str] = &["judges"];
/// Keys of a validator whose values are texts or numbers.
pub const SCALARS_OF_VALIDATOR: &[&str] = &[
    "type",
    "judge_agent",
    "criteria",
    "pattern",
    "target",
    "min_score",
    "min_confidence",
    "timeout_seconds",
    "expected",
];
/// In the `spec` of a workflow.
pub const WORKFLOW: KeySynonyms = &[
    ("start", "initial_state"),
    ("initial", "initial_state"),
    ("start_state", "initial_state"),
    ("entry", "initial_state"),
    ("vars", "context"),
    ("variables", "context"),
    ("blackboard", "context"),
    ("steps", "states"),
    ("nodes", "states"),
    ("max_transitions", "max_total_transitions"),
];
/// The right place for keys wrongly written in the `spec` of a workflow.
pub const NOT_WORKFLOW: KeySynonyms = &[
    ("input_schema", "under `metadata`"),
    ("output_schema", "under `metadata`"),
    ("output_template", "under `metadata`"),
    ("description", "under `metadata`"),
    ("labels", "under `metadata`"),
    ("transitions", "in a state"),
    ("max_state_visits", "in a state"),
];
/// In a state.
pub const STATE: KeySynonyms = &[
    ("type", "kind"),
    ("agent_name", "agent"),
    ("uses", "agent"),
    ("inputs", "input"),
    ("cmd", "command"),
    ("run", "command"),
    ("script", "command"),
    ("shell", "command"),
    ("environment", "env"),
    ("cwd", "workdir"),
    ("working_dir", "workdir"),
    ("message", "prompt"),
    ("question", "prompt"),
    ("text", "prompt"),
    ("default", "default_response"),
    ("workflow", "workflow_id"),
    ("ref", "workflow_id"),
    ("result", "result_key"),
    ("key", "result_key"),
    ("output_key", "result_key"),
    ("judge", "judges"),
    ("next", "transitions"),
    ("on", "transitions"),
    ("edges", "transitions"),
    ("retries", "max_iterations"),
    ("max_visits", "max_state_visits"),
    ("containers", "steps"),
    ("values", "env"),
    ("updates", "env"),
];
/// Keys of a state whose values are lists.
pub const LISTS_OF_STATE: &[&str] = &["transitions", "agents", "judges", "judges_for_parallel", "steps", "volumes"];
/// Keys of a state whose values are texts or numbers.
pub const SCALARS_OF_STATE: &[&str] = &[
    "name",
    "kind",
    "agent",
    "agent_id",
    "input",
    "input_template",
    "intent",
    "command",
    "workdir",
    "prompt",
    "timeout",
    "timeout_seconds",
    "default_response",
    "max_state_visits",
    "max_iterations",
    "workflow_id",
    "mode",
    "result_key",
    "image",
    "completion",
    "description",
];
/// Whether a word is a key of a state, and no name of one.
pub fn is_of_state(word: &str) -> bool {
    let others = ["env", "consensus"];
    word != "name" && [LISTS_OF_STATE, SCALARS_OF_STATE, &others].iter().any(|keys| keys.contains(&word))
}
/// The right place for keys wrongly written in a state of another kind, or next to the list that should contain them.
pub const NOT_STATE: KeySynonyms = &[
    ("condition", "in an entry of `transitions`"),
    ("target", "in an entry of `transitions`"),
    ("feedback", "in an entry of `transitions`"),
    ("expression", "in an entry of `transitions`"),
    ("threshold", "in an entry of `transitions`, or under `consensus`"),
    ("strategy", "under `consensus`"),
    ("agreement", "under `consensus`"),
    ("min_judges_required", "under `consensus`"),
    ("weight", "in an entry of `agents` or `judges`"),
    ("command", "in a System state"),
    ("env", "in a System state"),
    ("workdir", "in a System state"),
    ("prompt", "in a Human state; an agent gets its text from `input`"),
    ("default_response", "in a Human state"),
    ("reject_on_timeout", "in a Human state"),
    ("agent", "in an Agent state"),
    ("agent_id", "in an Agent state"),
    ("input", "in a state that calls an agent or a workflow"),
    ("input_template", "in a state that calls an agent or a workflow"),
    ("intent", "in an Agent state"),
    ("judges", "in an Agent state; a ParallelAgents state has `judges_for_parallel`"),
    ("max_iterations", "in an Agent state"),
    ("agents", "in a ParallelAgents state"),
    ("consensus", "in a ParallelAgents state"),
    ("judges_for_parallel", "in a ParallelAgents state"),
    ("workflow_id", "in a Subworkflow state"),
    ("mode", "in a Subworkflow state"),
    ("result_key", "in a Subworkflow state"),
    ("image", "in a ContainerRun state"),
    ("steps", "in a ParallelContainerRun state"),
    ("completion", "in a ParallelContainerRun state"),
];
/// In a transition.
pub const TRANSITION: KeySynonyms = &[
    ("when", "condition"),
    ("if", "condition"),
    ("on", "condition"),
    ("type", "condition"),
    ("to", "target"),
    ("next", "target"),
    ("goto", "target"),
    ("state", "target"),
    ("expr", "expression"),
    ("minimum", "min"),
    ("maximum", "max"),
    ("score", "threshold"),
    ("equals", "value"),
    ("message", "feedback"),
];
/// In an entry of `agents` or `judges`.
pub const ENTRY: KeySynonyms =
    &[("name", "agent"), ("id", "agent_id"), ("inputs", "input"), ("prompt", "input"), ("timeout", "timeout_seconds")];
/// In `consensus`.
pub const CONSENSUS: KeySynonyms = &[
    ("method", "strategy"),
    ("type", "strategy"),
    ("min_score", "threshold"),
    ("min_judges", "min_judges_required"),
    ("top_n", "n"),
];
