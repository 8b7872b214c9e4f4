//! What is written with a purpose and reaches nobody, and changes that are offered and would be wrong.

use super::support::{expect_one, findings, flow, load};

/// Every change that is offered for a manifest: the text with it, and whether nobody has to look at it.
fn offered(text: &str) -> Vec<(String, bool)> {
    let folder = load(&[("flow.yaml", text)]);
    let fixes = folder.diagnostics.iter().filter_map(|d| d.fix.as_ref());
    let applied = fixes.map(|fix| {
        let mut out = text.to_owned();
        for edit in fix.edits.iter().rev() {
            let span = edit.location.span;
            out.replace_range(span.start as usize..span.end as usize, &edit.text);
        }
        (out, fix.safe)
    });
    applied.collect()
}

fn condition(when: &str) -> String {
    flow(
        "s",
        &format!(
            "nodes:\n  n: {{agent: a, writes: working.cat}}\n  m: {{agent: a, writes: output.m}}\nedges:\n  - from: n\n    to: m\n    when: '{when}'\n"
        ),
    )
}

/// What the change of a condition makes of it.
fn mended(when: &str) -> Vec<String> {
    let all = offered(&condition(when));
    all.iter().filter_map(|(text, _)| text.split("when: '").nth(1)?.split("'\n").next().map(str::to_owned)).collect()
}

#[test]
fn words_for_signs_do_not_run_into_what_stands_beside_them() {
    let one = |when: &str, meant: &str| assert_eq!(mended(when), [meant], "{when}");
    one(r#"working.cat == "a"||working.cat == "b""#, r#"working.cat == "a" or working.cat == "b""#);
    one(r#"working.cat == "a"&&(working.cat == "b")"#, r#"working.cat == "a" and (working.cat == "b")"#);
    one(r#"working.cat == "a" && working.cat != "b""#, r#"working.cat == "a" and working.cat != "b""#);
    one("!working.cat", "not working.cat");
    one("! working.cat", "not working.cat");
    one(r#"(!working.cat) or working.cat == "b""#, r#"(not working.cat) or working.cat == "b""#);
    one(r#"working.cat =! "a""#, r#"working.cat != "a""#);
    one(r#"working.cat = = "a""#, r#"working.cat == "a""#);
}

#[test]
fn signs_that_mean_something_else_are_not_mended() {
    for when in [r#"working.cat =~ "a""#, r#"working.cat ~= "a""#, r#"working.cat | lower == "a""#] {
        assert!(mended(when).is_empty(), "{when}: {:?}", mended(when));
        assert!(!findings(&[("flow.yaml", &condition(when))]).is_empty(), "{when}");
    }
    assert_eq!(mended(r#"working.cat == "a" | working.cat == "b""#), [r#"working.cat == "a" or working.cat == "b""#]);
}

#[test]
fn a_node_alone_is_not_offered_for_a_text() {
    let text = flow(
        "s",
        "nodes:\n  approve: {type: human, prompt: p, writes: working.answer}\n  m: {agent: a, writes: output.m}\nedges:\n  - {from: approve, to: m, when: 'working.approval == \"yes\"'}\n",
    );
    let all = offered(&text);
    assert!(all.iter().all(|(mended, safe)| !safe && mended.contains("working.approve.output ==")), "{all:?}");
    expect_one(
        &text,
        "error 7:35 unknown-property: `working.approval` is not defined: `working` has no `approval` (did you mean `working.approve.output`?)",
    );
}

#[test]
fn the_list_of_a_factory_is_offered_where_a_list_is_needed() {
    let over = |list: &str| {
        let nodes = "nodes:\n  ideas: {type: factory, agent: a, for_each: '[1]', writes: working.ideas}\n";
        flow(
            "{{ item }}",
            &format!("{nodes}  n: {{type: factory, agent: a, for_each: '{{{{ {list} }}}}', writes: output.n}}\n"),
        )
    };
    let offered = offered(&over("working.ideas"));
    assert!(offered.iter().all(|(text, _)| text.contains("'{{ ideas.outputs }}'")), "{offered:?}");
    expect_one(
        &over("ideas.output"),
        "warning 5:46 wrong-type: `ideas.output` joins the results of all instances of `ideas` as text; it is not a list (the list is `{{ ideas.outputs }}`)",
    );
    expect_one(&over("ideas.outputs"), "");
}

#[test]
fn swarms_in_nodes_of_another_type() {
    let member = "{id: c, provider: openai, prompt: 'About {{ item }}'}";
    expect_one(
        &format!(
            "version: \"0.1\"\nnodes:\n  f: {{type: factory, agents: [{member}], for_each: '[1]', writes: output.f}}\n"
        ),
        "error 3:22 missing-key: the agents of a factory's swarm stand under `swrm` (write `swrm:` above and put `agents` and `synthesis` beneath it)",
    );
    expect_one(
        "version: \"0.1\"\nnodes:\n  f: {type: agent, agents: [{id: c, provider: openai, prompt: p}]}\n",
        "error 3:13 missing-key: an agent node has one `agent`, a swarm has `agents` (write `type: swrm`)",
    );
    expect_one(
        &flow(
            "{{ f.outputs.c }}",
            "nodes:\n  f: {type: swrm, agents: [{id: c, provider: openai, prompt: p}]}\n  n: {agent: a, writes: output.n}\n",
        ),
        "error 2:45 unknown-property: `f.outputs.c` is not defined: `f` has no `outputs` (did you mean `f.agents.c.output`?)",
    );
}

#[test]
fn placeholders_in_values_that_are_taken_as_they_are() {
    let nodes = "nodes: {n: {agent: a, writes: output.n}}\n";
    let help = "placeholders work in `system`, `prompt`, `for_each`, `swarm_size`, `inputs` and tool `config`";
    expect_one(
        &flow(
            "s",
            &format!(
                "{nodes}state: {{working: {{topic: ['{{{{ inputs.message }}}}']}}}}\ninput: {{message: '{{{{ env.TOPIC }}}}'}}\n"
            ),
        ),
        &format!(
            "warning 4:28 no-effect: placeholders have no effect in `state`: it is taken as it is written ({help})\n warning 5:19 no-effect: placeholders have no effect in `input`: it is taken as it is written ({help})"
        ),
    );
    // What is no placeholder of this format is text that somebody gives to a model as it is.
    expect_one(&flow("s", &format!("{nodes}state: {{working: {{topic: 'a {{{{#if x}}}} b {{{{ ? }}}}'}}}}\n")), "");
}

#[test]
fn a_type_in_the_place_of_a_default() {
    let input = |field: &str| {
        flow(
            "{{ inputs.who.x }}",
            &format!("nodes: {{n: {{agent: a, writes: output.n}}}}\ninput: {{message: m, who: {field}}}\n"),
        )
    };
    let told =
        |field: &str| findings(&[("flow.yaml", &input(field))]).contains("`who` is this whole mapping unless given");
    assert!(told("{type: string, default: children}"));
    assert!(told("{type: list, description: x}"));
    assert!(!told("{type: object, properties: {x: {type: string}}}"));
    assert!(!told("{type: dog, x: 1}"));
    assert!(!told("{type: string, x: 1}"));
    assert!(!told("{x: children}"));
}

#[test]
fn answers_of_a_swarm_that_its_synthesis_does_not_get() {
    let swarm = |prompt: &str, last: &str| {
        flow(
            last,
            &format!(
                "nodes:\n  f:\n    type: swrm\n    agents:\n      - {{id: c, provider: openai, prompt: p}}\n      - {{id: d, provider: openai, prompt: p}}\n    synthesis: {{provider: openai, prompt: '{prompt}'}}\n  n: {{agent: a, writes: output.n}}\n"
            ),
        )
    };
    let told = |id: &str, line: u32| {
        format!(
            "warning {line}:14 no-effect: the answer of `{id}` has no effect: nothing reads `f.agents.{id}.output` (write `{{{{ f.agents.{id}.output }}}}` into the prompt of the synthesis)"
        )
    };
    let both = format!("{}\n {}", told("c", 7), told("d", 8));
    expect_one(&swarm("Combine what the agents say", "s"), &both);
    expect_one(&swarm("Combine {{ f.agents.c.output }}", "s"), &told("d", 8));
    expect_one(&swarm("Combine {{ f.agents.c.output }}", "{{ f.agents.d.output }}"), "");
    expect_one(&swarm("Combine {{ f.agents }}", "s"), "");
}

#[test]
fn a_factory_whose_instances_are_all_the_same() {
    let factory = |keys: &str, system: &str| {
        flow(system, &format!("nodes:\n  n: {{type: factory, for_each: '[1, 2]', writes: output.n, {keys}}}\n"))
    };
    let told = "warning 4:32 no-effect: every instance does the same work: nothing reads the `item` that it stands for";
    expect_one(
        &factory("agent: a, inputs: {task: item}", "s"),
        "warning 4:85 not-a-placeholder: `item` is text, and every instance gets that word",
    );
    expect_one(
        &factory("agent: a, inputs: {task: go}", "s"),
        &format!("{told} (give it to them: `inputs: {{task: \"{{{{ item }}}}\"}}`)"),
    );
    expect_one(
        &factory("swrm: {agents: [{id: c, provider: openai, prompt: p}]}", "s")
            .replace("agents: {a: {model: \"openai:m\", system: \"s\"}}\n", "\n"),
        &format!("{told} (write `{{{{ item }}}}` into the prompts of its agents)"),
    );
    expect_one(&factory("agent: a", "s"), "");
    expect_one(&factory("agent: a, inputs: {task: go}", "Number {{ index }}"), "");
    let made = factory("agent: a, inputs: {task: go}", "Number {{ index }}").replace("'[1, 2]'", "'{{ inputs.list }}'");
    expect_one(
        &format!("{made}input: {{message: m, list: [1]}}\n"),
        "warning 4:32 no-effect: what is in the list makes no difference: nothing reads the `item` that an instance stands for (give it to them: `inputs: {task: \"{{ item }}\"}`)",
    );
    expect_one(&factory("agent: a, inputs: {task: '{{ item }}'}", "s"), "");
}

#[test]
fn keys_of_a_factory_among_its_inputs() {
    let factory = |inputs: &str, more: &str| {
        flow(
            "s",
            &format!(
                "nodes:\n  n: {{type: factory, agent: a, for_each: '[1]', writes: output.n, inputs: {{task: '{{{{ item }}}}', {inputs}}}{more}}}\n"
            ),
        )
    };
    expect_one(
        &factory("concurrency: 3", ""),
        "warning 4:96 no-effect: `concurrency` under `inputs` is an input of every instance, and the factory has no `concurrency` (put `concurrency` beside `inputs`, with the indentation of that key)",
    );
    expect_one(&factory("concurrency: 3", ", concurrency: 2"), "");
    expect_one(&factory("concurrency: high", ""), "");
}

#[test]
fn what_looks_like_a_placeholder() {
    let text = |system: &str| flow(system, "nodes: {n: {agent: a, writes: output.n}}\ninput: {message: m, topic: t}\n");
    let one = |wrong: &str, right: &str| {
        let offered = offered(&text(&format!("About {wrong}, please.")));
        assert_eq!(offered, [(text(&format!("About {right}, please.")), false)], "{wrong}");
    };
    one("{topic}", "{{ inputs.topic }}");
    one("${message}", "{{ inputs.message }}");
    one("{inputs.topic | default('x')}", "{{ inputs.topic | default('x') }}");
    one("$inputs.topic", "{{ inputs.topic }}");
    one("${{ inputs.message }}", "{{ inputs.message }}");
    for fine in ["{other}", "$topic", "${{ inputs.topic }}", "$5.00", "{inputs.topic | upper}", "{\\\"topic\\\": 1}"] {
        expect_one(&text(&format!("About {fine}, please.")), "");
    }
    expect_one(
        &text("{{ inputs.topic | default('{{ inputs.message }}') }}"),
        "warning 2:45 not-a-placeholder: the default is literal text; `{{ inputs.message }}` in it is not read (a default cannot be another value: put both placeholders side by side)",
    );
}

#[test]
fn variables_of_a_shell_in_headers() {
    let header = |value: &str| {
        format!(
            "version: \"0.1\"\nnodes:\n  get:\n    type: tool\n    tool: http\n    config:\n      url: https://example.com\n      headers:\n        Authorization: \"{value}\"\n"
        )
    };
    for wrong in ["Bearer $API_TOKEN", "Bearer ${API_TOKEN}", "Bearer ${{ env.API_TOKEN }}"] {
        assert_eq!(offered(&header(wrong)), [(header("Bearer {{ env.API_TOKEN }}"), false)], "{wrong}");
    }
    for fine in ["a$b", "$5", "$ABCd", "${A"] {
        assert!(offered(&header(fine)).is_empty(), "{fine}");
    }
}

#[test]
fn a_variable_of_the_environment_is_text() {
    expect_one(
        &flow("{{ env.HOME.extra }}", "nodes: {n: {agent: a, writes: output.n}}\n"),
        "error 2:45 property-of-text: `env.HOME.extra` is not defined: `env.HOME` has no `extra`",
    );
}

#[test]
fn a_node_that_writes_where_another_leaves_its_result() {
    let nodes = |write: &str, more: &str| {
        flow(
            "s",
            &format!(
                "nodes:\n  draft: {{agent: a, writes: working.draft.output{more}}}\n  review: {{agent: a, writes: {write}}}\n"
            ),
        )
    };
    expect_one(
        &nodes("working.draft.output", ""),
        "warning 5:30 write-conflict: `review` writes where `draft` leaves its result: from then on `draft.output` is what `review` wrote (write `working.review.output`, or another path of its own)",
    );
    expect_one(&nodes("working.draft.notes", ""), "");
    // One that stands in for it.
    expect_one(&nodes("working.draft.output", ", on_failure: {action: fallback, fallback_node: review}"), "");
}

#[test]
fn numbers_that_do_not_fit() {
    let size = "nodes: {n: {type: factory, agent: a, swarm_size: '{{ inputs.message }}', writes: output.n}}\n";
    expect_one(
        &flow("{{ index }}", &format!("{size}input: {{message: bakeries}}\n")),
        "warning 3:54 wrong-type: `inputs.message` is no number of instances by its default: `bakeries` (write a whole number from 1 to 100)",
    );
    expect_one(&flow("{{ index }}", &format!("{size}input: {{message: '3'}}\n")), "");
    let retry = |delays: &str| {
        flow("s", &format!("nodes: {{n: {{agent: a, writes: output.n, retry: {{max_attempts: 2, {delays}}}}}}}\n"))
    };
    expect_one(
        &retry("base_delay: 60, max_delay: 5"),
        "warning 3:93 no-effect: `max_delay` is below `base_delay`, so every delay is `max_delay` (both are in seconds; `max_delay` is the upper bound)",
    );
    expect_one(&retry("base_delay: 5, max_delay: 5"), "");
}

#[test]
fn advice_that_can_be_followed() {
    let write = |path: &str| flow("s", &format!("nodes:\n  n: {{agent: a, writes: '{path}'}}\n"));
    for wrong in ["output/y", "$.output.y", "output[\"y\"]", "/output/y"] {
        let told = findings(&[("flow.yaml", &write(wrong))]);
        assert!(told.ends_with("(write `output.y`)"), "{told}");
    }
    let model = |model: &str| {
        format!(
            "version: \"0.1\"\nagents: {{a: {{model: \"{model}\", system: s}}}}\nnodes: {{n: {{agent: a, writes: output.n}}}}\n"
        )
    };
    let told = |text: &str| findings(&[("flow.yaml", &model(text))]);
    assert!(told("{{ env.MODEL }}").contains("(write the provider and the model out: `openai:gpt-4o-mini`)"));
    assert!(told("openai:").contains("(write the model after the provider: `openai:...`)"), "{}", told("openai:"));
    assert!(told("gpt-4o").contains("(for example `openai:gpt-4o`)"));
}

#[test]
fn a_fallback_that_leads_back() {
    let text = flow(
        "s",
        "nodes:\n  x: {agent: a, writes: output.x}\n  y: {agent: a, writes: output.y, on_failure: {action: fallback, fallback_node: x}}\nedges:\n  - {from: x, to: y}\n",
    );
    expect_one(
        &text,
        "error 5:81 edge-cycle: the edges and a `fallback_node` form a cycle: `x` -> `y` -> `x` (a fallback cannot run before the node that it replaces)",
    );
}

#[test]
fn paths_that_are_written_where_something_else_stands() {
    let node = |write: &str, state: &str| {
        flow("s", &format!("nodes:\n  n: {{agent: a, writes: {write}}}\nstate: {{output: {{channel: {state}}}}}\n"))
    };
    expect_one(
        &node("working._budget", "mail"),
        "warning 4:25 reserved-name: what is written to `working._budget` cannot be read: it holds what the run has used so far (write to a path of another name)",
    );
    expect_one(
        &node("output.channel.name", "mail"),
        "warning 4:25 write-conflict: writing here replaces the seeded value `output.channel` (write to a path that is not beneath a text)",
    );
    expect_one(&node("output.channel.name", "{name: x}"), "");
    expect_one(&node("output.channel.name", ""), "");
    expect_one(&node("output.channel", "mail"), "");
}

#[test]
fn a_value_of_state_without_content() {
    let text = |system: &str, tone: &str| {
        flow(
            system,
            &format!(
                "nodes:\n  n: {{agent: a, writes: working.n}}\n  m: {{type: human, prompt: p, writes: working.x}}\nedges:\n  - {{from: n, to: m, when: 'working.tone == None'}}\nstate: {{working: {{tone: {tone}}}}}\n"
            ),
        )
    };
    expect_one(
        &text("{{ working.tone }}", ""),
        "warning 2:45 maybe-undefined: `working.tone` is null: `state` gives it no value, and no node before writes it (a template puts the word `null` in; write `\"\"` for an empty text)",
    );
    expect_one(&text("{{ working.tone }}", "''"), "");
    expect_one(&text("s", ""), "");
}

#[test]
fn no_part_of_a_path_is_lost_by_a_change() {
    let mended = |path: &str| {
        let all = offered(&flow("s", &format!("nodes: {{n: {{agent: a, writes: {path}}}}}\n")));
        all.into_iter()
            .map(|(text, safe)| (text.split("writes: ").nth(1).unwrap().trim_end_matches("}}\n").to_owned(), safe))
            .collect::<Vec<_>>()
    };
    for (path, meant) in [
        ("output:z", "output.z"),
        ("working;z", "working.z"),
        ("working->z.y", "working.z.y"),
        ("output/z", "output.z"),
    ] {
        assert_eq!(mended(path), [(meant.to_owned(), true)]);
    }
    assert_eq!(mended("outptu.z"), [("output.z".to_owned(), true)]);
    // What is too much may be the name.
    assert_eq!(mended("outputz"), [("output".to_owned(), false)]);
    // One change, for the quotes.
    assert_eq!(mended("“working.y”"), [("\"working.y\"".to_owned(), false)]);
}

#[test]
fn a_number_of_another_unit_is_not_renamed_unseen() {
    let all = offered(&flow(
        "s",
        "nodes: {n: {agent: a, writes: output.n}}\nbudget: {max_tokens: 10, max_duration_ms: 300000}\n",
    ));
    assert!(matches!(all.as_slice(), [(text, false)] if text.contains("max_duration_s: 300000")), "{all:?}");
}
