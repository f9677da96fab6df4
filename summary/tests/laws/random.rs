//! Random pools and constraints, as texts: few names and few values, so that much of it is true of something.

use std::collections::BTreeMap;

use classad::{Ad, Context, Dialect, Env, Expr, Name, eval, parse_expr};
use sampling::Random;
use summary::{Limits, Offer, OfferFacts, Pool, Summary};

/// One offer as a summary and the evaluator read it.
pub(crate) struct Written {
    pub(crate) kind: &'static str,
    pub(crate) body: Ad,
    pub(crate) free: BTreeMap<String, i64>,
}

/// Offers and a job whose constraints read them.
pub(crate) struct World {
    pub(crate) offers: Vec<Written>,
    pub(crate) own: Ad,
    pub(crate) constraints: Vec<Expr>,
    pub(crate) limits: Limits,
    pub(crate) text: String,
}

const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "2",
    "3",
    "-1",
    "0.5",
    "2.5",
    "64",
    "4096",
    "4096.0",
    "1e7",
    "9007199254740993",
    "9007199254740992.0",
    "9223372036854775807",
];
const TEXTS: [&str; 8] =
    ["\"a\"", "\"A\"", "\"b\"", "\"ws-a\"", "\"WS-A\"", "\"n1\"", "\"\u{c4}rger\"", "\"\u{e4}rger\""];
const OTHERS: [&str; 5] = ["true", "false", "undefined", "error", "{1, \"a\"}"];
const OPEN: [&str; 13] = [
    "Cpus * 1024",
    "Cpus > 2",
    "-Cpus",
    "Cpus / 2",
    "Cpus + Memory",
    "Memory ?: 5",
    "Cpus ? \"a\" : Memory",
    "JobMem + 1",
    "requester.JobMem * 2",
    "time() - 60",
    "strcat(\"a\", Name)",
    "other.Cmd",
    "Open",
];
const ATTRIBUTES: [&str; 6] = ["Cpus", "Memory", "Name", "Flag", "Open", "Nowhere"];
const LABELS: [(&str, &str); 2] = [("cpu", "Machine"), ("license", "License")];

pub(crate) fn parse(text: &str) -> Expr {
    parse_expr(text, Dialect::Gangmatch).expect(text)
}

fn pick<'t>(random: &mut Random, all: &[&'t str]) -> &'t str {
    random.pick(all).copied().unwrap_or("")
}

fn literal(random: &mut Random) -> &'static str {
    match random.below(8) {
        0..=3 => pick(random, &NUMBERS),
        4..=6 => pick(random, &TEXTS),
        _ => pick(random, &OTHERS),
    }
}

/// The world of a seed.
pub(crate) fn world(seed: u64) -> World {
    let mut random = Random::stream(seed, "world");
    let mut text = format!("seed {seed}\n");
    let mut offers = Vec::new();
    for _ in 0..random.below(9) {
        let (_, kind) = LABELS[random.index(2)];
        let mut body = Ad::new();
        body.insert(Name::new("Type"), Expr::literal(classad::Value::string(kind)));
        for name in &ATTRIBUTES[..5] {
            if random.happens(700) {
                let open = *name == "Open" || random.happens(100);
                let written = if open { pick(&mut random, &OPEN) } else { literal(&mut random) };
                body.insert(Name::new(*name), parse(written));
            }
        }
        text += &format!("{kind} {body}\n");
        let free = BTreeMap::from([("slots".to_owned(), random.between(0, 3))]);
        offers.push(Written { kind, body, free });
    }
    let mut own = Ad::new();
    for name in ["JobMem", "Cmd", "Need"] {
        if random.happens(800) {
            let written = if random.happens(200) {
                pick(
                    &mut random,
                    &[
                        "JobMem / 8",
                        "Cmd",
                        "strcat(Cmd, 1)",
                        "isUndefined(Need)",
                        "Lost is undefined",
                        "isError(Need) || Cmd",
                    ],
                )
            } else {
                literal(&mut random)
            };
            own.insert(Name::new(name), parse(written));
        }
    }
    let constraints: Vec<Expr> = (0..3).map(|_| parse(&condition(&mut random, 3))).collect();
    text += &format!("own {own}\nconstraints {constraints:?}\n");
    let (values, bloom_bits) = [(64, 8192), (64, 8192), (0, 64), (1, 64), (2, 128), (3, 256)][random.index(6)];
    World { offers, own, constraints, limits: Limits { values, bloom_bits, ..Limits::default() }, text }
}

/// Something to read of a partner, of the job, or written as it is.
fn term(random: &mut Random) -> String {
    match random.below(10) {
        0..=5 => format!("{}.{}", LABELS[random.index(2)].0, pick(random, &ATTRIBUTES)),
        6 => pick(random, &["JobMem", "Cmd", "Need", "Lost", "my.JobMem", "cpu.Name.x"]).to_owned(),
        7 => format!("{} {} {}", term(random), pick(random, &["+", "-", "*", "/", "%"]), pick(random, &NUMBERS)),
        8 => format!("({} {} {})", term(random), pick(random, &["+", "-", "*", "/", "?:", "&"]), term(random)),
        _ => literal(random).to_owned(),
    }
}

/// A condition of so many levels at most.
fn condition(random: &mut Random, levels: u64) -> String {
    let choice = if levels == 0 { random.below(9) } else { random.below(14) };
    let (left, right) = (term(random), term(random));
    match choice {
        0..=3 => format!("{left} {} {right}", pick(random, &["==", "!=", "<", "<=", ">", ">="])),
        4 => format!("{left} {} {right}", pick(random, &["is", "isnt"])),
        5 => format!("member({left}, {{{}, {}, {right}}})", literal(random), literal(random)),
        6 => format!("{}({left})", pick(random, &["isUndefined", "isError", "isString", "-", "+"])),
        7 => left,
        8 => format!("size({left}) > 1"),
        9 | 10 => format!("({} && {})", condition(random, levels - 1), condition(random, levels - 1)),
        11 => format!("({} || {})", condition(random, levels - 1), condition(random, levels - 1)),
        12 => format!("!({})", condition(random, levels - 1)),
        _ => format!("({} ? {} : {left})", condition(random, levels - 1), condition(random, levels - 1)),
    }
}

impl World {
    /// The labels and the kinds that they are bound to.
    pub(crate) fn labels() -> BTreeMap<Name, String> {
        LABELS.iter().map(|(label, kind)| (Name::new(*label), (*kind).to_owned())).collect()
    }

    pub(crate) fn pool(&self) -> Pool<usize> {
        let mut pool = Pool::new();
        self.offers.iter().enumerate().for_each(|(place, offer)| pool.put(place, offer.facts()));
        pool
    }

    pub(crate) fn summary(&self) -> Summary {
        self.pool().summary(&self.limits)
    }

    /// Whether a constraint is true of some machine and some license.
    pub(crate) fn is_true_of_some(&self, constraint: &Expr, now: i64) -> bool {
        let of = |kind| self.offers.iter().filter(move |offer| offer.kind == kind);
        of("Machine").any(|machine| of("License").any(|license| self.is_true(constraint, machine, license, now)))
    }

    fn is_true(&self, constraint: &Expr, machine: &Written, license: &Written, now: i64) -> bool {
        let nothing = Ad::new();
        let mut env = Env::new();
        let body = env.frame(&self.own, None);
        let port = env.frame(&nothing, Some(body));
        for (offer, (label, _)) in [machine, license].into_iter().zip(LABELS) {
            let view = env.frame(&offer.body, None);
            env.partner(view, port);
            env.bind(view, &Name::new("requester"), port);
            env.bind(port, &Name::new(label), view);
        }
        let context = Context { now, ..Context::default() };
        eval(constraint, &env, port, &context).is_ok_and(|value| value.is_true())
    }
}

impl Written {
    pub(crate) fn facts(&self) -> OfferFacts {
        let Written { kind, body, free } = self;
        OfferFacts::of(&Offer { kind, body, ports: &[], opaque: &[], free: free.clone(), shared: false })
    }
}

/// How many rounds: what the variable says, or else this many.
pub(crate) fn rounds(usual: u64) -> u64 {
    std::env::var("SUMMARY_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}
