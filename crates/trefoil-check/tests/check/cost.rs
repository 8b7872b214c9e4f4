//! Rules about cost.

use expect_test::{Expect, expect};
use trefoil_check::{RuleGroup, RunCostLimits};

use super::support::{check_within, expect, hold, shown};

const TWICE: &str = "version: \"0.1\"\nagents: { a: { system: s, model: \"openai:gpt-4o-mini\" } }\nnodes:\n  x: { agent: a, writes: working.x, retry: { max_attempts: 4 } }\n  y: { agent: a, writes: output.y }\n";

/// The findings about too many calls, with this limit of the operator.
#[track_caller]
fn told(flow: &str, max: u64, expected: Expect) {
    let limits = RunCostLimits { max_calls: Some(max), ..RunCostLimits::default() };
    let (project, all) = check_within(Some("sirenspec"), &[("flow.yaml", flow)], &limits);
    hold(&expected, &shown(&project, all.iter().filter(|d| d.rule == "too-many-calls")));
}

#[test]
fn the_worst_case_counts_against_what_the_operator_allows() {
    let told = |max, expected| told(TWICE, max, expected);
    told(5, expect![""]);
    told(
        4,
        expect![[r#"
            4:3 warning too-many-calls: a run of `flow` may need 5 model calls, but the limit is 4
              | x: { agent: a, writes
              | ^
              help: see `trefoil plan` for the breakdown; lower a limit on retries, iterations or visits, or allow more calls
        "#]],
    );
    told(
        1,
        expect![[r#"
            4:3 warning too-many-calls: a run of `flow` may need 5 model calls, but the limit is 1
              | x: { agent: a, writes
              | ^
              help: see `trefoil plan` for the breakdown; lower a limit on retries, iterations or visits, or allow more calls
        "#]],
    );
    let once = TWICE.replace(", retry: { max_attempts: 4 }", "");
    let once = once.replace("  x: { agent: a, writes: working.x }\n", "");
    self::told(
        &once,
        0,
        expect![[r#"
            4:3 warning too-many-calls: a run of `flow` may need 1 model call, but the limit is 0
              | y: { agent: a, writes
              | ^
              help: see `trefoil plan` for the breakdown; lower a limit on retries, iterations or visits, or allow more calls
        "#]],
    );
}

#[test]
fn a_list_that_is_written_out_is_bounded() {
    let each = |list: &str| {
        format!(
            "version: \"0.1\"\nagents: {{ a: {{ system: s, model: \"openai:gpt-4o-mini\" }} }}\nnodes:\n  f: {{ type: factory, agent: a, for_each: '{list}', writes: output.f }}\n"
        )
    };
    expect(RuleGroup::Cost, "sirenspec", &[("flow.yaml", &each("[1, 2, 3]"))], expect![""]);
    expect(
        RuleGroup::Cost,
        "sirenspec",
        &[("flow.yaml", &each("{{ inputs.message }}"))],
        expect![[r#"
            4:3 info unbounded-fan-out: `f` makes a model call per item, and the list has no size limit
              | f: { type: factory, a
              | ^
              help: set a call budget for the workflow, or run it with `--max-calls`
        "#]],
    );
}

#[test]
fn a_budget_counts_against_what_the_operator_allows() {
    let each = |budget: &str| {
        format!(
            "version: \"0.1\"\nbudget: {budget}\nagents: {{ a: {{ system: s, model: \"openai:gpt-4o-mini\" }} }}\nnodes:\n  f: {{ type: factory, agent: a, for_each: '{{{{ inputs.message }}}}', writes: output.f }}\n"
        )
    };
    told(
        &each("{ max_calls: 20 }"),
        1,
        expect![[r#"
            5:3 warning too-many-calls: a run of `flow` may need 20 model calls, but the limit is 1
              | f: { type: factory, a
              | ^
              help: see `trefoil plan` for the breakdown; lower a limit on retries, iterations or visits, or allow more calls
        "#]],
    );
    told(&each("{ max_calls: 20 }"), 20, expect![""]);
    told(&each("{ max_calls: 20, on_exceeded: warn }"), 1, expect![""]);
}

#[test]
fn a_budget_ends_a_run_before_it_needs_more() {
    let text = TWICE.replacen("agents:", "budget: { max_calls: 3 }\nagents:", 1);
    told(
        &text,
        3,
        expect![[r#"
            2:11 warning too-many-calls: `flow` may need 5 model calls, but its budget allows 3: the run would fail
              | budget: { max_calls: 3 }
              |           ^^^^^^^^^
              help: see `trefoil plan` for the breakdown; lower a limit on retries, iterations or visits, or allow more calls
        "#]],
    );
    told(
        &text,
        2,
        expect![[r#"
            2:11 warning too-many-calls: `flow` may need 5 model calls, but its budget allows 3: the run would fail
              | budget: { max_calls: 3 }
              |           ^^^^^^^^^
              help: see `trefoil plan` for the breakdown; lower a limit on retries, iterations or visits, or allow more calls
            5:3 warning too-many-calls: a run of `flow` may need 3 model calls, but the limit is 2
              | x: { agent: a, writes
              | ^
              help: see `trefoil plan` for the breakdown; lower a limit on retries, iterations or visits, or allow more calls
        "#]],
    );
}
