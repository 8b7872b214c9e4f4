//! Web addresses: a value cannot change the structure of an address.

use serde_json::json;
use trefoil_template::state::TextKind;
use trefoil_template::{Policy, Template};

use crate::masked::{Machine, bind};
use crate::table;

#[test]
fn a_value_is_one_segment_or_one_value_of_a_query() {
    let state = json!({"q": "a b&c=d", "path": "../x/y?z#w", "n": 3, "é": "é", "base": "https://api.example.com/v1", "empty": ""});
    table(
        &Policy::AGNTZ,
        TextKind::Address,
        &state,
        &[
            ("https://h.example/s?q={{q}}", json!("https://h.example/s?q=a%20b%26c%3Dd")),
            ("https://h.example/{{path}}/end", json!("https://h.example/..%2Fx%2Fy%3Fz%23w/end")),
            ("https://h.example/{{n}}/{{é}}", json!("https://h.example/3/%C3%A9")),
            ("https://h.example#{{q}}", json!("https://h.example#a%20b%26c%3Dd")),
            // The start of an address may be a whole address.
            ("{{base}}/items/{{path}}", json!("https://api.example.com/v1/items/..%2Fx%2Fy%3Fz%23w")),
            ("{{base}}", json!("https://api.example.com/v1")),
            ("https://h.example/{{empty}}x", json!("https://h.example/x")),
            // Literal text is not changed.
            ("https://h.example/a b?c=ü", json!("https://h.example/a b?c=ü")),
            ("https://h.example/{id}?x={x?}", json!("https://h.example/{id}?x={x?}")),
        ],
    );
}

#[test]
fn a_value_in_the_host_cannot_end_it() {
    let state =
        json!({"host": "api.example.com:8443", "evil": "evil.example/", "user": "a@b", "query": "x?y", "back": "x\\y"});
    table(
        &Policy::AGNTZ,
        TextKind::Address,
        &state,
        &[
            ("https://{{host}}/x", json!("https://api.example.com:8443/x")),
            ("https://api.{{evil}}.example.com/x", json!("https://api.evil.example%2F.example.com/x")),
            ("https://{{user}}.example.com", json!("https://a%40b.example.com")),
            ("https://{{query}}.example.com", json!("https://x%3Fy.example.com")),
            ("https://{{back}}.example.com", json!("https://x%5Cy.example.com")),
        ],
    );
}

#[test]
fn what_the_operator_fills_in_stays_as_it_is() {
    let machine = Machine::new(json!({"q": "a/b"}));
    let address = |text: &str| {
        let mut template = Template::parse(text, &Policy::AGNTZ).unwrap();
        template.bind_references(bind);
        let value = template.render_url(&machine).unwrap();
        value.fill_holes::<_, ()>(&mut |hole| Ok(Some(format!("<{}/&>", hole.name)))).unwrap().to_text().to_string()
    };
    assert_eq!(address("{{env.BASE}}/x/{{q}}"), "<BASE/&>/x/a%2Fb");
    assert_eq!(address("https://{{env.HOST}}/x?key={{secrets.KEY}}&q={{q}}"), "https://<HOST/&>/x?key=<KEY/&>&q=a%2Fb");
}
