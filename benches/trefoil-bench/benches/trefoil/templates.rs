//! Templates and conditions compared with other engines for Rust, with the same prompts and data.

use std::hint::black_box;

use serde_json::json;
use trefoil_template::{Condition, Policy, Template, Value};

use super::short;
use crate::race::{Race, Standing};

/// A prompt in the syntax of each engine.
struct Prompt {
    name: &'static str,
    handlebars: &'static str,
    jinja: &'static str,
    goal: Option<&'static str>,
}

const PROMPTS: &[Prompt] = &[
    Prompt {
        name: "small",
        handlebars: "Summarise {{topic}} in {{language}}.",
        jinja: "Summarise {{ topic }} in {{ language }}.",
        goal: None,
    },
    Prompt {
        name: "chat",
        handlebars: "You are {{name}}, answering in {{language}}.\n{{#each messages}}{{this.role}}: {{this.content}}\n{{/each}}Answer:",
        jinja: "You are {{ name }}, answering in {{ language }}.\n{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}Answer:",
        goal: Some("<= 0.5 us"),
    },
    Prompt {
        name: "each-list",
        handlebars: "Issues:\n{{#each issues}}- {{this.severity}}: {{this.text}} (line {{this.line}})\n{{/each}}",
        jinja: "Issues:\n{% for i in issues %}- {{ i.severity }}: {{ i.text }} (line {{ i.line }})\n{% endfor %}",
        goal: None,
    },
    Prompt {
        name: "4 KB",
        handlebars: "{{#if draft}}Draft:\n{{draft}}\n{{/if}}{{#if feedback}}Feedback: {{feedback}}\n{{/if}}Improve it for {{topic}}.",
        jinja: "{% if draft %}Draft:\n{{ draft }}\n{% endif %}{% if feedback %}Feedback: {{ feedback }}\n{% endif %}Improve it for {{ topic }}.",
        goal: None,
    },
];

fn data() -> serde_json::Value {
    let message =
        |role: &str| json!({"role": role, "content": "a sentence of about sixty characters, as people write in chats"});
    json!({
        "topic": "tide tables", "language": "English", "name": "a harbour pilot", "feedback": "",
        "messages": [message("user"), message("assistant"), message("user"), message("assistant"), message("user")],
        "issues": (0..50).map(|n| json!({"severity": "high", "text": "an index that is off by one", "line": n})).collect::<Vec<_>>(),
        "draft": "lorem ipsum dolor sit amet ".repeat(150),
        "n": 7, "approved": true, "score": 0.82,
    })
}

pub fn races(out: &mut Vec<Standing>) {
    let json = data();
    let value = Value::from_json(json.clone());
    for prompt in PROMPTS {
        out.push(render(prompt, &json, &value));
    }
    for prompt in PROMPTS {
        out.push(parse(prompt));
    }
    out.push(conditions(&json, &value));
}

fn render(prompt: &Prompt, json: &serde_json::Value, value: &Value) -> Standing {
    let ours = Template::parse(prompt.handlebars, &Policy::AEGIS).expect("parses");
    let mut hb = handlebars::Handlebars::new();
    hb.register_escape_fn(handlebars::no_escape);
    hb.register_template_string("t", prompt.handlebars).expect("parses");
    let hb_data = handlebars::Context::wraps(json).expect("wraps");
    let mut mj = minijinja::Environment::new();
    mj.add_template("t", prompt.jinja).expect("parses");
    let mj_template = mj.get_template("t").expect("is there");
    let mj_data = minijinja::Value::from(minijinja::value::Serde(json));
    let mut tera = tera::Tera::default();
    tera.add_raw_template("t", prompt.jinja).expect("parses");
    let tera_data = tera::Context::from_serialize(json).expect("wraps");

    let mut text = String::new();
    ours.render_into(value, &mut text).expect("renders");
    assert_eq!(text, hb.render_with_context("t", &hb_data).expect("renders"), "{}: the engines agree", prompt.name);
    let copy = text.clone();
    let mut buffer = String::with_capacity(text.len());
    let mut copied = String::with_capacity(text.len());

    let mut race = Race::new(format!("render {} ({} B)", prompt.name, text.len()), "render", 1);
    if let Some(goal) = prompt.goal {
        race = race.goal(goal);
    }
    short(
        race.lane("trefoil", || {
            buffer.clear();
            ours.render_into(black_box(value), &mut buffer).expect("renders");
            black_box(buffer.len())
        })
        .lane("tera", || tera.render("t", black_box(&tera_data)).expect("renders"))
        .lane("minijinja", || mj_template.render(black_box(&mj_data)).expect("renders"))
        .lane("handlebars", || hb.render_with_context("t", black_box(&hb_data)).expect("renders"))
        .lane("copy of the output", || {
            copied.clear();
            copied.push_str(black_box(&copy));
            black_box(copied.len())
        }),
    )
}

fn parse(prompt: &Prompt) -> Standing {
    let mut race = Race::new(format!("parse {}", prompt.name), "parse", 1);
    if prompt.name == "chat" {
        race = race.goal("<= 2 us");
    }
    short(
        race.lane("trefoil", || Template::parse(black_box(prompt.handlebars), &Policy::AEGIS).expect("parses"))
            .lane("minijinja", || {
                let mut env = minijinja::Environment::empty();
                env.add_template("t", black_box(prompt.jinja)).expect("parses");
                env
            })
            .lane("handlebars", || handlebars::Template::compile(black_box(prompt.handlebars)).expect("parses")),
    )
}

fn conditions(json: &serde_json::Value, value: &Value) -> Standing {
    let ours = Condition::parse("{{n}} > 3 && {{approved}} == true", &Policy::AGNTZ).expect("parses");
    let env = minijinja::Environment::new();
    let theirs = env.compile_expression("n > 3 and approved == true").expect("parses");
    let data = minijinja::Value::from(minijinja::value::Serde(json));
    short(
        Race::new("condition", "evaluation", 1)
            .lane("trefoil", || ours.evaluate_in(black_box(value)).expect("evaluates"))
            .lane("minijinja", || theirs.eval(black_box(&data)).expect("evaluates").is_true()),
    )
}
