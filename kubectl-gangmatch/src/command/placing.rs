//! `match --placing`: how the jobs of a folder are served, and one window of the thesis' model, in which offers are clusters.

use std::collections::{BTreeMap, BTreeSet};

use clap::ValueEnum;
use gridcam::{Amounts, Pick, Request, Scheme, Window, relaxation};
use matchmaker::{AdId, Config, Gang, PoolAd, Root, Snapshot, plain};

use crate::command::together::{DEFAULTS, Settings, WeightBy};

/// The algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Placing {
    /// Each job gets its best gang, one job after the other, as the controller does it.
    #[value(name = "InTurn")]
    InTurn,
    /// The jobs of a window get their gangs together: as many as possible, then the best ones.
    #[value(name = "Collective")]
    Collective,
    /// First come, first served.
    #[value(name = "Fcfs")]
    Fcfs,
    /// Scarce resource first.
    #[value(name = "Srfm")]
    Srfm,
    /// Scarce resource first as figure 4.2 prints it.
    #[value(name = "SrfmPrinted")]
    SrfmPrinted,
    /// Linear programming.
    #[value(name = "Lbm")]
    Lbm,
}

/// Which of the offers that accept it a job gets.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PickBy {
    /// The one with the most free cpus.
    MostFree,
    /// The first by name.
    First,
    /// The one with the fewest free cpus.
    BestFit,
}

impl From<PickBy> for Pick {
    fn from(pick: PickBy) -> Pick {
        match pick {
            PickBy::MostFree => Pick::MostFree,
            PickBy::First => Pick::First,
            PickBy::BestFit => Pick::BestFit,
        }
    }
}

/// The options of `match` that choose an algorithm.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// How jobs are served. InTurn is the default. Collective is described in docs/placing.md. The others are those of docs/gridcam.md, which
    /// count cpus, disk and memory, and take jobs with one port.
    #[arg(long, value_enum, value_name = "ALGORITHM", ignore_case = true, conflicts_with = "search")]
    placing: Option<Placing>,

    #[command(flatten)]
    collective: CollectiveOptions,

    /// With --placing Fcfs: the first job that fits no offer ends the window.
    #[arg(long, requires = "placing")]
    blocked: bool,

    /// With --placing Fcfs: which offer a job gets, of those that it fits.
    #[arg(long, value_enum, requires = "placing", default_value_t = PickBy::MostFree)]
    pick: PickBy,
}

/// The settings of collective placing.
#[derive(Debug, clap::Args)]
pub(crate) struct CollectiveOptions {
    /// With --placing Collective: so many jobs are placed together, the first ones in the order of their turns. The others follow in turn.
    #[arg(long, value_name = "JOBS", requires = "placing", value_parser = clap::value_parser!(u16).range(1..=20_000))]
    placing_window: Option<u16>,

    /// With --placing Collective: what is to be large: the number of gangs, or the sum of what their accounts are charged for them.
    #[arg(long, value_enum, value_name = "WEIGHT", ignore_case = true, requires = "placing")]
    placing_weight: Option<WeightBy>,

    /// With --placing Collective: what it may cost, in steps of 64 gangs that are looked at.
    #[arg(long, value_name = "STEPS", requires = "placing")]
    placing_steps: Option<u64>,

    /// With --placing Collective: a job that has waited for so many seconds, and has a gang in turn, has one.
    #[arg(long, value_name = "SECONDS", requires = "placing", value_parser = clap::value_parser!(u32))]
    placing_max_wait: Option<u32>,
}

/// How the jobs are served.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Method {
    /// In negotiation cycles, as the controller does it.
    InTurn,
    /// Placed together.
    Collective(Settings),
    /// As one window of the thesis' model.
    Window(Scheme),
}

impl CollectiveOptions {
    /// The settings.
    ///
    /// # Errors
    /// There are some, and jobs are not placed together.
    pub(crate) fn settings(&self, is_collective: bool) -> anyhow::Result<Settings> {
        let CollectiveOptions { placing_window, placing_weight, placing_steps, placing_max_wait } = self;
        let some = placing_window.is_some()
            || placing_weight.is_some()
            || placing_steps.is_some()
            || placing_max_wait.is_some();
        if some && !is_collective {
            anyhow::bail!(
                "--placing-window, --placing-weight, --placing-steps and --placing-max-wait have an effect on --placing Collective only; leave \
                 them out"
            );
        }
        Ok(Settings {
            window: placing_window.map_or(DEFAULTS.window, usize::from),
            weight: placing_weight.unwrap_or(DEFAULTS.weight),
            steps: placing_steps.unwrap_or(DEFAULTS.steps),
            max_wait: placing_max_wait.map_or(DEFAULTS.max_wait, i64::from),
        })
    }
}

impl Options {
    /// The way that is chosen.
    ///
    /// # Errors
    /// An option has no effect on it.
    pub(crate) fn method(&self) -> anyhow::Result<Method> {
        let placing = self.placing.unwrap_or(Placing::InTurn);
        if placing != Placing::Fcfs && (self.blocked || !matches!(self.pick, PickBy::MostFree)) {
            anyhow::bail!("--blocked and --pick have an effect on --placing Fcfs only; leave them out");
        }
        let settings = self.collective.settings(placing == Placing::Collective)?;
        Ok(match placing {
            Placing::InTurn => Method::InTurn,
            Placing::Collective => Method::Collective(settings),
            Placing::Fcfs => Method::Window(Scheme::Fcfs { pick: self.pick.into(), blocked: self.blocked }),
            Placing::Srfm => Method::Window(Scheme::Srfm),
            Placing::SrfmPrinted => Method::Window(Scheme::SrfmPrinted),
            Placing::Lbm => Method::Window(Scheme::Lbm),
        })
    }
}

/// What came of a window of manifests.
pub(crate) struct Placed {
    /// The gangs of the jobs that were placed, in the order of the jobs.
    pub(crate) gangs: Vec<Gang>,
    /// The jobs that wait, and how many offers each fits while nothing is taken in the window.
    pub(crate) waiting: Vec<(AdId, usize)>,
    /// The value of the relaxation, of LBM.
    pub(crate) bound: Option<f64>,
}

/// Matches the roots of a snapshot as one window: by priority, then by age, then by name.
///
/// # Errors
/// Jobs and offers that are outside the model, by name.
pub(crate) fn place(pool: &Snapshot, scheme: Scheme, config: &Config, now: i64) -> Result<Placed, Vec<String>> {
    let offers: Vec<&PoolAd> = pool.ads().map(|(_, ad)| ad).filter(|ad| ad.offer().is_some()).collect();
    let ids: Vec<AdId> = pool.ads().filter(|(_, ad)| ad.offer().is_some()).map(|(id, _)| id).collect();
    let mut roots: Vec<&Root> = pool.roots.iter().collect();
    roots.sort_by_key(|root| (root.since, root.ad));
    let mut refused: Vec<String> = offers.iter().filter_map(|offer| outside(offer)).collect();
    let mut wishes = Vec::new();
    for root in &roots {
        match Wish::of(pool, root.ad, &ids, config, now) {
            Ok(wish) => wishes.push(wish),
            Err(why) => refused.push(why),
        }
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    let accepted: Vec<BTreeSet<usize>> = wishes.iter().map(|wish| wish.gangs.keys().copied().collect()).collect();
    let jobs = roots.iter().zip(&wishes).zip(&accepted).map(|((root, wish), accepts)| Request {
        priority: i64::from(root.priority),
        accepts: Some(accepts),
        ..Request::of(wish.amounts)
    });
    let window = Window { jobs: jobs.collect(), free: offers.iter().map(|offer| free(offer)).collect() };
    let assignment = scheme.place(&window);
    let (mut gangs, mut waiting) = (Vec::new(), Vec::new());
    for ((root, mut wish), cluster) in roots.iter().zip(wishes).zip(assignment.clusters) {
        match cluster.and_then(|cluster| wish.gangs.remove(&cluster)) {
            Some(gang) => gangs.push(gang),
            None => waiting.push((root.ad, wish.gangs.len())),
        }
    }
    let bound = (scheme == Scheme::Lbm).then(|| relaxation(&window).value);
    Ok(Placed { gangs, waiting, bound })
}

/// What a job asks for, and its gang with each offer that it fits now, by the offer's number.
struct Wish {
    amounts: Amounts,
    gangs: BTreeMap<usize, Gang>,
}

impl Wish {
    fn of(pool: &Snapshot, root: AdId, offers: &[AdId], config: &Config, now: i64) -> Result<Wish, String> {
        let Some(ad) = pool.ad(root) else { return Err("a job is not in its own snapshot".to_owned()) };
        let ports = ad.ports.list.len();
        if ports != 1 {
            return Err(format!("{}: has {ports} ports; --placing takes jobs with one port", ad.key));
        }
        let mut wish: Option<Wish> = None;
        for gang in plain::gangs(pool, root, usize::MAX, config, now) {
            let [_, partner] = gang.members.as_slice() else {
                return Err(format!(
                    "{}: its partners need partners of their own, which --placing does not take",
                    ad.key
                ));
            };
            let Ok(number) = offers.binary_search(&partner.ad) else { continue };
            let amounts = amounts(|name| partner.ask.allocation.get(name).copied());
            let wish = wish.get_or_insert_with(|| Wish { amounts, gangs: BTreeMap::new() });
            if wish.amounts != amounts {
                return Err(format!(
                    "{}: asks for different amounts of different offers; request the same cpus, disk and memory of all of them",
                    ad.key
                ));
            }
            wish.gangs.entry(number).or_insert(gang);
        }
        Ok(wish.unwrap_or_else(|| Wish { amounts: Amounts::default(), gangs: BTreeMap::new() }))
    }
}

/// The three amounts; what is absent is 0.
fn amounts(amount: impl Fn(&str) -> Option<i64>) -> Amounts {
    let amount = |name: &str| amount(name).and_then(|amount| u64::try_from(amount).ok()).unwrap_or(0);
    Amounts { cpus: amount("cpus"), disk: amount("disk"), memory: amount("memory") }
}

/// What is free of an offer.
fn free(offer: &PoolAd) -> Amounts {
    let Some(offer) = offer.offer() else { return Amounts::default() };
    amounts(|name| offer.capacity.get(name).map(|all| all.saturating_sub(offer.usage.used(name))))
}

/// Why an offer is outside the model, if it is.
fn outside(ad: &PoolAd) -> Option<String> {
    let offer = ad.offer()?;
    if offer.shared_by.is_some() {
        return Some(format!("{}: has `sharedBy`; --placing counts every claim by itself", ad.key));
    }
    let known = ["cpus", "disk", "memory"];
    if let Some(other) = offer.capacity.keys().find(|name| !known.contains(&name.as_str())) {
        return Some(format!("{}: has the capacity `{other}`; --placing counts cpus, disk and memory", ad.key));
    }
    let none = !offer.capacity.contains_key("cpus");
    none.then(|| format!("{}: has no capacity `cpus`; write one, such as `capacity: {{cpus: 16}}`", ad.key))
}
