//! Any expression ends within its limits, and the same inputs give the same value.
#![no_main]

use std::sync::LazyLock;

use classad::{
    Ad, Context, Dialect, Env, Expr, Limits, Name, Value, conjuncts, eval, eval_attribute, parse_ad, parse_expr,
    references,
};
use libfuzzer_sys::fuzz_target;

static AROUND: LazyLock<[Ad; 3]> = LazyLock::new(|| {
    let ad = |text| parse_ad(text, Dialect::Htcondor).expect("a sound ad");
    [
        ad(
            "[ a = b; b = {1, a, \"s\"}; c = [ d = c.d; e = self; f = x ]; x = 5; s = \"a,b,c\"; t = absTime(\"2004-01-31\") ]",
        ),
        ad("[ Min = 3; own = x + cpu.y; loop = cpu.back ]"),
        ad("[ y = 1.5; x = \"X\"; back = requester.loop; l = { [ n = 1 ], [ n = 2 ] } ]"),
    ]
});

fuzz_target!(|text: &str| {
    let Ok(expr) = parse_expr(text, Dialect::Gangmatch) else {
        // An ad: each of its attributes.
        if let Ok(ad) = parse_ad(text, Dialect::Gangmatch) {
            attributes(&ad);
        }
        return;
    };
    let (_, _) = (references(&expr), conjuncts(&expr));
    let [body, port, partner] = &*AROUND;
    let first = value(&expr, body, port, partner);
    assert_eq!(first, value(&expr, body, port, partner), "the same inputs give the same value");
});

fn context() -> Context {
    let limits = Limits { fuel: 20_000, result_bytes: 1 << 14, ..Limits::default() };
    Context { now: 1_000_000_000, local_offset: 3600, seed: 7, limits, ..Context::default() }
}

/// The value in a port's frame with a label bound, and in a frame with a partner.
fn value(expr: &Expr, body: &Ad, port: &Ad, partner: &Ad) -> String {
    let mut env = Env::new();
    let around = env.frame(body, None);
    let inner = env.frame(port, Some(around));
    let other = env.frame(partner, None);
    env.bind(inner, &Name::new("cpu"), other);
    env.bind(other, &Name::new("requester"), inner);
    env.define(inner, Name::new("Members"), Value::list([Value::from(1), Value::from("m")]));
    let bound = eval(expr, &env, inner, &context());
    env.partner(around, other);
    let matched = eval(expr, &env, around, &context());
    for value in [&bound, &matched].into_iter().flatten() {
        let _ = (value.to_string(), value.canonical());
    }
    format!("{bound:?} {matched:?}")
}

fn attributes(ad: &Ad) {
    let mut env = Env::new();
    let frame = env.frame(ad, None);
    for (name, _) in ad.iter().take(20) {
        let first = eval_attribute(&env, frame, name.as_str(), &context());
        let second = eval_attribute(&env, frame, name.as_str(), &context());
        assert_eq!(format!("{first:?}"), format!("{second:?}"));
    }
}
