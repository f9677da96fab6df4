//! `match --placing Collective`: the jobs of a folder get their gangs together.

use std::collections::BTreeSet;
use std::io::Write;

use gangindex::Indexed;
use matchmaker::{AdId, Collective, Config, Gang, Snapshot, Together, Unmatched, negotiate_together, overdue, summary};

/// A job that has waited for so many seconds is not passed over.
const MAX_WAIT: u32 = 1800;

/// The settings of collective placing that an operator chooses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    window: usize,
    steps: u64,
    /// In seconds.
    max_wait: i64,
}

impl Settings {
    /// These settings; the defaults where there is none.
    pub(crate) fn of(window: Option<u16>, steps: Option<u64>, max_wait: Option<u32>) -> Settings {
        let defaults = Collective::default();
        Settings {
            window: window.map_or(defaults.window, usize::from),
            steps: steps.unwrap_or(defaults.steps),
            max_wait: i64::from(max_wait.unwrap_or(MAX_WAIT)),
        }
    }
}

/// A window that was placed.
pub(crate) struct Placement {
    pub(crate) together: Together,
    settings: Settings,
}

impl Placement {
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
        steps: settings.steps,
        pinned: overdue(pool, now, settings.max_wait),
        ..Collective::default()
    };
    Placement { together: negotiate_together(pool, config, now, &mut Indexed::new(), &collective), settings }
}

/// The roots that have a gang in turn, and none here.
pub(crate) fn print_passed_over(out: &mut impl Write, pool: &Snapshot, placement: &Placement) -> anyhow::Result<()> {
    for gang in &placement.together.passed_over {
        let Some(root) = gang.root() else { continue };
        let key = pool.ad(root).map(|ad| format!("{}/{}", ad.key.namespace, ad.key.name)).unwrap_or_default();
        let since = pool.roots.iter().find(|waiting| waiting.ad == root).map_or(0, |waiting| waiting.since);
        let due = jiff::Timestamp::from_second(since.saturating_add(placement.settings.max_wait));
        let due = due.ok().filter(|_| since > 0).map(|due| format!("; from {due} on it is not passed over"));
        let (members, due) = (summary(pool, gang), due.unwrap_or_default());
        writeln!(out, "{key} waits: it has a gang in turn ({members}), but other jobs are placed instead{due}")?;
        writeln!(out)?;
    }
    Ok(())
}

/// The objective of the window, beside that in turn.
pub(crate) fn print_objective(out: &mut impl Write, together: &Together) -> anyhow::Result<()> {
    let Together { placed, in_turn, bound, proven, .. } = together;
    let most = if *proven || *bound == placed.gangs {
        "that is the most".to_owned()
    } else {
        format!("more than {bound} are not possible")
    };
    writeln!(out, "Placed together: {}; in turn it would be {}; {most}.", placed.gangs, in_turn.gangs)?;
    let [ranks, before] = [placed, in_turn].map(|reached| reached.score.own.to_real());
    writeln!(out, "Sum of ranks: {ranks:.3}; in turn it would be {before:.3}.")?;
    Ok(())
}
