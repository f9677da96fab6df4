//! The workload of the gangmatching paper with several products: as many workstations, licences and jobs, in one snapshot.
//!
//! R. Raman, M. Livny, M. Solomon, *Policy Driven Heterogeneous Resource Co-Allocation with Gangmatching*, section 6, fixes which attributes
//! there are, and leaves their distributions open. In the paper all jobs run one program; here each runs one of several products, and a
//! licence is valid for one product in one subnet. So a machine is worth more to one job than to another.

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;

use classad::{Dialect, parse_ad};
use matchmaker::{AdKey, Consent, Offer, PoolAd, Ports, Res, Role, Root, Snapshot, Usage};
use sampling::Random;

/// Kinds of workstations, and how many of a hundred are of each. Jobs ask for each alike.
const PLATFORMS: [(&str, &str, u64); 7] = [
    ("INTEL", "LINUX", 24),
    ("INTEL", "SOLARIS26", 18),
    ("SUN4u", "SOLARIS26", 15),
    ("INTEL", "WINNT40", 13),
    ("SGI", "IRIX65", 11),
    ("ALPHA", "OSF1", 10),
    ("HPPA2", "HPUX10", 9),
];
/// Parts of the network; a licence is valid in one.
const SUBNETS: usize = 8;

/// How large a workload is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Jobs, and as many machines and licences.
    pub(crate) jobs: usize,
    pub(crate) products: u64,
    /// Each owns as many jobs, and is charged for them.
    pub(crate) submitters: usize,
}

/// A snapshot of this size.
pub(crate) fn snapshot(size: Size, seed: u64) -> Result<Snapshot, Box<dyn Error>> {
    let stream = |name: &str| Random::stream(seed, name);
    let (machine_subnets, license_subnets) =
        (dealt(size.jobs, &mut stream("machine-part-8")), dealt(size.jobs, &mut stream("license-part-8")));
    let (mut machines, mut jobs) = (stream("machine"), stream("job"));
    let (mut license_product, mut job_product) = (stream("license-product"), stream("job-product"));
    let mut ads = Vec::new();
    for (number, subnet) in machine_subnets.into_iter().enumerate() {
        ads.push(pool_ad("Machine", number, &machine(number, subnet, &mut machines))?);
    }
    for (number, subnet) in license_subnets.into_iter().enumerate() {
        let product = license_product.below(size.products);
        ads.push(pool_ad("License", number, &license(number, subnet, product))?);
    }
    for number in 0..size.jobs {
        let product = job_product.below(size.products);
        ads.push(pool_ad("Job", number, &job(number, product, &mut jobs))?);
    }
    let mut snapshot = Snapshot::new(ads);
    let asking: Vec<_> = snapshot.ads().filter(|(_, ad)| ad.offer().is_none()).map(|(id, _)| id).collect();
    for (number, ad) in asking.into_iter().enumerate() {
        let submitter = format!("user{:02}", number % size.submitters).into();
        let since = i64::try_from(number)?;
        snapshot.roots.push(Root { ad, submitter, priority: 0, since, exclusions: BTreeSet::new() });
    }
    Ok(snapshot)
}

/// So many items in parts that are equal but for one, in random order: the part of each.
fn dealt(count: usize, random: &mut Random) -> Vec<usize> {
    let mut parts: Vec<usize> = (0..count).map(|number| number % SUBNETS).collect();
    random.shuffle(&mut parts);
    parts
}

fn machine(number: usize, subnet: usize, random: &mut Random) -> String {
    let drawn = random.below(100);
    let mut sum = 0;
    let platform = PLATFORMS.iter().find(|(_, _, share)| {
        sum += share;
        drawn < sum
    });
    let (arch, op_sys, _) = platform.copied().unwrap_or_default();
    let memory = one_of(random, &[32, 64, 128, 256]);
    let virtual_memory = memory * one_of(random, &[1, 2, 4]);
    let (mips, kflops) = (50 + random.below(450), 5000 + random.below(95_000));
    format!(
        "[ Type = \"Machine\"; Name = \"ws{number:05}\"; Arch = \"{arch}\"; OpSys = \"{op_sys}\"; Memory = {memory}; \
         VirtualMemory = {virtual_memory}; Mips = {mips}; KFlops = {kflops}; Subnet = {subnet}; \
         Ports = {{ [ Label = requester; Rank = 1 / requester.ImageSize; \
         Constraint = requester.Type == \"Job\" && requester.ImageSize <= Memory ] }} ]"
    )
}

/// One of these numbers.
fn one_of(random: &mut Random, numbers: &[u64]) -> u64 {
    random.pick(numbers).copied().unwrap_or_default()
}

fn license(number: usize, subnet: usize, product: u64) -> String {
    format!(
        "[ Type = \"License\"; Name = \"lic{number:05}\"; App = \"app{product:02}\"; ValidSubnet = {subnet}; \
         Ports = {{ [ Label = requester; Rank = 0; \
         Constraint = requester.Type == \"Job\" && requester.Subnet == ValidSubnet ] }} ]"
    )
}

fn job(number: usize, product: u64, random: &mut Random) -> String {
    let (arch, op_sys, _) = random.pick(&PLATFORMS).copied().unwrap_or_default();
    let memory = one_of(random, &[16, 32, 64, 128]);
    let virtual_memory = one_of(random, &[32, 64, 128]);
    let image_size = one_of(random, &[8, 16, 32, 64]);
    format!(
        "[ Type = \"Job\"; Name = \"job{number:05}\"; Cmd = \"app{product:02}\"; \
         Ports = {{ [ Label = cpu; ImageSize = {image_size}; MinMemory = {memory}; MinVirtualMemory = {virtual_memory}; \
         Rank = cpu.KFlops / 1E3 + cpu.Memory / 32; \
         Constraint = cpu.Type == \"Machine\" && cpu.Arch == \"{arch}\" && cpu.OpSys == \"{op_sys}\" && \
         cpu.Memory >= MinMemory && cpu.VirtualMemory >= MinVirtualMemory ], \
         [ Label = license; Host = cpu.Name; Subnet = cpu.Subnet; Rank = 0; \
         Constraint = license.Type == \"License\" && license.App == Cmd ] }} ]"
    )
}

fn pool_ad(kind: &str, number: usize, text: &str) -> Result<PoolAd, Box<dyn Error>> {
    let ad = parse_ad(text, Dialect::Htcondor).map_err(|wrong| wrong.to_string())?;
    let offer = Offer {
        capacity: Res::from([("slots".to_owned(), 1)]),
        default_request: Res::new(),
        usage: Usage::default(),
        shared_by: None,
        consent: Consent::Everybody,
        open: true,
        disclosed: false,
    };
    let role = if kind == "Job" { Role::Asks } else { Role::Offers(Box::new(offer)) };
    let key = AdKey { kind: kind.to_owned(), namespace: String::new(), name: format!("{number:05}") };
    Ok(PoolAd { key, uid: String::new(), node_name: None, ports: Arc::new(Ports::of(&ad)), role })
}
