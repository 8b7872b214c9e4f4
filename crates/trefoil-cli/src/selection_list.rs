//! A selection list on a terminal, with the arrow keys and Enter, or by number.

use console::{Key, Term};

use crate::{output, shown};

/// Waits for a choice. `None`: Escape, Ctrl-C, or no suitable terminal.
pub fn pick_choice(question: &str, choices: &[(&str, &str)]) -> Option<usize> {
    #[allow(clippy::disallowed_methods, reason = "reads keys, and clears lines of this list")]
    let term = Term::stderr();
    let widest = choices.iter().map(|(name, _)| name.chars().count()).max()?;
    output::print_line(question);
    let mut at = 0;
    loop {
        for (index, (name, about)) in choices.iter().enumerate() {
            let mark = if index == at { '>' } else { ' ' };
            output::print_line(format!("{mark} {}  {name:<widest$}  {about}", index + 1));
        }
        let key = term.read_key();
        match moved(&key.ok()?, at, choices.len()) {
            SelectionMove::To(next) => at = next,
            SelectionMove::Chosen(index) => {
                term.clear_last_lines(choices.len() + 1).ok()?;
                let chosen = match choices.get(index) {
                    Some((name, _)) => name,
                    None => "",
                };
                output::print_line(shown!("{} {}", question, chosen));
                return Some(index);
            }
            SelectionMove::Away => return None,
        }
        term.clear_last_lines(choices.len()).ok()?;
    }
}

/// The effect of a key.
#[derive(Debug, PartialEq, Eq)]
enum SelectionMove {
    To(usize),
    Chosen(usize),
    Away,
}

fn moved(key: &Key, at: usize, count: usize) -> SelectionMove {
    match key {
        Key::ArrowUp | Key::Char('k') => SelectionMove::To((at + count.saturating_sub(1)) % count.max(1)),
        Key::ArrowDown | Key::Char('j') | Key::Tab => SelectionMove::To((at + 1) % count.max(1)),
        Key::Home => SelectionMove::To(0),
        Key::End => SelectionMove::To(count.saturating_sub(1)),
        Key::Enter => SelectionMove::Chosen(at),
        Key::Char(c) => match c.to_digit(10).map(|n| n as usize) {
            Some(n) if (1..=count).contains(&n) => SelectionMove::Chosen(n - 1),
            _ => SelectionMove::To(at),
        },
        Key::Escape | Key::CtrlC => SelectionMove::Away,
        _ => SelectionMove::To(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_go_round_and_numbers_choose() {
        assert_eq!(moved(&Key::ArrowUp, 0, 3), SelectionMove::To(2));
        assert_eq!(moved(&Key::ArrowDown, 2, 3), SelectionMove::To(0));
        assert_eq!(moved(&Key::Char('2'), 0, 3), SelectionMove::Chosen(1));
        assert_eq!(moved(&Key::Char('4'), 1, 3), SelectionMove::To(1));
        assert_eq!(moved(&Key::Enter, 1, 3), SelectionMove::Chosen(1));
        assert_eq!(moved(&Key::Escape, 1, 3), SelectionMove::Away);
    }
}
