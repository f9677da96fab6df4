//! The layout for people: it keeps every word and comment, and laying out twice changes nothing.

#[cfg(test)]
mod tests {
    use classad::{Dialect, Form, format, parse_ad, parse_expr, read_ad};
    use insta::assert_snapshot;
    use proptest::prelude::*;

    /// Laid out, after checking that once is enough.
    fn laid_out(text: &str) -> String {
        let once = format(text, Dialect::Gangmatch).unwrap_or_else(|wrong| panic!("{text}\n{wrong}"));
        let twice = format(&once, Dialect::Gangmatch).unwrap_or_else(|wrong| panic!("{once}\n{wrong}"));
        assert_eq!(once, twice, "laid out twice:\n{text}");
        once
    }

    #[test]
    fn an_ad_has_one_attribute_a_line() {
        let text = "// a job\n[Type=\"Job\";// kind\nMemory=28M;;\n\n\nRequirements=other.Type==\"Machine\"&&other.Memory>=ImageSize&&(other.Arch==\"INTEL\"||other.Arch==\"ALPHA\")&&other.Disk>=2*DiskUsage /* twice */;
            Ports={[Label=cpu;Constraint=cpu.Arch==\"arm64\"],[Label=license;Constraint=license.Product==\"simulator\"&&license.ValidHost==cpu.Name&&license.Version>=3]};
            // the last\n Rank=-other.Load*1e3+(other.Idle?:0)[0].x ; Empty = []; L = {} // end\n]\n// after";
        assert_snapshot!(laid_out(text), @r#"
        // a job
        [
            Type = "Job"; // kind
            Memory = 28M;

            Requirements = other.Type == "Machine"
                && other.Memory >= ImageSize
                && (other.Arch == "INTEL" || other.Arch == "ALPHA")
                && other.Disk >= 2 * DiskUsage; /* twice */
            Ports = {
                [ Label = cpu; Constraint = cpu.Arch == "arm64" ],
                [
                    Label = license;
                    Constraint = license.Product == "simulator"
                        && license.ValidHost == cpu.Name
                        && license.Version >= 3;
                ]
            };
            // the last
            Rank = -other.Load * 1e3 + (other.Idle ?: 0)[0].x;
            Empty = [];
            L = {}; // end
        ]
        // after
        "#);
        assert_eq!(parse_ad(&laid_out(text), Dialect::Gangmatch), parse_ad(text, Dialect::Gangmatch));
    }

    #[test]
    fn expressions_break_at_their_loosest_operators() {
        assert_snapshot!(laid_out("a&&b||c"), @r#"a && b || c"#);
        let long = "other.Memory>=1024&&other.Disk>=2048||other.Arch==\"INTEL\"&&(other.OpSys==\"LINUX\"||other.OpSys==\"SOLARIS\"||regexp(\"^a very long pattern that goes on and on$\",other.Name,\"i\"))";
        assert_snapshot!(laid_out(long), @r#"
        other.Memory >= 1024 && other.Disk >= 2048
            || other.Arch == "INTEL"
                && (
                    other.OpSys == "LINUX"
                    || other.OpSys == "SOLARIS"
                    || regexp("^a very long pattern that goes on and on$", other.Name, "i")
                )
        "#);
        let choice = "member(other.Owner,ResearchGroup)?10:member(other.Owner,Friends)?0:member(other.Owner,Untrusted)?-100:-(1+other.Penalty)";
        assert_snapshot!(laid_out(choice), @r#"
        member(other.Owner, ResearchGroup)
            ? 10
            : member(other.Owner, Friends)
            ? 0
            : member(other.Owner, Untrusted)
            ? -100
            : -(1 + other.Penalty)
        "#);
    }

    #[test]
    fn comments_stay_where_they_are() {
        assert_snapshot!(laid_out("a // first\n && /* second */ b\n// alone\n&& c // last"), @r#"
        a // first
            && /* second */ b
            // alone
            && c // last
        "#);
        assert_snapshot!(laid_out("f(/* none */)"), @r#"f( /* none */ )"#);
        assert_snapshot!(laid_out("[ // open\n /* one */ /* two */ a = 1 // here\n // there\n ; // late\n b = 2; ]"), @r#"
        [ // open
            /* one */
            /* two */
            a = 1; // here
            // late
            // there
            b = 2;
        ]
        "#);
    }

    #[test]
    fn spelling_is_kept() {
        for (text, want) in [
            ("28M", "28M\n"),
            ("a=?=b", "a =?= b\n"),
            ("a IS undefined", "a IS undefined\n"),
            ("1 .x", "1 .x\n"),
            ("- 5", "- 5\n"),
            ("-5", "-5\n"),
            ("a- -5", "a - -5\n"),
            ("!!a", "!!a\n"),
            ("a ? : b", "a ?: b\n"),
            ("a?.b:c", "a ? .b : c\n"),
            ("\"a\"\"b\"", "\"a\" \"b\"\n"),
            ("'odd name'.x", "'odd name'.x\n"),
            ("a[0][1]", "a[0][1]\n"),
            ("x is [a=!b]", "x is [ a = !b ]\n"),
            ("{1,{2 , 3}}", "{ 1, { 2, 3 } }\n"),
            ("[a=1].a", "[ a = 1 ].a\n"),
            ("\"two  \nlines\"", "\"two  \nlines\"\n"),
        ] {
            assert_eq!(laid_out(text), want, "{text}");
            assert_eq!(parse_expr(&laid_out(text), Dialect::Gangmatch), parse_expr(text, Dialect::Gangmatch), "{text}");
        }
    }

    #[test]
    fn the_other_forms_are_laid_out_too() {
        assert_eq!(laid_out("# x\nA=1\n\n\n  Bc   = A+1\n"), "# x\nA = 1\n\nBc = A+1\n");
        assert_eq!(laid_out("{\"A\": 1,\"B\":[1,2]}"), "{\n  \"A\": 1,\n  \"B\": [\n    1,\n    2\n  ]\n}\n");
        assert_eq!(format("a and b", Dialect::Gangmatch).unwrap_err().first().unwrap().code, "word-operator");
        assert_eq!(
            format("[ a = 1 b = 2 ]", Dialect::Gangmatch).unwrap_err().first().unwrap().code,
            "missing-semicolon"
        );
    }

    fn separator() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            " ",
            " ",
            " ",
            "",
            "\n",
            "\n\n",
            " // c\n",
            "\n// d\n",
            " /* e */ ",
            "\n/* f\n  g */\n",
            "\n\n\n// h\n\n// i\n",
            "\t",
        ])
    }

    fn words() -> impl Strategy<Value = Vec<&'static str>> {
        let leaf = prop::sample::select(vec![
            vec!["a"],
            vec!["28M"],
            vec!["-", "5"],
            vec!["\"s t\""],
            vec!["'q r'"],
            vec!["true"],
            vec![".", "x"],
            vec![".5"],
            vec!["a_rather_long_name_of_an_attribute", "+", "another_one"],
            vec!["[", "]"],
            vec!["{", "}"],
            vec!["f", "(", ")"],
        ]);
        leaf.prop_recursive(5, 60, 3, |inner| {
            let op = prop::sample::select(vec!["&&", "||", "==", "is", "+", "-", "*", "<", ">>>", "=?=", "&", "?:"]);
            let joined = |parts: Vec<Vec<&'static str>>| parts.concat();
            prop_oneof![
                3 => (inner.clone(), op, inner.clone()).prop_map(move |(a, op, b)| joined(vec![vec!["("], a, vec![")", op, "("], b, vec![")"]])),
                1 => (inner.clone(), inner.clone()).prop_map(move |(a, b)| joined(vec![a, vec!["||"], b])),
                1 => inner.clone().prop_map(move |a| joined(vec![vec!["-", "!", "("], a, vec![")"]])),
                1 => (inner.clone(), inner.clone(), inner.clone()).prop_map(move |(c, a, b)| joined(vec![vec!["("], c, vec![")", "?"], a, vec![":"], b])),
                1 => (inner.clone(), inner.clone()).prop_map(move |(a, b)| joined(vec![vec!["strcat", "("], a, vec![","], b, vec![")"]])),
                1 => (inner.clone(), inner.clone()).prop_map(move |(a, b)| joined(vec![vec!["{"], a, vec![","], b, vec!["}"]])),
                1 => (inner.clone(), inner.clone()).prop_map(move |(a, b)| joined(vec![vec!["["], vec!["p", "="], a, vec![";", "q", "="], b, vec![";", "]"]])),
                1 => (inner.clone(), inner).prop_map(move |(a, b)| joined(vec![vec!["("], a, vec![")", "[" ], b, vec!["]", ".", "y"]])),
            ]
        })
    }

    /// The comments of a text in their order, blanks trimmed.
    fn comments(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
            rest = rest.get(at..).unwrap();
            let end = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else {
                rest.find("*/").unwrap() + 2
            };
            found.push(rest.get(..end).unwrap().trim().to_owned());
            rest = rest.get(end..).unwrap();
        }
        found.sort();
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn laying_out_twice_changes_nothing(words in words(), separators in prop::collection::vec(separator(), 200), ad in any::<bool>()) {
            let words = if ad { [vec!["[", "A", "="], words.clone(), vec![";", "B", "="], words, vec!["]"]].concat() } else { words };
            let mut text = String::new();
            for (word, separator) in words.iter().zip(separators.iter().cycle()) {
                text.push_str(word);
                // Words that would run together stay apart.
                text.push_str(if separator.is_empty() { " " } else { separator });
            }
            let before = read_ad(&text, Dialect::Htcondor, Form::Any).into_result().map(classad::Expr::ad).or_else(|_| parse_expr(&text, Dialect::Htcondor));
            let Ok(before) = before else { return Ok(()) };
            let once = format(&text, Dialect::Htcondor);
            prop_assert!(once.is_ok(), "{}\n{:?}", text, once);
            let once = once.unwrap();
            let after = read_ad(&once, Dialect::Htcondor, Form::Any).into_result().map(classad::Expr::ad).or_else(|_| parse_expr(&once, Dialect::Htcondor));
            prop_assert_eq!(after.as_ref(), Ok(&before), "{}\nbecame\n{}", text, once);
            prop_assert_eq!(comments(&text), comments(&once), "{}\nbecame\n{}", text, once);
            let twice = format(&once, Dialect::Htcondor);
            prop_assert_eq!(twice.as_ref(), Ok(&once), "{}", text);
        }
    }
}
