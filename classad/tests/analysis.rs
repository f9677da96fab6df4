//! What is said about conditions: contradictions with both places, impossible comparisons, names misspelt; and that it is true.

#[cfg(test)]
mod tests {
    use classad::{
        Ad, Context, Dialect, Env, Name, Never, depth, eval, lint, lint_ad, never_true, parse_ad, parse_expr, read_ad,
    };
    use proptest::prelude::*;
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, TestRunner};

    fn known() -> Vec<Name> {
        ["Memory", "Arch", "OpSys", "Cpus", "Owner", "ImageSize"].map(Name::from).to_vec()
    }

    /// The remarks on a condition, one a line.
    fn said(text: &str) -> String {
        let expr = parse_expr(text, Dialect::Htcondor).unwrap();
        lint(&expr, text, &known()).iter().map(|one| format!("{}: {one}", one.code)).collect::<Vec<_>>().join("\n")
    }

    fn never(text: &str) -> bool {
        never_true(&parse_expr(text, Dialect::Htcondor).unwrap()).is_some()
    }

    #[test]
    fn contradictions_name_both_places() {
        assert_eq!(
            said("Memory > 5 && Cpus > 1 &&\n  memory < 3"),
            "contradiction: line 2, column 3: `memory < 3` is never true where `Memory > 5` of line 1, column 1 is, and \
             both must be; write `||` if either may hold, or change one of the two"
        );
        let text = "other.Arch == \"a\" && other.Arch == \"B\"";
        let found = lint(&parse_expr(text, Dialect::Gangmatch).unwrap(), text, &[]);
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((one.span.start, one.related.as_ref().map(|other| other.span.start)), (21, Some(0)));
    }

    #[test]
    fn what_never_holds_is_seen() {
        for text in [
            "x > 5 && x < 3",
            "5 < x && 3 > x",
            "x > 5 && x <= 5",
            "x == 5 && x != 5",
            "Arch == \"a\" && y && Arch == \"b\"",
            "Arch == \"a\" && Arch > 5",
            "x == \"a\" && x is \"b\"",
            "x is undefined && x == 5",
            "isUndefined(x) && x > 0",
            "x && !x",
            "!(x > 5) && x > 6",
            "(x == 1 || x == 2) && x == 3",
            "member(x, {1, 2}) && x > 2",
            "x >= 1 && (y && x < 1)",
            "x >= 1 && x <= 1 && x != 1",
            "x == undefined",
            "x < {1}",
            "x is {}",
            "false",
            "\"text\"",
            "1 > 2 && x",
            "x && strcat(\"a\") == \"b\"",
            "(x > 5 && x < 3) || y == error",
            "c ? false : x == undefined",
            "true ? x == undefined : y",
            "t < relTime(\"5\") && t > relTime(\"6\")",
            "t < relTime(\"5\") && t > 6",
            "unknownfunction(x) && false",
        ] {
            assert!(never(text), "{text}");
        }
    }

    #[test]
    fn what_may_hold_is_left_alone() {
        for text in [
            "x > 3 && x < 5",
            "x == 5 && x == 5.0",
            "x == 1 && x == true",
            "x == \"a\" && x == \"A\"",
            "x == \"a\" && y == \"b\"",
            "a.x > 5 && b.x < 3",
            ".x > 5 && x < 3",
            "random(10) > 5 && random(10) < 3",
            "x[0] > 5 && x[0] < 3",
            "x != 5 && x != 6",
            "x > 9007199254740992 && x <= 9007199254740992.0",
            "x isnt undefined",
            "time() > 5",
            "x > 5 || x < 3",
            "true",
            "1",
            "eval(\"true\")",
            "!(x is {1})",
            "!(x > 5) && x != x",
        ] {
            assert!(!never(text), "{text}");
        }
    }

    #[test]
    fn the_reasons_are_told_apart() {
        let reason = |text: &str| never_true(&parse_expr(text, Dialect::Gangmatch).unwrap());
        assert!(
            matches!(reason("x && 1 > 2"), Some(Never::Constant { condition, .. }) if condition.to_string() == "1 > 2")
        );
        assert!(matches!(reason("x == undefined"), Some(Never::Impossible { .. })));
        assert!(matches!(reason("false || x == undefined"), Some(Never::Alternatives { .. })));
    }

    #[test]
    fn remarks_on_single_conditions() {
        for (text, want) in [
            (
                "other.Memroy > 1",
                "unknown-name: line 1, column 7: no attribute `Memroy` is known; did you mean `Memory`?",
            ),
            (
                "Opsys == \"LINUX\" && Acrh == \"X\"",
                "unknown-name: line 1, column 21: no attribute `Acrh` is known; did you mean `Arch`?",
            ),
            ("Price > 1", ""),
            (
                "Memory == undefined",
                "impossible-comparison: line 1, column 1: comparing with `undefined` is never true; write `Memory is undefined`",
            ),
            (
                "Owner == {\"ann\"}",
                "impossible-comparison: line 1, column 1: comparing with a list is never true; write `member(Owner, {...})`",
            ),
            ("false", "never-true: line 1, column 1: condition is always false: nothing matches"),
            (
                "Memory > 1 && 1 > 2",
                "never-true: line 1, column 15: `1 > 2` is always false, so the condition is never true",
            ),
            ("Memory > 1 && 1 < 2", "always-true: line 1, column 15: `1 < 2` is always true; remove it"),
            (
                "false || Cpus == error",
                "impossible-comparison: line 1, column 10: comparing with `error` is never true; write `Cpus is error`\nnever-true: line 1, column 1: no alternative of this condition is ever true",
            ),
            (
                "regexp(\"a(?=b)\", Arch)",
                "unsupported-regex: line 1, column 10: `(?=` is look-ahead, which is not supported; write what must follow or precede into the pattern itself, without the group",
            ),
            (
                "regexp(\"([ab])\\\\1\", Arch)",
                "unsupported-regex: line 1, column 8: `\\1` is a back-reference, which is not supported; write the alternatives out: `(aa|bb)` instead of `([ab])\\1`",
            ),
            (
                "regexp(\"a++b\", Arch)",
                "unsupported-regex: line 1, column 11: `+` is a possessive quantifier, which is not supported; leave out the second `+`",
            ),
            (
                "regexp(\"(?>a)b\", Arch)",
                "unsupported-regex: line 1, column 9: `(?>` is an atomic group, which is not supported; write `(?:...)`: matching takes linear time without it",
            ),
            (
                "regexp(\"a(b\", Arch)",
                "bad-regex: line 1, column 9: `a(b` is not a supported pattern; check its brackets and escapes; a pattern has at most 1024 bytes",
            ),
            (
                "replace(\"a$\", Arch, \"b\") == \"c\"",
                "regex-end: line 1, column 11: `a$` matches at the very end only, not before a last newline as in HTCondor; write `\\\\n?$` if the text may end with a newline",
            ),
            ("regexp(\"^(INTEL|X86_64)$\", Arch, \"i\")", ""),
            ("true", ""),
        ] {
            let mut lines: Vec<_> = want.lines().collect();
            let said = said(text);
            let mut got: Vec<_> = said.lines().collect();
            lines.sort_unstable();
            got.sort_unstable();
            assert_eq!(got, lines, "{text}");
        }
        assert!(said(&vec!["Cpus > 1"; 500].join(" && ")).starts_with("too-deep: "));
    }

    #[test]
    fn an_ad_is_looked_through() {
        let text = "[ Type = \"Job\"; Size = 2;\n  Requirements = other.Memory > 5 && other.Memory < Size - Size;\n  \
                    Ports = { [ Label = cpu; Constraint = cpu.Arch == \"a\" && cpu.Arch == \"b\" ],\n            \
                    [ Label = lic; Constraint = lic.Host == cpu.Nmae && Sise > 1 ] };\n  Hold = false ]";
        let ad = read_ad(text, Dialect::Gangmatch, classad::Form::Brackets).read.unwrap();
        let found: Vec<String> = lint_ad(&ad, text, &known())
            .iter()
            .map(|one| format!("{} {}", one.code, one.span.position(text).line))
            .collect();
        assert_eq!(found, ["contradiction 3", "unknown-name 4"]);
    }

    #[test]
    fn the_depth_is_that_of_open_operators() {
        let of = |text: &str| depth(&parse_expr(text, Dialect::Gangmatch).unwrap());
        assert_eq!([of("1"), of("1 + 2 * x"), of("(((x)))")], [0, 3, 1]);
        assert_eq!(of(&vec!["1"; 402].join(" + ")), 401);
    }

    // ---- soundness

    fn subject() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec!["x", "y", "other.x", "X", ".x", "z.x"])
    }

    fn literal() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "0",
            "1",
            "2",
            "-1",
            "0.5",
            "1.0",
            "true",
            "false",
            "\"a\"",
            "\"A\"",
            "\"b\"",
            "\"\"",
            "undefined",
            "error",
            "{1}",
            "[a=1]",
            "relTime(\"1\")",
            "relTime(\"2\")",
            "absTime(\"2004-01-01T00:00:00Z\")",
            "real(\"NaN\")",
            "real(\"INF\")",
            "9007199254740992",
            "9007199254740993",
            "9007199254740992.0",
            "1 + 1",
        ])
    }

    fn condition() -> impl Strategy<Value = String> {
        let op = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">=", "is", "isnt"]);
        let leaf = prop_oneof![
            6 => (subject(), op.clone(), literal()).prop_map(|(x, op, v)| format!("{x} {op} {v}")),
            2 => (literal(), op.clone(), subject()).prop_map(|(v, op, x)| format!("{v} {op} {x}")),
            1 => subject().prop_map(str::to_owned),
            1 => (subject(), op, subject()).prop_map(|(v, op, x)| format!("{v} {op} {x}")),
            1 => (subject(), literal(), literal()).prop_map(|(x, a, b)| format!("member({x}, {{{a}, {b}}})")),
            1 => (prop::sample::select(vec!["isUndefined", "isError", "isString", "isReal", "isInteger", "isList", "size"]), subject())
                .prop_map(|(f, x)| format!("{f}({x})")),
            1 => literal().prop_map(str::to_owned),
        ];
        leaf.prop_recursive(3, 12, 2, |inner| {
            prop_oneof![
                4 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) && ({b})")),
                2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) || ({b})")),
                1 => inner.clone().prop_map(|a| format!("!({a})")),
                1 => (inner.clone(), inner.clone(), inner).prop_map(|(c, a, b)| format!("({c}) ? ({a}) : ({b})")),
            ]
        })
    }

    fn random_ads(count: usize) -> Vec<Ad> {
        let mut runner = TestRunner::deterministic();
        let attribute = || (literal(), any::<bool>());
        let both = (attribute(), attribute(), attribute());
        (0..count)
            .map(|_| {
                let ((x, has_x), (y, has_y), (z, has_z)) = both.new_tree(&mut runner).unwrap().current();
                let mut text = String::from("[ ");
                for (name, value, has) in [("x", x, has_x), ("y", y, has_y), ("w", z, has_z)] {
                    if has {
                        text.push_str(&format!("{name} = {value}; "));
                    }
                }
                text.push_str(&format!("z = [ x = {z} ]; other = [ x = {y} ]; ]"));
                parse_ad(&text, Dialect::Htcondor).unwrap()
            })
            .collect()
    }

    /// What is said to be never true is true in none of 1,000 ads.
    #[test]
    fn never_means_never() {
        let ads = random_ads(1000);
        let mut runner = TestRunner::new_with_rng(
            Config::default(),
            proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
        );
        let strategy = condition();
        let (mut proved, mut tried) = (0, 0);
        for _ in 0..4000 {
            let text = strategy.new_tree(&mut runner).unwrap().current();
            let expr = parse_expr(&text, Dialect::Htcondor).unwrap();
            tried += 1;
            if never_true(&expr).is_none() {
                continue;
            }
            proved += 1;
            for ad in &ads {
                let mut env = Env::new();
                let frame = env.frame(ad, None);
                let value = eval(&expr, &env, frame, &Context::default());
                assert!(!value.as_ref().is_ok_and(classad::Value::is_true), "{text} is {value:?} in {ad}");
            }
        }
        assert!(proved > 400, "only {proved} of {tried} conditions were proved never true");
    }
}
