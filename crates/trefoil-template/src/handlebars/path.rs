//! Handlebars paths: `a.b`, `a/b`, `a.[0]`, `this.a`, `./a`, `../a`, `@root.a`, `@index`.

use std::ops::Range;

use super::{Cursor, in_name};
use crate::expression::Expression;
use crate::path::SEGMENTS;
use crate::scope::Segment;
use crate::template::frame::Start;
use crate::value::Value;

/// The start of a path.
struct Prefix {
    /// `@`.
    data: bool,
    /// The number of `../`.
    up: usize,
    /// `this`, `./` or `../`: the first name is not a block parameter.
    scoped: bool,
    /// `this`.
    this: bool,
}

const DATA: [(&str, Option<Start>); 5] = [
    ("root", None),
    ("index", Some(Start::Index)),
    ("key", Some(Start::Key)),
    ("first", Some(Start::First)),
    ("last", Some(Start::Last)),
];

impl Cursor<'_, '_> {
    /// A path, or one of the words `true`, `false`, `null`, `undefined`.
    pub fn path(&mut self) -> Option<Expression> {
        let start = self.at;
        let mut prefix = Prefix { data: self.eat("@"), up: 0, scoped: false, this: false };
        let mut more = self.prefix(&mut prefix);
        let mut segments = Vec::new();
        while more {
            let segment = self.segment(start, &mut prefix, segments.is_empty())?;
            if let Some(segment) = segment {
                segments.push(segment);
            }
            more = matches!(self.peek(), Some('.' | '/')) && !self.rest().starts_with("/ ");
            if more {
                self.at += 1;
            }
        }
        let span = start..self.at;
        if segments.len() > SEGMENTS {
            self.b.mistakes.add(self.codes.path, span, format!("the path has more than {SEGMENTS} segments"));
            return None;
        }
        self.resolve(&prefix, segments, span)
    }

    /// Reads what precedes the first name; returns whether a name follows.
    fn prefix(&mut self, prefix: &mut Prefix) -> bool {
        loop {
            if self.eat("../") {
                prefix.up += 1;
                prefix.scoped = true;
            } else if self.eat("./") {
                prefix.scoped = true;
                return true;
            } else if self.eat("..") {
                prefix.up += 1;
                prefix.scoped = true;
                return false;
            } else if self.rest().starts_with('.') {
                let after = self.b.slice(self.at + 1..self.end).chars().next();
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
        self.peek().is_some_and(|c| in_name(c) || c == '[')
    }

    /// One segment; the inner `None` is a leading `this`.
    fn segment(&mut self, start: usize, prefix: &mut Prefix, first: bool) -> Option<Option<Segment>> {
        let at = self.at;
        if self.eat("[") {
            let inside = self.at;
            let Some(len) = self.rest().find(']') else {
                self.b.mistakes.add(self.codes.path, at..self.end, "`[` is not closed").help("write `list.[0]`");
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
        if name.ends_with('-') && self.rest().starts_with('>') {
            let arrow = self.at - 1..self.at + 1;
            self.b.mistakes.add(self.codes.path, arrow, "unexpected `->`").meant(".").help("write `.`");
            return None;
        }
        if name == "this" && !prefix.data {
            if first && !prefix.this {
                (prefix.this, prefix.scoped) = (true, true);
                return Some(None);
            }
            self.b
                .mistakes
                .add(self.codes.path, at..self.at, "`this` is only allowed at the start of a path")
                .help("write a property of that name as `.[this]`");
            return None;
        }
        Some(Some(self.make_segment(at..self.at)))
    }

    /// Reports typographic quotes: the text between them was meant as a string.
    fn typographic(&mut self, quote: char) {
        let inside = self.at + quote.len_utf8();
        let closed = self.b.slice(inside..self.end).find(['“', '”', '’', '»']).map(|len| inside + len);
        let after = |at: usize| self.b.slice(at..self.end).chars().next().map_or(at, |c| at + c.len_utf8());
        let span = self.at..closed.map_or(inside, after);
        let text = closed.map(|end| self.b.slice(inside..end)).filter(|t| !t.contains(['"', '\'', '\\']));
        let outer = '\'';
        let noted = self.b.mistakes.add(self.codes.syntax, span, format!("`{quote}` is not a quote here"));
        if let Some(text) = text {
            noted.meant(format!("{outer}{text}{outer}"));
        }
        noted.help("use straight quotes, `\"` or `'`");
    }

    fn make_segment(&self, span: Range<usize>) -> Segment {
        Segment { name: self.b.slice(span.clone()).into(), span: span.start as u32..span.end as u32 }
    }

    fn bad_segment(&mut self, start: usize, at: usize) {
        let next = self.peek();
        let written = self.b.slice(start..at);
        if start == at {
            return self.unexpected("expected a path", None);
        }
        let span = at.saturating_sub(1)..next.map_or(at, |c| at + c.len_utf8()).max(at);
        let message = match next {
            Some('.') => format!("the path `{written}` has an empty segment, or a `..` after a name"),
            _ => format!("the path `{written}` ends with a separator"),
        };
        self.b.mistakes.add(self.codes.path, span, message).help(match next {
            Some('.') => "`../` is only allowed at the start of a path",
            _ => "add a name after it",
        });
    }

    fn resolve(&mut self, prefix: &Prefix, segments: Vec<Segment>, span: Range<usize>) -> Option<Expression> {
        if prefix.data {
            return self.data(prefix, segments, span);
        }
        let frames = self.b.frames();
        if let (false, Some(first)) = (prefix.scoped, segments.first()) {
            if let [word] = segments.as_slice() {
                let at = span.clone();
                match &*word.name {
                    "true" => return Some(self.b.written(true, at)),
                    "false" => return Some(self.b.written(false, at)),
                    "null" | "undefined" => return Some(self.b.written(Value::Null, at)),
                    _ => {}
                }
            }
            let parameter = frames.iter().rev().enumerate().find_map(|(up, frame)| {
                let place = frame.parameters.iter().position(|p| *p == Some(&*first.name))?;
                Some((up, if place == 0 { Start::This } else { Start::Key }))
            });
            if let Some((up, from)) = parameter {
                let path = segments.into_iter().skip(1).collect();
                return Some(self.b.local(path, span, from, up).map_or_else(nothing, Expression::Local));
            }
        }
        let depth = frames.len();
        // `this` alone is the whole state, which may be printed on purpose.
        if prefix.up > depth || (depth == 0 && prefix.this && !segments.is_empty()) {
            self.b.stray(span.clone());
        }
        Some(match prefix.up {
            up if up == depth => Expression::Reference(self.b.reference(segments, span, None)),
            up => self.b.local(segments, span, Start::This, up).map_or_else(nothing, Expression::Local),
        })
    }

    /// `@root.a`, `@index`, `@../index`.
    fn data(&mut self, prefix: &Prefix, mut segments: Vec<Segment>, span: Range<usize>) -> Option<Expression> {
        let name = segments.first().map(|s| s.name.clone()).unwrap_or_default();
        let Some((_, from)) = DATA.iter().find(|(known, _)| *known == &*name) else {
            let known = DATA.map(|(name, _)| name);
            let suggestion = crate::suggest::closest(&name, &known);
            self.b.mistakes.add(self.codes.path, span, format!("unknown variable `@{name}`")).help(match suggestion {
                Some(meant) => format!("did you mean `@{meant}`?"),
                None => "the variables are `@root`, `@index`, `@key`, `@first`, `@last`".to_owned(),
            });
            return None;
        };
        let path = segments.split_off(1);
        let Some(from) = from else {
            return Some(Expression::Reference(self.b.reference(path, span, None)));
        };
        // Only `each` defines these; inside a `with`, those of the enclosing `each` apply.
        let up = self.b.frames().iter().rev().enumerate().filter(|(_, f)| f.each).nth(prefix.up).map(|(up, _)| up);
        if up.is_none() {
            self.b.stray(span.clone());
        }
        let local = up.and_then(|up| self.b.local(path, span, *from, up));
        Some(local.map_or_else(nothing, Expression::Local))
    }
}

fn nothing() -> Expression {
    Expression::value(Value::Null)
}
