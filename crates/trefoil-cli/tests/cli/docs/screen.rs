//! What a terminal shows after some output, with everything that has scrolled out of it.

/// The lines on the screen. Lines are never wrapped, and colours are not known.
pub fn drawn(output: &str) -> String {
    let mut lines: Vec<Vec<char>> = vec![Vec::new()];
    let (mut row, mut column) = (0, 0);
    let mut rest = output.chars().peekable();
    while let Some(char) = rest.next() {
        match char {
            '\r' => column = 0,
            '\n' => {
                (row, column) = (row + 1, 0);
                if row == lines.len() {
                    lines.push(Vec::new());
                }
            }
            '\u{1b}' => {
                rest.next_if_eq(&'[');
                let mut number = String::new();
                let end = loop {
                    match rest.next() {
                        Some(char @ ('0'..='9' | ';' | '?')) => number.push(char),
                        end => break end,
                    }
                };
                match (end, number.parse().unwrap_or(0)) {
                    (Some('A'), up) => row = row.saturating_sub(std::cmp::max(up, 1)),
                    (Some('K'), 2) => lines[row].clear(),
                    (Some('K'), _) => lines[row].truncate(column),
                    _ => {}
                }
            }
            char => {
                let line = &mut lines[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = char;
                column += 1;
            }
        }
    }
    lines.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned() + "\n").collect()
}

#[test]
fn a_redrawn_line_is_shown_once() {
    assert_eq!(drawn("a\r\nbcd\r\n\u{1b}[1A\rx\u{1b}[K\r\ny\r\u{1b}[2Kz\u{1b}[?25h"), "a\nx\nz\n");
}
