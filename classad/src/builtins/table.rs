//! Every built-in function in one table.

use crate::builtins::Body::{Lazy, Values};
use crate::builtins::{
    Arity, Body, Builtin, aggregate, convert, environment, list, number, reflect, regexp, string, stringlist, time,
    version,
};

const fn entry(name: &'static str, min: usize, max: usize, doc: &'static str, body: Body) -> Builtin {
    Builtin { name, arity: Arity { min, max: Some(max) }, doc, body }
}

const fn variadic(name: &'static str, min: usize, doc: &'static str, body: Body) -> Builtin {
    Builtin { name, arity: Arity { min, max: None }, doc, body }
}

/// The built-in functions, by subject.
pub const BUILTINS: &[Builtin] = &[
    // Types
    entry("isUndefined", 1, 1, "Whether the value is undefined.", Values(convert::is_undefined)),
    entry("isError", 1, 1, "Whether the value is error.", Values(convert::is_error)),
    entry("isString", 1, 1, "Whether the value is a string.", Values(convert::is_string)),
    entry("isInteger", 1, 1, "Whether the value is an integer.", Values(convert::is_integer)),
    entry("isReal", 1, 1, "Whether the value is a real; an integer is not a real.", Values(convert::is_real)),
    entry("isList", 1, 1, "Whether the value is a list.", Values(convert::is_list)),
    entry("isClassAd", 1, 1, "Whether the value is an ad.", Values(convert::is_ad)),
    entry("isBoolean", 1, 1, "Whether the value is a boolean.", Values(convert::is_boolean)),
    entry("isAbsTime", 1, 1, "Whether the value is an absolute time.", Values(convert::is_abs_time)),
    entry("isRelTime", 1, 1, "Whether the value is a relative time.", Values(convert::is_rel_time)),
    entry("int", 1, 1, "The value as an integer, without its fraction.", Values(convert::int)),
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
    entry("ifThenElse", 3, 3, "The second argument if the first is true, else the third.", Lazy(reflect::if_then_else)),
    // Lists
    entry("size", 1, 1, "The number of elements, attributes or bytes.", Values(list::size)),
    entry("member", 2, 2, "Whether some element of the list `==` the value.", Values(list::member)),
    entry("identicalMember", 2, 2, "Whether some element of the list `is` the value.", Values(list::identical_member)),
    entry(
        "anyCompare",
        3,
        3,
        "Whether some element satisfies the comparison with the value.",
        Values(list::any_compare),
    ),
    entry(
        "allCompare",
        3,
        3,
        "Whether every element satisfies the comparison with the value.",
        Values(list::all_compare),
    ),
    entry("sum", 1, 1, "The sum of a list of numbers.", Values(aggregate::sum)),
    entry("avg", 1, 1, "The mean of a list of numbers.", Values(aggregate::avg)),
    entry("min", 1, 1, "The smallest number of a list.", Values(aggregate::min)),
    entry("max", 1, 1, "The largest number of a list.", Values(aggregate::max)),
    entry("split", 1, 2, "The items of a string as a list.", Values(stringlist::split)),
    variadic("join", 0, "The items as one string, with the separator between them.", Values(string::join)),
    // Numbers
    entry("floor", 1, 1, "The largest integer not above the number.", Values(number::floor)),
    entry("ceil", 1, 1, "The smallest integer not below the number.", Values(number::ceiling)),
    entry("ceiling", 1, 1, "The smallest integer not below the number.", Values(number::ceiling)),
    entry("round", 1, 1, "The nearest integer; a tie goes to the even one.", Values(number::round)),
    entry("pow", 2, 2, "The first number to the power of the second.", Values(number::pow)),
    entry("quantize", 2, 2, "The next multiple of a number, or the next number of a list.", Values(number::quantize)),
    entry("random", 0, 1, "A number from 0 up to the argument, or up to 1.", Lazy(number::random)),
    // Strings
    variadic("strcat", 0, "The arguments as one string.", Values(string::strcat)),
    entry("toUpper", 1, 1, "The text in upper case.", Values(string::to_upper)),
    entry("toLower", 1, 1, "The text in lower case.", Values(string::to_lower)),
    entry("substr", 2, 3, "The part of the text from an offset on, up to a length.", Values(string::substr)),
    entry(
        "strcmp",
        2,
        2,
        "-1, 0 or 1 if the first text is before, equal to or after the second.",
        Values(string::strcmp),
    ),
    entry("stricmp", 2, 2, "As strcmp, but ignoring case.", Values(string::stricmp)),
    entry(
        "versioncmp",
        2,
        2,
        "-1, 0 or 1 if the first version is before, equal to or after the second.",
        Values(version::compare),
    ),
    entry("versionLT", 2, 2, "Whether the first version is before the second.", Values(version::less)),
    entry("versionLE", 2, 2, "Whether the first version is not after the second.", Values(version::less_equal)),
    entry("versionGT", 2, 2, "Whether the first version is after the second.", Values(version::greater)),
    entry("versionGE", 2, 2, "Whether the first version is not before the second.", Values(version::greater_equal)),
    entry("versionEQ", 2, 2, "Whether both versions are equal.", Values(version::equal)),
    entry(
        "version_in_range",
        3,
        3,
        "Whether the version is not before the second and not after the third.",
        Values(version::in_range),
    ),
    // Regular expressions
    entry("regexp", 2, 3, "Whether the pattern matches somewhere in the text.", Lazy(regexp::regexp)),
    entry("regexpMember", 2, 3, "Whether the pattern matches some element of the list.", Lazy(regexp::regexp_member)),
    entry("regexps", 3, 4, "The substitute for the first match of the pattern.", Lazy(regexp::regexps)),
    entry("replace", 3, 4, "The text with the first match replaced.", Lazy(regexp::replace)),
    entry("replaceAll", 3, 4, "The text with every match replaced.", Lazy(regexp::replace_all)),
    // Strings that are lists
    entry("stringListSize", 1, 2, "The number of items in the string.", Values(stringlist::size)),
    entry("stringListSum", 1, 2, "The sum of the items.", Values(stringlist::sum)),
    entry("stringListAvg", 1, 2, "The mean of the items.", Values(stringlist::avg)),
    entry("stringListMin", 1, 2, "The smallest item.", Values(stringlist::min)),
    entry("stringListMax", 1, 2, "The largest item.", Values(stringlist::max)),
    entry("stringListMember", 2, 3, "Whether the string contains the item.", Values(stringlist::member)),
    entry("stringListIMember", 2, 3, "As stringListMember, but ignoring case.", Values(stringlist::member_any_case)),
    entry("stringListsIntersect", 2, 3, "Whether the strings have an item in common.", Values(stringlist::intersect)),
    entry(
        "stringListSubsetMatch",
        2,
        3,
        "Whether the second string contains every item of the first.",
        Values(stringlist::subset),
    ),
    entry(
        "stringListISubsetMatch",
        2,
        3,
        "As stringListSubsetMatch, but ignoring case.",
        Values(stringlist::subset_any_case),
    ),
    entry(
        "stringList_regexpMember",
        2,
        4,
        "Whether the pattern matches an item of the string.",
        Lazy(regexp::string_list_regexp_member),
    ),
    // Times
    entry("time", 0, 0, "The time, in seconds since 1970.", Values(time::now)),
    entry("currentTime", 0, 0, "The time, as an absolute time.", Values(time::current_time)),
    entry("dayTime", 0, 0, "The time since local midnight.", Values(time::day_time)),
    entry("timeZoneOffset", 0, 0, "How far the local time zone is ahead of UTC.", Values(time::time_zone_offset)),
    entry("absTime", 0, 2, "The absolute time of a text or a number of seconds.", Values(time::abs_time)),
    entry("relTime", 1, 1, "The relative time of a text or a number of seconds.", Values(time::rel_time)),
    entry("getYear", 1, 1, "The year.", Values(time::get_year)),
    entry("getMonth", 1, 1, "The month, from 1.", Values(time::get_month)),
    entry("getDayOfYear", 1, 1, "The day of the year, from 0.", Values(time::get_day_of_year)),
    entry("getDayOfMonth", 1, 1, "The day of the month, from 1.", Values(time::get_day_of_month)),
    entry("getDayOfWeek", 1, 1, "The day of the week, Sunday is 0.", Values(time::get_day_of_week)),
    entry("getDays", 1, 1, "The days of a relative time.", Values(time::get_days)),
    entry("getHours", 1, 1, "The hours of a time.", Values(time::get_hours)),
    entry("getMinutes", 1, 1, "The minutes of a time.", Values(time::get_minutes)),
    entry("getSeconds", 1, 1, "The seconds of a time.", Values(time::get_seconds)),
    entry("splitTime", 1, 1, "The fields of a time, as an ad.", Values(time::split_time)),
    entry("formatTime", 0, 2, "The time as text, as strftime writes it.", Values(time::format_time)),
    entry("interval", 1, 1, "Seconds as `days+hours:minutes:seconds`.", Values(time::interval)),
    // Expressions
    entry("eval", 1, 1, "The value of a text as an expression.", Lazy(reflect::eval)),
    entry("unparse", 1, 1, "The text of an attribute's expression.", Lazy(reflect::unparse)),
    entry(
        "unresolved",
        1,
        2,
        "The names that an attribute's expression needs and the ad lacks.",
        Lazy(reflect::unresolved),
    ),
    entry("debug", 1, 1, "The value itself.", Lazy(reflect::debug)),
    entry(
        "evalInEachContext",
        2,
        2,
        "The values of an expression in the ads of a list.",
        Lazy(reflect::eval_in_each_context),
    ),
    entry(
        "countMatches",
        2,
        2,
        "The number of ads in a list for which an expression is true.",
        Lazy(reflect::count_matches),
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
    entry(
        "userHome",
        1,
        2,
        "The home directory of a user; in gangmatch, the default or undefined.",
        Values(environment::user_home),
    ),
    entry(
        "userMap",
        2,
        4,
        "The entry of a user in a map; in gangmatch, the default or undefined.",
        Values(environment::user_map),
    ),
];

/// What evaluates `relTime("...")` in HTCondor's dialect; in the manual it is the function of that name.
pub(crate) static REL_TIME_LITERAL: Builtin =
    entry("relTime", 1, 1, "The seconds of a relative time.", Values(time::rel_time_as_real));
