//! Reading many ads is reading one after the other; what fuzzing found; ads large and small.

#[cfg(test)]
mod tests {
    use classad::{
        Ad, Context, Dialect, Env, Expr, Name, Reader, Value, eval_attribute, parse_ad, parse_expr, parse_long,
    };
    use proptest::prelude::*;

    fn same_as_alone(reader: &mut Reader, text: &str) {
        let (one, alone) = (reader.ad(text), parse_ad(text, Dialect::Gangmatch));
        assert_eq!(one, alone, "{text}");
        if let (Ok(one), Ok(alone)) = (one, alone) {
            assert_eq!(one.to_string(), alone.to_string(), "{text}");
        }
    }

    #[test]
    fn a_reader_reads_as_the_parser_does() {
        let mut reader = Reader::new(Dialect::Gangmatch);
        let texts = [
            "[]",
            " [ a = 1 ; ] ",
            "[ a = 1; A = 2 ]",
            "[ a = 1; b = \"x\\\"]; y\" ]",
            "[ a = \"x\" \"y\"; b = 01; c = -3; d = 2.5e3; e = 28Mi; f = 99999999999999999999 ]",
            "[ a == 1 ]",
            "[ a =?= 1 ]",
            "[ a = !b; c = {1, [d = 2; e = (3)], f[0]} ]",
            "[ a = 1 // one\n; b = /* two */ 2 ]",
            "[ 'odd name' = 1; b = 'odd name' ]",
            "[ is = 1 ]",
            "[ a = 1; ; b = 2 ]",
            "[ ; ]",
            "[ x ]",
            "[ a = 1; x; b = 2 ]",
            "[ a = ]",
            "[ a = (1]; b = 2 ]",
            "[ a = 1 ] trailing",
            "[ a = 1",
            "[ a = \"open ]",
            "a = 1",
            "",
        ];
        for text in texts.iter().chain(&texts) {
            same_as_alone(&mut reader, text);
        }
    }

    #[test]
    fn chance_depends_on_the_place_in_the_ad_for_a_reader_too() {
        let text = "[ a = random(1000000); b = random(1000000) ]";
        let many = Reader::new(Dialect::Gangmatch).ad(text).unwrap();
        let alone = parse_ad(text, Dialect::Gangmatch).unwrap();
        let draw = |ad: &Ad, name: &str| {
            let mut env = Env::new();
            let frame = env.frame(ad, None);
            eval_attribute(&env, frame, name, &Context::default())
        };
        assert_eq!(draw(&many, "a"), draw(&alone, "a"));
        assert_eq!(draw(&many, "b"), draw(&alone, "b"));
        assert_ne!(draw(&many, "a"), draw(&many, "b"));
    }

    proptest! {
        #[test]
        fn a_reader_reads_any_soup_as_the_parser_does(words in prop::collection::vec(word(), 0..20)) {
            let text = format!("[ {} ]", words.join(" "));
            let mut reader = Reader::new(Dialect::Gangmatch);
            same_as_alone(&mut reader, &text);
            same_as_alone(&mut reader, &text);
        }
    }

    proptest! {
        #[test]
        fn a_reader_that_has_read_much_reads_as_the_parser_does(
            ads in prop::collection::vec(prop::collection::vec((name(), value()), 0..6), 1..12),
        ) {
            let mut reader = Reader::new(Dialect::Gangmatch);
            for ad in &ads {
                let attributes: Vec<String> = ad.iter().map(|(name, value)| format!("{name}= {value}")).collect();
                same_as_alone(&mut reader, &format!("[{}]", attributes.join("; ")));
            }
        }
    }

    fn name() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec!["a ", "b", " ab", "abc ", "A", "\n_x1 ", "is ", "'a'", "1a"])
    }

    fn value() -> impl Strategy<Value = &'static str> {
        prop::sample::select(VALUES)
    }

    const VALUES: &[&str] = &[
        "0",
        "7",
        "12345678",
        "00",
        "07",
        "999999999999999999",
        "9223372036854775807",
        "9223372036854775808",
        "1.5",
        "00.50",
        "1.",
        ".5",
        "1e3",
        "1.5e3",
        "28Mi",
        "28M",
        "1 ",
        "1\t",
        "1 2",
        "1x",
        "1=",
        "-1",
        "-1.5",
        "0.0",
        "-0.0",
        "\"\"",
        "\"s\"",
        "\"S\"",
        "\"a longer text; with ] and [\"",
        "\"é und so weiter\"",
        "\"s\" \"t\"",
        "\"s",
        "\"s\"x",
        "\"\\\"; b = \\\\\"",
        "\"\\n\"",
        "true",
        "TRUE ",
        "undefined",
        "x",
        "x + 1",
        "x+1",
        "{1, \"]\"}",
        "[b = 2; c = 3]",
        "[b = 2; B = 3]",
        "= 1",
        "?= 1",
        "!x",
        "x / 2",
        "x // 2",
        "x /* 2 */",
        "x && y",
        "x && y && (x && y) && z",
        "x&&y",
        "x && y || z",
        "x || y && z",
        "x && y ? 1 : 2",
        "x ? y && z : 1",
        "x && y ? : z",
        "x && y ?: z",
        "x ?: y && z",
        "x & y && z",
        "x && \"a && b\" == z",
        "x && {y && z}[0]",
        "x && -1 < y",
        "x && (y",
        "x && ",
        "x && && y",
        "x &&& y",
        "&& x",
        "'x'",
        "random(5)",
        "f(",
        "",
        "(1",
        "1)",
    ];

    #[test]
    fn a_reader_forgets_and_goes_on() {
        let mut reader = Reader::new(Dialect::Gangmatch);
        // More names after the same names than are kept, more strings than there are places, longer strings than are kept.
        for number in 0..3000 {
            let long = "x".repeat(number % 300);
            same_as_alone(
                &mut reader,
                &format!(
                    "[ a = {number}; b{number} = \"{number}\"; c = \"{long}\"; d = x + {number}; e = {number}.5 ]"
                ),
            );
        }
        let huge = format!("[ a = \"{}\" + x ]", "y".repeat(9 << 20));
        for _ in 0..3 {
            same_as_alone(&mut reader, &huge);
            same_as_alone(&mut reader, "[ a = 1; b = x + 1 ]");
        }
    }

    #[test]
    fn ads_inside_expressions_share_their_names() {
        let mut reader = Reader::new(Dialect::Gangmatch);
        let inner = |ad: &Ad| ad.get("p").and_then(Expr::as_ad).map(Ad::shape_id);
        let one = reader.ad("[ p = [ x = 1; y = z ] ]").unwrap();
        let two = reader.ad("[ q = 1; p = [ x = 2; y = z ] ]").unwrap();
        assert!(inner(&one).is_some());
        assert_eq!(inner(&one), inner(&two));
    }

    fn word() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "a =", "b =", "A =", "=", ";", ";", "1", "\"s\"", "\"", "'q'", "(", ")", "[", "]", "{", "}", ",", "+", "/",
            "//", "/*", "*/", "!", "?", ":", "x", "is", "\\", "é", "-2",
        ])
    }

    /// Found by the fuzz target `round_trip`: a minus sign and a number read back as one literal.
    #[test]
    fn a_minus_sign_before_a_number_stays_a_sign() {
        for text in ["- 1", "- 2.5", "- 1[0]", "- 3 ?: 4", "-1", "- -1", "-(1)", "- x"] {
            let expr = parse_expr(text, Dialect::Gangmatch).unwrap();
            assert_eq!(parse_expr(&expr.to_string(), Dialect::Gangmatch), Ok(expr), "{text}");
        }
        // HTCondor's own text has that loss.
        assert_eq!(parse_expr("- 1", Dialect::Gangmatch).unwrap().canonical(), " -1");
    }

    /// Found by the fuzz target `round_trip`: a selection from a number read back as a number with too many points.
    #[test]
    fn a_selection_from_a_number_stays_one() {
        for text in ["21\n.de", "-21 .e5", "2.5 .x", "1e3 .x", "{21 .x}.y", "21[0].x"] {
            let expr = parse_expr(text, Dialect::Gangmatch).unwrap();
            assert_eq!(parse_expr(&expr.to_string(), Dialect::Gangmatch), Ok(expr), "{text}");
        }
    }

    /// Found by the fuzz target `round_trip`: the escape for it was refused, the byte itself was not.
    #[test]
    fn no_string_and_no_name_contains_nul() {
        for text in ["\"a\0b\"", "'a\0b'", "\"a\\000b\""] {
            assert!(parse_expr(text, Dialect::Gangmatch).is_err(), "{text:?}");
            same_as_alone(&mut Reader::new(Dialect::Gangmatch), &format!("[ a = {text} ]"));
        }
    }

    /// Found by the fuzz target `parse`: the text was refused without a reason.
    #[test]
    fn a_line_of_the_long_form_may_be_a_comment() {
        let ad = parse_long("/* note */\nA = 1\n /* another */ // and more\n", Dialect::Gangmatch).unwrap();
        assert_eq!(ad.to_string(), "[ A = 1 ]");
    }

    #[test]
    fn attributes_are_found_in_ads_of_any_size() {
        for size in [0, 1, 2, 7, 99, 100, 101, 1000] {
            let mut ad: Ad = (0..size)
                .map(|number| (Name::from(format!("Name{number}")), Expr::literal(Value::Integer(number))))
                .collect();
            for number in 0..size {
                assert_eq!(ad.get(&format!("nAME{number}")), Some(&Expr::literal(Value::Integer(number))));
            }
            assert_eq!(ad.get("Name"), None);
            // A copy that shares the names goes its own way.
            let whole = ad.clone();
            for number in (0..size).step_by(2) {
                assert_eq!(ad.remove(&format!("name{number}")), Some(Expr::literal(Value::Integer(number))));
                assert_eq!(ad.get(&format!("name{number}")), None);
            }
            let mut again = whole.clone();
            again.remove("name1");
            ad.insert(Name::from("Name0"), Expr::literal(Value::from(true)));
            assert_eq!(ad.get("name0"), Some(&Expr::literal(Value::from(true))));
            assert_eq!(whole.iter().count(), usize::try_from(size).unwrap());
            for number in (3..size).step_by(2) {
                assert_eq!(ad.get(&format!("name{number}")), whole.get(&format!("Name{number}")));
                assert_eq!(again.get(&format!("name{number}")), whole.get(&format!("Name{number}")));
            }
        }
    }

    #[test]
    fn forgotten_frames_leave_nothing_behind() {
        let ad = parse_ad("[ a = x ]", Dialect::Gangmatch).unwrap();
        let blank = Ad::new();
        let mut env = Env::new();
        let mark = env.mark();
        let first = env.frame(&ad, None);
        env.define(first, Name::new("x"), Value::from(1));
        env.bind(first, &Name::new("x"), first);
        env.partner(first, first);
        env.reset(mark);
        assert_eq!(eval_attribute(&env, first, "a", &Context::default()), Ok(Value::Undefined));
        let second = env.frame(&ad, None);
        assert_eq!(env.labels(second), 0);
        assert_eq!(eval_attribute(&env, second, "a", &Context::default()), Ok(Value::Undefined));
        let third = env.frame(&blank, Some(second));
        assert_eq!(eval_attribute(&env, third, "x", &Context::default()), Ok(Value::Undefined));
    }
}
