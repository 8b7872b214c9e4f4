//! No text and no data can exhaust the process.

use serde_json::json;
use trefoil_template::{Condition, EvalError, Policy, Template, Value, limits};

fn refused(policy: Policy, text: &str) -> &'static str {
    Template::parse(text, &policy).unwrap_err()[0].code
}

fn condition_refused(policy: Policy, text: &str) -> &'static str {
    Condition::parse(text, &policy).unwrap_err()[0].code
}

#[test]
fn deep_texts_are_refused_not_overflowed() {
    let many = 100_000;
    for policy in [Policy::AGNTZ, Policy::AEGIS] {
        assert_eq!(refused(policy, &"{{#if a}}".repeat(many)), "template-too-deep");
        let closed = "{{#if a}}".repeat(many / 2) + &"{{/if}}".repeat(many / 2);
        assert_eq!(refused(policy, &closed), "template-too-deep");
    }
    assert_eq!(refused(Policy::AEGIS, &format!("{{{{upper {}}}}}", "(upper ".repeat(many))), "template-too-deep");
    for text in ["(", "{{", "!", "not ("] {
        assert_eq!(condition_refused(Policy::AEGIS, &text.repeat(9_000)), "condition-too-deep", "{text:?}");
    }
    for text in ["(", "[", "not ", "-", "+", "len(", "1+", "1 < (", "working[0][", "'' or ("] {
        let long = text.repeat(5_000);
        let code = condition_refused(Policy::SIRENSPEC, &long);
        assert_eq!(code, "condition-too-deep", "{text:?}");
    }
    // Chains that are long but not deep are fine.
    let long = vec!["{{a}} == 1"; 3_000].join(" && ");
    assert!(Condition::parse(&long, &Policy::AGNTZ).is_ok());
    let long = vec!["working.a"; 3_000].join(" or ");
    assert!(Condition::parse(&long, &Policy::SIRENSPEC).is_ok());
    let within = "{{#if a}}".repeat(limits::DEPTH) + &"{{/if}}".repeat(limits::DEPTH);
    assert!(Template::parse(&within, &Policy::AGNTZ).is_ok());
}

#[test]
fn chains_that_nest_are_bounded() {
    for text in
        ["1+".repeat(5_000) + "1", format!("working{}", "[0]".repeat(5_000)), "x".to_owned() + &"(".repeat(60_000)]
    {
        assert!(Condition::parse(&text, &Policy::SIRENSPEC).is_err());
    }
    let path = format!("{{{{{}a}}}}", "a.".repeat(10_000));
    for policy in [Policy::AGNTZ, Policy::AEGIS, Policy::SIRENSPEC] {
        assert_eq!(refused(policy, &path), "template-bad-path");
    }
}

#[test]
fn large_texts_are_refused() {
    assert_eq!(refused(Policy::AGNTZ, &"x".repeat(limits::TEMPLATE_BYTES + 1)), "template-too-large");
    assert_eq!(condition_refused(Policy::SIRENSPEC, &"1".repeat(limits::CONDITION_BYTES + 1)), "condition-too-large");
}

#[test]
fn mistakes_are_counted_up_to_a_limit_in_linear_time() {
    for (policy, tag) in [
        (Policy::AGNTZ, "{{}}"),
        (Policy::AGNTZ, "{{ 'x }}"),
        (Policy::AGNTZ, "{{a "),
        (Policy::AGNTZ, "{{/if}}"),
        (Policy::SIRENSPEC, "{{ a | default('x }}"),
        (Policy::SIRENSPEC, "{{{"),
        (Policy::AEGIS, "{{{{"),
        (Policy::AEGIS, "{{{{r}}}}"),
        (Policy::AEGIS, "{{!--"),
        (Policy::AEGIS, "{{else}}"),
        (Policy::AEGIS, "{{> p}}"),
        (Policy::AEGIS, "{{\"a }}"),
        (Policy::AEGIS, "{{ [ }}"),
    ] {
        let errors = Template::parse(&tag.repeat(40_000), &policy).unwrap_err();
        assert!(errors.len() <= limits::MISTAKES, "{tag}");
    }
    assert!(Template::parse(&"{{!-- a --}}\n".repeat(40_000), &Policy::AEGIS).is_ok());
    assert!(Template::parse(&"{{!-- a --~}} ".repeat(40_000), &Policy::AEGIS).is_ok());
    assert!(Template::parse(&"\\{{x}}".repeat(40_000), &Policy::AEGIS).is_ok());
}

#[test]
fn output_and_loops_are_bounded() {
    let list: Value = (0..3_000).map(Value::from).collect();
    let state: Value = [("list", list), ("text", "x".repeat(1 << 16).into())].into_iter().collect();
    let render = |text: &str| Template::parse(text, &Policy::AEGIS).unwrap().render_text(&state);
    let large = render("{{#each list}}{{../text}}{{/each}}");
    assert!(matches!(large, Err(EvalError::Limit(_))), "{large:?}");
    let long = render("{{#each list}}{{#each ../list}}{{/each}}{{/each}}");
    assert!(matches!(long, Err(EvalError::Limit(_))), "{long:?}");
}

#[test]
fn conditions_do_bounded_work() {
    let state = Value::from_json(json!({"working": {"text": "x".repeat(1 << 20), "list": vec![0; 1000]}}));
    let evaluate = |text: &str| Condition::parse(text, &Policy::SIRENSPEC).unwrap().evaluate_in(&state);
    for text in [
        "'x' * 1000000000",
        "[0] * 1000000000000 != []",
        "working.list * 100000 != []",
        &vec!["working.text"; 40].join(" + "),
        &(vec!["'y' in working.text"; 1000].join(" or ") + " or True"),
    ] {
        // Within the limits, each would be true.
        let outcome = evaluate(text);
        assert_eq!(outcome, Ok(false), "{}", &text[..20.min(text.len())]);
    }
    assert_eq!(evaluate("len('ab' * 1000) == 2000"), Ok(true));
    assert_eq!(evaluate("'x' * -1 == ''"), Ok(true));
}
