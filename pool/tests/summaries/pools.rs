//! A seed into a small pool as people have them: what its ads say is likely to matter to its jobs.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use classad::{Dialect, Name, parse_ad, parse_expr};
use matchmaker::{AdId, AdKey, Ask, Config, Consent, Offer, PoolAd, Ports, Res, Role, Root, Snapshot, Usage};
use sampling::Random;

use super::world::World;

/// What the pools of one sort have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generator {
    /// Workstations, jobs and floating licenses, as in the paper on gangmatching.
    Paper,
    /// The same, with licenses that are each valid on one host.
    HostLocked,
    /// Nodes with many attributes, of which jobs request amounts.
    Modern,
    /// Machines that bring partners of their own.
    SubGangs,
    /// Licenses whose seats are shared.
    Shared,
    /// Offers that keep some of their attributes private.
    Private,
}

/// All sorts, by name.
pub(crate) const GENERATORS: [(&str, Generator); 6] = [
    ("paper", Generator::Paper),
    ("host-locked", Generator::HostLocked),
    ("modern", Generator::Modern),
    ("sub-gangs", Generator::SubGangs),
    ("sharedBy", Generator::Shared),
    ("private", Generator::Private),
];

const PLATFORMS: [&str; 4] = [
    r#"Arch = "INTEL"; OpSys = "LINUX""#,
    r#"Arch = "INTEL"; OpSys = "WINNT40""#,
    r#"Arch = "SUN4u"; OpSys = "SOLARIS26""#,
    r#"Arch = "X86_64"; OpSys = "Linux""#,
];
const HOSTS: [&str; 5] = ["ws1", "ws2", "WS3", "ws4", "ws5"];
const SUBNETS: [&str; 3] = ["128.105.101", "128.105.102", "128.105.103"];
const APPS: [&str; 3] = ["sim_app", "cad", "Matlab"];

/// What a job may say of a machine; each by itself is true of some machines.
const WISHES: [&str; 32] = [
    r#"cpu.Arch == "INTEL""#,
    r#"cpu.Arch == "x86_64" || cpu.Arch == "sun4u""#,
    r#"cpu.OpSys == "LINUX""#,
    r#"cpu.OpSys =?= "LINUX""#,
    "cpu.Memory >= MinMemory",
    "cpu.Memory > 500",
    "cpu.Memory < 200",
    "cpu.Arch == \"SUN4u\"",
    "cpu.Memory * 2 >= 1500",
    "cpu.Memory + cpu.VirtualMemory > 3000",
    "cpu.VirtualMemory - cpu.Memory >= 512",
    "cpu.Memory / cpu.Cpus >= 200",
    "cpu.Memory % 128 == 0",
    "cpu.Mips > 100 && cpu.KFlops > 20000",
    "cpu.KFlops / 1E3 + cpu.Memory / 32 >= 60",
    "-cpu.Mips < -300",
    r#"cpu.Subnet == "128.105.102""#,
    r#"cpu.Subnet != "128.105.101""#,
    r#"member(cpu.Arch, {"sun4u", "alpha"})"#,
    r#"regexp("^ws[1-3]", cpu.Name)"#,
    r#"stringListMember(cpu.Name, "ws1,ws4")"#,
    "!isUndefined(cpu.Gpus)",
    "isUndefined(cpu.Gpus) || cpu.Gpus == 0",
    "cpu.Gpus >= 1",
    "cpu.HasCVMFS",
    "!cpu.HasCVMFS",
    "(cpu.HasCVMFS ? cpu.Mips : cpu.KFlops) > 400",
    "(cpu.Gpus ?: 0) < 2",
    r#"cpu.Type == "Machine""#,
    "cpu.Big",
    "cpu.Start",
    "cpu.Disk > 100 || cpu.Price < 5",
];

/// What the owner of a machine may want of a job.
const TERMS: [&str; 5] = [
    "true",
    r#"requester.Type == "Job""#,
    "requester.ImageSize <= Memory",
    r#"requester.Owner != "eve""#,
    "requester.MaxRuntime isnt undefined && requester.MaxRuntime <= 72000",
];

/// The pool of this seed.
pub(crate) fn pool_of(sort: Generator, seed: u64) -> World {
    let mut maker = Maker { sort, random: Random::stream(seed, "pool"), text: String::new() };
    let mut ads: Vec<PoolAd> = Vec::new();
    for (kind, most) in [("Machine", 4), ("License", 3), ("Job", 2)] {
        for number in 0..maker.random.between(i64::from(kind != "License"), most) {
            ads.push(maker.ad(kind, usize::try_from(number).unwrap()));
        }
    }
    let keys: Vec<AdKey> = ads.iter().filter(|ad| ad.offer().is_some()).map(|ad| ad.key.clone()).collect();
    let mut snapshot = Snapshot::new(ads);
    let jobs: Vec<AdId> = snapshot.ads().filter(|(_, ad)| ad.offer().is_none()).map(|(id, _)| id).collect();
    for ad in jobs {
        let refused = maker.random.happens(100).then(|| maker.random.pick(&keys).cloned()).flatten();
        let exclusions: BTreeSet<AdKey> = refused.into_iter().collect();
        let root = Root { ad, submitter: "ann".into(), priority: 0, since: 0, exclusions };
        snapshot.roots.push(root);
    }
    World { snapshot, config: Config::product(), text: maker.text }
}

struct Maker {
    sort: Generator,
    random: Random,
    text: String,
}

impl Maker {
    fn pick<'t>(&mut self, list: &[&'t str]) -> &'t str {
        self.random.pick(list).copied().unwrap_or_default()
    }

    fn ad(&mut self, kind: &str, number: usize) -> PoolAd {
        let written = match kind {
            "Machine" => self.machine(number),
            "License" => self.license(),
            _ => self.job(),
        };
        let name = format!("{}{number}", kind.to_ascii_lowercase());
        let key = AdKey { kind: kind.to_owned(), namespace: "n".to_owned(), name };
        let _ = write!(self.text, "\n{key}: {written}");
        let mut ad = parse_ad(&written, Dialect::Gangmatch).expect(&written);
        let role = if kind == "Job" { Role::Asks } else { Role::Offers(Box::new(self.offer(kind))) };
        if kind != "Job" && self.sort == Generator::Private {
            let names: Vec<Name> = ["Memory", "Arch", "ValidHost", "App", "Price"]
                .into_iter()
                .filter(|_| self.random.happens(300))
                .map(Name::new)
                .collect();
            let _ = write!(self.text, " private {names:?}");
            ad = ad.hide(&names);
        }
        PoolAd { uid: format!("uid-{kind}-{number}"), key, node_name: None, ports: Arc::new(Ports::of(&ad)), role }
    }

    fn machine(&mut self, number: usize) -> String {
        let (host, platform, subnet) = (HOSTS[number % HOSTS.len()], self.pick(&PLATFORMS), self.pick(&SUBNETS));
        let memory = self.pick(&["64", "256", "512", "1024", "4096"]);
        let (cpus, mips) = (self.pick(&["1", "2", "4", "8"]), self.random.between(50, 500));
        let kflops = self.random.between(5_000, 100_000);
        let mut parts = vec![format!(
            r#"Type = "Machine"; Name = "{host}"; {platform}; Memory = {memory}; VirtualMemory = Memory * {}; Cpus = {cpus}; Mips = {mips};
               KFlops = {kflops}; Subnet = "{subnet}"; Big = Memory > 1000; Start = requester.Owner == "ann""#,
            self.pick(&["2", "1.5", "4"])
        )];
        let sometimes = [
            "Gpus = 0",
            "Gpus = 2",
            "HasCVMFS = true",
            "HasCVMFS = false",
            "Disk = 500",
            "Disk = Gpus * 100",
            "Price = 7",
            "Gpus = error",
            "HasCVMFS = requester.WantsCVMFS",
        ];
        let mut named: BTreeSet<&str> = BTreeSet::new();
        for part in sometimes {
            if self.random.happens(250) && named.insert(part.split(' ').next().unwrap_or_default()) {
                parts.push(part.to_owned());
            }
        }
        let terms = self.pick(&TERMS);
        let own = if self.sort == Generator::SubGangs && self.random.happens(600) {
            let app = self.pick(&APPS);
            format!(
                r#"[Label = site; Host = Name; Seats = 1; Constraint = site.Type == "License" && site.App == "{app}"], "#
            )
        } else {
            String::new()
        };
        let extra = self.pick(&["", "Queue = 3; ", "Memory = 2048; ", "Queue = requester.ImageSize; "]);
        let more = match self.random.below(5) {
            0 => format!(
                ", [Label = requester2; Memory = 8192; Constraint = {}]",
                terms.replace("requester", "requester2")
            ),
            _ => String::new(),
        };
        parts.push(format!(
            "Ports = {{{own}[Label = requester; {extra}Rank = 1 / requester.ImageSize; Constraint = {terms}]{more}}}"
        ));
        format!("[{}]", parts.join("; "))
    }

    fn license(&mut self) -> String {
        let app = self.pick(&APPS);
        let valid = match (self.sort, self.random.below(3)) {
            (Generator::HostLocked, 0 | 1) => {
                let host = self.pick(&HOSTS);
                format!(r#"ValidHost = "{host}"; Terms = requester.Host == ValidHost"#)
            }
            (_, 0) => format!(r#"ValidSubnet = "{}"; Terms = requester.Subnet == ValidSubnet"#, self.pick(&SUBNETS)),
            _ => "Terms = true".to_owned(),
        };
        format!(
            r#"[Type = "License"; App = "{app}"; {valid}; Version = {}; Ports = {{[Label = requester; Constraint = Terms]}}]"#,
            self.random.between(1, 4)
        )
    }

    fn job(&mut self) -> String {
        let (owner, app) = (self.pick(&["ann", "bob", "eve"]), self.pick(&APPS));
        let (image, memory) = (self.pick(&["8", "64", "512", "20000"]), self.pick(&["16", "300", "2000", "8000"]));
        let runtime = self.pick(&["", "MaxRuntime = 3600; ", "MaxRuntime = MinMemory * 50; "]);
        let wishes: Vec<String> = (0..self.random.below(4)).map(|_| format!("({})", self.pick(&WISHES))).collect();
        let wishes = if wishes.is_empty() { "true".to_owned() } else { wishes.join(" && ") };
        let request = if self.sort == Generator::Modern {
            let cpus = self.pick(&["1", "2", "4", "64", "MinMemory / 100", "cpu.Cpus"]);
            format!("RequestCpus = {cpus}; RequestMemory = {}; ", self.pick(&["16", "MinMemory", "100000"]))
        } else {
            String::new()
        };
        let mut ports = vec![format!("[Label = cpu; {request}Rank = cpu.KFlops / 1E3; Constraint = {wishes}]")];
        for number in 0..self.random.below(3) {
            let label = if number == 0 { "license" } else { "second" };
            let wish = match self.random.below(7) {
                0 | 1 => format!("{label}.App == Cmd"),
                2 => format!(r#"{label}.Type == "License" && {label}.Version >= 2"#),
                3 => format!("{label}.ValidHost == cpu.Name"),
                4 => format!("{label}.ValidSubnet is undefined || {label}.ValidSubnet == cpu.Subnet"),
                5 => format!("{label}.Version + cpu.Cpus > 8"),
                _ => "true".to_owned(),
            };
            let seats = self.pick(&["", "RequestSeats = 1; ", "RequestSeats = 2; "]);
            ports.push(format!("[Label = {label}; Host = cpu.Name; Subnet = cpu.Subnet; {seats}Constraint = {wish}]"));
        }
        format!(
            r#"[Type = "Job"; Owner = "{owner}"; Cmd = "{app}"; ImageSize = {image}; MinMemory = {memory}; {runtime}Ports = {{{}}}]"#,
            ports.join(", ")
        )
    }

    fn offer(&mut self, kind: &str) -> Offer {
        let amounts: &[(&str, &[i64])] = match (kind, self.sort) {
            ("License", _) => &[("seats", &[1, 2, 3])],
            (_, Generator::Modern) => &[("cpus", &[1, 4, 16]), ("memory", &[64, 1024, 65536])],
            _ => &[("slots", &[1, 2])],
        };
        let mut capacity = Res::new();
        for (name, amounts) in amounts {
            capacity.insert((*name).to_owned(), self.random.pick(amounts).copied().unwrap_or(1));
        }
        let mut usage = Usage::default();
        if self.random.happens(400) {
            let share = |amount: &i64| (*amount + 1) / 2;
            let takes: Res = capacity.iter().map(|(name, amount)| (name.clone(), share(amount))).collect();
            usage.take(&Ask { allocation: takes.clone(), share: None });
            if self.random.happens(300) {
                usage.external = takes;
            }
        }
        let shared_by = (kind == "License" && self.sort == Generator::Shared && self.random.happens(700)).then(|| {
            parse_expr(self.pick(&["requester.Owner", "requester.Host", "1 / 0"]), Dialect::Gangmatch).unwrap()
        });
        let open = !self.random.happens(80);
        let default_request = Res::new();
        let offer =
            Offer { capacity, default_request, usage, shared_by, consent: Consent::Everybody, open, disclosed: false };
        let _ = write!(self.text, "\n    {offer:?}");
        offer
    }
}
