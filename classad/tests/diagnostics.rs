//! Typical mistakes into the sentences people read: the messages are the user interface, change them with care.

#[cfg(test)]
mod tests {
    use classad::{Colour, Dialect, Form, Output, Severity, lint_ad, read_ad, read_expr, render};
    use insta::assert_snapshot;

    /// What an author of an expression reads, warnings marked.
    fn expr(text: &str) -> String {
        said(&read_expr(text, Dialect::Gangmatch).diagnostics)
    }

    /// What an author of an ad reads.
    fn ad(text: &str) -> String {
        said(&read_ad(text, Dialect::Gangmatch, Form::Brackets).diagnostics)
    }

    fn long(text: &str) -> String {
        said(&read_ad(text, Dialect::Gangmatch, Form::Long).diagnostics)
    }

    fn json(text: &str) -> String {
        said(&read_ad(text, Dialect::Gangmatch, Form::Json).diagnostics)
    }

    fn rendered(text: &str) -> String {
        render(&read_ad(text, Dialect::Gangmatch, Form::Brackets).diagnostics, text, "job.ad", Colour::Never)
    }

    fn said(diagnostics: &[classad::Diagnostic]) -> String {
        let lines = diagnostics.iter().map(|one| match one.severity {
            Severity::Error => one.to_string(),
            Severity::Warning => format!("warning: {one}"),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn single_equals() {
        assert_snapshot!(expr(r#"Memory = 4"#), @r#"line 1, column 8: `=` names an attribute and does not compare; write `==` to compare, `=?=` to compare without `undefined`"#);
    }

    #[test]
    fn single_equals_in_an_ad() {
        assert_snapshot!(ad(r#"[ Requirements = other.Memory = 4 ]"#), @r#"line 1, column 31: `=` names an attribute and does not compare; write `==` to compare, `=?=` to compare without `undefined`"#);
    }

    #[test]
    fn a_list_in_brackets() {
        assert_snapshot!(expr(r#"member(Host, ["a", "b"])"#), @r#"line 1, column 15: expected an attribute name, found the string `"a"`; write a list in braces: `{ 1, 2 }`; brackets are for ads: `[ Name = value; ]`"#);
    }

    #[test]
    fn and() {
        assert_snapshot!(expr(r#"a and b"#), @r#"line 1, column 3: `and` is not an operator; write `&&`"#);
    }

    #[test]
    fn or() {
        assert_snapshot!(expr(r#"a OR b"#), @r#"line 1, column 3: `OR` is not an operator; write `||`"#);
    }

    #[test]
    fn not() {
        assert_snapshot!(expr(r#"not a"#), @r#"line 1, column 1: `not` is not an operator; write `!`"#);
    }

    #[test]
    fn not_equal_sql() {
        assert_snapshot!(expr(r#"a <> b"#), @r#"line 1, column 4: there is no operator `<>`; write `!=`"#);
    }

    #[test]
    fn arrow() {
        assert_snapshot!(expr(r#"a => b"#), @r#"line 1, column 3: there is no operator `=>`; write `>=`"#);
    }

    #[test]
    fn less_the_wrong_way() {
        assert_snapshot!(expr(r#"a =< b"#), @r#"line 1, column 3: there is no operator `=<`; write `<=`"#);
    }

    #[test]
    fn triple_equals() {
        assert_snapshot!(expr(r#"a === b"#), @r#"line 1, column 5: there is no operator `===`; write `==`, or `=?=` for identity"#);
    }

    #[test]
    fn strict_not_equal() {
        assert_snapshot!(expr(r#"a !== b"#), @r#"line 1, column 5: there is no operator `!==`; write `!=`, or `=!=` for identity"#);
    }

    #[test]
    fn in_() {
        assert_snapshot!(expr(r#"Owner in {"ann"}"#), @r#"line 1, column 7: `in` is not an operator; write `member(x, list)`"#);
    }

    #[test]
    fn single_quotes_for_a_string() {
        assert_snapshot!(expr(r#"Arch == 'INTEL'"#), @r#"warning: line 1, column 9: `'INTEL'` is the attribute `INTEL`, not a string; write `"INTEL"` for a string, `INTEL` for the attribute"#);
    }

    #[test]
    fn curly_quotes() {
        assert_snapshot!(expr(r#"Arch == “INTEL”"#), @r#"
        line 1, column 9: unexpected character `“`; write straight double quotes, `"`
        line 1, column 15: unexpected character `”`; write straight double quotes, `"`
        "#);
    }

    #[test]
    fn typographic_minus() {
        assert_snapshot!(expr(r#"a − b"#), @r#"line 1, column 3: unexpected character `−`; write the minus sign of the keyboard, `-`"#);
    }

    #[test]
    fn no_break_space() {
        assert_snapshot!(expr("a\u{a0}+ b"), @r#"line 1, column 2: unexpected character `\u{a0}`; this is a no-break space; write a plain one"#);
    }

    #[test]
    fn trailing_comma_in_a_list() {
        assert_snapshot!(expr(r#"{ 1, 2, }"#), @r#"line 1, column 9: trailing comma: an expression must follow `,`; remove the comma before the bracket"#);
    }

    #[test]
    fn trailing_comma_in_a_call() {
        assert_snapshot!(expr(r#"member(1, )"#), @r#"line 1, column 11: trailing comma: an expression must follow `,`; remove the comma before the bracket"#);
    }

    #[test]
    fn two_commas() {
        assert_snapshot!(expr(r#"{ 1,, 2 }"#), @r#"line 1, column 5: there is nothing between two commas; remove one comma"#);
    }

    #[test]
    fn suffix() {
        assert_snapshot!(expr(r#"Memory > 28Mb"#), @r#"line 1, column 10: `28Mb`: a number cannot end in `Mb`; write `28Mi`, in powers of 1024"#);
    }

    #[test]
    fn leading_zero() {
        assert_snapshot!(expr(r#"0644"#), @r#"line 1, column 1: `0644` begins with a zero, but there are no octal numbers; write `644`"#);
    }

    #[test]
    fn hexadecimal() {
        assert_snapshot!(expr(r#"0x1F"#), @r#"line 1, column 1: `0x1F` is hexadecimal, which is not supported; write `31`"#);
    }

    #[test]
    fn no_fraction() {
        assert_snapshot!(expr(r#"1. + 2"#), @r#"line 1, column 1: `1.` has no digits after the decimal point; write `1.0` or `1`"#);
    }

    #[test]
    fn numbers_are_told_as_they_were_written() {
        let messages = ["5.", "5.e3", "5e", "1x", "0xg", "007", "00"].map(expr);
        assert_snapshot!(messages.join("\n"), @r#"
        line 1, column 1: `5.` has no digits after the decimal point; write `5.0` or `5`
        line 1, column 1: `5.e3` has no digits after the decimal point; write `5.0e3` or `5e3`
        line 1, column 1: `5e` has no digits in the exponent; write `5e3`
        line 1, column 1: `1x`: a number cannot end in `x`
        line 1, column 1: `0xg` is hexadecimal, which is not supported
        line 1, column 1: `007` begins with a zero, but there are no octal numbers; write `7`
        line 1, column 1: `00` begins with a zero, but there are no octal numbers; write `0`
        "#);
    }

    #[test]
    fn too_large() {
        assert_snapshot!(expr(r#"9223372036854775808"#), @r#"line 1, column 1: `9223372036854775808` does not fit an integer of 64 bits; write `9223372036854775808.0` for a real number"#);
    }

    #[test]
    fn missing_quote() {
        assert_snapshot!(expr(r#"Arch == "INTEL"#), @r#"line 1, column 9: missing closing quote: the string that begins here does not end; write `"` where it ends; a `"` inside is written `\"`"#);
    }

    #[test]
    fn missing_bracket() {
        assert_snapshot!(ad("[ a = 1;\n  b = { 1, 2 ;\n  c = 3 ]"), @r#"line 2, column 14: expected `}` to close the `{` of line 2, column 7, found `;`; write `}` before it, or `,` to go on"#);
    }

    #[test]
    fn missing_parenthesis() {
        assert_snapshot!(expr(r#"(a + (b * c)"#), @r#"line 1, column 13: expected `)` to close the `(` of line 1, column 1, found the end of the text; write `)` where it should end"#);
    }

    #[test]
    fn surplus_parenthesis() {
        assert_snapshot!(expr(r#"a + b)"#), @r#"line 1, column 6: expected an operator or the end, found `)`; no `(` is open here"#);
    }

    #[test]
    fn wrong_bracket() {
        assert_snapshot!(expr(r#"{ 1, 2 ]"#), @r#"line 1, column 8: expected `}` to close the `{` of line 1, column 1, found `]`; write `}` instead"#);
    }

    #[test]
    fn reserved_word() {
        assert_snapshot!(ad(r#"[ Error = 1 ]"#), @r#"line 1, column 3: `Error` is a reserved word, not an attribute name; write `'Error'`"#);
    }

    #[test]
    fn reserved_word_after_a_dot() {
        assert_snapshot!(expr(r#"job.is"#), @r#"line 1, column 5: `is` is a reserved word, not an attribute name; write `'is'`"#);
    }

    #[test]
    fn missing_semicolon() {
        assert_snapshot!(ad("[ Cpus = 4\n  Memory = 2 ]"), @r#"line 2, column 3: missing `;` before the attribute `Memory`; end each attribute with `;`"#);
    }

    #[test]
    fn comma_between_attributes() {
        assert_snapshot!(ad(r#"[ Cpus = 4, Memory = 2 ]"#), @r#"line 1, column 11: expected `]` to close the `[` of line 1, column 1, found `,`; separate attributes with `;`"#);
    }

    #[test]
    fn colon_equals() {
        assert_snapshot!(ad(r#"[ Cpus := 4 ]"#), @r#"line 1, column 8: there is no `:=`; write `=` after the attribute name"#);
    }

    #[test]
    fn no_ad() {
        assert_snapshot!(ad(r#"Cpus = 4"#), @r#"line 1, column 1: expected an ad in brackets, found `Cpus`; write `[ Name = value; ... ]`"#);
    }

    #[test]
    fn elif() {
        assert_snapshot!(expr(r#"a > 1 ? 2 elif a > 0 ? 1 : 0"#), @r#"line 1, column 11: `elif` is not an operator; write `condition ? a : b`; a chain is `c1 ? a : c2 ? b : c`"#);
    }

    #[test]
    fn if_then() {
        assert_snapshot!(expr(r#"if a then b"#), @r#"line 1, column 1: `if` is not an operator; write `condition ? a : b`"#);
    }

    #[test]
    fn half_a_conditional() {
        assert_snapshot!(expr(r#"a ? b"#), @r#"line 1, column 6: expected `:` and the value otherwise, found the end of the text; write `condition ? a : b`"#);
    }

    #[test]
    fn empty() {
        assert_snapshot!(expr(r#""#), @r#"line 1, column 1: expected an expression, found the end of the text; write one, such as `true`"#);
    }

    #[test]
    fn operator_at_the_end() {
        assert_snapshot!(expr(r#"a &&"#), @r#"line 1, column 5: expected an expression, found the end of the text; an operator needs an expression on either side"#);
    }

    #[test]
    fn two_operands() {
        assert_snapshot!(expr(r#"a 5"#), @r#"line 1, column 3: there is no operator between `a` and the number `5`; write an operator between them, such as `==` or `&&`"#);
    }

    #[test]
    fn calling_a_selection() {
        assert_snapshot!(expr(r#"a.size(b)"#), @r#"line 1, column 7: there is no operator between `size` and `(`; only a name can be called"#);
    }

    #[test]
    fn comment() {
        assert_snapshot!(expr(r#"a /* b"#), @r#"line 1, column 3: comment is not closed; write `*/` where it ends"#);
    }

    #[test]
    fn hash() {
        assert_snapshot!(ad("# machine\n[ a = 1 ]"), @r#"line 1, column 1: unexpected character `#`; comments begin with `//`"#);
    }

    #[test]
    fn macro_() {
        assert_snapshot!(expr(r#"$(Memory) > 2"#), @r#"line 1, column 1: unexpected character `$`; macros such as `$(x)` are not expanded here; write the attribute's name"#);
    }

    #[test]
    fn quoted_time() {
        assert_snapshot!(ad(r#"[ Start = '00:15' ]"#), @r#"line 1, column 11: `'00:15'` looks like a time, but single quotes make it an attribute name; write `relTime("00:15:00")`, which is 900 seconds"#);
    }

    #[test]
    fn quoted_date() {
        assert_snapshot!(expr(r#"QDate > 'Mon Feb 28 14:22:22 2000'"#), @r#"line 1, column 9: `'Mon Feb 28 14:22:22 2000'` looks like a time, but single quotes make it an attribute name; write `absTime("2000-02-28T14:22:22Z")` for an instant, `"..."` for a string"#);
    }

    #[test]
    fn bad_time() {
        assert_snapshot!(expr(r#"absTime("noon")"#), @r#"line 1, column 1: `noon` is not a valid time for `absTime`; write `absTime("2004-01-31T12:34:56Z")`"#);
    }

    #[test]
    fn nul() {
        assert_snapshot!(expr(r#""a\0""#), @r#"line 1, column 3: escape stands for the character NUL, which strings and names cannot contain; remove it"#);
        assert_snapshot!(expr("\"a\0\""), @r#"line 1, column 3: found the character NUL, which strings and names cannot contain; remove it"#);
        assert_snapshot!(json(r#"{"A": "a\u0000"}"#), @r#"line 1, column 9: escape stands for the character NUL, which strings and names cannot contain; remove it"#);
        assert_snapshot!(json("{\"A\0\": 1}"), @r#"line 1, column 4: found the character NUL, which strings and names cannot contain; remove it"#);
    }

    #[test]
    fn semicolon_between_arguments() {
        assert_snapshot!(expr(r#"strcat("a"; "b")"#), @r#"line 1, column 11: expected `)` to close the `(` of line 1, column 7, found `;`; write `)` before it, or `,` to go on"#);
    }

    #[test]
    fn deep() {
        assert_snapshot!(expr(&"(".repeat(200)), @r#"line 1, column 167: expression is nested too deeply; at most 165 brackets may be open"#);
    }

    #[test]
    fn unknown_function() {
        assert_snapshot!(expr(r#"stringlistmembr("a", "a,b")"#), @r#"warning: line 1, column 1: there is no function `stringlistmembr`; did you mean `stringListMember`?"#);
    }

    #[test]
    fn argument_count() {
        assert_snapshot!(expr(r#"size()"#), @r#"warning: line 1, column 1: `size` takes 1 argument, not 0"#);
    }

    #[test]
    fn duplicate() {
        assert_snapshot!(ad(r#"[ Cpus = 1; cpus = 2 ]"#), @r#"warning: line 1, column 13: attribute `cpus` is given twice; this value replaces that of `Cpus`; remove one of them"#);
    }

    #[test]
    fn look_ahead() {
        assert_snapshot!(expr(r#"regexp("a(?!b)", x)"#), @r#"line 1, column 10: `(?!` is negative look-ahead, which is not supported; write a second condition: `regexp(a, x) && !regexp(b, x)`"#);
    }

    #[test]
    fn back_reference() {
        assert_snapshot!(expr(r#"regexp("(a|b)\\1", x)"#), @r#"line 1, column 8: `\1` is a back-reference, which is not supported; write the alternatives out: `(aa|bb)` instead of `([ab])\1`"#);
    }

    #[test]
    fn possessive_quantifier() {
        assert_snapshot!(expr(r#"regexp("a*+", x)"#), @r#"line 1, column 11: `+` is a possessive quantifier, which is not supported; leave out the second `+`"#);
    }

    #[test]
    fn atomic_group() {
        assert_snapshot!(expr(r#"regexps("(?>a)", x, "b")"#), @r#"line 1, column 10: `(?>` is an atomic group, which is not supported; write `(?:...)`: matching takes linear time without it"#);
    }

    #[test]
    fn end_before_a_newline() {
        assert_snapshot!(expr(r#"regexp("a\\Z", x)"#), @r#"line 1, column 8: `\Z` is an anchor before a last newline, which is not supported; write `\\n?\\z`"#);
    }

    #[test]
    fn substitution_at_the_end() {
        assert_snapshot!(expr(r#"replace("a$", x, "b")"#), @r#"warning: line 1, column 11: `a$` matches at the very end only, not before a last newline as in HTCondor; write `\\n?$` if the text may end with a newline"#);
    }

    #[test]
    fn broken_pattern() {
        assert_snapshot!(expr(r#"regexp("a(b", x)"#), @r#"warning: line 1, column 9: `a(b` is not a supported pattern; check its brackets and escapes; a pattern has at most 1024 bytes"#);
    }

    #[test]
    fn null() {
        assert_snapshot!(ad(r#"[ a = 1; b = None c ]"#), @r#"line 1, column 19: there is no operator between `None` and `c`; write an operator between them, such as `==` or `&&`"#);
    }

    #[test]
    fn percent() {
        assert_snapshot!(expr(r#"LoadAvg < 30%"#), @r#"line 1, column 14: expected an expression, found the end of the text; `%` is the remainder of a division; write 30 percent as `0.3`"#);
    }

    #[test]
    fn increment() {
        assert_snapshot!(expr(r#"a &&& b"#), @r#"line 1, column 5: there is no operator `&&&`; write `&&`"#);
    }

    #[test]
    fn json_colon() {
        assert_snapshot!(ad(r#"[ Cpus: 4 ]"#), @r#"line 1, column 7: expected `=` after the attribute name, found `:`; write `Name = value;`"#);
    }

    #[test]
    fn no_value() {
        assert_snapshot!(ad(r#"[ Cpus = ; Memory = 2 ]"#), @r#"line 1, column 10: expected an expression, found `;`; write a value after `=`, or remove the attribute"#);
    }

    #[test]
    fn stray_bracket_far_away() {
        assert_snapshot!(ad("[ a = (1;\n b = 2;\n c = 3;\n d = 4;\n e = 5;\n f = 6;\n g = 7;\n h = 8;\n i = 9;\n j = 10;\n k = 11) ]"), @r#"line 1, column 9: expected `)` to close the `(` of line 1, column 7, found `;`; write `)` before it, or `,` to go on"#);
    }

    #[test]
    fn bracket_missing_at_the_end() {
        assert_snapshot!(ad("[ a = 1;\n b = [ c = 2;\n d = 3;\n e = 4 ]"), @r#"line 4, column 9: expected `]` to close the `[` of line 1, column 1, found the end of the text; write `]` where it should end"#);
    }

    #[test]
    fn rendered_with_its_line() {
        assert_snapshot!(rendered("[\n    Memory = 28Mb;\n    Requirements = other.Arch == \u{201c}INTEL\u{201d} and true;\n]"), @r#"
        error[number-suffix]: `28Mb`: a number cannot end in `Mb`
         --> job.ad:2:14
          |
        2 |     Memory = 28Mb;
          |              ^^^^
          |
          = help: write `28Mi`, in powers of 1024
        error[unexpected-character]: unexpected character `“`
         --> job.ad:3:34
          |
        3 |     Requirements = other.Arch == “INTEL” and true;
          |                                  ^
          |
          = help: write straight double quotes, `"`
        error[unexpected-character]: unexpected character `”`
         --> job.ad:3:40
          |
        3 |     Requirements = other.Arch == “INTEL” and true;
          |                                        ^
          |
          = help: write straight double quotes, `"`
        "#);
    }

    #[test]
    fn rendered_with_both_places() {
        let source = "[ Requirements = other.Memory > 5\n    && other.Arch == \"a\"\n    && other.Memory < 3 ]";
        let ad = classad::parse_ad(source, Dialect::Gangmatch).unwrap();
        assert_snapshot!(render(&lint_ad(&ad, source, &[]), source, "job.ad", Colour::Never), @r#"
        warning[contradiction]: `other.Memory < 3` is never true where `other.Memory > 5` of line 1, column 18 is, and both must be
         --> job.ad:3:8
          |
        1 | [ Requirements = other.Memory > 5
          |                  ---------------- excludes the other
        2 |     && other.Arch == "a"
        3 |     && other.Memory < 3 ]
          |        ^^^^^^^^^^^^^^^^
          |
          = help: write `||` if either may hold, or change one of the two
        "#);
    }

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        let found = read_expr("a and b", Dialect::Gangmatch).diagnostics;
        assert!(render(&found, "a and b", "-", Colour::Always).contains("\u{1b}["));
        assert!(!render(&found, "a and b", "-", Colour::Never).contains('\u{1b}'));
        let wanted = |setting: Option<&str>, output| Colour::wanted(setting.map(std::ffi::OsStr::new), output);
        assert_eq!(wanted(None, Output::Terminal), Colour::Always);
        assert_eq!(wanted(Some(""), Output::Terminal), Colour::Always);
        assert_eq!(wanted(Some("1"), Output::Terminal), Colour::Never);
        assert_eq!(wanted(None, Output::File), Colour::Never);
    }

    #[test]
    fn several_at_once() {
        assert_snapshot!(ad("[ a = 1 +;\n  b = 2;\n  c = x and y;\n  = 3;\n  d = 08 ]"), @r#"
        line 1, column 10: expected an expression, found `;`; an operator needs an expression on either side
        line 3, column 9: `and` is not an operator; write `&&`
        line 4, column 3: expected an attribute name, found `=`; write `Name = value;`
        line 5, column 7: `08` begins with a zero, but there are no octal numbers; write `8`
        "#);
    }

    #[test]
    fn long_form() {
        assert_snapshot!(long("Cpus = 4\nMemory 2048\nArch = \"INTEL\" or\n"), @r#"
        line 2, column 1: this line is not an attribute; write `Name = value`, or put the ad in brackets: `[ Name = value ]`
        line 3, column 16: `or` is not an operator; write `||`
        "#);
    }

    #[test]
    fn json_form() {
        assert_snapshot!(json(r#"{"Cpus": 4, "Rank": "/Expr(a b)/"}"#), @r#"line 1, column 30: attribute `Rank`: there is no operator between `a` and `b`; write an operator between them, such as `==` or `&&`"#);
    }

    #[test]
    fn json_broken() {
        assert_snapshot!(json(r#"{"Cpus": 4,}"#), @r#"line 1, column 11: comma before the end; remove the comma"#);
        assert_snapshot!(json(r#"{"Cpus" = 4}"#), @r#"line 1, column 9: expected `:` after the attribute name, found `=`; JSON has `:` between name and value"#);
        assert_snapshot!(json(r#"{"Cpus": 4; "Disk": 1}"#), @r#"line 1, column 11: expected `,` or the `}` for `{` of line 1, column 1, found `;`; JSON has `,` between attributes"#);
        assert_snapshot!(json(r#"{"Cpus": x > 4}"#), @r#"line 1, column 10: expected a value, found `x`; write an expression as `"/Expr(...)/"`, a string with `"` around it"#);
        assert_snapshot!(json(r#"{Cpus: 4}"#), @r#"line 1, column 2: expected an attribute name in double quotes, found `Cpus`; write `"` around names"#);
        assert_snapshot!(json(r#"{"Cpus": 010}"#), @r#"line 1, column 10: expected a value, found `010`; write numbers as `1`, `-0.5` or `1e3`"#);
        assert_snapshot!(json(r#"{"Cpus": 'a'}"#), @r#"line 1, column 10: expected a value, found `'`; write `"` around strings"#);
        assert_snapshot!(json("{\"A\": \"a\nb\"}"), @r#"line 1, column 9: a string of JSON cannot hold a line break or another control character; write `\u000a`"#);
        assert_snapshot!(json(r#"{"A": "\x41"}"#), @r#"line 1, column 8: `\x` is not a valid escape sequence; JSON has the escapes \" \\ \/ \b \f \n \r \t and \u0041"#);
        assert_snapshot!(json(r#"{"A": "a"#), @r#"line 1, column 7: missing closing quote: the string that begins here does not end; write `"` where it ends; a `"` inside is written `\"`"#);
        assert_snapshot!(json(r#"{"A": 1} {"B": 2}"#), @r#"line 1, column 10: expected the end of the text, found `{`"#);
        assert_snapshot!(json(r#"{"A": 9223372036854775808}"#), @r#"line 1, column 7: attribute `A`: `9223372036854775808` does not fit an integer of 64 bits; write `9223372036854775808.0`"#);
        assert_snapshot!(json(r#"{"": 1, "00:15": 2}"#), @r#"line 1, column 2: the attribute has no name"#);
    }

    #[test]
    fn json_twice() {
        assert_snapshot!(json(r#"{"Cpus": 4, "CPUS": 5}"#), @r#"warning: line 1, column 13: attribute `CPUS` is given twice; this value replaces that of `Cpus`; remove one of them"#);
    }

    #[test]
    fn forms_that_are_not_read() {
        assert_snapshot!(long("apiVersion: v1\n"), @"line 1, column 1: this line is not an attribute; it looks like YAML; pass only the ad of a manifest, or write `Name = value`");
        assert_snapshot!(long("<c><a n=\"A\"><i>1</i></a></c>"), @"line 1, column 1: this line is not an attribute; the XML form is not supported; pass the output of `condor_status -long`");
    }

    #[test]
    fn unit_apart() {
        assert_snapshot!(expr("Memory > 4 GB"), @"line 1, column 12: there is no operator between `4` and `GB`; write `4Gi`, in powers of 1024");
    }

    #[test]
    fn second_ad() {
        assert_snapshot!(long("A = 1\n\nA = 2\nB = 1\n"), @r#"line 3, column 1: a second ad begins here, since an empty line ends an ad; remove the empty line, or keep one of the ads"#);
    }

    #[test]
    fn a_flood_of_mistakes_is_cut_and_long_lines_are_not_shown_whole() {
        let count = |text: &str| classad::read_ads(text, Dialect::Gangmatch).diagnostics.len();
        assert_eq!(count(&"@".repeat(100_000)), 40);
        assert_eq!(count(&"a = 1\n".repeat(100_000)), 40);
        assert_eq!(count(&format!("{{{}\"a\":1}}", "\"a\":1,".repeat(100_000))), 40);
        // Errors come through, however many warnings there are.
        let text = format!("[ {} b = ]", "a = sise(1); ".repeat(1000));
        let reading = classad::read_ads(&text, Dialect::Gangmatch);
        assert!(reading.read.is_none() && reading.diagnostics.iter().any(|one| one.severity == Severity::Error));
        let last = reading.diagnostics.last().unwrap().clone();
        assert_snapshot!(render(&[last], &text, "job.ad", Colour::Never), @r"
        error[unexpected-token]: expected an expression, found `]`
        --> job.ad:1:13008
         = note: the line is long; there it goes on `]`
         = help: write a value after `=`, or remove the attribute
        ");
    }

    #[test]
    fn codes_positions_and_spans_are_stable() {
        let reading = read_ad("[ é = 1 ]\n", Dialect::Gangmatch, Form::Any);
        assert!(reading.read.is_none());
        let one = &reading.diagnostics[0];
        assert_eq!((one.code, one.position.line, one.position.column), ("unexpected-character", 1, 3));
        assert_eq!((one.span.start, one.span.end), (2, 4));
        let reading = read_expr("\"é\" +\n  )", Dialect::Gangmatch);
        let one = &reading.diagnostics[0];
        assert_eq!((one.code, one.position.line, one.position.column), ("unexpected-token", 2, 3));
    }

    #[test]
    fn the_stricter_dialect_reads_suffixes() {
        let parse = |text| classad::parse_expr(text, Dialect::Gangmatch).map(|expr| expr.to_string());
        let cases = [
            ("28M", "29360128.0"),
            ("28Mi", "29360128"),
            ("1.5k", "1536.0"),
            ("1.5Ki", "1536.0"),
            ("-2G", "-2147483648.0"),
            ("3Ti", "3298534883328"),
        ];
        for (text, printed) in cases {
            assert_eq!(parse(text).as_deref(), Ok(printed), "{text}");
        }
        for text in ["28m", "28MiB", "28B", "1e3x", "9007199254740992Ti"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(classad::parse_expr("28M", Dialect::Htcondor).is_err());
        assert!(classad::parse_expr("'00:15'", Dialect::Htcondor).is_ok());
    }

    #[test]
    fn warnings_do_not_refuse() {
        let reading = read_ad("[ a = 1; A = 'b' ]", Dialect::Gangmatch, Form::Any);
        assert_eq!(
            reading.diagnostics.iter().map(|one| one.code).collect::<Vec<_>>(),
            ["duplicate-attribute", "needless-quotes"]
        );
        assert_eq!(reading.read.map(|ad| ad.to_string()).as_deref(), Some("[ a = b ]"));
    }

    #[test]
    fn the_three_forms_are_told_apart_and_agree() {
        let read = |text: &str| classad::read_ad(text, Dialect::Gangmatch, classad::Form::Any).into_result();
        let brackets =
            read("// x\n[ A = 1; S = \"a\\\"b\\\\c\"; L = { 1,B }; N = [ c = 2 ]; R = A + 1; U = undefined ]");
        let long = read("# x\nA = 1\nS = \"a\\\"b\\c\"\nL = {1, B}\nN = [c = 2]\nR = A + 1\nU = undefined\n");
        let json = read(
            r#" {"A": 1, "S": "a\"b\\c", "L": [1, "\/Expr(B)\/"], "N": {"c": 2}, "R": "\/Expr(A + 1)\/", "U": null}"#,
        );
        assert_eq!(brackets, long);
        assert_eq!(brackets, json);
        assert_eq!(classad::parse_json(&json.unwrap().to_json(), Dialect::Gangmatch), brackets);
    }
}
