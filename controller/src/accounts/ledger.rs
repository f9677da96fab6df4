//! What accounts hold and have used, folded from the claims that are known. Pure: it is told the time.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt;
use policy::{Amount, Claim, Usage, charge};
use pool::{
    AccountUsage, AllUsage, Changes, Charged, ObjectKey, Objects, Payer, StoredUsage, Submitting, account_usage,
    charged_claim, idle_claim, idle_claim_id, nominated, nomination_of,
};

/// The accounts of this term.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    tallies: BTreeMap<String, AccountUsage>,
    /// The account of each claim that is held, by the uid of its Match.
    account_of: BTreeMap<String, String>,
    /// The uids of Matches whose claims have ended, and are charged no more.
    ended: BTreeSet<String>,
    /// The uids of Matches by their keys, to know which one was deleted.
    uids: BTreeMap<ObjectKey, String>,
    /// The Matches of claims that are ending, and of which some offer still has the entry.
    ending: BTreeSet<ObjectKey>,
    /// Jobs that offers are held for before they claim them.
    nominated: BTreeSet<ObjectKey>,
    /// In seconds; 0: nothing is known yet.
    half_life: i64,
    /// The newest stored time: the time of accounts does not go back behind it.
    newest: i64,
    /// How many Matches were looked at.
    #[cfg(test)]
    pub(crate) looked_at: usize,
}

impl Ledger {
    /// Takes in what has changed. The accounts that hold something else than before, or have to be looked at for another reason.
    pub(crate) fn note(&mut self, changes: &Changes, objects: &Objects, now: i64) -> BTreeSet<String> {
        let Some(known) = objects.accounts.policy() else {
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
        let stored = OnceCell::new();
        for name in &changes.accounts {
            self.note_account(name, objects, now, || stored.get_or_init(|| account_usage(objects, now)));
        }
        let submitting = Submitting::of(objects, &known.terms);
        for key in &self.concerned(changes) {
            self.note_match(key, (objects, &submitting), now, &mut touched);
        }
        self.note_nominated(changes, (objects, &submitting), now, &mut touched);
        if changes.policy {
            touched.extend(objects.accounts.keys().cloned());
            self.tallies.retain(|name, tally| {
                objects.accounts.contains_key(name) || !tally.claims.is_empty() || tally.usage.at(now) > 0
            });
        }
        touched
    }

    /// The Matches that may be charged otherwise than before, each once.
    fn concerned(&mut self, changes: &Changes) -> BTreeSet<ObjectKey> {
        let mut keys = changes.matches.clone();
        if changes.policy {
            keys.extend(self.uids.keys().cloned());
        }
        if changes.offers().next().is_some() {
            keys.append(&mut self.ending);
        }
        keys
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
    pub(crate) fn tallies(&self) -> &BTreeMap<String, AccountUsage> {
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
        let AllUsage { accounts, ended, ending, time } = account_usage(objects, now);
        let claims =
            accounts.iter().flat_map(|(name, own)| own.claims.keys().map(move |uid| (uid.clone(), name.clone())));
        let uids = objects.claims().map(|(key, claim)| (key.clone(), claim.found.uid().unwrap_or_default()));
        let half_life = objects.accounts.policy().map_or(0, |known| known.terms.half_life);
        let newest = if time > now { time } else { 0 };
        *self = Ledger {
            account_of: claims.collect(),
            uids: uids.collect(),
            ended,
            ending,
            nominated: nominated(objects).map(|(key, ..)| key.clone()).collect(),
            half_life,
            newest,
            tallies: accounts,
            #[cfg(test)]
            looked_at: self.looked_at,
        };
    }

    /// An Account was seen, or is gone.
    fn note_account<'u>(&mut self, name: &str, objects: &Objects, now: i64, all_stored: impl FnOnce() -> &'u AllUsage) {
        let Some(account) = objects.accounts.get(name) else {
            // What it has used is forgotten. What it holds is charged to the next account of its submitter.
            if self.tallies.get(name).is_some_and(|tally| tally.claims.is_empty()) {
                self.tallies.remove(name);
            } else if let Some(tally) = self.tallies.get_mut(name) {
                tally.usage = Usage::stored(0, now, tally.usage.held()).with_half_life(self.half_life);
                tally.stored_at = None;
            }
            return;
        };
        let Some(stored) = StoredUsage::of(account) else { return };
        if self.tallies.get(name).is_some_and(|tally| tally.stored_at == Some(stored.at)) {
            return;
        }
        // Another leader has written it, or a write of this one has come to nothing: what is stored counts, and the Matches.
        let AllUsage { accounts, time, .. } = all_stored();
        let time = *time;
        self.newest = self.newest.max(if time > now { time } else { 0 });
        if let Some(known) = accounts.get(name) {
            let tally = self.tallies.entry(name.to_owned()).or_default();
            (tally.usage, tally.stored_at) = (known.usage, known.stored_at);
            tally.usage.hold(time, charge(tally.claims.values()));
        }
    }

    /// A Match was seen, or is gone.
    fn note_match(
        &mut self,
        key: &ObjectKey,
        (objects, submitting): (&Objects, &Submitting<'_>),
        now: i64,
        touched: &mut BTreeSet<String>,
    ) {
        #[cfg(test)]
        {
            self.looked_at += 1;
        }
        let claim = objects.claim(key);
        let uid = claim.and_then(|claim| claim.found.uid());
        if self.uids.get(key) != uid.as_ref()
            && let Some(gone) = self.uids.remove(key)
        {
            self.ended.remove(&gone);
            self.end(&gone, now, touched);
        }
        let (Some(known), Some(uid), Some(policy)) = (claim, uid, objects.accounts.policy()) else { return };
        self.uids.insert(key.clone(), uid.clone());
        let Some(charged) = charged_claim(known.found, objects, submitting, &policy.terms) else { return };
        let Charged { account, payer, claim } = charged;
        let claim = claim.by(now);
        if known.is_ending() && claim.to.is_none() {
            self.ending.insert(key.clone());
        }
        if self.ended.contains(&uid) {
            return;
        }
        let (is_same, to) = (self.account_of.get(&uid) == Some(&account), claim.to);
        if !is_same {
            // It was charged to another account, or to none.
            let since = if self.end(&uid, now, touched) { now } else { claim.from };
            self.begin((&account, payer), &uid, Claim { to: None, ..claim }, since);
            touched.insert(account);
        }
        if let Some(to) = to {
            self.end(&uid, to, touched);
            self.ended.insert(uid);
        }
    }

    /// What is kept idle for jobs is charged to their accounts, like what is held.
    fn note_nominated(
        &mut self,
        changes: &Changes,
        (objects, submitting): (&Objects, &Submitting<'_>),
        now: i64,
        touched: &mut BTreeSet<String>,
    ) {
        let job = |key: &ObjectKey| objects.jobs.get(key).map(|held| &held.object);
        let is_nominated = |key: &&ObjectKey| job(key).is_some_and(|job| nomination_of(job).is_some());
        self.nominated.extend(changes.jobs.iter().filter(is_nominated).cloned());
        let Some(known) = objects.accounts.policy().filter(|_| !self.nominated.is_empty()) else { return };
        for key in std::mem::take(&mut self.nominated) {
            let id = idle_claim_id(&key);
            let idle = job(&key).and_then(|job| idle_claim(job, objects, submitting, &known.terms, now));
            let charged = self.account_of.get(&id).and_then(|account| self.tallies.get(account)?.claims.get(&id));
            let is_same = match (&idle, charged) {
                (Some(idle), Some(charged)) => {
                    self.account_of.get(&id) == Some(&idle.account) && idle.claim.members == charged.members
                }
                (idle, charged) => idle.is_none() && charged.is_none(),
            };
            if !is_same {
                self.end(&id, now, touched);
                if let Some(Charged { account, payer, claim }) = idle {
                    self.begin((&account, payer), &id, claim, now);
                    touched.insert(account);
                }
            }
            if is_nominated(&&key) {
                self.nominated.insert(key);
            }
        }
    }

    fn begin(&mut self, (account, payer): (&str, Payer), uid: &str, claim: Claim, since: i64) {
        let half_life = self.half_life;
        let fresh =
            || AccountUsage { usage: Usage::stored(0, since, 0).with_half_life(half_life), ..AccountUsage::default() };
        let tally = self.tallies.entry(account.to_owned()).or_insert_with(fresh);
        tally.payer = Some(payer);
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
