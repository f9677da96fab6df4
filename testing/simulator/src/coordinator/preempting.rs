//! Cycles with accounts and preemption: what a coordinator has seen into nominations, their steps and new gangs, by the product's functions.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use claiming::{Event, NominatedSeats, NominationEnd, NominationKind, NominationStep, VictimClaim, nomination_steps};
use gangindex::Engine;
use matchmaker::{
    AdId, Ask, Config, Disagreement, Gang, HeldGang, PoolAd, PreemptionTerms, Prices, Proposal, Seats, Snapshot,
    is_still_right, preempt, verified,
};
use policy::{Evictions, Permitted};

use crate::coordinator::cycle::{Found, found};
use crate::coordinator::preemption_pool::{PreemptionPool, Stand};
use crate::coordinator::shell::ActionStage;
use crate::coordinator::view::View;
use crate::coordinator::{Coordinator, Request};
use crate::objects::{Decision, Nomination, ObjectName, Uid};
use crate::planted::Planted;
use crate::scheme::Scheme;
use crate::server::{ModelRequest, Patch, ServerAnswer};

/// How long nothing is preempted for a job whose nomination has come to nothing; twice as long each time.
const PAUSE_MS: u64 = 1_000;

/// One nomination: the uid of its job, and its time.
type NominationId = (Uid, i64);

/// What a coordinator knows of preemption.
pub struct Preempting {
    pub(super) scheme: Rc<Scheme>,
    /// The claims that are to be released for nominations.
    pub preempted: BTreeSet<Uid>,
    /// Those that it has decided on, whether that is stored or not: what a planted mistake releases.
    decided: BTreeSet<Uid>,
    first_seen: BTreeMap<NominationId, u64>,
    judged: BTreeMap<NominationId, bool>,
    /// How often a nomination has come to nothing, and until when nothing is preempted.
    pauses: BTreeMap<Uid, (u32, u64)>,
    /// The jobs whose nominations are being written.
    writing: BTreeSet<ObjectName>,
    engine: Engine,
    terms: Option<PreemptionTerms>,
    config: Config,
}

impl Preempting {
    /// What a coordinator knows when it begins.
    pub fn new(scheme: Rc<Scheme>) -> Preempting {
        let literal = |text: &str| classad::parse_expr(text, classad::Dialect::Gangmatch).ok();
        let terms = literal("true").zip(literal("0")).map(|(requirements, rank)| PreemptionTerms {
            permitted: Permitted {
                reasons: scheme.reasons.iter().copied().collect(),
                min_runtime_seconds: scheme.min_runtime_s,
                max_victims: scheme.max_victims,
                leaves_above: true,
            },
            requirements,
            rank,
        });
        Preempting {
            scheme,
            preempted: BTreeSet::new(),
            decided: BTreeSet::new(),
            first_seen: BTreeMap::new(),
            judged: BTreeMap::new(),
            pauses: BTreeMap::new(),
            writing: BTreeSet::new(),
            engine: Engine::default(),
            terms,
            config: Config { explains: false, ..Config::product() },
        }
    }

    /// It does not lead any more: what it has found is nothing that another term may act on.
    pub(super) fn steps_down(&mut self) {
        *self = Preempting::new(self.scheme.clone());
    }

    /// A write of a nomination is answered: what came to nothing is read.
    pub(super) fn answered(&mut self, key: ObjectName, answer: &ServerAnswer) -> Option<ModelRequest> {
        let was_written = self.writing.remove(&key);
        (was_written && !matches!(answer, ServerAnswer::Done(_))).then_some(ModelRequest::Get(key))
    }

    fn pause(&mut self, job: Uid, now_ms: u64) {
        let (times, until_ms) = self.pauses.entry(job).or_default();
        *until_ms = now_ms + (PAUSE_MS << (*times).min(6));
        *times += 1;
    }

    fn is_paused(&self, job: Uid, now_ms: u64) -> bool {
        self.pauses.get(&job).is_some_and(|(_, until_ms)| *until_ms > now_ms)
    }
}

impl Coordinator {
    /// Goes on with nominations, finds gangs for the jobs that wait, and nominates others for those that are left over.
    pub(super) fn find_gangs_with_preemption(&mut self, mut own: Preempting, now_ms: u64, requests: &mut Vec<Request>) {
        let now_s = self.clock_s(now_ms);
        own.preempted.clear();
        if let Some(mut pool) = self.preemption_pool(&own.scheme, now_s) {
            let claimed = self.nominations_go_on(&mut own, &mut pool, now_ms, requests);
            let cycle = own.engine.negotiate(&pool.snapshot, &own.config, now_s);
            let found = claimed.into_iter().chain(cycle.gangs.iter().filter_map(|gang| found(&pool.snapshot, gang)));
            for gang in found.collect::<Vec<Found>>() {
                if let Some((key, found)) = self.record(&gang) {
                    let view = View::of(0, key, &found);
                    let claim = self.claim(&view, 0, now_ms);
                    self.begin(view, claim, Event::Tick, now_ms, requests);
                }
            }
            if own.writing.is_empty() && self.planted != Planted::NeverNominates {
                self.nominate(&mut own, &pool, &cycle.gangs, now_ms, requests);
            }
        }
        if self.planted == Planted::ReleasesUnnamed {
            own.preempted.extend(own.decided.iter().copied());
        }
        self.preempting = Some(own);
    }

    /// A job that waits and that others would be preempted for right now, if there is one. For a coordinator that has just seen everything.
    pub fn could_nominate(&mut self, now_ms: u64) -> Option<ObjectName> {
        let preempting = self.preempting.take()?;
        self.noted.proven.extend(self.seen.values().map(|stored| stored.uid));
        let mut requests = Vec::new();
        self.find_gangs_with_preemption(preempting, now_ms, &mut requests);
        requests.into_iter().find_map(|(_, verb)| match verb {
            ModelRequest::Patch(key, Patch::Nominate { .. }) => Some(key),
            _ => None,
        })
    }

    /// The next steps of nominations; the gangs that are claimed.
    fn nominations_go_on(
        &mut self,
        own: &mut Preempting,
        pool: &mut PreemptionPool,
        now_ms: u64,
        requests: &mut Vec<Request>,
    ) -> Vec<Found> {
        let mut claimed = Vec::new();
        for Stand { job, nomination, gang, nominee } in pool.stands.clone() {
            let id = (job.1, nomination.at_s);
            let first_ms = *own.first_seen.entry(id).or_insert(now_ms);
            let root =
                pool.snapshot.roots.iter().map(|root| root.ad).find(|ad| number_of(&pool.snapshot, *ad) == Some(job.0));
            let seats = match (root, &gang) {
                (None, _) => NominatedSeats::Unknown,
                (Some(_), None) => NominatedSeats::Broken,
                (Some(_), Some(gang)) => seats(pool, (job.1, gang), &own.config, self.clock_s(now_ms)),
            };
            if let (NominatedSeats::Held, Some(root), Some(gang), None) = (seats, root, &gang, own.judged.get(&id)) {
                let is_right = is_right(own, pool, (root, gang), &nomination, self.clock_s(now_ms));
                own.judged.insert(id, is_right);
            }
            let known = claiming::Nomination {
                kind: NominationKind::Preemption,
                is_stored: true,
                is_right: own.judged.get(&id).copied(),
                nominee,
                victims: nomination.victims.iter().map(|uid| self.victim(*uid)).collect(),
                seats,
                is_late: now_ms >= first_ms + own.scheme.nomination_ms,
            };
            if self.planted == Planted::DropsEarly && known.victims.iter().any(|claim| *claim != VictimClaim::Committed)
            {
                self.drop_nomination(own, job, (&nomination, NominationEnd::Withdrawn), now_ms, requests);
                continue;
            }
            for step in nomination_steps(&known) {
                match step {
                    NominationStep::Release(place) => own.preempted.extend(nomination.victims.get(place)),
                    NominationStep::Claim => {
                        let waiting = &mut pool.snapshot.roots;
                        waiting.retain(|waiting| Some(waiting.ad) != root);
                        let legs = nomination.members.iter();
                        let legs = legs.map(|member| (member.offer, member.takes, member.share.clone(), member.parent));
                        claimed.push((job.0, legs.collect()));
                    }
                    NominationStep::Drop(end) if self.planted != Planted::NeverDrops => {
                        self.drop_nomination(own, job, (&nomination, end), now_ms, requests);
                    }
                    NominationStep::Drop(_) | NominationStep::Store | NominationStep::Judge => {}
                }
            }
        }
        claimed
    }

    fn drop_nomination(
        &mut self,
        own: &mut Preempting,
        (job, uid): (u8, Uid),
        (nomination, end): (&Nomination, NominationEnd),
        now_ms: u64,
        requests: &mut Vec<Request>,
    ) {
        let key = ObjectName::Job(job);
        if !own.writing.insert(key) {
            return;
        }
        if !matches!(end, NominationEnd::Elsewhere | NominationEnd::Withdrawn) {
            own.pause(uid, now_ms);
        }
        let patch = Patch::DropNomination { uid, at_s: nomination.at_s, victims: nomination.victims.clone() };
        requests.push(self.call(key, None, ActionStage::Write, ModelRequest::Patch(key, patch)));
    }

    /// N1: which gangs are to end for the jobs that a cycle has left over.
    fn nominate(
        &mut self,
        own: &mut Preempting,
        pool: &PreemptionPool,
        gangs: &[Gang],
        now_ms: u64,
        requests: &mut Vec<Request>,
    ) {
        let Some(terms) = own.terms.clone() else { return };
        let now_s = self.clock_s(now_ms);
        let placed: BTreeSet<AdId> = gangs.iter().filter_map(Gang::root).collect();
        let waiting: BTreeSet<AdId> =
            pool.snapshot.roots.iter().map(|root| root.ad).filter(|ad| !placed.contains(ad)).collect();
        let is_spared = |ad: &&AdId| {
            let stored = number_of(&pool.snapshot, **ad).and_then(|job| self.seen.get(&ObjectName::Job(job)));
            stored.is_none_or(|stored| {
                own.is_paused(stored.uid, now_ms) || stored.job().is_some_and(|job| job.nomination.is_some())
            })
        };
        let spared = waiting.iter().filter(is_spared).copied().collect();
        let preempting = matchmaker::Preempting {
            terms: &terms,
            held: &pool.held,
            ending: &pool.ending,
            spared: &spared,
            evictions: &Evictions::up_to(8),
        };
        let engine = &mut own.engine;
        let mut search = |view: &Snapshot, config: &Config, now: i64| engine.negotiate(view, config, now);
        let preemptions = preempt(
            (&pool.snapshot, gangs),
            &waiting,
            &preempting,
            (&own.config, now_s),
            &mut matchmaker::SideSearches::new(&mut search),
        );
        for Proposal { gang, victims, .. } in preemptions.answers.into_iter().filter_map(|(_, answer)| answer.ok()) {
            let recorded = found(&pool.snapshot, &gang).and_then(|found| self.record(&found));
            let Some((_, found)) = recorded else { continue };
            let Some(stored) = self.seen.get(&ObjectName::Job(found.root.0)).cloned() else { continue };
            let victims = victims.iter().filter_map(|place| pool.held.get(*place)?.name.parse().ok());
            let victims: Vec<Uid> = victims.collect();
            own.judged.insert((stored.uid, now_s), true);
            own.decided.extend(victims.iter().copied());
            own.writing.insert(stored.key);
            let nomination = Nomination { at_s: now_s, members: found.members, victims };
            let patch = Patch::Nominate { uid: stored.uid, version: stored.version, nomination };
            requests.push(self.call(stored.key, None, ActionStage::Write, ModelRequest::Patch(stored.key, patch)));
        }
    }

    /// What the claim of a victim has come to, as seen.
    fn victim(&self, uid: Uid) -> VictimClaim {
        let found = self.seen.values().find(|stored| stored.uid == uid).and_then(|stored| stored.found());
        let has_entry =
            || self.seen.values().any(|one| one.offer().is_some_and(|offer| offer.claims.contains_key(&uid)));
        match found.map(|found| found.decision) {
            None => VictimClaim::Ended,
            Some(Decision::Committed) => VictimClaim::Committed,
            Some(_) if has_entry() => VictimClaim::Ending,
            Some(_) => VictimClaim::Ended,
        }
    }
}

/// What the gang of a nomination has come to, in a pool in which it counts as taken.
fn seats(of: &PreemptionPool, (job, gang): (Uid, &Gang), config: &Config, now_s: i64) -> NominatedSeats {
    let pool = &of.snapshot;
    let taken = |gang: &Gang| {
        let members = gang.members.iter().filter(|member| member.ask.share.is_none());
        members.map(|member| (member.ad, member.ask.clone())).collect::<Vec<_>>()
    };
    let freed = |more: Vec<(AdId, Ask)>| {
        let all = [taken(gang), more].concat();
        pool.freed(all.iter().map(|(ad, ask)| (*ad, ask)))
    };
    let others = || of.stands.iter().filter(|stand| stand.job.1 != job);
    let is_victim = |held: &&HeldGang| {
        others().any(|stand| stand.nomination.victims.iter().any(|uid| uid.to_string() == held.name))
    };
    let without = freed(of.ending.iter().filter(is_victim).flat_map(|held| taken(&held.gang)).collect());
    let waits = |job: u8| pool.roots.iter().any(|root| number_of(pool, root.ad) == Some(job));
    let nominated = others().filter(|stand| waits(stand.job.0)).filter_map(|stand| stand.gang.as_ref());
    let at_once = freed(nominated.flat_map(taken).collect());
    let is_free = |gang: &Gang| {
        gang.members.iter().all(|member| {
            let offer = at_once.ad(member.ad).and_then(PoolAd::offer);
            offer.is_none_or(|offer| at_once.usage(member.ad, offer).fits(&offer.capacity, &member.ask).is_ok())
        })
    };
    let is_overfull = |gang: &Gang| {
        gang.members.iter().filter(|member| member.ask.share.is_some()).any(|member| {
            let offer = pool.ad(member.ad).and_then(PoolAd::offer);
            offer.is_some_and(|offer| {
                let usage = without.usage(member.ad, offer);
                offer.capacity.iter().any(|(name, all)| usage.used(name) > *all)
            })
        })
    };
    match verified(&without, gang, config, now_s) {
        Ok(gang) if !is_overfull(&gang) && is_free(&gang) => NominatedSeats::Free,
        Ok(gang) if !is_overfull(&gang) => NominatedSeats::Ending,
        Ok(_) | Err(Disagreement::NoRoom(_)) => NominatedSeats::Held,
        Err(_) => NominatedSeats::Broken,
    }
}

/// Whether a nomination that this coordinator has not decided on is right.
fn is_right(own: &Preempting, pool: &PreemptionPool, gang: (AdId, &Gang), nomination: &Nomination, now_s: i64) -> bool {
    let Some(terms) = &own.terms else { return false };
    let is_named = |gang: &&HeldGang| nomination.victims.iter().any(|uid| uid.to_string() == gang.name);
    let named: Vec<HeldGang> = pool.ending.iter().filter(is_named).cloned().collect();
    let others: Vec<HeldGang> = pool.ending.iter().filter(|gang| !is_named(gang)).cloned().collect();
    let (spared, evictions) = (BTreeSet::new(), Evictions::up_to(named.len()));
    let preempting =
        matchmaker::Preempting { terms, held: &named, ending: &others, spared: &spared, evictions: &evictions };
    let Some(accounts) = &pool.snapshot.accounts else { return false };
    let Some(account) = accounts.account_of.get(gang.0) else { return false };
    let mut prices = Prices::of(&own.config, now_s);
    let charge = accounts.charge_of((&pool.snapshot, gang.1), account, &mut Seats::default(), &mut prices);
    let gang = (gang.0, gang.1, charge.members.as_slice());
    is_still_right(&pool.snapshot, gang, &(0..named.len()).collect(), &preempting, (&own.config, now_s))
}

/// The number of an ad.
fn number_of(pool: &Snapshot, ad: AdId) -> Option<u8> {
    pool.ad(ad)?.key.name.parse().ok()
}
