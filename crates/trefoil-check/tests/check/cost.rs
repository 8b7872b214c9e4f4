//! Rules on cost.

use trefoil_check::{Group, Limits};

use super::support::{check_within, expect};

const TWICE: &str = "version: \"0.1\"\nagents: { a: { system: s, model: \"openai:gpt-4o-mini\" } }\nnodes:\n  x: { agent: a, writes: working.x, retry: { max_attempts: 4 } }\n  y: { agent: a, writes: output.y }\n";

#[test]
fn the_worst_case_counts_against_what_the_operator_allows() {
    let messages = |max| {
        let limits = Limits { max_calls: Some(max) };
        let (_, found) = check_within(Some("sirenspec"), &[("flow.yaml", TWICE)], &limits);
        found.into_iter().filter(|d| d.rule == "too-many-calls").map(|d| d.message).collect::<Vec<_>>()
    };
    assert_eq!(messages(5), Vec::<String>::new());
    assert_eq!(messages(4), ["a run of `flow` may need 5 model calls, and 4 are allowed"]);
    assert_eq!(messages(1), ["a run of `flow` may need 5 model calls, and 1 is allowed"]);
    let (once, one) = (TWICE.replace(", retry: { max_attempts: 4 }", ""), Limits { max_calls: Some(0) });
    let once = once.replace("  x: { agent: a, writes: working.x }\n", "");
    let (_, found) = check_within(Some("sirenspec"), &[("flow.yaml", &once)], &one);
    assert!(
        found.iter().any(|d| d.message == "a run of `flow` may need 1 model call, and 0 are allowed"),
        "{found:#?}"
    );
}

#[test]
fn a_list_that_is_written_out_is_bounded() {
    let each = |list: &str| {
        format!(
            "version: \"0.1\"\nagents: {{ a: {{ system: s, model: \"openai:gpt-4o-mini\" }} }}\nnodes:\n  f: {{ type: factory, agent: a, for_each: '{list}', writes: output.f }}\n"
        )
    };
    expect(Group::Cost, "sirenspec", &[("flow.yaml", &each("[1, 2, 3]"))], &[]);
    expect(
        Group::Cost,
        "sirenspec",
        &[("flow.yaml", &each("{{ inputs.message }}"))],
        &["unbounded-fan-out info 4:3 `f` makes a model call per item, and the list has no size limit"],
    );
}

#[test]
fn a_short_text_behind_a_value_costs_nothing() {
    let agent = |guide: &str| {
        format!(
            "id: a\nkind: llm\ninputSchema: {{ x: string }}\nmodel: {{ provider: openai, name: gpt-4o-mini }}\ninstruction: \"About {{{{x}}}}. {guide}\"\nprompt: Go.\n"
        )
    };
    expect(Group::Cost, "agntz", &[("a.yaml", &agent("Be kind."))], &[]);
    expect(
        Group::Cost,
        "agntz",
        &[("a.yaml", &agent(&"Be kind. ".repeat(1000)))],
        &[
            "volatile-prefix info 5:23 about 2251 tokens that are the same in every call stand behind `x`, which is not: no provider can reuse them from its cache",
        ],
    );
}

#[test]
fn a_budget_counts_against_what_the_operator_allows() {
    let each = |budget: &str| {
        format!(
            "version: \"0.1\"\nbudget: {budget}\nagents: {{ a: {{ system: s, model: \"openai:gpt-4o-mini\" }} }}\nnodes:\n  f: {{ type: factory, agent: a, for_each: '{{{{ inputs.message }}}}', writes: output.f }}\n"
        )
    };
    let messages = |budget: &str, max| {
        let limits = Limits { max_calls: Some(max) };
        let (_, found) = check_within(Some("sirenspec"), &[("flow.yaml", &each(budget))], &limits);
        found.into_iter().filter(|d| d.rule == "too-many-calls").map(|d| d.message).collect::<Vec<_>>()
    };
    assert_eq!(messages("{ max_calls: 20 }", 1), ["a run of `flow` may need 20 model calls, and 1 is allowed"]);
    assert_eq!(messages("{ max_calls: 20 }", 20), Vec::<String>::new());
    assert_eq!(messages("{ max_calls: 20, on_exceeded: warn }", 1), Vec::<String>::new());
}

#[test]
fn a_budget_ends_a_run_before_it_needs_more() {
    let messages = |max| {
        let limits = Limits { max_calls: Some(max) };
        let text = TWICE.replacen("agents:", "budget: { max_calls: 3 }\nagents:", 1);
        let (_, found) = check_within(Some("sirenspec"), &[("flow.yaml", &text)], &limits);
        found.into_iter().filter(|d| d.rule == "too-many-calls").map(|d| d.message).collect::<Vec<_>>()
    };
    let own = "`flow` may need 5 model calls, and its budget allows 3: the run would fail";
    assert_eq!(messages(3), [own]);
    assert_eq!(messages(2), ["a run of `flow` may need 3 model calls, and 2 are allowed", own]);
}
