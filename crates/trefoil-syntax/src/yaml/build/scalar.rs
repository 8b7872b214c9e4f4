//! Scalars of the tree: text, type, tag and position.

use std::sync::Arc;

use granit_parser::{ScalarStyle, Tag};

use super::super::map::ScalarMap;
use super::super::schema;
use super::super::style::Style;
use super::super::tree::{Scalar, Text};
use super::{Built, CoreTag, Diagnostic, Span, TreeBuilder, cut, leaf, locate, misfit, rules, shown};
use crate::Severity;

impl TreeBuilder<'_> {
    /// A null value at a place.
    pub(super) fn null(&self, span: Span) -> Built {
        let text = Text { value: "".into(), span, style: Style::Plain, map: ScalarMap::straight(0, span.start) };
        leaf(Scalar::Null, text)
    }
    /// A value that is used as text exactly as written in the file.
    pub(super) fn verbatim(&self, span: Span) -> (Scalar, Text) {
        let value = self.raw(span);
        let text = Text {
            value: value.into(),
            span,
            style: Style::Plain,
            map: ScalarMap::straight(value.len() as u32, span.start),
        };
        (Scalar::Str, text)
    }
    pub(super) fn scalar(
        &mut self,
        value: &str,
        style: ScalarStyle,
        span: Span,
        tag: Option<(&Tag, Span)>,
    ) -> (Scalar, Text) {
        // The first mask that ends after the scalar's start. It may start before the scalar or inside it.
        let mask = self.masked.partition_point(|m| m.end <= span.start);
        if !span.is_empty() && self.masked.get(mask).is_some_and(|m| m.start < span.end) {
            self.token_end = span.end;
            return self.verbatim(span);
        }
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted => Style::Single,
            ScalarStyle::DoubleQuoted => Style::Double,
            ScalarStyle::Literal => Style::Literal,
            ScalarStyle::Folded => Style::Folded,
        };
        let text = self.text(value, style, span);
        self.token_end = self.token_end.max(span.end).max(text.span.end);
        if style == Style::Plain {
            self.typographic(&text);
            self.cut(&text);
            self.stray_quote(&text);
        }
        let scalar = match self.core_tag(tag) {
            Some((tag, at)) => tag.force(&text.value).unwrap_or_else(|| {
                let what = format!("`{}`", shown(&text.value));
                self.report(misfit(tag, &what, self.at(at)));
                Scalar::Str
            }),
            // The non-specific tag `!` makes any scalar a string.
            None if tag.is_some_and(|(_, at)| self.raw(at) == "!") => Scalar::Str,
            None if style == Style::Plain => schema::resolve(&text.value),
            None => Scalar::Str,
        };
        (scalar, text)
    }
    /// Reports typographic quotes around a whole value, which YAML treats as part of the text.
    fn typographic(&mut self, text: &Text) {
        let value = &*text.value;
        // As nearly always.
        if value.as_bytes().first().is_none_or(u8::is_ascii) {
            return;
        }
        let (Some(first), Some(last)) = (value.chars().next(), value.chars().next_back()) else { return };
        let inner =
            value.strip_prefix(['“', '”', '„', '‘', '’', '«']).and_then(|t| t.strip_suffix(['“', '”', '‘', '’', '»']));
        // With two pairs, the text starts and ends with a quotation.
        let Some(inner) = inner.filter(|t| !t.contains(['“', '”', '„', '«', '»', '\n'])) else { return };
        let message = format!("`{first}` and `{last}` are not YAML quotes, so they are part of the text");
        let d = Diagnostic::warning(rules::TYPOGRAPHIC_QUOTES, self.at(text.span), message);
        let plain = !inner.contains(['"', '\\']) && self.raw(text.span) == value;
        self.report(match plain {
            true => d.suggestion("write straight quotes", self.at(text.span), format!("\"{inner}\"")),
            false => d.help("use straight quotes, `\"` or `'`"),
        });
    }
    /// Reports ` #` after a plain value that was meant as text: `Ticket #{{id}}`. YAML starts a comment there.
    fn cut(&mut self, text: &Text) {
        let end = text.span.end as usize;
        let behind = self.text.as_bytes().get(end..).unwrap_or_default();
        let blanks = behind.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        if blanks == 0 || behind.get(blanks) != Some(&b'#') {
            return;
        }
        let whole = Span::new(text.span.start, locate::line_end(self.text, end) as u32);
        let comment = Span::new(end as u32 + blanks as u32, whole.end);
        let of_text = schema::resolve(&text.value) == Scalar::Str;
        let rest = self.raw(comment).trim_end();
        let sure = cut::is_cut(&text.value, rest, of_text);
        if !sure && !cut::may_be_cut(rest, of_text) {
            return;
        }
        let whole = if text.value.is_empty() { comment } else { whole };
        let message = match text.value.is_empty() {
            true => "` #` starts a comment, so there is no value",
            false => "` #` starts a comment, so the value ends before it",
        };
        let d = Diagnostic::warning(rules::CUT_BY_COMMENT, self.at(comment), message);
        if !sure {
            let help = "put quotes around the whole value, or a space after the `#` of a comment";
            return self.report(Diagnostic { severity: Severity::Info, ..d }.help(help));
        }
        let written = self.raw(whole).trim_end();
        self.report(match super::in_quotes(written).filter(|_| !written.contains('\n')) {
            Some(quoted) => d.suggestion("put quotes around the whole value", self.at(whole), quoted),
            None => d.help("put quotes around the whole value"),
        });
    }
    /// Reports a closing quote without an opening one at the end of a plain value. YAML treats it as part of the text.
    fn stray_quote(&mut self, text: &Text) {
        let Some(inner) = text.value.strip_suffix('"') else { return };
        // After a digit it means inches.
        if inner.contains('"') || inner.is_empty() || inner.ends_with(|c: char| c.is_ascii_digit()) {
            return;
        }
        let at = self.at(text.span);
        let last = self.at(Span::new(text.span.end.saturating_sub(1).max(text.span.start), text.span.end));
        let d = Diagnostic::warning(
            rules::STRAY_QUOTE,
            last,
            "this `\"` is part of the text, because no quote opens the value",
        );
        let plain = !inner.contains(['\\', '\n']);
        self.report(match plain {
            true => d.suggestion("open it", at, format!("\"{inner}\"")),
            false => d.help("remove it, or add the opening quote"),
        });
    }
    fn text(&mut self, value: &str, style: Style, span: Span) -> Text {
        match style {
            Style::Literal | Style::Folded => {
                // Masked bytes between the previous token and this one are not part of its text.
                let masked = self.masked.iter().rev().find(|m| m.end <= span.start).map_or(0, |m| m.end);
                let mut header = locate::value_start(self.text, self.token_end.max(masked) as usize);
                // The mask may have ended in the middle of a comment.
                let is_header = |at: usize| matches!(self.text.as_bytes().get(at), Some(b'|' | b'>'));
                while header < span.start as usize && !is_header(header) {
                    header = locate::value_start(self.text, locate::line_end(self.text, header).max(header + 1));
                }
                let header = (header as u32).min(span.start);
                let raw = self.raw(Span::new(header, span.end));
                let map = ScalarMap::align(value, raw, header, style);
                let written = Span::new(header, header + raw.trim_end().len() as u32);
                Text { value: value.into(), span: written, style, map }
            }
            // The parser passes `~` for an empty value.
            Style::Plain if span.is_empty() => {
                let colon = self.text.as_bytes().get(span.start as usize) == Some(&b':') && self.wants_value();
                let at = span.start + u32::from(colon);
                Text { value: "".into(), span: Span::new(at, at), style, map: ScalarMap::straight(0, at) }
            }
            _ => {
                let map = ScalarMap::align(value, self.raw(span), span.start, style);
                Text { value: self.shared(value), span, style, map }
            }
        }
    }
    /// The text to store. Equal keys of a file share one allocation.
    fn shared(&mut self, value: &str) -> Arc<str> {
        if !self.wants_key() {
            return value.into();
        }
        match self.keys.get(value) {
            Some(known) => known.clone(),
            None => {
                let key: Arc<str> = value.into();
                self.keys.insert(key.clone());
                key
            }
        }
    }
    /// The core tag of a node; other tags are reported.
    pub(super) fn core_tag(&mut self, tag: Option<(&Tag, Span)>) -> Option<(CoreTag, Span)> {
        let (tag, at) = tag?;
        let found = tag.core_suffix().and_then(CoreTag::from_suffix).map(|tag| (tag, at));
        if found.is_none() && self.raw(at) != "!" {
            self.report(
                Diagnostic::error(
                    rules::TAG,
                    self.at(at),
                    format!("the tag `{}` is not supported", shown(self.raw(at))),
                )
                .help("remove it, or put quotes around the value if `!` is part of its text"),
            );
        }
        found
    }
}
