//! The small world: the server, two leaders with what each knows, and writes that are under way.

use std::collections::BTreeSet;

use claiming::{
    NominatedSeats, Nomination, NominationEnd, NominationKind, NominationStep, Nominee, VictimClaim, nomination_steps,
};

/// How many writes may be under way.
const WRITES: usize = 2;

/// Rules of the protocol that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Victims are released only once the server has said that the nomination is stored.
    StoredFirst,
    /// A nomination is stored only where there is none.
    OnlyOne,
    /// What is nominated is given to nobody else.
    Held,
    /// A leader that did not decide asks first whether the nomination is still right.
    Judged,
    /// The write that reserves the job takes the nomination out.
    TakenOut,
    /// A nomination whose time is over is taken out.
    Timed,
    /// A nomination is taken out only if it is the one that was meant.
    Same,
    /// A nomination whose job does not wait any more is taken out, and nothing is released for it.
    Withdrawn,
    /// No gang is ended for a reservation.
    EndsNobody,
    /// A reservation lasts while its offers are held, though no gang is being ended for it.
    Lasts,
}

impl Rule {
    pub(crate) const ALL: [Rule; 10] = [
        Rule::StoredFirst,
        Rule::OnlyOne,
        Rule::Held,
        Rule::Judged,
        Rule::TakenOut,
        Rule::Timed,
        Rule::Same,
        Rule::Withdrawn,
        Rule::EndsNobody,
        Rule::Lasts,
    ];

    /// What is found without it.
    pub(crate) fn breaks(self) -> &'static str {
        match self {
            Rule::StoredFirst => "K1: a gang is ended, and no nomination that was stored has named it",
            Rule::OnlyOne => "J4: a nomination is replaced",
            Rule::Held => "K2: what is nominated is given to another job",
            Rule::Judged => "a leader ends a gang that it has not found to be one to end",
            Rule::TakenOut => "a job holds its gang, and the same is held for it once more",
            Rule::Timed => "K3: a nomination does not end",
            Rule::Same => "a nomination is taken out that was not meant",
            Rule::Withdrawn => "a gang is ended for a job that is known not to wait",
            Rule::EndsNobody => "a gang is ended for a reservation",
            Rule::Lasts => "a reservation is taken out though its gang may become free",
        }
    }
}

/// What may happen.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) leaders: usize,
    /// How many gangs hold a seat each, all of which the job wants.
    pub(crate) victims: usize,
    /// How many nominations there may be, one after the other.
    pub(crate) nominations: u8,
    /// The time of a nomination may be over, at any time.
    pub(crate) expires: bool,
    /// Leaders crash.
    pub(crate) crashes: bool,
    /// The user suspends the job.
    pub(crate) suspends: bool,
    /// The work of the first victim does not end.
    pub(crate) lingers: bool,
    /// By and by the first victim may not be preempted any more, or the quota of the job forbids its gang.
    pub(crate) changes: bool,
    /// Gangs end by themselves, and the seats of the job are reserved. A short job may use a seat meanwhile.
    pub(crate) reserves: bool,
    pub(crate) without: Option<Rule>,
}

impl Default for Setting {
    fn default() -> Self {
        Setting {
            leaders: 2,
            victims: 1,
            nominations: 1,
            expires: true,
            crashes: false,
            suspends: false,
            lingers: false,
            changes: false,
            reserves: false,
            without: None,
        }
    }
}

impl Setting {
    pub(crate) fn all() -> Vec<Setting> {
        let quiet = Setting::default;
        vec![
            Setting { leaders: 1, victims: 2, crashes: true, changes: true, suspends: true, ..quiet() },
            Setting { nominations: 2, ..quiet() },
            Setting { crashes: true, changes: true, ..quiet() },
            Setting { suspends: true, ..quiet() },
            Setting { lingers: true, crashes: true, ..quiet() },
            Setting { reserves: true, victims: 2, leaders: 1, crashes: true, suspends: true, changes: true, ..quiet() },
            Setting { reserves: true, nominations: 2, ..quiet() },
        ]
    }

    fn has(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Holder {
    Free,
    Victim,
    Nominee,
    Other,
    /// A short job that uses what is reserved.
    Short,
}

/// What is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Server {
    /// The nomination of the job, by its number.
    nomination: Option<u8>,
    nominee: Nominee,
    victims: Vec<VictimClaim>,
    seats: Vec<Holder>,
    /// The first victim may be preempted.
    legal: bool,
}

/// A write under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Write {
    Store(u8, usize),
    Release(usize),
    Claim,
    Drop(u8),
    /// The other job takes the first seat.
    Other,
    /// A short job takes the first seat.
    Short,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Leader {
    /// What it has read.
    view: Server,
    /// The nomination that it has decided on, and that the server has not answered yet.
    wanted: Option<u8>,
    /// The nomination that it has found to be right, or not.
    judged: Option<(u8, bool)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    server: Server,
    leaders: Vec<Leader>,
    writes: BTreeSet<Write>,
    /// How many nominations were decided on.
    decided: u8,
    /// Victims that a stored nomination has named.
    named: bool,
    suspended: bool,
    pub(crate) broken: Option<&'static str>,
}

impl World {
    pub(crate) fn begin(setting: &Setting) -> World {
        let server = Server {
            nomination: None,
            nominee: Nominee::Waits,
            victims: vec![VictimClaim::Committed; setting.victims],
            seats: vec![Holder::Victim; setting.victims],
            legal: true,
        };
        let leader = Leader { view: server.clone(), wanted: None, judged: None };
        World {
            server,
            leaders: vec![leader; setting.leaders],
            writes: BTreeSet::new(),
            decided: 0,
            named: false,
            suspended: false,
            broken: None,
        }
    }

    /// Nothing is held for the job, and nothing is under way.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.server.nomination.is_none() && self.writes.is_empty()
    }

    /// A gang was ended for the job, which has nothing of it.
    pub(crate) fn has_ended_in_vain(&self) -> bool {
        self.server.victims.iter().any(|victim| *victim != VictimClaim::Committed) && !self.is_claimed()
    }

    /// A nomination was stored.
    pub(crate) fn was_stored(&self) -> bool {
        self.named
    }

    pub(crate) fn is_claimed(&self) -> bool {
        self.server.seats.iter().all(|seat| *seat == Holder::Nominee)
    }

    /// All that may happen next.
    pub(crate) fn next(&self, setting: &Setting) -> Vec<World> {
        let mut all = self.surroundings(setting);
        for number in 0..setting.leaders {
            all.extend(self.leader(number, setting));
        }
        all.extend(self.writes.iter().map(|write| self.lands(*write, setting)));
        all
    }

    fn with(&self, change: impl FnOnce(&mut World)) -> World {
        let mut world = self.clone();
        change(&mut world);
        world
    }

    /// What users and the work do.
    fn surroundings(&self, setting: &Setting) -> Vec<World> {
        let mut all = Vec::new();
        for place in 0..setting.victims {
            let lingers = setting.lingers && place == 0;
            if setting.reserves && self.server.victims[place] == VictimClaim::Committed {
                all.push(self.with(|world| world.server.victims[place] = VictimClaim::Ending));
            }
            if self.server.victims[place] == VictimClaim::Ending && !lingers {
                all.push(self.with(|world| {
                    world.server.victims[place] = VictimClaim::Ended;
                    world.server.seats[place] = Holder::Free;
                }));
            }
        }
        if self.server.seats[0] == Holder::Short {
            all.push(self.with(|world| world.server.seats[0] = Holder::Free));
        }
        if setting.suspends && !self.suspended && self.server.nominee == Nominee::Waits {
            all.push(self.with(|world| (world.suspended, world.server.nominee) = (true, Nominee::Over)));
        }
        if setting.changes && self.server.legal && self.named {
            all.push(self.with(|world| world.server.legal = false));
        }
        all
    }

    /// What a leader does.
    fn leader(&self, number: usize, setting: &Setting) -> Vec<World> {
        let leader = &self.leaders[number];
        let mut all = Vec::new();
        if leader.view != self.server {
            all.push(self.with(|world| {
                let own = &mut world.leaders[number];
                own.view = world.server.clone();
                if own.view.nomination.is_some() || own.view.nominee != Nominee::Waits {
                    own.wanted = None;
                }
            }));
        }
        if setting.crashes && (leader.wanted.is_some() || leader.judged.is_some()) {
            all.push(self.with(|world| {
                let own = &mut world.leaders[number];
                (own.wanted, own.judged) = (None, None);
            }));
        }
        let view = &leader.view;
        let fits = (setting.reserves || view.victims.iter().all(|victim| *victim == VictimClaim::Committed))
            && view.legal
            && view.nominee == Nominee::Waits;
        if fits && leader.wanted.is_none() && view.nomination.is_none() && self.decided < setting.nominations {
            all.push(self.with(|world| {
                let own = &mut world.leaders[number];
                (own.wanted, own.judged) = (Some(world.decided), Some((world.decided, true)));
                world.decided += 1;
            }));
        }
        if self.writes.len() < WRITES {
            all.extend(self.steps(number, false, setting));
            if setting.expires && setting.has(Rule::Timed) && view.nomination.is_some() {
                all.extend(self.steps(number, true, setting));
            }
            let is_nominated = view.nomination.is_some();
            let is_reserved = setting.reserves && is_nominated && view.victims[1..].contains(&VictimClaim::Committed);
            if is_reserved && view.seats[0] == Holder::Free {
                all.push(self.with(|world| world.writes.extend([Write::Short])));
            }
            if view.seats[0] == Holder::Free && (!is_nominated || !setting.has(Rule::Held)) {
                all.push(self.with(|world| {
                    world.writes.insert(Write::Other);
                    if is_nominated {
                        world.broken = Some(Rule::Held.breaks());
                    }
                }));
            }
        }
        all
    }

    /// What a leader knows of the nomination.
    fn known(&self, leader: &Leader, is_late: bool, setting: &Setting) -> Option<(u8, Nomination)> {
        let view = &leader.view;
        let stored = view.nomination;
        let number = stored.or(leader.wanted)?;
        let found = leader.judged.filter(|(judged, _)| *judged == number).map(|(_, is_right)| is_right);
        let is_free = view.seats.iter().all(|seat| *seat == Holder::Free);
        let nominee = if setting.has(Rule::Withdrawn) { view.nominee } else { Nominee::Waits };
        let waits = setting.reserves && setting.has(Rule::Lasts) && setting.has(Rule::EndsNobody);
        let names = !setting.reserves || !setting.has(Rule::EndsNobody);
        let nomination = Nomination {
            kind: if waits { NominationKind::Reservation } else { NominationKind::Preemption },
            is_stored: stored.is_some() || !setting.has(Rule::StoredFirst),
            is_right: if setting.has(Rule::Judged) { found } else { Some(found.unwrap_or(true)) },
            nominee,
            victims: if names { view.victims.clone() } else { Vec::new() },
            seats: if is_free { NominatedSeats::Free } else { NominatedSeats::Held },
            is_late,
        };
        Some((number, nomination))
    }

    fn steps(&self, place: usize, is_late: bool, setting: &Setting) -> Vec<World> {
        let leader = &self.leaders[place];
        let Some((number, known)) = self.known(leader, is_late, setting) else { return Vec::new() };
        let steps = nomination_steps(&known).into_iter();
        let after = |step: NominationStep| {
            self.with(|world| {
                let own = &mut world.leaders[place];
                match step {
                    NominationStep::Judge => own.judged = Some((number, leader.view.legal)),
                    NominationStep::Store => drop(world.writes.insert(Write::Store(number, place))),
                    NominationStep::Release(victim) => {
                        if leader.judged.is_none_or(|judged| judged != (number, true)) {
                            world.broken = Some(Rule::Judged.breaks());
                        }
                        if setting.reserves {
                            world.broken = Some(Rule::EndsNobody.breaks());
                        }
                        if leader.view.nominee != Nominee::Waits {
                            world.broken = Some(Rule::Withdrawn.breaks());
                        }
                        world.writes.insert(Write::Release(victim));
                    }
                    NominationStep::Claim => drop(world.writes.insert(Write::Claim)),
                    NominationStep::Drop(end) => {
                        if setting.reserves && end == NominationEnd::Taken {
                            world.broken = Some(Rule::Lasts.breaks());
                        }
                        world.writes.insert(Write::Drop(number));
                    }
                }
            })
        };
        steps.map(after).collect()
    }

    /// A write arrives at the server.
    fn lands(&self, write: Write, setting: &Setting) -> World {
        self.with(|world| {
            world.writes.remove(&write);
            let server = &mut world.server;
            match write {
                Write::Store(number, leader) => {
                    let is_one_more = server.nomination.is_some();
                    if server.nominee != Nominee::Waits || (is_one_more && setting.has(Rule::OnlyOne)) {
                        return;
                    }
                    if is_one_more && server.nomination != Some(number) {
                        world.broken = Some(Rule::OnlyOne.breaks());
                    }
                    server.nomination = Some(number);
                    world.named = true;
                    // The answer.
                    let own = &mut world.leaders[leader];
                    if own.wanted == Some(number) {
                        (own.wanted, own.view.nomination) = (None, Some(number));
                    }
                }
                Write::Release(victim) if server.victims[victim] == VictimClaim::Committed => {
                    server.victims[victim] = VictimClaim::Ending;
                    if !world.named {
                        world.broken = Some(Rule::StoredFirst.breaks());
                    }
                }
                Write::Claim
                    if server.nominee == Nominee::Waits && server.seats.iter().all(|seat| *seat == Holder::Free) =>
                {
                    server.nominee = Nominee::Held;
                    server.seats.fill(Holder::Nominee);
                    if setting.has(Rule::TakenOut) {
                        server.nomination = None;
                    } else if server.nomination.is_some() {
                        world.broken = Some(Rule::TakenOut.breaks());
                    }
                }
                Write::Drop(number) => {
                    let is_same = server.nomination == Some(number);
                    if is_same || !setting.has(Rule::Same) {
                        if server.nomination.is_some() && !is_same {
                            world.broken = Some(Rule::Same.breaks());
                        }
                        server.nomination = None;
                    }
                }
                Write::Other if server.seats[0] == Holder::Free => server.seats[0] = Holder::Other,
                Write::Short if server.seats[0] == Holder::Free => server.seats[0] = Holder::Short,
                Write::Release(_) | Write::Claim | Write::Other | Write::Short => {}
            }
        })
    }
}
