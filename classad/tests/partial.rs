//! Partial evaluation: specialise, then evaluate with the rest = evaluate with all, for every split of the names.

#[cfg(test)]
mod tests {
    use classad::{
        Ad, Context, Dialect, Env, Expr, FrameId, Limit, Limits, Name, Partial, Value, eval, parse_ad, parse_expr,
        specialize,
    };
    use proptest::prelude::*;

    /// The names that are known or not.
    const NAMES: [&str; 4] = ["a", "b", "c", "d"];

    fn ad(text: &str) -> Ad {
        parse_ad(text, Dialect::Gangmatch).unwrap()
    }

    fn expr(text: &str) -> Expr {
        parse_expr(text, Dialect::Gangmatch).unwrap()
    }

    /// What is left in the ad while `cpu` is open.
    fn left(text: &str, own: &str) -> String {
        let own = ad(own);
        let mut env = Env::new();
        let frame = env.frame(&own, None);
        env.leave_open(frame, &Name::new("cpu"));
        match specialize(&expr(text), &env, frame, &Context::default()) {
            Partial::Known(value) => format!("known {value}"),
            Partial::Open(rest) => rest.to_string(),
        }
    }

    #[test]
    fn constants_fold_and_open_parts_stay() {
        let own =
            "[ Arch = \"arm64\"; Size = 2; Need = Size * 1024; List = {1, 2}; Half = cpu.X; Long = strcat(Arch, 1) ]";
        for (text, want) in [
            ("cpu.Arch == Arch", "cpu.Arch == \"arm64\""),
            ("cpu.Memory >= Need + 2 * 3", "cpu.Memory >= 2054"),
            ("Size == 2 && cpu.Memory >= 1", "cpu.Memory >= 1"),
            ("cpu.Memory >= 1 && Size == 2", "cpu.Memory >= 1"),
            ("Size == 3 && cpu.Memory >= 1", "known false"),
            ("Size == 2 || cpu.Memory >= 1", "known true"),
            ("(Size == 3 || cpu.A) && true", "(false || cpu.A)"),
            ("Size == 2 && cpu.A", "true && cpu.A"),
            ("cpu.A && Size == 3", "cpu.A && false"),
            ("Half > Size", "Half > 2"),
            ("isUndefined(cpu)", "isUndefined(cpu)"),
            ("isUndefined(cpu.X) ? 1 : Size", "isUndefined(cpu.X) ? 1 : 2"),
            ("nosuch ?: cpu.X", "cpu.X"),
            ("Size ?: cpu.X", "known 2"),
            ("Size > 1 ? (cpu.X) : cpu.Y", "cpu.X"),
            ("nosuch ? cpu.X : cpu.Y", "known undefined"),
            ("ifThenElse(Size > 1, cpu.X + 1, 2) * 2", "(cpu.X + 1) * 2"),
            ("ifThenElse(cpu.X, Size, Size)", "ifThenElse(cpu.X,2,2)"),
            ("member(cpu.X, {Size, 3 + 4})", "member(cpu.X,{ 2,7 })"),
            ("member(cpu.X, List)", "member(cpu.X,List)"),
            ("List[cpu.X]", "List[cpu.X]"),
            ("[q = Size + cpu.X].q", "[ q = Size + cpu.X ].q"),
            ("countMatches(Size > 1, cpu.L)", "countMatches(Size > 1,cpu.L)"),
            ("strcat(Long, cpu.X)", "strcat(\"arm641\",cpu.X)"),
            ("error + cpu.X", "error + cpu.X"),
            ("eval(\"Size + 1\") + cpu.X", "3 + cpu.X"),
            ("eval(\"cpu.X\")", "eval(\"cpu.X\")"),
            ("unparse(Size) == cpu.X", "\"2\" == cpu.X"),
            ("-5 + 3 - cpu.X", "-2 - cpu.X"),
            ("{Size, cpu.X}", "{ 2,cpu.X }"),
            ("Size", "known 2"),
            ("{Size, [x = Size]}", "known { 2,[ x = 2 ] }"),
        ] {
            assert_eq!(left(text, own), want, "{text}");
        }
    }

    #[test]
    fn an_open_name_is_uncatchable_and_hides_what_is_under_it() {
        for text in ["cpu is undefined", "cpu is error", "cpu ?: 1", "isError(cpu.X)", "isUndefined(cpu.X) || true"] {
            assert_eq!(left(text, "[ cpu = 5 ]"), text);
        }
    }

    #[test]
    fn what_runs_out_still_runs_out() {
        let bomb = vec!["1"; 402].join(" + ");
        let own = ad("[ y = eval(y2); y2 = \"eval(y2)\" ]");
        for text in [format!("cpu.X || isError({bomb})"), bomb, "cpu.X || isError(y)".to_owned()] {
            let mut env = Env::new();
            let frame = env.frame(&own, None);
            env.leave_open(frame, &Name::new("cpu"));
            let whole = expr(&text);
            let rest = specialize(&whole, &env, frame, &Context::default()).into_expr();
            assert_eq!(rest, whole);
            env.define(frame, Name::new("cpu"), Value::ad([(Name::new("X"), Value::Boolean(false))]));
            assert_eq!(eval(&rest, &env, frame, &Context::default()).map_err(|stop| stop.limit), Err(Limit::Depth));
        }
    }

    #[test]
    fn an_open_partner_keeps_what_may_fall_through_to_it() {
        let (own, machine) = (ad("[ Size = 2; Arch = MY.Kind; Kind = \"arm64\" ]"), ad("[ Memory = 64; Arch = 7 ]"));
        for (text, want) in [
            ("Memory >= Size * 8", "Memory >= 16"),
            ("TARGET.Memory >= Size && other.Arch == 3 + 4", "TARGET.Memory >= 2 && other.Arch == 7"),
            ("MY.Memory is undefined", "true"),
            ("Arch", "\"arm64\""),
        ] {
            let mut env = Env::new();
            let frame = env.frame(&own, None);
            env.leave_partner_open(frame);
            let rest = specialize(&expr(text), &env, frame, &Context::default()).into_expr();
            assert_eq!(rest.to_string(), want, "{text}");
            let mut env = Env::new();
            let frame = env.frame(&own, None);
            let partner = env.frame(&machine, None);
            env.partner(frame, partner);
            let value = |expr: &Expr| eval(expr, &env, frame, &Context::default());
            assert_eq!(value(&rest), value(&expr(text)), "{text}");
        }
    }

    #[test]
    fn a_deep_chain_is_left_alone_without_a_deep_stack() {
        let text = vec!["cpu.X"; 100_000].join(" && ");
        assert_eq!(left(&text, "[]"), text);
    }

    // ---- the law

    fn leaf() -> impl Strategy<Value = String> {
        prop::sample::select(vec![
            "a",
            "b",
            "c",
            "d",
            "x",
            "y",
            "z",
            "nosuch",
            "true",
            "false",
            "undefined",
            "error",
            "0",
            "1",
            "-2",
            "2.5",
            "\"\"",
            "\"s\"",
            "{1, a}",
            "[p = b; q = a]",
            "a.p",
            "x.p",
            ".a",
            "self.b",
            "MY.c",
            "random(10)",
            "parent.a",
            "relTime(\"1:00\")",
            "absTime(5)",
        ])
        .prop_map(str::to_owned)
    }

    fn text() -> impl Strategy<Value = String> {
        leaf().prop_recursive(4, 30, 3, |inner| {
            let op = prop::sample::select(vec![
                "&&", "&&", "||", "||", "==", "!=", "is", "isnt", "<", ">=", "+", "-", "*", "/", "|", "<<",
            ]);
            let function = prop::sample::select(vec![
                "isUndefined",
                "isError",
                "size",
                "string",
                "eval",
                "unparse",
                "sum",
                "strcat",
                "toUpper",
                "int",
                "debug",
            ]);
            let two = prop::sample::select(vec![
                "member",
                "strcat",
                "pow",
                "regexp",
                "countMatches",
                "evalInEachContext",
                "nosuchf",
                "join",
                "anyCompare",
            ]);
            prop_oneof![
                (inner.clone(), op, inner.clone()).prop_map(|(left, op, right)| format!("({left}) {op} ({right})")),
                (inner.clone(), inner.clone(), inner.clone()).prop_map(|(c, a, b)| format!("({c}) ? ({a}) : ({b})")),
                (inner.clone(), inner.clone(), inner.clone())
                    .prop_map(|(c, a, b)| format!("ifThenElse({c}, {a}, {b})")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) ?: ({b})")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}]")),
                inner.clone().prop_map(|a| format!("!({a})")),
                inner.clone().prop_map(|a| format!("({a}).p")),
                (function, inner.clone()).prop_map(|(f, a)| format!("{f}({a})")),
                (two, inner.clone(), inner.clone()).prop_map(|(f, a, b)| format!("{f}({a}, {b})")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{ {a}, {b} }}")),
                (inner.clone(), inner).prop_map(|(a, b)| format!("[ p = {a}; a = {b} ]")),
            ]
        })
    }

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Undefined),
            Just(Value::Error),
            any::<bool>().prop_map(Value::from),
            (-3_i64..4).prop_map(Value::from),
            Just(Value::Real(0.5)),
            Just(Value::from("s")),
            Just(Value::from("a + b")),
            Just(Value::list([Value::from(1), Value::from("s")])),
            Just(Value::ad([(Name::new("p"), Value::from(1)), (Name::new("b"), Value::from(true))])),
        ]
    }

    /// The environment with the names of `mask` defined, the others open if asked for.
    fn split<'a>(own: &'a Ad, values: &[Value], mask: usize, rest_open: bool) -> (Env<'a>, FrameId) {
        let mut env = Env::new();
        let frame = env.frame(own, None);
        for (index, (name, value)) in NAMES.iter().zip(values).enumerate() {
            if mask & (1 << index) != 0 {
                env.define(frame, Name::new(*name), value.clone());
            } else if rest_open {
                env.leave_open(frame, &Name::new(*name));
            }
        }
        (env, frame)
    }

    /// So that the law below says something.
    #[test]
    fn of_random_texts_many_are_known_many_stay_open_and_many_change() {
        use proptest::strategy::ValueTree;
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let own = ad("[ x = a + 1; y = c; z = 7 ]");
        let values = [Value::from(1), Value::from("s"), Value::from(true), Value::Undefined];
        let (mut known, mut changed, mut kept) = (0, 0, 0);
        for _ in 0..300 {
            let whole = expr(&text().new_tree(&mut runner).unwrap().current());
            let (env, frame) = split(&own, &values, 5, true);
            match specialize(&whole, &env, frame, &Context::default()) {
                Partial::Known(_) => known += 1,
                Partial::Open(rest) if rest != whole => changed += 1,
                Partial::Open(_) => kept += 1,
            }
        }
        assert!(known > 60 && changed > 40 && kept > 20, "known {known}, changed {changed}, kept {kept}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]
        #[test]
        fn specialise_then_evaluate_is_evaluate(
            whole in text(), x in text(), y in text(), z in text(), values in prop::collection::vec(value(), 4),
        ) {
            let Ok(own) = parse_ad(&format!("[ x = {x}; y = {y}; z = {z} ]"), Dialect::Gangmatch) else { return Ok(()) };
            let Ok(whole) = parse_expr(&whole, Dialect::Gangmatch) else { return Ok(()) };
            let context = Context { limits: Limits { fuel: 20_000, ..Limits::default() }, ..Context::default() };
            let (all, frame) = split(&own, &values, 15, false);
            let want = eval(&whole, &all, frame, &context);
            for mask in 0..16 {
                let (some, at) = split(&own, &values, mask, true);
                let rest = specialize(&whole, &some, at, &context).into_expr();
                let again = parse_expr(&rest.to_string(), Dialect::Gangmatch);
                prop_assert_eq!(again.as_ref(), Ok(&rest), "what is left prints and reads back: {}", rest);
                let got = eval(&rest, &all, frame, &context);
                // What is left needs no more than the whole: if it runs out, so does the whole.
                if want.is_ok() {
                    prop_assert_eq!(format!("{got:?}"), format!("{want:?}"), "left of {:b}: {}", mask, rest);
                }
                let (twice, at) = split(&own, &values, 15, true);
                let all_known = specialize(&rest, &twice, at, &context);
                if let Ok(want) = &want {
                    prop_assert_eq!(format!("{all_known:?}"), format!("{:?}", Partial::Known(want.clone())));
                }
            }
        }
    }
}
