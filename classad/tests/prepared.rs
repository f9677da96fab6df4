//! Prepared expressions: they say what full evaluation says, or nothing.

#[cfg(test)]
mod tests {
    use classad::{
        Ad, Context, Dialect, Env, Exhausted, Expr, FrameId, Limits, Name, Prepared, Value, View, eval, parse_ad,
        parse_expr,
    };
    use proptest::prelude::*;

    fn ad(text: &str) -> Ad {
        parse_ad(text, Dialect::Gangmatch).unwrap()
    }

    fn expr(text: &str) -> Expr {
        parse_expr(text, Dialect::Gangmatch).unwrap()
    }

    /// An ad with a port.
    struct Side {
        body: Ad,
        port: Ad,
    }

    impl Side {
        fn new(body: &str, port: &str) -> Self {
            Self { body: ad(body), port: ad(port) }
        }

        fn seat<'a>(&'a self, env: &mut Env<'a>) -> FrameId {
            let body = env.frame(&self.body, None);
            env.frame(&self.port, Some(body))
        }

        fn view(&self) -> View<'_> {
            View::port(&self.port, &self.body)
        }
    }

    type Answers = (Option<Value>, Option<bool>, Result<Value, Exhausted>);

    /// What the expression in the job's port gives for the machine: prepared, and in full.
    fn labelled(whole: &Expr, job: &Side, machine: &Side, context: &Context) -> Answers {
        let (label, other) = (Name::new("cpu"), Name::new("requester"));
        let mut env = Env::new();
        let own = job.seat(&mut env);
        let mut prepared = Prepared::labelled(whole, &mut env, own, &label, context);
        let view = machine.seat(&mut env);
        env.bind(own, &label, view);
        env.bind(view, &other, own);
        (prepared.value(machine.view()), prepared.holds(machine.view()), eval(whole, &env, own, context))
    }

    /// The same for two ads without ports.
    fn partnered(whole: &Expr, job: &Side, machine: &Side, context: &Context) -> Answers {
        let mut env = Env::new();
        let own = env.frame(&job.body, None);
        let mut prepared = Prepared::partnered(whole, &mut env, own, context);
        let view = env.frame(&machine.body, None);
        env.partner(own, view);
        env.partner(view, own);
        let candidate = View::ad(&machine.body);
        (prepared.value(candidate), prepared.holds(candidate), eval(whole, &env, own, context))
    }

    fn check((value, holds, full): Answers, about: &str) {
        if let Some(value) = &value {
            // NaN is no equal of itself.
            assert_eq!(format!("{:?}", Ok::<_, Exhausted>(value)), format!("{:?}", full.as_ref()), "{about}");
        }
        if let Some(holds) = holds {
            assert_eq!(Ok(holds), full.map(|value| value.is_true()), "{about}");
        }
    }

    #[test]
    fn what_is_told_and_what_is_left_to_evaluation() {
        let job = Side::new("[ Arch = \"arm64\"; Size = Need / 2; Need = 4 ]", "[ Need = 8; Half = cpu.Memory / 2 ]");
        let machine = Side::new("[ Memory = 64; Arch = \"ARM64\"; Name = Memory; List = {1} ]", "[ Speed = 2.5 ]");
        for (text, want) in [
            ("cpu.Arch == Arch && cpu.Memory >= Need", Some("true")),
            ("Size <= cpu.Speed", Some("true")),
            ("cpu.nosuch > 1 || cpu.Memory > 1", Some("true")),
            ("cpu.nosuch > 1 || cpu.Memory > 100", Some("undefined")),
            ("cpu.Arch > 1 && cpu.Memory > 1", Some("error")),
            ("cpu.Memory > 1 && cpu.Arch", Some("error")),
            ("-cpu.Memory + 2 * Need", Some("-48")),
            ("cpu.Memory > 1 ? cpu.Speed : cpu.Name", Some("2.5")),
            ("cpu.nosuch ?: cpu.Arch", Some("\"ARM64\"")),
            ("cpu.Arch is \"arm64\"", Some("false")),
            ("!(cpu.Memory == 64)", Some("false")),
            ("strcat(Arch, \"!\") != cpu.Arch", Some("true")),
            ("Need", Some("8")),
            // An attribute that is no literal, names that every ad has, the label itself, functions of the candidate.
            ("cpu.Name == 64", None),
            ("cpu.Memory > 100 && cpu.Name == 64", Some("false")),
            ("cpu.self.Memory == 64", None),
            ("cpu is undefined", None),
            ("Half == 32", None),
            ("cpu.other.Memory == 1", None),
            ("isUndefined(cpu.Memory)", None),
            ("cpu.List[0]", None),
            ("{cpu.Memory}", None),
        ] {
            let whole = expr(text);
            let answers = labelled(&whole, &job, &machine, &Context::default());
            assert_eq!(answers.0.as_ref().map(Value::to_string).as_deref(), want, "{text}");
            check(answers, text);
        }
    }

    #[test]
    fn a_partner_is_reached_by_its_names_and_by_none() {
        let job = Side::new("[ Size = 2; Arch = \"arm64\"; Both = 1; Asks = other.Memory ]", "[]");
        let machine = Side::new("[ Memory = 64; Arch = 7; Both = 2; Twice = Memory * 2 ]", "[]");
        for (text, want) in [
            ("Memory >= Size * 8 && TARGET.Arch == 3 + 4", Some("true")),
            ("Both + other.Both", Some("3")),
            ("nosuch", Some("undefined")),
            ("MY.Memory is undefined", Some("true")),
            ("Asks", None),
            ("Twice", None),
            ("other", None),
            ("other.target.Size", None),
        ] {
            let answers = partnered(&expr(text), &job, &machine, &Context::default());
            assert_eq!(answers.0.as_ref().map(Value::to_string).as_deref(), want, "{text}");
            check(answers, text);
        }
    }

    #[test]
    fn candidates_of_many_shapes_take_turns() {
        let job = ad("[]");
        let mut env = Env::new();
        let own = env.frame(&job, None);
        let mut prepared =
            Prepared::labelled(&expr("cpu.a + cpu.b"), &mut env, own, &Name::new("cpu"), &Context::default());
        for round in 0..50 {
            // Dropped at once: the next one may get the same place in memory.
            let front = (0..round).map(|number| format!("x{number} = 0; ")).collect::<String>();
            let (port, body) = (ad(&format!("[ {front} a = {round} ]")), ad(&format!("[ {front} b = 1; a = 7 ]")));
            assert_eq!(prepared.value(View::port(&port, &body)), Some(Value::Integer(round + 1)));
            assert_eq!(prepared.value(View::ad(&body)), Some(Value::Integer(8)));
            assert_eq!(prepared.value(View::ad(&port)), Some(Value::Undefined));
        }
    }

    #[test]
    fn the_environment_is_the_same_afterwards() {
        let (job, machine) = (ad("[ Size = 2 ]"), ad("[ Memory = 3 ]"));
        let mut env = Env::new();
        let own = env.frame(&job, None);
        let partner = env.frame(&machine, None);
        env.partner(own, partner);
        env.define(own, Name::new("Extra"), Value::Integer(5));
        let before = format!("{env:?}");
        let whole = expr("other.Memory + Memory + Extra + cpu.x");
        let _ = Prepared::partnered(&whole, &mut env, own, &Context::default());
        let _ = Prepared::labelled(&whole, &mut env, own, &Name::new("cpu"), &Context::default());
        assert_eq!(eval(&expr("other.Memory + Memory"), &env, own, &Context::default()), Ok(Value::Integer(6)));
        assert_eq!(eval(&expr("cpu is undefined"), &env, own, &Context::default()), Ok(Value::Boolean(true)));
        let live = |text: &str| text.split("live").nth(1).map(str::to_owned);
        assert_eq!(live(&format!("{env:?}")), live(&before));
    }

    // ---- the law

    fn leaf() -> impl Strategy<Value = String> {
        let words = [
            "a",
            "b",
            "c",
            "cpu.a",
            "cpu.b",
            "cpu.c",
            "cpu.p",
            "cpu",
            "other.a",
            "TARGET.b",
            "other",
            "requester.a",
            "requester.p",
            "requester.cpu.a",
            "nosuch",
            "cpu.nosuch",
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
            "\"S\"",
            "{1, a}",
            "[p = b; q = cpu.a]",
            "cpu.p.q",
            "a.p",
            ".a",
            "self.b",
            "MY.c",
            "random(10)",
            "parent.a",
            "cpu.self.a",
            "cpu[\"a\"]",
            "cpu.other.a",
            "time()",
            "CurrentTime",
            "absTime(\"2004-01-01\")",
            "relTime(\"00:15:00\")",
            "real(\"NaN\")",
        ];
        prop::sample::select(words.to_vec()).prop_map(str::to_owned)
    }

    fn text() -> impl Strategy<Value = String> {
        leaf().prop_recursive(4, 24, 3, |inner| {
            let op = prop::sample::select(vec![
                "&&", "&&", "&&", "||", "||", "==", "!=", "is", "isnt", "<", ">=", ">", "<=", "+", "-", "*", "/", "|",
                "<<",
            ]);
            let function = prop::sample::select(vec!["isUndefined", "isError", "size", "string", "eval", "toUpper"]);
            prop_oneof![
                8 => (inner.clone(), op.clone(), inner.clone()).prop_map(|(a, op, b)| format!("({a}) {op} ({b})")),
                2 => (leaf(), op.clone(), leaf(), op, leaf()).prop_map(|(a, o, b, p, c)| format!("{a} {o} {b} {p} {c}")),
                1 => (inner.clone(), inner.clone(), inner.clone()).prop_map(|(c, a, b)| format!("({c}) ? ({a}) : ({b})")),
                1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) ?: ({b})")),
                1 => inner.clone().prop_map(|a| format!("!({a})")),
                1 => inner.clone().prop_map(|a| format!("-({a})")),
                1 => (function, inner).prop_map(|(function, a)| format!("{function}({a})")),
            ]
        })
    }

    /// The attributes of an ad: mostly literals, some anything.
    fn attributes() -> impl Strategy<Value = String> {
        let literal = prop::sample::select(vec!["0", "1", "3", "2.5", "true", "\"s\"", "undefined", "error", "(4)"]);
        let value = prop_oneof![4 => literal.prop_map(str::to_owned), 1 => leaf(), 1 => text()];
        let name = prop::sample::select(vec!["a", "b", "c", "p", "cpu", "other", "a", "b", "c", "p"]);
        prop::collection::vec((name, value), 0..5).prop_map(|attributes| {
            let attributes: String = attributes.iter().map(|(name, value)| format!("{name} = {value}; ")).collect();
            if attributes.is_empty() { "[]".to_owned() } else { format!("[ {attributes} ]") }
        })
    }

    fn context() -> impl Strategy<Value = Context> {
        let fuel = prop::sample::select(vec![1_000_000, 1_000_000, 3, 7, 12, 25, 60]);
        let depth = prop::sample::select(vec![400, 400, 1, 2, 3, 4, 6]);
        let bytes = prop::sample::select(vec![1 << 20, 0]);
        (fuel, depth, bytes).prop_map(|(fuel, depth, result_bytes)| Context {
            now: 1_000,
            limits: Limits { fuel, depth, result_bytes, ..Limits::default() },
            ..Context::default()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn prepared_is_evaluated(
            whole in text(),
            ads in prop::array::uniform4(attributes()),
            context in context(),
        ) {
            let [job, wants, machine, offers] = ads;
            let (job, machine) = (Side::new(&job, &wants), Side::new(&machine, &offers));
            let whole = expr(&whole);
            check(labelled(&whole, &job, &machine, &context), "labelled");
            check(partnered(&whole, &job, &machine, &context), "partnered");
        }
    }
}
