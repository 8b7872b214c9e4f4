//! Formats rows of text as columns.

use unicode_width::UnicodeWidthStr as _;

/// Formats one line for each row; each column is as wide as its widest cell.
pub fn format_columns<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> Vec<String> {
    let rows: Vec<[String; N]> = rows.into_iter().collect();
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| {
            let pad = " ".repeat(width.saturating_sub(cell.width()));
            format!("{cell}{pad}")
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}
