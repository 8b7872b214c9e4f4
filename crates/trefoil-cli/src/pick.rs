//! A selection list on a terminal, with the arrow keys and Enter, or by number.

use console::{Key, Term};

use crate::{output, shown};

/// Waits for a choice. `None`: Escape, Ctrl-C, or no suitable terminal.
pub fn pick(question: &str, choices: &[(&str, &str)]) -> Option<usize> {
    #[allow(clippy::disallowed_methods, reason = "reads keys, and clears lines of this list")]
    let term = Term::stderr();
    let widest = choices.iter().map(|(name, _)| name.chars().count()).max()?;
    output::say(question);
    let mut at = 0;
    loop {
        for (index, (name, about)) in choices.iter().enumerate() {
            let mark = if index == at { '>' } else { ' ' };
            output::say(format!("{mark} {}  {name:<widest$}  {about}", index + 1));
        }
        let key = term.read_key();
        match moved(&key.ok()?, at, choices.len()) {
            Moved::To(next) => at = next,
            Moved::Chosen(index) => {
                term.clear_last_lines(choices.len() + 1).ok()?;
                let chosen = choices.get(index).map_or("", |(name, _)| name);
                output::say(shown!("{} {}", question, chosen));
                return Some(index);
            }
            Moved::Away => return None,
        }
        term.clear_last_lines(choices.len()).ok()?;
    }
}

/// The effect of a key.
#[derive(Debug, PartialEq, Eq)]
enum Moved {
    To(usize),
    Chosen(usize),
    Away,
}

fn moved(key: &Key, at: usize, count: usize) -> Moved {
    match key {
        Key::ArrowUp | Key::Char('k') => Moved::To((at + count.saturating_sub(1)) % count.max(1)),
        Key::ArrowDown | Key::Char('j') | Key::Tab => Moved::To((at + 1) % count.max(1)),
        Key::Home => Moved::To(0),
        Key::End => Moved::To(count.saturating_sub(1)),
        Key::Enter => Moved::Chosen(at),
        Key::Char(c) => match c.to_digit(10).map(|n| n as usize) {
            Some(n) if (1..=count).contains(&n) => Moved::Chosen(n - 1),
            _ => Moved::To(at),
        },
        Key::Escape | Key::CtrlC => Moved::Away,
        _ => Moved::To(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_go_round_and_numbers_choose() {
        assert_eq!(moved(&Key::ArrowUp, 0, 3), Moved::To(2));
        assert_eq!(moved(&Key::ArrowDown, 2, 3), Moved::To(0));
        assert_eq!(moved(&Key::Char('2'), 0, 3), Moved::Chosen(1));
        assert_eq!(moved(&Key::Char('4'), 1, 3), Moved::To(1));
        assert_eq!(moved(&Key::Enter, 1, 3), Moved::Chosen(1));
        assert_eq!(moved(&Key::Escape, 1, 3), Moved::Away);
    }
}
