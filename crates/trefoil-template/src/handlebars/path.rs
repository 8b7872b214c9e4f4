//! Handlebars paths: `a.b`, `a/b`, `a.[0]`, `this.a`, `./a`, `../a`, `@root.a`, `@index`.

use std::ops::Range;

use super::{HandlebarsCursor, in_name};
use crate::expression::ConditionExpression;
use crate::path::SEGMENTS;
use crate::scope::PathSegment;
use crate::template::frame::LocalStart;
use crate::value::Value;

/// The start of a path.
struct PathPrefix {
    /// `@`.
    data: bool,
    /// The number of `../`.
    up: usize,
    /// `this`, `./` or `../`: the first name is not a block parameter.
    scoped: bool,
    /// `this`.
    this: bool,
}

const DATA: [(&str, Option<LocalStart>); 5] = [
    ("root", None),
    ("index", Some(LocalStart::Index)),
    ("key", Some(LocalStart::Key)),
    ("first", Some(LocalStart::First)),
    ("last", Some(LocalStart::Last)),
];

impl HandlebarsCursor<'_, '_> {
    /// A path, or one of the words `true`, `false`, `null`, `undefined`.
    pub fn parse_path(&mut self) -> Option<ConditionExpression> {
        let start = self.at;
        let mut prefix = PathPrefix { data: self.eat_text("@"), up: 0, scoped: false, this: false };
        let mut more = self.prefix(&mut prefix);
        let mut segments = Vec::new();
        while more {
            let segment = self.segment(start, &mut prefix, segments.is_empty())?;
            if let Some(segment) = segment {
                segments.push(segment);
            }
            more = matches!(self.peek_char(), Some('.' | '/')) && !self.remaining_text().starts_with("/ ");
            if more {
                self.at += 1;
            }
        }
        let span = start..self.at;
        if segments.len() > SEGMENTS {
            self.b.mistakes.add_mistake(self.codes.path, span, format!("the path has more than {SEGMENTS} segments"));
            return None;
        }
        self.resolve(&prefix, segments, span)
    }

    /// Reads what precedes the first name; returns whether a name follows.
    fn prefix(&mut self, prefix: &mut PathPrefix) -> bool {
        loop {
            if self.eat_text("../") {
                prefix.up += 1;
                prefix.scoped = true;
            } else if self.eat_text("./") {
                prefix.scoped = true;
                return true;
            } else if self.eat_text("..") {
                prefix.up += 1;
                prefix.scoped = true;
                return false;
            } else if self.remaining_text().starts_with('.') {
                let after = self.b.source_slice(self.at + 1..self.end).chars().next();
                let alone = after.is_none_or(|c| !in_name(c) && c != '.' && c != '[');
                prefix.scoped = true;
                if alone {
                    self.at += 1;
                }
                return !alone;
            } else {
                return self.at_name() || prefix.up == 0;
            }
        }
    }

    fn at_name(&self) -> bool {
        self.peek_char().is_some_and(|c| in_name(c) || c == '[')
    }

    /// One segment; the inner `None` is a leading `this`.
    fn segment(&mut self, start: usize, prefix: &mut PathPrefix, first: bool) -> Option<Option<PathSegment>> {
        let at = self.at;
        if self.eat_text("[") {
            let inside = self.at;
            let Some(len) = self.remaining_text().find(']') else {
                self.b
                    .mistakes
                    .add_mistake(self.codes.path, at..self.end, "`[` is not closed")
                    .set_help("write `list.[0]`");
                return None;
            };
            self.at += len + 1;
            return Some(Some(self.make_segment(inside..inside + len)));
        }
        let name = self.peek_name();
        if name.is_empty() {
            self.bad_segment(start, at);
            return None;
        }
        if let Some(quote) = name.chars().next().filter(|c| matches!(c, '“' | '”' | '„' | '‘' | '’' | '«')) {
            self.typographic(quote);
            return None;
        }
        self.at += name.len();
        if name.ends_with('-') && self.remaining_text().starts_with('>') {
            let arrow = self.at - 1..self.at + 1;
            self.b
                .mistakes
                .add_mistake(self.codes.path, arrow, "unexpected `->`")
                .set_replacement(".")
                .set_help("write `.`");
            return None;
        }
        if name == "this" && !prefix.data {
            if first && !prefix.this {
                (prefix.this, prefix.scoped) = (true, true);
                return Some(None);
            }
            self.b
                .mistakes
                .add_mistake(self.codes.path, at..self.at, "`this` is only allowed at the start of a path")
                .set_help("write a property of that name as `.[this]`");
            return None;
        }
        Some(Some(self.make_segment(at..self.at)))
    }

    /// Reports typographic quotes: the text between them was meant as a string.
    fn typographic(&mut self, quote: char) {
        let inside = self.at + quote.len_utf8();
        let closed = self.b.source_slice(inside..self.end).find(['“', '”', '’', '»']).map(|len| inside + len);
        let after = |at: usize| self.b.source_slice(at..self.end).chars().next().map_or(at, |c| at + c.len_utf8());
        let span = self.at..closed.map_or(inside, after);
        let text = closed.map(|end| self.b.source_slice(inside..end)).filter(|t| !t.contains(['"', '\'', '\\']));
        let outer = '\'';
        let noted = self.b.mistakes.add_mistake(self.codes.syntax, span, format!("`{quote}` is not a quote here"));
        if let Some(text) = text {
            noted.set_replacement(format!("{outer}{text}{outer}"));
        }
        noted.set_help("use straight quotes, `\"` or `'`");
    }

    fn make_segment(&self, span: Range<usize>) -> PathSegment {
        PathSegment { name: self.b.source_slice(span.clone()).into(), span: span.start as u32..span.end as u32 }
    }

    fn bad_segment(&mut self, start: usize, at: usize) {
        let next = self.peek_char();
        let written = self.b.source_slice(start..at);
        if start == at {
            return self.report_unexpected("expected a path", None);
        }
        let span = at.saturating_sub(1)..next.map_or(at, |c| at + c.len_utf8()).max(at);
        let message = match next {
            Some('.') => format!("the path `{written}` has an empty segment, or a `..` after a name"),
            _ => format!("the path `{written}` ends with a separator"),
        };
        self.b.mistakes.add_mistake(self.codes.path, span, message).set_help(match next {
            Some('.') => "`../` is only allowed at the start of a path",
            _ => "add a name after it",
        });
    }

    fn resolve(
        &mut self,
        prefix: &PathPrefix,
        segments: Vec<PathSegment>,
        span: Range<usize>,
    ) -> Option<ConditionExpression> {
        if prefix.data {
            return self.data(prefix, segments, span);
        }
        let frames = self.b.block_contexts();
        if let (false, Some(first)) = (prefix.scoped, segments.first()) {
            if let [word] = segments.as_slice() {
                let at = span.clone();
                match &*word.name {
                    "true" => return Some(self.b.literal_expression(true, at)),
                    "false" => return Some(self.b.literal_expression(false, at)),
                    "null" | "undefined" => return Some(self.b.literal_expression(Value::Null, at)),
                    _ => {}
                }
            }
            let parameter = frames.iter().rev().enumerate().find_map(|(up, frame)| {
                let place = frame.parameters.iter().position(|p| *p == Some(&*first.name))?;
                Some((up, if place == 0 { LocalStart::This } else { LocalStart::Key }))
            });
            if let Some((up, from)) = parameter {
                let path = segments.into_iter().skip(1).collect();
                return Some(self.b.add_local(path, span, from, up).map_or_else(nothing, ConditionExpression::Local));
            }
        }
        let depth = frames.len();
        // `this` alone is the whole state, which may be printed on purpose.
        if prefix.up > depth || (depth == 0 && prefix.this && !segments.is_empty()) {
            self.b.add_stray_path(span.clone());
        }
        Some(match prefix.up {
            up if up == depth => ConditionExpression::Reference(self.b.add_reference(segments, span, None)),
            up => {
                self.b.add_local(segments, span, LocalStart::This, up).map_or_else(nothing, ConditionExpression::Local)
            }
        })
    }

    /// `@root.a`, `@index`, `@../index`.
    fn data(
        &mut self,
        prefix: &PathPrefix,
        mut segments: Vec<PathSegment>,
        span: Range<usize>,
    ) -> Option<ConditionExpression> {
        let name = segments.first().map(|s| s.name.clone()).unwrap_or_default();
        let Some((_, from)) = DATA.iter().find(|(known, _)| *known == &*name) else {
            let known = DATA.map(|(name, _)| name);
            let suggestion = crate::suggestion::closest_name(&name, &known);
            self.b.mistakes.add_mistake(self.codes.path, span, format!("unknown variable `@{name}`")).set_help(
                match suggestion {
                    Some(meant) => format!("did you mean `@{meant}`?"),
                    None => "the variables are `@root`, `@index`, `@key`, `@first`, `@last`".to_owned(),
                },
            );
            return None;
        };
        let path = segments.split_off(1);
        let Some(from) = from else {
            return Some(ConditionExpression::Reference(self.b.add_reference(path, span, None)));
        };
        // Only `each` defines these; inside a `with`, those of the enclosing `each` apply.
        let up =
            self.b.block_contexts().iter().rev().enumerate().filter(|(_, f)| f.each).nth(prefix.up).map(|(up, _)| up);
        if up.is_none() {
            self.b.add_stray_path(span.clone());
        }
        let local = up.and_then(|up| self.b.add_local(path, span, *from, up));
        Some(local.map_or_else(nothing, ConditionExpression::Local))
    }
}

fn nothing() -> ConditionExpression {
    ConditionExpression::from_value(Value::Null)
}
