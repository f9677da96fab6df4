//! The state of the model: what the server stores, who is at work, and what was ever seen of it.

use claiming::{Activity, Agent, Digest, Vote};

/// Bounds of the space, which is searched whole within them.
pub(crate) const MATCHES: usize = 3;
pub(crate) const OFFERS: usize = 3;
pub(crate) const ROOTS: usize = 2;
/// How many batch Jobs are made under one name.
pub(crate) const UIDS: u8 = 2;

/// The register of a Match that is there, or was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Register {
    #[default]
    Unborn,
    Pending,
    Committed,
    Aborted,
    Released,
    Gone,
}

impl Register {
    pub(crate) fn is_there(self) -> bool {
        !matches!(self, Register::Unborn | Register::Gone)
    }
}

/// A job: which of the objects of its name is there (0: none), and its status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Root {
    pub(crate) life: u8,
    pub(crate) changed: bool,
    pub(crate) finished: bool,
    pub(crate) claim: Option<u8>,
}

/// An offer: which of the objects of its name is there, its ledger, and its agent, who may go on without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Offer {
    pub(crate) life: u8,
    pub(crate) entries: [Option<Agent>; MATCHES],
    pub(crate) ballots: [u8; MATCHES],
    /// For whom the agent works, knows that it may, is silent.
    pub(crate) works: [bool; MATCHES],
    pub(crate) knows: [bool; MATCHES],
    pub(crate) silent: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Batch {
    #[default]
    None,
    Suspended,
    Started,
    Finished,
}

/// A batch Job, by its name: whose it is, which one, how far. And its pods: one may be on its way to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Work {
    pub(crate) batch: Batch,
    pub(crate) of: u8,
    pub(crate) uid: u8,
    pub(crate) uids: u8,
    pub(crate) pod_under_way: Option<u8>,
    pub(crate) pod: Option<u8>,
}

/// Everything that was ever seen of one Match, by whomever: it may be acted on at any later time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Seen {
    pub(crate) registers: u8,
    pub(crate) root: bool,
    pub(crate) root_gone: bool,
    /// By leg: the entries, as bits (see [`code`]).
    pub(crate) entries: [u32; OFFERS],
    pub(crate) gone: [bool; OFFERS],
    pub(crate) silent: [bool; OFFERS],
    /// By leg, as bits: the claim was seen to stand after this ballot was.
    pub(crate) cleared: [u8; OFFERS],
    /// As bits of uids: seen suspended; the claim was seen to stand after that.
    pub(crate) suspended: u8,
    pub(crate) cleared_work: u8,
    pub(crate) started: bool,
    pub(crate) finished: bool,
    pub(crate) foreign: bool,
    /// The end was seen, and then no work; after that, no entry at this leg.
    pub(crate) swept: bool,
    pub(crate) absent: [bool; OFFERS],
    /// The same, seen while a second object of an offer's name was there.
    pub(crate) exorcised: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) registers: [Register; MATCHES],
    pub(crate) stood: [bool; MATCHES],
    pub(crate) roots: [Root; ROOTS],
    pub(crate) offers: [Offer; OFFERS],
    pub(crate) work: [Work; MATCHES],
    pub(crate) seen: [Seen; MATCHES],
    /// Has its root been given back once? Kept only where it matters.
    pub(crate) freed_root: [bool; MATCHES],
    pub(crate) batch_deleted: bool,
    pub(crate) torn: Option<&'static str>,
}

/// Where the codes of accepted entries begin, ten for each ballot.
const FIRST: u32 = 6;

/// All entries that can be seen, each as one bit.
pub(crate) fn code(agent: Agent) -> u32 {
    let place = match agent.vote {
        Vote::Pending => u32::from(agent.asked) + 3 * u32::from(agent.release),
        Vote::Rejected => 2 + 3 * u32::from(agent.release),
        Vote::Accepted => {
            let activity = match (agent.committed, agent.activity) {
                (false, _) => 0,
                (true, Activity::Idle) => 1,
                (true, Activity::Active) => 2,
                (true, Activity::Ended) => 3,
                (true, Activity::Lost) => 4,
            };
            let told = u32::from(agent.release) * 5;
            FIRST + (agent.ballot.0.max(1) as u32 - 1) * 10 + activity + told
        }
    };
    1 << place
}

/// The entries that these bits stand for.
pub(crate) fn decode(bits: u32) -> impl Iterator<Item = Agent> {
    (0..32).filter(move |place| bits & (1 << place) != 0).map(|place: u32| {
        let mut agent = Agent { asked: !place.is_multiple_of(3), ..Agent::default() };
        if place < FIRST {
            agent.release = place >= 3;
            agent.vote = if place % 3 == 2 { Vote::Rejected } else { Vote::Pending };
            return agent;
        }
        let rest = place - FIRST;
        agent.asked = true;
        agent.vote = Vote::Accepted;
        agent.release = rest % 10 >= 5;
        agent.committed = !rest.is_multiple_of(5);
        agent.activity =
            [Activity::Idle, Activity::Idle, Activity::Active, Activity::Ended, Activity::Lost][(rest % 5) as usize];
        agent.ballot = Digest(u64::from(rest / 10) + 1);
        agent
    })
}

/// Which ballots are among these entries, as bits.
pub(crate) fn ballots(bits: u32) -> u8 {
    let of_first = u8::from(bits & (0x3ff << FIRST) != 0);
    let of_second = u8::from(bits & (0x3ff << (FIRST + 10)) != 0);
    of_first << 1 | of_second << 2
}
