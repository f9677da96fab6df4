//! Mistakes that can be put in, to see that they are found: a check that cannot fail proves nothing.

/// One mistake, of the server or of a coordinator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Planted {
    /// None.
    #[default]
    Nothing,
    /// The server does not refuse what goes over the capacity.
    NoCapacityRule,
    /// The server lets entries be removed whose work goes on, and coordinators try.
    RemovesActive,
    /// The server lets a register be turned twice, and coordinators do not test it.
    DecidesTwice,
    /// Coordinators reserve by name, whatever object is there.
    NoUidTest,
    /// Coordinators take what they have seen for what stands.
    ConfirmsFromCache,
    /// Coordinators do not look for work before they give back.
    LooksForNoWork,
    /// Coordinators do not look for entries before they give the job back.
    LooksForNoEntries,
    /// Coordinators take a Match for gone that they have not seen.
    BelievesAbsence,
    /// Coordinators take an agent for silent that is not.
    LosesAlive,
    /// Batch Jobs are started as they are made.
    StartsAtOnce,
    /// Nobody looks after what is left of deleted Matches.
    NoSweeper,
    /// An answer that was under way brings back what was deleted in the meantime.
    Resurrects,
    /// Gangs are released before their nomination is stored.
    ReleasesUnnamed,
    /// What is nominated is given to other jobs.
    GivesNominatedAway,
    /// A nomination is not taken out.
    NeverDrops,
    /// A nomination is taken out as soon as a gang has ended for it.
    DropsEarly,
    /// Nothing is nominated for jobs that are left over.
    NeverNominates,
}

impl Planted {
    /// Those of preemption, which [`crate::HistoryPlan::with_preemption`] finds, each with the law that it breaks.
    pub const OF_PREEMPTION: [(Planted, &'static str); 5] = [
        (Planted::ReleasesUnnamed, "K1"),
        (Planted::GivesNominatedAway, "K2"),
        (Planted::NeverDrops, "K3"),
        (Planted::DropsEarly, "K4"),
        (Planted::NeverNominates, "K5"),
    ];

    /// All others but none, which [`crate::HistoryPlan::new`] finds.
    pub const ALL: [Planted; 12] = [
        Planted::NoCapacityRule,
        Planted::RemovesActive,
        Planted::DecidesTwice,
        Planted::NoUidTest,
        Planted::ConfirmsFromCache,
        Planted::LooksForNoWork,
        Planted::LooksForNoEntries,
        Planted::BelievesAbsence,
        Planted::LosesAlive,
        Planted::StartsAtOnce,
        Planted::NoSweeper,
        Planted::Resurrects,
    ];
}
