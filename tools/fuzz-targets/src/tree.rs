//! Parses and walks YAML trees, for several targets.

use trefoil_syntax::yaml::{YamlDocument, YamlLimits, YamlNode, YamlNodeKind, YamlText, parse};
use trefoil_syntax::{FileId, SourceFile, SourceFiles};

/// Small limits, so that inputs are likely to reach them.
pub(crate) const LIMITS: YamlLimits = YamlLimits { bytes: 1 << 16, depth: 24, nodes: 5000, aliased: 1 << 18 };

/// Complete manifests, and single scalars in every style.
pub(crate) const SEEDS: &[&str] = &[
    "id: review\nkind: sequential\nsteps:\n  - id: draft\n    agent:\n      id: writer\n      prompt: |\n        Write about {{topic}}.\n\n        {{#if tone}}Tone: {{tone}}{{/if}}\n    when: \"{{topic}} != ''\"\n  - ref: reviewer\n    input: {text: \"{{draft}}\", \"n\": 0x1F}\n",
    "defaults: &d {model: m, t: 0.5}\nagents:\n  a:\n    <<: *d\n    prompt: >-\n      folded\n      text\n\n        more\n  b: {<<: [*d, {x: 1}], list: [1, -2, .inf, ~, \"\\u00e9\\ud83d\\ude00\\\n    b\"]}\n",
    "\u{feff}# comment\r\n%: 1\r\ntext: 'it''s\r\n\r\n  two lines'\r\nother: plain\r\n  on two  \r\n\r\n  lines\r\n",
    "? complex\n: - nested\n  - - deeper\n    -\n  - {a: b, c, \"d\":e}\n!!str 12: ! 13\nanchored: &x !!seq [*x, &y z, *y]\n",
    "when: {{ x }}\na: {{ y }} and more\nb: [{{ z }}, w]\nc: Note: this\nd: @foo\ne: 'it's'\nf: \"\\q\"\ng: [1, 2\nh: ok\n",
    "%YAML 1.1\n--- # first\n>2+\n   x\n  y\n\n\n...\n---\nsecond\n",
    "\u{feff}%\n>\nx\n",
    "a: \"un\nb: |\n\tx\nc:\n - 1\n- 2\n  d: |9\n  e: *nope\na: 1\na: 2\n",
];

/// Elements of YAML syntax.
pub(crate) const WORDS: &[&str] = &[
    "{{ x }}",
    "{{",
    "}}",
    ": ",
    ":",
    "- ",
    "\n",
    "\n\n",
    "\n  ",
    "\r\n",
    "\r",
    "|\n",
    "|-2\n",
    ">\n",
    ">+\n",
    "&a ",
    "*a",
    "<<: ",
    "<<: *a",
    "!!str ",
    "!!int ",
    "! ",
    "!x ",
    "\"",
    "'",
    "''",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\x41",
    "\\\n",
    "\\n",
    "\\",
    "\t",
    " #",
    "#",
    "---\n",
    "...\n",
    "\u{feff}",
    "é",
    "😀",
    "\u{2028}",
    "\u{85}",
    "? ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "%YAML 1.2\n",
    "%TAG ! x:\n",
    "\0",
    "\u{7}",
    "~",
    "null",
    "0x1",
    "1e5",
    "key: value\n",
    "  ",
    "    ",
    "@",
    "`",
    "x",
    "a: 1\n",
];

/// Parses bytes as the only file.
pub(crate) fn read(bytes: &[u8]) -> (SourceFiles, YamlDocument) {
    let mut files = SourceFiles::default();
    let id = files.add_file(SourceFile::from_bytes("fuzz.yaml", bytes.to_vec()));
    let parsed = files.get(id).map(|file| parse(id, file, &LIMITS)).unwrap_or_default();
    (files, parsed)
}

/// The text of the only file.
pub(crate) fn text(files: &SourceFiles) -> &str {
    files.get(FileId(0)).map_or("", |f| f.text())
}

/// Calls `on_node` with every node and its depth, and `on_text` with every key and scalar.
pub(crate) fn walk(
    node: &YamlNode,
    depth: usize,
    on_node: &mut dyn FnMut(&YamlNode, usize),
    on_text: &mut dyn FnMut(&YamlText),
) {
    on_node(node, depth);
    match &*node.kind {
        YamlNodeKind::Scalar(_, text) => on_text(text),
        YamlNodeKind::Sequence(items) => items.iter().for_each(|n| walk(n, depth + 1, on_node, on_text)),
        YamlNodeKind::Mapping(mapping) => {
            for entry in &mapping.entries {
                on_text(&entry.key);
                walk(&entry.value, depth + 1, on_node, on_text);
            }
        }
    }
}
