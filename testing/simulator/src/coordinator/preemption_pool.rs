//! What a coordinator has seen into the pool that preemption is decided on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use claiming::Nominee;
use classad::Dialect;
use matchmaker::{Accounts, Ask, ByAd, Edge, Gang, HeldGang, PoolAd, Ports, Res, Role, Root, Score, Seats, Snapshot};
use policy::{Account, Amount, Amounts, CHARGE, Claim, GANGS, MemberCharge, Tree, Usage, taken_by_gang};

use crate::coordinator::cycle::{RESOURCE, Trade, key, name, offer_ad, offer_key};
use crate::coordinator::view::{View, waits};
use crate::coordinator::{Coordinator, Drive};
use crate::objects::{Decision, Match, Member, Nomination, ObjectName, Stored, Uid};
use crate::planted::Planted;
use crate::scheme::Scheme;

/// One charge, in micros, which each offer costs.
const CHARGE_OF_ONE: Amount = 1_000_000;
/// The half-life of accounts, in seconds.
const HALF_LIFE: i64 = 60;

/// The pool, in which what is nominated counts as taken and as held.
pub(super) struct PreemptionPool {
    pub(super) snapshot: Snapshot,
    /// The claims that stand. Their names are the uids of their Matches.
    pub(super) held: Vec<HeldGang>,
    /// Those that are ending, and those that nominations name.
    pub(super) ending: Vec<HeldGang>,
    pub(super) stands: Vec<Stand>,
}

/// A nomination of a job that nothing is being claimed for.
#[derive(Clone)]
pub(super) struct Stand {
    /// Its name and its uid.
    pub(super) job: (u8, Uid),
    pub(super) nomination: Nomination,
    /// None, if an offer is not the one that was nominated.
    pub(super) gang: Option<Gang>,
    pub(super) nominee: Nominee,
}

impl Coordinator {
    /// The pool as it was seen; none if nothing is to be done in it.
    pub(super) fn preemption_pool(&self, scheme: &Scheme, now_s: i64) -> Option<PreemptionPool> {
        let is_waiting = |stored: &&Stored| waits(stored, &self.seen) && !self.is_driven(stored.uid);
        let jobs: Vec<&Stored> = self.seen.values().map(|one| &**one).filter(|one| one.job().is_some()).collect();
        let waiting: Vec<&Stored> = jobs.iter().copied().filter(is_waiting).collect();
        let is_nominated = |stored: &&Stored| stored.job().is_some_and(|job| job.nomination.is_some());
        if waiting.is_empty() && !jobs.iter().any(is_nominated) {
            return None;
        }
        let ads = if scheme.is_ranked { &RANKED } else { &EQUAL };
        let ads = ads.as_ref()?;
        let offers = self.seen.values().filter_map(|stored| self.shown(stored, is_in_flight));
        let offers = offers.filter_map(|offer| offer_ad(&offer, ads.offers.get(usize::from(offer.name))?.clone()));
        let job_ads = jobs.iter().filter_map(|stored| {
            let (number, role) = (name(stored.key), Role::Asks);
            let ports = ads.jobs.get(usize::from(number))?.clone();
            Some(PoolAd { key: key("Job", number), uid: stored.uid.to_string(), node_name: None, ports, role })
        });
        let mut snapshot = Snapshot::new(offers.chain(job_ads).collect());
        let stands: Vec<Stand> = jobs.iter().filter_map(|stored| self.stand(stored, &snapshot)).collect();
        if self.planted != Planted::GivesNominatedAway {
            let nominated: Vec<Gang> = stands.iter().filter_map(|stand| stand.gang.clone()).collect();
            snapshot = snapshot.after(&nominated);
        }
        let named: BTreeSet<Uid> = stands.iter().flat_map(|stand| stand.nomination.victims.iter().copied()).collect();
        let (held, ending) = self.held_gangs(scheme, &snapshot, &named);
        snapshot.roots = waiting.iter().filter_map(|stored| root(scheme, &snapshot, name(stored.key))).collect();
        let accounts = self.accounts(scheme, &snapshot, &stands, now_s);
        snapshot.accounts = Some(Arc::new(accounts));
        Some(PreemptionPool { snapshot, held, ending, stands })
    }

    fn stand(&self, stored: &Stored, pool: &Snapshot) -> Option<Stand> {
        let job = stored.job()?;
        let mut in_flight = self.drives.values().filter(|drive| is_in_flight(drive));
        let is_in_flight = in_flight.any(|drive| drive.view.root.1 == stored.uid);
        let nomination = job.nomination.clone().filter(|_| job.claim.is_none() && !is_in_flight)?;
        let nominee = match job {
            job if job.suspend || job.done || job.finished => Nominee::Over,
            _ if waits(stored, &self.seen) => Nominee::Waits,
            // A Match of it is open.
            _ => return None,
        };
        let is_same = |member: &Member| {
            let offer = self.seen.get(&ObjectName::Offer(member.offer));
            offer.is_some_and(|offer| (offer.uid, offer.generation) == (member.uid, member.generation))
        };
        let gang = gang_over(name(stored.key), &nomination.members, pool);
        let gang = gang.filter(|_| nomination.members.iter().all(is_same));
        Some(Stand { job: (name(stored.key), stored.uid), nomination, gang, nominee })
    }

    /// The claims that stand, and those that are ending.
    fn held_gangs(&self, scheme: &Scheme, pool: &Snapshot, named: &BTreeSet<Uid>) -> (Vec<HeldGang>, Vec<HeldGang>) {
        let (mut held, mut ending) = (Vec::new(), Vec::new());
        for stored in self.seen.values() {
            let Some(found) = stored.found() else { continue };
            let leaves = || View::of(stored.uid, stored.key, found).leaving(&self.seen).is_some();
            let is_ending = match found.decision {
                Decision::Pending | Decision::Aborted => continue,
                Decision::Committed => named.contains(&stored.uid) || leaves(),
                Decision::Released if self.has_entries(stored.uid) => true,
                Decision::Released => continue,
            };
            let gang = self.held_gang(scheme, pool, stored.uid, found);
            if is_ending { ending.extend(gang) } else { held.extend(gang) }
        }
        (held, ending)
    }

    fn held_gang(&self, scheme: &Scheme, pool: &Snapshot, uid: Uid, found: &Match) -> Option<HeldGang> {
        let job = self.seen.get(&ObjectName::Job(found.root.0)).filter(|stored| stored.uid == found.root.1)?.job()?;
        let mut gang = gang_over(found.root.0, &found.members, pool)?;
        let mut charge = 0;
        for (member, recorded) in gang.members.iter_mut().skip(1).zip(&found.members) {
            if !self.is_shared(recorded) {
                charge += CHARGE_OF_ONE;
            }
            if self.is_shared(recorded) || !self.has_entry(recorded, uid) {
                member.ask = Ask::default();
            }
        }
        let mut takes = taken_by_gang(charge, Amounts::new());
        takes.insert(CHARGE.into(), charge);
        Some(HeldGang {
            name: uid.to_string(),
            account: account_name(scheme, found.root.0),
            priority: scheme.priority_of(found.root.0).into(),
            since: found.committed_s,
            preemptions: job.preemptions,
            takes,
            gang,
        })
    }

    /// Whether a claim still has its entry in the ledger of an offer.
    fn has_entry(&self, member: &Member, uid: Uid) -> bool {
        let offer = self.seen.get(&ObjectName::Offer(member.offer)).and_then(|stored| stored.offer());
        offer.is_some_and(|offer| offer.claims.contains_key(&uid))
    }

    fn is_shared(&self, member: &Member) -> bool {
        let offer = self.seen.get(&ObjectName::Offer(member.offer)).and_then(|stored| stored.offer());
        let sharers =
            |offer: &crate::objects::Offer| offer.claims.values().filter(|entry| entry.share == member.share).count();
        member.share.is_some() && offer.is_some_and(|offer| sharers(offer) > 1)
    }

    fn has_entries(&self, uid: Uid) -> bool {
        self.seen.values().any(|one| one.offer().is_some_and(|offer| offer.claims.contains_key(&uid)))
    }

    /// Whether it works on a claim of this job.
    pub(crate) fn is_driven(&self, root: Uid) -> bool {
        self.drives.values().any(|drive| drive.view.root.1 == root)
    }

    /// The accounts: what their claims and nominations cost, and what they have used by that.
    fn accounts(&self, scheme: &Scheme, pool: &Snapshot, stands: &[Stand], now_s: i64) -> Accounts {
        let mut claims: BTreeMap<u8, Vec<Claim>> = BTreeMap::new();
        let mut hold = |job: u8, from: i64, members: &[Member]| {
            let charge = |member: &Member| MemberCharge {
                offer: member.offer.to_string(),
                charge: CHARGE_OF_ONE,
                share: member.share.clone(),
            };
            let members = members.iter().map(charge).collect();
            claims.entry(scheme.account_of(job)).or_default().push(Claim { from, to: None, members });
        };
        for stored in self.seen.values() {
            let Some(found) = stored.found() else { continue };
            match found.decision {
                Decision::Pending => hold(found.root.0, now_s, &found.members),
                Decision::Committed => hold(found.root.0, found.committed_s, &found.members),
                Decision::Released if self.has_entries(stored.uid) => {
                    hold(found.root.0, found.committed_s, &found.members)
                }
                Decision::Released | Decision::Aborted => {}
            }
        }
        let unseen = self.drives.values().filter(|drive| !self.seen.contains_key(&drive.view.key));
        unseen.for_each(|drive| hold(drive.view.root.0, now_s, &drive.view.legs));
        stands.iter().for_each(|stand| hold(stand.job.0, now_s, &stand.nomination.members));
        let account = |number: u8| {
            let claims = claims.get(&number).map_or(&[][..], Vec::as_slice);
            let begun = claims.iter().map(|claim| claim.from).min().unwrap_or(now_s).min(now_s);
            let usage = Usage::stored(0, begun, 0).with_half_life(HALF_LIFE).taken_over(claims, now_s);
            let gangs = Amount::try_from(claims.len()).unwrap_or(0);
            Account {
                usage: usage.at(now_s),
                held: Amounts::from([(CHARGE.into(), policy::charge(claims)), (GANGS.into(), gangs)]),
                ..Account::named(&account_name(scheme, number))
            }
        };
        let account_of = pool.ads().filter(|(_, ad)| ad.offer().is_none());
        let account_of = account_of.filter_map(|(id, ad)| Some((id, account_name(scheme, ad.key.name.parse().ok()?))));
        Accounts {
            tree: Tree::new([account(0), account(1)]),
            total: Amounts::new(),
            account_of: account_of.collect(),
            offers: ByAd::default(),
            weights: BTreeMap::from([(RESOURCE.to_owned(), CHARGE_OF_ONE)]),
            seats: Seats::default(),
            counters: Vec::new(),
            counting: BTreeMap::new(),
        }
    }
}

/// Whether a claim is under way that is not decided: what it takes is not in the ledgers yet.
fn is_in_flight(drive: &Drive) -> bool {
    matches!(drive.claim.decision, claiming::Decision::Absent | claiming::Decision::Pending)
}

/// The name of the account that a job is charged to.
fn account_name(scheme: &Scheme, job: u8) -> Arc<str> {
    format!("account-{}", scheme.account_of(job)).into()
}

fn root(scheme: &Scheme, pool: &Snapshot, job: u8) -> Option<Root> {
    Some(Root {
        ad: pool.find(&key("Job", job))?,
        submitter: account_name(scheme, job),
        priority: scheme.priority_of(job),
        since: 0,
        exclusions: BTreeSet::new(),
    })
}

/// The gang of these members over the ads of a pool; none if one is not there.
fn gang_over(job: u8, members: &[Member], pool: &Snapshot) -> Option<Gang> {
    let root = matchmaker::Member { ad: pool.find(&key("Job", job))?, edge: None, ask: Ask::default() };
    let mut all = vec![root];
    for member in members {
        // A station binds its licence at its second port; a job binds a place at the first, and a licence at the second.
        let edge = match member.parent {
            Some(parent) => Edge::new(parent + 1, 1, 0),
            None => Edge::new(0, usize::from(Trade::of(member.offer) == Trade::License), 0),
        };
        let allocation = Res::from([(RESOURCE.to_owned(), member.takes)]);
        let ask = Ask { allocation, share: member.share.clone() };
        all.push(matchmaker::Member { ad: pool.find(&offer_key(member.offer))?, edge: Some(edge), ask });
    }
    Some(Gang { members: all.into(), score: Score::default() })
}

/// The ads of offers and jobs, by their names.
struct NumberedAds {
    offers: Vec<Arc<Ports>>,
    jobs: Vec<Arc<Ports>>,
}

/// Offers that prefer jobs in a circle, and such as have no preference.
static RANKED: LazyLock<Option<NumberedAds>> = LazyLock::new(|| numbered_ads("(other.Number + Own) % 3"));
static EQUAL: LazyLock<Option<NumberedAds>> = LazyLock::new(|| numbered_ads("1"));

fn numbered_ads(rank: &str) -> Option<NumberedAds> {
    let ad = |text: &str| Some(Arc::new(Ports::of(&classad::parse_ad(text, Dialect::Gangmatch).ok()?)));
    let offer = |number: u8| match Trade::of(number) {
        Trade::Machine => {
            ad(&format!(r#"[What = "machine"; Own = {number}; Requirements = other.What == "job"; Rank = {rank}]"#))
        }
        Trade::License => ad(&format!(
            r#"[What = "license"; Own = {number}; Requirements = other.What == "job" || other.What == "station"; Rank = {rank}]"#
        )),
        Trade::Station => ad(&format!(
            r#"[What = "station"; Own = {number}; Ports = {{[Label = user; Requirements = user.What == "job"; Rank = {}],
                [Label = tool; Requirements = tool.What == "license"]}}]"#,
            rank.replace("other", "user")
        )),
    };
    let job = |number: u8| {
        ad(&format!(
            r#"[What = "job"; Ports = {{[Label = place; Requirements = place.What == "machine" || place.What == "station"; Number = {number}],
                [Label = extra; Requirements = extra.What == "license"; Number = {number}]}}]"#
        ))
    };
    Some(NumberedAds {
        offers: (0..8).map(offer).collect::<Option<_>>()?,
        jobs: (0..8).map(job).collect::<Option<_>>()?,
    })
}
