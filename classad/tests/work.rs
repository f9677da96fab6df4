//! Work is paid for with fuel. It is measured in bytes and allocations, which unlike time are the same at every run.

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hint::black_box;
    use std::sync::LazyLock;

    use allocation_counter::{AllocationInfo, measure};
    use classad::{
        Ad, BUILTINS, Bill, Context, Dialect, Env, Limits, conjuncts, eval_billed, format, lint_ad, never_true,
        parse_ad,
    };
    use proptest::prelude::*;

    use crate::trees::tree;

    /// The law: so many bytes and so many allocations for each unit of fuel, and so much before the first. The dearest are
    /// patterns: the automaton of a short one takes 400 KB for some 3,000 units. A list that is made takes some 100 bytes for
    /// each element, texts and expressions less.
    const STEP: Work = Work { bytes: 256, count: 1 };
    const START: Work = Work { bytes: 1 << 16, count: 300 };
    /// What may live at a time beside what [`Limits::memory`] counts: the compiled pattern (1 MiB), what it remembers while
    /// it matches (256 KiB), one text being made (1 MiB, up to twice while it grows).
    const LIVE: u64 = 4 << 20;
    /// Without evaluation the text pays: so many units of fuel for each byte, and for the patterns in it, which are compiled
    /// to see whether they are any.
    const BYTE: u64 = 64;
    const PATTERNS: u64 = 120_000;

    #[derive(Clone, Copy)]
    struct Work {
        bytes: u64,
        count: u64,
    }

    /// Lists, texts and ads that share their parts.
    static AROUND: LazyLock<Ad> = LazyLock::new(|| {
        let numbers: Vec<String> = (0..200).map(|number| number.to_string()).collect();
        let ads: Vec<String> = (0..40).map(|number| format!("[ p = {number}; q = text ]")).collect();
        let text = format!(
            "[ text = \"abc,abd abe;x=1 'y z'\"; long = strcat(text, text, text, text, text, text, text, text);
               longer = strcat(long, long, long, long, long, long, long, long);
               longest = strcat(longer, longer, longer, longer, longer, longer, longer, longer);
               numbers = {{ {} }}; ads = {{ {} }}; texts = split(longer, \",\"); many = split(longest);
               l = {{ 1, text, 2.5, undefined }}; ll = {{ l, l, l, l }}; lll = {{ ll, ll, ll, ll }};
               made = evalInEachContext(lll, ads); twice = evalInEachContext(made, ads);
               self_ = {{ self_, self_ }}; pattern = \"(a|b)+[^c]d?\"; code = \"numbers[3] + size(ads)\" ]",
            numbers.join(","),
            ads.join(",")
        );
        parse_ad(&text, Dialect::Gangmatch).unwrap()
    });

    // ---- ads whose attributes are made of one another

    fn operand() -> BoxedStrategy<String> {
        let shared = prop::sample::select(vec![
            "text", "long", "longer", "longest", "numbers", "ads", "texts", "many", "l", "ll", "lll", "made", "twice",
            "self_", "pattern", "code", "self", "p", "nosuch",
        ]);
        let plain = prop::sample::select(vec![
            "0",
            "3",
            "-1",
            "2.5e300",
            "true",
            "\"\"",
            "\",\"",
            "\"a+\"",
            "\"(.)(.)\"",
            "\"\\\\1\\\\0\"",
            "\"i\"",
            "\"g\"",
            "\"<\"",
            "\"%c\"",
            "absTime(0)",
            "relTime(9.5)",
            "undefined",
        ]);
        prop_oneof![
            6 => (0..10).prop_map(|number| format!("x{number}")),
            6 => shared.prop_map(str::to_owned),
            2 => plain.prop_map(str::to_owned),
            1 => tree().prop_map(|tree| format!("({tree})")),
        ]
        .boxed()
    }

    fn step(operand: BoxedStrategy<String>) -> BoxedStrategy<String> {
        let call = (0..BUILTINS.len(), prop::collection::vec(operand.clone(), 4)).prop_map(|(index, mut arguments)| {
            let builtin = &BUILTINS[index];
            arguments.truncate(builtin.arity.max.unwrap_or(4));
            format!("{}({})", builtin.name, arguments.join(", "))
        });
        let op = prop::sample::select(vec!["==", "=?=", "<", "+", "&&", "||", "?:"]);
        let two = (operand.clone(), operand.clone());
        prop_oneof![
            8 => call,
            2 => (operand.clone(), op, operand.clone()).prop_map(|(left, op, right)| format!("({left} {op} {right})")),
            2 => prop::collection::vec(operand.clone(), 0..5).prop_map(|items| format!("{{ {} }}", items.join(", "))),
            1 => two.clone().prop_map(|(p, q)| format!("[ p = {p}; q = {q}; x0 = p ]")),
            1 => operand.clone().prop_map(|base| format!("{base}.p")),
            1 => two.clone().prop_map(|(base, index)| format!("{base}[{index}]")),
            2 => two.clone().prop_map(|(left, right)| format!("strcat({left}, {right}, {left})")),
            2 => two.prop_map(|(body, list)| format!("evalInEachContext({body}, {list})")),
        ]
        .boxed()
    }

    /// `[ x0 = ...; x1 = ...; ... ]`
    fn text() -> impl Strategy<Value = String> {
        let nested = prop_oneof![4 => operand(), 1 => step(operand())].boxed();
        prop::collection::vec(step(nested), 1..10).prop_map(|steps| {
            let attributes = steps.iter().enumerate().map(|(number, step)| format!("x{number} = {step}"));
            format!("[ {} ]", attributes.collect::<Vec<_>>().join("; "))
        })
    }

    /// Most evaluations are stopped early, so that many can be looked at.
    fn limits() -> impl Strategy<Value = Limits> {
        prop_oneof![
            40 => Just(Limits { fuel: 20_000, ..Limits::default() }),
            1 => Just(Limits::default()),
        ]
    }

    // ---- the law

    /// What fails is printed whole: there is no file to keep it in for cases that a closure tries.
    fn config() -> ProptestConfig {
        ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
    }

    /// The worst that was seen, beyond what each may take before its first step: bytes and allocations for each unit of fuel,
    /// and the bytes that lived at a time.
    #[derive(Default)]
    struct Worst {
        bytes: Cell<f64>,
        count: Cell<f64>,
        live: Cell<u64>,
    }

    impl Worst {
        #[expect(clippy::cast_precision_loss, reason = "a ratio to be printed")]
        fn note(&self, info: AllocationInfo, fuel: u64) {
            let ratio = |work: u64, start: u64| work.saturating_sub(start) as f64 / fuel.max(1) as f64;
            self.bytes.set(self.bytes.get().max(ratio(info.bytes_total, START.bytes)));
            self.count.set(self.count.get().max(ratio(info.count_total, START.count)));
            self.live.set(self.live.get().max(info.bytes_max));
        }

        fn print(&self, what: &str) {
            let (bytes, count, live) = (self.bytes.get(), self.count.get(), self.live.get());
            println!(
                "{what}: at worst {bytes:.0} bytes and {count:.2} allocations for each unit of fuel, {live} bytes live"
            );
        }
    }

    fn is_paid_for(info: AllocationInfo, fuel: u64, memory: usize) -> bool {
        info.bytes_total <= START.bytes + STEP.bytes * fuel
            && info.count_total <= START.count + STEP.count * fuel
            && info.bytes_max <= u64::try_from(memory).unwrap() + LIVE
    }

    /// What evaluating an attribute took, and the fuel for it.
    fn evaluated(ad: &Ad, name: &str, limits: Limits) -> (AllocationInfo, u64) {
        let (mut env, mut bill) = (Env::new(), Bill::default());
        let around = env.frame(&AROUND, None);
        let frame = env.frame(ad, Some(around));
        let context = Context { limits, ..Context::default() };
        let Some(expr) = ad.get(name) else { return Default::default() };
        let info = measure(|| drop(eval_billed(expr, &env, frame, &context, &mut bill)));
        (info, bill.drain().map(|(_, fuel)| fuel).sum())
    }

    #[test]
    fn the_work_of_an_evaluation_is_at_most_a_constant_times_its_fuel() {
        let worst = Worst::default();
        proptest!(config(), |(text in text(), limits in limits())| {
            // A pattern or a time that is none is refused.
            let Ok(ad) = parse_ad(&text, Dialect::Gangmatch) else { return Ok(()) };
            for (name, _) in ad.iter() {
                let (info, fuel) = evaluated(&ad, name.as_str(), limits);
                worst.note(info, fuel);
                prop_assert!(is_paid_for(info, fuel, limits.memory), "{} in {}: {:?} for {}", name, text, info, fuel);
            }
        });
        worst.print("an evaluation");
    }

    #[test]
    fn the_work_without_an_evaluation_is_at_most_a_constant_times_the_text() {
        let worst: [(&str, Worst); 4] =
            ["reading", "format", "lint_ad", "the rest"].map(|what| (what, Worst::default()));
        proptest!(config(), |(text in text())| {
            let mut read = None;
            let fuel = PATTERNS + BYTE * u64::try_from(text.len()).unwrap();
            let reading = measure(|| read = parse_ad(&text, Dialect::Gangmatch).ok());
            let formatting = measure(|| drop(format(&text, Dialect::Gangmatch)));
            let ad = read.unwrap_or_default();
            let linting = measure(|| drop(lint_ad(&ad, &text, &[])));
            let rest = measure(|| ad.iter().for_each(|(_, expr)| {
                drop((conjuncts(expr), expr.excerpt(256)));
                let _ = never_true(expr);
            }));
            for (info, (what, worst)) in [reading, formatting, linting, rest].into_iter().zip(&worst) {
                worst.note(info, fuel);
                prop_assert!(is_paid_for(info, fuel, 0), "{} of {}: {:?} for {}", what, text, info, fuel);
            }
        });
        worst.iter().for_each(|(what, worst)| worst.print(what));
    }

    /// What is known of an expression before its partner is: the fuel of one evaluation and the text pay.
    /// The law can fail: work that nothing pays for is seen.
    #[test]
    fn what_is_not_paid_for_is_seen() {
        let bytes = usize::try_from(START.bytes + STEP.bytes * 100).unwrap();
        assert!(!is_paid_for(measure(|| drop(black_box(vec![0_u8; bytes + 1]))), 100, 1 << 30));
        assert!(is_paid_for(measure(|| drop(black_box(vec![0_u8; bytes]))), 100, 1 << 30));
        let (info, fuel) = evaluated(
            &parse_ad("[ x = strcat(longest, longest) ]", Dialect::Gangmatch).unwrap(),
            "x",
            Limits::default(),
        );
        assert!(info.bytes_total > 4 * 10_000 && fuel > 100, "{info:?} for {fuel}");
    }
}
