//! `trefoil explain RULE|CODE`: prints the page of a rule or an error code, formatted for a terminal.

use std::fmt::Write as _;

use clap::Args;
use trefoil_check::catalogue::level_word;
use trefoil_check::{RULES, Rule, find_rule};
use trefoil_project::codes::{CODES, CodeOccasion, CodePage, find_code};
use trefoil_syntax::suggestions;

use crate::terminal_text::TerminalText;
use crate::{output, shown};

/// Explain a rule or an error code, with examples and fixes
#[derive(Args)]
pub struct ExplainCommandArgs {
    /// Name of a rule, as shown in `error[RULE]`, or error code of a run, such as `NO_TRANSITION`
    #[arg(value_name = "RULE|CODE")]
    name: String,
}

/// Exit code 0; 1: the page cannot be written; 2: unknown rule or code.
pub fn run(args: &ExplainCommandArgs) -> u8 {
    if let Some(rule) = find_rule(&args.name) {
        return output::write_result(page(rule.page, &about(rule)));
    }
    if let Some(code) = find_code(&args.name) {
        return output::write_result(page(code.page, when(code)));
    }
    let (upper, lower) = (args.name.to_uppercase(), args.name.to_lowercase());
    let names = || RULES.iter().map(|r| r.name).chain(CODES.iter().map(|c| c.name));
    let mut near = None;
    for name in [&args.name, &upper, &lower] {
        near = suggestions::nearest_name(name, names());
        if near.is_some() {
            break;
        }
    }
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`trefoil rules` lists the rules, and docs/errors.md the error codes of runs".to_owned(),
    };
    output::report_not_started(&format!("unknown rule or error code `{}`", args.name), Some(&help))
}

fn when(code: &CodePage) -> &'static str {
    match code.when {
        CodeOccasion::NotStarted => "the run does not start; exit code 2",
        CodeOccasion::Run => "the run fails; exit code 1",
    }
}

/// Formats a page: adds a line about levels below the title, indents examples and removes Markdown syntax.
fn page(text: &str, about: &str) -> TerminalText {
    let bold = anstyle::Style::new().bold();
    let code = anstyle::AnsiColor::Cyan.on_default();
    let styled = |style, text: &str| TerminalText::with_style(style, TerminalText::from_line(text));
    let mut out = TerminalText::default();
    let mut example = false;
    for line in text.trim_end().lines() {
        let line = if let Some(language) = line.strip_prefix("```") {
            example = !example;
            // If an example has several files, the file name follows the language.
            match language.split(' ').skip(1).find(|word| word.contains('.')) {
                Some(file) => shown!("    {}", styled(bold, &format!("{file}:"))),
                None => continue,
            }
        } else if let Some(why) = line.strip_prefix("<!-- no example: ")
            && let Some(why) = why.strip_suffix(" -->")
        {
            shown!("(No example: {}.)", why)
        } else if example && line.is_empty() {
            TerminalText::default()
        } else if example {
            shown!("    {}", styled(code, line))
        } else if let Some(title) = line.strip_prefix("# ") {
            shown!("{}  ({})", styled(bold, title), about)
        } else if let Some(title) = line.strip_prefix("## ") {
            styled(bold, title)
        } else {
            inline(line, code)
        };
        out.push(line);
        out.push("\n");
    }
    out
}

fn about(rule: &Rule) -> String {
    let mut out = format!("{}, {}", rule.group.name(), level_word(rule.level));
    if let Some(strict) = rule.strict {
        let _ = write!(out, ", with --strict {}", level_word(Some(strict)));
    }
    if rule.is_of_loading() {
        out.push_str(", reported by loading");
    }
    out
}

/// Colours the text in backticks. The backticks stay, because they are visible without colours.
fn inline(line: &str, code: anstyle::Style) -> TerminalText {
    let mut out = TerminalText::default();
    for (at, part) in line.split('`').enumerate() {
        match at {
            0 => out.push(part),
            n if n % 2 == 1 => out.push(shown!("`{}", TerminalText::with_style(code, part))),
            _ => out.push(shown!("`{}", part)),
        }
    }
    out
}
