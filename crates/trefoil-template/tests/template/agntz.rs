//! Templates and conditions of agntz, in cases of our own.

use serde_json::json;
use trefoil_template::Policy;
use trefoil_template::state::TextKind;

use super::{table, texts, truths};

const P: Policy = Policy::AGNTZ;

fn state() -> serde_json::Value {
    json!({
        "userQuery": "When is high tide?", "language": "de", "words": 120, "ratio": 0.5, "approved": true, "draft": null,
        "tags": ["sea", "moon"], "none": [], "empty": {}, "blank": "", "zero": "0", "padded": " 12.5e0 ",
        "writer": {"draft": "Twice a day.", "notes": {"n": 2}}, "web-researcher": {"hits": 3}, "braces": "{{language}}",
    })
}

#[test]
fn placeholders() {
    texts(
        &P,
        &state(),
        &[
            ("Q: {{userQuery}}\nA: {{ writer.draft }}", "Q: When is high tide?\nA: Twice a day."),
            ("{{tags}} {{tags.1}} {{tags.7}}{{writer.notes}}", "[\"sea\",\"moon\"] moon {\"n\":2}"),
            ("[{{draft}}][{{nobody.at.all}}][{{words.x}}]", "[][][]"),
            ("{{web-researcher.hits}} {{approved}} {{ratio}}", "3 true 0.5"),
            // Data is not scanned again, and single braces are text.
            ("{{braces}} {language} }} }}", "{{language}} {language} }} }}"),
            ("{\"q\": \"{{language}}\"}", "{\"q\": \"de\"}"),
            ("{{language}}}", "de}"),
            ("", ""),
        ],
    );
}

#[test]
fn blocks() {
    texts(
        &P,
        &state(),
        &[
            ("{{#if approved}}yes{{/if}}", "yes"),
            (
                "{{#if draft}}a{{/if}}{{#if none}}b{{/if}}{{#if empty}}c{{/if}}{{#if blank}}d{{/if}}{{#if nobody}}e{{/if}}",
                "",
            ),
            ("{{#if zero}}text is text{{/if}}", "text is text"),
            ("{{#if language == de}}German{{/if}}{{#if language != 'de'}}other{{/if}}", "German"),
            ("{{#if words == 120}}a{{#if words == '120'}}b{{/if}}c{{/if}}", "ac"),
            ("{{#if userQuery == When is high tide?}}exact{{/if}}", "exact"),
            ("{{#if draft == null}}none yet{{/if}}{{#if nobody != null}}!{{/if}}", "none yet"),
            ("{{#if language == \"}}\"}}braces{{/if}}-", "-"),
            // Whitespace around tags is kept.
            ("a\n{{#if approved}}\n  b\n{{/if}}\nc", "a\n\n  b\n\nc"),
        ],
    );
}

#[test]
fn a_lone_placeholder_keeps_its_type() {
    table(
        &P,
        TextKind::Value,
        &state(),
        &[
            ("{{words}}", json!(120)),
            ("{{ tags }}", json!(["sea", "moon"])),
            ("{{nobody}}", json!(null)),
            ("{{draft}}", json!(null)),
            ("{{writer.notes}}", json!({"n": 2})),
            ("{{words}}\n", json!("120\n")),
            (" {{words}}", json!(" 120")),
            ("{{words}}{{words}}", json!("120120")),
            ("{{#if approved}}{{words}}{{/if}}", json!("120")),
            ("plain", json!("plain")),
        ],
    );
}

#[test]
fn conditions() {
    truths(
        &P,
        &state(),
        &[
            "{{approved}}",
            "{{words}} > 100",
            "{{padded}} == ' 12.5e0 '",
            "{{padded}} >= 12.5",
            "{{language}} == de && {{words}} < 200 || {{nobody}}",
            "{{nobody}} || {{language}} != en",
            "{{draft}} == {{nobody}}",
            "{{tags.0}} == sea",
            "{{userQuery}} == When is high tide?",
            "'a && b' == \"a && b\"",
            "{{words}} == 1.2e2",
            "{{ratio}} == +.5",
            "{{writer.notes.n}} == 2",
            "{{tags}} == {{tags}}",
        ],
        &[
            "{{draft}}",
            "{{words}} > abc",
            "{{words}} == '120'",
            "{{approved}} > 0",
            "{{blank}} < 1",
            "{{draft}} <= 0",
            "{{nobody}} && {{approved}}",
            "{{approved}} == 1",
            "{{none}}",
            "''",
            "0",
            "null",
            "{{language}} == DE",
        ],
    );
}
