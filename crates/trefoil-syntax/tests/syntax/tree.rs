//! The result of parsing: kinds, values, spans.

use std::fmt::Write as _;

use trefoil_syntax::yaml::{YamlNode, YamlNodeKind, YamlScalar, YamlStyle};

use crate::{read, slice};

/// A tree as text: kind, value and raw bytes of each node.
fn print(text: &str, node: &YamlNode, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    match &*node.kind {
        YamlNodeKind::Scalar(scalar, t) => {
            writeln!(out, "{pad}{scalar:?} {:?} = {:?}", t.value, slice(text, node.span)).unwrap();
        }
        YamlNodeKind::Sequence(items) => {
            writeln!(out, "{pad}list {:?}", slice(text, node.span)).unwrap();
            items.iter().for_each(|n| print(text, n, indent + 2, out));
        }
        YamlNodeKind::Mapping(mapping) => {
            writeln!(out, "{pad}mapping {:?}", slice(text, node.span)).unwrap();
            for e in &mapping.entries {
                writeln!(out, "{pad}  key {:?} = {:?}", e.key.value, slice(text, e.key.span)).unwrap();
                print(text, &e.value, indent + 4, out);
            }
        }
    }
}

fn printed(text: &str) -> String {
    let (_, parsed) = read(text);
    assert_eq!(parsed.diagnostics, [], "{text}");
    assert!(parsed.complete);
    let mut out = String::new();
    print(text, &parsed.root.unwrap(), 0, &mut out);
    out
}

/// The value at a path of keys.
fn at<'a>(node: &'a YamlNode, path: &[&str]) -> &'a YamlNode {
    path.iter().fold(node, |node, key| &node.as_mapping().unwrap().get(key).unwrap().value)
}

#[test]
fn every_kind_of_node_has_its_bytes() {
    insta::assert_snapshot!(printed(
        "\
# a comment
name: greet  # another
'quoted key': \"a \\\"b\\\" \\u00e9\"
empty:
tilde: ~
text: |-
  first
    second

folded: >
  one
  two
list:
- 1
- - nested
  -
- {a: b, c, \"d\":e}
flow: [x, {y: z}, k: v]
? explicit
: value
numbers: [0x1F, 0o17, -1.5e3, .inf, 18446744073709551615]
multi: one
  two

  three
"
    ), @r#"
    mapping "name: greet  # another\n'quoted key': \"a \\\"b\\\" \\u00e9\"\nempty:\ntilde: ~\ntext: |-\n  first\n    second\n\nfolded: >\n  one\n  two\nlist:\n- 1\n- - nested\n  -\n- {a: b, c, \"d\":e}\nflow: [x, {y: z}, k: v]\n? explicit\n: value\nnumbers: [0x1F, 0o17, -1.5e3, .inf, 18446744073709551615]\nmulti: one\n  two\n\n  three"
      key "name" = "name"
        Str "greet" = "greet"
      key "quoted key" = "'quoted key'"
        Str "a \"b\" é" = "\"a \\\"b\\\" \\u00e9\""
      key "empty" = "empty"
        Null "" = ""
      key "tilde" = "tilde"
        Null "~" = "~"
      key "text" = "text"
        Str "first\n  second" = "|-\n  first\n    second"
      key "folded" = "folded"
        Str "one two\n" = ">\n  one\n  two"
      key "list" = "list"
        list "- 1\n- - nested\n  -\n- {a: b, c, \"d\":e}"
          Int(1) "1" = "1"
          list "- nested\n  -"
            Str "nested" = "nested"
            Null "" = ""
          mapping "{a: b, c, \"d\":e}"
            key "a" = "a"
              Str "b" = "b"
            key "c" = "c"
              Null "" = ""
            key "d" = "\"d\""
              Str "e" = "e"
      key "flow" = "flow"
        list "[x, {y: z}, k: v]"
          Str "x" = "x"
          mapping "{y: z}"
            key "y" = "y"
              Str "z" = "z"
          mapping "k: v"
            key "k" = "k"
              Str "v" = "v"
      key "explicit" = "explicit"
        Str "value" = "value"
      key "numbers" = "numbers"
        list "[0x1F, 0o17, -1.5e3, .inf, 18446744073709551615]"
          Int(31) "0x1F" = "0x1F"
          Int(15) "0o17" = "0o17"
          Float(-1500.0) "-1.5e3" = "-1.5e3"
          Float(inf) ".inf" = ".inf"
          UInt(18446744073709551615) "18446744073709551615" = "18446744073709551615"
      key "multi" = "multi"
        Str "one two\nthree" = "one\n  two\n\n  three"
    "#);
}

#[test]
fn a_value_that_is_missing_sits_behind_its_colon() {
    let text = "a:\nb:   # nothing\nc: &x\nd: {e: , f}\n";
    let (_, parsed) = read(text);
    let root = parsed.root.unwrap();
    let start = |path: &[&str]| at(&root, path).span.start as usize;
    assert_eq!(start(&["a"]), 2);
    assert_eq!(start(&["b"]), text.find("b:").unwrap() + 2);
    assert_eq!(start(&["c"]), text.find("&x").unwrap() + 2);
    assert_eq!(start(&["d", "e"]), text.find("e:").unwrap() + 2);
    assert!(at(&root, &["d", "f"]).is_null());
}

#[test]
fn the_header_of_a_block_scalar_belongs_to_it_whatever_stands_before() {
    for (text, written) in [
        ("a: |\n  x\n", "|\n  x"),
        ("a: !!str &anchor |2-  # | > comment\n\n    x\nb: 1\n", "|2-  # | > comment\n\n    x"),
        ("a: &n !<tag:yaml.org,2002:str> >+\n x\n\n", ">+\n x"),
        ("- - |\n   x\n", "|\n   x"),
        ("--- |\n x\n", "|\n x"),
        ("%YAML 1.2\n--- # c | d\n>\n x\n", ">\n x"),
        ("\u{feff}# | c\n|\n x\n", "|\n x"),
        ("\r\u{feff}\n>\nx\n", ">\nx"),
        ("? |\n x\n: y\n", "|\n x"),
        ("a:\n  # comment with | in it\n\n  |\n  x\n", "|\n  x"),
        ("a: |\n\n\nb: 1\n", "|"),
    ] {
        let (_, parsed) = read(text);
        assert_eq!(parsed.diagnostics, [], "{text}");
        fn first(node: &YamlNode) -> &YamlNode {
            match &*node.kind {
                YamlNodeKind::Sequence(items) => first(&items[0]),
                YamlNodeKind::Mapping(m) if m.entries[0].key.style == YamlStyle::Literal => node,
                YamlNodeKind::Mapping(m) => first(&m.entries[0].value),
                YamlNodeKind::Scalar(..) => node,
            }
        }
        let root = parsed.root.unwrap();
        let node = first(&root);
        let span = node.as_mapping().map_or(node.span, |m| m.entries[0].key.span);
        assert_eq!(slice(text, span), written, "{text}");
    }
}

#[test]
fn an_alias_shares_the_value_and_keeps_its_own_place() {
    let text = "base: &b {x: [1]}\ncopy: *b\n*k : v\n".replace("*k", "? &k key\n: 1\ncopied: {*k : 2}\nz");
    let (_, parsed) = read(&text);
    assert_eq!(parsed.diagnostics, []);
    let root = parsed.root.unwrap();
    let copy = at(&root, &["copy"]);
    assert_eq!(slice(&text, copy.span), "*b");
    assert!(std::sync::Arc::ptr_eq(&copy.kind, &at(&root, &["base"]).kind));
    assert_eq!(slice(&text, at(copy, &["x"]).span), "[1]");
    let key = &at(&root, &["copied"]).as_mapping().unwrap().entries[0].key;
    assert_eq!((&*key.value, slice(&text, key.span), slice(&text, key.content_span())), ("key", "*k", "key"));
}

#[test]
fn an_anchor_may_be_defined_again_and_the_alias_takes_the_last_one() {
    let (_, parsed) = read("a: &x 1\nb: &x 2\nc: *x\n");
    assert_eq!(parsed.diagnostics, []);
    assert_eq!(at(&parsed.root.unwrap(), &["c"]).as_scalar().unwrap().0, YamlScalar::Int(2));
}

#[test]
fn merge_keys_give_way_to_what_is_written_and_to_what_came_first() {
    let keys = |text: &str| -> Vec<String> {
        let (_, parsed) = read(text);
        assert_eq!(parsed.diagnostics, [], "{text}");
        let root = parsed.root.unwrap();
        let mapping = at(&root, &["m"]).as_mapping().unwrap();
        mapping.entries.iter().map(|e| format!("{}={}", e.key.value, e.value.as_scalar().unwrap().1.value)).collect()
    };
    let base = "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\n";
    assert_eq!(keys(&format!("{base}m:\n  <<: *a\n  y: 9\n  q: 0\n")), ["x=1", "y=9", "q=0"]);
    assert_eq!(keys(&format!("{base}m:\n  y: 9\n  <<: *a\n")), ["y=9", "x=1"]);
    assert_eq!(keys(&format!("{base}m:\n  <<: [*a, *b]\n")), ["x=1", "y=2", "z=4"]);
    assert_eq!(keys(&format!("{base}m: {{<<: {{k: v}}}}\n")), ["k=v"]);
    // In quotes it is an ordinary key.
    assert_eq!(keys("m: {'<<': 1}\n"), ["<<=1"]);
}

#[test]
fn large_mappings_find_duplicates_and_keep_their_order() {
    let mut text: String = (0..50).map(|i| format!("key{i}: {i}\n")).collect();
    let (_, parsed) = read(&text);
    let root = parsed.root.unwrap();
    let entries = &root.as_mapping().unwrap().entries;
    assert!(entries.iter().enumerate().all(|(i, e)| *e.key.value == format!("key{i}")));
    text.push_str("key7: again\n");
    let (_, parsed) = read(&text);
    assert_eq!(parsed.diagnostics.len(), 1);
    assert_eq!(slice(&text, parsed.diagnostics[0].labels[0].location.span), "key7");
    assert_eq!(parsed.diagnostics[0].labels[0].location.span.start as usize, text.find("key7").unwrap());
}

#[test]
fn core_tags_force_types() {
    let text = "a: !!str 12\nb: !!int \"12\"\nc: !!float 1\nd: ! true\ne: !!seq []\nf: !!map {}\ng: !!null ''\nh: !<tag:yaml.org,2002:bool> 'true'\n";
    let (_, parsed) = read(text);
    assert_eq!(parsed.diagnostics, []);
    let root = parsed.root.unwrap();
    let scalar = |key: &str| at(&root, &[key]).as_scalar().unwrap().0;
    assert_eq!(scalar("a"), YamlScalar::Str);
    assert_eq!(scalar("b"), YamlScalar::Int(12));
    assert_eq!(scalar("c"), YamlScalar::Float(1.0));
    assert_eq!(scalar("d"), YamlScalar::Str);
    assert_eq!(scalar("g"), YamlScalar::Null);
    assert_eq!(scalar("h"), YamlScalar::Bool(true));
}

#[test]
fn json_is_yaml() {
    let (_, parsed) = read("{\"a\":[1,true,null,\"x\\n\\ud83d\\ude00\"],\n\t\"b\":{\"c\":-0.5}}");
    assert_eq!(parsed.diagnostics, []);
    let root = parsed.root.unwrap();
    assert_eq!(&*at(&root, &["a"]).as_sequence().unwrap()[3].as_string().unwrap().value, "x\n😀");
    assert_eq!(at(&root, &["b", "c"]).as_scalar().unwrap().0, YamlScalar::Float(-0.5));
}
