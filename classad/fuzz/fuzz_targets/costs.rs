//! What any expression costs is paid for with fuel: time, allocations, the memory in use, and the size of the result.
#![no_main]

use std::sync::LazyLock;
use std::time::Duration;

use allocation_counter::{AllocationInfo, measure};
use classad::{
    Ad, Bill, Context, Dialect, Env, Expr, Limits, Value, conjuncts, eval_billed, format, lint_ad, never_true, parse_ad,
};
use libfuzzer_sys::fuzz_target;

/// Lists, texts and ads that share their parts, for expressions to make more of.
static AROUND: LazyLock<Ad> = LazyLock::new(|| {
    let text = "[ l = { 1, 2, 3, \"a b\" }; ll = { l, l, l, l }; lll = { ll, ll, ll, ll }; ads = { [ a = l ], [ a = ll ], [ a = b ] };
        s = \"abc,abd abe\"; ss = strcat(s, s, s, s, s, s, s, s); sss = strcat(ss, ss, ss, ss, ss, ss, ss, ss);
        ssss = strcat(sss, sss, sss, sss, sss, sss, sss, sss); items = split(sss); more = split(ssss);
        m = evalInEachContext(lll ?: 0, ads); mm = evalInEachContext(m ?: 0, ads); self_ = { self_, self_ } ]";
    parse_ad(text, Dialect::Gangmatch).expect("a sound ad")
});

const LIMITS: Limits = Limits {
    depth: 400,
    fuel: 50_000,
    result_bytes: 1 << 20,
    result_depth: 32,
    result_elements: 10_000,
    memory: 1 << 20,
};

/// What a unit of fuel may take. The manual promises some 40 ns in a release build on a core of one's own; instrumented for
/// coverage and with all its assertions, the same takes up to ten times as long.
const STEP: Duration = Duration::from_nanos(400);
const START: Duration = Duration::from_millis(20);
/// The same in bytes, and what an evaluation may take before its first step; `tests/work.rs` says why.
const STEP_BYTES: u64 = 256;
const START_BYTES: u64 = 1 << 16;
/// So much a text of 300 bytes and what is made of it may take beside what the limit counts.
const LIVE_BYTES: u64 = 3 << 20;

fuzz_target!(|text: &str| {
    let _ = &*AROUND;
    let begin = busy();
    let mut ad = None;
    let size = u64::try_from(text.len()).unwrap();
    let read = measure(|| ad = parse_ad(text, Dialect::Gangmatch).ok());
    // Patterns are compiled to see whether they are any, for so much fuel in all.
    in_bounds("reading", read, size * 64 + 120_000, begin);
    let Some(ad) = ad else { return };
    let begin = busy();
    let looked_at = measure(|| {
        drop((lint_ad(&ad, text, &[]), format(text, Dialect::Gangmatch)));
        for (_, expr) in ad.iter() {
            drop((never_true(expr), conjuncts(expr), expr.excerpt(256)));
        }
    });
    // Patterns again, and conditions of literals alone, which are evaluated with little fuel.
    in_bounds("lint", looked_at, size * 64 + 200_000, begin);
    let context = Context { limits: LIMITS, ..Context::default() };
    for (name, expr) in ad.iter().take(20) {
        // Only what is slow each time is slow: caches may have been cold.
        let slow = |_| evaluate(&ad, expr, &context).is_some_and(|(spent, took)| took > allowed(spent));
        assert!(!(0..4).all(slow), "{name}: {:?}", evaluate(&ad, expr, &context));
    }
});

fn allowed(spent: u64) -> Duration {
    START + STEP * u32::try_from(spent).unwrap_or(u32::MAX)
}

/// For how long this thread has had a core: what other processes do makes no difference.
fn busy() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells how long a thread ran");
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.expect("the first number is the time"))
}

fn in_bounds(what: &str, info: AllocationInfo, spent: u64, begin: Duration) {
    let AllocationInfo { bytes_total, bytes_max, .. } = info;
    assert!(bytes_total <= START_BYTES + spent * STEP_BYTES, "{what}: {bytes_total} bytes for {spent}");
    assert!(bytes_max <= u64::try_from(LIMITS.memory).unwrap() + LIVE_BYTES, "{what}: {bytes_max} bytes live");
    let took = busy().saturating_sub(begin);
    assert!(took <= allowed(spent) * 4, "{what}: {took:?} for {spent}");
}

/// The fuel and the time that an evaluation took; none if that was too short to matter.
fn evaluate(ad: &Ad, expr: &Expr, context: &Context) -> Option<(u64, Duration)> {
    let (mut env, mut bill) = (Env::new(), Bill::default());
    let around = env.frame(&AROUND, None);
    let frame = env.frame(ad, Some(around));
    let mut value = None;
    let begin = busy();
    let info = measure(|| value = eval_billed(expr, &env, frame, context, &mut bill).ok());
    let took = busy().saturating_sub(begin);
    let spent: u64 = bill.drain().map(|(_, fuel)| fuel).sum();
    in_bounds("an evaluation", info, spent, begin);
    let elements = value.as_ref().map_or(0, elements);
    assert!(elements <= LIMITS.result_elements + 1 && u64::try_from(elements).unwrap() <= spent + 1);
    (took > START).then_some((spent, took))
}

fn elements(value: &Value) -> usize {
    match value {
        Value::List(items) => 1 + items.iter().map(elements).sum::<usize>(),
        Value::Ad(attributes) => 1 + attributes.iter().map(|(_, value)| elements(value)).sum::<usize>(),
        _ => 1,
    }
}
