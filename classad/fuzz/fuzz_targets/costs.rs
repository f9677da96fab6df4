//! What any expression costs is paid for: a result is no larger than the limits allow, and no step takes much longer than it may.
#![no_main]

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use classad::{Ad, Context, Dialect, Env, Limits, Value, eval_counted, format, lint_ad, never_true, parse_ad};
use libfuzzer_sys::fuzz_target;

/// Lists, texts and ads that share their parts, for expressions to make more of.
static AROUND: LazyLock<Ad> = LazyLock::new(|| {
    let text = "[ l = { 1, 2, 3, \"a b\" }; ll = { l, l, l, l }; lll = { ll, ll, ll, ll }; ads = { [ a = l ], [ a = ll ], [ a = b ] };
        s = \"abc,abd abe\"; ss = strcat(s, s, s, s, s, s, s, s); sss = strcat(ss, ss, ss, ss, ss, ss, ss, ss);
        m = evalInEachContext(lll ?: 0, ads); mm = evalInEachContext(m ?: 0, ads); self_ = { self_, self_ } ]";
    parse_ad(text, Dialect::Gangmatch).expect("a sound ad")
});

/// So long may an evaluation take for each step; sanitizers slow everything down some fifty times.
const STEP: Duration = Duration::from_micros(4);
const START: Duration = Duration::from_millis(20);

fuzz_target!(|text: &str| {
    let Ok(ad) = parse_ad(text, Dialect::Gangmatch) else { return };
    let begin = Instant::now();
    let _ = (lint_ad(&ad, text, &[]), format(text, Dialect::Gangmatch));
    for (_, expr) in ad.iter() {
        let _ = (never_true(expr), expr.excerpt(256));
    }
    let limits = Limits { fuel: 50_000, memory: 1 << 20, result_elements: 10_000, ..Limits::default() };
    let context = Context { limits, ..Context::default() };
    let mut spent = u64::try_from(text.len()).unwrap_or(u64::MAX);
    for (_, expr) in ad.iter().take(20) {
        let (mut env, mut used) = (Env::new(), 0);
        let around = env.frame(&AROUND, None);
        let frame = env.frame(&ad, Some(around));
        if let Ok(value) = eval_counted(expr, &env, frame, &context, &mut used) {
            let elements = elements(&value);
            assert!(elements <= limits.result_elements + 1 && u64::try_from(elements).unwrap() <= used + 1);
        }
        spent += used;
    }
    let most = START + STEP * u32::try_from(spent).unwrap_or(u32::MAX);
    assert!(begin.elapsed() <= most, "{:?} for {spent} steps", begin.elapsed());
});

fn elements(value: &Value) -> usize {
    match value {
        Value::List(items) => 1 + items.iter().map(elements).sum::<usize>(),
        Value::Ad(attributes) => 1 + attributes.iter().map(|(_, value)| elements(value)).sum::<usize>(),
        _ => 1,
    }
}
