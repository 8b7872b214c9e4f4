//! Properties of every text and every value. `PROPTEST_CASES=20000` tests more cases.

use proptest::prelude::*;
use trefoil_template::state::{TextKind, evaluate_text, line_and_column};
use trefoil_template::{Condition, EvalError, Hole, HoleKind, Masked, Policy, Template, Value, limits};

use crate::masked::asked;

const POLICIES: [Policy; 3] = [Policy::AGNTZ, Policy::AEGIS, Policy::SIRENSPEC];

/// Texts composed of tokens of the three languages.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{{",
        "}}",
        "{{{",
        "}}}",
        "{",
        "}",
        "#if ",
        "/if",
        "#each ",
        "/each",
        "#with ",
        "/with",
        "else",
        "~",
        "!",
        "!--",
        "--",
        "{{/if}}",
        "{{else}}",
        "{{#if a}}",
        "{{#each list}}",
        "{{/each}}",
        "{{a}}",
        "{{ b.c }}",
        "this",
        "../",
        "@index",
        "@root.",
        "./",
        "a",
        "b.c",
        ".",
        "/",
        " ",
        "\n",
        "\r\n",
        "\\",
        "'",
        "\"",
        "(",
        ")",
        "[",
        "]",
        "|",
        " | default('x')",
        " | json_or_default(\"[]\")",
        "==",
        "!=",
        "<",
        ">=",
        "&&",
        "||",
        " and ",
        " or ",
        "not ",
        " in ",
        " is ",
        "working.a",
        "output",
        "len(",
        "+",
        "-",
        "*",
        "%",
        ",",
        "1",
        "2.5",
        "true",
        "null",
        "as |x i|",
        "upper ",
        "default ",
        "(eq a 1)",
        "é",
        "世",
        "=",
        "includeZero=true",
        "&",
        ":",
        "#",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![4 => pieces(), 1 => any::<String>()]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        pieces().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[abc]", inner), 0..4).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

fn state() -> impl Strategy<Value = Value> {
    (values(), values(), values()).prop_map(|(a, b, list)| {
        [
            ("a", a.clone()),
            ("b", [("c", b)].into_iter().collect()),
            ("list", list),
            ("working", [("a", a)].into_iter().collect()),
        ]
        .into_iter()
        .collect()
    })
}

proptest! {
    #[test]
    fn no_text_panics_and_every_mistake_has_a_place(text in texts()) {
        for policy in POLICIES {
            let errors = [Template::parse(&text, &policy).err(), Condition::parse(&text, &policy).err()];
            for error in errors.into_iter().flatten().flatten() {
                let (start, end) = (error.span.start as usize, error.span.end as usize);
                prop_assert!(start <= end && text.get(start..end).is_some(), "{:?} in {:?}", error, text);
                prop_assert!(!error.message.is_empty() && !error.message.ends_with('.'));
                let (line, column) = line_and_column(&text, start);
                prop_assert!(line >= 1 && column >= 1);
            }
        }
    }

    #[test]
    fn what_parses_renders_the_same_in_every_way(text in texts(), state in state()) {
        for policy in POLICIES {
            let Ok(template) = Template::parse(&text, &policy) else { continue };
            let rendered = template.render_text(&state);
            prop_assert_eq!(&rendered, &template.render_text(&state));
            let traced = template.render_with_provenance(&state);
            let mut buffer = "before ".to_owned();
            let into = template.render_into(&state, &mut buffer);
            match rendered {
                Ok(value) => {
                    let (again, provenance) = traced.unwrap();
                    let shown = value.to_text();
                    prop_assert_eq!(&value, &again);
                    prop_assert_eq!(buffer.strip_prefix("before "), Some(&*shown));
                    // Disjoint, ordered, within the text and on character boundaries.
                    let mut end = 0;
                    for part in provenance {
                        prop_assert!(part.output.start >= end && part.output.end > part.output.start);
                        prop_assert!(shown.get(part.output.start as usize..part.output.end as usize).is_some());
                        prop_assert!((part.reference as usize) < template.references().len());
                        end = part.output.end;
                    }
                    prop_assert!(end as usize <= shown.len());
                }
                Err(error) => {
                    prop_assert_eq!(traced.unwrap_err(), error.clone());
                    prop_assert_eq!(into.unwrap_err(), error);
                }
            }
            let _ = template.render_value(&state);
        }
    }

    #[test]
    fn data_is_never_code(data in pieces(), before in "[a-z ]{0,5}") {
        let state: Value = [("a", Value::from(data.clone())), ("list", vec![Value::from(data.clone())].into())].into_iter().collect();
        for (policy, text) in [(Policy::AGNTZ, "{{a}}"), (Policy::AEGIS, "{{a}}"), (Policy::AEGIS, "{{#each list}}{{this}}{{/each}}"), (Policy::AGNTZ, "{{#if a != zzz}}{{a}}{{/if}}")] {
            let got = evaluate_text(&policy, TextKind::Template, &format!("{before}{text}"), &state).unwrap();
            prop_assert_eq!(&*got.to_text(), &format!("{before}{data}"));
        }
        let nodes: Value = [("nodes", [("n", state)].into_iter().collect::<Value>())].into_iter().collect();
        let got = evaluate_text(&Policy::SIRENSPEC, TextKind::Template, "{{ n.a }}", &nodes).unwrap();
        prop_assert_eq!(&*got.to_text(), &data);
    }

    #[test]
    fn text_without_tags_is_itself(text in any::<String>()) {
        prop_assume!(!text.contains("{{"));
        for policy in POLICIES {
            let template = Template::parse(&text, &policy).unwrap();
            prop_assert_eq!(template.literal_text(), Some(&*text));
        }
    }

    #[test]
    fn conditions_are_total(text in texts(), state in state()) {
        for policy in POLICIES {
            if let Ok(condition) = Condition::parse(&text, &policy) {
                let truth = condition.evaluate_in(&state);
                prop_assert!(truth.is_ok() || matches!(truth, Err(EvalError::Limit(_))), "{:?}", truth);
            }
        }
    }

    /// Answering a condition on a hole gives the same result as evaluating it on the hole's content.
    #[test]
    fn answers_agree_with_direct_evaluation(text in conditions(), content in prop::sample::select(vec!["", "x", "1", "2", "[]", "true"]), other in values()) {
        let hole = Hole { lenient: true, ..Hole::new(HoleKind::Env, "X") };
        let with = |a: Value| -> Value {
            let inner: Value = [("a", a.clone()), ("o", other.clone()), ("l", vec![a.clone(), 1.into()].into())].into_iter().collect();
            [("a", a), ("o", other.clone()), ("working", inner.clone()), ("l", inner.get("l").cloned().into())].into_iter().collect()
        };
        for policy in POLICIES {
            let Ok(condition) = Condition::parse(&text, &policy) else { continue };
            let masked = condition.evaluate_in(&with(Masked::from_hole(hole.clone()).into_value()));
            let direct = condition.evaluate_in(&with(content.into()));
            match masked {
                Err(EvalError::Undecided(question)) => {
                    let answer = question.answer_with(&mut |_: &Hole| Ok::<_, ()>(content.to_owned()));
                    prop_assert_eq!(answer.map_err(|()| "no answer"), direct.map_err(|_| "no truth"), "{}", asked(&question));
                }
                other => prop_assert_eq!(other, direct),
            }
        }
    }

    #[test]
    fn values_survive_json(value in values()) {
        let text = serde_json::to_string(&value).unwrap();
        let read: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(serde_json::to_string(&read).unwrap(), text);
        // The text of a value is JSON, and reading it back gives the same text.
        if !matches!(value, Value::Str(_) | Value::Number(_)) {
            let again: Value = serde_json::from_str(&value.to_text()).unwrap();
            prop_assert_eq!(again.to_text(), value.to_text());
        }
    }
}

/// Conditions of all three grammars over `a`, `o` and `l`.
fn conditions() -> impl Strategy<Value = String> {
    let operand =
        |names: [&'static str; 3]| prop::sample::select(vec![names[0], names[1], names[2], "'x'", "1", "null", "''"]);
    fn joined(
        operand: impl Strategy<Value = &'static str> + Clone,
        words: [&'static str; 3],
    ) -> impl Strategy<Value = String> {
        let operator = prop::sample::select(vec!["==", "!=", "<", ">="]);
        let not = words[2];
        let part = (operand.clone(), operator, operand, 0..4u8).prop_map(move |(a, op, b, shape)| match shape {
            0 => a.to_owned(),
            1 if !not.is_empty() => format!("{not}({a} {op} {b})"),
            _ => format!("{a} {op} {b}"),
        });
        prop::collection::vec((part, any::<bool>()), 1..4).prop_map(move |parts| {
            parts.into_iter().fold(String::new(), |all, (part, and)| {
                if all.is_empty() { part } else { format!("{all} {} {part}", if and { words[0] } else { words[1] }) }
            })
        })
    }
    let python = prop::sample::select(vec![
        "working.a",
        "working.o",
        "working.l",
        "'x'",
        "1",
        "None",
        "''",
        "len(working.a)",
        "int(working.a)",
        "working.a + 'y'",
        "working.l[0]",
        "working.missing",
        "(working.a in working.l)",
        "(1 < 2 < working.a)",
        "working.a * 2",
        "-working.a",
        "str(working.l)",
    ]);
    prop_oneof![
        joined(operand(["{{a}}", "{{o}}", "{{l}}"]), ["&&", "||", ""]),
        joined(operand(["a", "o", "l.0"]), ["&&", "||", "!"]),
        joined(python, ["and", "or", "not "]),
    ]
}

#[test]
fn the_limits_are_what_the_documentation_says() {
    assert_eq!(limits::DEPTH, 64);
}
