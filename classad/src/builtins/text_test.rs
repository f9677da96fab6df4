//! Predicates on one text, prepared once for many texts.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::builtins::pattern::{self, Wanted};
use crate::builtins::regex_engine::Regex;
use crate::builtins::stringlist::{DELIMITERS, items, steps};
use crate::eval::limits::Context;
use crate::expr::{Expr, Kind};
use crate::name::Name;
use crate::value::Value;

/// A prepared predicate on one text: `regexp("^node", name)` or `stringListMember(name, "a, b")` with literals for all other arguments.
/// It can be applied to thousands of texts without an evaluation for each.
#[derive(Debug)]
pub struct TextTest {
    name: Name,
    asks: Asks,
    /// A longer text may take more steps than the context allows.
    length_max: usize,
    /// The fuel that the preparation has used.
    fuel: usize,
}

#[derive(Debug)]
enum Asks {
    Pattern(Arc<Regex>),
    Listed(BTreeSet<Box<str>>),
}

/// Steps of such a call beside those for its text: one for each node, and one for finding the attribute.
const STEPS: usize = 16;
/// The depth of such a call.
const DEPTH: usize = 4;

impl TextTest {
    /// Prepares a call under the limits and the dialect of a context; `None` for other expressions, and if the call is invalid or
    /// exceeds the limits.
    #[must_use]
    pub fn of(expr: &Expr, context: &Context) -> Option<Self> {
        let Kind::Call(call) = expr.unparenthesized().kind() else { return None };
        let short = |text: &&str| text.len() <= context.limits.result_bytes;
        let literal = |index: usize| match call.arguments.get(index)?.as_literal() {
            Some(Value::String(text)) => Some(&**text).filter(short),
            _ => None,
        };
        let attribute = |index: usize| match call.arguments.get(index)?.unparenthesized().kind() {
            Kind::Attribute { name, absolute: false } => Some(name.clone()),
            _ => None,
        };
        let all = usize::try_from(context.limits.fuel).unwrap_or(usize::MAX);
        let mut fuel = all.checked_sub(STEPS).filter(|_| context.limits.depth >= DEPTH)?;
        let mut pay = |steps: usize| -> Result<(), ()> {
            fuel = fuel.checked_sub(steps).ok_or(())?;
            Ok(())
        };
        // Parentheses are nodes, too.
        const NODES_MAX: usize = 64;
        let nodes = expr.nodes_within(NODES_MAX);
        if nodes > NODES_MAX {
            return None;
        }
        pay(2 * nodes).ok()?;
        let third = call.arguments.len() > 2;
        if call.arguments.len() > 3 {
            return None;
        }
        if call.function == "regexp" {
            let (pattern, options) = (literal(0)?, if third { literal(2)? } else { "" });
            pay(pattern.len() + options.len()).ok()?;
            let pattern =
                pattern::compiled(&call.cache, (pattern, options), Wanted::Truth, context.dialect, &mut pay).ok()??;
            // The fuel that is left after compiling the pattern.
            let length_max = pattern.length_max(fuel).min(context.limits.result_bytes);
            return Some(Self { name: attribute(1)?, asks: Asks::Pattern(pattern), length_max, fuel: all - fuel });
        }
        if call.function == "stringListMember" {
            let (list, delimiters) = (literal(1)?, if third { literal(2)? } else { DELIMITERS });
            pay(list.len() + delimiters.len() + steps(list, delimiters)).ok()?;
            let listed = items(list, delimiters).into_iter().map(Box::from).collect();
            let length_max = fuel.min(context.limits.result_bytes);
            return Some(Self { name: attribute(0)?, asks: Asks::Listed(listed), length_max, fuel: all - fuel });
        }
        None
    }

    /// The attribute that contains the text.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// The fuel that the preparation has used, once.
    #[must_use]
    pub fn fuel(&self) -> usize {
        self.fuel
    }

    /// About the fuel that a test of this text takes. An automaton that was built for earlier texts takes a part of what the evaluator
    /// charges, which is the worst case.
    #[must_use]
    pub fn fuel_of(&self, text: &str) -> usize {
        const PART: usize = 8;
        match &self.asks {
            Asks::Pattern(pattern) => 1 + pattern.steps(text) / PART,
            Asks::Listed(_) => 1,
        }
    }

    /// The value of the call if the attribute is this text; `None` if only an evaluation can tell.
    #[must_use]
    pub fn holds(&self, text: &str) -> Option<bool> {
        if text.len() > self.length_max {
            return None;
        }
        Some(match &self.asks {
            Asks::Pattern(pattern) => pattern.is_match(text),
            Asks::Listed(items) => items.contains(text),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ad::Ad;
    use crate::dialect::Dialect;
    use crate::eval::eval;
    use crate::eval::limits::Limits;
    use crate::eval::scope::Env;
    use crate::text::parse_expr;

    const CALLS: [&str; 14] = [
        r#"regexp("^e0[0-5]", name)"#,
        r#"REGEXP("b$", name)"#,
        r#"regexp("A.*b", name, "i")"#,
        r#"regexp("a.b", name, "ms")"#,
        r#"regexp("", name)"#,
        r#"(regexp("(a|b)+$", (name), ""))"#,
        r#"regexp("(", name)"#,
        r#"regexp("a", name, "?")"#,
        r#"stringListMember(name, "a, b,ab ,, e01")"#,
        r#"stringlistmember(name, "a;b c", ";")"#,
        r#"stringListMember(name, "", "")"#,
        r#"stringListMember("a", name)"#,
        r#"stringListIMember(name, "a, b")"#,
        r#"regexp(name, "a")"#,
    ];
    const TEXTS: [&str; 16] =
        ["", "a", "b", "ab", "AB", "e01", "e06", "a\nb", "b\n", " a", "b c", "a, b", ",", "ä", "a;b c", "()"];

    fn value(expr: &Expr, text: &str, context: &Context) -> Option<Value> {
        let (ad, mut env) = (Ad::new(), Env::new());
        let frame = env.frame(&ad, None);
        env.define(frame, Name::new("name"), Value::String(text.into()));
        eval(expr, &env, frame, context).ok()
    }

    #[test]
    fn a_test_says_what_the_call_does() {
        let mut told = 0;
        for call in CALLS {
            for dialect in [Dialect::Gangmatch, Dialect::Htcondor] {
                let context = Context { dialect, ..Context::default() };
                let expr = parse_expr(call, dialect).unwrap();
                let Some(test) = TextTest::of(&expr, &context) else { continue };
                for text in TEXTS {
                    told += 1;
                    let holds = test.holds(text).map(Value::Boolean);
                    assert_eq!(holds, value(&expr, text, &context), "{call} of {text:?}");
                }
            }
        }
        assert!(told >= 8 * 2 * TEXTS.len(), "only {told} were told");
    }

    #[test]
    fn what_no_evaluation_has_fuel_for_is_not_told() {
        let limits = Limits { fuel: 10_000, ..Limits::default() };
        let context = Context { limits, ..Context::default() };
        let expr = parse_expr(r#"regexp("[0-9]*a{3}.{2,9}end", name)"#, Dialect::Gangmatch).unwrap();
        let test = TextTest::of(&expr, &context).unwrap();
        let lengths = || (0..2000).map(|length| "x".repeat(length));
        assert!(lengths().any(|text| test.holds(&text).is_some()), "short ones are told");
        for text in lengths().filter(|text| test.holds(text).is_some()) {
            assert!(
                value(&expr, &text, &context).is_some(),
                "{} letters are more than an evaluation takes",
                text.len()
            );
        }
    }
}
