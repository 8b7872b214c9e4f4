//! Recognises fallback texts in the syntax of other languages: `{{ x || 'none' }}`, `{{ x ?? 'none' }}`, `{{ x or
//! 'none' }}`, `{{ x | default: 'none' }}`. Reports what to write instead; does not evaluate them.

use std::ops::Range;

use super::builder::TemplateBuilder;
use crate::path::in_segment;
use crate::policy::BlockSyntax;

/// Operators and filters before the text. Filters with a colon or a space are from languages without parentheses there.
const SIGNS: &[&str] = &["||", "??", "?:", "or ", "| default:", "| default ", "|default:", "|default "];

/// Reports a placeholder of this form; returns whether it was one.
pub fn report_fallback(b: &mut TemplateBuilder<'_>, inner: Range<usize>) -> bool {
    let text = b.source_slice(inner.clone());
    let Some((path, sign, otherwise)) = cut(text) else { return false };
    let start = inner.start + path.len();
    let path = path.trim_end();
    let sign = sign.trim();
    let filters = b.policy.filters;
    // Whatever quotes surround the text in the file, one kind of quote can be used inside it.
    let plain = !otherwise.contains(['\'', '"', '\\']);
    let (code, span, meant, message) = if filters {
        let message = if sign.contains("default") {
            "`default` needs its text in parentheses".to_owned()
        } else {
            format!("`{sign}` is not supported in a placeholder")
        };
        let gap = text.len() - text.get(path.len()..).unwrap_or_default().trim_start().len();
        let filter = format!("| default('{otherwise}')");
        ("template-bad-filter", inner.start + gap..inner.end, Some(filter), message)
    } else if b.policy.blocks == BlockSyntax::If {
        ("template-bad-path", start..inner.end, None, format!("`{sign}` is not supported in a placeholder"))
    } else {
        let meant = format!("default {path} '{otherwise}'");
        ("template-syntax", inner, Some(meant), format!("`{sign}` is not supported in a placeholder"))
    };
    let outside = b.policy.words.otherwise.map_or(String::new(), |advice| format!("{advice}, or "));
    let noted = b.mistakes.add_mistake(code, span, message);
    match meant {
        Some(meant) => {
            let help =
                if filters { format!("write `{{{{ {path} {meant} }}}}`") } else { format!("write `{{{{{meant}}}}}`") };
            if plain {
                noted.set_certain_replacement(meant);
            }
            noted.set_help(help);
        }
        None => noted.set_help(format!(
            "{outside}write `{{{{#if {path}}}}}{{{{{path}}}}}{{{{/if}}}}` and, for the other case, \
             `{{{{#if {path} == null}}}}{otherwise}{{{{/if}}}}`"
        )),
    }
    true
}

/// The path with the spaces after it, the operator, and the text without quotes.
fn cut(text: &str) -> Option<(&str, &str, &str)> {
    let path = text.split(|c: char| c.is_whitespace() || !(in_segment(c) || c == '.') || c == '?').next()?;
    let rest = text.get(path.len()..)?;
    let spaced = rest.trim_start();
    let sign = SIGNS
        .iter()
        .find(|sign| spaced.starts_with(**sign) && (sign.starts_with(['|', '?']) || spaced.len() < rest.len()))?;
    let quoted = spaced.get(sign.len()..)?.trim();
    let quote = quoted.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let otherwise = quoted.strip_prefix(quote)?.strip_suffix(quote)?;
    let path = text.get(..text.len() - spaced.len()).filter(|path| !path.trim().is_empty())?;
    (!otherwise.contains(quote)).then_some((path, *sign, otherwise))
}
