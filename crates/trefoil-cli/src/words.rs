//! Formats times, numbers and texts for a terminal, and escapes control characters.

use trefoil::runs::NewResults;
use trefoil_ir::prices::DollarAmount;
use trefoil_runtime::Usage;
use trefoil_template::{Value, json_text};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

pub use crate::terminal_text::escape_line;

/// `exit 1: ls: no such file`, or `exit 1` if the command has written nothing.
pub fn exit_line(code: impl std::fmt::Display, stderr: &str) -> String {
    match stderr.trim() {
        "" => format!("exit {code}"),
        stderr => format!("exit {code}: {stderr}"),
    }
}

/// `1,234`
pub fn group_digits(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// The length of a truncated answer: `1,200 characters had arrived`.
pub fn received_length(characters: usize) -> String {
    let unit = if characters == 1 { "character" } else { "characters" };
    format!("{} {unit} received", group_digits(characters as u64))
}

/// `12 ms`, `1.2 s`, `2:05 min`
pub fn format_time(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1000.0),
        _ => format!("{}:{:02} min", ms / 60_000, ms % 60_000 / 1000),
    }
}

/// `4 calls`
pub fn format_calls(n: u64) -> String {
    if n == 1 { "1 call".to_owned() } else { format!("{} calls", group_digits(n)) }
}

/// `1 model call and 2 tool calls made, 1 command run`
pub fn format_new_results(made: NewResults) -> String {
    let some = |n: u64, noun: &str| format!("{} {noun}{}", group_digits(n), if n == 1 { "" } else { "s" });
    let mut calls = Vec::new();
    if made.model_calls > 0 {
        calls.push(some(made.model_calls, "model call"));
    }
    if made.tool_calls > 0 {
        calls.push(some(made.tool_calls, "tool call"));
    }
    let mut all = Vec::new();
    if !calls.is_empty() {
        all.push(format!("{} made", calls.join(" and ")));
    }
    if made.commands > 0 {
        all.push(format!("{} run", some(made.commands, "command")));
    }
    if made.questions > 0 {
        all.push(format!("{} asked", some(made.questions, "question")));
    }
    if all.is_empty() { "no calls made".to_owned() } else { all.join(", ") }
}

/// `1,204 tokens in (100 cached), 322 out`; with a `?` if the usage of a call is unknown.
pub fn format_tokens(usage: &Usage) -> String {
    let figure = |n: u64| match (n, usage.is_known()) {
        (n, true) => group_digits(n),
        (0, false) => "?".to_owned(),
        (n, false) => format!("{}+?", group_digits(n)),
    };
    let cached = match usage.cached_tokens {
        0 => String::new(),
        n => format!(" ({} cached)", group_digits(n)),
    };
    format!("{} tokens in{cached}, {} out", figure(usage.input_tokens), figure(usage.output_tokens))
}

/// `$0.0123`; with a `?` if the cost of a call is unknown.
pub fn format_cost(usage: &Usage) -> String {
    match (usage.cost_micro, usage.unpriced_calls) {
        (known, 0) => DollarAmount(known).to_string(),
        (0, _) => "$?".to_owned(),
        (known, _) => format!("{}+?", DollarAmount(known)),
    }
}

/// `4 calls, 120 tokens in, 51 out, $0.0123, 1.2 s`
pub fn format_total(calls_made: u64, usage: &Usage, ms: u64) -> String {
    format!("{}, {}, {}, {}", format_calls(calls_made), format_tokens(usage), format_cost(usage), format_time(ms))
}

/// Maximum number of characters of a text on a line.
const LINE: usize = 300;

/// The start of a text on one line.
pub fn one_line(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        // A word may be as long as the whole text.
        let end = match word.char_indices().nth(LINE) {
            Some((end, _)) => end,
            None => word.len(),
        };
        out.push_str(&escape_line(word.get(..end).unwrap_or(word)));
        if out.chars().count() > LINE {
            break;
        }
    }
    out
}

/// The start of a result or an answer on one line, without the object around its text.
pub fn preview_value(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            // The result of an AEGIS or SirenSpec step is an object around its output.
            if let Some(inner) = members.get("output")
                && !inner.is_null()
            {
                return preview_value(inner);
            }
            if let Some(only) = members.values().next()
                && members.len() == 1
            {
                return preview_value(only);
            }
            let mut parts = Vec::new();
            for (key, value) in members.iter().take(12) {
                parts.push(format!("{}: {}", escape_line(key), preview_value(value)));
            }
            parts.join(", ")
        }
        Value::List(items) => items.iter().take(12).map(preview_value).collect::<Vec<_>>().join(" | "),
        Value::Str(text) => match parse_structured(text) {
            Some(inner) => preview_value(&inner),
            None => one_line(text),
        },
        other => one_line(&other.to_text()),
    }
}

/// The object or list that a text is the JSON of.
pub fn parse_structured(text: &str) -> Option<Value> {
    let text = json_text(text);
    if !text.starts_with(['{', '[']) || text.len() >= 20_000 {
        return None;
    }
    Value::parse(text).ok()
}

/// The start of a text that fits in a width, with a mark for the rest.
pub fn fit_start(text: &str, width: usize, rest: &str) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = rest.width();
    if used > width {
        return rest.chars().take(width).collect();
    }
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        out.push(c);
    }
    out + rest
}

/// The end of a text that fits in a width, with a mark for the rest.
pub fn fit_end(text: &str, width: usize, rest: &str) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = rest.width();
    let mut kept: Vec<char> = Vec::new();
    for c in text.chars().rev() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(c);
    }
    let mut out: String = rest.chars().take(width).collect();
    out.extend(kept.into_iter().rev());
    out
}

/// Wraps a text between words; a word that is too wide gets a separate line.
pub fn wrap_text(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `90 s`, `5 min`, `24 h`: a time limit in the largest unit that expresses it in whole numbers.
pub fn format_limit(ms: u64) -> String {
    match ms.div_ceil(1000) {
        s if s >= 3600 && s.is_multiple_of(3600) => format!("{} h", group_digits(s / 3600)),
        s if s >= 60 && s.is_multiple_of(60) => format!("{} min", group_digits(s / 60)),
        s => format!("{} s", group_digits(s)),
    }
}

/// Cuts or pads a text to a width.
pub fn pad_text(text: &str, width: usize, rest: &str) -> String {
    let cut = fit_start(text, width, rest);
    let missing = width.saturating_sub(cut.width());
    cut + &" ".repeat(missing)
}

/// `1 run`, `3 runs`, `2 entries`.
pub fn count_of(number: u64, what: &str) -> String {
    match (number, what.strip_suffix('y')) {
        (1, _) => format!("1 {what}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures() {
        let usage = Usage { input_tokens: 1_234_567, output_tokens: 3, cached_tokens: 40, ..Usage::default() };
        assert_eq!(format_total(1, &usage, 125_000), "1 call, 1,234,567 tokens in (40 cached), 3 out, $0, 2:05 min");
        assert_eq!(format_total(0, &Usage::default(), 999), "0 calls, 0 tokens in, 0 out, $0, 999 ms");
    }

    #[test]
    fn what_was_done_is_called_what_it_is() {
        let of = |model_calls, tool_calls, commands, questions| {
            format_new_results(NewResults { model_calls, tool_calls, commands, questions })
        };
        assert_eq!(of(0, 0, 0, 0), "no calls made");
        assert_eq!(of(1, 2, 0, 0), "1 model call and 2 tool calls made");
        assert_eq!(of(0, 1, 2, 1), "1 tool call made, 2 commands run, 1 question asked");
    }

    #[test]
    fn what_nobody_told_is_not_zero() {
        let usage = Usage { cost_micro: 12_345, ..Usage::default() };
        assert_eq!(format_cost(&usage), "$0.0124");
        assert_eq!(format_cost(&Usage { unpriced_calls: 1, ..usage }), "$0.0124+?");
        assert_eq!(format_cost(&Usage::for_unknown_call().with_price(None)), "$?", "not known is not free");
        assert_eq!(format_tokens(&Usage::for_unknown_call()), "? tokens in, ? out");
        let usage = Usage { input_tokens: 7, output_tokens: 2, ..Usage::for_unknown_call() };
        assert_eq!(format_tokens(&usage), "7+? tokens in, 2+? out");
    }

    #[test]
    fn texts_fit_whatever_is_in_them() {
        assert_eq!(fit_end("abcdef", 4, "…"), "…def");
        assert_eq!(fit_start("abcdef", 4, "…"), "abc…");
        assert_eq!(pad_text("日本語", 5, "…"), "日本…");
        assert_eq!(
            (fit_start("abcdef", 5, "..."), fit_end("abcdef", 5, "...")),
            ("ab...".to_owned(), "...ef".to_owned())
        );
        assert_eq!((fit_start("abcdef", 2, "..."), fit_end("abcdef", 2, "...")), ("..".to_owned(), "..".to_owned()));
        assert_eq!(wrap_text("one two  three-and-more four", 8), ["one two", "three-and-more", "four"]);
    }

    #[test]
    fn limits_are_in_units_that_people_use() {
        assert_eq!(
            [format_limit(86_400_000), format_limit(60_000), format_limit(90_000), format_limit(1)],
            ["24 h", "1 min", "90 s", "1 s"]
        );
    }

    #[test]
    fn no_name_moves_the_cursor() {
        assert_eq!(one_line("one\n two\u{7}"), "one two\\u{7}");
        assert_eq!(one_line(&"x".repeat(1_000_000)).len(), LINE);
    }

    #[test]
    fn answers_are_shown_without_what_they_are_wrapped_in() {
        let of = |json: &str| preview_value(&Value::from_json(serde_json::from_str(json).unwrap()));
        assert_eq!(of(r#""{\"draft\": \"the text\"}""#), "the text");
        assert_eq!(of(r#"{"status": "success", "output": "done"}"#), "done");
        assert_eq!(of(r#"{"output": "", "outputs": ["", ""]}"#), "");
        assert_eq!(of(r#"{"approved": true, "feedback": "fine"}"#), "approved: true, feedback: fine");
        assert_eq!(of(r#"["a", "b"]"#), "a | b");
    }
}
