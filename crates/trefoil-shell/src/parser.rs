//! The parser: one pass over the text, with a level for each `$( )`.

use crate::word::is_keyword;
use crate::{
    CommandSubstitution, HOLE, QuoteStyle, ShellCommand, ShellRedirect, ShellScript, ShellWord, ShellWordPart,
    word_text,
};

/// Maximum nesting of commands.
const DEEPEST: u32 = 40;

/// A character of the text, and the number of its hole.
#[derive(Debug, Clone, Copy)]
struct ScriptChar {
    c: char,
    hole: Option<usize>,
}

/// Parses a script. `holes` contains the positions of its [`HOLE`] characters, in order.
pub fn parse_script(text: &str, holes: &[usize]) -> ShellScript {
    let mut rest = holes.iter().enumerate().peekable();
    let units: Vec<ScriptChar> = text
        .char_indices()
        .map(|(at, c)| {
            let hole = rest.next_if(|(_, hole)| **hole == at && c == HOLE).map(|(number, _)| number);
            ScriptChar { c, hole }
        })
        .collect();
    let mut script = ShellScript::default();
    let mut seen = 0;
    let mut reader = ScriptReader::new(&units, 0, &mut script, &mut seen);
    let commands = reader.commands(false);
    script.commands = commands;
    script
}

/// The state of one level of commands.
#[derive(Default)]
struct CommandLevel {
    done: Vec<ShellCommand>,
    command: ShellCommand,
    word: Option<ShellWord>,
    /// The purpose of the current word, if it belongs to a redirection.
    target: Option<ShellRedirect>,
    /// Set if the current word is the delimiter of a here-document: whether values are expanded in that.
    here: Option<bool>,
    /// Number of open groups.
    groups: u32,
}

struct ScriptReader<'u, 's> {
    units: &'u [ScriptChar],
    at: usize,
    depth: u32,
    level: CommandLevel,
    /// Here-documents that start with the next line: their delimiters, and whether values are expanded in them.
    waiting: Vec<(String, bool)>,
    /// The position that closes each `(`, computed on first use.
    closed: Option<Vec<Option<usize>>>,
    script: &'s mut ShellScript,
    /// Number of holes so far.
    seen: &'s mut usize,
}

/// The end of an arithmetic expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArithmeticEnd {
    /// `))`
    Parentheses,
    /// `]`
    Bracket,
    /// `}`, which is not consumed.
    Brace,
    /// The end of the text.
    Text,
}

impl<'u, 's> ScriptReader<'u, 's> {
    fn new(units: &'u [ScriptChar], depth: u32, script: &'s mut ShellScript, seen: &'s mut usize) -> Self {
        let (level, waiting) = (CommandLevel::default(), Vec::new());
        ScriptReader { units, at: 0, depth, level, waiting, closed: None, script, seen }
    }

    /// Parses other characters with a nested reader that adds to the same script.
    fn aside<T>(&mut self, units: &[ScriptChar], read: impl FnOnce(&mut ScriptReader<'_, '_>) -> T) -> Option<T> {
        if self.depth >= DEEPEST {
            return None;
        }
        Some(read(&mut ScriptReader::new(units, self.depth + 1, self.script, self.seen)))
    }

    fn next(&mut self) -> Option<ScriptChar> {
        let unit = self.units.get(self.at).copied()?;
        self.at += 1;
        if let Some(number) = unit.hole {
            *self.seen = (*self.seen).max(number + 1);
        }
        Some(unit)
    }

    /// The next character; `None` at the end or at a hole.
    fn peek(&self) -> Option<char> {
        match self.units.get(self.at)? {
            ScriptChar { c, hole: None } => Some(*c),
            ScriptChar { hole: Some(_), .. } => None,
        }
    }

    fn next_if(&mut self, want: impl FnOnce(char) -> bool) -> Option<char> {
        let c = self.peek().filter(|c| want(*c))?;
        self.at += 1;
        Some(c)
    }

    fn eat(&mut self, c: char) -> bool {
        self.next_if(|next| next == c).is_some()
    }

    /// Parses one level deeper. If that is too deep, everything that follows stays unparsed.
    fn with_depth_limit<T: Default>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= DEEPEST {
            self.script.unread.get_or_insert(*self.seen);
            self.at = self.units.len();
            return T::default();
        }
        self.depth += 1;
        let made = read(self);
        self.depth -= 1;
        made
    }

    /// Parses commands up to the `)` that closes them, or to the end.
    fn commands(&mut self, closes: bool) -> Vec<ShellCommand> {
        let outer = std::mem::take(&mut self.level);
        while let Some(unit) = self.next() {
            match unit.c {
                _ if unit.hole.is_some() => self.letter(unit, QuoteStyle::Not),
                ' ' | '\t' | '\r' => self.end_word(),
                '\n' => {
                    self.end_command(false);
                    self.here_documents();
                }
                '\'' => self.single(),
                '"' => self.double(),
                ')' if closes && self.level.groups == 0 => break,
                '#' if self.level.word.is_none() => self.comment(),
                ';' | '&' | '|' | '(' | ')' | '<' | '>' => {
                    self.script.compound = true;
                    self.operator(unit.c);
                }
                _ => self.letter(unit, QuoteStyle::Not),
            }
        }
        self.end_command(false);
        std::mem::replace(&mut self.level, outer).done
    }

    fn operator(&mut self, c: char) {
        match c {
            '(' if self.starts_command() && self.computes(self.at) => {
                self.at += 1;
                let word = self.with_depth_limit(|r| r.arithmetic(ArithmeticEnd::Parentheses));
                let name = vec![ShellWordPart::Text("let".to_owned(), QuoteStyle::Not)];
                self.level.command.words = vec![name, vec![ShellWordPart::Arithmetic(word)]];
            }
            '(' => {
                self.end_word();
                self.level.command.defines = !self.level.command.words.is_empty();
                self.level.groups += 1;
                self.end_command(false);
            }
            ')' => {
                self.end_command(false);
                self.level.groups = self.level.groups.saturating_sub(1);
            }
            '|' => {
                let or = self.eat('|');
                self.eat('&');
                self.end_command(!or);
            }
            '&' if self.peek() == Some('>') => {}
            '<' | '>' => self.redirect(c),
            _ => self.end_command(false),
        }
    }

    fn comment(&mut self) {
        self.script.compound = true;
        while let Some(unit) = self.units.get(self.at).filter(|u| u.c != '\n') {
            self.script.comments.extend(unit.hole);
            self.next();
        }
    }

    fn push(&mut self, part: ShellWordPart) {
        let word = self.level.word.get_or_insert_default();
        match (word.last_mut(), part) {
            (Some(ShellWordPart::Text(text, quoted)), ShellWordPart::Text(more, same)) if *quoted == same => {
                text.push_str(&more)
            }
            (_, part) => word.push(part),
        }
    }

    fn text(&mut self, text: impl Into<String>, quoted: QuoteStyle) {
        self.push(ShellWordPart::Text(text.into(), quoted));
    }

    /// Collects what `read` pushes as a separate word.
    fn word(&mut self, read: impl FnOnce(&mut Self)) -> ShellWord {
        let outer = self.level.word.take();
        read(self);
        std::mem::replace(&mut self.level.word, outer).unwrap_or_default()
    }

    fn hole(&mut self, unit: ScriptChar, quoted: QuoteStyle, escaped: bool) -> bool {
        let Some(number) = unit.hole else { return false };
        self.push(ShellWordPart::Hole { number, quoted, escaped });
        true
    }

    fn single(&mut self) {
        self.text("", QuoteStyle::Single);
        loop {
            match self.next() {
                Some(unit) if self.hole(unit, QuoteStyle::Single, false) => {}
                Some(ScriptChar { c: '\'', .. }) => return,
                Some(unit) => self.text(unit.c, QuoteStyle::Single),
                None => return self.script.open = Some('\''),
            }
        }
    }

    fn double(&mut self) {
        self.text("", QuoteStyle::Double);
        loop {
            match self.next() {
                Some(unit) if unit.hole.is_none() && unit.c == '"' => return,
                Some(unit) => self.letter(unit, QuoteStyle::Double),
                None => return self.script.open = Some('"'),
            }
        }
    }

    /// Parses a character that means the same in words and in double quotes.
    fn letter(&mut self, unit: ScriptChar, quoted: QuoteStyle) {
        match unit.c {
            _ if self.hole(unit, quoted, false) => {}
            '\\' => match self.next() {
                Some(unit) if self.hole(unit, quoted, true) => {}
                Some(ScriptChar { c: '\n', .. }) | None => {}
                Some(ScriptChar { c, .. }) => {
                    let kept = quoted == QuoteStyle::Double && !matches!(c, '"' | '\\' | '$' | '`');
                    self.text(if kept { format!("\\{c}") } else { c.into() }, quoted);
                }
            },
            '`' => self.backtick(),
            '$' => self.dollar(quoted),
            c => self.text(c, quoted),
        }
    }

    /// The contents are unescaped and parsed as a separate script.
    fn backtick(&mut self) {
        let mut inner = Vec::new();
        loop {
            match self.next() {
                Some(ScriptChar { c: '`', hole: None }) => break,
                Some(ScriptChar { c: '\\', .. }) => {
                    let escaped = self.next_if(|c| matches!(c, '`' | '\\' | '$'));
                    inner.push(ScriptChar { c: escaped.unwrap_or('\\'), hole: None });
                }
                Some(unit) => inner.push(unit),
                None => {
                    self.script.open = Some('`');
                    break;
                }
            }
        }
        let open = self.script.open;
        let commands = self.aside(&inner, |r| r.commands(false)).unwrap_or_default();
        self.script.open = open;
        self.push(ShellWordPart::Commands(CommandSubstitution::Backtick, commands));
    }

    fn dollar(&mut self, quoted: QuoteStyle) {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let part = if self.computes(self.at) {
                    self.at += 1;
                    ShellWordPart::Arithmetic(self.with_depth_limit(|r| r.arithmetic(ArithmeticEnd::Parentheses)))
                } else {
                    ShellWordPart::Commands(CommandSubstitution::Dollar, self.with_depth_limit(|r| r.commands(true)))
                };
                self.push(part);
            }
            Some('{') => {
                self.at += 1;
                if let Some(part) = self.with_depth_limit(|r| Some(r.expansion(quoted))) {
                    self.push(part);
                }
            }
            // Old arithmetic syntax of bash.
            Some('[') => {
                self.at += 1;
                let word = self.with_depth_limit(|r| r.arithmetic(ArithmeticEnd::Bracket));
                self.push(ShellWordPart::Arithmetic(word));
            }
            Some(c) if c.is_ascii_digit() || matches!(c, '@' | '*' | '#' | '?' | '$' | '!' | '-') => {
                self.at += 1;
                self.push(ShellWordPart::Variable(c.into(), quoted));
            }
            _ => match self.name() {
                name if name.is_empty() => self.text("$", quoted),
                name => self.push(ShellWordPart::Variable(name, quoted)),
            },
        }
    }

    fn name(&mut self) -> String {
        std::iter::from_fn(|| self.next_if(|c| c.is_ascii_alphanumeric() || c == '_')).collect()
    }

    /// Parses the contents of `${ }`.
    fn expansion(&mut self, quoted: QuoteStyle) -> ShellWordPart {
        let indirect = self.eat('!');
        let length = self.units.get(self.at + 1).is_some_and(|u| u.c != '}') && self.eat('#');
        let name = match self.next_if(|c| matches!(c, '@' | '*' | '#' | '?')) {
            Some(c) => c.into(),
            None => self.name(),
        };
        let mut parts = ShellWord::new();
        let mut lists_keys = matches!(self.peek(), Some('@' | '*'));
        if self.eat('[') {
            let subscript = self.arithmetic(ArithmeticEnd::Bracket);
            if matches!(word_text(&subscript).as_deref(), Some("@" | "*")) {
                lists_keys = true;
            } else {
                parts.push(ShellWordPart::Subscript(name.clone(), subscript));
            }
        }
        let colon = self.eat(':');
        let operator = self.next_if(|c| matches!(c, '+' | '-' | '=' | '?') || !colon && c != '}');
        let rest = match operator {
            None if colon => vec![ShellWordPart::Arithmetic(self.arithmetic(ArithmeticEnd::Brace))],
            _ => self.word(|r| r.inside(quoted)),
        };
        self.eat('}');
        // The text of a pattern is not part of the value.
        let effects = |rest: ShellWord| rest.into_iter().filter(|part| !matches!(part, ShellWordPart::Text(..)));
        if indirect {
            // The value is a name, possibly with a subscript.
            if !lists_keys && !name.is_empty() {
                parts.push(ShellWordPart::Indirect(name.clone()));
            }
            parts.extend(effects(rest));
            return ShellWordPart::Expansion { name, parts };
        }
        if operator == Some('@') && word_text(&rest).as_deref() == Some("P") {
            parts.push(ShellWordPart::Evaluated(name.clone()));
            return ShellWordPart::Expansion { name, parts };
        }
        // The value of `${1:+"${1}"}` is its contents, if anything.
        if operator != Some('+') && !name.is_empty() && !length {
            parts.push(ShellWordPart::Variable(name.clone(), quoted));
        }
        match operator {
            None if rest.is_empty() && matches!(parts.as_slice(), [ShellWordPart::Variable(..)]) => {
                return ShellWordPart::Variable(name, quoted);
            }
            Some('+' | '-' | '=' | '?') => parts.extend(rest),
            _ => parts.extend(effects(rest)),
        }
        ShellWordPart::Expansion { name, parts }
    }

    /// Parses the word after the operator of `${ }`, up to its end.
    fn inside(&mut self, quoted: QuoteStyle) {
        while self.peek() != Some('}')
            && let Some(unit) = self.next()
        {
            match unit.c {
                '\'' if unit.hole.is_none() && quoted == QuoteStyle::Not => self.single(),
                '"' if unit.hole.is_none() => self.double(),
                _ => self.letter(unit, quoted),
            }
        }
    }

    /// Whether the next word starts a command.
    fn starts_command(&self) -> bool {
        let keyword = |word: &ShellWord| matches!(word_text(word), Some(text) if is_keyword(&text));
        self.level.word.is_none() && self.level.command.words.iter().all(keyword)
    }

    /// Whether the second of two `(` starts arithmetic: it is closed by `))`, or not at all.
    fn computes(&mut self, second: usize) -> bool {
        let is_parenthesis = matches!(self.units.get(second), Some(unit) if unit.c == '(' && unit.hole.is_none());
        if !is_parenthesis {
            return false;
        }
        let units = self.units;
        let closed = self.closed.get_or_insert_with(|| closings(units));
        let close = |at: usize| closed.get(at).copied().flatten();
        match (close(second), second.checked_sub(1).and_then(close)) {
            (Some(inner), Some(outer)) => inner + 1 == outer,
            _ => true,
        }
    }

    /// Parses an arithmetic expression, in which quotes have no meaning.
    fn arithmetic(&mut self, end: ArithmeticEnd) -> ShellWord {
        let (open, close) = match end {
            ArithmeticEnd::Parentheses => ('(', ')'),
            ArithmeticEnd::Bracket => ('[', ']'),
            ArithmeticEnd::Brace | ArithmeticEnd::Text => ('{', '}'),
        };
        self.word(|r| {
            let mut depth = 0;
            loop {
                let next = r.peek();
                if end == ArithmeticEnd::Brace && next == Some(close) {
                    return;
                }
                let Some(unit) = r.next() else { return };
                let c = if unit.hole.is_some() { HOLE } else { unit.c };
                if c == close && depth == 0 && end != ArithmeticEnd::Text {
                    r.next_if(|c| end == ArithmeticEnd::Parentheses && c == close);
                    return;
                }
                if c == open {
                    depth += 1;
                } else if c == close && depth > 0 {
                    depth -= 1;
                }
                if c != '"' || end == ArithmeticEnd::Text {
                    r.letter(unit, QuoteStyle::Double);
                }
            }
        })
    }

    fn redirect(&mut self, c: char) {
        // In `2>`, the number is the file descriptor.
        let number = match self.level.word.as_ref().and_then(word_text) {
            Some(word) if !word.is_empty() && word.chars().all(|c| c.is_ascii_digit()) => Some(word),
            _ => None,
        };
        if number.is_some() {
            self.level.word = None;
        }
        self.end_word();
        if self.eat('(') {
            let commands = self.with_depth_limit(|r| r.commands(true));
            return self.push(ShellWordPart::Commands(CommandSubstitution::Process, commands));
        }
        self.level.target = Some(if c == '>' {
            self.next_if(|c| matches!(c, '>' | '|' | '&'));
            if number.as_deref() == Some("2") { ShellRedirect::Errors } else { ShellRedirect::Write }
        } else if self.eat('<') {
            if !self.eat('<') {
                self.eat('-');
                while self.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
                self.level.here = Some(!matches!(self.peek(), Some('\'' | '"' | '\\')));
                self.script.here_document.get_or_insert(*self.seen);
            }
            ShellRedirect::Text
        } else {
            ShellRedirect::Read
        });
    }

    fn end_word(&mut self) {
        let Some(word) = self.level.word.take() else { return };
        if let Some(values) = self.level.here.take() {
            self.level.target = None;
            self.waiting.push((word_text(&word).unwrap_or_default(), values));
        } else if let Some(target) = self.level.target.take() {
            self.level.command.redirects.push((target, word));
        } else {
            self.level.command.words.push(word);
        }
    }

    fn end_command(&mut self, piped: bool) {
        self.end_word();
        let mut command = std::mem::take(&mut self.level.command);
        command.piped = piped;
        let closes = match command.words.as_slice() {
            [] => command.redirects.is_empty(),
            [word] => matches!(word_text(word).as_deref(), Some("}" | "fi" | "done" | "esac")),
            _ => false,
        };
        // The output of a group is that of its last command.
        match self.level.done.last_mut() {
            Some(last) if closes => {
                last.piped |= piped;
                last.redirects.append(&mut command.redirects);
            }
            _ if closes && command.redirects.is_empty() => {}
            _ => self.level.done.push(command),
        }
    }

    fn here_documents(&mut self) {
        for (end, values) in std::mem::take(&mut self.waiting) {
            let mut body: Vec<ScriptChar> = Vec::new();
            while self.at < self.units.len() {
                let line: Vec<ScriptChar> = std::iter::from_fn(|| self.next().filter(|u| u.c != '\n')).collect();
                let text: String = line.iter().map(|u| u.c).collect();
                if text.trim_start_matches('\t') == end {
                    break;
                }
                body.extend(line);
                body.push(ScriptChar { c: '\n', hole: None });
            }
            let word = if values {
                self.aside(&body, |r| r.arithmetic(ArithmeticEnd::Text)).unwrap_or_default()
            } else {
                vec![ShellWordPart::Text(body.iter().map(|u| u.c).collect(), QuoteStyle::Single)]
            };
            if let Some(command) = self.level.done.last_mut() {
                command.redirects.push((ShellRedirect::Text, word));
            }
        }
    }
}

/// The position that closes each `(`; ignores quotes.
fn closings(units: &[ScriptChar]) -> Vec<Option<usize>> {
    let mut closed = vec![None; units.len()];
    let mut open = Vec::new();
    for (at, unit) in units.iter().enumerate() {
        match unit {
            ScriptChar { c: '(', hole: None } => open.push(at),
            ScriptChar { c: ')', hole: None } => {
                if let Some(start) = open.pop()
                    && let Some(place) = closed.get_mut(start)
                {
                    *place = Some(at);
                }
            }
            _ => {}
        }
    }
    closed
}
