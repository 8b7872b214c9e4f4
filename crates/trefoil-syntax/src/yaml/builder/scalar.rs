//! Scalars of the tree: text, type, tag and position.

use std::sync::Arc;

use granit_parser::{ScalarStyle, Tag};

use super::super::scalar_map::ScalarMap;
use super::super::schema;
use super::super::style::YamlStyle;
use super::super::tree::{YamlScalar, YamlText};
use super::{
    BuiltNode, CoreTag, Diagnostic, Span, TreeBuilder, cut_values, displayed_key, leaf, locate, misfit, rules,
};
use crate::FindingSeverity;

impl TreeBuilder<'_> {
    /// A null value at a place.
    pub(super) fn null_node(&self, span: Span) -> BuiltNode {
        let text = YamlText {
            value: "".into(),
            span,
            style: YamlStyle::Plain,
            map: ScalarMap::for_identical_text(0, span.start),
        };
        leaf(YamlScalar::Null, text)
    }
    /// A value that is used as text exactly as written in the file.
    pub(super) fn verbatim_scalar(&self, span: Span) -> (YamlScalar, YamlText) {
        let value = self.raw(span);
        let text = YamlText {
            value: value.into(),
            span,
            style: YamlStyle::Plain,
            map: ScalarMap::for_identical_text(value.len() as u32, span.start),
        };
        (YamlScalar::Str, text)
    }
    pub(super) fn build_scalar(
        &mut self,
        value: &str,
        style: ScalarStyle,
        span: Span,
        tag: Option<(&Tag, Span)>,
    ) -> (YamlScalar, YamlText) {
        // The first mask that ends after the scalar's start. It may start before the scalar or inside it.
        let mask = self.masked.partition_point(|m| m.end <= span.start);
        if !span.is_empty()
            && let Some(mask) = self.masked.get(mask)
            && mask.start < span.end
        {
            self.token_end = span.end;
            return self.verbatim_scalar(span);
        }
        let style = match style {
            ScalarStyle::Plain => YamlStyle::Plain,
            ScalarStyle::SingleQuoted => YamlStyle::Single,
            ScalarStyle::DoubleQuoted => YamlStyle::Double,
            ScalarStyle::Literal => YamlStyle::Literal,
            ScalarStyle::Folded => YamlStyle::Folded,
        };
        let text = self.text(value, style, span);
        self.token_end = self.token_end.max(span.end).max(text.span.end);
        if style == YamlStyle::Plain {
            self.typographic(&text);
            self.cut(&text);
            self.stray_quote(&text);
        }
        let scalar = match self.core_tag(tag) {
            Some((tag, at)) => tag.convert_scalar(&text.value).unwrap_or_else(|| {
                let what = format!("`{}`", displayed_key(&text.value));
                self.report_finding(misfit(tag, &what, self.location_of(at)));
                YamlScalar::Str
            }),
            // The non-specific tag `!` makes any scalar a string.
            None if tag.is_some_and(|(_, at)| self.raw(at) == "!") => YamlScalar::Str,
            None if style == YamlStyle::Plain => schema::resolve_scalar(&text.value),
            None => YamlScalar::Str,
        };
        (scalar, text)
    }
    /// Reports typographic quotes around a whole value, which YAML treats as part of the text.
    fn typographic(&mut self, text: &YamlText) {
        let value = &*text.value;
        // As nearly always.
        if value.as_bytes().first().is_none_or(u8::is_ascii) {
            return;
        }
        let (Some(first), Some(last)) = (value.chars().next(), value.chars().next_back()) else { return };
        let Some(rest) = value.strip_prefix(['“', '”', '„', '‘', '’', '«']) else { return };
        let Some(inner) = rest.strip_suffix(['“', '”', '‘', '’', '»']) else { return };
        // With two pairs, the text starts and ends with a quotation.
        if inner.contains(['“', '”', '„', '«', '»', '\n']) {
            return;
        }
        let message = format!("`{first}` and `{last}` are not YAML quotes, so they are part of the text");
        let d = Diagnostic::new_warning(rules::TYPOGRAPHIC_QUOTES, self.location_of(text.span), message);
        let plain = !inner.contains(['"', '\\']) && self.raw(text.span) == value;
        self.report_finding(match plain {
            true => d.with_suggestion("write straight quotes", self.location_of(text.span), format!("\"{inner}\"")),
            false => d.with_help("use straight quotes, `\"` or `'`"),
        });
    }
    /// Reports ` #` after a plain value that was meant as text: `Ticket #{{id}}`. YAML starts a comment there.
    fn cut(&mut self, text: &YamlText) {
        let end = text.span.end as usize;
        let behind = self.text.as_bytes().get(end..).unwrap_or_default();
        let blanks = behind.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        if blanks == 0 || behind.get(blanks) != Some(&b'#') {
            return;
        }
        let whole = Span::new(text.span.start, locate::line_end(self.text, end) as u32);
        let comment = Span::new(end as u32 + blanks as u32, whole.end);
        let of_text = schema::resolve_scalar(&text.value) == YamlScalar::Str;
        let rest = self.raw(comment).trim_end();
        let sure = cut_values::is_cut(&text.value, rest, of_text);
        if !sure && !cut_values::may_be_cut(rest, of_text) {
            return;
        }
        let whole = if text.value.is_empty() { comment } else { whole };
        let message = match text.value.is_empty() {
            true => "` #` starts a comment, so there is no value",
            false => "` #` starts a comment, so the value ends before it",
        };
        let d = Diagnostic::new_warning(rules::CUT_BY_COMMENT, self.location_of(comment), message);
        if !sure {
            let help = "put quotes around the whole value, or a space after the `#` of a comment";
            return self.report_finding(Diagnostic { severity: FindingSeverity::Info, ..d }.with_help(help));
        }
        let written = self.raw(whole).trim_end();
        self.report_finding(match super::in_quotes(written) {
            Some(quoted) if !written.contains('\n') => {
                d.with_suggestion("put quotes around the whole value", self.location_of(whole), quoted)
            }
            _ => d.with_help("put quotes around the whole value"),
        });
    }
    /// Reports a closing quote without an opening one at the end of a plain value. YAML treats it as part of the text.
    fn stray_quote(&mut self, text: &YamlText) {
        let Some(inner) = text.value.strip_suffix('"') else { return };
        // After a digit it means inches.
        if inner.contains('"') || inner.is_empty() || inner.ends_with(|c: char| c.is_ascii_digit()) {
            return;
        }
        let at = self.location_of(text.span);
        let last = self.location_of(Span::new(text.span.end.saturating_sub(1).max(text.span.start), text.span.end));
        let d = Diagnostic::new_warning(
            rules::STRAY_QUOTE,
            last,
            "this `\"` is part of the text, because no quote opens the value",
        );
        let plain = !inner.contains(['\\', '\n']);
        self.report_finding(match plain {
            true => d.with_suggestion("open it", at, format!("\"{inner}\"")),
            false => d.with_help("remove it, or add the opening quote"),
        });
    }
    fn text(&mut self, value: &str, style: YamlStyle, span: Span) -> YamlText {
        match style {
            YamlStyle::Literal | YamlStyle::Folded => {
                // Masked bytes between the previous token and this one are not part of its text.
                let masked = match self.masked.iter().rev().find(|mask| mask.end <= span.start) {
                    Some(mask) => mask.end,
                    None => 0,
                };
                let mut header = locate::value_start(self.text, self.token_end.max(masked) as usize);
                // The mask may have ended in the middle of a comment.
                let is_header = |at: usize| matches!(self.text.as_bytes().get(at), Some(b'|' | b'>'));
                while header < span.start as usize && !is_header(header) {
                    header = locate::value_start(self.text, locate::line_end(self.text, header).max(header + 1));
                }
                let header = (header as u32).min(span.start);
                let raw = self.raw(Span::new(header, span.end));
                let map = ScalarMap::align_text(value, raw, header, style);
                let written = Span::new(header, header + raw.trim_end().len() as u32);
                YamlText { value: value.into(), span: written, style, map }
            }
            // The parser passes `~` for an empty value.
            YamlStyle::Plain if span.is_empty() => {
                let colon = self.text.as_bytes().get(span.start as usize) == Some(&b':') && self.wants_value();
                let at = span.start + u32::from(colon);
                YamlText { value: "".into(), span: Span::new(at, at), style, map: ScalarMap::for_identical_text(0, at) }
            }
            _ => {
                let map = ScalarMap::align_text(value, self.raw(span), span.start, style);
                YamlText { value: self.shared(value), span, style, map }
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
            self.report_finding(
                Diagnostic::new_error(
                    rules::TAG,
                    self.location_of(at),
                    format!("the tag `{}` is not supported", displayed_key(self.raw(at))),
                )
                .with_help("remove it, or put quotes around the value if `!` is part of its text"),
            );
        }
        found
    }
}
