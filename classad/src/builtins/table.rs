//! Every built-in function in one table.

use crate::builtins::arguments::argument;
use crate::builtins::{
    aggregate, convert, environment, list, number, reflect, regexp, string, stringlist, time, version,
};
use crate::eval::builtin::Body::{Exprs, Test, Values};
use crate::eval::builtin::{Arity, Body, Builtin};
use crate::eval::lazy::Lazy;
use crate::expr::BinaryOp;
use crate::name;

const fn entry(name: &'static str, min: usize, max: usize, doc: &'static str, body: Body) -> Builtin {
    Builtin { name, arity: Arity { min, max: Some(max) }, doc, pure: true, body }
}

/// A function that depends on more than the values of its arguments.
const fn impure(name: &'static str, min: usize, max: usize, doc: &'static str, body: Body) -> Builtin {
    Builtin { name, arity: Arity { min, max: Some(max) }, doc, pure: false, body }
}

const fn variadic(name: &'static str, min: usize, doc: &'static str, body: Body) -> Builtin {
    Builtin { name, arity: Arity { min, max: None }, doc, pure: true, body }
}

/// A predicate on one value.
const fn test(name: &'static str, doc: &'static str, holds: fn(&Lazy<'_>) -> bool) -> Builtin {
    entry(name, 1, 1, doc, Test(holds))
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
    entry(
        "int",
        1,
        1,
        "The value as an integer, without its fraction.",
        Values(|_, it| Ok(convert::integer(argument(it, 0)))),
    ),
    entry("real", 1, 1, "The value as a real.", Values(convert::real)),
    entry("string", 1, 1, "The value as text.", Values(convert::string)),
    entry(
        "bool",
        1,
        1,
        "The value as a boolean: numbers other than zero and `\"true\"` are true.",
        Values(convert::boolean),
    ),
    // Choice
    entry(
        "ifThenElse",
        3,
        3,
        "The second argument if the first is true, else the third.",
        Exprs(reflect::if_then_else),
    ),
    // Lists
    entry("size", 1, 1, "The number of elements, attributes or bytes.", Values(list::size)),
    entry("member", 2, 2, "Whether some element of the list `==` the value.", Values(list::member)),
    entry("identicalMember", 2, 2, "Whether some element of the list `is` the value.", Values(list::identical_member)),
    entry(
        "anyCompare",
        3,
        3,
        "Whether some element satisfies the comparison with the value.",
        Values(|evaluator, it| list::compare_each(evaluator, it, true)),
    ),
    entry(
        "allCompare",
        3,
        3,
        "Whether every element satisfies the comparison with the value.",
        Values(|evaluator, it| list::compare_each(evaluator, it, false)),
    ),
    entry("sum", 1, 1, "The sum of a list of numbers.", Values(aggregate::sum)),
    entry("avg", 1, 1, "The mean of a list of numbers.", Values(aggregate::avg)),
    entry(
        "min",
        1,
        1,
        "The smallest number of a list.",
        Values(|evaluator, it| aggregate::extreme(evaluator, it, BinaryOp::Less)),
    ),
    entry(
        "max",
        1,
        1,
        "The largest number of a list.",
        Values(|evaluator, it| aggregate::extreme(evaluator, it, BinaryOp::Greater)),
    ),
    entry("split", 1, 2, "The items of a string as a list.", Values(stringlist::split)),
    variadic("join", 0, "The items as one string, with the separator between them.", Values(string::join)),
    // Numbers
    entry("floor", 1, 1, "The largest integer not above the number.", Values(|_, it| number::rounded(it, f64::floor))),
    entry("ceil", 1, 1, "The smallest integer not below the number.", Values(|_, it| number::rounded(it, f64::ceil))),
    entry(
        "ceiling",
        1,
        1,
        "The smallest integer not below the number.",
        Values(|_, it| number::rounded(it, f64::ceil)),
    ),
    entry(
        "round",
        1,
        1,
        "The nearest integer; a tie goes to the even one.",
        Values(|_, it| number::rounded(it, f64::round_ties_even)),
    ),
    entry("pow", 2, 2, "The first number to the power of the second.", Values(number::pow)),
    entry("quantize", 2, 2, "The next multiple of a number, or the next number of a list.", Values(number::quantize)),
    impure("random", 0, 1, "A number from 0 up to the argument, or up to 1.", Exprs(number::random)),
    // Strings
    variadic("strcat", 0, "The arguments as one string.", Values(string::strcat)),
    entry(
        "toUpper",
        1,
        1,
        "The text in upper case.",
        Values(|evaluator, it| string::changed(evaluator, it, str::to_ascii_uppercase)),
    ),
    entry(
        "toLower",
        1,
        1,
        "The text in lower case.",
        Values(|evaluator, it| string::changed(evaluator, it, str::to_ascii_lowercase)),
    ),
    entry("substr", 2, 3, "The part of the text from an offset on, up to a length.", Values(string::substr)),
    entry(
        "strcmp",
        2,
        2,
        "-1, 0 or 1 if the first text is before, equal to or after the second.",
        Values(|evaluator, it| string::compared(evaluator, it, str::cmp)),
    ),
    entry(
        "stricmp",
        2,
        2,
        "As strcmp, but ignoring case.",
        Values(|evaluator, it| string::compared(evaluator, it, name::compare)),
    ),
    entry(
        "versioncmp",
        2,
        2,
        "-1, 0 or 1 if the first version is before, equal to or after the second.",
        Values(|evaluator, it| version::ordered(evaluator, it, Lazy::Integer)),
    ),
    entry(
        "versionLT",
        2,
        2,
        "Whether the first version is before the second.",
        Values(|evaluator, it| version::ordered(evaluator, it, |order| (order < 0).into())),
    ),
    entry(
        "versionLE",
        2,
        2,
        "Whether the first version is not after the second.",
        Values(|evaluator, it| version::ordered(evaluator, it, |order| (order <= 0).into())),
    ),
    entry(
        "versionGT",
        2,
        2,
        "Whether the first version is after the second.",
        Values(|evaluator, it| version::ordered(evaluator, it, |order| (order > 0).into())),
    ),
    entry(
        "versionGE",
        2,
        2,
        "Whether the first version is not before the second.",
        Values(|evaluator, it| version::ordered(evaluator, it, |order| (order >= 0).into())),
    ),
    entry(
        "versionEQ",
        2,
        2,
        "Whether both versions are equal.",
        Values(|evaluator, it| version::ordered(evaluator, it, |order| (order == 0).into())),
    ),
    entry(
        "version_in_range",
        3,
        3,
        "Whether the version is not before the second and not after the third.",
        Values(version::in_range),
    ),
    // Regular expressions
    entry("regexp", 2, 3, "Whether the pattern matches somewhere in the text.", Exprs(regexp::regexp)),
    entry("regexpMember", 2, 3, "Whether the pattern matches some element of the list.", Exprs(regexp::regexp_member)),
    entry("regexps", 3, 4, "The substitute for the first match of the pattern.", Exprs(regexp::regexps)),
    entry("replace", 3, 4, "The text with the first match replaced.", Exprs(regexp::replace)),
    entry("replaceAll", 3, 4, "The text with every match replaced.", Exprs(regexp::replace_all)),
    // Strings that are lists
    entry("stringListSize", 1, 2, "The number of items in the string.", Values(stringlist::size)),
    entry("stringListSum", 1, 2, "The sum of the items.", Values(stringlist::sum)),
    entry("stringListAvg", 1, 2, "The mean of the items.", Values(stringlist::avg)),
    entry(
        "stringListMin",
        1,
        2,
        "The smallest item.",
        Values(|evaluator, it| stringlist::extreme(evaluator, it, f64::min)),
    ),
    entry(
        "stringListMax",
        1,
        2,
        "The largest item.",
        Values(|evaluator, it| stringlist::extreme(evaluator, it, f64::max)),
    ),
    entry(
        "stringListMember",
        2,
        3,
        "Whether the string contains the item.",
        Values(|evaluator, it| stringlist::member(evaluator, it, str::eq)),
    ),
    entry(
        "stringListIMember",
        2,
        3,
        "As stringListMember, but ignoring case.",
        Values(|evaluator, it| stringlist::member(evaluator, it, str::eq_ignore_ascii_case)),
    ),
    entry("stringListsIntersect", 2, 3, "Whether the strings have an item in common.", Values(stringlist::intersect)),
    entry(
        "stringListSubsetMatch",
        2,
        3,
        "Whether the second string contains every item of the first.",
        Values(|evaluator, it| stringlist::subset(evaluator, it, str::eq)),
    ),
    entry(
        "stringListISubsetMatch",
        2,
        3,
        "As stringListSubsetMatch, but ignoring case.",
        Values(|evaluator, it| stringlist::subset(evaluator, it, str::eq_ignore_ascii_case)),
    ),
    entry(
        "stringList_regexpMember",
        2,
        4,
        "Whether the pattern matches an item of the string.",
        Exprs(regexp::string_list_regexp_member),
    ),
    // Times
    impure("time", 0, 0, "The time, in seconds since 1970.", Values(time::now)),
    impure("currentTime", 0, 0, "The time, as an absolute time.", Values(time::current_time)),
    impure("dayTime", 0, 0, "The time since local midnight.", Values(time::day_time)),
    impure("timeZoneOffset", 0, 0, "How far the local time zone is ahead of UTC.", Values(time::time_zone_offset)),
    impure("absTime", 0, 2, "The absolute time of a text or a number of seconds.", Values(time::abs_time)),
    entry("relTime", 1, 1, "The relative time of a text or a number of seconds.", Values(time::rel_time)),
    impure(
        "getYear",
        1,
        1,
        "The year.",
        Values(|evaluator, it| time::field(evaluator, it, |date| Some(date.year), |_| None)),
    ),
    impure(
        "getMonth",
        1,
        1,
        "The month, from 1.",
        Values(|evaluator, it| time::field(evaluator, it, |date| Some(date.month), |_| None)),
    ),
    impure(
        "getDayOfYear",
        1,
        1,
        "The day of the year, from 0.",
        Values(|evaluator, it| time::field(evaluator, it, |date| Some(date.day_of_year), |_| None)),
    ),
    impure(
        "getDayOfMonth",
        1,
        1,
        "The day of the month, from 1.",
        Values(|evaluator, it| time::field(evaluator, it, |date| Some(date.day), |_| None)),
    ),
    impure(
        "getDayOfWeek",
        1,
        1,
        "The day of the week, Sunday is 0.",
        Values(|evaluator, it| time::field(evaluator, it, |date| Some(date.day_of_week), |_| None)),
    ),
    impure(
        "getDays",
        1,
        1,
        "The days of a relative time.",
        Values(|evaluator, it| time::field(evaluator, it, |_| None, |[days, ..]| Some(*days))),
    ),
    impure(
        "getHours",
        1,
        1,
        "The hours of a time.",
        Values(|evaluator, it| time::field(evaluator, it, |date| Some(date.hour), |[_, hours, ..]| Some(*hours))),
    ),
    impure(
        "getMinutes",
        1,
        1,
        "The minutes of a time.",
        Values(|evaluator, it| time::field(evaluator, it, |date| Some(date.minute), |[.., minutes, _]| Some(*minutes))),
    ),
    impure(
        "getSeconds",
        1,
        1,
        "The seconds of a time.",
        Values(|evaluator, it| time::field(evaluator, it, |date| Some(date.second), |[.., seconds]| Some(*seconds))),
    ),
    impure("splitTime", 1, 1, "The fields of a time, as an ad.", Values(time::split_time)),
    impure("formatTime", 0, 2, "The time as text, as strftime writes it.", Values(time::format_time)),
    entry("interval", 1, 1, "Seconds as `days+hours:minutes:seconds`.", Values(time::interval)),
    // Expressions
    impure("eval", 1, 1, "The value of a text as an expression.", Exprs(reflect::eval)),
    impure("unparse", 1, 1, "The text of an attribute's expression.", Exprs(reflect::unparse)),
    impure(
        "unresolved",
        1,
        2,
        "The names that an attribute's expression needs and the ad lacks.",
        Exprs(reflect::unresolved),
    ),
    entry("debug", 1, 1, "The value itself.", Exprs(reflect::debug)),
    impure(
        "evalInEachContext",
        2,
        2,
        "The values of an expression in the ads of a list.",
        Exprs(reflect::eval_in_each_context),
    ),
    impure(
        "countMatches",
        2,
        2,
        "The number of ads in a list for which an expression is true.",
        Exprs(reflect::count_matches),
    ),
    // HTCondor's strings
    entry(
        "envV1ToV2",
        1,
        1,
        "An environment, converted from the old form to the new one.",
        Values(environment::env_v1_to_v2),
    ),
    variadic(
        "mergeEnvironment",
        0,
        "The combined environments; later settings replace earlier ones.",
        Values(environment::merge_environment),
    ),
    entry("listToArgs", 1, 2, "A list of words as one line of arguments.", Values(environment::list_to_args)),
    entry("argsToList", 1, 2, "A line of arguments as a list of words.", Values(environment::args_to_list)),
    entry("splitUserName", 1, 1, "`user@domain` as a list of two.", Values(string::split_user_name)),
    entry("splitSlotName", 1, 1, "`slot@host` as a list of two.", Values(string::split_slot_name)),
    impure(
        "userHome",
        1,
        2,
        "The home directory of a user; in gangmatch, the default or undefined.",
        Values(environment::user_home),
    ),
    impure(
        "userMap",
        2,
        4,
        "The entry of a user in a map; in gangmatch, the default or undefined.",
        Values(environment::user_map),
    ),
];

/// The function that evaluates `relTime("...")` in HTCondor's dialect; in the manual it is the function of that name.
pub(crate) static REL_TIME_LITERAL: Builtin =
    entry("relTime", 1, 1, "The seconds of a relative time.", Values(time::rel_time_as_real));
