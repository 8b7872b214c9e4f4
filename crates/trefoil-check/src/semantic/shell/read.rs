//! A script cut into simple commands and their words.

use std::iter::Peekable;
use std::str::Chars;

/// A part of a word.
#[derive(Debug, Clone)]
pub enum Part {
    /// As written, without its quotes.
    Text(String),
    /// A variable or parameter, and whether it stands in double quotes.
    Variable(String, bool),
    /// What commands print.
    Output(Vec<Command>),
}

pub type Word = Vec<Part>;

/// Where a word behind `<`, `>` or `<<` goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirect {
    /// A file that is read.
    From,
    /// A file that is written.
    To,
    /// Text that is read.
    Text,
}

/// Where the files are that `<( )` stands for.
pub const DESCRIPTOR: &str = "/dev/fd/";

/// The name of the command that is the subscript in `${NAME[...]}`.
pub const SUBSCRIPT: &str = "${[]}";

/// The name of the command that is `${!NAME}`.
pub const INDIRECT: &str = "${!}";

/// A simple command.
#[derive(Debug, Clone, Default)]
pub struct Command {
    pub words: Vec<Word>,
    pub redirects: Vec<(Redirect, Word)>,
    /// What it prints goes to the next one.
    pub piped: bool,
}

struct Reader<'s> {
    depth: u32,
    rest: Peekable<Chars<'s>>,
    done: Vec<Command>,
    command: Command,
    word: Option<Word>,
    /// What the word at hand is for, if it is no word of the command.
    target: Option<Redirect>,
    /// Here-documents that start with the next line: their ends, and whether values stand in them.
    waiting: Vec<(String, bool)>,
    here: Option<bool>,
}

/// Deeper than anybody nests them, commands in commands are not looked into.
const DEEPEST: u32 = 40;

/// The commands of a script.
pub fn commands(script: &str) -> Vec<Command> {
    nested(script, 0)
}

fn nested(script: &str, depth: u32) -> Vec<Command> {
    if depth > DEEPEST {
        return Vec::new();
    }
    let mut reader = Reader {
        depth,
        rest: script.chars().peekable(),
        done: Vec::new(),
        command: Command::default(),
        word: None,
        target: None,
        waiting: Vec::new(),
        here: None,
    };
    reader.read();
    reader.done
}

/// The commands of a text that a shell computes with.
fn computed(mut commands: Vec<Command>) -> Vec<Command> {
    if let Some(command) = commands.first_mut() {
        command.words.insert(0, vec![Part::Text("let".into())]);
    }
    commands
}

/// Splits at the bracket that closes a subscript.
fn closed(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' if depth == 0 => return Some((text.get(..at)?, text.get(at + 1..)?)),
            ']' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Text of a word that has no values.
pub fn written(word: &Word) -> Option<String> {
    word.iter().map(|p| if let Part::Text(text) = p { Some(text.as_str()) } else { None }).collect()
}

impl Reader<'_> {
    fn inner(&self, script: &str) -> Vec<Command> {
        nested(script, self.depth + 1)
    }

    fn read(&mut self) {
        while let Some(c) = self.rest.next() {
            match c {
                ' ' | '\t' | '\r' => self.end_word(),
                '\n' => {
                    self.end_command(false);
                    self.here_documents();
                }
                '(' if self.starts_command() && self.rest.peek() == Some(&'(') => {
                    self.rest.next();
                    self.arithmetic();
                    self.rest.next_if_eq(&')');
                }
                '#' if self.word.is_none() => while self.rest.next_if(|c| *c != '\n').is_some() {},
                ';' | '(' | ')' => self.end_command(false),
                '|' => {
                    let or = self.rest.next_if_eq(&'|').is_some();
                    self.rest.next_if_eq(&'&');
                    self.end_command(!or);
                }
                '&' if self.rest.peek() == Some(&'>') => {}
                '&' => self.end_command(false),
                '<' | '>' => self.redirect(c),
                '\'' => {
                    let mut text = String::new();
                    text.extend(std::iter::from_fn(|| self.rest.next().filter(|c| *c != '\'')));
                    self.push(Part::Text(text));
                }
                '"' => self.double(),
                c => self.letter(c, false),
            }
        }
        self.end_command(false);
    }

    fn push(&mut self, part: Part) {
        let word = self.word.get_or_insert_default();
        match (word.last_mut(), part) {
            (Some(Part::Text(text)), Part::Text(more)) => text.push_str(&more),
            (_, part) => word.push(part),
        }
    }

    fn double(&mut self) {
        self.push(Part::Text(String::new()));
        while let Some(c) = self.rest.next().filter(|c| *c != '"') {
            self.letter(c, true);
        }
    }

    fn letter(&mut self, c: char, quoted: bool) {
        match c {
            '\\' => match self.rest.next() {
                Some('\n') | None => {}
                Some(c) => {
                    let kept = quoted && !matches!(c, '"' | '\\' | '$' | '`');
                    self.push(Part::Text(if kept { format!("\\{c}") } else { c.into() }));
                }
            },
            '`' => {
                let mut inner = String::new();
                inner.extend(std::iter::from_fn(|| self.rest.next().filter(|c| *c != '`')));
                let commands = self.inner(&inner);
                self.push(Part::Output(commands));
            }
            '$' => self.dollar(quoted),
            c => self.push(Part::Text(c.into())),
        }
    }

    fn dollar(&mut self, quoted: bool) {
        match self.rest.peek() {
            Some('(') => {
                self.rest.next();
                let inner = self.until(')', '(');
                let commands = match inner.strip_prefix('(').and_then(|i| i.strip_suffix(')')) {
                    Some(expression) => computed(self.quoted(expression)),
                    None => self.inner(&inner),
                };
                self.push(Part::Output(commands));
            }
            Some('{') => {
                self.rest.next();
                let inner = self.until('}', '{');
                self.braces(&inner, quoted);
            }
            // Old arithmetic of bash.
            Some('[') => {
                self.rest.next();
                let inner = self.until(']', '[');
                let commands = computed(self.quoted(&inner));
                self.push(Part::Text(String::new()));
                self.push(Part::Output(commands));
            }
            Some(c) if c.is_ascii_digit() || matches!(c, '@' | '*') => {
                let name = self.rest.next().into_iter().collect();
                self.push(Part::Variable(name, quoted));
            }
            _ => {
                let mut name = String::new();
                while let Some(c) = self.rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    name.push(c);
                }
                self.push(if name.is_empty() { Part::Text("$".into()) } else { Part::Variable(name, quoted) });
            }
        }
    }

    /// What stands in `${ }`.
    fn braces(&mut self, inner: &str, quoted: bool) {
        let (indirect, body) = inner.strip_prefix('!').map_or((false, inner), |body| (true, body));
        let (length, body) = match body.strip_prefix('#') {
            Some(body) if !body.is_empty() => (true, body),
            _ => (false, body),
        };
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = match body.chars().next() {
            Some('@' | '*') => 1,
            _ => body.find(|c| !letter(c)).unwrap_or(body.len()),
        };
        let (name, mut operator) = body.split_at(end);
        let mut lists_keys = operator.starts_with(['@', '*']);
        if let Some((subscript, behind)) = operator.strip_prefix('[').and_then(closed) {
            operator = behind;
            if matches!(subscript, "@" | "*") {
                lists_keys = true;
            } else {
                let part = self.aside(&[SUBSCRIPT, name], subscript);
                self.push(part);
            }
        }
        if indirect {
            // The value is a name, which may have a subscript.
            if !lists_keys && !name.is_empty() {
                let part = self.aside(&[INDIRECT], &format!("${{{name}}}"));
                self.push(part);
            }
            return;
        }
        let transformed = operator.strip_prefix('@');
        if transformed == Some("P") {
            let part = self.aside(&["eval"], &format!("${{{name}}}"));
            return self.push(part);
        }
        // `${1:+"${1}"}` is what stands inside, if anything.
        let instead = operator.trim_start_matches(':');
        if !instead.starts_with('+') && !name.is_empty() && !length {
            self.push(Part::Variable(name.to_owned(), quoted));
        }
        if let Some(other) = instead.strip_prefix(['+', '-', '=', '?']) {
            let other = if quoted { format!("\"{other}\"") } else { other.to_owned() };
            let parts = self.inner(&other).into_iter().flat_map(|c| c.words).flatten();
            parts.for_each(|part| self.push(part));
        } else if operator.starts_with(':') {
            let part = self.aside(&["let"], instead);
            self.push(part);
        } else if operator.starts_with(['/', '#', '%', '^', ',']) {
            let parts = self.quoted(operator).into_iter().flat_map(|c| c.words).flatten();
            parts.filter(|part| !matches!(part, Part::Text(_))).for_each(|part| self.push(part));
        }
    }

    /// The commands of a text, all of which is in double quotes.
    fn quoted(&self, text: &str) -> Vec<Command> {
        self.inner(&format!("\"{}\"", text.replace('"', "")))
    }

    /// A part that is nothing but a command which is done aside: these words, and one more.
    fn aside(&self, words: &[&str], last: &str) -> Part {
        let mut commands = self.quoted(last);
        if let Some(command) = commands.first_mut() {
            let words = words.iter().map(|word| vec![Part::Text((*word).to_owned())]);
            command.words.splice(0..0, words);
        }
        Part::Output(commands)
    }

    /// Whether a command would begin with the next word.
    fn starts_command(&self) -> bool {
        let keyword = |w: &Word| {
            matches!(
                written(w).as_deref(),
                Some("if" | "then" | "else" | "elif" | "do" | "while" | "until" | "!" | "{")
            )
        };
        self.word.is_none() && self.command.words.iter().all(keyword)
    }

    /// `(( ... ))`, the same as `let "..."`.
    fn arithmetic(&mut self) {
        let inner = self.until(')', '(');
        let mut commands = computed(self.quoted(&inner));
        self.command.words.clear();
        self.done.append(&mut commands);
    }

    /// Up to the bracket that closes; those in quotes do not count.
    fn until(&mut self, close: char, open: char) -> String {
        let (mut depth, mut quote, mut inner) = (0, None, String::new());
        while let Some(c) = self.rest.next() {
            match quote {
                Some(q) if q == c => quote = None,
                Some(_) => {}
                None if c == '"' || c == '\'' => quote = Some(c),
                None if c == open => depth += 1,
                None if c == close && depth == 0 => break,
                None if c == close => depth -= 1,
                None => {}
            }
            inner.push(c);
            if c == '\\' && quote != Some('\'') {
                inner.extend(self.rest.next());
            }
        }
        inner
    }

    fn redirect(&mut self, c: char) {
        // `2>` is about that file descriptor.
        let number = self.word.as_ref().and_then(written).filter(|w| w.chars().all(|c| c.is_ascii_digit()));
        if number.is_some() {
            self.word = None;
        }
        self.end_word();
        if self.rest.next_if_eq(&'(').is_some() {
            let inner = self.until(')', '(');
            let commands = self.inner(&inner);
            self.push(Part::Text(DESCRIPTOR.into()));
            return self.push(Part::Output(commands));
        }
        if c == '>' {
            self.rest.next_if(|c| matches!(c, '>' | '|' | '&'));
            self.target = Some(if number.as_deref() == Some("2") { Redirect::From } else { Redirect::To });
        } else if self.rest.next_if_eq(&'<').is_some() {
            if self.rest.next_if_eq(&'<').is_none() {
                self.rest.next_if_eq(&'-');
                while self.rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
                self.here = Some(!matches!(self.rest.peek(), Some('\'' | '"' | '\\')));
            }
            self.target = Some(Redirect::Text);
        } else {
            self.target = Some(Redirect::From);
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if let Some(values) = self.here.take() {
            self.target = None;
            self.waiting.push((written(&word).unwrap_or_default(), values));
        } else if let Some(target) = self.target.take() {
            self.command.redirects.push((target, word));
        } else {
            self.command.words.push(word);
        }
    }

    fn end_command(&mut self, piped: bool) {
        self.end_word();
        let mut command = std::mem::take(&mut self.command);
        command.piped = piped;
        let closes = match command.words.as_slice() {
            [] => command.redirects.is_empty(),
            [word] => matches!(written(word).as_deref(), Some("}" | "fi" | "done" | "esac")),
            _ => false,
        };
        // What a group prints, its last command prints.
        match self.done.last_mut() {
            Some(last) if closes => {
                last.piped |= piped;
                last.redirects.append(&mut command.redirects);
            }
            _ if closes => {}
            _ => self.done.push(command),
        }
    }

    fn here_documents(&mut self) {
        for (end, values) in std::mem::take(&mut self.waiting) {
            let mut body = String::new();
            while self.rest.peek().is_some() {
                let line: String = std::iter::from_fn(|| self.rest.next().filter(|c| *c != '\n')).collect();
                if line.trim_start_matches('\t') == end {
                    break;
                }
                body.push_str(&line);
                body.push('\n');
            }
            let word = if values {
                let inner = self.inner(&format!("\"{}\"", body.replace('"', "\\\"")));
                inner.into_iter().flat_map(|c| c.words).flatten().collect()
            } else {
                vec![Part::Text(body)]
            };
            if let Some(command) = self.done.last_mut() {
                command.redirects.push((Redirect::Text, word));
            }
        }
    }
}
