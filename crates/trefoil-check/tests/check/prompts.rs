//! Words of prompts compared with conditions and schemas, lost writes, bypassed gates.

use expect_test::expect;

use super::support::of_rule;

fn classify(prompt: &str, word: &str) -> String {
    format!(
        "version: \"0.1\"\nagents:\n  sort: {{ model: \"openai:m\", system: \"{prompt}\" }}\n  w: {{ model: \"openai:m\", system: Write. }}\n\
         nodes:\n  triage: {{ agent: sort, writes: working.kind }}\n  fix: {{ agent: w, writes: output.fix }}\n\
         edges:\n  - {{ from: triage, to: fix, when: \"working.kind == '{word}'\" }}\ninput: {{ message: x }}\n"
    )
}

#[test]
fn a_word_with_other_capitals_than_in_the_prompt_is_found() {
    let manifest = classify("Answer with BUG or FEATURE.", "bug");
    of_rule(
        "other-case",
        "sirenspec",
        &[("m.yaml", &manifest)],
        expect![[r#"
        9:37 warning other-case: this compares with `bug`, but the prompt asks for `BUG`
          | - { from: triage, to: fix, when: "working.kind == 'bug'" }
          |                                   ^^^^^^^^^^^^
          at 3:38: the prompt
          help: capitals count in comparisons: write the word the same way in both places
    "#]],
    );
    let manifest = classify("Answer 'approve' or 'reject'.", "Approve");
    of_rule(
        "other-case",
        "sirenspec",
        &[("m.yaml", &manifest)],
        expect![[r#"
        9:37 warning other-case: this compares with `Approve`, but the prompt asks for `approve`
          | - { from: triage, to: fix, when: "working.kind == 'Approve'" }
          |                                   ^^^^^^^^^^^^
          at 3:38: the prompt
          help: capitals count in comparisons: write the word the same way in both places
    "#]],
    );
    let manifest = classify("Answer with one word: Bug, Feature or Other.", "bug");
    of_rule(
        "other-case",
        "sirenspec",
        &[("m.yaml", &manifest)],
        expect![[r#"
        9:37 warning other-case: this compares with `bug`, but the prompt asks for `Bug`
          | - { from: triage, to: fix, when: "working.kind == 'bug'" }
          |                                   ^^^^^^^^^^^^
          at 3:38: the prompt
          help: capitals count in comparisons: write the word the same way in both places
    "#]],
    );
    let asked = classify("x", "Yes").replace("{ agent: sort, ", "{ type: human, prompt: 'Is it? (yes or no)', ");
    of_rule(
        "other-case",
        "sirenspec",
        &[("m.yaml", &asked)],
        expect![[r#"
        9:37 warning other-case: this compares with `Yes`, but the prompt asks for `yes`
          | - { from: triage, to: fix, when: "working.kind == 'Yes'" }
          |                                   ^^^^^^^^^^^^
          at 6:3: the prompt
          help: capitals count in comparisons: write the word the same way in both places
    "#]],
    );
    for (prompt, word) in [
        ("Answer with BUG or FEATURE.", "BUG"),
        ("Bug, feature or other?", "bug"),
        ("Bug, feature or other?", "feature"),
        // Prose, not a required answer.
        ("Say whether it is a Bug.", "bug"),
        ("Decide if it is a BUG, and answer 'bug' then.", "bug"),
        ("Answer with one word.", "bug"),
    ] {
        of_rule("other-case", "sirenspec", &[("m.yaml", &classify(prompt, word))], expect![""]);
    }
}

fn chain(first: &str, second: &str, prompt: &str) -> String {
    format!(
        "version: \"0.1\"\nagents:\n  w: {{ model: \"openai:m\", system: Write. }}\n  v: {{ model: \"openai:m\", system: \"{prompt}\" }}\n\
         nodes:\n  a: {{ agent: w, writes: {first} }}\n  b: {{ agent: v, writes: {second} }}\n  \
         c: {{ agent: w, writes: output.c }}\noutput: {{ x: 1 }}\ninput: {{ message: x }}\n"
    )
    .replace("output: { x: 1 }\n", "")
}

#[test]
fn what_a_later_node_destroys_is_said() {
    let reads = "Go on. {{ inputs.message }}";
    of_rule(
        "write-conflict",
        "sirenspec",
        &[("m.yaml", &chain("output.doc", "output.doc.title", reads))],
        expect![[r#"
            7:37 warning write-conflict: `b` writes below `doc`, which destroys the value from `a`
              | b: { agent: v, writes: output.doc.title }
              |                                   ^^^^^
              at 6:33: written here
              help: write to a path that is not below the value of another node
        "#]],
    );
    of_rule(
        "write-conflict",
        "sirenspec",
        &[("m.yaml", &chain("output.doc.title", "output.doc", reads))],
        expect![[r#"
            7:33 warning write-conflict: `b` writes `doc`, which destroys `doc.title` of `a`
              | b: { agent: v, writes: output.doc }
              |                               ^^^
              at 6:37: written here
              help: write to a different path
        "#]],
    );
    of_rule("write-conflict", "sirenspec", &[("m.yaml", &chain("output.doc", "output.doc", reads))], expect![""]);
    // A person does not see what the preceding node wrote, unless the question shows it.
    let asks = |prompt: &str| {
        let node = format!("  b: {{ type: human, prompt: \"{prompt}\", writes: output.doc }}\n");
        chain("output.doc", "output.doc", reads).replace("  b: { agent: v, writes: output.doc }\n", &node)
    };
    of_rule(
        "write-conflict",
        "sirenspec",
        &[("m.yaml", &asks("Well?"))],
        expect![[r#"
            7:53 info write-conflict: `b` overwrites `doc` of `a` before anything has read it
              | ... human, prompt: "Well?", writes: output.doc }
              |                                            ^^^
              at 6:33: written here
              help: write to a different path, or read the value first
        "#]],
    );
    of_rule("write-conflict", "sirenspec", &[("m.yaml", &asks("Well? {{ a.output }}"))], expect![""]);
    // An editor that reads the value that it replaces.
    let editor = chain("working.doc", "working.doc", "Improve: {{ working.doc }}");
    let editor = editor.replace("c: { agent: w,", "c: { agent: v,");
    of_rule("write-conflict", "sirenspec", &[("m.yaml", &editor)], expect![""]);
    of_rule("write-conflict", "sirenspec", &[("m.yaml", &chain("output.doc.a", "output.doc.b", reads))], expect![""]);
}

#[test]
fn an_edge_that_leads_past_a_gate_is_found() {
    let manifest = |edges: &str| {
        format!(
            "version: \"0.1\"\nagents:\n  w: {{ model: \"openai:m\", system: Write. }}\nnodes:\n  a: {{ agent: w, writes: working.a }}\n  \
             b: {{ agent: w, writes: working.b }}\n  c: {{ agent: w, writes: output.c }}\nedges:\n{edges}input: {{ message: x }}\n"
        )
    };
    let past = "  - { from: a, to: b }\n  - { from: a, to: c }\n  - { from: b, to: c, when: \"working.b == 'yes'\" }\n";
    of_rule(
        "bypassed-gate",
        "sirenspec",
        &[("m.yaml", &manifest(past))],
        expect![[r#"
        11:29 warning bypassed-gate: this condition does not keep `c` from running: the edge from `a` leads past `b`
          | - { from: b, to: c, when: "working.b == 'yes'" }
          |                           ^^^^^^^^^^^^^^^^^^^^
          help: remove the edge from `a` to `c`, or this condition
    "#]],
    );
    for edges in [
        // Both paths to it have a condition.
        "  - { from: a, to: b, when: \"working.a == 'x'\" }\n  - { from: a, to: c, when: \"working.a == 'y'\" }\n  - { from: b, to: c, when: \"working.b == 'yes'\" }\n",
        "  - { from: a, to: b }\n  - { from: b, to: c, when: \"working.b == 'yes'\" }\n",
        "  - { from: a, to: b }\n  - { from: a, to: c }\n  - { from: b, to: c }\n",
    ] {
        of_rule("bypassed-gate", "sirenspec", &[("m.yaml", &manifest(edges))], expect![""]);
    }
}
