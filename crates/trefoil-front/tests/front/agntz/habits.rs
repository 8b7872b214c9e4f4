//! What people write who know other systems, or who expect more than templates and conditions do: told in its place, with a
//! change that is only written into the file when nothing else can be meant.

use super::support::{findings, load};

const MODEL: &str = "model: { provider: openai, name: gpt-5.4 }";

/// A sequence of one step that takes `q`, with its other keys.
fn step(keys: &str) -> String {
    format!(
        "id: p\nkind: sequential\ninputSchema: {{ q: string, n: {{ type: integer, default: 5 }}, plan: {{ type: string, enum: [free, team] }}, ok: boolean }}\nsteps:\n  - agent: {{ id: b, kind: llm, {MODEL}, instruction: Hi., prompt: \"{{{{q}}}}\", inputSchema: {{ q: string }} }}\n{keys}"
    )
}

fn when(condition: &str) -> String {
    step(&format!("    input: {{ q: \"{{{{q}}}}\" }}\n    when: \"{condition}\"\n"))
}

#[track_caller]
fn told(manifest: &str, expected: &str) {
    let found = findings(&[("agent.yaml", manifest)]);
    assert!(found.contains(expected), "`{expected}` is not in\n{found}\nof\n{manifest}");
}

#[track_caller]
fn silent(manifest: &str, unexpected: &str) {
    let found = findings(&[("agent.yaml", manifest)]);
    assert!(!found.contains(unexpected), "`{unexpected}` is in\n{found}\nof\n{manifest}");
}

/// What is written into the files without asking.
fn sure(manifests: &[(&str, &str)]) -> Vec<String> {
    let all = load(manifests).diagnostics.into_sorted();
    all.into_iter().filter_map(|d| d.fix).filter(|f| f.safe).map(|f| f.message).collect()
}

#[test]
fn a_key_of_another_system_is_told_its_name_and_not_changed_unasked() {
    for (keys, meant) in [
        ("    with: { q: \"{{q}}\" }\n", "input"),
        ("    input: { q: \"{{q}}\" }\n    if: \"{{ok}}\"\n", "when"),
        ("    input: { q: \"{{q}}\" }\n    saveAs: x\n", "stateKey"),
        ("    input: { q: \"{{q}}\" }\n    name: x\n", "stateKey"),
    ] {
        told(&step(keys), &format!("did you mean `{meant}`?"));
    }
    silent(&step("    with: { q: \"{{q}}\" }\n"), "missing-input");
    let by_id = "id: p\nkind: sequential\nsteps:\n  - agentId: w\n";
    told(by_id, "did you mean `ref`?");
    assert_eq!(sure(&[("p.yaml", by_id)]), Vec::<String>::new());
    let agent = |rest: &str| format!("id: a\nkind: llm\n{MODEL}\ninstruction: Hi.\n{rest}\n");
    for (rest, help) in [
        ("inputs: { q: string }", "did you mean `inputSchema`?"),
        ("response_format: { q: string }", "did you mean `outputSchema`?"),
        ("user_prompt: Hi.", "did you mean `prompt`?"),
        ("temperature: 1", "it belongs under `model`"),
        ("$schema: { q: string }", "`$schema` has no effect"),
    ] {
        told(&agent(rest), help);
        assert_eq!(sure(&[("a.yaml", &agent(rest))]), Vec::<String>::new(), "{rest}");
    }
    silent(&agent("$schema: https://example.org/agent.json"), "$schema");
    assert_eq!(sure(&[("a.yaml", &agent("promt: Hi."))]), ["write `prompt`"]);
}

#[test]
fn a_right_reader_stays_as_long_as_its_reference_is_wrong() {
    let pipeline = "id: p\nkind: sequential\nsteps:\n  - ref: kb_serch\noutput: { r: \"{{kbSearch}}\" }\n";
    let child = format!("id: kb-search\nkind: llm\n{MODEL}\ninstruction: Hi.\nprompt: Hi.\n");
    let fixes = sure(&[("p.yaml", pipeline), ("k.yaml", &child)]);
    assert!(!fixes.iter().any(|f| f.contains("kb_serch")), "{fixes:?}");
}

#[test]
fn steps_without_a_name_are_not_offered() {
    let manifest = "id: p\nkind: sequential\ninputSchema: { q: string }\nsteps:\n  - agent: kb-search\noutput: { r: \"{{kbSearch}}\" }\n";
    told(manifest, "there is `q`");
    silent(manifest, "`step 1`");
}

#[test]
fn a_block_is_only_opened_anew_where_its_end_is_right() {
    let agent =
        |text: &str| format!("id: a\nkind: llm\ninputSchema: {{ q: string }}\n{MODEL}\ninstruction: \"{text}\"\n");
    for (text, changes) in [("{{if q}}x{{/if}}", 1), ("{{if q}}x{{end}}", 0), ("{{#IF q}}x{{/IF}}", 0)] {
        assert_eq!(sure(&[("a.yaml", &agent(text))]).len(), changes, "{text}");
    }
}

#[test]
fn a_side_of_a_condition_that_reads_nothing_is_always_the_same() {
    told(
        &when("{{plan}} == free || team"),
        "`team` by itself is always true (each side is a comparison of its own: `{{plan}} == team`)",
    );
    told(&when("{{n}} > 3 && 5"), "`5` by itself is always true");
    told(&when("{{plan}} == free || ok"), "a name is written in braces: `{{ok}}`");
    told(&when("{{plan}} != free || {{plan}} != team"), "this condition is always true");
    told(
        &when("{{plan}} != free || {{plan}} == free"),
        "this condition is always true: `plan` is `free`, or it is not",
    );
    for right in
        ["{{plan}} != free && {{plan}} != team", "{{plan}} != free || {{q}} != team", "{{plan}} == 'free || team'"]
    {
        silent(&when(right), "constant-condition");
    }
    told(&when("'{{q}}' == 'hello'"), "remove the quotes around `{{q}}`");
    assert_eq!(sure(&[("p.yaml", &when("'{{q}}' == 'hello'"))]), ["write `{{q}}`"]);
}

#[test]
fn operators_of_other_languages_are_one_mistake() {
    for (condition, sign) in [
        ("{{q}} == x AND {{ok}} == true", "AND"),
        ("{{ok}} OR {{q}}", "OR"),
        ("{{q}} contains x", "contains"),
        ("{{n}} = > 8", "= >"),
        ("{{n}} ≥ 8", "≥"),
        ("{{q}} ~= x", "~="),
    ] {
        let found = findings(&[("p.yaml", &when(condition))]);
        let errors: Vec<&str> = found.lines().filter(|l| l.starts_with("error")).collect();
        assert!(
            matches!(errors.as_slice(), [only] if only.contains(&format!("there is no operator `{sign}`"))),
            "{found}"
        );
    }
    assert_eq!(sure(&[("p.yaml", &when("{{q}} ~= x"))]), Vec::<String>::new());
    assert_eq!(sure(&[("p.yaml", &when("{{n}} = > 8"))]), ["write `>=`"]);
    silent(&when("{{q}} == ≥ 5"), "error");
    silent(&when("{{q}} == Research AND Development"), "error");
}

#[test]
fn steps_that_exclude_each_other_read_nothing_of_each_other() {
    let two = |second: &str| {
        format!(
            "{}  - agent: {{ id: c, kind: llm, {MODEL}, instruction: Hi., prompt: \"{{{{x}}}}\" }}\n    when: \"{second}\"\n    input: {{ x: \"{{{{b}}}}\" }}\n",
            when("{{plan}} == free")
        )
    };
    told(&two("{{plan}} != free"), "`b` is always null here");
    told(&two("{{plan}} == team"), "`b` is always null here");
    silent(&two("{{q}} != free"), "always null");
}

#[test]
fn a_value_is_not_computed() {
    let output = |text: &str| format!("{}output: {{ x: \"{text}\" }}\n", step("    input: { q: \"{{q}}\" }\n"));
    for text in ["{{n}} >= 80", "{{ok}} || {{q}}", "{{n}} > 3 ? yes : no", "{{ok}} == true"] {
        told(&output(text), "warning 7:14 not-computed");
    }
    for text in ["{{q}} > {{b}}", "{{q}}", "a & b {{q}}", "{{q}} <b@c.d>", "{{q}} || nothing", "{{q}} -> {{b}}"] {
        silent(&output(text), "not-computed");
    }
}

#[test]
fn what_another_system_computes_is_text_here() {
    let tool = |filter: &str| {
        format!(
            "id: t\nkind: tool\ninputSchema: {{ q: string, n: number }}\ntool: {{ kind: http, name: t, method: POST, url: \"https://example.org\", body: {{ filter: \"{filter}\", q: \"{{{{q}}}}\", n: \"{{{{n}}}}\" }} }}\n"
        )
    };
    told(&tool("{{n}} == true"), "not-computed");
    for filter in ["age >= {{n}}", "{{q}} == {{n}}", "{{q}} && {{n}}", "name == {{q}} && age > 3"] {
        silent(&tool(filter), "not-computed");
    }
}

#[test]
fn numbers_come_from_placeholders() {
    told(&step("    input: { q: 300 }\n"), "only from a lone placeholder");
    let number = "id: p\nkind: sequential\nsteps:\n  - ref: c\n    input: { n: \"300\" }\n";
    let child =
        format!("id: c\nkind: llm\n{MODEL}\ninstruction: Hi.\ninputSchema: {{ n: integer }}\nprompt: \"{{{{n}}}}\"\n");
    let found = findings(&[("p.yaml", number), ("c.yaml", &child)]);
    assert!(found.contains("pass an input that has this as its `default`"), "{found}");
}

#[test]
fn a_default_has_to_fit_where_it_is_passed() {
    let two = |own: &str, theirs: &str| {
        format!(
            "id: p\nkind: sequential\ninputSchema: {{ l: {own} }}\nsteps:\n  - agent: {{ id: b, kind: llm, {MODEL}, instruction: Hi., prompt: \"{{{{l}}}}\", inputSchema: {{ l: {theirs} }} }}\n    input: {{ l: \"{{{{l}}}}\" }}\n"
        )
    };
    let words = |all: &str, default: &str| format!("{{ type: string, enum: [{all}]{default} }}");
    told(&two(&words("de, en, fr", ", default: fr"), &words("de, en", "")), "does not take the default of `l`");
    told(&two("{ type: number, default: 2.5 }", "integer"), "does not take the default of `l`");
    silent(&two(&words("de, en, fr", ", default: de"), &words("de, en", "")), "default of");
    silent(&two("{ type: number, default: 2 }", "integer"), "default of");
}

#[test]
fn requests_are_looked_at_like_other_texts_but_for_their_address() {
    let tool = |rest: &str| {
        format!(
            "id: t\nkind: tool\ninputSchema: {{ query: string }}\ntool:\n  kind: http\n  name: t\n  method: POST\n  url: \"https://example.org/{{query}}\"\n  params: {{ query: \"{{{{query}}}}\" }}\n{rest}"
        )
    };
    for value in
        ["$TOKEN", "Bearer ${TOKEN}", "%TOKEN%", "${env.TOKEN}", "{env.TOKEN}", "env.TOKEN", "Bearer ${{ env.TOKEN }}"]
    {
        told(&tool(&format!("  headers: {{ Authorization: \"{value}\" }}\n")), "not-a-placeholder");
    }
    for value in ["{query}", "${query}", "[[query]]", "query}}"] {
        told(&tool(&format!("  body: {{ q: \"{value}\" }}\n")), "not-a-placeholder");
    }
    silent(
        &tool(
            "  headers: { A: \"Bearer {{env.TOKEN}}\", B: \"$5 for 100%\" }\n  body: { q: \"{{query}}\", kind: query }\n",
        ),
        "not-a-placeholder",
    );
}

#[test]
fn a_key_inside_of_a_block_of_text_is_text() {
    let agent = |line: &str| {
        format!("id: a\nkind: llm\ninputSchema: {{ t: string }}\n{MODEL}\ninstruction: |\n  Judge.\n  {line}\n")
    };
    for line in [
        "prompt: \"{{t}}\"",
        "outputSchema:\n    score: number",
        "examples:\n    - input: a\n      output: b",
        "maxSteps: 8",
    ] {
        told(&agent(line), "is part of the text of `instruction`, not a key");
    }
    for line in
        ["examples: good and bad ones", "prompt: what was asked. {{t}}", "name: \"{{t}}\"", "outputSchema: as said."]
    {
        silent(&agent(line), "swallowed-key");
    }
}

#[test]
fn schemas_say_what_has_no_meaning() {
    let input = |property: &str| {
        format!("id: a\nkind: llm\n{MODEL}\ninputSchema:\n  t: {property}\ninstruction: \"{{{{t}}}}\"\n")
    };
    told(&input("{ type: array, properties: { a: string } }"), "what a list holds is under `items`");
    told(&input("{ type: string, items: string }"), "`items` says nothing about `type: string`");
    told(&input("{ type: string, enum: [a, b, b] }"), "`b` is in it twice");
    told(&input("\n    type: string\n    default:"), "`default` has no value");
    silent(&input("{ type: string, default: null }"), "`default`");
    assert_eq!(sure(&[("a.yaml", &input("any"))]), Vec::<String>::new());
    assert_eq!(sure(&[("a.yaml", &input("str"))]), ["write `string`"]);
    let blank = "id: p\nkind: sequential\ninputSchema: { k: { type: string, enum: [\"billing \", other] } }\nsteps: [ { ref: c, when: \"{{k}} == billing\" } ]\n";
    assert_eq!(sure(&[("p.yaml", blank)]), Vec::<String>::new());
}

#[test]
fn an_example_says_where_it_is_no_json() {
    let agent = format!(
        "id: a\nkind: llm\n{MODEL}\ninstruction: Hi.\noutputSchema: {{ a: string }}\nexamples:\n  - input: x\n    output: '{{\"a\": \"b\",}}'\n"
    );
    told(&agent, "warning 8:24 schema-mismatch: this example is not JSON: trailing comma");
}

#[test]
fn an_example_says_what_does_not_fit() {
    let agent = |output: &str| {
        format!(
            "id: a\nkind: llm\n{MODEL}\ninstruction: Hi.\noutputSchema: {{ priority: integer }}\nexamples:\n  - input: x\n    output: '{output}'\n"
        )
    };
    told(&agent("{\"priority\": \"9\"}"), "the text `9` is not of type");
    told(&agent("{\"prioriti\": 9}"), "did you mean `priority` by `prioriti`?");
}

#[test]
fn steps_of_the_model_are_spoken_of_by_what_the_agent_is() {
    silent("id: p\nkind: sequential\nmaxSteps: 8\nsteps: [ { ref: c } ]\n", "one model call");
    told("id: p\nkind: sequential\nmaxSteps: 8\nsteps: [ { ref: c } ]\n", "it is a key of `kind: llm`");
    told(&format!("id: a\nkind: llm\n{MODEL}\ninstruction: Hi.\nmaxSteps: 8\n"), "one model call");
    silent(
        &format!(
            "id: a\nkind: llm\n{MODEL}\ninstruction: Hi.\nmaxSteps: 8\ntools: [ {{ kind: local, tools: [x] }} ]\n"
        ),
        "one model call",
    );
}

#[test]
fn a_name_that_stands_nowhere_else_is_not_spread() {
    let agent = |schema: &str, rest: &str| {
        format!("id: a\nkind: llm\n{MODEL}\ninputSchema: {schema}\ninstruction: Hi.\nprompt: \"{rest}\"\n")
    };
    let none = Vec::<String>::new();
    assert_eq!(sure(&[("a.yaml", &agent("{ tir: string }", "{{tier}}"))]), none);
    assert_eq!(sure(&[("a.yaml", &agent("{ ticket: string }", "{{ticket}} and {{tickt}}"))]), ["write `ticket`"]);
    assert_eq!(sure(&[("a.yaml", &agent("{ ticket: string }", "The ticket: {{tickt}}"))]), ["write `ticket`"]);
    let schema = |required: &str, rest: &str| {
        format!(
            "{{ type: object, properties: {{ advce: {{ type: string }} }}, required: [{required}] }}\noutputSchema: {{ x: {rest} }}"
        )
    };
    let agent = |schema: &str| format!("id: a\nkind: llm\n{MODEL}\ninstruction: Hi.\ninputSchema: {schema}\n");
    assert_eq!(sure(&[("a.yaml", &agent(&schema("advice", "string")))]), none);
}

#[test]
fn an_output_is_no_schema() {
    let sum =
        format!("id: sum\nkind: llm\n{MODEL}\ninstruction: Hi.\nprompt: Hi.\noutputSchema: {{ summary: string }}\n");
    let pipeline = |output: &str| format!("id: p\nkind: sequential\nsteps:\n  - ref: sum\noutput: {output}\n");
    let look = |output: &str| findings(&[("p.yaml", &pipeline(output)), ("sum.yaml", &sum)]);
    let found = look("{ summary: string, score: number, all: \"{{sum}}\" }");
    assert!(found.contains("5:20 not-a-placeholder: `string` is text here, and no type"), "{found}");
    assert!(found.contains("5:35 not-a-placeholder: `number` is text here, and no type"), "{found}");
    assert!(look("{ summary: { type: string } }").contains("not-a-placeholder"));
    assert_eq!(look("{ summary: \"{{sum.summary}}\", kind: string, note: \"string\" }"), "");
    assert_eq!(look("{ column: { type: number, value: \"{{sum.summary}}\" } }"), "");
    let fixes = load(&[("p.yaml", &pipeline("{ summary: string }")), ("sum.yaml", &sum)]).diagnostics.into_sorted();
    let fixes: Vec<String> = fixes.into_iter().filter_map(|d| d.fix).map(|f| f.message).collect();
    assert_eq!(fixes, ["write `\"{{sum.summary}}\"`"]);
}

#[test]
fn a_last_line_that_is_written_like_a_key_was_indented_too_far() {
    let agent = |line: &str| {
        format!("id: a\nkind: llm\ninputSchema: {{ news: string }}\n{MODEL}\ninstruction: |\n  You judge.\n  {line}\n")
    };
    for line in [
        "prompt: News {{news}}",
        "prompt: \"News: {{news}}\"",
        "skills: [search, read-page]",
        "tools:\n    - kind: local\n      tools: [a]",
        "tools:\n    - { kind: local, tools: [a] }",
    ] {
        told(&agent(line), "is part of the text of `instruction`, not a key");
    }
    for line in [
        "prompt: News {{news}}\n  Then answer.",
        "topic: x\n  prompt: News {{news}}",
        "prompt: {{news}}",
        "skills: [what they can do, and how]",
        "tools:\n    - a hammer",
        "input: { text: \"{{news}}\" }",
    ] {
        silent(&agent(line), "swallowed-key");
    }
    let step = |line: &str| {
        format!(
            "id: p\nkind: sequential\ninputSchema: {{ news: string }}\nsteps:\n  - agent:\n      id: a\n      kind: llm\n      {MODEL}\n      instruction: Hi.\n      prompt: |\n        Judge {{{{text}}}}\n        {line}\n"
        )
    };
    for line in ["stateKey: verdict", "input:\n          text: \"{{news}}\"", "input: { text: \"{{news}}\" }"] {
        told(&step(line), "is part of the text of `prompt`, not a key");
    }
    for line in ["stateKey: of the state", "input: {\"text\": \"{{news}}\"}", "input:\n          {{news}}"] {
        silent(&step(line), "swallowed-key");
    }
}

#[test]
fn tools_of_an_agent_have_placeholders_as_everything_else_has() {
    let agent = |tool: &str| {
        format!(
            "id: a\nkind: llm\ninputSchema: {{ userId: string }}\n{MODEL}\ninstruction: \"{{{{userId}}}}\"\ntools:\n  - kind: http\n    name: find\n    url: https://example.com/{{k}}?key={{userId}}\n{tool}"
        )
    };
    for tool in [
        "    params: { k: \"{env.KEY}\" }\n",
        "    headers: { Authorization: \"Bearer ${TOKEN}\" }\n",
        "    headers: { Authorization: \"$TOKEN\" }\n",
        "    method: POST\n    body: { user: \"{userId}\" }\n",
        "    method: POST\n    body: { user: userId }\n",
    ] {
        told(&agent(tool), "not-a-placeholder");
    }
    silent(
        &agent("    params: { k: \"{{userId}}\" }\n    headers: { A: \"Bearer {{env.TOKEN}}\" }\n"),
        "not-a-placeholder",
    );
}

#[test]
fn an_address_is_one() {
    let tool = |url: &str| {
        format!(
            "id: t\nkind: tool\ninputSchema: {{ id: string }}\ntool: {{ kind: http, name: t, url: \"{url}\", params: {{}} }}\n"
        )
    };
    for (url, said) in [
        ("https://example.com/users/:id/posts", "`:id` is text here"),
        ("https://example.com/<city>", "`<city>` is text here"),
        ("https://https://example.com/x", "the address begins twice"),
        ("https://api,example.com/x", "`api,example.com` is not a host"),
        ("https://api..example.com/x", "`api..example.com` is not a host"),
        ("https://<your-domain>/x", "`<your-domain>` is a placeholder host"),
        ("https://YOUR_HOST/x", "`YOUR_HOST` is a placeholder host"),
        ("https://example.com:99999/x", "`99999` is not a port"),
    ] {
        told(&tool(url), said);
    }
    for url in [
        "https://example.com:8080/v1/models:predict?at=12:30&q={id?}",
        "https://{{env.HOST}}:8080/x",
        "https://user@example.com/a,b",
    ] {
        for rule in ["invalid-url", "not-a-placeholder"] {
            silent(&tool(url), rule);
        }
    }
}

#[test]
fn a_limit_is_for_one_type() {
    let input = |property: &str| {
        format!("id: a\nkind: llm\n{MODEL}\ninputSchema:\n  t: {property}\ninstruction: \"{{{{t}}}}\"\n")
    };
    for (property, said) in [
        (
            "{ type: array, min: 1 }",
            "`min` says nothing about `type: array`: it is for `type: number` and `type: integer` (write `minItems`)",
        ),
        (
            "{ type: string, max: 100 }",
            "`max` says nothing about `type: string`: it is for `type: number` and `type: integer` (write `maxLength`)",
        ),
        (
            "{ type: integer, minLength: 2 }",
            "`minLength` says nothing about `type: integer`: it is for `type: string` (write `minimum`)",
        ),
        ("{ type: boolean, min: 0 }", "`min` says nothing about `type: boolean`"),
        (
            "{ type: array, items: { type: object, properties: { a: string } }, required: [a] }",
            "`required` says nothing about `type: array`",
        ),
    ] {
        told(&input(property), said);
    }
    for property in [
        "{ type: array, minItems: 1 }",
        "{ type: string, maxLength: 9 }",
        "{ type: integer, min: 0, max: 4 }",
        "{ type: [string, \"null\"], maxLength: 4 }",
    ] {
        silent(&input(property), "says nothing about");
    }
    let items = "{ type: array }\n  items: { type: string }";
    told(&input(items), "`items` is read as a separate property, so `t` does not say what its items are");
    silent(&input(items).replace("{{t}}", "{{t}} {{items}}"), "of its own here");
}

#[test]
fn a_time_is_in_milliseconds() {
    let agent = |ms: u32| format!("id: a\nkind: llm\n{MODEL}\ninstruction: Hi.\nprompt: Hi.\ntimeoutMs: {ms}\n");
    told(
        &agent(60),
        "warning 6:12 out-of-range: `timeoutMs` is in milliseconds; hardly any model answers within 60 ms (for 60 seconds write `60000`)",
    );
    silent(&agent(2000), "out-of-range");
    // A small model nearby may be as fast.
    silent(&agent(800), "out-of-range");
    let pipeline = |when: &str| format!("id: p\nkind: sequential\ntimeoutMs: 30\nsteps: [ {{ ref: a{when} }} ]\n");
    let found = |when: &str| findings(&[("p.yaml", &pipeline(when)), ("a.yaml", &agent(2000))]);
    assert!(found("").contains("3:12 out-of-range"));
    assert!(!found(", when: \"{{env.X}}\"").contains("out-of-range"));
    let tool = "id: t\nkind: tool\ntimeoutMs: 60\ntool: { kind: local, name: t }\n";
    silent(tool, "out-of-range");
}

#[test]
fn one_input_has_one_answer() {
    let agent = |second: &str| {
        format!(
            "id: a\nkind: llm\n{MODEL}\ninstruction: Hi.\nexamples:\n  - {{ input: x, output: a }}\n  - {{ {second} }}\n"
        )
    };
    told(&agent("input: x, output: b"), "warning 7:14 schema-mismatch: this example answers the same input otherwise");
    silent(&agent("input: x, output: a"), "schema-mismatch");
    silent(&agent("input: y, output: b"), "schema-mismatch");
}

#[test]
fn agents_in_steps_are_told_apart() {
    let step = |rest: &str| format!("  - agent: {{ id: a, kind: llm, {}, instruction: Hi., prompt: Hi.{rest}\n", MODEL);
    let pipeline = |second: &str| {
        format!("id: p\nkind: sequential\nsteps:\n{}{second}output: {{ x: \"{{{{a}}}}\" }}\n", step(" }"))
    };
    told(
        &pipeline(&step(", stateKey: b }")),
        "warning 5:18 duplicate-id: two agents of this pipeline have the id `a` (give one of them another id)",
    );
    silent(&pipeline(&step(" }")), "duplicate-id");
    told(
        &pipeline(&step(", stateKey: b }\n    stateKey: c")),
        "no-effect: `stateKey` has no effect here: that of the step counts",
    );
    silent(&pipeline(&step(" }\n    stateKey: c")), "no-effect");
}

#[test]
fn an_entry_that_was_copied_has_a_name_of_its_own() {
    let child = format!(
        "id: c\nkind: llm\n{MODEL}\ninputSchema: {{ subject: string, body: string }}\ninstruction: \"{{{{subject}}}}\"\nprompt: \"{{{{body}}}}\"\noutputSchema: {{ risks: string, dates: string }}\n"
    );
    let pipeline = |input: &str, output: &str| {
        format!(
            "id: p\nkind: sequential\ninputSchema: {{ subject: string, body: string, text: string }}\nsteps:\n  - ref: c\n    input: {input}\noutput: {output}\n"
        )
    };
    let look = |input: &str, output: &str| findings(&[("p.yaml", &pipeline(input, output)), ("c.yaml", &child)]);
    let sound = "{ subject: \"{{subject}}\", body: \"{{body}}\" }";
    assert_eq!(look(sound, "{ risks: \"{{c.risks}}\", dates: \"{{c.dates}}\" }"), "");
    assert_eq!(look("{ subject: \"{{text}}\", body: \"{{text}}\" }", "{ x: \"{{c.risks}}\", y: \"{{c.risks}}\" }"), "");
    let found = look("{ subject: \"{{subject}}\", body: \"{{subject}}\" }", "{ x: \"{{c}}\" }");
    assert!(found.contains("6:44 copied-value: `body` and `subject` both read `{{subject}}`, but there is also a `body` [p.yaml 6:14 `subject` gets it here]"), "{found}");
    let found = look(sound, "{ risks: \"{{c.risks}}\", dates: \"{{c.risks}}\" }");
    assert!(
        found.contains("7:40 copied-value: `dates` and `risks` both read `{{c.risks}}`, but there is also a `c.dates`"),
        "{found}"
    );
    // In the other order on purpose, as a judge gets two answers both ways round.
    assert_eq!(look("{ subject: \"{{body}}\", body: \"{{subject}}\" }", "{ x: \"{{c}}\" }"), "");
}

#[test]
fn a_whole_value_in_the_signs_of_another_language_is_text() {
    let pipeline = |x: &str| {
        format!(
            "id: p\nkind: sequential\ninputSchema: {{ body: string }}\nsteps:\n  - agent: {{ id: b, kind: llm, {MODEL}, instruction: Hi., prompt: \"{{{{x}}}}\" }}\n    input: {{ x: \"{x}\" }}\noutput: {{ b: \"{{{{b}}}}\", body: \"{{{{body}}}}\" }}\n"
        )
    };
    for value in ["$body", "%body%", "｛｛body｝｝", "｛body｝"] {
        told(&pipeline(value), &format!("not-a-placeholder: `{value}` is text here, and its value is not read"));
    }
    for value in ["$.body", "<body>", "<other>", "$5", "%d%", "50%"] {
        silent(&pipeline(value), "not-a-placeholder");
    }
    told(
        "id: t\nkind: tool\ninputSchema: { message: string }\ntool: { kind: http, name: t, url: \"https://example.com\", method: POST, body: { text: \"$message\" } }\n",
        "`$message` is text here",
    );
}

#[test]
fn keys_of_a_request_stand_in_it() {
    let tool = |rest: &str| {
        format!(
            "id: t\nkind: tool\ninputSchema: {{ a: string }}\ntool:\n  kind: http\n  name: t\n  url: https://example.com\n{rest}"
        )
    };
    told(
        &tool("  headers: { Accept: x, method: POST }\n"),
        "warning 8:25 swallowed-key: `method` is nested under `headers`",
    );
    told(
        &tool("  method: POST\n  body: { a: \"{{a}}\", body_type: form }\n"),
        "warning 9:23 swallowed-key: `body_type` is nested under `body`",
    );
    told(
        &tool("  method: POST\n  body: { a: \"{{a}}\", headers: { Authorization: x } }\n"),
        "info 9:23 swallowed-key: `headers` is nested under `body`",
    );
    told(
        &tool("  method: POST\n  body:\n    a:\"{{a}}\"\n"),
        "`body` is one text here: a key needs a space after its `:`",
    );
    told(&tool("  headers: { Authorisation: x }\n"), "did you mean `Authorization`?");
    let sound = tool(
        "  method: POST\n  headers: { Accept: x }\n  body_type: json\n  body: { method: card, headers: { a: b }, body_type: slim }\n",
    );
    silent(&sound, "swallowed-key");
}

#[test]
fn what_surrounds_an_agent_is_looked_at() {
    let agent = |rest: &str| format!("id: a\nkind: llm\n{MODEL}\ninstruction: Hi.\n{rest}\n");
    told(&agent("skills: [search, read, search]"), "warning 5:24 duplicate-id: `search` is listed twice");
    told(&agent("tools: [ { kind: agent, agent: a } ]"), "reference-cycle: `a` has itself as a tool");
    let callback = |url: &str, secret: &str| {
        agent(&format!("tools: [ {{ kind: callback, name: c, url: \"{url}\", secret: \"{secret}\" }} ]"))
    };
    told(
        &callback("https://example.com", "{{secrets.CB}}"),
        "`secret` is the name of a signing secret, and no template",
    );
    told(&callback("/hook", "cb"), "`/hook` is not an http address");
    told(&callback("https://example.com/{{env.ID}}", "cb"), "the address of a callback is no template");
    silent(&callback("https://example.com", "cb"), "not-a-placeholder");
    told(&agent("tools: [ { kind: mcp, server: \"https//mcp.example.com/x\" } ]"), "is not an http address");
    for server in ["https://mcp.example.com/x", "http-tools", "files"] {
        silent(&agent(&format!("tools: [ {{ kind: mcp, server: \"{server}\" }} ]")), "invalid-url");
    }
}

#[test]
fn a_model_is_one_that_answers() {
    let agent = |provider: &str, name: &str| {
        format!("id: a\nkind: llm\nmodel: {{ provider: {provider}, name: {name} }}\ninstruction: Hi.\nprompt: Hi.\n")
    };
    for (provider, name, said) in [
        ("openai", "text-embedding-3-small", "makes embeddings"),
        ("openai", "gpt-image-1", "is an image model"),
        ("openai", "gpt-4o-transcribe", "is a speech-to-text model"),
        ("openai", "whisper-1", "is a speech-to-text model"),
        ("openai", "your-model-here", "is a placeholder, not a model name"),
        ("openai", "gtp-5.4", "did you mean `gpt-5.4`?"),
        ("anthropic", "claude-sonet-5", "did you mean `claude-sonnet-5`?"),
        ("anthropic", "cluade-sonnet-5", "did you mean `claude-sonnet-5`?"),
    ] {
        told(&agent(provider, name), said);
    }
    for (provider, name) in [
        ("ollama", "gpt-5.4:my-finetune"),
        ("azure", "whisper-notes"),
        ("openai", "gpt-5.4"),
        ("openai", "o3-mini"),
        ("openai", "codex-mini-latest"),
        ("openai", "chatgpt-4o-latest"),
        ("anthropic", "claude-3-5-sonnet-20241022"),
        ("anthropic", "claude-instant-1"),
        ("google", "gemma-3-27b"),
        ("mistral", "ministral-8b-latest"),
        ("mistral", "codestral-latest"),
        ("ollama", "gpt-oss:20b"),
        ("ollama", "llama3"),
    ] {
        silent(&agent(provider, name), "bad-model");
    }
    told("id: i\nkind: image\nmodel: { provider: openai, name: gpt-5.4 }\nprompt: A cat.\n", "is a text model");
    silent("id: i\nkind: image\nmodel: { provider: openai, name: gpt-image-1 }\nprompt: A cat.\n", "is a text model");
}

#[test]
fn a_word_that_is_a_name_too_is_a_text() {
    let pipeline = |language: &str, when: &str| {
        format!(
            "id: p\nkind: sequential\ninputSchema: {{ language: {language}, other: string }}\nsteps: [ {{ ref: c, when: \"{when}\" }} ]\n"
        )
    };
    told(
        &pipeline("string", "{{language}} == other"),
        "info 4:43 not-a-placeholder: `other` is a text here, and the value of `other` is not read",
    );
    for when in ["{{language}} == 'other'", "{{language}} == en", "{{language}} == {{other}}"] {
        silent(&pipeline("string", when), "not-a-placeholder");
    }
    silent(&pipeline("{ type: string, enum: [en, other] }", "{{language}} == other"), "not-a-placeholder");
}

#[test]
fn one_pass_repeats_nothing() {
    let pipeline = |max: u32| {
        format!("id: p\nkind: sequential\nuntil: \"{{{{c}}}} == ok\"\nmaxIterations: {max}\nsteps: [ {{ ref: c }} ]\n")
    };
    told(&pipeline(1), "warning 4:16 no-effect: with `maxIterations: 1` the steps run once");
    silent(&pipeline(2), "no-effect");
}

#[test]
fn small_slips_are_told() {
    let agent = |schema: &str, text: &str| {
        format!("id: a\nkind: llm\n{MODEL}\ninputSchema: {{ subject: {schema} }}\ninstruction: '{text}'\n")
    };
    told(&agent("string", "On {{ subject }}}."), "warning 5:31 not-a-placeholder: this `}` is text");
    silent(&agent("string", "{\"a\": {{ subject }}} and {\"b\": {\"c\": {{subject}}}}"), "not-a-placeholder");
    told(
        &agent("{ type: string, enum: [outage, Outage] }", "{{subject}}"),
        "info 4:56 invalid-schema: `outage` and `Outage` are two choices that differ in capitals alone",
    );
}

#[test]
fn a_part_of_an_answer_is_named_with_its_step() {
    let pipeline = format!(
        "id: p\nkind: parallel\ninputSchema: {{ text: string }}\nbranches:\n  - agent: {{ id: scan, kind: llm, {MODEL}, instruction: Hi., prompt: \"{{{{userQuery}}}}\", outputSchema: {{ risks: string }} }}\n    input: {{ userQuery: \"{{{{text}}}}\" }}\noutput: {{ risks: \"{{{{risks}}}}\" }}\n"
    );
    told(
        &pipeline,
        "error 7:21 unresolved-name: `risks` is not defined here (did you mean `scan.risks`? there is `text`, `scan`)",
    );
    let fixes = load(&[("p.yaml", &pipeline)]).diagnostics.into_sorted().into_iter().filter_map(|d| d.fix);
    assert_eq!(fixes.map(|f| (f.message, f.safe)).collect::<Vec<_>>(), [("write `scan.risks`".to_owned(), false)]);
}
