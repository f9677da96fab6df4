//! Functions that search and rewrite strings with regular expressions.

use std::sync::Arc;

use crate::builtins::arguments::strict;
use crate::builtins::pattern::{self, Wanted};
use crate::builtins::regex_engine::{Groups, Regex};
use crate::builtins::stringlist::{self, delimiters, items};
use crate::eval::costs::{ALLOCATION, READ};
use crate::eval::evaluator::{Bounded, Evaluator, Outcome};
use crate::eval::lazy::{Chars, Lazy};
use crate::eval::scope::ScopeId;
use crate::expr::Call;

/// The values of a call's arguments and its pattern at argument 0 with the options at `options_at`.
struct Matching<'e> {
    arguments: Vec<Lazy<'e>>,
    pattern: Option<Arc<Regex>>,
    options: Chars<'e>,
}

/// Evaluates the arguments and compiles the pattern; the inner error is the value of the call if an argument is UNDEFINED or ERROR.
fn prepare<'e>(
    evaluator: &mut Evaluator<'e>,
    call: &'e Call,
    scope: ScopeId,
    options_at: usize,
) -> Bounded<Result<Matching<'e>, Lazy<'e>>> {
    let arguments = evaluator.eval_all(&call.arguments, scope)?;
    let options: Chars<'e> = match arguments.get(options_at) {
        None => "".into(),
        Some(Lazy::String(options)) => options.clone(),
        Some(_) => return Ok(Err(strict(&arguments).unwrap_or(Lazy::Error))),
    };
    let pattern = match arguments.first() {
        Some(Lazy::String(pattern)) => {
            evaluator.charge(pattern.len())?;
            let wanted = if options_at == 2 { Wanted::Truth } else { Wanted::Text };
            compiled(evaluator, call, pattern, &options, wanted)?
        }
        _ => None,
    };
    Ok(match strict(&arguments) {
        Some(value) => Err(value),
        None => Ok(Matching { arguments, pattern, options }),
    })
}

/// The compiled pattern of a call. Compiling it takes fuel each time, and is on the bill once.
fn compiled(
    evaluator: &mut Evaluator<'_>,
    call: &Call,
    pattern: &str,
    options: &str,
    wanted: Wanted,
) -> Bounded<Option<Arc<Regex>>> {
    let dialect = evaluator.context.dialect;
    let done_before = pattern::done_before(&call.cache, dialect);
    let mut pay = |steps| evaluator.spend(steps);
    let regex = pattern::compiled(&call.cache, (pattern, options), wanted, dialect, &mut pay)?;
    evaluator.leave_off_bill(done_before);
    Ok(regex)
}

/// Pays for searching `text` once.
fn pay(evaluator: &mut Evaluator<'_>, pattern: &Regex, text: &str) -> Bounded<()> {
    evaluator.spend(pattern.steps(text))
}

/// `regexp(pattern, text [, options])`
pub(crate) fn regexp<'e>(evaluator: &mut Evaluator<'e>, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
    let matching = match prepare(evaluator, call, scope, 2)? {
        Ok(matching) => matching,
        Err(instead) => return Ok(instead),
    };
    match (&matching.pattern, matching.arguments.get(1)) {
        (Some(pattern), Some(Lazy::String(text))) => {
            pay(evaluator, pattern, text)?;
            Ok(Lazy::Boolean(pattern.is_match(text)))
        }
        _ => Ok(Lazy::Error),
    }
}

/// `regexpMember(pattern, list [, options])`: an UNDEFINED element counts unless another one matches.
pub(crate) fn regexp_member<'e>(evaluator: &mut Evaluator<'e>, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
    let matching = match prepare(evaluator, call, scope, 2)? {
        Ok(matching) => matching,
        Err(instead) => return Ok(instead),
    };
    let [Lazy::String(_), Lazy::List(list), ..] = matching.arguments.as_slice() else {
        return Ok(Lazy::Error);
    };
    let mut result = Lazy::Boolean(false);
    for item in &*evaluator.items(list)? {
        match item {
            Lazy::String(text) => {
                // A pattern that is none matches nothing here.
                let Some(pattern) = &matching.pattern else { continue };
                pay(evaluator, pattern, text)?;
                if pattern.is_match(text) {
                    return Ok(Lazy::Boolean(true));
                }
            }
            Lazy::Undefined => result = Lazy::Undefined,
            _ => return Ok(Lazy::Error),
        }
    }
    Ok(result)
}

/// `stringList_regexpMember(pattern, list [, delimiters [, options]])`
pub(crate) fn string_list_regexp_member<'e>(
    evaluator: &mut Evaluator<'e>,
    call: &'e Call,
    scope: ScopeId,
) -> Outcome<'e> {
    let arguments = evaluator.eval_all(&call.arguments, scope)?;
    let text = |index: usize| match arguments.get(index) {
        Some(Lazy::String(text)) => Some(text.clone()),
        _ => None,
    };
    let options = if arguments.len() > 3 { text(3) } else { Some("".into()) };
    let (Some(pattern), Some(list), Some(delimiters), Some(options)) =
        (text(0), text(1), delimiters(&arguments, 2), options)
    else {
        return Ok(Lazy::Error);
    };
    evaluator.charge(options.len())?;
    // Here, and only here, the letters of the options may be in upper case.
    let options = options.to_ascii_lowercase();
    let Some(pattern) = compiled(evaluator, call, &pattern, &options, Wanted::Truth)? else { return Ok(Lazy::Error) };
    stringlist::pay(evaluator, &list, delimiters)?;
    let items = items(&list, delimiters);
    if items.is_empty() {
        return Ok(Lazy::Undefined);
    }
    pay(evaluator, &pattern, &list)?;
    Ok(Lazy::Boolean(items.into_iter().any(|item| pattern.is_match(item))))
}

/// `regexps(pattern, text, substitute [, options])`: the substitute alone, unless option `f` asks for the full text.
pub(crate) fn regexps<'e>(evaluator: &mut Evaluator<'e>, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
    substitute(evaluator, call, scope, "")
}

/// `replace(pattern, text, substitute [, options])`: the full text with the first match replaced.
pub(crate) fn replace<'e>(evaluator: &mut Evaluator<'e>, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
    substitute(evaluator, call, scope, "f")
}

/// `replaceAll(pattern, text, substitute [, options])`: the full text with every match replaced.
pub(crate) fn replace_all<'e>(evaluator: &mut Evaluator<'e>, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
    substitute(evaluator, call, scope, "fg")
}

fn substitute<'e>(evaluator: &mut Evaluator<'e>, call: &'e Call, scope: ScopeId, implied: &str) -> Outcome<'e> {
    let matching = match prepare(evaluator, call, scope, 3)? {
        Ok(matching) => matching,
        Err(instead) => return Ok(instead),
    };
    let (Some(pattern), [Lazy::String(source), Lazy::String(text), Lazy::String(template), ..]) =
        (&matching.pattern, matching.arguments.as_slice())
    else {
        return Ok(Lazy::Error);
    };
    if implied.contains('g') && source.is_empty() {
        return Ok(Lazy::Error);
    }
    let option = |letter: char| implied.contains(letter) || matching.options.contains(letter);
    let (full, all) = (option('f'), option('g'));
    // Where the groups are is found out by a slower search.
    const GROUPS: usize = 2;
    evaluator.spend(pattern.steps(text).saturating_mul(GROUPS))?;
    let mut out = String::new();
    let mut at = 0;
    for groups in pattern.matches(text).take(if all { usize::MAX } else { 1 }) {
        let Some(Some(whole)) = groups.first() else { continue };
        if full {
            out.push_str(text.get(at..whole.start).unwrap_or_default());
        }
        evaluator.spend(ALLOCATION + groups.len() + template.len() / READ)?;
        let most = evaluator.context.limits.result_bytes;
        let Some(()) = expand(template, text, &groups, &mut out, most) else { return Ok(Lazy::Error) };
        evaluator.fits(out.len())?;
        at = whole.end;
        if all {
            // The next search may go on to the end of the text before it finds a short match.
            evaluator.spend(pattern.steps(text.get(at..).unwrap_or_default()))?;
        }
    }
    if full {
        out.push_str(text.get(at..).unwrap_or_default());
    }
    evaluator.string(out)
}

/// The substitute with `\0` to `\9` filled in, until there is more than `most`; none if a group lies beyond the last one that
/// matched.
fn expand(template: &str, text: &str, groups: &Groups, out: &mut String, most: usize) -> Option<()> {
    let matched = groups.iter().rposition(Option::is_some).unwrap_or(0);
    let mut characters = template.chars();
    while let Some(character) = characters.next() {
        let mut after = characters.clone();
        match (character, after.next().and_then(|next| next.to_digit(10))) {
            ('\\', Some(group)) => {
                let group = usize::try_from(group).ok()?;
                if group > matched {
                    return None;
                }
                let range = groups.get(group).cloned().flatten();
                if out.len() <= most {
                    out.push_str(range.and_then(|range| text.get(range)).unwrap_or_default());
                }
                characters = after;
            }
            _ => out.push(character),
        }
    }
    Some(())
}
