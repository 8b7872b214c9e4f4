//! All known mistakes, as users see them. The table is the contract: one line for each case, and the snapshot shows the
//! findings.

use expect_test::expect;
use trefoil_syntax::diagnostic::render;
use trefoil_syntax::yaml::{self, YamlLimits};
use trefoil_syntax::{FindingSeverity, SourceFile, SourceFiles};

use crate::{read, slice};

/// Rules whose findings do not make a file invalid.
const WARNINGS: [&str; 4] = ["yaml-directive", "yaml-typographic-quotes", "yaml-cut-by-comment", "yaml-stray-quote"];

/// Name and text.
const CASES: &[(&str, &str)] = &[
    // Templates without quotes.
    ("braces alone", "when: {{ x }}\nb: 1\n"),
    ("braces with a tail", "a: {{ x }} tail # comment\nb: 1\n"),
    ("braces with quotes inside", "a: {{ x }} == \"it's\"\n"),
    ("braces with a block", "a: {{#if x}}yes{{/if}}\n"),
    ("braces with an index", "- a: {{ x.y[0] }}\n"),
    ("braces with a colon", "a: {{ x }}: {{ y }}\n"),
    ("braces that stay open", "a: {{ x\nb: 1\n"),
    ("braces in brackets", "a: [{{ x }}, {{ y }}]\n"),
    ("statement", "a: {% if x %}\n"),
    // Values that need quotes.
    ("colon in a value", "description: Note: this\n"),
    ("at sign", "a: @foo\n"),
    ("backtick", "a: `x`\n"),
    ("percent", "a: %x\n"),
    ("bold text", "a: **bold** text\n"),
    ("asterisk", "- *\n"),
    ("exclamation", "a: !important do it\n"),
    ("undeclared tag", "a: !e!x y\nb: 1\n"),
    ("text behind a list", "a: [1, 2] x\n"),
    ("hash behind a blank", "a: Ticket #{{id}} of {{x}}\nb: c # {{d}}\ne: f #g\n"),
    (
        "hash in a sentence",
        "a: Issue #4 is open\nb: Post in the channel #general\nc: Fix issue # 4 of the list\nd: Use tags (such as # or #a)\ne: Write with care and #joy\n",
    ),
    (
        "hash in the middle of a sentence",
        "a: Answer riddle # 3 of the list\nb: Write about the product # {{name}} for kids\nc: Sum of all prices # 2 decimals\nd: gpt # {{x}}\ne: Say it twice. # {{x}}\n",
    ),
    ("hash instead of a value", "a: #ff8800\nb: #general\nc: support #2\n"),
    ("hash behind a quote", "a: \"b\"#c\n"),
    ("dash and bracket", "a: [-, -[x]]\n"),
    ("closing bracket", "a: ]\n"),
    ("first key of several too far in", "a:\n   b: 1\n  c: 2\n  d: 3\n"),
    ("first line too far in", " a: 1\nb: 2\nc: 3\n"),
    ("first line alone, before a block", "t\n>\n:\n"),
    ("first line without a blank", "a:\"1\"\n# x\nb: 2\nc: 3\n"),
    // Markdown.
    ("fence", "```yaml\na: 1\n```\n"),
    ("fence with words", "Here it is:\n\n```yaml\na: 1\nb: @c\n```\n\nHave fun!\n"),
    ("fence at the end", "a: 1\n```\n"),
    ("fence that stays open", "~~~\na: 1\n"),
    // Quotes.
    ("quotes of a word processor", "a: “b c”\nd: “e” and “f”\n"),
    ("quote that nothing opens", "a: Do it.\"\nb: {c: d\"}\ne: 6\"\nf: say \"x\"\n"),
    ("quote that stays open", "a: \"un\nb: 1\n"),
    ("quote that stays open to the end", "a: 'un\n  more\n"),
    ("quote across a document", "a: \"x\n---\nb\"\n"),
    ("apostrophe", "a: 'it's fine'\n"),
    ("quotes in quotes", "a: \"say \"hi\" now\"\n"),
    ("unknown escape", "a: \"C:\\dir\"\n"),
    ("hexadecimal", "a: \"ok \\x41 \\u12G4\"\n"),
    ("half a pair", "a: \"\\uD83D x\"\n"),
    ("beyond Unicode", "a: \"\\U00110000\"\n"),
    // Brackets.
    ("list that stays open", "a: [b, c\nd: e\nf: g\n"),
    ("mapping that stays open", "a: {b: c\nd: 1\n"),
    ("list open at the end", "a: [1, 2"),
    ("empty list that stays open", "a:\n  b: [\nc: {d: 1}\ne: 2\n"),
    ("wrong bracket", "a: [1, 2}\nb: 1\n"),
    ("no comma", "a: [\"b\" \"c\"]\n"),
    ("item in brackets", "a: [\n  - b\n]\n"),
    // Indentation.
    ("tab", "a:\n\tb: 1\n"),
    ("tab below a value", "a: b\n\tc: d\n"),
    ("tab in a block", "a: |\n\tb\n"),
    ("further than the key above", "a: 1\n  b: 2\n"),
    ("between two levels", "a:\n    b: 1\n  c: 2\n"),
    ("left of everything", "  a: 1\n b: 2\n"),
    ("item between two levels", "a:\n  - b\n - c\n"),
    ("item among keys", "a: 1\n- b\n"),
    ("key among items", "- a\nb: 1\n"),
    ("key at the level of the items", "- id: a\n  x: 1\n- id: b\nx: 2\n"),
    ("item behind a key", "a: - b\n"),
    ("block text too far left", "a: |\n  text\n bad\nb: 1\n"),
    ("text behind the bar", "a: | text\n  b\n"),
    ("block indentation of zero", "a: |0\n  x\n"),
    ("leading blank line too deep", "a: |\n     \n  x\n"),
    (
        "a hashtag, and placeholders in a comment",
        "a: Describe {{shop}} #fresh\nb: Compare {{fruit}} # {{shop}}\nc: Write a text. #first\nd: Cook # {{dish}}\n",
    ),
    ("comment inside a value", "a: x # c\n  y\nb: 1\n"),
    // Keys.
    ("no colon", "a: 1\nfoo\nb: 2\n"),
    ("no space behind the colon", "key:value\nother: 1\n"),
    ("key twice", "a: 1\nb: 2\na: 3\n"),
    ("key twice in other quotes", "{\"a\": 1, 'a': 2}\n"),
    ("list as key", "? [x]\n: 1\n"),
    ("no key", ": 1\n"),
    ("merge of a number", "a: {<<: 3}\n"),
    ("merge of nothing", "a:\n  <<:\n"),
    ("merge twice", "b: &b {x: 1}\na: {<<: *b, <<: *b}\n"),
    // Anchors, tags, documents.
    ("unknown alias", "a: *nope\n"),
    ("alias as key", "*nope : 1\n"),
    ("alias in itself", "a: &x [1, *x]\n"),
    ("tag of the wrong kind", "a: !!int many\nb: !!map [1]\n"),
    ("tag that is not core", "a: !!binary aGk=\nb: !<x:y> 1\n"),
    ("two documents", "a: 1\n---\nb: 2\n"),
    ("three documents", "--- # first\na: 1\n---\nb: 2\n---\nc: 3\n"),
    ("text behind the end", "a: 1\n... b\n"),
    ("old version", "%YAML 1.1\n---\na: yes\n"),
    ("percent at the margin", "%FOO\na: 1\n"),
    ("version twice", "%YAML 1.2\n%YAML 1.2\n---\na: 1\n"),
    // Empty files, and files that are not text.
    ("empty", ""),
    ("blank", "\n \n"),
    ("only comments", "# a\n---\n"),
    ("NUL", "a: b\0c\n"),
    ("control character", "a: b\u{7}c\nd: 1\n"),
    ("byte order mark inside", "a: 1\n\u{feff}b: 2\n"),
    // Several mistakes at once.
    (
        "one of each",
        "steps:\n  - id: a\n    prompt: Note: this\n  - id: b\n   when: x\ninputs: [a, b\noutputs:\n  x: {{ y }} z\n  - q\nsteps: 2\nlast: \"ok\"\n",
    ),
];

#[test]
fn each_mistake_is_told_with_its_place_and_what_to_do() {
    let mut out = String::new();
    for (name, text) in CASES {
        let (files, parsed) = read(text);
        out.push_str(&format!("## {name}\n\n"));
        out.push_str(&render::render_text(&parsed.diagnostics, &files, render::TextOptions::default()));
        let keys = parsed.root.as_ref().and_then(|r| r.as_mapping()).map(|m| {
            m.entries
                .iter()
                .map(|e| format!("{}={}", e.key.value, e.value.kind_description()))
                .collect::<Vec<_>>()
                .join(", ")
        });
        let rest = if parsed.complete { "" } else { ", and more" };
        out.push_str(&format!("\ntree: {}{rest}\n\n", keys.unwrap_or("-".into())));
    }
    insta::assert_snapshot!(out);
}

#[test]
fn bytes_that_are_not_utf8_are_told_too() {
    let told = |bytes: &[u8]| {
        let mut files = SourceFiles::default();
        let id = files.add_file(SourceFile::from_bytes("flow.yaml", bytes.to_vec()));
        let parsed = yaml::parse(id, files.get(id).unwrap(), &YamlLimits::default());
        assert!(parsed.root.is_none());
        render::render_text(&parsed.diagnostics, &files, render::TextOptions::default())
    };
    expect_test::expect![[r#"
        error[yaml-encoding]: the file is not UTF-8 text
         --> flow.yaml:2:7
          |
        2 | b: caf�
          |       ^
          |
          = help: save the file as UTF-8
    "#]]
    .assert_eq(&told(b"a: 1\nb: caf\xe9\n"));
    expect_test::expect![[r#"
        error[yaml-encoding]: the file is not UTF-8 text
         --> flow.yaml:1:1
          |
        1 | ��a␀:␀ ␀1␀
          | ^
          |
          = help: it looks like UTF-16 or a binary file; save it as UTF-8
    "#]]
    .assert_eq(&told(b"\xff\xfea\0:\0 \x001\0"));
}

#[test]
fn comments_after_short_values_and_whole_sentences_are_comments() {
    for line in [
        "80 #1",
        "gpt-4 #cheap",
        "true # the default",
        "Write a text # 3 lines at most.",
        "Write a long text #TODO shorter",
        "Answer the user # in English, for (now)",
        "words #",
        "a text of many words ## and more",
        "\"Use the tag\" #news",
        "# the default",
        "#todo",
        "#1",
    ] {
        let (_, parsed) = read(&format!("a: {line}\nb: 1\n"));
        assert!(parsed.diagnostics.is_empty(), "{line}");
    }
}

#[test]
fn no_case_is_silent() {
    for (name, text) in CASES {
        let (files, parsed) = read(text);
        assert!(!parsed.diagnostics.is_empty(), "{name}");
        for d in &parsed.diagnostics {
            assert!(!d.message.ends_with('.') && !d.message.starts_with(char::is_uppercase), "{}", d.message);
            assert!(d.severity == FindingSeverity::Error || WARNINGS.contains(&d.rule));
            let file = files.get(d.file.unwrap()).unwrap();
            for span in d.span.iter().chain(d.labels.iter().map(|l| &l.location.span)) {
                assert!(span.start <= span.end && span.end as usize <= file.text().len(), "{name}: {span:?}");
                let _ = slice(text, *span);
            }
        }
    }
}

#[test]
fn what_comes_after_a_mistake_is_read_all_the_same() {
    let (_, parsed) = read("a: Note: x\nb: {{ y }} z\nc:\n  - @d\n  - \"e\" f\ng: 1\n");
    assert_eq!(parsed.diagnostics.len(), 4);
    assert!(parsed.complete);
    let root = parsed.root.unwrap();
    let text = |key: &str| root.as_mapping().unwrap().get(key).unwrap().value.as_string().unwrap().clone();
    assert_eq!(&*text("a").value, "Note: x");
    assert_eq!(&*text("b").value, "{{ y }} z");
    let items = root.as_mapping().unwrap().get("c").unwrap().value.as_sequence().unwrap();
    let items: Vec<&str> = items.iter().map(|n| &*n.as_string().unwrap().value).collect();
    assert_eq!(items, ["@d", "\"e\" f"]);
    assert!(root.as_mapping().unwrap().get("g").is_some());
}

#[test]
fn a_text_with_many_mistakes_ends() {
    // More mistakes than are recovered from: the first ones are reported, and the tree is marked as incomplete.
    let text: String = (0..100).map(|i| format!("k{i}: a: b\n")).collect();
    let (_, parsed) = read(&text);
    assert!(!parsed.complete);
    assert!((10..100).contains(&parsed.diagnostics.len()));
    assert!(parsed.root.unwrap().as_mapping().unwrap().entries.len() >= 10);
}

#[test]
fn a_line_that_slipped_is_shown_beside_the_one_that_cannot_stand_because_of_it() {
    let labels = |text: &str| {
        let file = SourceFile::new("a.yaml", text);
        let found =
            yaml::parse(SourceFiles::default().add_file(file.clone()), &file, &YamlLimits::default()).diagnostics;
        let labels = found.into_iter().flat_map(|d| d.labels);
        labels.map(|l| format!("{} {}", file.line_column(l.location.span.start).line, l.message)).collect::<Vec<_>>()
    };
    let texts = [
        "model:\n  provider: x\nname: y\n  temperature: 0.2\n",
        "in:\n  b:\n  type: number\n    min: 0\n",
        "steps:\n    - ref: c\n    input: d\n",
    ];
    let told = texts.map(|text| format!("{text}--> {}\n", labels(text).join(", ")));
    expect![[r#"
        model:
          provider: x
        name: y
          temperature: 0.2
        --> 3 this line is indented less than its neighbours
        in:
          b:
          type: number
            min: 0
        --> 3 this line is not indented further than the key above it
        steps:
            - ref: c
            input: d
        --> 2 or the item is indented too far; its keys are aligned two columns after its `-`
    "#]]
    .assert_eq(&told.concat());
    assert_eq!(labels("a: b\n  c: d\n"), [""; 0]);
}
