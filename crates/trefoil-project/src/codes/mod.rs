//! Every error code of a run, and every reason why a run does not start: one list, one page for each.
//!
//! `trefoil explain CODE` prints a page; `docs/errors.md` contains all of them. The checker's rules are not included.

pub mod help;

use std::fmt::Write as _;

/// When a code occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeOccasion {
    /// The run was not started; exit code 2.
    NotStarted,
    /// The run failed; exit code 1.
    Run,
}

/// A code and its page.
#[derive(Debug, Clone, Copy)]
pub struct CodePage {
    /// The code as shown in errors.
    pub name: &'static str,
    /// When it occurs.
    pub when: CodeOccasion,
    /// The page in Markdown: the name, a sentence, the cause, how to fix it.
    pub page: &'static str,
}

impl CodePage {
    /// The sentence below the title.
    pub fn summary_line(&self) -> &'static str {
        self.page.lines().nth(2).unwrap_or_default()
    }
}

const fn run(name: &'static str, page: &'static str) -> CodePage {
    CodePage { name, when: CodeOccasion::Run, page }
}

const fn not_started(name: &'static str, page: &'static str) -> CodePage {
    CodePage { name, when: CodeOccasion::NotStarted, page }
}

/// All codes. A new code is one page and one line here.
pub const CODES: &[CodePage] = &[
    not_started("ambiguous-answer", include_str!("not_started/ambiguous_answer.md")),
    not_started("command-not-allowed", include_str!("not_started/command_not_allowed.md")),
    not_started("host-not-allowed", include_str!("not_started/host_not_allowed.md")),
    not_started("input-invalid", include_str!("not_started/input_invalid.md")),
    not_started("invalid-script", include_str!("not_started/invalid_script.md")),
    not_started("missing-agent", include_str!("not_started/missing_agent.md")),
    not_started("missing-env", include_str!("not_started/missing_env.md")),
    not_started("missing-model", include_str!("not_started/missing_model.md")),
    not_started("missing-module", include_str!("not_started/missing_module.md")),
    not_started("missing-program", include_str!("not_started/missing_program.md")),
    not_started("missing-secret", include_str!("not_started/missing_secret.md")),
    not_started("missing-tool", include_str!("not_started/missing_tool.md")),
    not_started("nobody-to-ask", include_str!("not_started/nobody_to_ask.md")),
    not_started("secret-in-argument", include_str!("not_started/secret_in_argument.md")),
    not_started("secret-in-input", include_str!("not_started/secret_in_input.md")),
    not_started("tool-not-allowed", include_str!("not_started/tool_not_allowed.md")),
    not_started("unknown-bound", include_str!("not_started/unknown_bound.md")),
    not_started("unknown-price", include_str!("not_started/unknown_price.md")),
    not_started("untrusted-project", include_str!("not_started/untrusted_project.md")),
    not_started("unknown-answer", include_str!("not_started/unknown_answer.md")),
    not_started("wrong-answer", include_str!("not_started/wrong_answer.md")),
    run("AGENT_NOT_FOUND", include_str!("run/agent_not_found.md")),
    run("ANSWER_FILTERED", include_str!("run/answer_filtered.md")),
    run("ANSWER_REFUSED", include_str!("run/answer_refused.md")),
    run("ANSWER_TRUNCATED", include_str!("run/answer_truncated.md")),
    run("BUDGET_EXCEEDED", include_str!("run/budget_exceeded.md")),
    run("CANCELLED", include_str!("run/cancelled.md")),
    run("COMMAND_FAILED", include_str!("run/command_failed.md")),
    run("CONSENSUS_FAILED", include_str!("run/consensus_failed.md")),
    run("GUARDRAIL_VIOLATION", include_str!("run/guardrail_violation.md")),
    run("HUMAN_TIMEOUT", include_str!("run/human_timeout.md")),
    run("INPUT_INVALID", include_str!("run/input_invalid.md")),
    run("INTERPOLATION_ERROR", include_str!("run/interpolation_error.md")),
    run("INTERRUPTED", include_str!("run/interrupted.md")),
    run("JOURNAL_ERROR", include_str!("run/journal_error.md")),
    run("LIMIT_EXCEEDED", include_str!("run/limit_exceeded.md")),
    run("MAX_ITERATIONS_EXCEEDED", include_str!("run/max_iterations_exceeded.md")),
    run("MAX_STATE_VISITS_EXCEEDED", include_str!("run/max_state_visits_exceeded.md")),
    run("MAX_STEPS_EXCEEDED", include_str!("run/max_steps_exceeded.md")),
    run("MAX_TRANSITIONS_EXCEEDED", include_str!("run/max_transitions_exceeded.md")),
    run("MODEL_ERROR", include_str!("run/model_error.md")),
    run("NONDETERMINISM", include_str!("run/nondeterminism.md")),
    run("NO_TRANSITION", include_str!("run/no_transition.md")),
    run("REFUSED", include_str!("run/refused.md")),
    run("RESUME_LIMIT", include_str!("run/resume_limit.md")),
    run("SECRET_IN_PROMPT", include_str!("run/secret_in_prompt.md")),
    run("SECRET_IN_RESULT", include_str!("run/secret_in_result.md")),
    run("STRUCTURED_OUTPUT_INVALID", include_str!("run/structured_output_invalid.md")),
    run("SUSPENDED", include_str!("run/suspended.md")),
    run("TIMEOUT", include_str!("run/timeout.md")),
    run("TOOL_CALL_MISSING", include_str!("run/tool_call_missing.md")),
    run("TOOL_ERROR", include_str!("run/tool_error.md")),
    run("TOOL_TIMEOUT", include_str!("run/tool_timeout.md")),
    run("UNKNOWN_OUTCOME", include_str!("run/unknown_outcome.md")),
    run("WOULD_REPEAT", include_str!("run/would_repeat.md")),
];

/// The code with this name, ignoring case.
pub fn find_code(name: &str) -> Option<&'static CodePage> {
    CODES.iter().find(|c| c.name.eq_ignore_ascii_case(name))
}

const HEAD: &str = "# Errors of runs

This page lists the error codes of runs that fail or do not start. It is generated (`cargo xtask rules`).
`trefoil explain CODE` prints the section of one code. For the findings of `trefoil check`, see [rules.md](rules.md).
";

/// All pages in one: `docs/errors.md`.
pub fn render_markdown() -> String {
    let mut out = String::from(HEAD);
    let parts = [
        (CodeOccasion::NotStarted, "The run does not start", "Exit code 2: nothing was sent, and no command ran."),
        (
            CodeOccasion::Run,
            "The run fails",
            "Exit code 1, or 75 if the run only waits. The trace (`--trace FILE`) has the same code at the step that failed.",
        ),
    ];
    for (when, title, about) in parts {
        let _ = write!(out, "\n## {title}\n\n{about}\n\n| code | meaning |\n|---|---|\n");
        for code in CODES.iter().filter(|c| c.when == when) {
            let anchor = code.name.to_ascii_lowercase();
            let _ = writeln!(out, "| [`{}`](#{anchor}) | {} |", code.name, code.summary_line());
        }
        for code in CODES.iter().filter(|c| c.when == when) {
            out.push('\n');
            for line in code.page.trim_end().lines() {
                let _ = writeln!(out, "{}{line}", if line.starts_with('#') { "##" } else { "" });
            }
        }
    }
    out
}
