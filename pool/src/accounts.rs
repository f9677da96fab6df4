//! Accounts: what counts of their objects, which of them is charged for a job, and the tree of accounts.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::ad::{NotAccepted, PolicyTerms};
use crds::conditions::reasons;
use crds::{Account, AccountSpec, Job, Submitter, Submitters, account_name};
use kube::ResourceExt;
use policy::{Amount, Amounts, CHARGE, Counter, GANGS, Misplaced, Quota, Tree};

use crate::account_index::AccountIndex;
use crate::key::ObjectKey;
use crate::objects::Objects;

/// How many micros a charge has.
const MICROS: Amount = 1_000_000;

/// How many accounts of users the controller creates for the jobs of one namespace. Jobs of further users are charged to the namespace.
pub(crate) const MADE_FOR_ONE_MAX: usize = 1000;

/// How the API server names service accounts. Who may create Pods or ServiceAccounts in a namespace has as many of them as it likes.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// Who is charged for whose jobs.
#[derive(Clone, Copy, Debug)]
pub struct Submitting<'o> {
    mode: Submitters,
    accounts: &'o BTreeMap<String, Arc<Account>>,
    index: &'o AccountIndex,
}

/// For whom an account is created: a submitter, and the namespace of its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payer {
    /// The submitter.
    pub submitter: Submitter,
    /// The namespace of the job.
    pub namespace: String,
}

impl<'o> Submitting<'o> {
    /// Of the accounts that are known, in a pool with these terms.
    #[must_use]
    pub fn of(objects: &'o Objects, terms: &PolicyTerms) -> Submitting<'o> {
        Submitting { mode: terms.submitters, accounts: &objects.accounts, index: objects.accounts.index() }
    }

    /// The submitter of a job: its namespace, its owner, or both. Charged to its namespace are a job without an owner, those of service
    /// accounts without an account that the administrator has created, and those of users for whom no further account is created.
    #[must_use]
    pub fn submitter(&self, namespace: &str, owner: Option<&str>) -> Submitter {
        let of_namespace = Submitter { namespace: Some(namespace.to_owned()), owner: None };
        let Some(owner) = owner else { return of_namespace };
        let of_user = Submitter { namespace: None, owner: Some(owner.to_owned()) };
        let of_user = match self.mode {
            Submitters::Namespace => return of_namespace,
            Submitters::Owner => of_user,
            Submitters::NamespaceAndOwner => Submitter { owner: of_user.owner, ..of_namespace.clone() },
        };
        let counts = match self.index.of(&of_user) {
            Some((_, is_made)) => !(is_made && owner.starts_with(SERVICE_ACCOUNT)),
            None => !owner.starts_with(SERVICE_ACCOUNT) && self.index.users_of(namespace) < MADE_FOR_ONE_MAX,
        };
        if counts { of_user } else { of_namespace }
    }

    /// Whether the quotas of an account count: jobs are charged to it, or to accounts below it.
    fn counts(&self, name: &str, account: &Account) -> bool {
        let Some(submitter) = &account.spec.submitter else { return true };
        let is_first = self.index.of(submitter).is_none_or(|(first, _)| first == name);
        self.has_below(name) || is_first && self.not_charged(account).is_none()
    }

    /// Why nothing can be charged to an account: its submitter is of another form than those of the pool.
    fn not_charged(&self, account: &Account) -> Option<String> {
        let submitter = account.spec.submitter.as_ref()?;
        let (mode, payers) = match (self.mode, &submitter.namespace, &submitter.owner) {
            (Submitters::Namespace, _, Some(_)) => ("Namespace", "namespaces"),
            (Submitters::Owner, Some(_), Some(_)) => ("Owner", "users"),
            (Submitters::NamespaceAndOwner, None, Some(_)) => ("NamespaceAndOwner", "users in a namespace"),
            _ => return None,
        };
        let wanted = if submitter.namespace.is_some() { "NamespaceAndOwner" } else { "Owner" };
        Some(format!(
            "spec.submitter: nothing is charged to this account, because `submitters` of the PoolPolicy is {mode}: jobs are charged to \
             accounts of {payers}; write {wanted} there"
        ))
    }

    /// The account of a submitter. If there is none, it is the one that will be created.
    #[must_use]
    pub fn account(&self, submitter: &Submitter) -> String {
        let made = || account_name(submitter.namespace.as_deref(), submitter.owner.as_deref());
        self.index.of(submitter).map_or_else(made, |(name, _)| name.to_owned())
    }

    /// The account above one that is created for a submitter: that of the namespace, if it is for one of its users.
    #[must_use]
    pub fn parent(&self, submitter: &Submitter) -> Option<Submitter> {
        let of_namespace = Submitter { owner: None, ..submitter.clone() };
        (submitter.namespace.is_some() && submitter.owner.is_some()).then_some(of_namespace)
    }

    /// The account that a claim is charged to: the one of its Match, as long as it is there, else that of its job.
    #[must_use]
    pub fn of_match(&self, found: &crds::Match, objects: &Objects) -> (String, Submitter) {
        let namespace = found.metadata.namespace.as_deref().unwrap_or("");
        let root = found.spec.members.first();
        let job = root.and_then(|root| objects.jobs.get(&ObjectKey::new(namespace, &root.name)));
        let submitter = self.submitter(namespace, job.and_then(|held| held.object.spec.ad.owner.as_deref()));
        let stated = found.spec.account.as_ref().filter(|account| self.accounts.contains_key(*account));
        (stated.cloned().unwrap_or_else(|| self.account(&submitter)), submitter)
    }

    /// Whether an account is as the controller would create it for its submitter.
    #[must_use]
    pub fn is_as_made(&self, account: &Account) -> bool {
        let Some(submitter) = &account.spec.submitter else { return false };
        let spec = AccountSpec {
            submitter: Some(submitter.clone()),
            parent: self.parent(submitter).map(|above| self.account(&above)),
            ..AccountSpec::default()
        };
        account.made_for().is_some() && account.spec == spec
    }

    /// Whether an account has others below it.
    #[must_use]
    pub fn has_below(&self, name: &str) -> bool {
        self.index.has_below(name)
    }

    /// The submitter of a job, and its account.
    #[must_use]
    pub fn of_job(&self, job: &Job) -> (String, Submitter) {
        let submitter = self.submitter(&job.namespace().unwrap_or_default(), job.spec.ad.owner.as_deref());
        (self.account(&submitter), submitter)
    }
}

/// The accounts of the pool, those that are still to be created among them.
#[derive(Debug)]
pub struct AccountList {
    by_name: BTreeMap<String, policy::Account>,
}

impl AccountList {
    /// The accounts that are known, with their places, weights and quotas. An account to which nothing is charged has no quotas: no
    /// job could claim what it is guaranteed.
    #[must_use]
    pub fn of(objects: &Objects, terms: &PolicyTerms) -> AccountList {
        let known = |counter: &str| is_known(counter, terms);
        let submitting = Submitting::of(objects, terms);
        let account = |(name, object): (&String, &Arc<Account>)| {
            let spec = &object.spec;
            let counts = submitting.counts(name, object);
            let counted = spec.quotas.iter().filter(|quota| counts && known(&quota.counter));
            let quotas = counted.map(|quota| {
                let unit = if quota.counter == CHARGE { MICROS } else { 1 };
                let [min, max, lend] =
                    [quota.min, quota.max, quota.lend].map(|amount| amount.map(|amount| Amount::from(amount) * unit));
                (Counter::from(quota.counter.as_str()), Quota { min, max, lend })
            });
            let own = policy::Account {
                parent: spec.parent.clone(),
                weight: spec.weight,
                quotas: quotas.collect(),
                ..policy::Account::named(name)
            };
            (name.clone(), own)
        };
        AccountList { by_name: objects.accounts.iter().map(account).collect() }
    }

    /// Adds the account of a submitter, if it is not there, as it will be created.
    pub fn add(&mut self, name: &str, submitter: &Submitter, submitting: &Submitting<'_>) {
        if self.by_name.contains_key(name) {
            return;
        }
        let parent = submitting.parent(submitter).map(|parent| (submitting.account(&parent), parent));
        let account =
            policy::Account { parent: parent.as_ref().map(|(name, _)| name.clone()), ..policy::Account::named(name) };
        self.by_name.insert(name.to_owned(), account);
        if let Some((name, submitter)) = parent {
            self.add(&name, &submitter, submitting);
        }
    }

    /// An account holds so much more.
    pub(crate) fn hold(&mut self, name: &str, amounts: &Amounts) {
        let Some(account) = self.by_name.get_mut(name) else { return };
        for (counter, amount) in amounts {
            *account.held.entry(Arc::clone(counter)).or_default() += amount;
        }
    }

    /// What an account holds of charge, in micros, whatever was added before.
    pub(crate) fn hold_charge(&mut self, name: &str, micros: Amount) {
        if let Some(account) = self.by_name.get_mut(name) {
            account.held.insert(CHARGE.into(), micros);
        }
    }

    /// Sets what accounts have used, in micros.
    pub(crate) fn used(&mut self, usage: &BTreeMap<String, Amount>) {
        for (name, account) in &mut self.by_name {
            account.usage = usage.get(name).copied().unwrap_or(0);
        }
    }

    /// The tree of these accounts.
    #[must_use]
    pub fn into_tree(self) -> Tree {
        Tree::new(self.by_name.into_values())
    }
}

fn is_known(counter: &str, terms: &PolicyTerms) -> bool {
    [CHARGE, GANGS].contains(&counter) || terms.counters.iter().any(|own| own.name == counter)
}

/// The first quota of an account that does not count, because the PoolPolicy has no such counter.
fn unknown_counter(account: &Account, terms: &PolicyTerms) -> Option<(&'static str, String)> {
    let quota = account.spec.quotas.iter().find(|quota| !is_known(&quota.counter, terms))?;
    let what = format!(
        "spec.quotas: the PoolPolicy has no counter {}; this quota does not count: add the counter, or correct its name",
        quota.counter
    );
    Some((reasons::UNKNOWN_COUNTER, what))
}

/// What is wrong with each account that counts otherwise than its object says, by name: a reason and a sentence.
#[must_use]
pub fn account_problems(objects: &Objects, terms: &PolicyTerms) -> BTreeMap<String, NotAccepted> {
    let submitting = Submitting::of(objects, terms);
    let tree = AccountList::of(objects, terms).into_tree();
    let problem = |(name, account): (&String, &Arc<Account>)| {
        let parent = account.spec.parent.as_deref().unwrap_or("");
        let first = account.spec.submitter.as_ref().and_then(|submitter| submitting.index.of(submitter));
        let found = match (first.map(|(first, _)| first).filter(|first| first != name), tree.misplaced(name)) {
            (Some(first), _) => {
                let what = format!(
                    "spec.submitter: account {first} has the same one and is older, so nothing is charged to this account; delete one of them"
                );
                Some((reasons::DUPLICATE_SUBMITTER, what))
            }
            (None, Some(Misplaced::ParentMissing)) => Some((
                reasons::PARENT_MISSING,
                format!("spec.parent: there is no account {parent}; it counts as below the pool"),
            )),
            (None, Some(Misplaced::ParentLoop)) => {
                let what =
                    format!("spec.parent: through {parent} the account is above itself; it counts as below the pool");
                Some((reasons::PARENT_LOOP, what))
            }
            (None, Some(Misplaced::TooDeep)) => {
                let what = "spec.parent: it would be more than 8 levels below the pool; it counts as below the pool"
                    .to_owned();
                Some((reasons::TOO_DEEP, what))
            }
            (None, None) => {
                // Those that the controller has created go by themselves when they are not needed.
                let own = Some(account).filter(|account| account.made_for().is_none());
                let not_charged = own.and_then(|account| submitting.not_charged(account));
                let not_charged = not_charged.map(|what| (reasons::SUBMITTER_NOT_CHARGED, what));
                not_charged.or_else(|| unknown_counter(account, terms))
            }
        };
        found.map(|(reason, what)| (name.clone(), NotAccepted::new(reason, &what)))
    };
    objects.accounts.iter().filter_map(problem).collect()
}
