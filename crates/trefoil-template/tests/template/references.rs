//! The data for lowering and the checker: references with places and guards, bindings, sources of every kind.

use serde_json::json;
use trefoil_template::{
    ArithmeticOperator, BlockSubject, BuiltinFunction, ComparisonOperator, Condition, ConditionExpression,
    LiteralIndex, LocalStart, MissingCause, Policy, ReferenceBinding, SourceValue, Template, Value, ValueScope,
};

fn parsed(policy: Policy, text: &str) -> Template {
    Template::parse(text, &policy).unwrap()
}

/// `path`, or `path?` if guarded. Also checks that each span contains the path.
fn listed(policy: Policy, text: &str) -> Vec<String> {
    let template = parsed(policy, text);
    for reference in template.references() {
        for segment in &reference.path {
            assert_eq!(&text[segment.span.start as usize..segment.span.end as usize], &*segment.name);
            assert!(segment.span.start >= reference.span.start && segment.span.end <= reference.span.end);
        }
    }
    template.references().iter().map(|r| format!("{}{}", r.dotted_path(), if r.guarded { "?" } else { "" })).collect()
}

#[test]
fn references_are_listed_in_order_with_their_guards() {
    assert_eq!(
        listed(Policy::AGNTZ, "{{a.b}} {{#if a.c}}{{a.c.d}} {{a}} {{e}}{{/if}} {{a.c}} {{#if f == null}}{{f}}{{/if}}"),
        ["a.b", "a.c?", "a.c.d?", "a?", "e", "a.c", "f?", "f"]
    );
    assert_eq!(listed(Policy::SIRENSPEC, "{{ a.output }}{{ b.output | default('x') }}"), ["a.output", "b.output?"]);
    assert_eq!(
        listed(
            Policy::AEGIS,
            "{{#unless a}}{{a}}{{else}}{{a.b}}{{/unless}}{{default c d}}{{#each e.f as |x|}}{{x}}{{../g}}{{@root.h}}{{this}}{{../e.f}}{{/each}}{{@root}}{{this.i}}"
        ),
        ["a?", "a", "a.b?", "c?", "d", "e.f?", "g", "h", "e.f?", "", "i"]
    );
}

#[test]
fn defaults_are_part_of_the_reference() {
    let template = parsed(Policy::SIRENSPEC, "{{ env.MODE | default('dev') }}{{ x | json_or_default(\"[]\") }}");
    let defaults: Vec<_> = template.references().iter().map(|r| r.default.as_deref()).collect();
    assert_eq!(defaults, [Some("dev"), Some("[]")]);
}

#[test]
fn loop_paths_say_what_they_are_relative_to() {
    let text = "{{#each AUDIT.issues}}{{severity}}{{#each tags}}{{this}}{{../id}}{{@index}}{{/each}}{{#with this.at}}{{line}}{{/with}}{{/each}}{{#each (keys o)}}{{x}}{{/each}}";
    let template = parsed(Policy::AEGIS, text);
    let locals: Vec<_> = template
        .local_paths()
        .iter()
        .map(|l| {
            let path: Vec<_> = l.path.iter().map(|s| &*s.name).collect();
            (&text[l.span.start as usize..l.span.end as usize], path.join("."), l.start, l.origin, l.each)
        })
        .collect();
    let this = LocalStart::This;
    assert_eq!(
        locals,
        [
            ("severity", "severity".to_owned(), this, BlockSubject::Reference(0), true),
            ("tags", "tags".to_owned(), this, BlockSubject::Reference(0), true),
            ("this", String::new(), this, BlockSubject::Local(1), true),
            ("../id", "id".to_owned(), this, BlockSubject::Reference(0), true),
            ("@index", String::new(), LocalStart::Index, BlockSubject::Local(1), true),
            ("this.at", "at".to_owned(), this, BlockSubject::Reference(0), true),
            ("line", "line".to_owned(), this, BlockSubject::Local(5), false),
            ("x", "x".to_owned(), this, BlockSubject::Computed, true),
        ]
    );
}

#[test]
fn shapes_of_templates() {
    for (text, literal, single) in [
        ("plain", Some("plain"), false),
        ("", Some(""), false),
        ("{{x}}", None, true),
        ("{{ x }}\n", None, false),
        (" {{x}}", None, false),
        ("{{x}}{{y}}", None, false),
        ("{{#if x}}y{{/if}}", None, false),
        ("a \\{{x}} {{! note }}b", Some("a {{x}} b"), false),
        ("{{! note }}", Some(""), false),
        ("{{{x}}}", None, true),
    ] {
        let template = parsed(Policy::AEGIS, text);
        assert_eq!((template.literal_text(), template.is_single()), (literal, single), "{text:?}");
    }
}

/// One source of each kind.
struct Sources(Value);

impl ValueScope for Sources {
    fn source_value(&self, source: u32) -> SourceValue<'_> {
        let value = |json| Value::from_json(json);
        match source {
            0 => SourceValue::Borrowed(&self.0),
            1 => SourceValue::Owned(value(json!({"x": [1, 2]}))),
            2 => SourceValue::Layered {
                top: value(json!({"title": "top", "nothing": null})),
                under: value(json!({
                    "title": {"out": "hidden"},
                    "writer": {"out": {"draft": "d"}, "in": {"helper": {"out": "deep", "in": null}, "draft": {"out": "no"}}},
                })),
            },
            3 => SourceValue::Either(
                Box::new(SourceValue::Owned(value(json!({"a": {"b": 1}})))),
                Box::new(SourceValue::Owned(value(json!({"a": {"c": 2}, "d": 3})))),
            ),
            4 => SourceValue::Missing(MissingCause::OutsideLoop),
            _ => SourceValue::Missing(MissingCause::Key(0)),
        }
    }
}

#[test]
fn sources_of_every_kind() {
    let sources = Sources(Value::from_json(json!({"deep": {"er": "value"}})));
    let read = |path: &str, source: u32, skip: u16| {
        let mut template = parsed(Policy::SIRENSPEC, &format!("{{{{ {path} }}}}"));
        template.bind_references(|_| ReferenceBinding { source, skip });
        match template.render_value(&sources) {
            Ok(value) => value.to_json(),
            Err(error) => json!(error.to_string().split("]: ").nth(1)),
        }
    };
    assert_eq!(read("slot.deep.er", 0, 1), json!("value"));
    assert_eq!(read("a.b.deep.nope", 0, 2), json!("Key 'nope' not found"));
    assert_eq!(read("a.x.1", 1, 1), json!(2));
    // The output takes precedence. A segment that it lacks is a step's key; the same applies within a step's output.
    assert_eq!(read("w", 2, 1), json!({"title": "top", "nothing": null}));
    assert_eq!(read("w.title", 2, 1), json!("top"));
    assert_eq!(read("w.nothing", 2, 1), json!(null));
    assert_eq!(read("w.writer", 2, 1), json!({"draft": "d"}));
    assert_eq!(read("w.writer.draft", 2, 1), json!("d"));
    assert_eq!(read("w.writer.helper", 2, 1), json!("deep"));
    assert_eq!(read("w.writer.nope", 2, 1), json!("Key 'nope' not found"));
    assert_eq!(read("w.nope", 2, 1), json!("Key 'nope' not found"));
    assert_eq!(read("x.a.b", 3, 1), json!(1));
    assert_eq!(read("x.a.c", 3, 1), json!(2));
    assert_eq!(read("x.d", 3, 1), json!(3));
    assert_eq!(read("x.a.e", 3, 1), json!("Key 'e' not found"));
    assert_eq!(read("item.x", 4, 1), json!("Not inside a factory loop context"));
}

#[test]
fn provenance_of_loops_helpers_and_defaults() {
    let trace = |policy: Policy, text: &str, state: serde_json::Value| {
        let template = parsed(policy, text);
        let (value, provenance) = template.render_with_provenance(&Value::from_json(state)).unwrap();
        let text = value.to_text().to_string();
        let part = |p: &trefoil_template::ReferenceProvenance| {
            let shown = &text[p.output.start as usize..p.output.end as usize];
            format!("{shown}<{}", template.references()[p.reference as usize].dotted_path())
        };
        provenance.iter().map(part).collect::<Vec<_>>()
    };
    let state = json!({"a": "x", "list": [{"k": 1}, {"k": null}], "o": {"p": "q"}});
    assert_eq!(
        trace(
            Policy::AEGIS,
            "{{a}} {{#each list}}{{k}}{{@index}}{{../a}} {{/each}}{{upper o.p}}{{default nope a}}{{default nope 'y'}}",
            state.clone()
        ),
        ["x<a", "1<list", "0<list", "x<a", "1<list", "x<a", "Q<o.p", "x<a"]
    );
    // The text of a default did not come from a reference.
    assert_eq!(trace(Policy::SIRENSPEC, "{{ a }}{{ nope | default('z') }}", state), ["x<a"]);
}

#[test]
fn conditions_made_by_lowering() {
    let state = Value::from_json(json!({"score": "0.9", "answer": "Yes", "n": 3}));
    let reference = |text: &str| parsed(Policy::AEGIS, text).references()[0].clone();
    let compare = |comparison, value: f64| {
        let number = ConditionExpression::Call(BuiltinFunction::Number, vec![ConditionExpression::Reference(0)]);
        ConditionExpression::Compare(vec![number, ConditionExpression::from_value(value)], vec![comparison])
    };
    let holds = |expression, path| {
        Condition::from_parts(expression, vec![reference(path)], Policy::AEGIS).evaluate_in(&state).unwrap()
    };
    assert!(holds(compare(ComparisonOperator::Greater, 0.8), "{{score}}"));
    assert!(!holds(compare(ComparisonOperator::Less, 0.8), "{{score}}"));
    // A missing score matches no comparison.
    assert!(!holds(compare(ComparisonOperator::Greater, 0.8), "{{nope}}"));
    assert!(!holds(compare(ComparisonOperator::Less, 0.8), "{{nope}}"));
    let lower = ConditionExpression::Call(BuiltinFunction::Lower, vec![ConditionExpression::Reference(0)]);
    let yes = ConditionExpression::from_value(Value::from_iter(["yes", "y"]));
    assert!(holds(ConditionExpression::Compare(vec![lower, yes], vec![ComparisonOperator::In]), "{{answer}}"));
    let sum = ConditionExpression::Arithmetic(
        ArithmeticOperator::Add,
        Box::new(ConditionExpression::Reference(0)),
        Box::new(ConditionExpression::from_value(1)),
    );
    assert!(holds(
        ConditionExpression::Compare(vec![sum, ConditionExpression::from_value(4)], vec![ComparisonOperator::Equal]),
        "{{n}}"
    ));
}

#[test]
fn condition_references() {
    let condition =
        Condition::parse("working.a[\"b\"].c[0].d == output and len(working.x)", &Policy::SIRENSPEC).unwrap();
    let paths: Vec<_> = condition.references().iter().map(trefoil_template::Reference::dotted_path).collect();
    assert_eq!(paths, ["working.a.b.c", "output", "working.x"]);
    assert!(!condition.is_constant());
    assert!(Condition::parse("a == 'a'", &Policy::AGNTZ).unwrap().is_constant());
}

#[test]
fn literals_know_where_they_are_written() {
    fn literals(expression: &ConditionExpression, all: &mut Vec<LiteralIndex>) {
        match expression {
            ConditionExpression::Literal(_, at) => all.push(*at),
            ConditionExpression::And(of)
            | ConditionExpression::Or(of)
            | ConditionExpression::List(of)
            | ConditionExpression::Compare(of, _) => {
                of.iter().for_each(|e| literals(e, all));
            }
            ConditionExpression::Call(_, of) => of.iter().for_each(|e| literals(e, all)),
            ConditionExpression::Not(of) => literals(of, all),
            _ => {}
        }
    }
    let written = |policy: Policy, text: &str| {
        let condition = Condition::parse(text, &policy).unwrap();
        let mut all = Vec::new();
        literals(condition.expression_tree(), &mut all);
        let place = |at: LiteralIndex| condition.literal_spans()[at.0.unwrap() as usize].clone();
        all.into_iter().map(|at| text[place(at).start as usize..place(at).end as usize].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        written(Policy::AGNTZ, "{{a}} == 'it is' || {{b}} != two words && {{c}} > -5"),
        ["'it is'", "two words", "-5"]
    );
    assert_eq!(
        written(Policy::SIRENSPEC, "working.a in ('x', \"y\") and working.b > -5 or working.c == {'k': [1]}"),
        ["'x'", "\"y\"", "-5", "{'k': [1]}"]
    );
    assert_eq!(written(Policy::AEGIS, "A.b == \"x\" && !(eq state.n 0.5) || c == true"), ["\"x\"", "0.5", "true"]);
    let text = "{{#if a == 'y'}}b{{/if}}";
    let template = parsed(Policy::AGNTZ, text);
    assert_eq!(template.expression_literal_spans().first(), Some(&(11..14)));
}
