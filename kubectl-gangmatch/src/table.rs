//! Rows of text into columns as kubectl prints them: two spaces between, no borders.

/// The rows under their headings, each line ended; columns as wide as their widest cell.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>], indent: usize) -> String {
    let heading: Vec<String> = headings.iter().map(|text| (*text).to_owned()).collect();
    let width = |column: usize| {
        let cells = std::iter::once(&heading).chain(rows).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let mut text = String::new();
    for row in std::iter::once(&heading).chain(rows) {
        let mut line = " ".repeat(indent);
        for (column, cell) in row.iter().enumerate() {
            line.push_str(cell);
            let gap = width(column).saturating_sub(cell.chars().count()) + 2;
            line.push_str(&" ".repeat(gap));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_line_up() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["long".to_owned(), "22".to_owned()]];
        assert_eq!(super::table(&["NAME", "N"], &rows, 2), "  NAME  N\n  a     1\n  long  22\n");
    }
}
