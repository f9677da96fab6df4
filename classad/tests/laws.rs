//! Laws of the language: what is printed reads back, evaluation ends, the logic tables hold cell by cell.

#[cfg(test)]
mod tests {
    use classad::{
        Ad, BUILTINS, Context, Dialect, Env, Exhausted, Expr, Limit, Limits, Value, conjuncts, eval, eval_attribute,
        parse_ad, parse_expr, references,
    };
    use proptest::prelude::*;

    use crate::trees::{literal, tree};

    fn value_in(ad: &str, expr: &str) -> Result<Value, Exhausted> {
        let ad = parse_ad(ad, Dialect::Htcondor).unwrap();
        let expr = parse_expr(expr, Dialect::Htcondor).unwrap();
        let mut env = Env::new();
        let frame = env.frame(&ad, None);
        eval(&expr, &env, frame, &Context::default())
    }

    fn value(expr: &str) -> Value {
        value_in("[]", expr).unwrap()
    }

    fn attribute_of(ad: &str, name: &str) -> Result<Value, Exhausted> {
        let ad = parse_ad(ad, Dialect::Htcondor).unwrap();
        let mut env = Env::new();
        let frame = env.frame(&ad, None);
        eval_attribute(&env, frame, name, &Context::default())
    }

    // ---- printing

    proptest! {
        #[test]
        fn what_is_printed_reads_back(expr in tree()) {
            let text = expr.to_string();
            let again = parse_expr(&text, Dialect::Gangmatch);
            prop_assert_eq!(again.as_ref(), Ok(&expr), "printed as {}", text);
            // In HTCondor's dialect `relTime("1:00")` is another tree, which prints in the same way.
            let again = parse_expr(&text, Dialect::Htcondor).unwrap();
            prop_assert_eq!(&again.to_string(), &text);
            prop_assert_eq!(text.contains("relTime(") || again == expr, true, "printed as {}", text);
            prop_assert_eq!(parse_expr(&again.to_string(), Dialect::Htcondor), Ok(again));
        }

        #[test]
        fn values_read_back(expr in literal()) {
            let again = parse_expr(&expr.to_string(), Dialect::Gangmatch).unwrap();
            prop_assert_eq!(again, expr);
        }

        #[test]
        fn evaluation_of_any_tree_ends(expr in tree()) {
            let ad = Ad::new();
            let mut env = Env::new();
            let frame = env.frame(&ad, None);
            let limits = Limits { fuel: 2000, ..Limits::default() };
            let context = Context { limits, ..Context::default() };
            let first = eval(&expr, &env, frame, &context);
            let second = eval(&expr, &env, frame, &context);
            prop_assert_eq!(format!("{first:?}"), format!("{second:?}"), "the same inputs give the same value");
        }

        #[test]
        fn every_function_takes_anything_and_ends(
            index in 0..BUILTINS.len(), arguments in prop::collection::vec(argument(), 0..5),
        ) {
            let builtin = &BUILTINS[index];
            let text = format!("{}({})", builtin.name, arguments.join(", "));
            // A pattern or a time that is none is refused.
            let Ok(expr) = parse_expr(&text, Dialect::Gangmatch) else { return Ok(()) };
            let ad = parse_ad("[ a = b; b = {1, a, \"s\", [ d = 2 ]}; c = [ d = c.d; e = self ] ]", Dialect::Gangmatch).unwrap();
            let mut env = Env::new();
            let frame = env.frame(&ad, None);
            let limits = Limits { fuel: 20_000, result_bytes: 10_000, ..Limits::default() };
            for dialect in [Dialect::Gangmatch, Dialect::Htcondor] {
                let context = Context { limits, dialect, ..Context::default() };
                let first = eval(&expr, &env, frame, &context);
                prop_assert_eq!(format!("{:?}", eval(&expr, &env, frame, &context)), format!("{first:?}"), "{}", text);
                if !builtin.arity.allows(arguments.len()) {
                    prop_assert_eq!(first, Ok(Value::Error), "{}", text);
                }
            }
        }

        #[test]
        fn token_soup_is_refused_or_evaluated(words in prop::collection::vec(word(), 0..30)) {
            let text = words.join(" ");
            for dialect in [Dialect::Htcondor, Dialect::Gangmatch] {
                match parse_expr(&text, dialect) {
                    Ok(expr) => {
                        let ad = parse_ad("[ a = b; b = {1, a}; c = [ d = c.d; e = self ] ]", dialect).unwrap();
                        let mut env = Env::new();
                        let frame = env.frame(&ad, None);
                        let limits = Limits { fuel: 5000, ..Limits::default() };
                        if let Err(exhausted) = eval(&expr, &env, frame, &Context { limits, ..Context::default() }) {
                            prop_assert!(matches!(exhausted.limit, Limit::Fuel | Limit::ResultDepth));
                        }
                    }
                    Err(diagnostics) => {
                        let first = diagnostics.first().expect("a refusal has a reason");
                        prop_assert!(first.position.line >= 1 && first.position.column >= 1);
                        prop_assert!(first.span.start <= text.len());
                    }
                }
            }
        }

        #[test]
        fn any_text_is_refused_or_read(text in "\\PC{0,60}") {
            for read in [classad::read_ad(&text, Dialect::Gangmatch, classad::Form::Any).into_result(), parse_ad(&text, Dialect::Htcondor)] {
                if let Err(diagnostics) = read {
                    prop_assert!(diagnostics.iter().all(|one| !one.message.is_empty() && !one.message.ends_with('.')));
                    prop_assert!(!diagnostics.is_empty());
                }
            }
        }
    }

    fn argument() -> impl Strategy<Value = String> {
        let plain = prop::sample::select(vec![
            "undefined",
            "error",
            "true",
            "0",
            "-1",
            "2.5",
            "9223372036854775807",
            "-9223372036854775808",
            "1e308",
            "real(\"NaN\")",
            "real(\"-INF\")",
            "\"\"",
            "\"a b,c\"",
            "\"1.5,2\"",
            "\"é\\n\"",
            "\"(a|b)*\"",
            "\"i\"",
            "\"%Y\"",
            "\"A=1;B='\"",
            "absTime(0)",
            "relTime(1e300)",
            "{}",
            "{ 1, \"a\", undefined }",
            "{ { error }, [ x = 1 ] }",
            "[]",
            "a",
            "b",
            "c",
            "self",
            "nosuch",
            "c.e.c",
            "\"a + b\"",
            "\"eval(a)\"",
            "\"<\"",
        ]);
        prop_oneof![4 => plain.prop_map(str::to_owned), 1 => tree().prop_map(|tree| tree.to_string())]
    }

    fn word() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "a",
            "b",
            "c",
            "d",
            "e",
            "1",
            "2.5",
            "-3",
            "\"s\"",
            "'q r'",
            "true",
            "undefined",
            "error",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            ",",
            ";",
            "=",
            "+",
            "-",
            "*",
            "/",
            "%",
            "&&",
            "||",
            "!",
            "~",
            "?",
            ":",
            "?:",
            ".",
            "==",
            "=?=",
            "is",
            "<",
            "<<",
            ">>>",
            "size(",
            "member(",
            "eval(",
            "strcat(",
            "self",
            "regexp(",
            "ifThenElse(",
            "random(",
        ])
    }

    // ---- logic

    const OPERANDS: [&str; 6] = ["false", "true", "undefined", "error", "\"x\"", "{1}"];

    /// `and[left][right]`: f, t, u, e; a string and a list count as error.
    const AND: [&str; 6] = ["ffffff", "ftueee", "fuueee", "eeeeee", "eeeeee", "eeeeee"];
    const OR: [&str; 6] = ["ftueee", "tttttt", "utueee", "eeeeee", "eeeeee", "eeeeee"];

    fn letter(value: &Value) -> char {
        match value {
            Value::Boolean(false) => 'f',
            Value::Boolean(true) => 't',
            Value::Undefined => 'u',
            Value::Error => 'e',
            other => panic!("{other} is no truth"),
        }
    }

    #[test]
    fn conjunction_and_disjunction_cell_by_cell() {
        for (op, table) in [("&&", AND), ("||", OR)] {
            for (left, row) in OPERANDS.iter().zip(table) {
                for (right, want) in OPERANDS.iter().zip(row.chars()) {
                    let expr = format!("{left} {op} {right}");
                    assert_eq!(letter(&value(&expr)), want, "{expr}");
                }
            }
        }
    }

    #[test]
    fn negation_choice_and_identity_cell_by_cell() {
        let not: String = OPERANDS.iter().map(|operand| letter(&value(&format!("!{operand}")))).collect();
        assert_eq!(not, "tfueee");
        let choice: String = OPERANDS.iter().map(|c| letter(&value(&format!("{c} ? true : false")))).collect();
        assert_eq!(choice, "ftueee");
        let elvis: Vec<String> = OPERANDS.iter().map(|a| value(&format!("{a} ?: 7")).to_string()).collect();
        assert_eq!(elvis, ["false", "true", "7", "error", "\"x\"", "{ 1 }"]);
        for (row, left) in OPERANDS.iter().enumerate() {
            for (column, right) in OPERANDS.iter().enumerate() {
                // Two lists cannot be compared at all.
                let want = if row == 5 && column == 5 {
                    'e'
                } else if row == column {
                    't'
                } else {
                    'f'
                };
                assert_eq!(letter(&value(&format!("{left} is {right}"))), want, "{left} is {right}");
            }
        }
    }

    // ---- cycles and limits

    #[test]
    fn circular_references_are_undefined_one_lap_late() {
        assert_eq!(attribute_of("[f = isUndefined(f)]", "f"), Ok(Value::Boolean(false)));
        assert_eq!(attribute_of("[f = f ?: 3]", "f"), Ok(Value::Integer(3)));
        assert_eq!(attribute_of("[x = y || true; y = x || true]", "x"), Ok(Value::Boolean(true)));
        assert_eq!(value_in("[a = b || true; b = a]", "{a, b, a}").unwrap().to_string(), "{ true,true,true }");
    }

    #[test]
    fn doubling_references_cost_one_evaluation_each() {
        let mut ad = String::from("[ ");
        for index in 0..200 {
            ad.push_str(&format!("a{index} = a{0} + a{0}; ", index + 1));
        }
        ad.push_str("a200 = 1 ]");
        // 2^200 wraps to 0.
        assert_eq!(attribute_of(&ad, "a0"), Ok(Value::Integer(0)));
    }

    #[test]
    fn running_out_is_no_value_and_cannot_be_caught() {
        let sum = vec!["1"; 402].join(" + ");
        for expr in
            [sum.clone(), format!("isError({sum})"), format!("({sum}) is error"), format!("false || ({sum}) > 0")]
        {
            assert_eq!(value_in("[]", &expr).map_err(|exhausted| exhausted.limit), Err(Limit::Depth), "{expr}");
        }
        assert_eq!(value_in("[]", &vec!["1"; 401].join(" + ")), Ok(Value::Integer(401)));
        let fuel = value_in(
            "[ l = {0,0,0,0,0,0,0,0,0,0}; f = sum(l) ]",
            "evalInEachContext(eval(\"evalInEachContext(l, m)\"), m)",
        );
        assert!(fuel.is_ok());
        let doubling = (0..40).map(|index| format!("a{index} = strcat(a{0}, a{0}); ", index + 1)).collect::<String>();
        let size = attribute_of(&format!("[ {doubling} a40 = \"x\" ]"), "a0");
        assert_eq!(size.map_err(|exhausted| exhausted.limit), Err(Limit::ResultBytes));
        let depth = attribute_of("[ x = [ y = x ] ]", "x");
        assert_eq!(depth.map_err(|exhausted| exhausted.limit), Err(Limit::ResultDepth));
        let again = attribute_of("[ s = \"eval(s)\"; r = eval(s) ]", "r");
        assert_eq!(again.map_err(|exhausted| exhausted.limit), Err(Limit::Depth));
        let within = attribute_of("[ x = { x, x }; r = size(x.a) ]", "r");
        assert!(within.is_err(), "{within:?}");
        let list = "a,".repeat(20_000);
        let product = attribute_of(&format!("[ l = \"{list}\"; r = stringListsIntersect(toUpper(l), l) ]"), "r");
        assert_eq!(product.map_err(|exhausted| exhausted.limit), Err(Limit::Fuel));
        let wide = attribute_of("[ x = { x, x } ]", "x");
        assert!(wide.is_err(), "{wide:?}");
    }

    // ---- hostile texts

    /// Reading, printing, comparing, taking apart and dropping need no stack; evaluation is bounded.
    fn survives(text: &str) -> Option<Expr> {
        let expr = parse_expr(text, Dialect::Htcondor).ok()?;
        assert_eq!(expr, parse_expr(&expr.to_string(), Dialect::Htcondor).unwrap());
        assert!(!expr.canonical().is_empty());
        assert!(references(&expr).len() <= 2);
        let ad = Ad::new();
        let mut env = Env::new();
        let frame = env.frame(&ad, None);
        let context = Context::default();
        assert_eq!(
            format!("{:?}", eval(&expr, &env, frame, &context)),
            format!("{:?}", eval(&expr, &env, frame, &context))
        );
        Some(expr)
    }

    #[test]
    fn long_chains_are_read_and_dropped() {
        for (piece, between) in [("a", " + "), ("a", "."), ("a", " && "), ("1", ","), ("a", " < ")] {
            let text = format!("{{{}}}", vec![piece; 100_000].join(between));
            assert!(survives(&text).is_some(), "{piece}{between}");
        }
        assert!(survives(&format!("a{}", "[0]".repeat(100_000))).is_some());
        let expr = parse_expr(&vec!["a"; 100_000].join(" && "), Dialect::Htcondor).unwrap();
        assert_eq!(conjuncts(&expr).len(), 100_000);
    }

    #[test]
    fn deep_nesting_is_refused_where_the_reference_refuses_it() {
        let nested = |open: &str, close: &str, count: usize| format!("{}a{}", open.repeat(count), close.repeat(count));
        for (open, close, most) in [("(", ")", 165), ("{", "}", 165), ("-", "", 497), ("a?b:", "", 497)] {
            assert!(survives(&nested(open, close, most)).is_some(), "{open} {most}");
            assert!(survives(&nested(open, close, most + 1)).is_none(), "{open} {}", most + 1);
        }
        for open in ["(", "{", "[", "[a=", "f(", "-", "!", "a?", "a?b:", "a?:", "a[", "'", "/*", "\"\\", "absTime("] {
            assert!(parse_expr(&open.repeat(100_000), Dialect::Gangmatch).is_err(), "{open}");
        }
    }

    #[test]
    fn the_dialect_decides_what_eval_reads_where_shifts_end_and_what_a_literal_is() {
        for (text, htcondor, gangmatch) in [
            ("1 << 64", "1", "error"),
            ("1 << -1", "-9223372036854775808", "error"),
            ("-8 >> 65", "-4", "error"),
            ("1 >>> 64", "1", "error"),
            ("1 << 63", "-9223372036854775808", "-9223372036854775808"),
            ("undefined << 64", "undefined", "undefined"),
            ("eval(\"28Ki\")", "error", "28672"),
            ("eval(\"'0:15'\")", "undefined", "error"),
            ("relTime(\"1:00\")", "60.0", "relTime(\"01:00\")"),
            ("isReal(relTime(\"1:00\"))", "true", "false"),
            ("eval(\"relTime(\\\"1:00\\\")\")", "60.0", "relTime(\"01:00\")"),
            ("relTime(60)", "relTime(\"01:00\")", "relTime(\"01:00\")"),
            ("absTime(0) + relTime(\"1:00\")", "error", "absTime(\"1970-01-01T00:01:00-00:00\")"),
        ] {
            for (dialect, want) in [(Dialect::Htcondor, htcondor), (Dialect::Gangmatch, gangmatch)] {
                let expr = parse_expr(text, dialect).unwrap();
                let (ad, mut env) = (Ad::new(), Env::new());
                let frame = env.frame(&ad, None);
                let got = eval(&expr, &env, frame, &Context { dialect, ..Context::default() }).unwrap().to_string();
                assert_eq!(got, want, "{text} in {dialect:?}");
            }
        }
        let time = parse_expr("{ reltime(\"60.1234567\") }", Dialect::Htcondor).unwrap();
        assert_eq!(time.canonical(), "{ relTime(\"01:0.12346\") }");
        assert_eq!(parse_expr(&time.to_string(), Dialect::Htcondor), Ok(time));
    }

    /// The engine that goes back ends as well, and takes what the other refuses; elsewhere it is not asked.
    #[cfg(feature = "pcre")]
    #[test]
    fn backtracking_ends_and_is_used_in_the_dialect_of_htcondor_only() {
        let long = "a".repeat(5000);
        let nested = format!("{}b", "(a*)*".repeat(20));
        for (text, htcondor, gangmatch) in [
            ("regexp(\"a(?!b)\", \"abac\")".to_owned(), "true", "error"),
            ("regexp(\"(a|b)\\\\1\", \"abba\")".to_owned(), "true", "error"),
            ("regexp(\"a++b\", \"aab\")".to_owned(), "true", "error"),
            ("replace(\"(?<=a)b\", \"abb\", \"x\")".to_owned(), "\"axb\"", "error"),
            (format!("regexp(\"(a*)*b\", \"{long}\")"), "false", "false"),
            (format!("regexp(\"{nested}\", \"{long}\")"), "false", "false"),
            (format!("regexp(\"(?:(?=(a+))(?:a|aa))+b\", \"{long}\")"), "false", "error"),
            (format!("regexp(\"(a+)+\\\\1b\", \"{long}\")"), "false", "error"),
            ("regexp(\"(?:a{1000}){1000}\", \"a\")".to_owned(), "error", "error"),
            (format!("regexp(\"{}\", \"a\")", "a".repeat(2000)), "error", "error"),
        ] {
            for (dialect, want) in [(Dialect::Htcondor, htcondor), (Dialect::Gangmatch, gangmatch)] {
                let expr = parse_expr(&text, Dialect::Htcondor).unwrap();
                let (ad, mut env) = (Ad::new(), Env::new());
                let frame = env.frame(&ad, None);
                // Twice with one tree: a pattern that is kept is kept for its engine.
                for _ in 0..2 {
                    let got = eval(&expr, &env, frame, &Context { dialect, ..Context::default() }).unwrap().to_string();
                    assert_eq!(got, want, "{text:.60} in {dialect:?}");
                }
            }
        }
    }

    #[test]
    fn patterns_cannot_explode() {
        assert_eq!(value(&format!("regexp(\"{}\", \"{}\")", "(a*)*b", "a".repeat(5000))), Value::Boolean(false));
        assert_eq!(value("regexp(\"(?:a{1000}){1000}\", \"a\")"), Value::Error);
        assert_eq!(value("regexp(\"a++b\", \"aab\")"), Value::Error);
        assert_eq!(value(&format!("regexp(\"{}\", \"a\")", "a".repeat(2000))), Value::Error);
    }

    #[test]
    fn the_end_matches_before_a_last_newline() {
        for (pattern, text, options, want) in [
            ("c$", "c\\n", "", true),
            ("c$", "c", "", true),
            ("c$", "c\\n\\n", "", false),
            ("^(a|c)$", "c\\n", "", true),
            ("(a$|b)", "a\\n", "", true),
            ("(a$|b)c", "a\\n", "", false),
            ("(a|b$)", "b\\n", "", true),
            ("a$|b", "xa\\n", "i", true),
            ("^$", "\\n", "", true),
            ("a$\\n", "a\\n", "m", true),
            ("a$", "a\\nb", "m", true),
            ("a$", "a\\nb", "", false),
            ("a\\\\$", "a$", "", true),
            ("[$]", "$", "", true),
        ] {
            let call = format!("regexp(\"{pattern}\", \"{text}\", \"{options}\")");
            assert_eq!(value(&call), Value::Boolean(want), "{call}");
        }
    }

    #[test]
    fn extremes_of_arithmetic_do_not_panic() {
        let min = "-9223372036854775808";
        assert_eq!(value(&format!("{min} / -1")), Value::Integer(i64::MAX));
        assert_eq!(value(&format!("{min} % -1")), Value::Integer(0));
        assert_eq!(value(&format!("-({min})")), Value::Integer(i64::MIN));
        assert_eq!(value(&format!("quantize({min}, -1)")), Value::Integer(i64::MAX - 1));
        assert_eq!(value(&format!("substr(\"abc\", {min}, {min})")), Value::from(""));
        assert_eq!(value(&format!("interval({min})")), Value::from("-106751991167300+15:30:08"));
        for function in ["getYear", "splitTime", "formatTime", "string", "getDayOfWeek"] {
            for seconds in ["9223372036854775807", min] {
                assert_ne!(
                    value(&format!("{function}(absTime({seconds}, 3600))")),
                    Value::Undefined,
                    "{function}({seconds})"
                );
            }
        }
    }
}
