//! One configuration: who takes part, what people do to it, and which rule is left out to see that the search finds it.

/// One Match of a configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gang {
    pub(crate) root: usize,
    /// Which job of that name it was made for, from 1.
    pub(crate) root_life: u8,
    /// Matches of one name exclude each other on the server.
    pub(crate) name: usize,
    pub(crate) legs: &'static [Member],
}

/// One offer of a gang.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) offer: usize,
    pub(crate) life: u8,
    pub(crate) agent: bool,
    pub(crate) parent: Option<usize>,
}

/// Offer 0 has no agent, offer 1 has one, except where offers are the members of a set. Offer 2 has none.
pub(crate) const M: Member = Member { offer: 0, life: 1, agent: false, parent: None };
pub(crate) const L: Member = Member { offer: 1, life: 1, agent: true, parent: None };
/// The objects that are made again under those names.
pub(crate) const M2: Member = Member { offer: 0, life: 2, agent: false, parent: None };
pub(crate) const L2: Member = Member { offer: 1, life: 2, agent: true, parent: None };
/// Two agents, the second below the first.
pub(crate) const INNER: Member = Member { offer: 0, life: 1, agent: true, parent: None };
pub(crate) const LEAF: Member = Member { offer: 1, life: 1, agent: true, parent: Some(0) };

/// Three offers without agents, at one port.
pub(crate) const SET: [Member; 3] = [M, Member { offer: 1, ..M }, Member { offer: 2, ..M }];

/// The workload of all jobs of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    None,
    /// A batch Job is made for each Match, of its name.
    Template,
    /// The same, and its pods are looked at one by one.
    Pods,
    /// One batch Job for each job of the pool, which is there already.
    Reference,
}

/// What is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
pub(crate) enum Without {
    Nothing,
    /// Rules and tests of the server.
    C1, C5, E2, E4, J1, J2, DecisionOnce, TestMatchUid, TestOfferUid, TestJobUid, TestBatchUid, TestGeneration, Suspended,
    /// Reads, and what they are about.
    R1Confirm, R1Foreign, R2, QuorumRead, EndRead, R5Look, R5Finished, R3, R4, R5AgentsFirst, R6, R7, R8, R9Offer, R9Agent, R10, R11,
    /// Order of votes.
    ChildrenFirst,
}

/// What people do, beside making Matches and ending them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct People {
    pub(crate) delete_matches: bool,
    pub(crate) replace_job: bool,
    pub(crate) replace_offer: Option<usize>,
    pub(crate) suspend_and_finish: bool,
    pub(crate) delete_batch: bool,
    pub(crate) silence: bool,
    pub(crate) reject: bool,
    /// How often an agent votes for one Match, if its entry is made again.
    pub(crate) ballots: u8,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) gangs: &'static [Gang],
    pub(crate) workload: Workload,
    pub(crate) people: People,
    pub(crate) without: Without,
}

impl Setting {
    pub(crate) fn lacks(&self, what: Without) -> bool {
        self.without == what
    }

    /// The place of a Match's batch Job.
    pub(crate) fn place(&self, gang: usize) -> usize {
        if self.workload == Workload::Reference { self.gangs[gang].root } else { self.gangs[gang].name }
    }
}
