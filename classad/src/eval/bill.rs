//! Fuel, by the ad that contains the expressions that used it.

/// How much fuel evaluations used, by the [seed](crate::Env::seed) of the frame that contains the expression: an ad that reads
/// a costly attribute of another ad does not pay for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bill(Vec<(u64, u64)>);

impl Bill {
    /// Adds fuel that expressions in frames with this seed used.
    pub(crate) fn note(&mut self, seed: u64, fuel: u64) {
        match self.0.iter_mut().find(|(own, _)| *own == seed) {
            Some((_, sum)) => *sum = sum.saturating_add(fuel),
            None => self.0.push((seed, fuel)),
        }
    }

    /// Removes and returns all items: seeds and the fuel for each.
    pub fn drain(&mut self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.drain(..)
    }

    /// Moves all items of another bill here.
    pub(crate) fn add(&mut self, other: &mut Bill) {
        other.drain().for_each(|(seed, fuel)| self.note(seed, fuel));
    }
}

#[cfg(test)]
mod tests {
    use crate::{Bill, Context, Dialect, Env, Name, eval_billed, parse_ad, parse_expr};

    fn bill(job: &str, machine: &str, expr: &str) -> [u64; 2] {
        let (job, machine) =
            (parse_ad(job, Dialect::Gangmatch).unwrap(), parse_ad(machine, Dialect::Gangmatch).unwrap());
        let mut env = Env::new();
        let (machine, job) = (env.frame(&machine, None), env.frame(&job, None));
        env.seed(job, 1);
        env.seed(machine, 2);
        env.bind(job, &Name::new("cpu"), machine);
        let (mut bill, expr) = (Bill::default(), parse_expr(expr, Dialect::Gangmatch).unwrap());
        let _ = eval_billed(&expr, &env, job, &Context::default(), &mut bill);
        let mut sums = [0; 2];
        for (seed, fuel) in bill.drain() {
            sums[usize::try_from(seed).unwrap() - 1] += fuel;
        }
        sums
    }

    /// An attribute `c` that takes so many steps.
    fn costly(steps: usize) -> String {
        format!("c = member(-1, {{{}}});", vec!["1 + 1"; steps].join(","))
    }

    #[test]
    fn who_wrote_an_expression_pays_for_it() {
        let costly = format!("[{}]", costly(100));
        let [own, theirs] = bill("[x = 1]", &costly, "cpu.c || x > 1");
        assert!(own < 20 && theirs > 100, "{own} {theirs}");
        let [own, theirs] = bill(&costly, "[c = 1]", "cpu.c == 2 || c");
        assert!(own > 100 && theirs < 5, "{own} {theirs}");
    }

    #[test]
    fn a_pattern_that_was_compiled_before_is_not_on_the_bill_again() {
        let expr = parse_expr("regexp(\"^[a-c]+$\", name)", Dialect::Gangmatch).unwrap();
        let ad = parse_ad("[name = \"abc\"]", Dialect::Gangmatch).unwrap();
        let mut env = Env::new();
        let frame = env.frame(&ad, None);
        let fuel = || {
            let mut bill = Bill::default();
            eval_billed(&expr, &env, frame, &Context::default(), &mut bill).unwrap();
            bill.drain().map(|(_, fuel)| fuel).sum::<u64>()
        };
        let (first, second) = (fuel(), fuel());
        assert!(first > 2000 && second < 50, "{first} {second}");
    }

    #[test]
    fn the_elements_of_a_list_are_paid_for_by_whose_list_it_is() {
        let machine = format!("[{} list = {{c, c ? 1 : 2, 1 + 1}}]", costly(100));
        let [own, theirs] = bill("[x = 1]", &machine, "member(x, cpu.list)");
        assert!(own < 20 && theirs > 100, "{own} {theirs}");
    }
}
