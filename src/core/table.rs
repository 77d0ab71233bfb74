//! Tables as published: CSV text, read line by line, cells by the name of their column.

/// A table: lines that start with `#` say where it comes from, the first other one names the columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<String>,
    lines: Vec<Vec<String>>,
}

impl Table {
    /// Reads CSV; a line with fewer cells than columns has empty ones.
    pub fn read(csv: &str) -> Self {
        let mut lines = csv.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(cells);
        Self { columns: lines.next().unwrap_or_default(), lines: lines.collect() }
    }
    pub fn len(&self) -> usize {
        self.lines.len()
    }
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        self.lines.iter().map(|cells| Line { table: self, cells })
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    table: &'a Table,
    cells: &'a [String],
}

impl<'a> Line<'a> {
    /// The cell under `column`; empty where the table has none.
    pub fn text(&self, column: &str) -> &'a str {
        let at = self.table.columns.iter().position(|name| name == column);
        at.and_then(|at| self.cells.get(at)).map_or("", String::as_str)
    }
    pub fn cells(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.table.columns.iter().zip(self.cells).map(|(column, cell)| (column.as_str(), cell.as_str()))
    }
    /// FNV-1a of its cells but those under `without`, with the names of their columns; empty ones do not count.
    pub fn hash(&self, without: &[&str]) -> u32 {
        let counts = |(column, cell): &(&str, &str)| !cell.is_empty() && !without.contains(column);
        let bytes = self.cells().filter(counts).flat_map(|(column, cell)| [column, "=", cell, ","]);
        bytes
            .flat_map(str::bytes)
            .fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    }
    /// The cell under `column` as a number.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.text(column).parse().ok()
    }
    /// The cell as a count, `other` where it is empty.
    pub fn count(&self, column: &str, other: u64) -> Option<u64> {
        match self.text(column).trim_end_matches(".0") {
            "" => Some(other),
            text => text.parse().ok(),
        }
    }
}

fn cells(line: &str) -> Vec<String> {
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    cells.push(cell);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_by_column_and_quoted_commas_stay() {
        let table = Table::read("# source\na,b,c\n1,\"x, y\",\n2.0,z\n");
        let lines: Vec<_> = table.lines().collect();
        assert_eq!((table.len(), lines[0].text("b")), (2, "x, y"));
        assert_eq!((lines[0].text("c"), lines[1].text("c")), ("", ""));
        assert_eq!(lines[1].count("a", 7), Some(2));
        assert_eq!(lines[1].count("none", 7), Some(7));
        assert_eq!(lines[1].number("b"), None);
        // FNV-1a of nothing is its offset; what a mended or an empty column adds does not count.
        assert_eq!(lines[0].hash(&["a", "b"]), 0x811c_9dc5);
        let wider = Table::read("a,b,c,d\n1,\"x, y\",,7\n");
        assert_eq!(wider.lines().next().map(|line| line.hash(&["d"])), Some(lines[0].hash(&[])));
    }
}
