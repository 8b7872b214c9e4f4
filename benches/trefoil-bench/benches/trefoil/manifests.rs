//! Generators of manifests of any size, one for each dialect.

use std::fmt::Write;

/// A pipeline of agents, each with the answer of the previous one as its input.
pub fn agntz(steps: usize) -> String {
    let mut text = String::from("id: bench\nkind: sequential\ninputSchema:\n  topic: string\nsteps:\n");
    for n in 0..steps {
        let previous = if n == 0 { "{{topic}}".to_owned() } else { format!("{{{{step{}}}}}", n - 1) };
        let _ = writeln!(
            text,
            "  - agent:\n      id: step{n}\n      kind: llm\n      model: {{ provider: openai, name: gpt-5.4 }}\n      instruction: |\n        You are step {n}.\n        Keep to {{{{draft}}}}.\n      inputSchema:\n        draft: string\n    input:\n      draft: \"{previous}\"",
        );
    }
    text
}

/// A chain of states.
pub fn aegis(states: usize) -> String {
    let mut text = String::from(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata:\n  name: bench\nspec:\n  initial_state: S0\n  max_total_transitions: 100\n  states:\n    Failed: {kind: System, command: \"true\"}\n",
    );
    for n in 0..states {
        let next = match n + 1 {
            last if last == states => "[]".to_owned(),
            next => format!("[{{condition: on_success, target: S{next}}}, {{condition: on_failure, target: Failed}}]"),
        };
        let previous = if n == 0 { "{{input.topic}}".to_owned() } else { format!("{{{{S{}.output}}}}", n - 1) };
        let _ = writeln!(
            text,
            "    S{n}:\n      kind: Agent\n      agent: writer\n      input: |\n        Improve:\n        {previous}\n      transitions: {next}"
        );
    }
    text
}

/// A chain of nodes.
pub fn sirenspec(nodes: usize) -> String {
    let mut text = String::from("version: \"0.1\"\nagents:\n");
    for n in 0..nodes {
        let previous = if n == 0 { "{{ inputs.message }}".to_owned() } else { format!("{{{{ n{}.output }}}}", n - 1) };
        let _ =
            writeln!(text, "  a{n}:\n    model: openai:gpt-4o-mini\n    system: |\n      Improve:\n      {previous}");
    }
    text.push_str("nodes:\n");
    for n in 0..nodes {
        let _ = writeln!(text, "  n{n}: {{agent: a{n}, writes: output.n{n}}}");
    }
    text.push_str("edges:\n");
    for n in 1..nodes {
        let _ = writeln!(text, "  - {{from: n{}, to: n{n}}}", n - 1);
    }
    text
}
