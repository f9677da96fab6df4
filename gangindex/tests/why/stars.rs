//! Random numbers into pools of the usual kind: jobs that want a machine, a licence or both, whose partners must agree.

use std::collections::BTreeSet;
use std::sync::Arc;

use matchmaker::{AdKey, Consent, Offer, PoolAd, Ports, Res, Role, Root, Snapshot, Usage};

/// The next of a row of choices.
pub(crate) struct Draw<'b>(pub(crate) std::slice::Iter<'b, u8>);

impl Draw<'_> {
    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        let byte = self.0.next().copied().unwrap_or(0);
        of[usize::from(byte) % of.len()]
    }

    fn parts(&mut self, of: &[&'static str], most: usize) -> Vec<&'static str> {
        let count = usize::from(self.0.next().copied().unwrap_or(0)) % (most + 1);
        (0..count).map(|_| self.pick(of)).collect()
    }
}

const CPU: [&str; 12] = [
    "cpu.Memory >= 4",
    "cpu.Memory >= 8",
    "cpu.Memory > 5",
    "cpu.Memory < 3",
    "cpu.Arch == \"x\"",
    "cpu.Arch != \"x\"",
    "cpu.Arch == \"Y\"",
    "cpu.Fast",
    "(cpu.Memory >= 6 || cpu.Fast)",
    "cpu.Nothing == 1",
    "Wish <= cpu.Memory",
    "Wish > 2",
];
const SEAT: [&str; 8] = [
    "seat.App == \"a\"",
    "seat.App == Want",
    "seat.Host == cpu.Name",
    "seat.Host == cpu.Name",
    "seat.Min <= cpu.Memory",
    "seat.Arch == cpu.Arch",
    "seat.Nothing isnt undefined",
    "seat.Min < 4",
];
const OWNER: [&str; 7] = [
    "requester.Owner == \"ann\"",
    "requester.Owner != \"bob\"",
    "requester.Wish < 4",
    "Min < 3",
    "requester.Told == Host",
    "Memory > 2",
    "requester.Nothing =?= undefined",
];

/// A pool and its text.
pub(crate) fn stars(bytes: &[u8]) -> (Snapshot, String) {
    let mut draw = Draw(bytes.iter());
    let (mut ads, mut text) = (Vec::new(), String::new());
    for number in 0..2 + draw.parts(&["x"], 8).len() {
        let offer = draw.pick(&["Machine", "License"]);
        let kind = if number == 0 { "Job" } else { offer };
        let written = match kind {
            "Job" => job(&mut draw),
            "Machine" => machine(&mut draw, number),
            _ => license(&mut draw),
        };
        text.push_str(&format!("{kind} {number}: {written}\n"));
        let parsed = classad::parse_ad(&written, classad::Dialect::Gangmatch).expect(&written);
        let amount = i64::from(!draw.pick(&["1", "2", ""]).is_empty()) + 1;
        let (capacity, consent) = (Res::from([("slots".to_owned(), amount)]), Consent::Everybody);
        let (usage, default_request) = (Usage::default(), Res::new());
        let offer = Offer { capacity, default_request, usage, shared_by: None, consent, open: true, disclosed: false };
        let role = if kind == "Job" { Role::Asks } else { Role::Offers(Box::new(offer)) };
        let key = AdKey { kind: kind.to_owned(), namespace: "n".to_owned(), name: format!("a{number}") };
        let ports = Arc::new(Ports::of(&parsed));
        ads.push(PoolAd { uid: String::new(), key, node_name: None, ports, role });
    }
    let mut pool = Snapshot::new(ads);
    let asking: Vec<_> = pool.ads().filter(|(_, ad)| ad.offer().is_none()).map(|(id, _)| id).collect();
    for ad in asking {
        let (submitter, exclusions) = (Arc::default(), BTreeSet::new());
        pool.roots.push(Root { ad, submitter, priority: 0, since: 0, exclusions });
    }
    (pool, text)
}

fn all(parts: &[&str], kind: &str) -> String {
    std::iter::once(kind).chain(parts.iter().copied()).collect::<Vec<_>>().join(" && ")
}

fn job(draw: &mut Draw<'_>) -> String {
    let (owner, want) = (draw.pick(&["ann", "bob"]), draw.pick(&["a", "b"]));
    let wish = draw.pick(&["1", "3", "7"]);
    let cpu = all(&draw.parts(&CPU, 4), "cpu.Type == \"Machine\"");
    let seat = all(&draw.parts(&SEAT, 3), "seat.Type == \"License\"");
    let request = draw.pick(&["", "", "Request = [slots = 3]; ", "Request = [slots = 0]; ", "Request = [gpus = 1]; "]);
    let cpu = format!("[Label = cpu; {request}Constraint = {cpu}]");
    let seat = format!("[Label = seat; Told = cpu.Name; Constraint = {seat}]");
    let ports = match draw.pick(&["cpu", "both", "both"]) {
        "cpu" => cpu,
        _ => format!("{cpu}, {seat}"),
    };
    format!("[Type = \"Job\"; Owner = \"{owner}\"; Want = \"{want}\"; Wish = {wish}; Ports = {{{ports}}}]")
}

fn machine(draw: &mut Draw<'_>, number: usize) -> String {
    let memory = draw.pick(&["1", "2", "4", "6", "9", "16", "\"much\""]);
    let arch = draw.pick(&["x", "y", "X"]);
    let fast = draw.pick(&["true", "false", "undefined"]);
    let owner = all(&draw.parts(&OWNER, 2), "true");
    format!(
        "[Type = \"Machine\"; Name = \"m{number}\"; Memory = {memory}; Arch = \"{arch}\"; Fast = {fast}; \
         Ports = {{[Label = requester; Constraint = {owner}]}}]"
    )
}

fn license(draw: &mut Draw<'_>) -> String {
    let (app, host) = (draw.pick(&["a", "b", "A"]), draw.pick(&["m1", "m2", "m3", "M1", "none"]));
    let (min, arch) = (draw.pick(&["1", "5", "12", "undefined"]), draw.pick(&["x", "y"]));
    let owner = all(&draw.parts(&OWNER, 2), "true");
    format!(
        "[Type = \"License\"; App = \"{app}\"; Host = \"{host}\"; Min = {min}; Arch = \"{arch}\"; \
         Ports = {{[Label = requester; Constraint = {owner}]}}]"
    )
}

/// So many bytes that look random, the same ones for the same seed.
pub(crate) fn random(seed: u32, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_be_bytes()[1]
    };
    std::iter::repeat_with(next).take(count).collect()
}
