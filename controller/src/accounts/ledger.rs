//! What accounts hold and have used, folded from the claims that are known. Pure: it is told the time.

use std::collections::{BTreeMap, BTreeSet};

use crds::{Account, charge_micros};
use kube::ResourceExt;
use policy::{Amount, Claim, Usage, charge};
use pool::{Changes, ObjectKey, Objects, Submitting, charged_claim};

/// How far a stored time may be ahead of the own one, in seconds: beyond that, it is taken for a mistake, and counts as now.
const AHEAD_MAX: i64 = 600;

/// The accounts of this term.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    tallies: BTreeMap<String, Tally>,
    /// The account of each claim that is held, by the uid of its Match.
    account_of: BTreeMap<String, String>,
    /// The uids of Matches whose claims have ended, and are charged no more.
    ended: BTreeSet<String>,
    /// The uids of Matches by their keys, to know which one was deleted.
    uids: BTreeMap<ObjectKey, String>,
    /// Matches that have ended, and of which some offer still has the entry.
    ending: BTreeSet<ObjectKey>,
    /// In seconds; 0: nothing is known yet.
    half_life: i64,
    /// The newest stored time: the time of accounts does not go back behind it.
    newest: i64,
}

/// What one account holds and has used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) usage: Usage,
    claims: BTreeMap<String, Claim>,
    /// The time of the status that was seen last, or is being written: later ones were written by another leader.
    pub(crate) stored_at: Option<i64>,
}

/// What a status stores: usage and held charge in micros, and the time and the half-life in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) usage: Amount,
    pub(crate) at: i64,
    pub(crate) held: Amount,
    half_life: i64,
}

impl Stored {
    /// What is stored of an account; none if nothing is.
    pub(crate) fn of(account: &Account) -> Option<Stored> {
        let status = account.status.as_ref()?;
        let micros = |text: &Option<String>| text.as_deref().and_then(charge_micros);
        Some(Stored {
            usage: micros(&status.usage)?,
            at: status.usage_time.as_ref()?.0.as_second(),
            held: micros(&status.charge)?,
            half_life: status.half_life_seconds.unwrap_or(0),
        })
    }

    /// The usage, with a time that is not too far ahead.
    fn read(self, now: i64, half_life: i64) -> Usage {
        let at = if self.at > now.saturating_add(AHEAD_MAX) { now } else { self.at };
        let written_with = if self.half_life > 0 { self.half_life } else { half_life };
        Usage::stored(self.usage, at, self.held).with_half_life(written_with)
    }
}

impl Ledger {
    /// Takes in what has changed. The accounts that hold something else than before, or have to be looked at for another reason.
    pub(crate) fn note(&mut self, changes: &Changes, objects: &Objects, now: i64) -> BTreeSet<String> {
        let Some(known) = &objects.pool_policy else {
            *self = Ledger::default();
            return BTreeSet::new();
        };
        if self.half_life == 0 {
            self.take_over(objects, now);
            return self.tallies.keys().chain(objects.accounts.keys()).cloned().collect();
        }
        let now = self.time(now);
        if self.half_life != known.terms.half_life {
            self.half_life = known.terms.half_life;
            for tally in self.tallies.values_mut() {
                tally.usage.hold(now, tally.usage.held());
                tally.usage = tally.usage.with_half_life(self.half_life);
            }
        }
        let mut touched = changes.accounts.clone();
        for name in &changes.accounts {
            self.note_account(name, objects.accounts.get(name).map(|account| &**account), now);
        }
        if changes.policy {
            touched.extend(objects.accounts.keys().cloned());
            self.uids
                .keys()
                .cloned()
                .collect::<Vec<_>>()
                .iter()
                .for_each(|key| self.note_match(key, objects, now, &mut touched));
        }
        let offers_changed = changes.offers().next().is_some();
        let ending = if offers_changed { std::mem::take(&mut self.ending) } else { BTreeSet::new() };
        for key in changes.matches.iter().chain(&ending) {
            self.note_match(key, objects, now, &mut touched);
        }
        touched
    }

    /// The usage of all accounts at a time, in micros.
    pub(crate) fn usage(&self, now: i64) -> BTreeMap<String, Amount> {
        let now = self.time(now);
        self.tallies.iter().map(|(name, tally)| (name.clone(), tally.usage.at(now))).collect()
    }

    /// The time of accounts: the own one, but not before the newest that was stored.
    pub(crate) fn time(&self, now: i64) -> i64 {
        now.max(self.newest)
    }

    /// By how many seconds the own time is behind.
    pub(crate) fn lag(&self, now: i64) -> i64 {
        self.newest.saturating_sub(now).max(0)
    }

    /// The half-life, in seconds.
    pub(crate) fn half_life(&self) -> i64 {
        self.half_life
    }

    /// The accounts, by name.
    pub(crate) fn tallies(&self) -> &BTreeMap<String, Tally> {
        &self.tallies
    }

    /// An account is being written with this time.
    pub(crate) fn is_written(&mut self, name: &str, at: i64) {
        if let Some(tally) = self.tallies.get_mut(name) {
            tally.stored_at = Some(at);
        }
    }

    /// Begins a term with what is stored and the claims that are known.
    fn take_over(&mut self, objects: &Objects, now: i64) {
        let Some(known) = &objects.pool_policy else { return };
        let terms = &known.terms;
        *self = Ledger { half_life: terms.half_life, ..Ledger::default() };
        let stored = |(name, account): (&String, &std::sync::Arc<Account>)| Some((name.clone(), Stored::of(account)?));
        let stored: BTreeMap<String, Stored> = objects.accounts.iter().filter_map(stored).collect();
        let sane = stored.values().map(|stored| stored.at).filter(|at| *at <= now.saturating_add(AHEAD_MAX));
        self.newest = sane.max().unwrap_or(0);
        let now = self.time(now);
        let submitting = Submitting::of(objects, terms);
        let mut claims: BTreeMap<String, BTreeMap<String, Claim>> = BTreeMap::new();
        for (key, found) in objects.matches.iter() {
            let uid = found.uid().unwrap_or_default();
            self.uids.insert(key.clone(), uid.clone());
            let Some((account, claim)) = charged_claim(found, objects, &submitting, terms) else { continue };
            if found.decision().is_terminal() && claim.to.is_none() {
                self.ending.insert(key.clone());
            }
            claims.entry(account).or_default().insert(uid, claim);
        }
        for name in stored.keys() {
            claims.entry(name.clone()).or_default();
        }
        for (name, mut own) in claims {
            let all: Vec<Claim> = own.values().cloned().collect();
            let before = stored.get(&name);
            // Without a status nothing was ever stored: everything that is known counts.
            let begun = || all.iter().map(|claim| claim.from).min().unwrap_or(now);
            let usage = before.map_or_else(
                || Usage::stored(0, begun().min(now), 0).with_half_life(self.half_life),
                |stored| stored.read(now, self.half_life),
            );
            let usage = usage.taken_over(&all, now).with_half_life(self.half_life);
            self.ended.extend(own.iter().filter(|(_, claim)| claim.to.is_some()).map(|(uid, _)| uid.clone()));
            own.retain(|_, claim| claim.to.is_none());
            self.account_of.extend(own.keys().map(|uid| (uid.clone(), name.clone())));
            let stored_at = before.map(|stored| stored.at);
            self.tallies.insert(name, Tally { usage, claims: own, stored_at });
        }
    }

    /// An Account was seen, or is gone.
    fn note_account(&mut self, name: &str, account: Option<&Account>, now: i64) {
        let Some(account) = account else {
            // What it has used is forgotten. What it holds is charged to the next account of its submitter.
            if let Some(tally) = self.tallies.get_mut(name) {
                tally.usage = Usage::stored(0, now, tally.usage.held()).with_half_life(self.half_life);
                tally.stored_at = None;
            }
            return;
        };
        let Some(stored) = Stored::of(account) else { return };
        let tally = self.tallies.entry(name.to_owned()).or_default();
        if tally.stored_at == Some(stored.at) {
            return;
        }
        // Another leader has written it.
        let claims: Vec<Claim> = tally.claims.values().cloned().collect();
        tally.usage = stored.read(now, self.half_life).taken_over(&claims, now).with_half_life(self.half_life);
        tally.stored_at = Some(stored.at);
        if stored.at <= now.saturating_add(AHEAD_MAX) {
            self.newest = self.newest.max(stored.at);
        }
    }

    /// A Match was seen, or is gone.
    fn note_match(&mut self, key: &ObjectKey, objects: &Objects, now: i64, touched: &mut BTreeSet<String>) {
        let found = objects.matches.get(key);
        let uid = found.and_then(|found| found.uid());
        if self.uids.get(key) != uid.as_ref()
            && let Some(gone) = self.uids.remove(key)
        {
            self.ended.remove(&gone);
            self.end(&gone, now, touched);
        }
        let (Some(found), Some(uid), Some(known)) = (found, uid, &objects.pool_policy) else { return };
        self.uids.insert(key.clone(), uid.clone());
        let submitting = Submitting::of(objects, &known.terms);
        let Some((account, claim)) = charged_claim(found, objects, &submitting, &known.terms) else { return };
        if found.decision().is_terminal() && claim.to.is_none() {
            self.ending.insert(key.clone());
        }
        if self.ended.contains(&uid) {
            return;
        }
        let (is_same, to) = (self.account_of.get(&uid) == Some(&account), claim.to);
        if !is_same {
            // It was charged to another account, or to none.
            let since = if self.end(&uid, now, touched) { now } else { claim.from };
            self.begin(&account, &uid, Claim { to: None, ..claim }, since);
            touched.insert(account);
        }
        if let Some(to) = to {
            self.end(&uid, to, touched);
            self.ended.insert(uid);
        }
    }

    fn begin(&mut self, account: &str, uid: &str, claim: Claim, since: i64) {
        let fresh = || Tally { usage: Usage::stored(0, since, 0).with_half_life(self.half_life), ..Tally::default() };
        let tally = self.tallies.entry(account.to_owned()).or_insert_with(fresh);
        tally.claims.insert(uid.to_owned(), claim);
        tally.usage.hold(since, charge(tally.claims.values()));
        self.account_of.insert(uid.to_owned(), account.to_owned());
    }

    /// A claim is charged no longer. Says whether it was.
    fn end(&mut self, uid: &str, at: i64, touched: &mut BTreeSet<String>) -> bool {
        let Some(account) = self.account_of.remove(uid) else { return false };
        if let Some(tally) = self.tallies.get_mut(&account) {
            tally.claims.remove(uid);
            tally.usage.hold(at, charge(tally.claims.values()));
        }
        touched.insert(account);
        true
    }
}
