//! What is held for one waiting job while gangs are preempted for it: what is to be done next, from what is known.
//!
//! The order of the writes is the protocol. The nomination is stored before any gang is ended for it (N1). Then its victims are released, as any
//! claim is (N2, N3). As soon as all of its gang is free, the job claims it, and the write that reserves the job takes the nomination out (N4). A
//! nomination that comes to nothing is taken out (N5). A leader that did not decide on it asks first whether it is still right.
//!
//! A reservation is a nomination without victims: no gang is ended for it, and it waits until all of its gang is free.

/// Why a gang is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NominationKind {
    /// Gangs are ended for the job.
    Preemption,
    /// Those that have its offers end by themselves.
    Reservation,
}

/// What the job of a nomination does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Nominee {
    /// It waits for its gang.
    Waits,
    /// A Match holds it.
    Held,
    /// It is suspended, finished or not accepted, or it is gone.
    Over,
}

/// What the claim of a victim has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VictimClaim {
    /// It is committed.
    Committed,
    /// It was released, and some offer still has its entry.
    Ending,
    /// Nothing of it is left.
    Ended,
}

/// What the gang of a nomination has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NominatedSeats {
    /// It is not known.
    Unknown,
    /// All of it is free, and everything is as it was.
    Free,
    /// Some of it is held.
    Held,
    /// Some of it is held by gangs that end for other jobs; when they have ended, it is free.
    Ending,
    /// It is no gang any more: an offer is gone or closed, or a constraint is no longer true.
    Broken,
}

/// What is known of a nomination.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nomination {
    /// Why its gang is held.
    pub kind: NominationKind,
    /// The server has said that it is stored.
    pub is_stored: bool,
    /// Whether it is right, as this leader has found; `None`: it has not asked in its term.
    pub is_right: Option<bool>,
    /// Its job.
    pub nominee: Nominee,
    /// Its victims.
    pub victims: Vec<VictimClaim>,
    /// Its gang.
    pub seats: NominatedSeats,
    /// Its time is over.
    pub is_late: bool,
}

/// The next step of a nomination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NominationStep {
    /// N1: store it.
    Store,
    /// Ask whether it is still right.
    Judge,
    /// N2: release this victim.
    Release(usize),
    /// N4: claim the gang.
    Claim,
    /// N5: take it out.
    Drop(NominationEnd),
}

/// Why a nomination is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NominationEnd {
    /// The job has another gang.
    Elsewhere,
    /// The job does not wait any more.
    Withdrawn,
    /// The gang did not become free in time.
    Expired,
    /// The gang is none any more, or the victims may not be preempted any more.
    Changed,
    /// The victims have ended, and others have what they held.
    Taken,
}

/// The next steps.
pub fn nomination_steps(nomination: &Nomination) -> Vec<NominationStep> {
    let drop = |end| vec![NominationStep::Drop(end)];
    let Nomination { kind, is_stored, is_right, nominee, victims, seats, is_late } = nomination;
    if !is_stored {
        let is_wanted = *is_right == Some(true) && *nominee == Nominee::Waits;
        return if is_wanted { vec![NominationStep::Store] } else { Vec::new() };
    }
    match (nominee, seats) {
        (Nominee::Held, _) => return drop(NominationEnd::Elsewhere),
        (Nominee::Over, _) => return drop(NominationEnd::Withdrawn),
        (Nominee::Waits, _) if *is_late => return drop(NominationEnd::Expired),
        (Nominee::Waits, NominatedSeats::Broken) => return drop(NominationEnd::Changed),
        (Nominee::Waits, NominatedSeats::Free) => return vec![NominationStep::Claim],
        (Nominee::Waits, NominatedSeats::Held | NominatedSeats::Ending | NominatedSeats::Unknown) => {}
    }
    match is_right {
        None => vec![NominationStep::Judge],
        Some(false) => drop(NominationEnd::Changed),
        Some(true) if *kind == NominationKind::Reservation => Vec::new(),
        Some(true) if *seats == NominatedSeats::Held && victims.iter().all(|victim| *victim == VictimClaim::Ended) => {
            drop(NominationEnd::Taken)
        }
        Some(true) => {
            let committed = victims.iter().enumerate().filter(|(_, victim)| **victim == VictimClaim::Committed);
            committed.map(|(number, _)| NominationStep::Release(number)).collect()
        }
    }
}
