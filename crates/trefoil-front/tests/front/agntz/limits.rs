//! Hostile manifests: depth, width, endless references.

use std::fmt::Write as _;

use expect_test::expect;

use super::support::{check, check_one, load};

fn chain(length: usize) -> Vec<(String, String)> {
    (0..length)
        .map(|i| {
            let body = if i + 1 == length {
                "kind: llm\nmodel: { provider: openai, name: m }\ninstruction: hi\nprompt: x\n".to_owned()
            } else {
                format!("kind: sequential\nsteps:\n  - ref: a{}\n", i + 1)
            };
            (format!("a{i}.yaml"), format!("id: a{i}\n{body}"))
        })
        .collect()
}

fn borrowed(files: &[(String, String)]) -> Vec<(&str, &str)> {
    files.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect()
}

#[test]
fn a_long_chain_of_references_ends_in_a_finding() {
    check(&borrowed(&chain(50)), expect![""]);
    check(
        &borrowed(&chain(5_000)),
        expect![[r#"
            error a100.yaml 4:5 too-deep: agent calls are nested more than 100 levels deep
        "#]],
    );
}

#[test]
fn agents_in_agents_in_agents() {
    // every level of the manifest takes three levels of YAML, which has its own limit
    let mut text =
        "{ id: leaf, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: x }".to_owned();
    for i in 0..35 {
        text = format!("{{ id: p{i}, kind: sequential, steps: [{{ agent: {text} }}] }}");
    }
    check_one(&text, expect![""]);
}

#[test]
fn a_deep_schema_ends_in_a_finding() {
    let mut schema = "{ type: string }".to_owned();
    for _ in 0..60 {
        schema = format!("{{ type: object, properties: {{ a: {schema} }} }}");
    }
    let agent = |schema: &str| {
        format!(
            "id: a\nkind: llm\nmodel: {{ provider: openai, name: m }}\ninstruction: hi\noutputSchema:\n  x: {schema}\n"
        )
    };
    check_one(&agent(&schema), expect![""]);
    for _ in 0..2 {
        schema = format!("{{ type: array, items: {schema} }}");
    }
    for _ in 0..2 {
        schema = format!("{{ type: array, items: {schema} }}");
    }
    check_one(
        &agent(&schema),
        expect![[r#"
            error 6:2041 invalid-schema: the schema is nested more than 64 levels deep
        "#]],
    );
}

#[test]
fn a_large_schema_ends_in_a_finding() {
    let mut text =
        "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: hi\noutputSchema:\n".to_owned();
    for i in 0..10_000 {
        writeln!(text, "  a_rather_long_property_name_{i}: string").unwrap();
    }
    check_one(
        &text,
        expect![[r#"
            error 5:1 invalid-schema: the schema is too large: 877854 bytes, at most 262144
        "#]],
    );
}

#[test]
fn a_thousand_steps_make_a_program() {
    let mut text = "id: many\nkind: sequential\ninputSchema: { topic: string }\nsteps:\n".to_owned();
    for i in 0..1_000 {
        writeln!(
            text,
            "  - agent:\n      id: s{i}\n      kind: llm\n      model: {{ provider: openai, name: m }}\n      \
             inputSchema: {{ before: string, topic: string }}\n      instruction: \"Work on {{{{topic}}}}.\"\n      \
             prompt: \"{{{{before}}}}\"\n    input: {{ topic: \"{{{{topic}}}}\", before: \"{{{{{}}}}}\" }}",
            if i == 0 { "topic".to_owned() } else { format!("s{}", i - 1) }
        )
        .unwrap();
    }
    let folder = load(&[("many.yaml", &text)]);
    let lowered = folder.lowered.expect("no errors");
    assert_eq!(lowered.program.flows.len(), 1_001);
}
