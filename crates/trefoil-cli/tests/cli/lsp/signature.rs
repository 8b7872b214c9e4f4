//! Signature help for helpers, filters and functions while they are being typed.

use serde_json::{Value, json};

use super::{AEGIS, AGNTZ, SIRENSPEC, one, with};

/// The label and the active argument at the bar of `new`, which replaces `old` in a text.
fn shown(text: &str, old: &str, new: &str) -> Option<(String, String)> {
    let mut client = one(&text.replace(old, &new.replace('‸', "")));
    let found = with(&mut client, "textDocument/signatureHelp", "a.yaml", new, json!({}));
    let signature = &found["signatures"][0];
    let label = signature["label"].as_str()?.to_owned();
    let active = found["activeParameter"].as_u64().unwrap() as usize;
    let range = &signature["parameters"][active]["label"];
    let (start, end) = (range[0].as_u64().unwrap() as usize, range[1].as_u64().unwrap() as usize);
    let argument = label[start..end].to_owned();
    Some((label, argument))
}

fn is(label: &str, argument: &str) -> Option<(String, String)> {
    Some((label.to_owned(), argument.to_owned()))
}

#[test]
fn helpers_say_which_argument_comes_next() {
    let default = "{{default WRITE.output 'nothing'}}";
    assert_eq!(shown(AEGIS, default, "{{default ‸WRITE.output 'nothing'}}"), is("default path 'text'", "path"));
    assert_eq!(shown(AEGIS, default, "{{default WRITE.output ‸'nothing'}}"), is("default path 'text'", "'text'"));
    assert_eq!(shown(AEGIS, "(eq WRITE.status 'success')", "(eq WRITE.status ‸'success')"), is("eq a b", "b"));
    // While it is being typed, with nothing closed.
    assert_eq!(shown(AEGIS, default, "{{#if (gt WRITE.output ‸"), is("gt a b", "b"));
    assert_eq!(shown(AEGIS, default, "{{WRITE.out‸put}}"), None);
    assert_eq!(shown(AEGIS, "echo hi", "echo d‸efault "), None);
}

#[test]
fn filters_functions_and_blocks_too() {
    assert_eq!(shown(SIRENSPEC, "default('all')", "default(‸'all')"), is("default('text')", "'text'"));
    assert_eq!(shown(SIRENSPEC, "default('all') }}", "json_or_default(‸"), is("json_or_default('[]')", "'[]'"));
    assert_eq!(shown(SIRENSPEC, "len(working.outline)", "len(‸working.outline)"), is("len(x)", "x"));
    assert_eq!(shown(SIRENSPEC, "len(working.outline) > 3", "\"max(1, ‸2) > 3\""), is("max(a, b)", "b"));
    assert_eq!(shown(AGNTZ, "{{#if topic == 'foxes'}}", "{{#if ‸topic == 'foxes'}}"), is("#if path", "path"));
    assert_eq!(shown(AGNTZ, "{{#if topic == 'foxes'}}", "{{topic ‸}}"), None);
}

#[test]
fn nothing_is_said_elsewhere() {
    let mut client = one(AGNTZ);
    assert_eq!(with(&mut client, "textDocument/signatureHelp", "a.yaml", "kind: seq‸uential", json!({})), Value::Null);
}
