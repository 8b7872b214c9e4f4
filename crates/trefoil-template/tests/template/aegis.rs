//! Templates and conditions of AEGIS, in cases of our own.

use serde_json::json;
use trefoil_template::Policy;
use trefoil_template::state::TextKind;

use super::{table, texts, truths};

const P: Policy = Policy::AEGIS;

fn state() -> serde_json::Value {
    json!({
        "instruction": "Review <this> & \"that\"", "input": {"pr": 7, "files": ["a.rs", "b.rs"]}, "n": 0, "blank": "",
        "AUDIT": {"output": {"issues": [{"id": 1, "at": {"line": 3}, "tags": ["x", "y"]}, {"id": 2, "tags": []}]}},
        "workflow": {"context": {"limit": 5, "a b": "spaced"}}, "blackboard": {"n": 2, "open": false},
        "table": {"first": 1, "second": [2], "third": null}, "json_text": "{\"p\":1}", "lines": "\n one \ntwo", "keys": "own",
        "matrix": [[1, 2], [3]],
    })
}

#[test]
fn paths() {
    texts(
        &P,
        &state(),
        &[
            (
                "{{instruction}}|{{{instruction}}}|{{&instruction}}",
                "Review <this> & \"that\"|Review <this> & \"that\"|Review <this> & \"that\"",
            ),
            ("{{this.n}} {{./n}} {{@root.n}} {{input/pr}} {{input.files.1}} {{input.files.[0]}}", "0 0 0 7 b.rs a.rs"),
            ("{{workflow.context.[a b]}} {{[n]}} {{this.[n]}}", "spaced 0 0"),
            ("[{{input.nope}}{{input.pr.x}}{{../n}}{{@index}}{{@../index}}{{null}}{{undefined}}{{table.third}}]", "[]"),
            ("{{true}} {{5}} {{-1.5}} {{'it\\'s'}} {{\"a }} b\"}}", "true 5 -1.5 it's a }} b"),
            // A value may have a helper's name.
            ("{{keys}} {{upper keys}}", "own OWN"),
            ("{{input.pr}}} {{{input.pr}}}}", "7} 7}"),
        ],
    );
    texts(
        &P,
        &json!({"a": 1, "b": [2]}),
        &[("{{this}} {{.}} {{@root}}", "{\"a\":1,\"b\":[2]} {\"a\":1,\"b\":[2]} {\"a\":1,\"b\":[2]}")],
    );
}

#[test]
fn loops() {
    texts(
        &P,
        &state(),
        &[
            (
                "{{#each input.files}}{{@index}}{{#if @first}}^{{/if}}={{this}}{{#unless @last}}, {{/unless}}{{/each}}",
                "0^=a.rs, 1=b.rs",
            ),
            ("{{#each table}}{{@key}}/{{@index}}:{{this}};{{/each}}", "first/0:1;second/1:[2];third/2:;"),
            (
                "{{#each AUDIT.output.issues}}#{{id}}@{{at.line}} {{#each tags}}{{this}}{{../id}}{{@../index}} {{else}}none {{/each}}{{/each}}",
                "#1@3 x10 y10 #2@ none ",
            ),
            (
                "{{#each AUDIT.output.issues as |issue i|}}{{i}}:{{issue.id}}{{#each issue.tags as |t|}}[{{t}}{{i}}{{issue.id}}]{{/each}} {{/each}}",
                "0:1[x01][y01] 1:2 ",
            ),
            ("{{#each matrix}}{{#each this}}{{this}}/{{../length}}{{@root.n}} {{/each}}{{/each}}", "1/0 2/0 3/0 "),
            ("{{#each (keys table)}}{{this}} {{/each}}", "first second third "),
            (
                "{{#each n}}x{{else}}no list{{/each}}{{#each nope}}x{{^}}nothing{{/each}}{{^each nope}}empty{{/each}}",
                "no listnothingempty",
            ),
            // A name is looked up only in the item.
            ("{{#each input.files}}{{n}}{{../n}}{{/each}}", "00"),
            (
                "{{#each input.files}}{{#with ../table}}{{first}}{{@index}}{{../this}} {{/with}}{{/each}}",
                "10a.rs 11b.rs ",
            ),
        ],
    );
}

#[test]
fn blocks_and_helpers() {
    texts(
        &P,
        &state(),
        &[
            ("{{#if n}}a{{else if blank}}b{{else if input}}c{{else}}d{{/if}}", "c"),
            (
                "{{#if n includeZero=true}}zero{{/if}}{{#unless n}}falsy{{/unless}}{{^if n}}!{{else}}?{{/if}}",
                "zerofalsy!",
            ),
            (
                "{{#with input}}{{pr}}{{else}}-{{/with}}{{#with nope}}x{{else}}-{{/with}}{{#with input as |i|}}{{i.pr}}{{/with}}",
                "7-7",
            ),
            ("{{#if (and input (not blank) (gt blackboard.n 1))}}all{{/if}}", "all"),
            (
                "{{eq n 0}} {{ne n 0}} {{gt 2 1}} {{gte 1 1}} {{lt '2' 10}} {{lte 'x' 1}} {{and 1 0}} {{or 0 'x'}} {{not n}}",
                "true false true true true false false true true",
            ),
            (
                "{{json input}} {{json nope}} {{json table.third}} {{json blank}}",
                "{\"pr\":7,\"files\":[\"a.rs\",\"b.rs\"]}  null \"\"",
            ),
            ("{{length input.files}} {{len table}} {{length 'né'}} {{length n}} {{length nope}}", "2 3 2 0 0"),
            (
                "{{default nope 'x'}} {{default n 'x'}} {{default blank (upper 'y')}} {{default blackboard.open 1}}",
                "x 0 Y false",
            ),
            (
                "{{keys json_text}} {{keys n}} {{first_line lines}} {{trim lines}} {{lower 'ÀB'}} {{upper nope}}.",
                "[\"p\"] [] one one \ntwo àb .",
            ),
            (
                "{{lookup input.files 1}} {{lookup table 'first'}} {{lookup (lookup matrix 0) 1}} [{{lookup table 'x'}}]",
                "b.rs 1 2 []",
            ),
            ("{{{json (default nope table)}}}", "{\"first\":1,\"second\":[2],\"third\":null}"),
        ],
    );
}

#[test]
fn white_space_and_comments() {
    texts(
        &P,
        &state(),
        &[
            ("a\n  {{#each input.files}}  \n- {{this}}\n  {{/each}}\nb\n", "a\n- a.rs\n- b.rs\nb\n"),
            ("{{#if input}}\r\nx\r\n{{else}}\r\ny\r\n{{/if}}\r\nz", "x\r\nz"),
            ("a {{#if input}}\nx\n{{/if}} b", "a \nx\n b"),
            ("{{#if input}}{{#if n}}{{/if}}\nx{{/if}}", "\nx"),
            ("a\n\n{{!-- note\nover lines }} --}}\n\nb", "a\n\n\nb"),
            ("a {{~input.pr~}} b {{~! x ~}} c {{~#if n~}} d {{~else~}} e {{~/if~}} f", "a7bcef"),
            ("{{!a}}x{{! b }}", "x"),
            ("{{~#each input.files~}}\n {{this}} \n{{~/each~}}", "a.rsb.rs"),
            ("a {{~{n}~}} b", "a0b"),
        ],
    );
}

#[test]
fn escapes() {
    texts(
        &P,
        &state(),
        &[
            ("\\{{n}} {{n}}", "{{n}} 0"),
            ("\\\\{{n}} \\\\\\{{n}} a\\b \\x", "\\0 \\\\0 a\\b \\x"),
            ("\\{{{n}}} \\{{#if}}", "{{{n}}} {{#if}}"),
            ("{{!\\{{n}}", ""),
        ],
    );
}

#[test]
fn typed_values() {
    table(
        &P,
        TextKind::Value,
        &state(),
        &[
            ("{{input}}", json!({"pr": 7, "files": ["a.rs", "b.rs"]})),
            ("{{length input.files}}", json!(2)),
            ("{{keys table}}", json!(["first", "second", "third"])),
            ("{{nope}}", json!(null)),
            ("{{n}} ", json!("0 ")),
        ],
    );
}

#[test]
fn conditions() {
    truths(
        &P,
        &state(),
        &[
            "input",
            "blackboard.n < workflow.context.limit",
            "{{blackboard.n < workflow.context.limit}}",
            "{{blackboard.n}} < {{workflow.context.limit}} && !blackboard.open",
            "{{{blackboard.n}}} == 2",
            "(blackboard.open || input.pr == 7) && n == 0",
            "input.pr == 7 || nope && nope",
            "eq input.pr 7 && not n",
            "(and input (or n 1))",
            "length input.files == 2",
            "(length input.files) >= 2",
            "default nope 'x' == 'x'",
            "and input (n == 0)",
            "eq {{input.pr}} 7",
            "!!input",
            "! (n)",
            "blank == ''",
            "nope == null",
            "input.pr > '6.5'",
            "a-b != 1",
            "input.files.0 == \"a.rs\"",
            "true",
        ],
        &["nope", "n", "input.pr == '7'", "blank > -1", "!input", "nope < 1", "workflow.context.limit < blackboard.n"],
    );
}
