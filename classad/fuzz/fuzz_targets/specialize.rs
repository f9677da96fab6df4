//! Specialise, then evaluate with the rest: the same value as evaluation with all.
#![no_main]

use std::sync::LazyLock;

use classad::{Ad, Context, Dialect, Env, FrameId, Limits, Name, eval, parse_ad, parse_expr, specialize};
use libfuzzer_sys::fuzz_target;

static ADS: LazyLock<[Ad; 2]> = LazyLock::new(|| {
    let ad = |text| parse_ad(text, Dialect::Htcondor).expect("a sound ad");
    [
        ad("[ a = b; b = {1, a, \"s\"}; c = [ d = c.d; f = x ]; x = 5; s = \"a,b\"; own = x + cpu.y; z = cpu.x ]"),
        ad("[ y = 1.5; x = \"X\"; A = true; l = { [ n = 1 ], [ n = 2 ] } ]"),
    ]
});

fuzz_target!(|text: &str| {
    let Ok(expr) = parse_expr(text, Dialect::Gangmatch) else { return };
    // Far from all limits: what is left may need fewer steps than the whole.
    let limits = Limits { fuel: 20_000, ..Limits::default() };
    let context = Context { now: 1_000_000_000, local_offset: 3600, seed: 7, limits, ..Context::default() };
    let [own, partner] = &*ADS;
    let mut open = Env::new();
    let frame = open.frame(own, None);
    open.leave_open(frame, &Name::new("cpu"));
    let left = specialize(&expr, &open, frame, &context).into_expr();
    let whole = bound(own, partner, |env, frame| eval(&expr, env, frame, &context));
    let rest = bound(own, partner, |env, frame| eval(&left, env, frame, &context));
    if let (Ok(whole), Ok(rest)) = (whole, rest) {
        assert_eq!(format!("{whole:?}"), format!("{rest:?}"), "left: {left}");
    }
});

fn bound<T>(own: &Ad, partner: &Ad, ask: impl Fn(&Env<'_>, FrameId) -> T) -> T {
    let mut env = Env::new();
    let frame = env.frame(own, None);
    let other = env.frame(partner, None);
    env.bind(frame, &Name::new("cpu"), other);
    ask(&env, frame)
}
