//! Tab writer: aligns tab-separated cells in columns, with kubectl's widths.
//!
//! Input: text with tabs and line breaks.
//! Output: lines whose columns are as wide as their widest cell plus three spaces, at least six.
//!
//! Invariants:
//! - `tab_writer.W1`: only consecutive lines that have a column share its width; the last cell of a line is not part of
//!   a column and is not padded.
//! - `tab_writer.W2`: a column never gets narrower: text after a [`flush`](TabWriter::flush) keeps the widths, so that
//!   the rows of a watch stay aligned.

use super::colour::Colour;

const LEAST: usize = 6;
const BETWEEN: usize = 3;

/// A buffer of lines, which are laid out when they are flushed.
#[derive(Debug, Default)]
pub(crate) struct TabWriter {
    /// The last cell of the last line is being written.
    lines: Vec<Vec<Cell>>,
    /// Widths so far (`tab_writer.W2`).
    widths: Vec<usize>,
    flushed: String,
}

#[derive(Debug, Default)]
struct Cell {
    text: String,
    colour: Option<Colour>,
}

impl TabWriter {
    /// Appends text: a tab ends a cell, a line break ends a line.
    pub(crate) fn write(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find(['\t', '\x0b', '\n', '\x0c']) {
            self.cell().text.push_str(&rest[..at]);
            match rest.as_bytes()[at] {
                b'\n' => self.end_line(false),
                b'\x0c' => self.end_line(true),
                _ => self.line().push(Cell::default()),
            }
            rest = &rest[at + 1..];
        }
        self.cell().text.push_str(rest);
    }

    /// Sets the colour of the current cell.
    pub(crate) fn colour(&mut self, colour: Option<Colour>) {
        self.cell().colour = colour;
    }

    /// Lays out the buffered lines.
    pub(crate) fn flush(&mut self) {
        let mut lines = std::mem::take(&mut self.lines);
        if let Some(line) = lines.last_mut()
            && line.last().is_some_and(|cell| cell.text.is_empty())
        {
            line.pop();
        }
        let widths = self.layout(&lines);
        let last = lines.len().saturating_sub(1);
        for (number, (line, widths)) in lines.iter().zip(widths).enumerate() {
            for (position, cell) in line.iter().enumerate() {
                let width = cell.text.chars().count();
                match cell.colour {
                    Some(colour) => self.flushed.push_str(&colour.paint(&cell.text)),
                    None => self.flushed.push_str(&cell.text),
                }
                if let Some(column) = widths.get(position) {
                    self.flushed.extend(std::iter::repeat_n(' ', column.saturating_sub(width)));
                }
            }
            if number < last {
                self.flushed.push('\n');
            }
        }
    }

    /// Resets the widths, for another table.
    pub(crate) fn forget_widths(&mut self) {
        self.widths.clear();
    }

    /// Returns the text flushed since the last call.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(&mut self.flushed)
    }

    /// Returns the column widths of each line (`tab_writer.W1`).
    fn layout(&mut self, lines: &[Vec<Cell>]) -> Vec<Vec<usize>> {
        let columns = |line: &Vec<Cell>| line.len().saturating_sub(1);
        let mut widths: Vec<Vec<usize>> = lines.iter().map(|_| Vec::new()).collect();
        for column in 0..lines.iter().map(columns).max().unwrap_or_default() {
            let mut from = 0;
            while from < lines.len() {
                let is_in = |line: &&Vec<Cell>| columns(line) > column;
                let block = lines[from..].iter().take_while(is_in).count();
                if block == 0 {
                    from += 1;
                    continue;
                }
                let cells = lines[from..from + block].iter().map(|line| line[column].text.chars().count());
                let needed = cells.map(|width| width + BETWEEN).max().unwrap_or_default().max(LEAST);
                let width = match self.widths.get_mut(column) {
                    None => {
                        self.widths.push(needed);
                        needed
                    }
                    Some(known) => {
                        *known = needed.max(*known);
                        *known
                    }
                };
                widths[from..from + block].iter_mut().for_each(|line| line.push(width));
                from += block;
            }
        }
        widths
    }

    fn line(&mut self) -> &mut Vec<Cell> {
        if self.lines.is_empty() {
            self.lines.push(vec![Cell::default()]);
        }
        let last = self.lines.len() - 1;
        &mut self.lines[last]
    }

    fn cell(&mut self) -> &mut Cell {
        let line = self.line();
        if line.is_empty() {
            line.push(Cell::default());
        }
        let last = line.len() - 1;
        &mut line[last]
    }

    /// Ends a line. A line with a single cell ends all columns, so everything before it is flushed.
    fn end_line(&mut self, is_end: bool) {
        let is_single = self.line().len() == 1;
        self.lines.push(vec![Cell::default()]);
        if is_single || is_end {
            self.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid_out(text: &str) -> String {
        let mut writer = TabWriter::default();
        writer.write(text);
        writer.flush();
        writer.take()
    }

    #[test]
    fn columns_are_padded_and_lines_are_not() {
        assert_eq!(laid_out("NAME\tAGE\na\t5s\n"), "NAME   AGE\na      5s\n");
        assert_eq!(laid_out("A\tB\tC\n1\t\t3\n"), "A     B     C\n1           3\n");
        assert_eq!(laid_out("ä\tb\n"), "ä     b\n", "characters count, and not bytes");
        assert_eq!(
            (laid_out(""), laid_out("a"), laid_out("a\tb")),
            ("".into(), "a".into(), "a     b".into())
        );
    }

    #[test]
    fn shorter_lines_end_a_column_and_widths_never_shrink() {
        assert_eq!(laid_out("long name\tb\nx\ny\tz\n"), "long name   b\nx\ny           z\n", "W2");
        let mut writer = TabWriter::default();
        writer.write("a\tb\n");
        writer.flush();
        writer.write("0123456789\tb\nx\ty\n");
        writer.flush();
        writer.write("c\td\n");
        writer.flush();
        assert_eq!(writer.take(), "a     b\n0123456789   b\nx            y\nc            d\n");
        writer.forget_widths();
        writer.write("c\td\n");
        writer.flush();
        assert_eq!(writer.take(), "c     d\n");
    }

    #[test]
    fn colours_do_not_count_as_width() {
        let mut writer = TabWriter::default();
        writer.write("a\t");
        writer.colour(Some(Colour::Green));
        writer.write("Running\tx\n");
        writer.flush();
        assert_eq!(writer.take(), "a     \u{1b}[32mRunning\u{1b}[0m   x\n");
    }
}
