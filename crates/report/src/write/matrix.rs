//! A matrix of means, drawn as a picture of coloured cells.

use super::cells::{self, Names};
use super::svg::Svg;

/// A matrix of means, row by row from the top.
pub(super) struct Matrix {
    columns: usize,
    sums: Vec<(f64, u32)>,
}

impl Matrix {
    /// An empty matrix with these numbers of columns and rows.
    pub fn new(columns: usize, rows: usize) -> Matrix {
        Matrix { columns, sums: vec![(0.0, 0); columns * rows] }
    }

    /// Adds a value to those of a cell.
    pub fn add(&mut self, row: usize, column: usize, value: f64) {
        let cell = &mut self.sums[row * self.columns + column];
        *cell = (cell.0 + value, cell.1 + 1);
    }

    fn means(&self) -> impl Iterator<Item = Option<f64>> {
        self.sums.iter().map(|&(sum, count)| (count > 0).then(|| sum / f64::from(count)))
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Its width and height where a cell has these, px.
    pub fn size(&self, cell: (f64, f64)) -> (f64, f64) {
        (self.columns as f64 * cell.0, (self.sums.len() / self.columns) as f64 * cell.1)
    }

    /// Draws it with its upper left corner there; `low` and `high` are the ends of the colours.
    pub fn draw(
        &self,
        svg: &mut Svg,
        (x, y): (f64, f64),
        cell: (f64, f64),
        (low, high): (f64, f64),
        names: &Names,
    ) {
        let values: Vec<Option<f64>> = self.means().collect();
        let (width, height) = self.size(cell);
        cells::draw(svg, (x, y, width, height), (self.columns, &values), (low, high), names);
    }
}
