//! Formats rows of text as columns.

use unicode_width::UnicodeWidthStr as _;

/// Formats one line for each row; each column is as wide as its widest cell.
pub fn format_columns<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> Vec<String> {
    let rows: Vec<[String; N]> = rows.into_iter().collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.width().max(*width);
        }
    }
    let mut lines = Vec::new();
    for row in &rows {
        let mut cells = Vec::new();
        for (cell, width) in row.iter().zip(widths) {
            let pad = " ".repeat(width.saturating_sub(cell.width()));
            cells.push(format!("{cell}{pad}"));
        }
        lines.push(cells.join("  ").trim_end().to_owned());
    }
    lines
}
