//! Strings and lists that functions make, and whole values: each within the limits of a result.

use std::sync::Arc;

use crate::eval::costs::{ALLOCATION, PRINTED, STRING_BYTES};
use crate::eval::evaluator::{Bounded, Evaluator, Outcome};
use crate::eval::lazy::{Chars, Computed, Items, Lazy};
use crate::eval::limits::Limit;
use crate::expr::Expr;
use crate::name::Name;
use crate::value::Value;

impl<'e> Evaluator<'e> {
    /// A text that a function has made.
    pub(crate) fn string(&mut self, text: impl Into<Arc<str>> + AsRef<str>) -> Outcome<'e> {
        let bytes = text.as_ref().len();
        self.charge(bytes)?;
        self.take(bytes.saturating_add(STRING_BYTES))?;
        Ok(Lazy::String(Chars::from(text)))
    }

    /// A list that a function has made.
    pub(crate) fn list(&mut self, items: Vec<Lazy<'e>>) -> Outcome<'e> {
        self.spend(items.len() / 4)?;
        self.take(items.len().saturating_mul(size_of::<Lazy<'_>>()).saturating_add(STRING_BYTES))?;
        let inner = items.iter().map(|item| if let Lazy::List(items) = item { items.nesting() } else { 0 });
        let nesting = 1 + inner.max().unwrap_or(0);
        if nesting > self.context.limits.result_depth {
            return Err(Limit::ResultDepth);
        }
        Ok(Lazy::List(Items::Computed(Arc::new(Computed { items, nesting }))))
    }

    /// A list of texts that a function has made.
    pub(crate) fn strings<T: Into<Arc<str>> + AsRef<str>>(
        &mut self,
        texts: impl IntoIterator<Item = T>,
    ) -> Outcome<'e> {
        let texts = texts.into_iter();
        // All at once, and only if there is room for them: a list that grows is there twice.
        let most = self.meter.memory / size_of::<Lazy<'_>>();
        let mut items =
            Vec::with_capacity(Some(texts.size_hint().0).filter(|least| *least <= most).ok_or(Limit::Memory)?);
        for text in texts {
            self.spend(ALLOCATION)?;
            items.push(self.string(text)?);
        }
        self.list(items)
    }

    /// The text of an expression as HTCondor prints it, as far as it can be paid for.
    pub(crate) fn printed(&mut self, expr: &Expr) -> Bounded<String> {
        let paid = self.left().saturating_mul(PRINTED);
        let most = self.context.limits.result_bytes.min(self.meter.memory).min(paid);
        match expr.canonical_within(most) {
            Some(text) => {
                self.take(text.len())?;
                self.spend(ALLOCATION + text.len() / PRINTED)?;
                Ok(text)
            }
            None => {
                // The text was printed in vain up to there.
                self.owe(most / PRINTED);
                Err(match most {
                    _ if most == self.context.limits.result_bytes => Limit::ResultBytes,
                    _ if most == self.meter.memory => Limit::Memory,
                    _ => Limit::Fuel,
                })
            }
        }
    }

    /// The whole value, every element and attribute evaluated.
    pub(crate) fn force(&mut self, value: &Lazy<'e>) -> Bounded<Value> {
        let mut made = Whole::default();
        self.force_within(value, 0, &mut made)
    }

    fn force_within(&mut self, value: &Lazy<'e>, nesting: usize, made: &mut Whole) -> Bounded<Value> {
        let limits = &self.context.limits;
        if nesting > limits.result_depth {
            return Err(Limit::ResultDepth);
        }
        match value {
            Lazy::List(items) => {
                made.add(items.len(), limits.result_elements)?;
                let items = self.items(items)?;
                self.spend(items.len())?;
                self.take(items.len().saturating_mul(size_of::<Value>()))?;
                let mut values = Vec::with_capacity(items.len());
                for item in &*items {
                    values.push(self.force_within(item, nesting + 1, made)?);
                }
                Ok(Value::List(values.into()))
            }
            Lazy::Ad(scope) => {
                let attributes = self.attributes(*scope);
                made.add(attributes.len(), limits.result_elements)?;
                self.spend(attributes.len())?;
                self.take(attributes.len().saturating_mul(size_of::<(Name, Value)>()))?;
                let mut values = Vec::with_capacity(attributes.len());
                for (name, expr) in attributes {
                    let value = self.resolve(expr, *scope)?;
                    values.push((name.clone(), self.force_within(&value, nesting + 1, made)?));
                }
                Ok(Value::Ad(values.into()))
            }
            scalar => {
                let scalar = scalar.to_scalar().unwrap_or(Value::Error);
                made.bytes += scalar.as_str().map_or(0, str::len);
                self.fits(made.bytes)?;
                Ok(scalar)
            }
        }
    }
}

/// The size of a result so far.
#[derive(Default)]
struct Whole {
    bytes: usize,
    elements: usize,
}

impl Whole {
    /// Counts the elements of a list or the attributes of an ad.
    fn add(&mut self, elements: usize, most: usize) -> Bounded<()> {
        self.elements = self.elements.saturating_add(elements);
        if self.elements > most { Err(Limit::ResultElements) } else { Ok(()) }
    }
}
