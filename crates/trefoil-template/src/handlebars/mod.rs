//! What Handlebars templates and AEGIS `custom` conditions share: paths, literals, helper calls.

mod helper;
mod path;

use std::ops::Range;

use crate::expression::ConditionExpression;
use crate::limits;
use crate::template::builder::TemplateBuilder;
use crate::template::scanner::end_of_quoted;
use crate::value::{Value, ValueNumber};

pub(crate) use helper::{HandlebarsHelper, closest_helper, find_helper, helper_names};

/// Whether AEGIS has a helper of this name.
pub fn is_helper(name: &str) -> bool {
    find_helper(name).is_some()
}

/// The rule names for mistakes in the language that a cursor reads.
pub(crate) struct MistakeCodes {
    pub path: &'static str,
    pub helper: &'static str,
    pub arguments: &'static str,
    pub syntax: &'static str,
    pub deep: &'static str,
}

/// Reads expressions in a part of the source. A method that returns `None` has reported why.
pub(crate) struct HandlebarsCursor<'c, 't> {
    pub b: &'c mut TemplateBuilder<'t>,
    pub at: usize,
    pub end: usize,
    pub depth: usize,
    pub codes: &'static MistakeCodes,
    /// Parses the content of parentheses or braces. If not set, parentheses contain a helper call.
    pub group: Option<fn(&mut HandlebarsCursor<'_, 't>) -> Option<ConditionExpression>>,
}

/// `name=value`.
pub(crate) struct NamedArgument<'t> {
    pub name: &'t str,
    pub span: Range<usize>,
    pub value: ConditionExpression,
}

/// Whether a character can be in a name. As in Handlebars, hyphens can and operators cannot.
#[inline]
pub(crate) fn in_name(c: char) -> bool {
    match u8::try_from(c) {
        Ok(byte) if byte.is_ascii() => NAME.get(usize::from(byte)) == Some(&true),
        _ => !c.is_whitespace(),
    }
}

/// The ASCII characters that can be in a name.
#[allow(clippy::indexing_slicing, reason = "evaluated at compile time")]
const NAME: [bool; 128] = {
    let mut table = [false; 128];
    let mut byte = 0x21;
    while byte < 0x7f {
        table[byte as usize] = !matches!(
            byte,
            b'!' | b'"' | b'#' | b'%'..=b',' | b'.' | b'/' | b';'..=b'>' | b'@' | b'['..=b'^' | b'`' | b'{'..=b'~'
        );
        byte += 1;
    }
    table
};

impl<'t> HandlebarsCursor<'_, 't> {
    pub fn remaining_text(&self) -> &'t str {
        self.b.source_slice(self.at..self.end)
    }

    pub fn peek_char(&self) -> Option<char> {
        self.remaining_text().chars().next()
    }

    pub fn skip_space(&mut self) {
        self.at = self.end - self.remaining_text().trim_start().len();
    }

    /// Consumes a text if it is next.
    pub fn eat_text(&mut self, text: &str) -> bool {
        let next = self.remaining_text().starts_with(text);
        if next {
            self.at += text.len();
        }
        next
    }

    /// The next name, without consuming it.
    pub fn peek_name(&self) -> &'t str {
        let rest = self.remaining_text();
        let ascii = rest.bytes().position(|b| NAME.get(usize::from(b)) != Some(&true)).unwrap_or(rest.len());
        let len = match rest.as_bytes().get(ascii) {
            Some(byte) if !byte.is_ascii() => rest.find(|c: char| !in_name(c)).unwrap_or(rest.len()),
            _ => ascii,
        };
        rest.get(..len).unwrap_or_default()
    }

    /// Whether an argument starts here.
    pub fn at_argument(&self) -> bool {
        let brace = self.group.is_some() && self.remaining_text().starts_with("{{");
        brace || self.peek_char().is_some_and(|c| in_name(c) || matches!(c, '"' | '\'' | '(' | '@' | '.' | '['))
    }

    /// A literal, path or subexpression.
    pub fn parse_argument(&mut self) -> Option<ConditionExpression> {
        match (self.peek_char(), self.group) {
            (Some('(' | '{'), Some(group)) => group(self),
            (Some('('), None) => self.subexpression(),
            _ => self.parse_simple_argument(),
        }
    }

    /// A literal or path.
    pub fn parse_simple_argument(&mut self) -> Option<ConditionExpression> {
        match self.peek_char() {
            Some('"' | '\'') => self.quoted(),
            Some('-') if self.b.source_slice(self.at + 1..self.end).chars().next().is_none_or(|c| !in_name(c)) => {
                self.report_unexpected("", None);
                None
            }
            Some(c) if c.is_ascii_digit() || c == '-' => match (self.at, self.number()) {
                (start, Some(number)) => Some(self.b.literal_expression(number, start..self.at)),
                (_, None) => self.parse_path(),
            },
            _ => self.parse_path(),
        }
    }

    fn number(&mut self) -> Option<ValueNumber> {
        let rest = self.remaining_text();
        let len = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-'))).unwrap_or(rest.len());
        let (number, after) = rest.split_at_checked(len)?;
        let ends = after.chars().next().is_none_or(|c| !in_name(c) && !matches!(c, '/' | '['));
        let value = if ends && !number.ends_with('.') { crate::evaluation::read_number(number)? } else { return None };
        self.at += len;
        Some(value)
    }

    fn quoted(&mut self) -> Option<ConditionExpression> {
        let quote = self.peek_char()?;
        let Some(end) = end_of_quoted(self.b.source.as_bytes(), self.at, true).filter(|end| *end < self.end) else {
            self.b
                .mistakes
                .add_mistake(self.codes.syntax, self.at..self.end, "quoted text without a closing quote")
                .set_help(format!("end it with `{quote}`; write a quote inside it as `\\{quote}`"));
            return None;
        };
        let text = self.b.source_slice(self.at + 1..end);
        let place = self.at..end + 1;
        self.at = end + 1;
        let escaped = ['\\', quote].iter().collect::<String>();
        let value =
            if text.contains(&escaped) { Value::from(text.replace(&escaped, &quote.to_string())) } else { text.into() };
        Some(self.b.literal_expression(value, place))
    }

    /// `(helper argument ...)`.
    fn subexpression(&mut self) -> Option<ConditionExpression> {
        let open = self.at;
        if !self.enter_level(open) {
            return None;
        }
        self.at += 1;
        self.skip_space();
        let name_at = self.at;
        let name = self.peek_name();
        self.at += name.len();
        if name.is_empty() || self.peek_char().is_some_and(|c| matches!(c, '.' | '/')) {
            let span = open..(self.at + 1).min(self.end);
            self.b
                .mistakes
                .add_mistake(self.codes.syntax, span, "expected the name of a helper after `(`")
                .set_help("write `(helper argument ...)`, for example `(eq a b)`");
            return None;
        }
        let call = self.parse_call(name, name_at..self.at)?;
        self.skip_space();
        if !self.eat_text(")") {
            self.report_unexpected(&format!("`(` before `{name}` is not closed"), Some(open));
            return None;
        }
        self.depth -= 1;
        Some(call)
    }

    /// Enters a nested level; false, and reported, at the limit.
    pub fn enter_level(&mut self, at: usize) -> bool {
        self.depth += 1;
        if self.depth > limits::DEPTH {
            let message = format!("nested more than {} levels deep", limits::DEPTH);
            self.b.mistakes.add_mistake(self.codes.deep, at..at + 1, message);
            return false;
        }
        true
    }

    /// The call of a helper whose name was just read, with its arguments.
    pub fn parse_call(&mut self, name: &'t str, span: Range<usize>) -> Option<ConditionExpression> {
        let Some(helper) = find_helper(name) else {
            let suggestion = closest_helper(name);
            let noted = self.b.mistakes.add_mistake(self.codes.helper, span, format!("unknown helper `{name}`"));
            if let Some(meant) = suggestion {
                noted.set_replacement(meant);
            }
            noted.set_help(match suggestion {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("the helpers are {}", helper_names().map(|n| format!("`{n}`")).join(", ")),
            });
            return None;
        };
        let mut arguments = Vec::new();
        let mut started = self.at;
        loop {
            if self.reports_item(started) {
                return None;
            }
            self.skip_space();
            if let Some(named) = self.parse_named_argument()? {
                let message = format!("`{name}` has no option `{}`", named.name);
                self.b.mistakes.add_mistake(self.codes.arguments, named.span, message);
                return None;
            }
            if !self.at_argument() {
                break;
            }
            started = self.at;
            let guards = u32::from(matches!(helper, HandlebarsHelper::DEFAULT) && arguments.is_empty());
            self.b.guarding += guards;
            let argument = self.parse_argument();
            self.b.guarding -= guards;
            let argument = argument?;
            if let (ConditionExpression::Reference(i), true, false) =
                (&argument, helper.takes_text_last(), arguments.is_empty())
            {
                self.b.as_operand(*i);
            }
            arguments.push(argument);
        }
        match helper.build_expression(arguments) {
            Ok(call) => Some(call),
            Err(wanted) => {
                let message = format!("`{name}` needs {wanted}");
                self.b
                    .mistakes
                    .add_mistake(self.codes.arguments, span, message)
                    .set_help(format!("write `{}`", helper.usage_example(name)));
                None
            }
        }
    }

    /// Reports `list[0]`, the syntax of other languages for a list item, after the path from `started` was read.
    fn reports_item(&mut self, started: usize) -> bool {
        let written = self.b.source_slice(started..self.at);
        let rest = self.remaining_text();
        let digits = rest
            .strip_prefix('[')
            .and_then(|r| r.split_once(']'))
            .is_some_and(|(inside, _)| !inside.is_empty() && inside.bytes().all(|b| b.is_ascii_digit()));
        if !digits || written.trim().is_empty() || written.ends_with(|c: char| !in_name(c)) {
            return false;
        }
        let len = rest.find(|c: char| !in_name(c) && !matches!(c, '.' | '[' | ']')).unwrap_or(rest.len());
        let end = self.at + len;
        let span = started..end;
        let meant = self.b.source_slice(span.clone()).trim().replace('[', ".").replace(']', "");
        let noted = self.b.mistakes.add_mistake(self.codes.syntax, self.at..end, "a list item needs a dot before it");
        noted.set_help(format!("write `{meant}`"));
        true
    }

    /// Reads `name=value`, if it is next.
    pub fn parse_named_argument(&mut self) -> Option<Option<NamedArgument<'t>>> {
        let name = self.peek_name();
        let after = self.at + name.len();
        if name.is_empty()
            || self.b.source_slice(after..after + 1) != "="
            || self.b.source_slice(after..after + 2) == "=="
        {
            return Some(None);
        }
        let start = self.at;
        self.at = after + 1;
        self.skip_space();
        let value = self.parse_argument()?;
        Some(Some(NamedArgument { name, span: start..self.at, value }))
    }

    /// Reports unexpected text.
    pub fn report_unexpected(&mut self, otherwise: &str, open: Option<usize>) {
        let rest = self.remaining_text().trim_end();
        let Some(c) = rest.chars().next() else {
            let at = open.unwrap_or(self.at);
            self.b.mistakes.add_mistake(self.codes.syntax, at..self.end.max(at), otherwise);
            return;
        };
        let operator = ["===", "!==", "==", "!=", "<=", ">=", "&&", "||"].into_iter().find(|op| rest.starts_with(op));
        let shown = operator.map_or_else(|| c.to_string(), str::to_owned);
        let span = self.at..self.at + shown.len();
        self.b.mistakes.add_mistake(self.codes.syntax, span, format!("unexpected `{shown}`"));
        let helper = match shown.as_str() {
            "==" | "===" => Some("eq"),
            "!=" | "!==" => Some("ne"),
            "<" => Some("lt"),
            ">" => Some("gt"),
            "<=" => Some("lte"),
            ">=" => Some("gte"),
            "&&" | "&" => Some("and"),
            "||" => Some("or"),
            _ => None,
        };
        match (helper, c) {
            (Some(helper), _) => self.b.mistakes.set_help(format!("write `({helper} a b)`")),
            (_, '!') => self.b.mistakes.set_help("write `(not a)`"),
            (_, '+' | '-' | '*' | '/' | '%') => self.b.mistakes.set_help("templates cannot do arithmetic"),
            (_, '[') => self.b.mistakes.set_help("write a list item as `list.[0]` or `list.0`"),
            (_, '?') if rest.starts_with("??") => self.b.mistakes.set_help("write `{{default a \"text\"}}`"),
            (_, '?') => self.b.mistakes.set_help("write `{{#if a}}...{{else}}...{{/if}}`"),
            (_, '|') => self.b.mistakes.set_help("filters are not supported; use a helper: `{{upper name}}`"),
            _ => {}
        }
    }
}
