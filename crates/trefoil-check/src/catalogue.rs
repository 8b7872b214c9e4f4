//! The rules as one page of documentation, made from the registry and the rules' own pages.
//!
//! `docs/rules.md` contains this text; a test compares them. Writes no files.

use std::fmt::Write as _;

use trefoil_syntax::FindingSeverity;

use crate::rule::{Rule, RuleGroup, RuleSource};
use crate::rules::RULES;

const HEAD: &str = "# Rules

This page lists the rules of `trefoil check`. It is generated from the rules (`cargo xtask rules`). `trefoil explain RULE` prints
the section of one rule, `trefoil rules` the table.

## Levels

Each rule has a default level: **error** prevents a run, **warning** and **info** are only shown, and **off** has to be
switched on. Some rules choose a level for each finding; the table then shows the usual one. Levels can be changed in several places, and the last one in this list wins:

1. the rule's default level;
2. `--strict`, or `strict = true` in the project file: the stricter levels meant for CI, in the table below;
3. the project file: the `trefoil.toml` in the manifest's folder or in the nearest folder above it;
4. the command line: `--allow RULE`, `--warn RULE`, `--deny RULE`, where a later option overrides an earlier one;
5. a comment in the manifest.

```toml
[rules]
unknown-key = \"deny\"      # or \"warn\", or \"allow\"

[check]
strict = true
max-calls = 200           # model calls allowed in the worst case; the default is 1,000
max-cost = 2.50           # dollars allowed in the worst case; there is no default
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

`allow` applies to its own line or, if it is alone on a line, to the next line that is not a comment. If a text starts on
that line, it applies to the whole text. `allow-file` goes before the first key and applies to the whole file. Text after
`--` is for readers.

Errors reported by *loading* cannot be allowed or lowered, because there is no program to run until they are fixed.
";

/// The whole page.
pub fn render_markdown() -> String {
    let mut out = String::from(HEAD);
    out.push_str("\n## All rules\n\n| rule | level | with `--strict` | found by | finding |\n|---|---|---|---|---|\n");
    for rule in in_order() {
        let found = match rule.run {
            RuleSource::Load | RuleSource::Place => "loading",
            RuleSource::Several(_)
            | RuleSource::Program(_)
            | RuleSource::Declared(_)
            | RuleSource::Whole(_)
            | RuleSource::Tree(_) => "checking",
        };
        let strict = if rule.strict.is_some() { level_word(rule.strict) } else { "" };
        let _ = writeln!(
            out,
            "| [`{0}`](#{0}) | {1} | {strict} | {found} | {2} |",
            rule.name,
            level_word(rule.level),
            rule.page_summary().replace('\n', " ").replace('|', "\\|")
        );
    }
    for group in RuleGroup::ALL {
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
pub fn level_word(severity: Option<FindingSeverity>) -> &'static str {
    match severity {
        Some(FindingSeverity::Error) => "error",
        Some(FindingSeverity::Warning) => "warning",
        Some(FindingSeverity::Info) => "info",
        Some(FindingSeverity::Hint) => "hint",
        None => "off",
    }
}

/// The rules by group and name, the order of the documentation.
pub fn in_order() -> impl Iterator<Item = &'static Rule> {
    let mut rules: Vec<&'static Rule> = RULES.iter().copied().collect();
    rules.sort_by_key(|r| (r.group, r.name));
    rules.into_iter()
}

/// A rule's page, with its headings two levels down.
fn part(out: &mut String, rule: &Rule) {
    let mut code = false;
    out.push('\n');
    for line in rule.page.trim_end().lines() {
        code ^= line.starts_with("```");
        if line.starts_with('#') && !code {
            out.push_str("##");
        }
        let mut shown = line;
        // The text after the language tells the test how to read the block; readers only need the name of another file.
        if line.starts_with("```") {
            let mut info = line.split(' ');
            shown = info.next().unwrap_or(line);
            if let Some(name) = info.find(|word| word.contains('.')) {
                let _ = write!(out, "`{name}`:\n\n");
            }
        }
        out.push_str(shown);
        out.push('\n');
    }
}

fn heading(name: &str) -> String {
    let mut chars = name.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
