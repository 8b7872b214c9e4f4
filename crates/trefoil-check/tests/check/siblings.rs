//! Concurrent entries, as written.

use expect_test::expect;

use super::support::of_rule;

/// A swarm of these agents, by name and prompt, and a synthesis that reads two of them.
fn swarm(agents: &[(&str, &str)]) -> String {
    let agents: String = agents
        .iter()
        .map(|(id, prompt)| {
            format!("      - {{ id: {id}, provider: openai, model: gpt-4o-mini, prompt: \"{prompt}\" }}\n")
        })
        .collect();
    format!(
        "version: \"0.1\"\nnodes:\n  s:\n    type: swrm\n    agents:\n{agents}    synthesis: {{ provider: openai, model: gpt-4o-mini, prompt: Sum up. }}\ninput: {{ message: Hello. }}\n"
    )
}

#[test]
fn two_names_and_one_question() {
    let asks = "Mood of {{ inputs.message }}?";
    let copied = swarm(&[("mood", asks), ("risk", asks)]);
    of_rule(
        "same-question",
        "sirenspec",
        &[("f.yaml", &copied)],
        expect![[r#"
        7:11 info same-question: this is exactly the same question as another entry of the list
          | - { id: risk, provider: op
          |     ^^
          at 6:11: the other one
          help: change one of them, or remove it
    "#]],
    );
    // Numbered agents are a vote.
    let vote = swarm(&[("mood_1", asks), ("mood_2", asks), ("mood_3", asks)]);
    of_rule("same-question", "sirenspec", &[("f.yaml", &vote)], expect![""]);
    let other = swarm(&[("mood", asks), ("risk", "Risk in {{ inputs.message }}?")]);
    of_rule("same-question", "sirenspec", &[("f.yaml", &other)], expect![""]);
}

#[test]
fn one_that_reads_nothing_beside_others() {
    let idle = swarm(&[("mood", "Mood of {{ inputs.message }}?"), ("risk", "Name the risk.")]);
    of_rule(
        "reads-nothing",
        "sirenspec",
        &[("f.yaml", &idle)],
        expect![[r#"
        7:11 info reads-nothing: this is fixed text, but all entries next to it read a value
          | - { id: risk, provider: op
          |     ^^
          help: write a placeholder for the value
    "#]],
    );
    // If two read nothing, it is intended.
    let two = swarm(&[("mood", "Mood of {{ inputs.message }}?"), ("coin", "Heads or tails?"), ("die", "Roll a die.")]);
    of_rule("reads-nothing", "sirenspec", &[("f.yaml", &two)], expect![""]);
}

#[test]
fn tokens_go_over_tls() {
    let tool = |url: &str, header: &str| {
        format!(
            "id: t\nkind: tool\ninputSchema: {{ q: string }}\ntool:\n  kind: http\n  name: find\n  url: \"{url}/find?q={{{{q}}}}\"\n  headers: {{ {header} }}\n"
        )
    };
    let token = "Authorization: \"Bearer {{secrets.T}}\"";
    let of = |url: &str, header: &str, expected| {
        of_rule("unencrypted-credential", "agntz", &[("t.yaml", &tool(url, header))], expected);
    };
    of(
        "http://api.example.com",
        token,
        expect![[r#"
        7:9 warning unencrypted-credential: `Authorization` is sent to `api.example.com` unencrypted
          | url: "http://api.example.com/find?q={{q}}"
          |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          at 8:14: this is sent
          help: write `https://`
    "#]],
    );
    of("https://api.example.com", token, expect![""]);
    of("http://api.example.com", "Accept: text/plain", expect![""]);
    of("http://localhost:8000", token, expect![""]);
    of("http://10.0.0.7:8000", token, expect![""]);
    of("http://search:8000", token, expect![""]);
}
