//! The least and the greatest of some numbers.

use super::cell::Cell;

/// Integers apart from all other numbers: compared with each other as reals, large ones would seem equal.
#[derive(Debug, Default)]
pub(crate) struct Extremes {
    integers: Option<(i64, i64)>,
    reals: Option<(f64, f64)>,
    /// Something was met that only the evaluator can compare.
    pub(crate) are_open: bool,
}

impl Extremes {
    /// One more value; only numbers and booleans, which count 0 and 1, make a difference.
    pub(crate) fn put(&mut self, cell: Cell) {
        match cell {
            Cell::Int(number) => {
                let (least, greatest) = self.integers.unwrap_or((number, number));
                self.integers = Some((least.min(number), greatest.max(number)));
            }
            Cell::Real(bits) => self.put_real(f64::from_bits(bits)),
            Cell::Bool(truth) => self.put_real(f64::from(u8::from(truth))),
            Cell::Unknown | Cell::Residual(_) => self.are_open = true,
            Cell::Undefined | Cell::Error | Cell::Text(_) => {}
        }
    }

    /// NaN is neither: it is not less than anything, nor greater.
    fn put_real(&mut self, number: f64) {
        let (least, greatest) = self.reals.unwrap_or((number, number));
        self.reals = Some((least.min(number), greatest.max(number)));
    }

    /// The least and the greatest. If a number is less (greater) than something, one of these is.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Cell> {
        let integers = self.integers.map(|(least, greatest)| [Cell::Int(least), Cell::Int(greatest)]);
        let reals = self.reals.map(|(least, greatest)| [least, greatest].map(|real| Cell::Real(real.to_bits())));
        integers.into_iter().chain(reals).flatten()
    }
}
