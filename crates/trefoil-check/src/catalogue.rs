//! The rules as one page of documentation, made from the registry and the rules' own pages.
//!
//! `docs/rules.md` is this text; a test compares them. Writes nothing itself.

use std::fmt::Write as _;

use trefoil_syntax::Severity;

use crate::rule::{Group, Rule, Run};
use crate::rules::RULES;

const HEAD: &str = "# Rules

What `trefoil check` looks for. This page is generated from the rules (`cargo xtask rules`); `trefoil explain RULE` prints
one rule's part of it, `trefoil rules` the table.

## Levels

A rule has a level of its own: **error** keeps a program from running, **warning** is shown, **info** is worth knowing, and
**off** has to be asked for. Some rules weigh each finding; the table then has the usual level. Others may say otherwise, and the last word counts:

1. the rule's own level;
2. `--strict`, or `strict = true` in the project file: the stricter levels meant for CI, in the table below;
3. the project file, `trefoil.toml`: of each manifest, the one in its folder or in the nearest folder above it;
4. the command line: `--allow RULE`, `--warn RULE`, `--deny RULE`, the later winning over the earlier;
5. a comment in the manifest.

```toml
[rules]
unknown-key = \"deny\"      # or \"warn\", or \"allow\"

[check]
strict = true
max-calls = 200           # model calls that a run may make at worst; 1,000 unless you say less
```

```yaml
# trefoil: allow-file unused-output
id: writer
kind: llm
# trefoil: allow unknown-key
owner: docs-team
model: { provider: openai, name: gpt-4o-mini }
colour: blue   # trefoil: allow unknown-key -- read by our dashboard
```

`allow` counts for the line it stands on, or, alone on a line, for the next line that is no comment; with the whole of a text
whose key or beginning is there. `allow-file` stands before the first key and counts for the file. What comes after `--` is
for people.

An error of the rules that *loading* reports cannot be allowed or lowered by anything: there is no program then.
";

/// The page.
pub fn markdown() -> String {
    let mut out = String::from(HEAD);
    out.push_str("\n## All rules\n\n| rule | level | with `--strict` | found | what |\n|---|---|---|---|---|\n");
    for rule in in_order() {
        let found = match rule.run {
            Run::Load => "loading",
            Run::Program(_) | Run::Tree(_) => "checking",
        };
        let strict = rule.strict.map_or("", |s| level(Some(s)));
        let _ = writeln!(
            out,
            "| [`{0}`](#{0}) | {1} | {strict} | {found} | {2} |",
            rule.name,
            level(rule.level),
            rule.summary().replace('\n', " ").replace('|', "\\|")
        );
    }
    for group in Group::ALL {
        let mut rules = in_order().filter(|r| r.group == group).peekable();
        if rules.peek().is_none() {
            continue;
        }
        let _ = write!(out, "\n## {}\n", heading(group.name()));
        rules.for_each(|rule| part(&mut out, rule));
    }
    out
}

/// `error`, `warning`, `info`, or `off`: a level as tables print it.
pub fn level(severity: Option<Severity>) -> &'static str {
    match severity {
        Some(Severity::Error) => "error",
        Some(Severity::Warning) => "warning",
        Some(Severity::Info) => "info",
        None => "off",
    }
}

/// The rules by group and name, as people look for them.
pub fn in_order() -> impl Iterator<Item = &'static Rule> {
    let mut rules: Vec<&'static Rule> = RULES.iter().copied().collect();
    rules.sort_by_key(|r| (r.group, r.name));
    rules.into_iter()
}

/// A rule's page, its headings two levels down.
fn part(out: &mut String, rule: &Rule) {
    let mut code = false;
    out.push('\n');
    for line in rule.page.trim_end().lines() {
        code ^= line.starts_with("```");
        if line.starts_with('#') && !code {
            out.push_str("##");
        }
        // What follows the language says how the test reads the block; a reader wants the name of a further file.
        let mut info = line.split(' ').filter(|_| line.starts_with("```"));
        let line = info.next().unwrap_or(line);
        if let Some(name) = info.find(|word| word.contains('.')) {
            let _ = write!(out, "`{name}`:\n\n");
        }
        out.push_str(line);
        out.push('\n');
    }
}

fn heading(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
