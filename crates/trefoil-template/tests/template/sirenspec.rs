//! Templates and conditions of SirenSpec, in cases of our own.

use serde_json::json;
use trefoil_template::state::{RenderFailure, TextKind, evaluate_text};
use trefoil_template::{Policy, Value};

use super::{table, texts, truths};

const P: Policy = Policy::SIRENSPEC;

fn state() -> serde_json::Value {
    json!({
        "inputs": {"message": "hello", "topic": null, "n": 4},
        "nodes": {
            "plan": {"output": "[\"a\"]", "prose": "see below", "empty": ""},
            "crew": {"agents": {"one": {"output": "first"}}, "outputs": [1, 2]}, "waiting": {},
            "both": {"output": "canonical", "extra": 1},
        },
        "env": {"MODE": "test", "EMPTY": ""},
        "working": {"notes": {"k": "v"}, "both": {"output": "written"}, "title": "T", "list": [1, [2]], "s-t": 5},
        "output": {"report": "done"}, "_budget": {"total_tokens": 12},
    })
}

#[test]
fn names() {
    texts(
        &P,
        &state(),
        &[
            ("{{ inputs.message }} {{ inputs.topic }} {{ inputs.n }}", "hello null 4"),
            ("{{ plan.output }} {{ crew.agents.one.output }} {{ crew.outputs }}", "[\"a\"] first [1,2]"),
            ("{{ title }} {{ working.title }} {{ notes.k }} {{ working.notes.k }} {{ output.report }}", "T T v v done"),
            ("{{ both.output }} {{ both.extra }}", "written 1"),
            ("{{ _budget.total_tokens }} {{ env.MODE }}", "12 test"),
            ("{{ waiting.output }}", "InterpolationError in '{{ waiting.output }}' [waiting]: Key 'output' not found"),
            ("{{ nobody.output }}", "InterpolationError in '{{ nobody.output }}' [nobody]: Key 'nobody' not found"),
            ("{{ both.nothing }}", "InterpolationError in '{{ both.nothing }}' [both]: Key 'nothing' not found"),
            (
                "{{ inputs.x.y | default('') }}{{ inputs.x }}",
                "InterpolationError in '{{ inputs.x }}' [inputs]: Key 'x' not found",
            ),
            ("{{ env.NOPE }}", "InterpolationError in '{{ env.NOPE }}' [env]: Environment variable 'NOPE' is not set"),
            ("{{ env }}", "InterpolationError in '{{ env }}' [env]: Missing field name after 'env.'"),
            ("{{ index }}", "InterpolationError in '{{ index }}' [index]: Not inside a factory loop context"),
            ("{{ working.plan.output }}", "load error: working-dot-node-id"),
        ],
    );
    let item = json!({"item": {"id": 5}, "index": 1, "total": 2});
    texts(&P, &item, &[("{{ item.id }} {{ index }}/{{ total }} {{ item }}", "5 1/2 {\"id\":5}")]);
}

#[test]
fn filters() {
    texts(
        &P,
        &state(),
        &[
            (
                "{{ plan.nope | default('x') }} {{ plan.empty | default(\"y\") }} {{ plan.prose | default('z') }}",
                "x y see below",
            ),
            ("{{ inputs.topic | default('x') }} {{ env.EMPTY | default('e') }}", "null e"),
            (
                "{{ plan.output | json_or_default('[]') }}{{ plan.prose | json_or_default('[]') }}{{ plan.empty | json_or_default('{}') }}",
                "[\"a\"][]{}",
            ),
            ("{{ crew.outputs | json_or_default('x') }} {{ inputs.n | json_or_default('x') }}", "[1,2] 4"),
            ("{{ x.y\n|\tdefault( 'a\nb }} c' )\n}}", "a\nb }} c"),
        ],
    );
    table(
        &P,
        TextKind::Value,
        &state(),
        &[
            ("{{ crew.outputs }}", json!([1, 2])),
            ("{{ plan.prose | json_or_default('[]') }}", json!("[]")),
            ("{{ inputs.topic }}", json!(null)),
            ("a {{ inputs.n }}", json!("a 4")),
        ],
    );
}

#[test]
fn errors_have_their_place() {
    let state = Value::from_json(state());
    let Err(RenderFailure::Load(errors)) = evaluate_text(&P, TextKind::Template, "é\n é {{ a..b }} {{ c", &state)
    else {
        panic!()
    };
    let places: Vec<_> = errors.iter().map(|e| (e.line, e.column)).collect();
    assert_eq!(places, [(2, 9), (2, 15)]);
}

#[test]
fn conditions() {
    truths(
        &P,
        &state(),
        &[
            "working.title == \"T\" and output.report == 'done'",
            "_budget.total_tokens > 10",
            "working.both.output == 'written' and working.both.extra == 1",
            "working.plan.output == '[\"a\"]'",
            "working.list[0] + working.list[1][0] == 3",
            "working.list[-1] == [2]",
            "working[\"s-t\"] == 5 and working.notes[\"k\"] == 'v'",
            "'k' in working.notes and 'x' not in working.notes",
            "2 not in working.list and [2] in working.list",
            "'on' in 'one' and 'T' in [working.title]",
            "working.title in ('S', 'T',)",
            "1 < 2 <= 2 < 3 and not 1 < 2 < 2",
            "not (1 > 2) and not not True",
            "working.title and 0 or 'x'",
            "len('né') == 2 and len(working.list) == 2",
            "int('7') + int(2.9) + int(True) == 10",
            "float('1.5') == 1.5 and str(5) == '5' and bool([0])",
            "abs(-2) == 2 and max(1, 3, 2) == 3 and min([2, 1]) == 1",
            "7 % 3 == 1 and -7 % 3 == 2 and 7 / 2 == 3.5 and 'ab' * 2 == 'abab' and [1] + [2] == [1, 2]",
            "1 == True and 0 == False and 1.0 == 1 and True + True == 2",
            "None is null and working.title is not None",
            "'a' < 'b' and [1, 2] < [1, 3] and 'Z' < 'a'",
            "0x10 == 16 and 1_000 == 1000 and .5 < 1e3",
            "'\\x41\\u00e9\\n\\'' == \"Aé\n'\" # a comment",
            "9223372036854775807 + 1 == 9223372036854775808.0",
            "-2 + 3 * 2 == 4 and (-2 + 3) * 2 == 2 and - -1 == 1",
            "working.list[False] == 1",
        ],
        &[
            "working.nothing",
            "not working.nothing",
            "working.nothing == null",
            "1 / 0 or True",
            "not (1 < 'a')",
            "'a' in 5",
            "1 in 'a1'",
            "len(5) == 0",
            "int('x') == 0",
            "int(None)",
            "None < 1",
            "working.list['0']",
            "working.list[5]",
            "working.title.x",
            "'a' + 1",
            "-'a'",
            "working.list == 1",
            "max([])",
        ],
    );
    // Operands after the deciding one are not evaluated.
    truths(
        &P,
        &state(),
        &["working.title or working.nothing"],
        &["working.nothing or working.title", "0 and working.nothing"],
    );
}
