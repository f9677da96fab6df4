//! Every built-in function in one table.

use crate::builtins::arguments::argument;
use crate::builtins::{
    aggregate, convert, environment, list, number, reflect, regexp, string, stringlist, time, version,
};
use crate::eval::builtin::{Arity, Body, Builtin, OfExprs, OfValues};
use crate::eval::lazy::Lazy;
use crate::expr::BinaryOp;
use crate::name;

/// The maximum of arguments where there is none.
const ANY: usize = usize::MAX;

const fn entry(name: &'static str, min: usize, max: usize, doc: &'static str, body: Body) -> Builtin {
    Builtin { name, arity: Arity { min, max: if max == ANY { None } else { Some(max) } }, doc, pure: true, body }
}

/// A predicate on one value.
const fn test(name: &'static str, doc: &'static str, body: fn(&Lazy<'_>) -> bool) -> Builtin {
    entry(name, 1, 1, doc, Body::Test(body))
}

/// A function of values.
const fn values(name: &'static str, min: usize, max: usize, doc: &'static str, body: OfValues) -> Builtin {
    entry(name, min, max, doc, Body::Values(body))
}

/// A function of expressions.
const fn exprs(name: &'static str, min: usize, max: usize, doc: &'static str, body: OfExprs) -> Builtin {
    entry(name, min, max, doc, Body::Exprs(body))
}

/// A function of values and of the context: the time, files.
const fn timely(name: &'static str, min: usize, max: usize, doc: &'static str, body: OfValues) -> Builtin {
    Builtin { pure: false, ..values(name, min, max, doc, body) }
}

/// A function of expressions that depends on the context, or on expressions that are not its arguments.
const fn reflective(name: &'static str, min: usize, max: usize, doc: &'static str, body: OfExprs) -> Builtin {
    Builtin { pure: false, ..exprs(name, min, max, doc, body) }
}

/// The built-in functions, by subject.
pub const BUILTINS: &[Builtin] = &[
    // Types
    test("isUndefined", "Whether the value is undefined.", |value| matches!(value, Lazy::Undefined)),
    test("isError", "Whether the value is error.", |value| matches!(value, Lazy::Error)),
    test("isString", "Whether the value is a string.", |value| matches!(value, Lazy::String(_))),
    test("isInteger", "Whether the value is an integer.", |value| matches!(value, Lazy::Integer(_))),
    test("isReal", "Whether the value is a real; an integer is not a real.", |value| matches!(value, Lazy::Real(_))),
    test("isList", "Whether the value is a list.", |value| matches!(value, Lazy::List(_))),
    test("isClassAd", "Whether the value is an ad.", |value| matches!(value, Lazy::Ad(_))),
    test("isBoolean", "Whether the value is a boolean.", |value| matches!(value, Lazy::Boolean(_))),
    test("isAbsTime", "Whether the value is an absolute time.", |value| matches!(value, Lazy::AbsTime { .. })),
    test("isRelTime", "Whether the value is a relative time.", |value| matches!(value, Lazy::RelTime(_))),
    values("int", 1, 1, "The value as an integer, without its fraction.", |_, it| {
        Ok(convert::integer(argument(it, 0)))
    }),
    values("real", 1, 1, "The value as a real.", convert::real),
    values("string", 1, 1, "The value as text.", convert::string),
    values("bool", 1, 1, "The value as a boolean: numbers other than zero and `\"true\"` are true.", convert::boolean),
    // Choice
    exprs("ifThenElse", 3, 3, "The second argument if the first is true, else the third.", reflect::if_then_else),
    // Lists
    values("size", 1, 1, "The number of elements, attributes or bytes.", list::size),
    values("member", 2, 2, "Whether some element of the list `==` the value.", list::member),
    values("identicalMember", 2, 2, "Whether some element of the list `is` the value.", list::identical_member),
    values("anyCompare", 3, 3, "Whether some element satisfies the comparison with the value.", |evaluator, it| {
        list::compare_each(evaluator, it, true)
    }),
    values("allCompare", 3, 3, "Whether every element satisfies the comparison with the value.", |evaluator, it| {
        list::compare_each(evaluator, it, false)
    }),
    values("sum", 1, 1, "The sum of a list of numbers.", aggregate::sum),
    values("avg", 1, 1, "The mean of a list of numbers.", aggregate::avg),
    values("min", 1, 1, "The smallest number of a list.", |evaluator, it| {
        aggregate::extreme(evaluator, it, BinaryOp::Less)
    }),
    values("max", 1, 1, "The largest number of a list.", |evaluator, it| {
        aggregate::extreme(evaluator, it, BinaryOp::Greater)
    }),
    values("split", 1, 2, "The items of a string as a list.", stringlist::split),
    values("join", 0, ANY, "The items as one string, with the separator between them.", string::join),
    // Numbers
    values("floor", 1, 1, "The largest integer not above the number.", |_, it| number::rounded(it, f64::floor)),
    values("ceil", 1, 1, "The smallest integer not below the number.", |_, it| number::rounded(it, f64::ceil)),
    values("ceiling", 1, 1, "The smallest integer not below the number.", |_, it| number::rounded(it, f64::ceil)),
    values("round", 1, 1, "The nearest integer; a tie goes to the even one.", |_, it| {
        number::rounded(it, f64::round_ties_even)
    }),
    values("pow", 2, 2, "The first number to the power of the second.", number::pow),
    values("quantize", 2, 2, "The next multiple of a number, or the next number of a list.", number::quantize),
    reflective("random", 0, 1, "A number from 0 up to the argument, or up to 1.", number::random),
    // Strings
    values("strcat", 0, ANY, "The arguments as one string.", string::strcat),
    values("toUpper", 1, 1, "The text in upper case.", |evaluator, it| {
        string::changed(evaluator, it, str::to_ascii_uppercase)
    }),
    values("toLower", 1, 1, "The text in lower case.", |evaluator, it| {
        string::changed(evaluator, it, str::to_ascii_lowercase)
    }),
    values("substr", 2, 3, "The part of the text from an offset on, up to a length.", string::substr),
    values("strcmp", 2, 2, "-1, 0 or 1 if the first text is before, equal to or after the second.", |evaluator, it| {
        string::compared(evaluator, it, str::cmp)
    }),
    values("stricmp", 2, 2, "As strcmp, but ignoring case.", |evaluator, it| {
        string::compared(evaluator, it, name::compare)
    }),
    values(
        "versioncmp",
        2,
        2,
        "A number below 0, 0 or a number above 0 if the first version is before, equal to or after the second.",
        |evaluator, it| version::ordered(evaluator, it, Lazy::Integer),
    ),
    values("versionLT", 2, 2, "Whether the first version is before the second.", |evaluator, it| {
        version::ordered(evaluator, it, |order| (order < 0).into())
    }),
    values("versionLE", 2, 2, "Whether the first version is not after the second.", |evaluator, it| {
        version::ordered(evaluator, it, |order| (order <= 0).into())
    }),
    values("versionGT", 2, 2, "Whether the first version is after the second.", |evaluator, it| {
        version::ordered(evaluator, it, |order| (order > 0).into())
    }),
    values("versionGE", 2, 2, "Whether the first version is not before the second.", |evaluator, it| {
        version::ordered(evaluator, it, |order| (order >= 0).into())
    }),
    values("versionEQ", 2, 2, "Whether both versions are equal.", |evaluator, it| {
        version::ordered(evaluator, it, |order| (order == 0).into())
    }),
    values(
        "version_in_range",
        3,
        3,
        "Whether the version is not before the second and not after the third.",
        version::in_range,
    ),
    // Regular expressions
    exprs("regexp", 2, 3, "Whether the pattern matches somewhere in the text.", regexp::regexp),
    exprs("regexpMember", 2, 3, "Whether the pattern matches some element of the list.", regexp::regexp_member),
    exprs("regexps", 3, 4, "The substitute for the first match of the pattern.", regexp::regexps),
    exprs("replace", 3, 4, "The text with the first match replaced.", regexp::replace),
    exprs("replaceAll", 3, 4, "The text with every match replaced.", regexp::replace_all),
    // Strings that are lists
    values("stringListSize", 1, 2, "The number of items in the string.", stringlist::size),
    values("stringListSum", 1, 2, "The sum of the items.", stringlist::sum),
    values("stringListAvg", 1, 2, "The mean of the items.", stringlist::avg),
    values("stringListMin", 1, 2, "The smallest item.", |evaluator, it| stringlist::extreme(evaluator, it, f64::min)),
    values("stringListMax", 1, 2, "The largest item.", |evaluator, it| stringlist::extreme(evaluator, it, f64::max)),
    values("stringListMember", 2, 3, "Whether the string contains the item.", |evaluator, it| {
        stringlist::member(evaluator, it, str::eq)
    }),
    values("stringListIMember", 2, 3, "As stringListMember, but ignoring case.", |evaluator, it| {
        stringlist::member(evaluator, it, str::eq_ignore_ascii_case)
    }),
    values("stringListsIntersect", 2, 3, "Whether the strings have an item in common.", stringlist::intersect),
    values(
        "stringListSubsetMatch",
        2,
        3,
        "Whether the second string contains every item of the first.",
        |evaluator, it| stringlist::subset(evaluator, it, str::eq),
    ),
    values("stringListISubsetMatch", 2, 3, "As stringListSubsetMatch, but ignoring case.", |evaluator, it| {
        stringlist::subset(evaluator, it, str::eq_ignore_ascii_case)
    }),
    exprs(
        "stringList_regexpMember",
        2,
        4,
        "Whether the pattern matches an item of the string.",
        regexp::string_list_regexp_member,
    ),
    // Times
    timely("time", 0, 0, "The time, in seconds since 1970.", time::now),
    timely("currentTime", 0, 0, "The time, as an absolute time.", time::current_time),
    timely("dayTime", 0, 0, "The time since local midnight.", time::day_time),
    timely("timeZoneOffset", 0, 0, "How far the local time zone is ahead of UTC.", time::time_zone_offset),
    timely("absTime", 0, 2, "The absolute time of a text or a number of seconds.", time::abs_time),
    values("relTime", 1, 1, "The relative time of a text or a number of seconds.", time::rel_time),
    timely("getYear", 1, 1, "The year.", |evaluator, it| time::field(evaluator, it, |date| Some(date.year), |_| None)),
    timely("getMonth", 1, 1, "The month, from 1.", |evaluator, it| {
        time::field(evaluator, it, |date| Some(date.month), |_| None)
    }),
    timely("getDayOfYear", 1, 1, "The day of the year, from 0.", |evaluator, it| {
        time::field(evaluator, it, |date| Some(date.day_of_year), |_| None)
    }),
    timely("getDayOfMonth", 1, 1, "The day of the month, from 1.", |evaluator, it| {
        time::field(evaluator, it, |date| Some(date.day), |_| None)
    }),
    timely("getDayOfWeek", 1, 1, "The day of the week, Sunday is 0.", |evaluator, it| {
        time::field(evaluator, it, |date| Some(date.day_of_week), |_| None)
    }),
    timely("getDays", 1, 1, "The days of a relative time.", |evaluator, it| {
        time::field(evaluator, it, |_| None, |[days, ..]| Some(*days))
    }),
    timely("getHours", 1, 1, "The hours of a time.", |evaluator, it| {
        time::field(evaluator, it, |date| Some(date.hour), |[_, hours, ..]| Some(*hours))
    }),
    timely("getMinutes", 1, 1, "The minutes of a time.", |evaluator, it| {
        time::field(evaluator, it, |date| Some(date.minute), |[.., minutes, _]| Some(*minutes))
    }),
    timely("getSeconds", 1, 1, "The seconds of a time.", |evaluator, it| {
        time::field(evaluator, it, |date| Some(date.second), |[.., seconds]| Some(*seconds))
    }),
    timely("splitTime", 1, 1, "The fields of a time, as an ad.", time::split_time),
    timely("formatTime", 0, 2, "The time as text, as strftime writes it.", time::format_time),
    values("interval", 1, 1, "Seconds as `days+hours:minutes:seconds`.", time::interval),
    // Expressions
    reflective("eval", 1, 1, "The value of a text as an expression.", reflect::eval),
    reflective("unparse", 1, 1, "The text of an attribute's expression.", reflect::unparse),
    reflective(
        "unresolved",
        1,
        2,
        "The names that an attribute's expression needs and the ad lacks.",
        reflect::unresolved,
    ),
    exprs("debug", 1, 1, "The value itself.", reflect::debug),
    reflective(
        "evalInEachContext",
        2,
        2,
        "The values of an expression in the ads of a list.",
        reflect::eval_in_each_context,
    ),
    reflective(
        "countMatches",
        2,
        2,
        "The number of ads in a list for which an expression is true.",
        reflect::count_matches,
    ),
    // HTCondor's strings
    values("envV1ToV2", 1, 1, "An environment, converted from the old form to the new one.", environment::env_v1_to_v2),
    values(
        "mergeEnvironment",
        0,
        ANY,
        "The combined environments; later settings replace earlier ones.",
        environment::merge_environment,
    ),
    values("listToArgs", 1, 2, "A list of words as one line of arguments.", environment::list_to_args),
    values("argsToList", 1, 2, "A line of arguments as a list of words.", environment::args_to_list),
    values("splitUserName", 1, 1, "`user@domain` as a list of two.", string::split_user_name),
    values("splitSlotName", 1, 1, "`slot@host` as a list of two.", string::split_slot_name),
    timely(
        "userHome",
        1,
        2,
        "The home directory of a user; in gangmatch, the default or undefined.",
        environment::user_home,
    ),
    timely(
        "userMap",
        2,
        4,
        "The entry of a user in a map; in gangmatch, the default or undefined.",
        environment::user_map,
    ),
];

/// The function that evaluates `relTime("...")` in HTCondor's dialect; in the manual it is the function of that name.
pub(crate) static REL_TIME_LITERAL: Builtin =
    values("relTime", 1, 1, "The seconds of a relative time.", time::rel_time_as_real);
