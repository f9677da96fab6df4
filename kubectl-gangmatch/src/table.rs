//! Rows of text into columns as kubectl prints them: two spaces between, no borders.

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr;

/// The least width to which the last column is cut.
const LAST_MIN: usize = 12;

/// Rows under their headings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// One column of a [`Table`].
#[derive(Clone, Debug)]
pub(crate) struct Column {
    heading: String,
    /// It is printed with `-o wide` only.
    wide: bool,
}

impl Table {
    /// A table with these columns. A heading in parentheses is that of a column which is printed with `-o wide` only.
    pub(crate) fn of<H: AsRef<str>>(headings: impl IntoIterator<Item = H>, rows: Vec<Vec<String>>) -> Table {
        let column = |heading: H| {
            let heading = heading.as_ref();
            let bare = heading.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
            Column { heading: bare.unwrap_or(heading).to_owned(), wide: bare.is_some() }
        };
        Table { columns: headings.into_iter().map(column).collect(), rows }
    }

    /// A table with these columns, whatever their headings look like.
    pub(crate) fn plain(headings: Vec<String>, rows: Vec<Vec<String>>) -> Table {
        Table { columns: headings.into_iter().map(|heading| Column { heading, wide: false }).collect(), rows }
    }

    /// The table without its wide columns; the last column is cut where the terminal ends.
    pub(crate) fn text(&self, headings: bool, width: Option<usize>) -> String {
        self.lines(headings, width, |column| !column.wide)
    }

    /// All columns, whole.
    pub(crate) fn wide(&self, headings: bool) -> String {
        self.lines(headings, None, |_| true)
    }

    fn lines(&self, headings: bool, width: Option<usize>, shown: impl Fn(&Column) -> bool) -> String {
        let columns: Vec<usize> =
            self.columns.iter().enumerate().filter(|(_, column)| shown(column)).map(|(place, _)| place).collect();
        let pick = |row: &[String]| -> Vec<String> {
            columns.iter().map(|place| row.get(*place).cloned().unwrap_or_default()).collect()
        };
        let heading: Vec<String> = self.columns.iter().map(|column| column.heading.clone()).collect();
        let mut rows: Vec<Vec<String>> = headings.then(|| pick(&heading)).into_iter().collect();
        rows.extend(self.rows.iter().map(|row| pick(row)));
        aligned(&rows, 0, width)
    }
}

/// The rows under their headings, each line ended; columns as wide as their widest cell.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>], indent: usize) -> String {
    let heading: Vec<String> = headings.iter().map(|text| (*text).to_owned()).collect();
    let all: Vec<Vec<String>> = std::iter::once(heading).chain(rows.iter().cloned()).collect();
    aligned(&all, indent, None)
}

/// The rows, each line ended; columns as wide as their widest cell, the last one cut where the terminal ends.
pub(crate) fn aligned(rows: &[Vec<String>], indent: usize, width: Option<usize>) -> String {
    let rows: Vec<Vec<Cow<'_, str>>> = rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(widest).collect();
    let before = indent + widths.iter().rev().skip(1).map(|width| width + 2).sum::<usize>();
    let last = width.map(|width| width.saturating_sub(before).max(LAST_MIN));
    let mut text = String::new();
    for row in &rows {
        let mut line = " ".repeat(indent);
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            match last.filter(|_| column + 1 == count) {
                Some(last) => line.push_str(&cut(cell, last)),
                None => line.push_str(cell),
            }
            line.push_str(&" ".repeat(width.saturating_sub(cell.width()) + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A text of a user on one line, so that it cannot look like other lines of the output.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if text.contains(char::is_control) {
        Cow::Owned(text.replace(['\n', '\r', '\t'], " "))
    } else {
        Cow::Borrowed(text)
    }
}

/// A text of at most this width; if it was longer, `...` at its end.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for character in text.chars() {
        kept.push(character);
        if kept.width() + 3 > width {
            kept.pop();
            break;
        }
    }
    kept.truncate(kept.trim_end().len());
    kept.push_str("...");
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn columns_line_up() {
        assert_eq!(
            table(&["NAME", "N"], &[row(&["a", "1"]), row(&["long", "22"])], 2),
            "  NAME  N\n  a     1\n  long  22\n"
        );
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(aligned(&[row(&["日本", "x"]), row(&["abcd", "y"])], 0, None), "日本  x\nabcd  y\n");
    }

    #[test]
    fn the_last_column_ends_with_the_terminal() {
        let why = "port `cpu`: none of 412 ads satisfies the constraint";
        let table = Table::of(["NAME", "(OWNER)", "WHY"], vec![row(&["sim", "ann", why]), row(&["b", "bob", ""])]);
        assert_eq!(table.text(true, Some(30)), "NAME  WHY\nsim   port `cpu`: none of 4...\nb\n");
        assert_eq!(table.text(false, None), format!("sim  {why}\nb\n"));
        assert_eq!(table.wide(true), format!("NAME  OWNER  WHY\nsim   ann    {why}\nb     bob\n"));
        assert_eq!(
            table.text(true, Some(3)).lines().next_back(),
            Some("b"),
            "a narrow terminal leaves the names whole"
        );
    }

    #[test]
    fn no_cell_can_look_like_another_row() {
        assert_eq!(aligned(&[row(&["a", "x\nsim  Running"])], 0, None), "a  x sim  Running\n");
    }

    #[test]
    fn a_text_is_cut_at_its_width() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abc...");
        assert_eq!(cut("日本語日本語", 8), "日本...");
    }
}
