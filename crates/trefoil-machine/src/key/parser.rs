//! Parses structural keys. Their grammar is documented at [`Key`](super::Key).

use std::borrow::Cow;
use std::fmt;

/// The characters that start a mark.
pub const MARKS: [char; 5] = ['@', '[', '#', '!', '~'];

/// A part of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPart<'k> {
    /// The label at the start of a segment, escaped; empty for an unlabelled step.
    Label(&'k str),
    /// `@PASS`
    Pass(u32),
    /// `[ITEM]`
    Item(u32),
    /// `#ATTEMPT`
    Iteration(u32),
    /// `!TRY`
    Try(u32),
    /// `~NAME`: a copy, or an activity of the machine itself.
    Own(&'k str),
}

/// As in a key.
impl fmt::Display for KeyPart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label(label) => f.write_str(label),
            Self::Pass(pass) => write!(f, "@{pass}"),
            Self::Item(item) => write!(f, "[{item}]"),
            Self::Iteration(attempt) => write!(f, "#{attempt}"),
            Self::Try(number) => write!(f, "!{number}"),
            Self::Own(name) => write!(f, "~{name}"),
        }
    }
}

/// The parts of a key in order. An invalid key has parts as well; a mark without a number is skipped.
pub fn parse_key_parts(key: &str) -> impl Iterator<Item = KeyPart<'_>> {
    key.split('/').flat_map(|segment| {
        let label = segment.find(MARKS).unwrap_or(segment.len());
        let (label, mut marks) = segment.split_at(label);
        let marks = std::iter::from_fn(move || take_mark(&mut marks));
        std::iter::once(KeyPart::Label(label)).chain(marks)
    })
}

/// Takes the first mark off the marks of a segment.
fn take_mark<'k>(marks: &mut &'k str) -> Option<KeyPart<'k>> {
    loop {
        let mut chars = marks.chars();
        let sign = chars.next()?;
        let after = chars.as_str();
        let (mark, rest) = after.split_at(after.find(MARKS).unwrap_or(after.len()));
        *marks = rest;
        if let Some(part) = parse_mark(sign, mark) {
            return Some(part);
        }
    }
}

fn parse_mark(sign: char, mark: &str) -> Option<KeyPart<'_>> {
    let number = || mark.trim_end_matches(']').parse().ok();
    Some(match sign {
        '@' => KeyPart::Pass(number()?),
        '[' => KeyPart::Item(number()?),
        '#' => KeyPart::Iteration(number()?),
        '!' => KeyPart::Try(number()?),
        _ => KeyPart::Own(mark),
    })
}

/// The labels of a key, joined: the name of a step for people, independent of pass, item, iteration, try or copy.
pub fn label_path(key: &str) -> Cow<'_, str> {
    if !key.contains(MARKS) {
        return Cow::Borrowed(key);
    }
    let mut labels = Vec::new();
    for part in parse_key_parts(key) {
        // An unlabelled step has only a mark.
        if let KeyPart::Label(label) = part
            && !label.is_empty()
        {
            labels.push(label);
        }
    }
    Cow::Owned(labels.join("/"))
}

/// The label at the end of a key, escaped.
pub fn own_label(key: &str) -> Option<&str> {
    let mut last = "";
    for part in parse_key_parts(key) {
        if let KeyPart::Label(label) = part {
            last = label;
        }
    }
    if last.is_empty() { None } else { Some(last) }
}

/// A key without the try at its end, which is the same for all tries of one activity.
pub fn without_try(key: &str) -> &str {
    match key.rsplit_once('!') {
        Some((step, digits)) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => step,
        _ => key,
    }
}

/// The key of the step to which an activity belongs: without the try, and without the name of an activity of the
/// machine itself.
pub fn own_step(key: &str) -> &str {
    without_try(own_activity(key))
}

/// The same with the try.
pub fn own_activity(key: &str) -> &str {
    let start = match key.rfind('/') {
        Some(at) => at + 1,
        None => 0,
    };
    let segment = key.get(start..).unwrap_or_default();
    match segment.rsplit_once('~') {
        Some((before, name)) if !without_try(name).bytes().all(|b| b.is_ascii_digit()) => {
            key.get(..start + before.len()).unwrap_or(key)
        }
        _ => key,
    }
}

/// The enclosing key: without its last part.
pub fn parent_key(key: &str) -> Option<&str> {
    let end = key.rfind(['/', '@', '[', '#', '!', '~'])?;
    key.get(..end)
}

/// If it is a tool call of a conversation: the key of the conversation, and the turn. `ag@2[0]/search`: `ag`, 2.
pub fn conversation_turn(key: &str) -> Option<(&str, u32)> {
    let call = key.rfind('[')?;
    let before = key.get(..call)?;
    let at = before.rfind('@')?;
    if before.get(at..).unwrap_or_default().contains('/') {
        return None;
    }
    let number = before.get(at + 1..)?.split(MARKS).next()?;
    Some((before.get(..at)?, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_its_labels_and_marks() {
        let all: Vec<KeyPart<'_>> = parse_key_parts("write@2[0]#3/review!2~timeout.1").collect();
        let expected = [
            KeyPart::Label("write"),
            KeyPart::Pass(2),
            KeyPart::Item(0),
            KeyPart::Iteration(3),
            KeyPart::Label("review"),
            KeyPart::Try(2),
            KeyPart::Own("timeout.1"),
        ];
        assert_eq!(all, expected);
        assert_eq!(
            parse_key_parts("@1/b").collect::<Vec<_>>(),
            [KeyPart::Label(""), KeyPart::Pass(1), KeyPart::Label("b")]
        );
        assert_eq!(parse_key_parts("a@x[/b!").collect::<Vec<_>>(), [KeyPart::Label("a"), KeyPart::Label("b")]);
    }

    #[test]
    fn unmarked_keys_are_labels() {
        assert_eq!(label_path("A@2/b[3]#1/c!2~2"), "A/b/c");
        assert_eq!(label_path("a/@1/b"), "a/b");
        assert_eq!(label_path("a%2Fb%401"), "a%2Fb%401");
    }

    #[test]
    fn a_key_loses_its_try_and_nothing_else() {
        assert_eq!((without_try("a!2"), without_try("a@2/b!10")), ("a", "a@2/b"));
        assert_eq!((without_try("a!"), without_try("a!2/b"), without_try("a")), ("a!", "a!2/b", "a"));
    }

    #[test]
    fn an_activity_belongs_to_a_step() {
        let all = ["a", "a!2", "a!2~limit", "a~delay", "b~x/a~2", "b/a~2!3~timeout.1", "a~2!3", "~budget"];
        assert_eq!(all.map(own_step), ["a", "a", "a", "a", "b~x/a~2", "b/a~2", "a~2", ""]);
        assert_eq!(all.map(own_activity), ["a", "a!2", "a!2", "a", "b~x/a~2", "b/a~2!3", "a~2!3", ""]);
    }

    #[test]
    fn a_call_of_a_model_belongs_to_a_turn() {
        let turns =
            ["ag@2[0]/search", "p/ag@1!2[3]/x!2", "each[1]/ag@1", "each[1]/a", "a@1/b[0]/c"].map(conversation_turn);
        assert_eq!(turns, [Some(("ag", 2)), Some(("p/ag", 1)), None, None, None]);
    }

    #[test]
    fn the_key_around_is_without_the_last_part() {
        assert_eq!((parent_key("a/b@2"), parent_key("a/b"), parent_key("a")), (Some("a/b"), Some("a"), None));
    }
}
