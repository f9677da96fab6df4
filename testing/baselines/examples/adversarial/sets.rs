//! A size into pools that take away what the engine lives on: equal roots, shared conditions, joins that are trees.

use super::pool::Pool;

/// One set: its name, and the pools of the cycles that are run one after the other, each with its time.
pub(crate) struct Set {
    pub(crate) name: &'static str,
    pub(crate) make: fn(usize) -> Vec<(Pool, i64)>,
    /// The size to be measured with: jobs, and about as many machines.
    pub(crate) size: usize,
}

const fn set(name: &'static str, size: usize, make: fn(usize) -> Vec<(Pool, i64)>) -> Set {
    Set { name, make, size }
}

/// All sets.
pub(crate) const SETS: [Set; 16] = [
    set("templates of different structure", 2000, templates),
    set("one reflective ad", 20_000, reflective),
    set("equal ranks, license first", 4000, plateau),
    set("triangle without a gang", 300, triangle),
    set("pigeonhole", 6, pigeonhole),
    set("chains of sub-gangs", 24, chains),
    set("overlapping lists", 5000, lists),
    set("one free seat, shared", 2000, shared),
    set("every job with an exclusion", 4000, exclusions),
    set("heartbeat on every row", 4000, heartbeat),
    set("every string unique", 4000, strings),
    set("10,000 submitters", 10_000, submitters),
    set("depth 399 to 401", 300, depth),
    set("a view of its own label", 1000, circular),
    set("time flips every row", 1000, time),
    set("licenses tied to hosts", 8000, hosts),
];

const ASKED: &str = "Ports = { [ Label = requester; Constraint = requester.Size <= Memory ] }";

/// A machine like all others.
fn machine(number: usize, more: &str) -> String {
    let (memory, net) = (1 + number % 4, number % 8);
    format!("[ Name = \"m{number}\"; Memory = {memory}; Speed = {}; Net = {net}; {more} ]", number % 7)
}

fn plain(number: usize) -> String {
    machine(number, ASKED)
}

/// A job for one machine, of ten different ones.
fn job(number: usize, more: &str) -> String {
    let size = 1 + number % 5;
    format!(
        "[ Name = \"j{number}\"; Ports = {{ [ Label = cpu; Size = {size}; Rank = cpu.Speed; Constraint = cpu.Memory >= {}{more} ] }} ]",
        1 + number % 2
    )
}

fn of(n: usize, machines: impl Fn(usize) -> String, jobs: impl Fn(usize) -> String) -> Pool {
    let mut pool = Pool::default();
    (0..n).for_each(|number| pool.machine(&machines(number)));
    (0..n).for_each(|number| pool.job(&jobs(number)));
    pool
}

fn once(pool: Pool) -> Vec<(Pool, i64)> {
    vec![(pool, 1000)]
}

fn templates(n: usize) -> Vec<(Pool, i64)> {
    let own = |number: usize| {
        let constraint = format!("requester.Size <= Memory && requester.Want{number} =!= false");
        machine(number, &format!("Ports = {{ [ Label = requester; Constraint = {constraint} ] }}"))
    };
    once(of(n, own, |number| job(number, "")))
}

fn reflective(n: usize) -> Vec<(Pool, i64)> {
    let eval = "Ports = { [ Label = requester; Constraint = eval(\"requester.Size\") <= Memory ] }";
    once(of(n, |number| if number == n / 2 { machine(number, eval) } else { plain(number) }, |number| job(number, "")))
}

const SEAT: &str = "Ports = { [ Label = requester; Constraint = true ] }";

fn plateau(n: usize) -> Vec<(Pool, i64)> {
    let ports = "[ Label = license; Constraint = license.App == \"a\" ], \
        [ Label = cpu; Size = 1; Constraint = cpu.Memory >= 2 && cpu.Net == license.Net ]";
    let mut pool = of(n, plain, |number| format!("[ Name = \"j{number}\"; Ports = {{ {ports} }} ]"));
    (0..n / 2).for_each(|number| pool.license(&format!("[ App = \"a\"; Net = {}; {SEAT} ]", number % 16)));
    once(pool)
}

fn triangle(n: usize) -> Vec<(Pool, i64)> {
    let mut pool = Pool::default();
    for number in 0..n {
        // X goes round with Y, Y with Z; Z with X never.
        let (here, there) = (number % 30, (number + 1) % 30);
        pool.machine(&format!("[ Kind = 1; X = {here}; Z = {here}; {SEAT} ]"));
        pool.machine(&format!("[ Kind = 2; X = {here}; Y = {here}; {SEAT} ]"));
        pool.machine(&format!("[ Kind = 3; Y = {here}; Z = {there}; {SEAT} ]"));
    }
    for number in 0..n.div_ceil(30) {
        pool.job(&format!(
            "[ Name = \"j{number}\"; Ports = {{ [ Label = a; Constraint = a.Kind == 1 ], \
             [ Label = b; Constraint = b.Kind == 2 && b.X == a.X ], \
             [ Label = c; Constraint = c.Kind == 3 && c.Y == b.Y && c.Z == a.Z ] }} ]"
        ));
    }
    once(pool)
}

fn pigeonhole(n: usize) -> Vec<(Pool, i64)> {
    let mut pool = Pool::default();
    (0..n).for_each(|number| pool.license(&format!("[ App = \"a\"; Seat = {number}; {SEAT} ]")));
    let port = |number| format!("[ Label = l{number}; Constraint = l{number}.App == \"a\" ]");
    let ports: Vec<String> = (0..=n).map(port).collect();
    (0..4).for_each(|number| pool.job(&format!("[ Name = \"j{number}\"; Ports = {{ {} }} ]", ports.join(", "))));
    once(pool)
}

fn chains(n: usize) -> Vec<(Pool, i64)> {
    let mut pool = Pool::default();
    for number in 0..n {
        let level = number % 6;
        let next = format!("[ Label = next; Constraint = next.Level == {} ]", level + 1);
        let below = if level < 4 { next } else { String::new() };
        let comma = if level < 4 { ", " } else { "" };
        pool.license(&format!(
            "[ Level = {level}; Ports = {{ [ Label = requester; Constraint = true ]{comma}{below} }} ]"
        ));
    }
    for level in 0..4 {
        pool.job(&format!("[ Ports = {{ [ Label = l; Constraint = l.Level == {level} ] }} ]"));
    }
    once(pool)
}

fn lists(n: usize) -> Vec<(Pool, i64)> {
    let ports = |number: usize| {
        format!(
            "[ Label = cpu; Size = {}; Constraint = cpu.Memory >= 1 ], [ Label = license; Net = cpu.Net; Constraint = license.App == \"a\" ]",
            1 + number % 3
        )
    };
    let mut pool = of(n, plain, |number| format!("[ Name = \"j{number}\"; Ports = {{ {} }} ]", ports(number)));
    for number in 0..n / 2 {
        let nets: Vec<String> = (0..4).map(|step| ((number + step * (1 + number % 5)) % 8).to_string()).collect();
        let asked = "Ports = { [ Label = requester; Constraint = member(requester.Net, Nets) ] }";
        pool.license(&format!("[ App = \"a\"; Nets = {{ {} }}; {asked} ]", nets.join(", ")));
    }
    once(pool)
}

fn shared(n: usize) -> Vec<(Pool, i64)> {
    let mut pool = Pool { shared_by: Some("requester.Owner"), ..Pool::default() };
    (0..n).for_each(|number| pool.machine(&plain(number)));
    pool.license(&format!("[ App = \"a\"; {SEAT} ]"));
    for number in 0..n {
        pool.job(&format!(
            "[ Owner = \"u{}\"; Ports = {{ [ Label = cpu; Size = 1; Constraint = cpu.Memory >= 1 ], \
             [ Label = license; Constraint = license.App == \"a\" ] }} ]",
            number % 50
        ));
    }
    once(pool)
}

fn exclusions(n: usize) -> Vec<(Pool, i64)> {
    let excluded = Some("a0000000".to_owned());
    once(Pool { excluded, ..of(n, plain, |number| job(number, "")) })
}

fn heartbeat(n: usize) -> Vec<(Pool, i64)> {
    let beat = |beat: usize| {
        let idle =
            move |number: usize| machine(number, &format!("Idle = {}; {ASKED}", (number * 7 + beat * 13) % 1000));
        (of(n, idle, |number| job(number, " && cpu.Idle > 100")), 1000)
    };
    vec![beat(0), beat(1), beat(2)]
}

fn strings(n: usize) -> Vec<(Pool, i64)> {
    let own = |number: usize| {
        let asked =
            "Ports = { [ Label = requester; Constraint = requester.Size <= Memory && requester.Owner != Host ] }";
        machine(number, &format!("Host = \"h{number}\"; Arch = \"x{number}\"; {asked}"))
    };
    let jobs = |number: usize| {
        format!(
            "[ Ports = {{ [ Label = cpu; Size = {}; Owner = \"u{number}\"; Constraint = cpu.Host != \"h{}\" && cpu.Arch != Owner ] }} ]",
            1 + number % 5,
            number * 7 % n
        )
    };
    once(of(n, own, jobs))
}

fn submitters(n: usize) -> Vec<(Pool, i64)> {
    once(Pool { submitters: true, ..of(n, plain, |number| job(number, "")) })
}

fn depth(n: usize) -> Vec<(Pool, i64)> {
    // In two halves, because no text may be so deep by itself.
    let own = |number: usize| {
        let (half, other) = ("!".repeat(198), "!".repeat(194 + number % 10));
        let port = format!("Fits = {half}(requester.Size <= Memory); Constraint = {other}Fits");
        machine(number, &format!("Ports = {{ [ Label = requester; {port} ] }}"))
    };
    once(of(n, own, |number| job(number, "")))
}

fn circular(n: usize) -> Vec<(Pool, i64)> {
    let seen = "Seen = requester.Host; Ports = { [ Label = requester; Constraint = requester.Host =?= undefined || requester.Host == Seen ] }";
    let jobs = |number: usize| {
        let port = "Host = cpu.Seen; Constraint = cpu.Memory >= 2";
        format!("[ Ports = {{ [ Label = cpu; Size = {}; {port} ] }} ]", 1 + number % 5)
    };
    once(of(n, |number| machine(number, seen), jobs))
}

fn time(n: usize) -> Vec<(Pool, i64)> {
    let pool = || {
        of(
            n,
            |number| machine(number, &format!("Heard = 1000; {ASKED}")),
            |number| job(number, " && time() - cpu.Heard < 100"),
        )
    };
    vec![(pool(), 1050), (pool(), 1099), (pool(), 1100), (pool(), 1050)]
}

fn hosts(n: usize) -> Vec<(Pool, i64)> {
    let ports = |number: usize| {
        format!(
            "[ Label = cpu; Size = {}; Rank = cpu.Speed; Constraint = cpu.Memory >= 2 ], [ Label = license; Host = cpu.Name; Constraint = license.App == \"a\" ]",
            1 + number % 3
        )
    };
    let mut pool = of(n, plain, |number| format!("[ Name = \"j{number}\"; Ports = {{ {} }} ]", ports(number)));
    for number in 0..n / 2 {
        let asked = "Ports = { [ Label = requester; Constraint = requester.Host == ValidHost ] }";
        pool.license(&format!("[ App = \"a\"; ValidHost = \"m{}\"; {asked} ]", number * 31 % n));
    }
    once(pool)
}
