//! What can go wrong with one write, or at the moment of one.

use crate::mistakes::Mistake;

/// What happens when a write is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// The controller is killed before it arrives; so is everything else it has sent.
    KilledBefore,
    /// The controller is killed after it was done, and never hears of it.
    KilledAfter,
    /// The controller is killed, and the write arrives long after its successor has taken over.
    Late,
    /// It is done, and the answer is lost.
    AnswerLost,
    /// It never arrives.
    Lost,
    /// It is not done, and answered with this.
    Refused(u16),
    /// It is done, and answered as if it had taken too long.
    DoneAndTimedOut,
    /// All watches break off.
    WatchesDropped,
    /// All watches stay open, and say nothing any more.
    WatchesFrozen,
    /// All watches break off, and it is too late to resume them.
    Compacted,
    /// It is kept back until somebody lets it go.
    Held,
    /// It arrives after so many milliseconds, and is answered then.
    Slow(i64),
    /// It arrives after so many milliseconds, whatever has become of the controller, and is never answered.
    Astray(i64),
    /// It is done, answered, and done again after so many milliseconds.
    Twice(i64),
}

/// The faults that each write of each scenario meets, by name.
pub(crate) const ALL: [(&str, Fault); 13] = [
    ("killed-before", Fault::KilledBefore),
    ("killed-after", Fault::KilledAfter),
    ("late", Fault::Late),
    ("answer-lost", Fault::AnswerLost),
    ("lost", Fault::Lost),
    ("409", Fault::Refused(409)),
    ("429", Fault::Refused(429)),
    ("500", Fault::Refused(500)),
    ("503", Fault::Refused(503)),
    ("504-done", Fault::DoneAndTimedOut),
    ("watches-dropped", Fault::WatchesDropped),
    ("watches-frozen", Fault::WatchesFrozen),
    ("410", Fault::Compacted),
];

/// Which write meets what. Writes are counted from 1; what the election writes is not counted unless it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strike {
    pub(crate) ordinal: usize,
    pub(crate) fault: Fault,
    pub(crate) leases: bool,
}

/// How a server or a controller is made worse, on purpose: a play that cannot fail proves nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Twist {
    /// Not at all.
    #[default]
    None,
    /// `test` operations are taken out of every patch, and preconditions out of every DELETE.
    NoTests,
    /// Nothing is checked by the rules of the CRDs, nor are late writes to ledgers refused because conditions have changed.
    NoRules,
    /// Reads show for ever what was at this time of the play.
    OldReads(i64),
    /// Writes to licenses are answered as if they were done, and are not.
    Forgets,
    /// A mistake of the controller or of the server.
    Planted(Mistake),
}
