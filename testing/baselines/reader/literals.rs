//! Cache of literals, which many ads share.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::diagnostic::Span;
use crate::expr::{Expr, Kind};
use crate::text::number::Number;
use crate::value::Value;

/// The largest number of cached literals.
const PLACES_MAX: usize = 1 << 15;

/// The number of places at first.
const PLACES_MIN: usize = 1 << 8;

/// Longer strings are not cached, in bytes.
const STRING_MAX: usize = 128;

/// Literals by their values, in a direct-mapped cache: of two literals with the same place the later one stays.
#[derive(Debug, Default)]
pub(crate) struct Literals {
    places: Vec<Option<(u64, Expr)>>,
    hasher: RandomState,
    /// How many places were filled or replaced since the cache grew.
    taken: usize,
}

impl Literals {
    /// The literal of a string; `text` is what stands between the quotes.
    pub(crate) fn string(&mut self, text: &str) -> Expr {
        let make = || Expr::new(Kind::Literal(Value::string(text)), Span::new(0, text.len() + 2));
        if text.len() > STRING_MAX {
            return make();
        }
        let hash = self.hasher.hash_one(text);
        self.shared(hash, |value| value.as_str() == Some(text), make)
    }

    /// The literal of a number that was written in so many characters.
    pub(crate) fn number(&mut self, number: Number, length: usize) -> Expr {
        let make = |value| Expr::new(Kind::Literal(value), Span::new(0, length));
        match number {
            Number::Integer(number) => {
                let hash = self.hasher.hash_one(number);
                let same = |value: &Value| matches!(value, Value::Integer(own) if *own == number);
                self.shared(hash, same, || make(Value::Integer(number)))
            }
            Number::Real(number) => {
                let hash = self.hasher.hash_one(!number.to_bits());
                let same = |value: &Value| matches!(value, Value::Real(own) if own.to_bits() == number.to_bits());
                self.shared(hash, same, || make(Value::Real(number)))
            }
        }
    }

    fn shared(&mut self, hash: u64, same: impl Fn(&Value) -> bool, make: impl FnOnce() -> Expr) -> Expr {
        let is_it = |expr: &Expr| matches!(expr.kind(), Kind::Literal(value) if same(value));
        if self.taken >= self.places.len() && self.places.len() < PLACES_MAX {
            self.grow();
        }
        let place = place(hash, self.places.len());
        let Some(place) = self.places.get_mut(place) else { return make() };
        match place {
            Some((own, expr)) if *own == hash && is_it(expr) => expr.clone(),
            _ => {
                let expr = make();
                self.taken += 1;
                *place = Some((hash, expr.clone()));
                expr
            }
        }
    }

    fn grow(&mut self) {
        let size = (self.places.len() * 2).max(PLACES_MIN);
        let old = std::mem::replace(&mut self.places, vec![None; size]);
        self.taken = 0;
        for (hash, expr) in old.into_iter().flatten() {
            if let Some(free) = self.places.get_mut(place(hash, size)) {
                *free = Some((hash, expr));
                self.taken += 1;
            }
        }
    }
}

/// The place of a hash among `size` places, a power of two.
fn place(hash: u64, size: usize) -> usize {
    usize::try_from(hash).unwrap_or(usize::MAX) & size.wrapping_sub(1)
}
