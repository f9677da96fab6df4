//! Ads in brackets, in the long form and in JSON: the same ads, whichever way they are written, alone and among others.

#[cfg(test)]
mod tests {
    use classad::{
        Ad, Dialect, Form, Name, Unwritable, has_comments, parse_ad, parse_json, parse_long, read_ads, write_ads,
    };
    use proptest::prelude::*;

    use crate::trees::{name, tree};

    const FORMS: [Form; 3] = [Form::Brackets, Form::Long, Form::Json];

    fn ad() -> impl Strategy<Value = Ad> {
        prop::collection::vec((name(), tree()), 0..5).prop_map(|attributes| attributes.into_iter().collect())
    }

    fn read(text: &str) -> Vec<Ad> {
        let reading = read_ads(text, Dialect::Gangmatch);
        reading.read.unwrap_or_else(|| panic!("{text}\n{:?}", reading.diagnostics))
    }

    proptest! {
        #[test]
        fn the_forms_agree(ad in ad()) {
            prop_assert_eq!(parse_ad(&ad.to_string(), Dialect::Gangmatch).ok(), Some(ad.clone()), "brackets");
            let json = ad.to_json();
            prop_assert_eq!(parse_json(&json, Dialect::Gangmatch).ok(), Some(ad.clone()), "{}", json);
            match ad.to_long() {
                Ok(long) => prop_assert_eq!(parse_long(&long, Dialect::Gangmatch).ok(), Some(ad), "{}", long),
                // No lines, or what the few escapes of that form cannot say.
                Err(None) => prop_assert!(ad.is_empty()),
                Err(Some(name)) => {
                    let text = format!("{name:?} {}", ad.get(name.as_str()).unwrap());
                    prop_assert!(text.contains(['\\', '\'']), "{}", text);
                }
            }
        }

        #[test]
        fn conversion_keeps_number_order_and_trees(ads in prop::collection::vec(ad(), 2..5)) {
            for first in FORMS {
                let Ok(text) = write_ads(&ads, first) else { continue };
                prop_assert_eq!(&read(&text), &ads, "{}", text);
                prop_assert!(!has_comments(&text), "{}", text);
                for second in FORMS {
                    let Ok(again) = write_ads(&read(&text), second) else { continue };
                    prop_assert_eq!(&read(&again), &ads, "{}", again);
                }
            }
        }
    }

    #[test]
    fn most_ads_can_be_written_in_the_long_form() {
        use proptest::strategy::ValueTree;
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let written = (0..200).filter(|_| ad().new_tree(&mut runner).unwrap().current().to_long().is_ok()).count();
        assert!(written > 40, "{written} of 200: the law of the forms says little");
    }

    #[test]
    fn several_ads_are_told_apart_in_every_form() {
        let two = [parse_ad("[ a = 1; b = x + 1 ]", Dialect::Gangmatch).unwrap(), {
            parse_ad("[ a = \"s\"; c = {1, [d = 2]} ]", Dialect::Gangmatch).unwrap()
        }];
        for text in [
            "[ a = 1; b = x + 1 ] [ a = \"s\"; c = {1, [d = 2]} ]",
            "// first\n[ a = 1; b = x + 1 ]\n\n/* second */ [ a = \"s\"; c = {1, [d = 2]} ] // end",
            "{ [ a = 1; b = x + 1 ], [ a = \"s\"; c = {1, [d = 2]} ] }",
            "\n# first\na = 1\nb = x + 1\n\n\n# second\na = \"s\"\nc = {1, [d = 2]}\n\n",
            "a = 1\r\nb = x + 1\r\n\r\na = \"s\"\r\nc = {1, [d = 2]}\r\n",
            r#"[{"a": 1, "b": "\/Expr(x + 1)\/"}, {"a": "s", "c": [1, {"d": 2}]}]"#,
            "{\"a\": 1, \"b\": \"/Expr(x + 1)/\"}\n{\"a\": \"s\", \"c\": [1, {\"d\": 2}]}\n",
            " [ {\"a\": 1, \"b\": \"/Expr(x + 1)/\"} ]\n[ {\"a\": \"s\", \"c\": [1, {\"d\": 2}]} ]",
        ] {
            assert_eq!(read(text), two, "{text}");
        }
        let empty = Ad::new();
        for (text, count) in [("[]", 1), ("{}", 1), ("[{}, {}]", 2), ("[] []", 2), ("", 0), ("# nothing\n", 0)] {
            assert_eq!(read(text), vec![empty.clone(); count], "{text}");
        }
    }

    #[test]
    fn what_the_long_form_cannot_say_is_refused() {
        let refused = |text: &str| match write_ads(&read(text), Form::Long) {
            Err(Unwritable { ad, attribute }) => (ad, attribute),
            Ok(written) => panic!("{written}"),
        };
        assert_eq!(refused("[ a = 1 ] [ b = 2; c = \"x\\ny\" ]"), (1, Some(Name::from("c"))));
        assert_eq!(refused("[ a = strcat(\"x\\\\\", \"y\") ]"), (0, Some(Name::from("a"))));
        assert_eq!(refused("[ 'a\\'b' = 1 ]"), (0, Some(Name::from("a'b"))));
        assert_eq!(refused("[ a = 1 ] []"), (1, None));
        for text in ["x\\\\", "\\\\x\\\"", "\\\"", "a\\tb", "\\303\\251", "// no comment", "\\\\n"] {
            let ads = read(&format!("[ a = \"{text}\" ]"));
            assert_eq!(read(&write_ads(&ads, Form::Long).unwrap()), ads, "{text}");
        }
    }

    #[test]
    fn json_is_as_deep_as_brackets() {
        for deep in [1, 100, 127, 128, 165, 166, 400, 100_000] {
            let (open, close) = ("{".repeat(deep), "}".repeat(deep));
            let brackets = parse_ad(&format!("[ a = {open}{close} ]"), Dialect::Gangmatch);
            let json = format!("{{\"a\": {}{}}}", "[".repeat(deep), "]".repeat(deep));
            let json = parse_json(&json, Dialect::Gangmatch);
            assert_eq!(brackets.is_ok(), json.is_ok(), "{deep}");
            assert_eq!(brackets.ok(), json.ok(), "{deep}");
        }
        let inner = format!("{}1{}", "(".repeat(120), ")".repeat(120));
        let json = format!("{{\"a\": {}\"/Expr({inner})/\"{}}}", "[".repeat(60), "]".repeat(60));
        assert!(parse_json(&json, Dialect::Gangmatch).is_err(), "brackets could not hold it");
    }

    #[test]
    fn an_attribute_given_twice_keeps_the_last_value_with_a_warning_in_every_form() {
        for text in ["[ a = 1; A = 2 ]", "a = 1\nA = 2\n", r#"{"a": 1, "A": 2}"#, "{ [ a = 1; A = 2 ] }"] {
            let reading = read_ads(text, Dialect::Gangmatch);
            let codes: Vec<_> = reading.diagnostics.iter().map(|one| one.code).collect();
            assert_eq!(codes, ["duplicate-attribute"], "{text}");
            assert_eq!(reading.read.unwrap()[0].to_string(), "[ a = 2 ]", "{text}");
        }
    }

    #[test]
    fn no_form_takes_nul_or_a_name_that_another_cannot_write() {
        for (text, code) in [
            ("{\"a\": \"\\u0000\"}", "nul"),
            ("{\"a\\u0000\": 1}", "nul"),
            ("{\"a\": [{\"b\": \"x\\u0000y\"}]}", "nul"),
            ("{\"a\": \"/Expr(\\\"\\\\0\\\")/\"}", "nul"),
            ("[ a = \"\\0\" ]", "nul"),
            ("a = \"\0\"", "nul"),
            ("{\"\": 1}", "empty-name"),
            ("[ '' = 1 ]", "empty-name"),
            ("{\"9:00\": 1}", "quoted-time"),
            ("[ '9:00' = 1 ]", "quoted-time"),
            ("'9:00' = 1", "quoted-time"),
        ] {
            let reading = read_ads(text, Dialect::Gangmatch);
            assert!(reading.read.is_none(), "{text:?}");
            assert_eq!(reading.diagnostics.first().map(|one| one.code), Some(code), "{text:?}");
        }
    }

    #[test]
    fn mistakes_in_json_point_into_the_text() {
        let text = "{\n  \"A\": 1,\n  \"Rank\": \"\\/Expr(\\\"x\\\" + other.\\/)\\/\",\n  \"B\": [1, 2}\n";
        let reading = read_ads(text, Dialect::Gangmatch);
        let places: Vec<_> =
            reading.diagnostics.iter().map(|one| (one.position.line, one.position.column, one.code)).collect();
        assert_eq!(places, [(3, 33, "unexpected-token")]);
    }
}
