//! Patterns mean what they mean in PCRE.

#[cfg(test)]
mod tests {
    use classad::{Context, Dialect, Env, FrameId, eval, parse_ad, parse_expr};

    fn value(expr: &str) -> String {
        let mut env = Env::new();
        let ad = parse_ad("[]", Dialect::Gangmatch).unwrap();
        let frame: FrameId = env.frame(&ad, None);
        eval(&parse_expr(expr, Dialect::Gangmatch).unwrap(), &env, frame, &Context::default()).unwrap().to_string()
    }

    #[test]
    fn octal_numbers_have_up_to_three_digits() {
        for (pattern, text, found) in [
            (r"a\\011b", r"a\tb", true),
            (r"^[\\060-\\071]+$", "2026", true),
            (r"^[\\060-\\071]+$", "a", false),
            (r"\\0101", "\u{8}1", true),
        ] {
            let expr = format!("regexp(\"{pattern}\", \"{text}\")");
            assert_eq!(value(&expr) == "true", found, "{expr}: {}", value(&expr));
        }
    }

    #[test]
    fn extended_syntax_ignores_only_blanks_that_stand_outside_of_classes_and_are_not_escaped() {
        for (pattern, text, found) in [
            (r"a b", "ab", true),
            (r"a\\ b", "a b", true),
            (r"a\\ b", "ab", false),
            (r"\\Qa b\\E", "a b", true),
            (r"\\Qa  b\\E c", "a  bc", true),
            (r"a[\t ]b", r"a\tb", true),
            (r"a[ ]b", "a b", true),
            (r"a[^ ]b", "a b", false),
            ("a\u{a0}b", "a\u{a0}b", true),
            ("a\u{a0}b", "ab", false),
        ] {
            for options in ["x", "ix"] {
                let expr = format!("regexp(\"{pattern}\", \"{text}\", \"{options}\")");
                assert_eq!(value(&expr) == "true", found, "{expr}: {}", value(&expr));
            }
        }
    }

    #[test]
    fn an_empty_pattern_replaces_nothing_everywhere() {
        assert_eq!(value(r#"replaceAll("", "abc", "x")"#), "error");
        assert_eq!(value(r#"replaceAll("b", "abcb", "x")"#), "\"axcx\"");
        assert_eq!(value(r#"replace("", "abc", "x")"#), "\"xabc\"");
    }

    #[test]
    fn recursion_into_any_group_is_refused_with_its_place() {
        for pattern in ["(a)(?1)", "(a)(?3)", "(a)(?9)", "(a)(?+1)", "(a)(?-1)", "(a)(?0)"] {
            let text = format!("regexp(\"{pattern}\", x)");
            let told = parse_expr(&text, Dialect::Gangmatch).unwrap_err().to_string();
            assert!(told.contains("recursion"), "{pattern}: {told}");
        }
        assert_eq!(value(r#"regexp("(?i)a(?-i)b", "Ab")"#), "true");
    }
}
