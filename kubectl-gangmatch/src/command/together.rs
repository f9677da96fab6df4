//! `match --placing Collective`: the jobs of a folder get their gangs together.

use std::collections::BTreeSet;
use std::io::Write;

use clap::ValueEnum;
use crds::PoolPolicySpec;
use crds::ad::PolicyTerms;
use gangindex::Indexed;
use matchmaker::{
    AdId, Collective, Config, Gang, Snapshot, Together, Unmatched, Weight, negotiate_together, overdue, summary,
};

/// The settings of collective placing that an operator chooses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) window: usize,
    pub(crate) weight: WeightBy,
    pub(crate) steps: u64,
    /// In seconds: a job that has waited for so long is not passed over.
    pub(crate) max_wait: i64,
}

/// Those of the controller, unless it is told otherwise.
pub(crate) const DEFAULTS: Settings = Settings { window: 1000, weight: WeightBy::One, steps: 200_000, max_wait: 1800 };

/// What is to be large.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum WeightBy {
    /// The number of gangs.
    #[value(name = "One")]
    One,
    /// What is charged for them: with a PoolPolicy by its weights, else 1 for each of cpus, slots and seats as by default.
    #[value(name = "Charge")]
    Charge,
}

impl From<WeightBy> for Weight {
    fn from(weight: WeightBy) -> Weight {
        match weight {
            WeightBy::One => Weight::One,
            WeightBy::Charge => Weight::Charge(PolicyTerms::without_expressions(&PoolPolicySpec::default()).weights),
        }
    }
}

/// A window that was placed.
pub(crate) struct Placement {
    pub(crate) together: Together,
    settings: Settings,
}

impl Placement {
    /// Why a root waits that has a gang in turn, if it is one.
    pub(crate) fn passed_over(&self, pool: &Snapshot, root: AdId) -> Option<String> {
        let gang = self.together.passed_over.iter().find(|gang| gang.root() == Some(root))?;
        let since = pool.roots.iter().find(|waiting| waiting.ad == root).map_or(0, |waiting| waiting.since);
        let due = jiff::Timestamp::from_second(since.saturating_add(self.settings.max_wait));
        let due = due.ok().filter(|_| since > 0).map(|due| format!("; from {due} on it is not passed over"));
        let (members, due) = (summary(pool, gang), due.unwrap_or_default());
        Some(format!("it has a gang in turn ({members}), but other jobs are placed instead{due}"))
    }

    /// The roots without a gang that have none in turn either, with the reasons.
    pub(crate) fn others_unmatched(&self) -> impl Iterator<Item = &Unmatched> {
        let passed_over: BTreeSet<AdId> = self.together.passed_over.iter().filter_map(Gang::root).collect();
        self.together.cycle.unmatched.iter().filter(move |unmatched| !passed_over.contains(&unmatched.root))
    }
}

/// Places the roots of a snapshot together.
pub(crate) fn place(pool: &Snapshot, settings: Settings, config: &Config, now: i64) -> Placement {
    let collective = Collective {
        window: settings.window,
        weight: settings.weight.into(),
        steps: settings.steps,
        pinned: overdue(pool, now, settings.max_wait),
        ..Collective::default()
    };
    Placement { together: negotiate_together(pool, config, now, &mut Indexed::new(), &collective), settings }
}

/// The roots that have a gang in turn, and none here.
pub(crate) fn print_passed_over(out: &mut impl Write, pool: &Snapshot, placement: &Placement) -> anyhow::Result<()> {
    for root in placement.together.passed_over.iter().filter_map(Gang::root) {
        let key = pool.ad(root).map(|ad| format!("{}/{}", ad.key.namespace, ad.key.name)).unwrap_or_default();
        let why = placement.passed_over(pool, root).unwrap_or_default();
        writeln!(out, "{key} waits: {why}")?;
        writeln!(out)?;
    }
    Ok(())
}

/// The objective of the window, beside that in turn.
pub(crate) fn print_objective(out: &mut impl Write, together: &Together) -> anyhow::Result<()> {
    let Together { placed, in_turn, bound, proven, charged, .. } = together;
    let most = |is_most: bool, bound: String| match is_most {
        true => ", the most that is possible".to_owned(),
        false => format!(" of at most {bound}"),
    };
    let is_most = *bound == placed.gangs || *proven && charged.is_none();
    let most_gangs = most(is_most, bound.to_string());
    writeln!(out, "Placed together: {}{most_gangs}; in turn it would be {}.", placed.gangs, in_turn.gangs)?;
    if let Some(charged) = charged {
        let [all, before, bound] = [charged.placed, charged.in_turn, charged.bound].map(units);
        let most = most(*proven || charged.bound == charged.placed, format!("{bound:.3}"));
        writeln!(out, "Charged for them: {all:.3}{most}; in turn it would be {before:.3}.")?;
    }
    let [ranks, before] = [placed, in_turn].map(|reached| reached.score.own.to_real());
    writeln!(out, "Sum of ranks: {ranks:.3}; in turn it would be {before:.3}.")?;
    Ok(())
}

/// An amount in micros as a number of units.
fn units(micros: u128) -> f64 {
    micros as f64 / 1e6
}
