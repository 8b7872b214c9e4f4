//! The findings for wrong texts: every rule, with its place, message and advice.

use std::fmt::Write as _;

use trefoil_template::{Condition, Policy, SyntaxError, Template};

/// One text on each line, with its mistakes below it.
fn report(texts: &[&str], parse: impl Fn(&str) -> Result<(), Vec<SyntaxError>>) -> String {
    let mut out = String::new();
    for text in texts {
        let _ = writeln!(out, "{}", text.escape_debug().to_string().replace("\\\"", "\"").replace("\\'", "'"));
        match parse(text) {
            Ok(()) => out.push_str("    NO MISTAKE FOUND\n"),
            Err(errors) => {
                for error in errors {
                    let place = &text[error.span.start as usize..error.span.end as usize];
                    let _ =
                        writeln!(out, "    {} at {:?} [{}]: {}", error.code, place, error.span.start, error.message);
                    if let Some(help) = error.help {
                        let _ = writeln!(out, "        help: {help}");
                    }
                    if let Some(meant) = error.meant.filter(|_| error.sure) {
                        let _ = writeln!(out, "        certainly meant: {meant}");
                    }
                }
            }
        }
    }
    out
}

fn templates(policy: Policy, texts: &[&str]) -> String {
    report(texts, |text| Template::parse(text, &policy).map(|_| ()))
}

fn conditions(policy: Policy, texts: &[&str]) -> String {
    report(texts, |text| Condition::parse(text, &policy).map(|_| ()))
}

fn snapshot(name: &str, text: String) {
    insta::with_settings!({omit_expression => true}, { insta::assert_snapshot!(name, text) });
}

#[test]
fn agntz_templates() {
    snapshot(
        "agntz_templates",
        templates(
            Policy::AGNTZ,
            &[
                "{{}} and {{ }}",
                "{{name",
                "{{name} and {{other}}",
                "one {{a..b}} two {{.c}} three {{d.}}",
                "{{your name}}",
                "{{long if want else short}}",
                "{{name || 'none'}}",
                "{{ user.name ?? \"none\" }}",
                "{{list[0]}}",
                "{{'text'}}",
                "{{name | upper}}",
                "{{a + b}}",
                "{{{name}}}",
                "{{! a note }}",
                "{{> part}}",
                "{{#if}}x{{/if}}",
                "{{#if name}}x",
                "{{#if name}}x{{/each}}",
                "x{{/if}}",
                "{{#if a}}{{#if b}}x{{/if}}",
                "{{#each list}}{{this}}{{/each}}",
                "{{#unless a}}x{{/unless}}",
                "{{# if a}}x{{/if}}",
                "{{#if a}}x{{/ if}}",
                "{{#if a}}x{{else}}y{{/if}}",
                "{{#if a}}x{{else if b}}y{{/if}}",
                "{{#if !a}}x{{/if}}",
                "{{#if a > 3}}x{{/if}}",
                "{{#if a && b}}x{{/if}}",
                "{{#if a or b}}x{{/if}}",
                "{{#if a === 'x'}}x{{/if}}",
                "{{#if a = 'x'}}x{{/if}}",
                "{{#if a == }}x{{/if}}",
                "{{#if a == it's}}x{{/if}}",
                "{{#if a == 'x}}x{{/if}}",
                "{{#if a == b and c}}x{{/if}}",
                "{{#if 'x' == a}}x{{/if}}",
                "{{#if (a)}}x{{/if}}",
                "{{#if {{a}} == b}}x{{/if}}",
                "{{#if a.}}x{{/if}}",
            ],
        ),
    );
}

#[test]
fn sirenspec_templates() {
    snapshot(
        "sirenspec_templates",
        templates(
            Policy::SIRENSPEC,
            &[
                "{{ a.output || 'x' }} and {{a.output ?? 'x'}}",
                "{{ a.output or 'it\"s' }} and {{ a.output ?: \"x\" }}",
                "{{ a.output | default: 'x' }} and {{ a.output | default 'x' }}",
                "{{ a.output || b.output }}",
                "{{ a.output | upper }}",
                "{{ a.output | defualt('x') }}",
                "{{ a.output | default }}",
                "{{ a.output | default() }}",
                "{{ a.output | default(5) }}",
                "{{ a.output | default('x' }}",
                "{{ a.output | default('x) }}",
                "{{ a.output | default('it's') }}",
                "{{ a.output | default('x') | default('y') }}",
                "{{ a.output | default('x') y }}",
                "{{ | default('x') }}",
                "{{ default('x') }}",
                "{{ a.output or 'x' }}",
                "{{ a.output if b.output else c.output }}",
                "{{ a['output'] }}",
                "{{ a . output }}",
                "{{#if a}}x{{/if}}",
                "{{ a.output == 'x' }}",
                "{{ a.output",
            ],
        ),
    );
}

#[test]
fn aegis_templates() {
    snapshot(
        "aegis_templates",
        templates(
            Policy::AEGIS,
            &[
                "{{ a.output || 'x' }} and {{a.output ?? 'x'}}",
                "{{ a.output or 'it\"s' }} and {{ a.output ?: \"x\" }}",
                "{{ a.output | default: 'x' }} and {{ a.output |default: 'x' }}",
                "{{ a.output || b.output }}",
                "{{}} {{ }} {{{ }}}",
                "{{name",
                "{{{name}} x",
                "{{! never closed",
                "{{!-- a }} b",
                "{{a..b}}",
                "{{a/../b}}",
                "{{a.}}",
                "{{a.this}}",
                "{{a[0]}}",
                "{{a + 1}}",
                "{{a - 1}}",
                "{{a < b}}",
                "{{upperr name}}",
                "{{foo name}}",
                "{{upper}} {{upper a b}}",
                "{{json a pretty=true}}",
                "{{name | upper}}",
                "{{@indx}}",
                "{{(a)}}",
                "{{(upper a}}",
                "{{upper (lower a}}",
                "{{lookup a}}",
                "{{#if}}x{{/if}}",
                "{{#if a b}}x{{/if}}",
                "{{#if eq a b}}x{{/if}}",
                "{{#if a == b}}x{{/if}}",
                "{{#if !a}}x{{/if}}",
                "{{#if a}}x",
                "{{#if a}}x{{/unless}}",
                "{{#each a}}{{#if b}}x{{/each}}",
                "x{{/if}} {{else}}",
                "{{#if a}}x{{else}}y{{else}}z{{/if}}",
                "{{#eech a}}x{{/eech}}",
                "{{#list}}x{{/list}}",
                "{{#each a as |x}}x{{/each}}",
                "{{#each a as |x y z|}}x{{/each}}",
                "{{#if a as |x|}}x{{/if}}",
                "{{> part}} {{#> part}}x{{/part}} {{* d}} {{{{raw}}}} x {{{{/raw}}}}",
                "{{'text}}",
            ],
        ),
    );
}

#[test]
fn agntz_conditions() {
    snapshot(
        "agntz_conditions",
        conditions(
            Policy::AGNTZ,
            &[
                "",
                "  \n ",
                "{{a}} ==",
                "== {{a}}",
                "{{a}} &&",
                "&& {{a}}",
                "{{a}} || || {{b}}",
                "{{a}} == == {{b}}",
                "{{a}} === 1",
                "{{a}} = 1",
                "{{a}} => 1",
                "{{a}} <> 1",
                "!{{a}}",
                "{{a}} & {{b}} | {{c}}",
                "({{a}} || {{b}}) && {{c}}",
                "{{a}} and {{b}} or not {{c}}",
                "{{a}} == b == c",
                "{{a}}{{b}}",
                "{{a}} is b",
                "{{a}} == it's",
                "{{a}} == 'it",
                "{{a || b}}",
                "{{a",
                "{{a} == 1",
                "{{}} == 1",
                "{{#if a}}x{{/if}}",
                "a..b == {{a..b}}",
            ],
        ),
    );
}

#[test]
fn aegis_conditions() {
    snapshot(
        "aegis_conditions",
        conditions(
            Policy::AEGIS,
            &[
                "",
                "a <",
                "a && ",
                "a b",
                "a === 1",
                "a = 1",
                "a => 1",
                "a < b < c",
                "a and b",
                "a is b",
                "(a",
                "{{a < 3",
                "{{#if a}}",
                "a + 1 > 2",
                "a - 1 > 2",
                "eq a",
                "uper a == 'X'",
                "a[0] == 1",
                "a == 'x",
                "a..b",
                "a & b",
                "a)",
            ],
        ),
    );
}

#[test]
fn sirenspec_conditions() {
    snapshot(
        "sirenspec_conditions",
        conditions(
            Policy::SIRENSPEC,
            &[
                "",
                "inputs.message == 'x'",
                "workin.x",
                "working.x ==",
                "== 1",
                "working.x && working.y || !working.z",
                "working.x = 1",
                "working.x === 1",
                "working.x ** 2 // 3",
                "{{ working.x }} == 1",
                "working.x.format('a')",
                "working.x[1:2]",
                "working.x[0",
                "(working.x",
                "working.x)",
                "working.__class__",
                "__import__('os')",
                "open('x')",
                "lenn(working.x)",
                "len",
                "len()",
                "len(1, 2)",
                "lambda: 1",
                "1 if working.x",
                "f'x'",
                "'x' 'y'",
                "'x",
                "working.list.0 == 1",
                "working.my-key",
                "{a: 1}",
                "working.",
                "working.x working.y",
                "0777 + 12abc",
                "working.x == \u{201c}a\u{201d}",
                "not",
            ],
        ),
    );
}

#[test]
fn what_can_be_read_of_a_broken_text_is_there() {
    let read = |text: &str, policy| -> Vec<String> {
        let broken = Template::parse_or_broken(text, &policy).unwrap_err();
        broken.references.iter().map(|r| r.dotted_path()).collect()
    };
    assert_eq!(read("{{a.b}} {{ }} {{c}}", Policy::AGNTZ), ["a.b", "c"]);
    assert_eq!(read("{{a}} {{ b | dflt('') }} {{ c | default('') }} {{", Policy::SIRENSPEC), ["a", "c"]);
    // The effect of an unknown block on the names inside it is unknown as well.
    assert_eq!(read("{{a}}{{#each x}}{{this.y}}{{/each}}{{b}}", Policy::AGNTZ), ["a", "b"]);
    assert_eq!(read("{{#eech x}}{{y}}{{/eech}}{{#if b c}}{{d}}{{/if}}", Policy::AEGIS), ["b", "d"]);
    let condition = Condition::parse_or_broken("{{a}} === 1 && {{b}} == 2", &Policy::AGNTZ).unwrap_err();
    assert_eq!(condition.references.iter().map(|r| r.dotted_path()).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_block_that_is_not_there_is_one_mistake() {
    for (text, policy) in [
        ("{{#each list}}{{this}}", Policy::AGNTZ),
        ("{{#if inputs.x}}yes", Policy::SIRENSPEC),
        ("{{#eech list}}", Policy::AEGIS),
    ] {
        let errors = Template::parse(text, &policy).unwrap_err();
        assert_eq!(errors.iter().map(|e| e.code).collect::<Vec<_>>(), ["template-unknown-block"], "{text}");
    }
}

#[test]
fn a_tag_of_a_block_without_its_braces_is_one_mistake() {
    for policy in [Policy::AGNTZ, Policy::AEGIS] {
        for text in [
            "{{#if a} b {{/if}}",
            "{{#if a}{{a}}{{/if}}",
            "{{#if a}}{{a}}{{/if}",
            "{{#if a}} {{#if b}}c{{/if} d{{/if}}",
            "{{/if",
        ] {
            let errors = Template::parse(text, &policy).unwrap_err();
            assert_eq!(errors.iter().map(|e| e.code).collect::<Vec<_>>(), ["template-unclosed"], "{text}");
        }
        // A block that nothing ends is another one.
        assert_eq!(Template::parse("{{#if a}} {{#if b} c {{/if}}", &policy).unwrap_err().len(), 2);
    }
    let errors = Template::parse("{{#if a == {{b}} }}x{{/if}}", &Policy::AGNTZ).unwrap_err();
    assert_eq!(errors.iter().map(|e| e.code).collect::<Vec<_>>(), ["template-bad-condition"]);
}
