//! Advice for failed runs, one line for each code. If the machine's error has its own advice, that is used instead. It says what to
//! change, and not with which command or option: that depends on where the run is kept, and is printed as a command.

use trefoil_machine::FailureCause;
use trefoil_runtime::RunError;

/// The causes to which a line of the table applies.
enum HelpCause {
    /// Whatever the cause.
    Any,
    /// An answer with one of these HTTP statuses.
    Status(u16, u16),
    /// No connection, or it broke.
    Network,
    /// The request may have been executed despite the failure.
    Done,
    /// The arguments of the call were refused.
    Arguments,
    /// A placeholder of this namespace has no value.
    Namespace(&'static str),
}

use HelpCause::{Any, Arguments, Done, Namespace, Network, Status};

/// The first matching line is used.
const HELP: &[(&str, HelpCause, &str)] = &[
    (
        "AGENT_NOT_FOUND",
        Any,
        "the name comes from a template; make it the name of an agent in this project, or give it a default",
    ),
    ("ANSWER_FILTERED", Any, "change the prompt, or ask the provider about its filter"),
    ("ANSWER_REFUSED", Any, "change the prompt, or choose another model"),
    ("ANSWER_TRUNCATED", Any, "raise `maxTokens` (SirenSpec: `max_tokens_per_call`), or ask for a shorter answer"),
    (
        "BUDGET_EXCEEDED",
        Any,
        "raise the limit, or lower a limit on iterations or items; `trefoil plan` counts the calls",
    ),
    ("CANCELLED", Any, "run it again"),
    ("COMMAND_FAILED", Any, "run the command by hand to see what it needs"),
    ("CONSENSUS_FAILED", Any, "tell the judges to answer with JSON (`score`, `reasoning`), or require fewer verdicts"),
    ("GUARDRAIL_VIOLATION", Any, "change the prompt, or loosen the guardrail"),
    ("HUMAN_TIMEOUT", Any, "answer it with `--answer STEP=VALUE`, raise its time limit, or set a default"),
    ("INPUT_INVALID", Any, "pass an input that matches the schema; `trefoil plan` shows it"),
    ("INTERPOLATION_ERROR", Namespace("env"), "set the environment variable, or give the placeholder a default"),
    (
        "INTERPOLATION_ERROR",
        Namespace("secrets"),
        "set the secret with `trefoil secrets set`, or give the placeholder a default",
    ),
    ("INTERPOLATION_ERROR", Any, "set a default for the value, or make sure that the step that writes it runs first"),
    ("INTERRUPTED", Any, "continue the run, or start it again"),
    ("JOURNAL_ERROR", Any, "make sure that the journal can be written and read"),
    ("LIMIT_EXCEEDED", Any, "make the values smaller, or split the work into several runs"),
    ("MAX_STEPS_EXCEEDED", Any, "raise `maxSteps` (AEGIS: `max_tool_calls`), or say in the prompt when to stop"),
    ("MAX_ITERATIONS_EXCEEDED", Any, "allow more iterations, simplify the task, or loosen the validator"),
    ("MAX_STATE_VISITS_EXCEEDED", Any, "add a transition that leaves the loop, or raise `max_state_visits`"),
    ("MAX_TRANSITIONS_EXCEEDED", Any, "add a transition that leaves the loop, or split the workflow"),
    ("MODEL_ERROR", Status(401, 401), "the provider rejects the key; check the variable that contains it"),
    ("MODEL_ERROR", Status(402, 402), "the provider asks for payment; check the account of this key"),
    ("MODEL_ERROR", Status(403, 403), "this key may not use the model; choose another model or another key"),
    ("MODEL_ERROR", Status(404, 404), "check the model's name, or choose another model"),
    (
        "MODEL_ERROR",
        Status(408, 408),
        "try again later, or allow more tries (agntz: `maxRetries`, SirenSpec: `max_attempts`)",
    ),
    ("MODEL_ERROR", Status(413, 413), "the prompt is too long for the provider; pass less text to the step"),
    (
        "MODEL_ERROR",
        Status(429, 429),
        "wait, run fewer items at the same time, or allow more tries (agntz: `maxRetries`, SirenSpec: `max_attempts`)",
    ),
    (
        "MODEL_ERROR",
        Status(500, 599),
        "the provider has problems; try again later, or allow more tries (agntz: `maxRetries`, SirenSpec: `max_attempts`)",
    ),
    ("MODEL_ERROR", Status(400, 499), "fix the request according to the provider's message"),
    ("MODEL_ERROR", Network, "check the network and the provider's URL, then try again"),
    ("MODEL_ERROR", Any, "check the provider's settings, or choose another model"),
    ("NONDETERMINISM", Any, "resume with the version and the manifest that started the run, or start a new run"),
    ("NO_TRANSITION", Any, "add a transition without a condition as the last one"),
    ("REFUSED", Any, "remove the unsupported feature"),
    ("RESUME_LIMIT", Any, "find out what ended the process, or start a new run"),
    ("SECRET_IN_RESULT", Any, "leave the variable out of the result, or pass its value as an input"),
    ("SECRET_IN_PROMPT", Any, "remove the secret from the prompt; pass it only to tools"),
    ("STRUCTURED_OUTPUT_INVALID", Any, "describe each field in the prompt, or simplify the schema"),
    ("SUSPENDED", Any, "answer it, then resume the run"),
    ("TIMEOUT", Any, "raise the limit, or do less in one step"),
    ("TOOL_CALL_MISSING", Any, "say in the prompt which tool to call and when, or remove `require_tool_call`"),
    (
        "TOOL_ERROR",
        Status(401, 401),
        "the server rejects the credentials: check the variable or secret that they come from; if the tool has none, set them in its `headers` or `auth`, or for an MCP server in `[mcp.NAME]`: `headers = { Authorization = \"Bearer {{secrets.TOKEN}}\" }`",
    ),
    ("TOOL_ERROR", Status(403, 403), "the server does not allow this call with these credentials"),
    (
        "TOOL_ERROR",
        Done,
        "find out whether it was done; a run that is continued repeats what is safe, such as a GET, and asks about anything else",
    ),
    ("TOOL_ERROR", Status(404, 404), "check the URL of the tool, and the values in it"),
    (
        "TOOL_ERROR",
        Status(429, 429),
        "wait, run fewer items at the same time, or allow more tries (SirenSpec: `retry` of the tool)",
    ),
    (
        "TOOL_ERROR",
        Status(500, 599),
        "the server has problems; try again later, or allow more tries (SirenSpec: `retry` of the tool)",
    ),
    ("TOOL_ERROR", Status(400, 499), "fix the request as the server says"),
    ("TOOL_ERROR", Network, "check that the server of the tool runs and can be reached, then try again"),
    ("TOOL_ERROR", Any, "call the tool by hand with the same arguments to see what is wrong"),
    ("TOOL_TIMEOUT", Any, "raise the limit, or make the tool do less"),
    ("WOULD_REPEAT", Any, "change the manifest or the input, and start a new run"),
    ("UNKNOWN_OUTCOME", Any, "find out whether it was done; a run that is continued asks whether to do it again"),
];

/// The failures that a run with another model may not have.
const OF_MODEL: &[(&str, HelpCause)] = &[
    ("ANSWER_REFUSED", Any),
    ("MODEL_ERROR", Status(400, 401)),
    ("MODEL_ERROR", Status(403, 404)),
    ("MODEL_ERROR", Status(408, 408)),
    ("MODEL_ERROR", Status(413, 413)),
    ("MODEL_ERROR", Status(422, 422)),
    ("MODEL_ERROR", Status(429, 429)),
    ("MODEL_ERROR", Status(500, 599)),
];

/// The failures that come again as long as the request is the same: time, another key or a payment do not help.
const OF_REQUEST: &[(&str, HelpCause)] = &[
    ("ANSWER_FILTERED", Any),
    ("ANSWER_REFUSED", Any),
    ("ANSWER_TRUNCATED", Any),
    ("INPUT_INVALID", Any),
    ("MODEL_ERROR", Status(400, 400)),
    ("MODEL_ERROR", Status(403, 406)),
    ("MODEL_ERROR", Status(410, 424)),
    ("TOOL_ERROR", Status(400, 400)),
    ("TOOL_ERROR", Status(404, 406)),
    ("TOOL_ERROR", Status(410, 424)),
    ("TOOL_ERROR", Arguments),
];

/// Whether another model may help.
pub fn is_of_model(error: &RunError) -> bool {
    is_in(OF_MODEL, error)
}

/// Whether the same request would fail again.
pub fn is_of_request(error: &RunError) -> bool {
    is_in(OF_REQUEST, error)
}

fn is_in(table: &[(&str, HelpCause)], error: &RunError) -> bool {
    table.iter().any(|(name, wanted)| *name == error.code && fits(wanted, error.cause.as_ref(), None))
}

/// The advice for a failure: its own, otherwise that for its code and cause.
pub fn find_help(error: &RunError) -> Option<&str> {
    let namespace = error.interpolation.as_ref().map(|unresolved| &*unresolved.namespace);
    error.help.as_deref().or_else(|| find_advice(&error.code, error.cause.as_ref(), namespace))
}

/// The advice for a code with a cause. `namespace`: that of a placeholder without a value.
pub fn find_advice(code: &str, cause: Option<&FailureCause>, namespace: Option<&str>) -> Option<&'static str> {
    let found = HELP.iter().find(|(name, wanted, _)| *name == code && fits(wanted, cause, namespace));
    found.map(|(_, _, help)| *help)
}

fn fits(wanted: &HelpCause, cause: Option<&FailureCause>, namespace: Option<&str>) -> bool {
    match (wanted, cause) {
        (Any, _) => true,
        (Namespace(wanted), _) => namespace == Some(wanted),
        (Network, Some(cause)) => cause.is_network(),
        (Done, Some(cause)) => cause.may_be_done(),
        (Arguments, Some(cause)) => *cause == FailureCause::Arguments,
        (Status(from, to), Some(FailureCause::Status(status))) => (from..=to).contains(&status),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CODES, CodeOccasion};
    use super::*;

    #[test]
    fn every_code_of_a_run_has_advice_and_every_advice_a_code() {
        for code in CODES.iter().filter(|c| c.when == CodeOccasion::Run) {
            let help = find_advice(code.name, None, None).unwrap_or_else(|| panic!("no advice for `{}`", code.name));
            assert!(help.len() <= 100 && !help.ends_with('.'), "{}: {help}", code.name);
        }
        for (name, ..) in OF_MODEL.iter().chain(OF_REQUEST) {
            assert!(CODES.iter().any(|c| c.name == *name), "`{name}` is no code");
        }
        for (name, _, help) in HELP {
            // Whether a run can be resumed or repeated, and with which options, is known only where a command is printed.
            let is_stored = ["NONDETERMINISM", "SUSPENDED"].contains(name);
            let named = ["`--model", "`--unknown", "resume", "fork"].into_iter().find(|word| help.contains(word));
            assert!(is_stored || named.is_none(), "{name}: {help}");
            assert!(CODES.iter().any(|c| c.name == *name), "`{name}` is no code");
        }
    }

    #[test]
    fn a_variable_that_is_not_set_is_to_be_set() {
        for (namespace, wanted) in
            [("env", "environment variable"), ("secrets", "secrets set"), ("state", "runs first")]
        {
            let error = RunError::for_placeholder(&format!("{namespace}.X"), namespace, "it is not set");
            assert!(find_help(&error).unwrap().contains(wanted), "{namespace}");
        }
    }

    #[test]
    fn a_models_error_has_advice_by_its_cause() {
        let advice = |cause| find_advice("MODEL_ERROR", Some(&cause), None).unwrap();
        assert!(advice(FailureCause::Status(401)).contains("key"));
        assert!(advice(FailureCause::Status(404)).contains("name"));
        assert!(advice(FailureCause::Status(429)).contains("wait"));
        assert!(advice(FailureCause::Status(503)).contains("later"));
        assert!(advice(FailureCause::Status(422)).contains("request"));
        assert!(advice(FailureCause::Network).contains("network"));
    }
}
