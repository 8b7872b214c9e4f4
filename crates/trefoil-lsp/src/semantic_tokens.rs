//! Semantic tokens for the template languages inside YAML scalars, which a YAML editor shows as text.
//!
//! This lexer never fails, so that an incomplete text has tokens, too. The template parser reports mistakes.

use std::ops::Range;

use trefoil_ir::facts::Scope;
use trefoil_syntax::yaml::{YamlNode, YamlText};
use trefoil_syntax::{FileId, Span};
use trefoil_template::Policy;
use trefoil_template::policy::{BlockSyntax, ConditionGrammar};

use crate::analysis::FolderAnalysis;
use crate::cursor::walk_nodes;
use crate::words;

/// The kind of a token. Its number is its index in the legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Braces and operators.
    Operator,
    /// `#if`, `else`, `and`, `true`.
    Keyword,
    /// The first segment of a path.
    Variable,
    /// The other segments.
    Property,
    /// A helper or filter.
    Function,
    /// Quoted text.
    String,
    /// A number.
    Number,
    /// `{{! }}`
    Comment,
}

impl TokenKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Operator,
        Self::Keyword,
        Self::Variable,
        Self::Property,
        Self::Function,
        Self::String,
        Self::Number,
        Self::Comment,
    ];
    /// Its name in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Keyword => "keyword",
            Self::Variable => "variable",
            Self::Property => "property",
            Self::Function => "function",
            Self::String => "string",
            Self::Number => "number",
            Self::Comment => "comment",
        }
    }
}

/// A token and its bytes in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SemanticToken {
    /// Its bytes.
    pub span: Span,
    /// Its kind.
    pub kind: TokenKind,
}

/// The tokens of a file, in order, without overlaps.
pub fn list_tokens(analysis: &FolderAnalysis, file: FileId) -> Vec<SemanticToken> {
    let (Some(root), Some(front)) = (analysis.yaml_tree(file), analysis.dialect(file)) else { return Vec::new() };
    let mut scopes: Vec<&Scope> = analysis.facts().scopes.iter().filter(|s| s.at.file == file).collect();
    scopes.sort_by_key(|s| s.at.span);
    let mut found = Vec::new();
    for (_, text) in walk_nodes(root).filter_map(YamlNode::as_scalar) {
        found.extend(scalar(text, &scopes, front.policy()));
    }
    // The content of an anchor is found again for every alias.
    found.sort_by_key(|t: &SemanticToken| (t.span.start, t.span.end));
    let mut end = 0;
    found.retain(|t| {
        let keep = t.span.start >= end && !t.span.is_empty();
        if keep {
            end = t.span.end;
        }
        keep
    });
    found
}

/// The tokens of a scalar, if it is a template.
fn scalar(text: &YamlText, scopes: &[&Scope], policy: &Policy) -> Vec<SemanticToken> {
    let content = text.content_span();
    let overlapping = |s: &&&Scope| s.at.span.start <= content.end && content.start <= s.at.span.end;
    let near = scopes.partition_point(|s| s.at.span.start < text.span.start);
    let scope = scopes.get(near.saturating_sub(1)..).unwrap_or_default().iter().take(2).find(overlapping);
    let tokens = match scope {
        Some(scope) if scope.condition => condition(&text.value, scope.policy),
        Some(scope) => template(&text.value, scope.policy),
        // Without facts (a file that cannot be lowered), every placeholder is highlighted.
        None if scopes.is_empty() => template(&text.value, policy),
        None => Vec::new(),
    };
    tokens.into_iter().map(|(range, kind)| SemanticToken { span: text.source_span(range), kind }).collect()
}

type TokenRanges = Vec<(Range<u32>, TokenKind)>;

/// The tokens of a template.
fn template(text: &str, policy: &Policy) -> TokenRanges {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(open) = find_from(text, at, "{{") {
        if policy.escapes && text.get(..open).unwrap_or_default().ends_with('\\') {
            at = open + 2;
            continue;
        }
        at = tag(text, open, policy, &mut out);
    }
    out
}

/// Where a word is in a text, at or after an offset.
fn find_from(text: &str, from: usize, word: &str) -> Option<usize> {
    Some(from + text.get(from..)?.find(word)?)
}

/// The tokens of a condition, which may contain paths without braces.
fn condition(text: &str, policy: &Policy) -> TokenRanges {
    // In this grammar, bare words are text, so only operators and literals are marked.
    let braced = policy.conditions == ConditionGrammar::Braced;
    let mut out = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let open = find_from(text, at, "{{").unwrap_or(text.len());
        lex(text, at..open, policy, braced, &mut out);
        at = if open < text.len() { tag(text, open, policy, &mut out) } else { open };
    }
    out
}

/// Adds the tokens of the tag at `open`; returns its end.
fn tag(text: &str, open: usize, policy: &Policy, out: &mut TokenRanges) -> usize {
    let handlebars = policy.blocks == BlockSyntax::Handlebars;
    let mut body = open + 2;
    if handlebars {
        let rest = text.get(body..).unwrap_or_default();
        body += rest.len() - rest.trim_start_matches(['{', '&', '~']).len();
    }
    push(out, open..body, TokenKind::Operator);
    let content = text.get(body..).unwrap_or_default();
    if handlebars && content.starts_with('!') {
        let close = if content.starts_with("!--") { "--}}" } else { "}}" };
        let end = match find_from(text, body, close) {
            Some(at) => at + close.len() - 2,
            None => text.len(),
        };
        push(out, body..end, TokenKind::Comment);
        let after = (end + 2).min(text.len());
        push(out, end..after, TokenKind::Operator);
        return after;
    }
    let end = close(text, body);
    let mut inner = end;
    if handlebars && text.get(body..end).unwrap_or_default().ends_with('~') {
        inner -= 1;
    }
    lex(text, body..inner, policy, false, out);
    let after = if text.get(end..).unwrap_or_default().starts_with("}}") { end + 2 } else { end };
    push(out, inner..after, TokenKind::Operator);
    after
}

/// The end of a tag's content: its closing braces outside of quotes, or the start of the next tag.
fn close(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'}' if bytes.get(at + 1) == Some(&b'}') => return at,
            b'{' if bytes.get(at + 1) == Some(&b'{') => return at,
            b'"' | b'\'' => {
                let rest = bytes.get(at + 1..).unwrap_or_default();
                if let Some(length) = rest.iter().position(|b| b == byte) {
                    at += length + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    text.len()
}

const WORDS: &[&str] = &["true", "false", "null", "else", "if", "unless", "each", "with", "as", "this"];
const PYTHON: &[&str] = &["and", "or", "not", "in", "is", "True", "False", "None"];

/// Adds the tokens between braces, or of a condition. `literal`: words are text.
fn lex(text: &str, range: Range<usize>, policy: &Policy, literal: bool, out: &mut TokenRanges) {
    let python = policy.conditions == ConditionGrammar::Python;
    let mut at = range.start;
    loop {
        let rest = text.get(at..range.end).unwrap_or_default();
        let Some(c) = rest.chars().next() else { return };
        let length = match c {
            _ if c.is_whitespace() => c.len_utf8(),
            '"' | '\'' => {
                let length = match rest.get(1..).unwrap_or_default().find(c) {
                    Some(inner) => inner + 2,
                    None => rest.len(),
                };
                push(out, at..at + length, TokenKind::String);
                length
            }
            '#' | '/' | '^'
                if !literal && starts_word(rest.get(1..).unwrap_or_default()) && at_head(text, range.start, at) =>
            {
                let length = 1 + word(rest.get(1..).unwrap_or_default());
                push(out, at..at + length, TokenKind::Keyword);
                length
            }
            '0'..='9' => {
                let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
                push(out, at..at + length, TokenKind::Number);
                length
            }
            _ if starts_word(rest) => {
                let length = word(rest);
                let name = rest.get(..length).unwrap_or_default();
                if literal {
                    if matches!(name, "true" | "false" | "null") {
                        push(out, at..at + length, TokenKind::Keyword);
                    }
                    length
                } else {
                    path(text, at, length, range.end, policy, python, out)
                }
            }
            _ => {
                let length = c.len_utf8();
                if "=!<>&|()+-*%,[]/.".contains(c) {
                    push(out, at..at + length, TokenKind::Operator);
                }
                length
            }
        };
        at += length.max(1);
    }
}

/// Adds a path, word or helper that starts at `at` with a word of `length`; returns its length.
fn path(
    text: &str,
    at: usize,
    length: usize,
    end: usize,
    policy: &Policy,
    python: bool,
    out: &mut TokenRanges,
) -> usize {
    let first = text.get(at..at + length).unwrap_or_default();
    let after = text.get(at + length..end).unwrap_or_default();
    if !continues_path(after) {
        let called = after.starts_with('(')
            || after.starts_with([' ', '\t']) && words::helper_words(policy).iter().any(|w| w.name == first);
        let kind = if python && PYTHON.contains(&first) || WORDS.contains(&first) && first != "this" {
            TokenKind::Keyword
        } else if called || policy.filters && text.get(..at).unwrap_or_default().trim_end().ends_with('|') {
            TokenKind::Function
        } else {
            TokenKind::Variable
        };
        push(out, at..at + length, kind);
        return length;
    }
    push(out, at..at + length, TokenKind::Variable);
    let mut total = length;
    loop {
        let rest = text.get(at + total..end).unwrap_or_default();
        if !continues_path(rest) {
            return total;
        }
        push(out, at + total..at + total + 1, TokenKind::Operator);
        let next = word(rest.get(1..).unwrap_or_default()).max(1);
        push(out, at + total + 1..at + total + 1 + next, TokenKind::Property);
        total += 1 + next;
    }
}

/// Whether a text starts with a separator and another segment of a path.
fn continues_path(text: &str) -> bool {
    let Some(segment) = text.strip_prefix(['.', '/']) else { return false };
    starts_word(segment) || segment.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether there are only spaces between the start of the tag and this place.
fn at_head(text: &str, start: usize, at: usize) -> bool {
    matches!(text.get(start..at), Some(between) if between.trim().is_empty())
}

fn starts_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '@' | '$'))
}

/// The length of the segment at the start of a text.
fn word(text: &str) -> usize {
    let part = |c: char| !c.is_whitespace() && !r#"{}.|=!<>&()"'#/+*,[]~%"#.contains(c);
    text.find(|c| !part(c)).unwrap_or(text.len())
}

fn push(out: &mut TokenRanges, range: Range<usize>, kind: TokenKind) {
    if !range.is_empty() {
        out.push((range.start as u32..range.end as u32, kind));
    }
}

#[cfg(test)]
mod tests {
    use super::{TokenKind, condition, template};
    use trefoil_template::Policy;

    fn shown(text: &str, tokens: &[(std::ops::Range<u32>, TokenKind)]) -> String {
        let one = |(range, kind): &(std::ops::Range<u32>, TokenKind)| {
            format!("{}:{}", &text[range.start as usize..range.end as usize], &kind.name()[..2])
        };
        tokens.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tags_of_every_dialect() {
        let of = |text: &str, policy| shown(text, &template(text, policy));
        assert_eq!(
            of("Hi {{#if a.b == 'x y'}}{{c}}{{/if}}", &Policy::AGNTZ),
            "{{:op #if:ke a:va .:op b:pr =:op =:op 'x y':st }}:op {{:op c:va }}:op {{:op /if:ke }}:op"
        );
        assert_eq!(
            of("{{default x.0 \"}}\"}} \\{{no}} {{~else~}} {{! c }}", &Policy::AEGIS),
            "{{:op default:fu x:va .:op 0:pr \"}}\":st }}:op {{~:op else:ke ~}}:op {{:op ! c :co }}:op"
        );
        assert_eq!(
            of("{{ plan.output | default('n') }}", &Policy::SIRENSPEC),
            "{{:op plan:va .:op output:pr |:op default:fu (:op 'n':st ):op }}:op"
        );
    }

    #[test]
    fn what_is_being_written_has_tokens() {
        assert_eq!(shown("x {{ wri", &template("x {{ wri", &Policy::AGNTZ)), "{{:op wri:va");
        assert_eq!(shown("{{a {{b}}", &template("{{a {{b}}", &Policy::AGNTZ)), "{{:op a:va {{:op b:va }}:op");
    }

    #[test]
    fn conditions_with_and_without_braces() {
        let text = "{{r.ok}} == true && {{n}} > 3";
        assert_eq!(
            shown(text, &condition(text, &Policy::AGNTZ)),
            "{{:op r:va .:op ok:pr }}:op =:op =:op true:ke &:op &:op {{:op n:va }}:op >:op 3:nu"
        );
        let text = "working.x != 'a' and len(output.y)";
        assert_eq!(
            shown(text, &condition(text, &Policy::SIRENSPEC)),
            "working:va .:op x:pr !:op =:op 'a':st and:ke len:fu (:op output:va .:op y:pr ):op"
        );
    }
}
