//! Private attributes: what partners read of an ad, and what the ad's own expressions give.

#[cfg(test)]
mod tests {
    use classad::{
        Ad, BinaryOp, Context, Dialect, Env, Expr, Form, FrameId, Name, Value, eval, eval_attribute, parse_ad,
        parse_expr, parse_json, write_ads,
    };
    use proptest::prelude::*;

    fn ad(text: &str) -> Ad {
        parse_ad(text, Dialect::Gangmatch).unwrap()
    }

    fn expr(text: &str) -> Expr {
        parse_expr(text, Dialect::Gangmatch).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn names(names: &[&str]) -> Vec<Name> {
        names.iter().map(|name| Name::new(*name)).collect()
    }

    /// Two ads that are each other's partners, and the label `them` of the first for the second; the value of an expression in the first.
    fn read(reader: &Ad, partner: &Ad, expr: &Expr) -> Option<Value> {
        with_partner(reader, partner, |env, frame| eval(expr, env, frame, &Context::default()).ok())
    }

    fn with_partner<T>(reader: &Ad, partner: &Ad, what: impl FnOnce(&Env<'_>, FrameId) -> T) -> T {
        let mut env = Env::new();
        let (reader, partner) = (env.frame(reader, None), env.frame(partner, None));
        env.partner(reader, partner);
        env.partner(partner, reader);
        env.bind(reader, &Name::new("them"), partner);
        what(&env, reader)
    }

    const MACHINE: &str = "[ Name = \"foo\"; Cost = 7; Price = Cost * 2; Inner = [ deep = 1; Sum = Cost + deep ]; List = { Cost, [ c = Cost ] };
        Quoted = eval(\"Cost\"); Ask = other.Bid > Cost ]";

    #[test]
    fn no_expression_of_a_partner_reads_a_private_attribute() {
        let machine = ad(MACHINE).hide(&names(&["cost"]));
        // It has a private attribute of the same name, so its own references have the hidden name, too.
        let job = ad("[ Cost = 1; Probe = Cost + 0; Bid = 9; Text = \"Cost\" ]").hide(&names(&["Cost"]));
        let plain = ad("[ Bid = 9; Text = \"Cost\"; Probe = Cost + 0 ]");
        for reader in [&job, &plain] {
            for text in [
                "other.Cost",
                "target.cost",
                "them.COST",
                "other[\"Cost\"]",
                "other[Text]",
                "other[strcat(\"Co\", \"st\")]",
                "eval(\"other.Cost\")",
                "other.self.Cost",
                "other.my.Cost",
                "other.root.Cost",
                "other.Inner.Cost",
                "other.Inner.parent.Cost",
                "other.Inner[\"Cost\"]",
                "{other}[0].Cost",
                "[ o = other ].o.Cost",
                "[ Cost = them.Cost ].Cost",
                "other.Quoted",
                "({other}.Cost)[0]",
                "(true ? other : my).Cost",
                "evalInEachContext(other.Cost, {other})[0]",
                "evalInEachContext(my.Cost + 0, {other})[0]",
                "evalInEachContext(.Cost + 0, {other})[0]",
                "evalInEachContext(eval(\"Cost + 0\"), {other})[0]",
                "evalInEachContext(other.Price, {my})[0]",
            ] {
                let value = read(reader, &machine, &reader.own_expression(&expr(text)));
                assert_eq!(value, Some(Value::Undefined), "{text} in {reader}");
            }
            for (text, want) in [
                ("other.Price", "14"),
                ("other.Ask", "true"),
                ("other.Inner.Sum", "8"),
                ("other.List[0]", "7"),
                ("other.List[1].c", "7"),
                ("size(other)", "6"),
                ("countMatches(Cost > 5, {other})", "0"),
                ("unparse(Price)", "\"private * 2\""),
                ("unparse(Cost2)", "\"\""),
                ("unresolved(Price)", "\"\""),
            ] {
                let value = read(reader, &machine, &reader.own_expression(&expr(text))).unwrap();
                assert_eq!(value.to_string(), want, "{text} in {reader}");
            }
            for text in
                ["unparse(other)", "string(other)", "strcat(other, them)", "join(\",\", {other})", "other", "{other}"]
            {
                let value = read(reader, &machine, &reader.own_expression(&expr(text))).unwrap().to_string();
                assert!(!value.to_ascii_lowercase().contains("cost ="), "{text}: {value}");
            }
        }
        // In an expression of the reader a bare name means its own attribute, wherever it is evaluated.
        for (text, own) in [
            ("evalInEachContext(Probe, {other})[0]", 1),
            ("evalInEachContext(Cost + 0, {other})[0]", 1),
            ("evalInEachContext([ c = Cost + 0 ].c, {other})[0]", 1),
            ("evalInEachContext(evalInEachContext(Cost + 0, {my})[0], {other})[0]", 1),
            ("evalInEachContext(Cost + deep, {other.Inner})[0]", 2),
        ] {
            assert_eq!(read(&plain, &machine, &expr(text)), Some(Value::Undefined), "{text}");
            assert_eq!(read(&job, &machine, &job.own_expression(&expr(text))), Some(Value::Integer(own)), "{text}");
        }
        assert_eq!(read(&plain, &machine, &expr("Cost")), Some(Value::Undefined), "a bare name falls through");
        assert_eq!(read(&job, &machine, &job.own_expression(&expr("Cost"))), Some(Value::Integer(1)));
    }

    #[test]
    fn a_public_expression_shows_nothing_private_to_an_ad_with_attributes_of_its_own() {
        // With a factor of 1, the price would be the cost.
        let machine =
            ad("[ Cost = 7; Price = Cost * Factor; Factor = 3; Deep = { [ Factor = 5 ] }; Gpus = Deep; Outer = evalInEachContext(Price, Gpus)[0] ]").hide(&names(&["cost"]));
        let job = ad("[ Factor = 1; Cost = 100 ]");
        for job in [&job, &job.hide(&names(&["cost"]))] {
            for text in
                ["evalInEachContext(other.Price, {my})[0]", "evalInEachContext(other.Price, {[ Factor = 1 ]})[0]"]
            {
                assert_eq!(read(job, &machine, &job.own_expression(&expr(text))), Some(Value::Undefined), "{text}");
            }
            let own = job.own_expression(&expr("evalInEachContext(other.Price, other.Deep)[0]"));
            assert_eq!(read(job, &machine, &own), Some(Value::Integer(35)));
            // A call inside of another one is still the caller's, wherever it is evaluated.
            for text in [
                "evalInEachContext(evalInEachContext(Price, {[ Factor = 1 ]})[0], other.Deep)[0]",
                "evalInEachContext(evalInEachContext(Price, {[ Factor = 1 ]})[0], {other})[0]",
                "evalInEachContext(evalInEachContext(my.Price, {[ Factor = 1 ]})[0], {other})[0]",
                "evalInEachContext(evalInEachContext(Outer, {[ Gpus = {[ Factor = 1 ]} ]})[0], {other})[0]",
                "evalInEachContext(other.Outer, {[ Gpus = {[ Factor = 1 ]} ]})[0]",
            ] {
                let value = read(job, &machine, &job.own_expression(&expr(text)));
                assert!(![Some(Value::Integer(7)), None].contains(&value), "{text}: {value:?}");
            }
        }
    }

    #[test]
    fn own_expressions_use_what_is_private_wherever_they_stand() {
        let text = "[ X = 1; Y = 2; A = X + .x; B = my.X + self.X + root.X + toplevel.X; C = [ X = 5; v = X + .X ].v; D = [ Y = X; v = Y ].v;
            E = [ in = [ X = 3; v = parent.X ] ].in.v; F = (my).X; G = { X, [ v = my.X ].v }; H = [ my = [ X = 9 ]; v = my.X ].v;
            I = evalInEachContext(X + 0, {my, [ b = 2 ]}); J = [ X = 8 ].X; K = other.X; L = regexp(strcat(\"^\", X), \"1\");
            M = unresolved(A); N = isUndefined(X) ? 1 : -X; O = X ?: Y; P = (X)[0]; Q = CurrentTime is X ]";
        let (plain, partner) = (ad(text), ad("[ X = 100 ]"));
        let hidden = plain.hide(&names(&["x", "Nosuch"]));
        assert!(hidden.get("X").is_none() && plain.get("X").is_some());
        for (name, _) in plain.iter().filter(|(name, _)| *name != "X") {
            let value = |ad: &Ad| {
                with_partner(ad, &partner, |env, frame| eval_attribute(env, frame, name.as_str(), &Context::default()))
            };
            assert_eq!(value(&plain), value(&hidden), "{name}");
        }
        let env_of = |ad: &Ad, text: &str| read(ad, &partner, &ad.own_expression(&expr(text))).unwrap().to_string();
        assert_eq!(env_of(&hidden, "X + other.X"), "101");
        assert_eq!(env_of(&plain, "X + other.X"), "101");
    }

    #[test]
    fn what_cannot_be_named_by_text_is_not_found() {
        for text in ["'\0X'", "\"\0X\"", "'\\0X'", "\"\\000X\"", "a.'\0X'", "\u{0}X"] {
            assert!(parse_expr(text, Dialect::Gangmatch).is_err(), "{text:?}");
            assert!(parse_expr(text, Dialect::Htcondor).is_err(), "{text:?}");
        }
        for text in ["{\"\\u0000X\": 1}", "{\"A\": \"\\u0000X\"}", "{\"\0X\": 1}", "{\"A\": \"/Expr('\\u0000X')/\"}"] {
            assert!(parse_json(text, Dialect::Gangmatch).is_err(), "{text:?}");
        }
        let machine = ad("[ X = 1 ]").hide(&names(&["X"]));
        let index = Expr::subscript(expr("other"), Expr::literal(Value::string("\0X")));
        assert_eq!(read(&ad("[]"), &machine, &index), Some(Value::Undefined));
    }

    #[test]
    fn no_form_of_printing_names_what_is_private() {
        let machine = ad(MACHINE).hide(&names(&["Cost", "Inner", "List", "Ask", "Quoted"]));
        let texts = [
            machine.to_string(),
            format!("{machine:?}"),
            machine.canonical(),
            machine.to_json(),
            machine.to_long().unwrap(),
            write_ads(std::slice::from_ref(&machine), Form::Json).unwrap(),
            machine.get("Price").unwrap().excerpt(100),
        ];
        for text in texts {
            assert!(!text.contains("Cost") && !text.contains('\0') && text.contains("private * 2"), "{text}");
            assert!(!text.contains("Inner") && !text.contains("Ask"), "{text}");
        }
        assert_eq!(machine.to_string(), "[ Name = \"foo\"; Price = private * 2 ]");
        assert_eq!(ad("[ X = 1 ]").hide(&names(&["X"])).to_long(), Err(None), "there is nothing to write");
    }

    #[test]
    fn long_expressions_use_no_stack_and_what_is_unchanged_is_shared() {
        let sum = |name: &str| {
            let one = Expr::attribute(Name::new(name));
            (0..1_000_000).fold(one.clone(), |sum, _| Expr::binary(BinaryOp::Add, sum, one.clone()))
        };
        let nested = (0..400).fold(Expr::attribute(Name::new("X")), |inner, _| {
            Expr::ad([(Name::new("a"), inner)].into_iter().collect())
        });
        let one = Expr::literal(Value::Integer(1));
        let attributes = [("X", one), ("Long", sum("X")), ("Other", sum("Y")), ("Deep", nested)];
        let plain: Ad = attributes.into_iter().map(|(name, expr)| (Name::new(name), expr)).collect();
        let hidden = plain.hide(&names(&["X"]));
        assert_eq!(hidden.get("Other").unwrap().id(), plain.get("Other").unwrap().id());
        assert!(hidden.get("Long").unwrap().excerpt(40).starts_with("private + private"));
        assert!(hidden.get("Deep").unwrap().excerpt(40).starts_with("[ a = [ a = "));
    }

    /// Text of expressions over these names.
    fn text(names: &'static [&'static str], reflects: bool) -> impl Strategy<Value = String> {
        let name = proptest::sample::select(names);
        let part = move |form: &'static str| name.clone().prop_map(move |name| form.replace('#', name));
        let leaves = ["#", "my.#", "self.#", ".#", "parent.#", "root.#", "#", "other.#", "them.#", "other.I.#"];
        let more = [
            "other[\"#\"]",
            "eval(\"#\")",
            "eval(\"other.#\")",
            "unparse(#)",
            "unresolved(#)",
            "evalInEachContext(#, {other, my})",
            "evalInEachContext(# + 1, {other, other.I})",
            "countMatches(#, {other, [ # = 1 ]})",
            "size(other)",
            "string(other)",
            "other",
        ];
        let forms: Vec<&'static str> =
            if reflects { leaves.iter().chain(&more).copied().collect() } else { leaves.to_vec() };
        let leaf = prop_oneof![
            proptest::sample::select(forms).prop_flat_map(part.clone()),
            Just("1".to_owned()),
            Just("true".to_owned())
        ];
        leaf.prop_recursive(3, 12, 3, move |inner| {
            let ad = (proptest::sample::select(names), inner.clone(), inner.clone())
                .prop_map(|(name, one, other)| format!("[ {name} = {one}; z = {other} ]"));
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} + {b})")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(({a}) ?: ({b}))")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("ifThenElse(({a}) is undefined, {b}, {a})")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{{a}, {b}}}")),
                ad.clone(),
                ad.prop_map(|ad| format!("{ad}.z")),
                (proptest::sample::select(names), inner)
                    .prop_map(|(name, e)| format!("[ {name} = {e}; i = [ z = {name} ] ].i.z")),
            ]
        })
    }

    /// `[ A = ..; B = ..; I = [ .. ]; P = ..; Q = .. ]`
    fn with_private(public: &[String], private: &[String]) -> Ad {
        let [a, b, c] = public else { panic!() };
        let mut text = format!("[ A = {a}; B = {b}; I = [ A = 3; c = {c} ]");
        for (name, expr) in ["P", "Q"].iter().zip(private) {
            text += &format!("; {name} = {expr}");
        }
        ad(&(text + " ]"))
    }

    const PUBLIC: &[&str] = &["A", "B", "I", "c", "z"];
    const ALL: &[&str] = &["A", "B", "P", "Q", "I", "P", "Q", "p"];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

        /// What partners read of an ad is what they would read if its private attributes did not exist.
        #[test]
        fn partners_read_an_ad_without_what_is_private(
            public in prop::collection::vec(text(PUBLIC, true), 3),
            private in prop::collection::vec(text(ALL, true), 2),
            reader in prop::collection::vec(text(ALL, true), 5),
            asks in text(ALL, true),
            hides in any::<bool>(),
        ) {
            let (whole, rest) = (with_private(&public, &private), with_private(&public, &[]));
            let hidden = whole.hide(&names(&["p", "Q"]));
            let mut reader = with_private(&reader[..3], &reader[3..]);
            let mut asks = expr(&asks);
            if hides {
                reader = reader.hide(&names(&["P", "Q"]));
                asks = reader.own_expression(&asks);
            }
            prop_assert_eq!(read(&reader, &hidden, &asks), read(&reader, &rest, &asks), "{} reads {}", reader, whole);
        }

        /// The ad's own expressions have the values that they would have if nothing were private.
        #[test]
        fn own_expressions_keep_their_values(
            public in prop::collection::vec(text(ALL, false), 3),
            private in prop::collection::vec(text(ALL, false), 2),
            partner in prop::collection::vec(text(PUBLIC, false), 3),
        ) {
            let plain = with_private(&public, &private);
            let hidden = plain.hide(&names(&["P", "q"]));
            let partner = with_private(&partner, &["1".to_owned(), "2".to_owned()]);
            for name in ["A", "B", "I"] {
                let value = |ad: &Ad| {
                    with_partner(ad, &partner, |env, frame| eval_attribute(env, frame, name, &Context::default()).ok())
                };
                prop_assert_eq!(value(&plain), value(&hidden), "{} of {}", name, plain);
            }
        }
    }
}
