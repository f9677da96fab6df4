//! Fuel, memory and depth: what is used is subtracted from the limits, on account of the ad that contains the expression.

use crate::eval::bill::Bill;
use crate::eval::costs::{COPIED, READ};
use crate::eval::evaluator::{Bounded, Evaluator};
use crate::eval::lazy::Lazy;
use crate::eval::limits::Limit;
use crate::eval::scope::ScopeId;
use crate::expr::Expr;

impl<'e> Evaluator<'e> {
    /// Charges the first step of an expression.
    pub(crate) fn start(&mut self, expr: &'e Expr) -> Bounded<()> {
        self.here = Some(expr);
        self.spend(1)
    }

    /// Uses fuel; if there is too little, all of it: determining the cost may have been work.
    pub(crate) fn spend(&mut self, steps: usize) -> Bounded<()> {
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        let left = self.meter.fuel.checked_sub(steps);
        self.meter.fuel = left.unwrap_or(0);
        left.map(drop).ok_or(Limit::Fuel)
    }

    /// How many steps are left.
    pub(crate) fn left(&self) -> usize {
        usize::try_from(self.meter.fuel).unwrap_or(usize::MAX)
    }

    /// Uses fuel for work that is already done; if there was not enough, the next charge fails.
    pub(crate) fn owe(&mut self, steps: usize) {
        self.meter.fuel = self.meter.fuel.saturating_sub(u64::try_from(steps).unwrap_or(u64::MAX));
    }

    /// Uses memory.
    pub(crate) fn take(&mut self, bytes: usize) -> Bounded<()> {
        self.meter.memory = self.meter.memory.checked_sub(bytes).ok_or(Limit::Memory)?;
        Ok(())
    }

    /// Refuses text that is longer than a result may be.
    pub(crate) fn fits(&self, bytes: usize) -> Bounded<()> {
        if bytes > self.context.limits.result_bytes { Err(Limit::ResultBytes) } else { Ok(()) }
    }

    /// Uses fuel for copying `bytes` bytes of text; text longer than a result may be is refused.
    pub(crate) fn charge(&mut self, bytes: usize) -> Bounded<()> {
        self.fits(bytes)?;
        self.spend(bytes / COPIED)
    }

    /// Uses fuel for a function that reads all texts among its arguments, character by character.
    pub(super) fn read(&mut self, arguments: &[Lazy<'e>]) -> Bounded<()> {
        let bytes = |value: &Lazy| if let Lazy::String(text) = value { text.len() } else { 0 };
        let bytes: usize = arguments.iter().map(bytes).sum();
        if bytes < READ { Ok(()) } else { self.spend(bytes / READ) }
    }

    /// Uses fuel for comparing two texts.
    pub(crate) fn compare(&mut self, left: &str, right: &str) -> Bounded<()> {
        let bytes = left.len().min(right.len());
        if bytes < READ { Ok(()) } else { self.spend(bytes / READ) }
    }

    /// Uses fuel for comparing two values.
    pub(crate) fn compare_values(&mut self, left: &Lazy<'e>, right: &Lazy<'e>) -> Bounded<()> {
        match (left, right) {
            (Lazy::String(left), Lazy::String(right)) => self.compare(left, right),
            _ => Ok(()),
        }
    }

    /// Opens one more operator, reference or call; [`Evaluator::leave`] closes it.
    pub(super) fn enter(&mut self) -> Bounded<()> {
        if self.meter.depth >= self.context.limits.depth {
            return Err(Limit::Depth);
        }
        self.meter.depth += 1;
        Ok(())
    }

    /// Closes what [`Evaluator::enter`] opened.
    pub(super) fn leave(&mut self) {
        self.meter.depth -= 1;
    }

    /// Begins a bill: fuel that is used from now on is charged to the ad of `scope`.
    pub(super) fn begin_bill(&mut self, scope: ScopeId) {
        (self.meter.payer, self.meter.bill) = (self.seed(scope), Some(Bill::default()));
    }

    /// Adds what was used to `bill`.
    pub(super) fn end_bill(&mut self, bill: &mut Bill) {
        let meter = &mut self.meter;
        bill.note(meter.payer, meter.fuel_before.saturating_sub(meter.fuel));
        meter.bill.iter_mut().for_each(|own| bill.add(own));
    }

    /// Leaves steps off the bill that were used for work that an earlier evaluation has done.
    pub(crate) fn leave_off_bill(&mut self, steps: usize) {
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        self.meter.fuel_before = self.meter.fuel_before.saturating_sub(steps).max(self.meter.fuel);
    }

    /// Charges fuel that is used from now on to the ad of `scope`. Returns the seed of the ad that was charged before.
    pub(super) fn bill_to(&mut self, scope: ScopeId) -> u64 {
        let before = self.meter.payer;
        if self.meter.bill.is_some() {
            self.bill_back(self.seed(scope));
        }
        before
    }

    /// Charges fuel that is used from now on to the ad with this seed.
    pub(super) fn bill_back(&mut self, payer: u64) {
        let meter = &mut self.meter;
        if let Some(bill) = meter.bill.as_mut().filter(|_| payer != meter.payer) {
            bill.note(meter.payer, meter.fuel_before.saturating_sub(meter.fuel));
            (meter.payer, meter.fuel_before) = (payer, meter.fuel);
        }
    }

    /// The seed of the frame that a scope is, or stands in.
    fn seed(&self, scope: ScopeId) -> u64 {
        let mut chain = std::iter::successors(Some(scope), |at| self.parent(*at));
        chain.find_map(|at| self.frame(at)).map_or(0, |frame| self.env.frame_seed(frame))
    }
}
