//! The wording of each parser error.

use granit_parser::ErrorKind as E;

use super::{SyntaxErrorContext, YamlLimits, locate, rules};

/// Which place to mark, and how to continue reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProblemKind {
    /// The error; the value on that line can be read as text.
    Value,
    /// The quote that is not closed.
    Quote,
    /// The bracket that is not closed.
    Opening,
    /// The error, inside a list or mapping in brackets.
    Inside,
    /// The tab.
    Tab,
    /// The item or word at the start of the line.
    Item,
    /// The error.
    Here,
    /// The line that starts with `%`, which can be skipped.
    Directive,
    /// The first line, which can be skipped.
    First,
}

/// The text of a finding.
pub(super) struct ErrorWording {
    pub(super) kind: ProblemKind,
    pub(super) rule: &'static str,
    pub(super) message: String,
    pub(super) help: Option<String>,
    /// The bytes to mark, if the kind does not determine them.
    pub(super) place: Option<(usize, usize)>,
    /// The place above that is the cause.
    pub(super) above: Option<(usize, usize)>,
    /// Whether it is about indentation, so another line may be the wrong one.
    pub(super) uneven: bool,
}

impl ErrorWording {
    fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { kind, rule: rules::SYNTAX, message: message.into(), help: None, place: None, above: None, uneven: false }
    }
    fn uneven(self) -> Self {
        Self { uneven: true, ..self }
    }
    fn rule(self, rule: &'static str) -> Self {
        Self { rule, ..self }
    }
    fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

/// The wording of an error.
// reason: a table with one line for each error
pub(super) fn error_wording(error: &E, scene: &SyntaxErrorContext<'_>, limits: &YamlLimits) -> ErrorWording {
    use ProblemKind::{First, Here, Inside, Item, Opening, Tab, Value};
    let say = |kind, message: &str| ErrorWording::new(kind, message);
    match error {
        // Values without quotes.
        E::UnexpectedCharacter { character } => unexpected(*character, scene),
        E::MappingValueNotAllowed | E::InvalidColonPlacement | E::MappingKeyNotAllowed => colon(scene),
        E::PlainScalarStartsWithDashFlowIndicator => {
            say(Value, "a value cannot start with `-` and a bracket").help("put quotes around it")
        }
        E::MissingAnchorOrAliasName => say(Value, "`&` and `*` need a name").help("put quotes around the value if it is text"),
        E::CommentInterceptedScalar => {
            say(Here, "a comment cannot be inside a value").help("move the comment above the key, or put quotes around the value")
        }
        E::CommentNotSeparated => say(Value, "a comment needs a space before its `#`").help("add a space, or put quotes around the value"),
        E::ExpectedWhitespace | E::InvalidMappingValueWhitespace | E::InvalidBlockEntryWhitespace => {
            say(Here, "missing space").help("write a space after `:` and `-`")
        }
        E::FlowMappingValueAdjacentCollection => say(Inside, "missing space after `:`").help("write `key: [..]`"),

        // Quotes.
        E::UnclosedQuotedScalar | E::InvalidQuotedScalarIndent | E::DocumentIndicatorInQuotedScalar => {
            say(ProblemKind::Quote, "this quote is never closed")
                .help("close it; if the text continues on the next lines, indent them further than the key")
        }
        E::InvalidTrailingSingleQuotedScalar | E::InvalidTrailingDoubleQuotedScalar if scene.flow.is_some() => {
            say(Inside, "expected `,` or a closing bracket here").help("separate the items with `,`, and escape quotes that are text")
        }
        E::InvalidTrailingSingleQuotedScalar => say(Value, "text after the closing quote")
            .help("put the whole value in quotes; inside single quotes write `''` for a quote"),
        E::InvalidTrailingDoubleQuotedScalar => say(Value, "text after the closing quote")
            .help("put the whole value in quotes; inside double quotes write `\\\"` for a quote"),
        E::UnknownQuotedScalarEscape => escape(scene, "is not a YAML escape", "write `\\\\` for a backslash, or use single quotes"),
        E::InvalidQuotedScalarHexEscape | E::InvalidLowSurrogateHexEscape => {
            escape(scene, "needs more hexadecimal digits", "write `\\x` with two digits, `\\u` with four, `\\U` with eight")
        }
        E::InvalidLowSurrogate | E::MissingLowSurrogate | E::UnpairedLowSurrogate => {
            escape(scene, "is one half of a surrogate pair", "write both halves, or `\\U` with eight digits")
        }
        E::InvalidUnicodeEscape => escape(scene, "is not a Unicode character", "the highest is `\\U0010FFFF`"),

        // Brackets.
        E::UnclosedFlowCollection { open } => {
            let close = if *open == '[' { ']' } else { '}' };
            ErrorWording::new(Opening, format!("`{open}` is not closed")).help(format!("add `{close}`, or put quotes around the value if it is text"))
        }
        E::UnexpectedEofFlowSequence | E::ExpectedFlowSequenceSeparator => {
            say(Inside, "expected `,` or `]` here").help("close the list, or put quotes around a value that contains brackets or commas")
        }
        E::UnexpectedEofFlowMapping | E::UnexpectedEofImplicitFlowMapping | E::ExpectedFlowMappingSeparator => {
            say(Inside, "expected `,` or `}` here").help("close the mapping, or put quotes around a value that contains braces or commas")
        }
        E::MismatchedFlowCollectionEnd { open, close } => {
            let right = if *open == '[' { ']' } else { '}' };
            ErrorWording::new(Inside, format!("`{open}` is closed by `{close}`")).help(format!("close it with `{right}`"))
        }
        E::MisplacedFlowCollectionEnd => say(Value, "this closing bracket has no opening one").help("remove it, or put quotes around the value"),
        E::BlockEntryInFlowCollection => say(Inside, "`- ` is not allowed inside brackets").help("separate the items with `,`"),
        E::InvalidFlowScalarIndent => {
            say(Inside, "a line of this value is not indented enough").help("indent it further than the key, or close the bracket above")
        }

        // Blocks and their indentation.
        E::TabInBlockIndentation | E::TabInIndentation | E::TabAtBlockScalarStart => {
            say(Tab, "a tab is used for indentation").rule(rules::TAB).help("indent with spaces")
        }
        E::TabNotAllowed | E::TabInPlainScalar => say(Tab, "a tab is not allowed here").rule(rules::TAB).help("use spaces"),
        E::BlockSequenceEntryNotAllowed => say(Here, "a list cannot start on the line of its key")
            .help("start the list on the next line, or put quotes around the value if `-` is part of its text"),
        E::ExpectedBlockMappingKey => key(scene),
        E::ExpectedBlockSequenceEntry => say(Item, "expected `- ` here, because this line is at the level of a list")
            .help("start it with `- `, indent it so that it belongs to the item above, or align it with the keys above the list"),
        E::ExpectedDocumentStart => match directive_line(scene.text) {
            Some(_) => not_a_directive(scene),
            None => match lone_line(scene.text) {
                // Because of this line, the following lines belong to nothing.
                Some((place, indented)) => ErrorWording {
                    place: Some(place),
                    ..match indented {
                        true => say(First, "this line is indented further than the keys below it")
                            .help("align it with them"),
                        false => say(First, "expected `key: value` here").help("add `: ` after the key"),
                    }
                },
                None => say(Item, "this line's indentation matches no line above it")
                    .help("align it with the keys that it belongs to"),
            },
        },
        E::InvalidIndentation => say(Item, "this line's indentation matches no line above it")
            .help("align it with the keys or items that it belongs to")
            .uneven(),
        E::SimpleKeyExpected | E::InvalidSimpleKey => {
            say(Item, "expected `key: value` here").help("add the `:`; a key must be short and on the same line as its `:`")
        }
        E::ExpectedNodeContent => say(Here, "expected a value here"),
        E::UnexpectedEofBlockMapping | E::UnexpectedEofBlockSequence | E::UnexpectedEof | E::UnexpectedEndOfPlainScalar => {
            say(Here, "the file ends in the middle of a value")
        }
        E::ZeroBlockScalarIndent => say(Here, "the indentation cannot be 0").help("write a number from 1 to 9, or remove it"),
        E::InvalidBlockScalarHeader => say(Here, "text after the `|` or `>`").help("start the text on the next line"),
        E::InvalidBlockScalarIndent => say(Here, "this line is indented less than the first line of the text")
            .help("indent all lines equally, or give the indentation in the header: `|2`"),

        // Tags.
        E::UndeclaredTagHandle
        | E::ExpectedTagBang
        | E::InvalidGlobalTagCharacter
        | E::InvalidTagTerminator
        | E::MissingTagUri
        | E::UnclosedVerbatimTag
        | E::InvalidTagEscape
        | E::InvalidTagUtf8LeadingByte
        | E::InvalidTagUtf8TrailingByte
        | E::InvalidTagUtf8 => {
            say(Value, "unknown YAML tag").rule(rules::TAG).help("remove it, or put quotes around the value if `!` is part of its text")
        }

        // Directives and documents.
        E::DuplicateVersionDirective
        | E::DuplicateTagDirective
        | E::UnsupportedYamlMajorVersion
        | E::MissingDocumentEndBeforeDirective
        | E::ExpectedTagDirectiveBang
        | E::InvalidDirectiveTerminator
        | E::MissingYamlVersionSeparator
        | E::MissingDirectiveName
        | E::InvalidDirectiveName
        | E::YamlVersionTooLong
        | E::MissingYamlVersion
        | E::InvalidTagDirectiveTerminator => not_a_directive(scene),
        E::InvalidDocumentEnd => say(Here, "text after `...`, the end of the document").help("remove one of them"),
        E::BomInsideDocument => say(Here, "a byte order mark (U+FEFF) inside the text").help("remove this invisible character"),

        // Limits.
        E::RecursionLimitExceeded => ErrorWording::new(Here, format!("lists and mappings are nested more than {} levels deep", limits.depth))
            .rule(rules::LIMIT)
            .help("flatten the structure"),
        E::AnchorCountOverflow | E::DirectiveByteLimitExceeded { .. } | E::TooManyReservedDirectiveParams { .. } => {
            say(Here, "this exceeds the limits").rule(rules::LIMIT)
        }
        _ => say(Here, "this is not valid YAML").help("check the quotes, brackets and indentation here and above"),
    }
}

fn unexpected(character: char, scene: &SyntaxErrorContext<'_>) -> ErrorWording {
    let kind = if scene.value == Some(scene.at) { ProblemKind::Value } else { ProblemKind::Here };
    match character {
        '`' => ErrorWording::new(kind, "a value cannot start with a backtick").help("put quotes around it"),
        '@' | '%' => {
            ErrorWording::new(kind, format!("a value cannot start with `{character}`")).help("put quotes around it")
        }
        c if c.is_control() => {
            let message = format!("the control character U+{:04X} is not allowed here", u32::from(c));
            ErrorWording::new(kind, message).rule(rules::CHARACTER).help("remove it")
        }
        c => ErrorWording::new(kind, format!("`{c}` is not allowed here")),
    }
}

/// The offset of the line at the top that starts with `%`, if there is one.
pub(super) fn directive_line(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let line = text.get(at..locate::line_end(text, at))?.trim_start_matches('\u{feff}');
        match line.trim_start().chars().next() {
            Some('%') => return line.starts_with('%').then_some(at),
            Some('#') | None if at < text.len() => at = locate::next_line(text, at),
            _ => return None,
        }
    }
}

fn not_a_directive(scene: &SyntaxErrorContext<'_>) -> ErrorWording {
    let place = directive_line(scene.text).map(|at| (at, locate::line_end(scene.text, at)));
    let wording = ErrorWording::new(
        ProblemKind::Directive,
        "a line that starts with `%` is a directive, and this is not a valid one",
    );
    ErrorWording { place, ..wording.help("remove the line, or put quotes around it if it is text") }
}

/// A `:` where no key is allowed.
fn colon(scene: &SyntaxErrorContext<'_>) -> ErrorWording {
    if scene.flow.is_some() {
        return ErrorWording::new(ProblemKind::Inside, "`:` is not allowed here, inside brackets")
            .help("close the bracket, or put quotes around the text");
    }
    if scene.value_on_line().is_some() {
        return ErrorWording::new(ProblemKind::Value, "a value without quotes cannot contain `: `")
            .help("put quotes around the whole value");
    }
    let found = ErrorWording::new(ProblemKind::Item, "this line continues the value above it, so it cannot be a key");
    let start = locate::line_start(scene.text, scene.at);
    let end = scene.text.get(..start).unwrap_or_default().trim_end().len();
    let from = locate::line_start(scene.text, end);
    let above = scene.text.get(from..end).unwrap_or_default();
    if let Some((key, value)) = above.trim().split_once(':')
        && !value.is_empty()
        && !key.contains([' ', '"', '\''])
        && !value.starts_with(' ')
    {
        let colon = from + above.find(':').unwrap_or_default();
        let found = ErrorWording::new(ProblemKind::Item, "a key needs a space after its `:`");
        return ErrorWording { place: Some((colon, colon + 1)), ..found }.help("write a space after the `:`");
    }
    let word = from + above.len() - above.trim_start().len();
    let line = scene.text.get(start..).unwrap_or_default();
    if is_key_without_colon(above.trim()) && line.len() - line.trim_start_matches(' ').len() == word - from {
        let found = ErrorWording::new(ProblemKind::Item, "expected `key: value` here");
        let place = Some((word, locate::word_end(scene.text, word)));
        return ErrorWording { place, ..found }.help("add `: ` after the key");
    }
    let bare = !above.trim().is_empty() && !above.contains(": ") && !above.ends_with(':');
    let above = if bare { Some((word, locate::word_end(scene.text, word))) } else { None };
    ErrorWording { above, ..found }
        .help("align it with the other keys; if the line above should be a key too, end it with `:`")
}

/// Whether a line looks like a key and its value without the `:`, not like prose.
fn is_key_without_colon(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let key = words.next().unwrap_or_default();
    let name = |c: char| c.is_ascii_lowercase() || matches!(c, '_' | '-');
    let value = words.next().is_some() && words.count() <= 1;
    value && key.chars().all(name) && !line.contains(':') && !line.ends_with(['.', ',', '!', '?'])
}

/// A missing key.
fn key(scene: &SyntaxErrorContext<'_>) -> ErrorWording {
    let line = scene.text.get(locate::line_start(scene.text, scene.at)..).unwrap_or_default();
    if scene.value_on_line().is_some() {
        return ErrorWording::new(ProblemKind::Value, "text after the end of the value")
            .help("put quotes around the whole value");
    }
    if line.trim_start_matches([' ', '\t']).starts_with("- ") {
        return ErrorWording::new(ProblemKind::Item, "a list item among the keys of a mapping")
            .help("indent the list below its key, or remove the `- `");
    }
    let end = locate::line_end(line, 0);
    if super::super::recovery::begins_key(line.get(..end).unwrap_or_default().trim_start()) {
        return ErrorWording::new(ProblemKind::Item, "this line's indentation matches no line above it")
            .help("align it with the keys that it belongs to")
            .uneven();
    }
    ErrorWording::new(ProblemKind::Item, "expected a key here").help("write `key: value`, aligned with the other keys")
}

/// A bad escape in a quoted value. The parser reports only where the quote opens.
fn escape(scene: &SyntaxErrorContext<'_>, what: &str, help: &str) -> ErrorWording {
    let text = scene.text.get(scene.at..).unwrap_or_default();
    let bad = super::escape::first_bad(text).unwrap_or(0..1);
    let shown = text.get(bad.clone()).unwrap_or_default();
    let wording =
        ErrorWording::new(ProblemKind::Value, format!("`{}` {what}", super::super::mapping::displayed_key(shown)));
    ErrorWording { place: Some((scene.at + bad.start, scene.at + bad.end)), ..wording.help(help) }
}

/// The first line of a text, if it is words without a key or is indented, and whether it is indented.
pub(super) fn lone_line(text: &str) -> Option<((usize, usize), bool)> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let words = line.trim();
        if words.is_empty() || words.starts_with('#') || words == "---" || words.starts_with('%') {
            start += line.len();
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let is_key = words.contains(": ") || words.ends_with(':');
        let place = (start + indent, start + indent + words.len());
        return (words.starts_with(char::is_alphabetic) && (indent > 0 || !is_key)).then_some((place, indent > 0));
    }
    None
}
