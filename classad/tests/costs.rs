//! What is costly runs out, and costs no more than was paid for: hostile ads, each named after what it tries.

#[cfg(test)]
mod tests {
    use classad::{
        Bill, Context, Dialect, Env, Exhausted, Limit, Limits, Name, Value, conjuncts, constant, eval_billed, format,
        lint, lint_ad, never_true, parse_ad, parse_expr, read_ad, read_ads, read_expr, references, write_ads,
    };

    /// The value of an expression in an ad, and the steps that it took.
    fn counted(ad: &str, expr: &str) -> (Result<Value, Limit>, u64) {
        let ad = parse_ad(ad, Dialect::Gangmatch).unwrap();
        let expr = parse_expr(expr, Dialect::Gangmatch).unwrap();
        let (mut env, mut bill) = (Env::new(), Bill::default());
        let frame = env.frame(&ad, None);
        let value = eval_billed(&expr, &env, frame, &Context::default(), &mut bill);
        let used = bill.drain().map(|(_, fuel)| fuel).sum();
        (value.map_err(|Exhausted { limit, .. }| limit), used)
    }

    fn runs_out(ad: &str, expr: &str, limit: Limit) {
        let (value, used) = counted(ad, expr);
        assert_eq!(value.map(|value| value.kind()), Err(limit), "{expr} after {used} steps");
    }

    /// `s0 = 1; s1 = {s0, s0, s0, s0}; ...`
    fn shared(levels: usize) -> String {
        (1..=levels).map(|level| format!("s{level} = {{s{0}, s{0}, s{0}, s{0}}}; ", level - 1)).collect()
    }

    /// The same as lists that were made: `y1 = { y0, y0, y0, y0 }`.
    fn made(levels: usize) -> String {
        let level = |level| format!("y{level} = evalInEachContext(y{} ?: 0, four); ", level - 1);
        (1..=levels).map(level).collect()
    }

    fn ad(attributes: &str) -> String {
        format!("[ s0 = 1; y0 = 1; four = {{ [], [], [], [] }}; {attributes} ]")
    }

    #[test]
    fn b4_a_list_of_lists_is_as_large_as_it_is_looked_at() {
        let deep = ad(&shared(39));
        let (value, used) = counted(&deep, "size(s39) > 3");
        assert_eq!(value, Ok(Value::Boolean(true)));
        assert!(used < 50, "{used} steps for a list that is not looked into");
        runs_out(&deep, "s39", Limit::ResultDepth);
        for expr in ["s39 == s39", "s39 =?= s39", "sum(s39)", "anyCompare(\"<\", s39, 1)", "member(1, s39)", "max(s39)"]
        {
            let (value, used) = counted(&deep, expr);
            assert!(value.is_ok() && used < 200, "{expr}: {value:?} after {used}");
        }
        // As written, an element is a name: short, however large it is.
        assert_eq!(counted(&deep, "unparse(s39)").0, Ok(Value::from("{ s38,s38,s38,s38 }")));
        for level in [9, 12, 20, 31] {
            runs_out(&ad(&shared(level)), &format!("s{level}"), Limit::ResultElements);
        }
        assert!(counted(&ad(&shared(7)), "s7").0.is_ok(), "21844 elements are not too many");
    }

    #[test]
    fn b4_with_lists_that_were_made() {
        let deep = ad(&made(31));
        assert!(counted(&deep, "size(y31)").0.is_ok());
        for expr in ["string(y31)", "strcat(y31)", "join(\",\", y31, y31)", "y31.a", "y31"] {
            let (value, used) = counted(&deep, expr);
            assert!(value.is_err(), "{expr}: after {used}");
        }
        runs_out(&ad(&made(60)), "size(y60)", Limit::ResultDepth);
        // However many of them there are, each made of the one before, nobody needs the stack to drop them.
        let names: Vec<String> = (1..=5000).map(|level| format!("y{level}")).collect();
        runs_out(&ad(&made(5000)), &format!("member(7, {{ {} }})", names.join(",")), Limit::ResultDepth);
    }

    #[test]
    fn b4_with_ads() {
        let level = |level: usize| format!("s{level} = [ a = s{0}; b = s{0}; c = s{0}; d = s{0} ]; ", level - 1);
        let deep = ad(&(1..=30).map(level).collect::<String>());
        assert!(counted(&deep, "size(s30)").0.is_ok());
        runs_out(&deep, "s30", Limit::ResultElements);
        let (_, used) = counted(&deep, "s30.a.b.c.d.a.b is error");
        assert!(used < 100, "{used}");
    }

    #[test]
    fn b4_through_a_port_and_through_the_ad_around() {
        let deep = ad(&format!("{} inner = [ x = parent.s20; y = x ]", shared(20)));
        runs_out(&deep, "inner", Limit::ResultElements);
        runs_out(&deep, "inner.y", Limit::ResultElements);
        assert_eq!(counted(&deep, "size(inner.y)").0, Ok(Value::Integer(4)));
        let partner = parse_ad(&deep, Dialect::Gangmatch).unwrap();
        let mine = parse_ad("[ x = cpu.s20 ]", Dialect::Gangmatch).unwrap();
        let expr = parse_expr("{ x, cpu.inner.y }", Dialect::Gangmatch).unwrap();
        let mut env = Env::new();
        let (own, other) = (env.frame(&mine, None), env.frame(&partner, None));
        env.bind(own, &Name::new("cpu"), other);
        let value = eval_billed(&expr, &env, own, &Context::default(), &mut Bill::default());
        assert_eq!(value.map_err(|exhausted| exhausted.limit).map(|value| value.kind()), Err(Limit::ResultElements));
    }

    #[test]
    fn b5_sixteen_million_leaves() {
        let level = |level: usize| format!("s{level} = {{s{0}, s{0}}}; ", level - 1);
        let deep = ad(&(1..=24).map(level).collect::<String>());
        assert!(counted(&deep, "size(s24) > 1").1 < 50);
        runs_out(&deep, "s24", Limit::ResultElements);
    }

    #[test]
    fn b6_a_list_for_each_element_of_a_list() {
        let elements = vec!["[ a = 5 ]"; 800].join(", ");
        let deep = ad(&format!("L = {{ {elements} }}"));
        for expr in [
            "size(evalInEachContext(countMatches(a > 3, L), L)) > 0",
            "countMatches(countMatches(a > 3, L) > 5, L)",
            "evalInEachContext(evalInEachContext(evalInEachContext(a, L), L), L)",
            "sum(evalInEachContext(sum(L.a), L))",
        ] {
            assert!(matches!(counted(&deep, expr).0, Err(Limit::Fuel | Limit::Memory)), "{expr}");
        }
        assert_eq!(counted(&deep, "countMatches(a > 3, L)").0, Ok(Value::Integer(800)));
    }

    #[test]
    fn b8_doubling_texts() {
        let level = |level: usize| format!("s{level} = strcat(s{0}, s{0}); ", level - 1);
        let deep = ad(&(1..=59).map(level).collect::<String>());
        let (value, used) = counted(&deep, "size(s59)");
        assert_eq!(value, Err(Limit::ResultBytes));
        assert!(used < 500_000, "{used}");
        // Each short enough, together too many.
        let texts: Vec<String> = (0..4).map(|number| format!("strcat(s18, {number})")).collect();
        let (value, _) = counted(&deep, &format!("member(\"x\", {{ {} }})", texts.join(", ")));
        assert!(value.is_ok(), "{value:?}");
        let texts: Vec<String> = (0..80).map(|number| format!("strcat(s18, {number})")).collect();
        let (value, _) = counted(&deep, &format!("member(\"x\", {{ {} }})", texts.join(", ")));
        assert!(matches!(value, Err(Limit::Fuel | Limit::Memory)), "{value:?}");
    }

    #[test]
    fn b8_texts_from_short_templates() {
        let long =
            ad("s = replaceAll(\"a\", \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\", \"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\"); \
                       t = strcat(s, s, s, s, s, s, s, s); u = strcat(t, t, t, t, t, t, t, t); \
                       groups = replaceAll(\"b\", u, \"\\\\0\\\\0\\\\0\\\\0\\\\0\\\\0\\\\0\\\\0\\\\0\\\\0\")");
        assert!(counted(&long, "size(u)").0.is_ok());
        // One match of everything, and a template that asks for it thousands of times.
        let many = "\\\\0".repeat(5_000);
        runs_out(&long, &format!("replace(\"b+\", u, \"{many}\")"), Limit::ResultBytes);
        let dates = "%c".repeat(100_000);
        for expr in [format!("formatTime(0, \"{dates}\")"), format!("size(formatTime(0, strcat(\"{dates}\", u)))")] {
            assert!(counted(&long, &expr).0.is_err());
        }
    }

    #[test]
    fn b9_references_of_numbers_cost_one_evaluation_each() {
        let level = |level: usize| format!("s{level} = s{0} + s{0}; ", level - 1);
        let (value, used) = counted(&ad(&(1..=60).map(level).collect::<String>()), "s60");
        assert_eq!(value, Ok(Value::Integer(1 << 60)));
        assert!(used < 1_000, "{used}");
    }

    #[test]
    fn b11_patterns_are_paid_for_by_their_states() {
        let text = "x".repeat(20_000);
        let long = ad(&format!("t = \"{text}\""));
        for pattern in ["(x{20}){25}y", "(x+x+)+y.{900}", "(.*x){30}y", "[^y]{999}z"] {
            runs_out(&long, &format!("regexp(\"{pattern}\", t)"), Limit::Fuel);
        }
        // Compiling is work, too, even if the text is empty.
        let (_, used) = counted("[]", "regexp(\"((x{50}){20}){5}y\", \"\")");
        assert!(used > 10_000, "{used}");
        let each = "evalInEachContext(regexp(strcat(\"x{900}\", a), \"\"), L)";
        let elements = (0..2000).map(|number| format!("[ a = {number} ]")).collect::<Vec<_>>().join(", ");
        runs_out(&ad(&format!("L = {{ {elements} }}")), each, Limit::Fuel);
        // Each search goes to the end before it finds one letter.
        runs_out(&long, "replaceAll(\".*[^x]|x\", t, \"z\")", Limit::Fuel);
        assert_eq!(counted(&long, "regexp(\"^x+$\", substr(t, 0, 100))").0, Ok(Value::Boolean(true)));
    }

    #[test]
    fn b11_classes_of_a_million_characters_are_paid_for_before_they_are_read() {
        for class in [r"[\\p{any}]", r"[\\P{L}]", r"[\\W]", r"[!-\\x{10FFFF}]", "[[:^alpha:]]", r"(?:[^x\\D])"] {
            let pattern = class.repeat(1000 / class.len());
            for (inline, option) in [("(?i)", ""), ("(?i:x)", ""), ("", "i")] {
                let call = format!("regexp(\"{inline}{pattern}\", s0, \"{option}\")");
                runs_out("[ s0 = \"\" ]", &call, Limit::Fuel);
                // A text is read without it: nothing is said of it then.
                let written = format!("[ Requirements = {} ]", vec![call; 20].join(" && "));
                let read = parse_ad(&written, Dialect::Gangmatch).unwrap();
                assert!(lint_ad(&read, &written, &[]).iter().all(|found| found.code != "bad-regex"));
            }
        }
        let (value, used) = counted("[]", r#"regexp("(?i)^[^a-z_]+[[:digit:]x-z]*$", "77X")"#);
        assert!(value == Ok(Value::Boolean(true)) && used < 6_000, "{value:?} after {used}");
    }

    #[test]
    fn texts_are_paid_for_where_they_are_read() {
        let text = "ab,".repeat(100_000);
        let long = ad(&format!("t = \"{text}\"; u = strcat(t, \"\"); d = strcat(\",\", substr(t, 0, 10000))"));
        let (value, used) = counted(&long, "t == u");
        assert_eq!(value, Ok(Value::Boolean(true)));
        assert!(used > 15_000, "{used}");
        for (expr, least) in [
            ("stringListSize(t)", 70_000),
            ("stringListMember(\"zz\", t)", 70_000),
            ("int(t)", 15_000),
            ("toUpper(t) == t", 20_000),
            ("versionLE(t, u)", 15_000),
            ("strcmp(t, u)", 15_000),
            ("identicalMember(t, {u})", 15_000),
        ] {
            let (_, used) = counted(&long, expr);
            assert!(used >= least, "{expr}: {used}");
        }
        for expr in ["split(t, d)", "stringListSize(t, d)", "stringListSubsetMatch(t, u)"] {
            assert!(counted(&long, expr).0.is_err(), "{expr}");
        }
        for expr in ["eval(t)", "argsToList(strcat(t, t))"] {
            assert!(counted(&long, expr).0.is_err(), "{expr}");
        }
    }

    /// Found by measuring time for each unit of fuel.
    #[test]
    fn short_patterns_take_as_long_to_compile_as_they_are_charged_for() {
        let elements = (0..1000).map(|number| format!("[ a = {number} ]")).collect::<Vec<_>>().join(", ");
        let many = ad(&format!("L = {{ {elements} }}"));
        for pattern in ["(x)(x)(x)(x)(x)y", "a|b|c|d|e|f|g|h", "abcdefghijklmnop", ".*y"] {
            runs_out(&many, &format!("countMatches(regexp(strcat(\"{pattern}\", a), \"x\", \"i\"), L)"), Limit::Fuel);
        }
    }

    #[test]
    fn what_was_printed_in_vain_is_paid_for() {
        let reals = ad(&format!("L = {{ {} }}", vec!["1.5e-300"; 60_000].join(", ")));
        let (value, used) = counted(&reals, "string(L)");
        assert_eq!(value, Err(Limit::ResultBytes));
        assert!(used > 500_000, "{used}");
    }

    /// A pattern is read before it is known to be too large.
    #[test]
    fn who_runs_out_has_used_up_everything() {
        let (value, used) = counted("[]", "regexp(strcat(\"(x{100}){150\", \"}\"), \"\")");
        assert_eq!((value, used), (Err(Limit::Fuel), Limits::default().fuel));
    }

    #[test]
    fn the_way_to_the_outermost_ad_is_paid_for() {
        let deep = |name: &str| format!("{}{name}{}", "[ a = ".repeat(150), " ].a".repeat(150));
        let (_, once) = counted("[]", &deep("{ root is 1 }"));
        for way in ["root is 1", ".x is 1", "random() is 1", "unparse(.x) is 1", "countMatches(.x, {}) is 1"] {
            let (_, used) = counted("[]", &deep(&format!("sum({{ {} }})", vec![way; 100].join(","))));
            assert!(way.starts_with("unparse") || used > once + 10_000, "{way}: {used}, {once} for one");
        }
    }

    #[test]
    fn a_list_of_very_many_texts_is_refused_before_it_is_made() {
        let long = ad(&format!("t = \"{}\"", "a,".repeat(500_000)));
        runs_out(&long, "split(t)", Limit::Memory);
        assert!(counted(&long, "split(t)").1 < 400_000, "no element was made");
    }

    #[test]
    fn long_names_and_many_parentheses_are_no_single_step() {
        let name = "n".repeat(50_000);
        let (value, used) = counted(&format!("[ '{name}' = 1 ]"), &format!("{name} + {name}"));
        assert_eq!(value, Ok(Value::Integer(2)));
        assert!(used > 5_000, "{used}");
        let (_, used) = counted("[]", &format!("{}1{}", "(".repeat(160), ")".repeat(160)));
        assert!(used > 160, "{used}");
        // Scopes within scopes, and a name that is in none of them.
        let (_, used) = counted("[]", &format!("{}nosuch{}", "[ a = ".repeat(160), " ].a".repeat(160)));
        assert!(used > 300, "{used}");
    }

    /// Many small things that take room until the end.
    #[test]
    fn what_is_kept_until_the_end_is_counted() {
        let elements = vec!["[ a = 1 ]"; 6_000].join(", ");
        let many = ad(&format!("L = {{ {elements} }}"));
        runs_out(&many, "countMatches(splitTime(a) =?= 1, L)", Limit::Memory);
        assert!(counted(&many, "countMatches(eval(\"a > 1\"), L)").0.is_ok());
        let padding = " ".repeat(30_000);
        runs_out(&many, &format!("countMatches(eval(\"{padding}1\") > 1, L)"), Limit::Memory);
    }

    // ---- without an evaluation

    fn hostile() -> Vec<(&'static str, String)> {
        let many =
            |piece: &dyn Fn(usize) -> String, between: &str| (0..4_000).map(piece).collect::<Vec<_>>().join(between);
        vec![
            ("names", many(&|n| format!("nam{n} > {n}"), " && ")),
            ("paths", format!("f(x){}", ".a".repeat(20_000))),
            ("selections of selections", many(&|n| format!("(a.b[{n}]).c.d"), " || ")),
            ("one name again and again", many(&|n| format!("x == {n}"), " && ")),
            ("alternatives", many(&|n| format!("(x == {n} || x == 1{n} || x == 2{n})"), " && ")),
            ("misspelt", many(&|n| format!("other.Memroy{n} > 1 || Memory{n}"), " && ")),
            ("functions", many(&|n| format!("sise{n}()"), " + ")),
            ("patterns", many(&|n| format!("regexp(\".{{{n}}}\", x)"), " && ")),
            ("constants", many(&|n| format!("size(\"{n}\") > 1"), " && ")),
            ("costly constants", many(&|_| "regexp(\"((x{50}){20}){5}y\", \"x\")".to_owned(), " || ")),
            ("undefined", many(&|n| format!("x{n} == undefined"), " && ")),
            ("brackets", format!("{}1{}", "(".repeat(160), ")".repeat(160))),
            ("choices", format!("{}1", "a ? b : ".repeat(400))),
            ("lists", format!("{}{}", "{".repeat(160), "}".repeat(160))),
            ("long list", format!("{{ {} }}", many(&|n| n.to_string(), ", "))),
            ("long name", format!("'{0}' + '{0}x' + f{0}()", "n".repeat(20_000))),
            ("long text", format!("\"{0}\" == \"{0}\"", "t".repeat(50_000))),
        ]
    }

    /// Each of these took minutes, or took seconds again and again.
    #[test]
    fn lint_format_and_what_is_known_before_evaluation_are_in_proportion_to_the_text() {
        for (what, text) in hostile() {
            let Some(expr) = read_expr(&text, Dialect::Gangmatch).read else { panic!("{what} cannot be read") };
            assert!(lint(&expr, &text, &[]).len() <= 100, "{what}");
            assert!(lint(&expr, &text, &[]).iter().all(|remark| remark.message.len() < 2_000), "{what}");
            let _ = (never_true(&expr), constant(&expr), references(&expr), conjuncts(&expr));
            assert!(expr.excerpt(256).len() <= 256, "{what}");
            assert!(format(&text, Dialect::Gangmatch).is_ok(), "{what}");
            let whole = format!("[ Requirements = {text}; Ports = {{ [ Label = cpu; Constraint = {text} ] }} ]");
            let ad = parse_ad(&whole, Dialect::Gangmatch).unwrap();
            assert!(lint_ad(&ad, &whole, &[]).len() <= 100, "{what}");
            assert!(format(&whole, Dialect::Gangmatch).is_ok(), "{what}");
            let json = write_ads(std::slice::from_ref(&ad), classad::Form::Json).unwrap();
            assert!(read_ad(&json, Dialect::Gangmatch, classad::Form::Any).into_result().is_ok(), "{what}");
            if let Ok(long) = ad.to_long() {
                assert!(read_ads(&long, Dialect::Gangmatch).read.is_some(), "{what}");
            }
        }
    }

    #[test]
    fn texts_that_are_none_are_refused_at_once() {
        for (open, count) in
            [("(", 100_000), ("[a=", 100_000), ("f(", 100_000), ("a b ", 50_000), ("= ", 50_000), ("\"", 99_999)]
        {
            for form in
                [open.repeat(count), format!("[ {} ]", open.repeat(count)), format!("a = {}", open.repeat(count))]
            {
                let read = read_ads(&form, Dialect::Gangmatch);
                assert!(read.read.is_none(), "{open}");
                assert!(read.diagnostics.len() <= 80 && read.diagnostics.iter().all(|one| one.message.len() < 5_000));
                assert!(format(&form, Dialect::Gangmatch).is_err(), "{open}");
            }
        }
    }

    #[test]
    fn an_excerpt_is_no_longer_than_it_may_be() {
        let expr = parse_expr("\"äöü\" + abc", Dialect::Gangmatch).unwrap();
        for most in 3..30 {
            let text = expr.excerpt(most);
            assert!(text.len() <= most.max(3), "{text}");
            assert!(text == expr.to_string() || text.ends_with("..."), "{text}");
        }
    }

    #[test]
    fn the_limits_are_those_of_the_manual() {
        let limits = Limits::default();
        let page = include_str!("../../docs/language/errors-and-limits.md");
        for row in [
            format!("| open operators, references and calls | {} |", limits.depth),
            "| steps | 1,000,000 |".to_owned(),
            "| bytes of one text, or of all texts of a result | 1 MiB |".to_owned(),
            format!("| lists and ads inside each other, in a result | {} |", limits.result_depth),
            "| elements and attributes of a result | 100,000 |".to_owned(),
            "| bytes of all texts, lists and ads that are made | 16 MiB |".to_owned(),
        ] {
            assert!(page.contains(&row), "{row}");
        }
        assert_eq!((limits.fuel, limits.result_bytes), (1_000_000, 1 << 20));
        assert_eq!((limits.result_elements, limits.memory), (100_000, 16 << 20));
    }
}
