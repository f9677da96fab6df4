//! The offers of a pool, counted port by port by what stands between them and a job.

use std::collections::BTreeMap;

use analysis::{Inspected, Pair};
use classad::{Expr, Value, conjuncts};
use crds::Job;
use matchmaker::{AdId, EXCERPT_MAX, PoolAd};
use pool::{ObjectKey, not_ready, why_not_others};

use super::answer::{ClosedOffer, ConjunctAnswer, NotAdmitted, PortAnswer, Refusals};
use super::case::Case;
use super::facts::Sides;
use super::too_small::too_small;

/// How many offers are named.
const NAMED_MAX: usize = 6;

/// What is known of a job for its ports.
pub(crate) struct Asking<'a> {
    pub(crate) case: &'a Case<'a>,
    pub(crate) key: &'a ObjectKey,
    pub(crate) job: &'a Job,
    pub(crate) ad: &'a PoolAd,
}

impl Asking<'_> {
    /// The counts of one port.
    pub(crate) fn port(&self, number: usize, found: &Inspected) -> PortAnswer {
        let kind = wanted_kind(found);
        let is_wanted = |pair: &&Pair| {
            kind.as_ref().is_none_or(|kind| {
                self.case.snapshot.ad(pair.offer).is_some_and(|ad| ad.key.kind.eq_ignore_ascii_case(kind))
            })
        };
        let pairs: Vec<&Pair> = found.offers.iter().filter(is_wanted).collect();
        let mut answer = PortAnswer {
            label: found.label.clone(),
            noun: noun(kind.as_deref()),
            offers: pairs.len(),
            open: pairs.iter().filter(|pair| pair.admitted && pair.open).count(),
            depends_on_other_ports: !found.joint.is_empty(),
            cut: found.cut,
            ..PortAnswer::default()
        };
        let (refused, matching) = (&mut answer.refused, &mut answer.matching);
        refused.conjuncts = self.conjuncts(number, found, &pairs);
        let (mut refusals, mut elsewhere, mut looking) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut small: Vec<&Pair> = Vec::new();
        for pair in pairs {
            if !pair.own.is_empty() {
                refused.refused_by_job += 1;
            } else if !pair.admitted {
                let entry = elsewhere.entry(self.not_admitted(pair.offer)).or_insert(0_usize);
                *entry += 1;
            } else if !pair.theirs.is_empty() {
                note(&mut refusals, self.party(pair, &pair.theirs), pair);
            } else if pair.misfit.is_some() {
                small.push(pair);
            } else if !pair.open {
                self.look(pair, &mut looking);
                matching.closed += 1;
                if matching.closed_offers.len() < NAMED_MAX {
                    matching.closed_offers.push(self.closed(pair.offer));
                }
            } else if pair.busy {
                self.look(pair, &mut looking);
                matching.taken += 1;
                if matching.taken_offers.len() < NAMED_MAX {
                    matching.taken_offers.push(self.case.taken(pair.offer));
                }
            } else {
                self.look(pair, &mut looking);
                matching.free += 1;
            }
        }
        let not_admitted = elsewhere.into_iter();
        refused.not_admitted =
            not_admitted.map(|((namespace, because), offers)| NotAdmitted { offers, namespace, because }).collect();
        refused.refused_by_offer = self.groups(refusals, |pair| self.facts(number, pair));
        answer.too_small = small.len();
        answer.too_small_because = too_small(self.case, self.ad.ports.list.get(number), &small);
        answer.looks_at_other_ports = self.groups(looking, |_| Vec::new());
        answer
    }

    fn conjuncts(&self, number: usize, found: &Inspected, pairs: &[&Pair]) -> Vec<ConjunctAnswer> {
        let one = |(place, part): (usize, &Expr)| ConjunctAnswer {
            text: part.excerpt(EXCERPT_MAX),
            place: self.place(number, part),
            rejects: pairs.iter().filter(|pair| pair.own.contains(&place)).count(),
            reads_other_ports: found.joint.contains(&place),
        };
        found.conjuncts.iter().enumerate().map(one).collect()
    }

    /// What the offers of a port are called.
    pub(crate) fn port_noun(&self, found: &Inspected) -> &'static str {
        noun(wanted_kind(found).as_deref())
    }

    /// Where a part of the constraint of a port is written: file and line, or the field.
    pub(crate) fn place(&self, number: usize, part: &Expr) -> String {
        let fields = &self.job.spec.ad;
        let port = || Some(fields.ports.as_ref()?.get(number)?.constraint.as_ref()?.text());
        let (field, text) = match &fields.classad {
            Some(text) => ("spec.classad".to_owned(), Some(text.as_str().into())),
            None if self.ad.ports.implicit => {
                ("spec.constraint".to_owned(), fields.constraint.as_ref().map(|constraint| constraint.text()))
            }
            None => (format!("spec.ports[{number}].constraint"), port()),
        };
        let line = text.map_or(1, |text| part.span().position(&text).line);
        match self.case.pool.sources.get(&("Job", self.key.clone())) {
            Some(source) => source.field(&field, line).to_string(),
            None if line > 1 => format!("{field}, line {line}"),
            None => field,
        }
    }

    fn not_admitted(&self, id: AdId) -> (String, String) {
        let Some(offer) = self.case.offer(id) else { return (String::new(), String::new()) };
        let because = match why_not_others(offer, &self.case.pool.objects) {
            text if text.is_empty() => {
                format!("spec.allowedNamespaces does not allow namespace {}", self.key.namespace)
            }
            text => text.split_once(": ").map_or(text.clone(), |(_, because)| because.to_owned()),
        };
        (offer.key().namespace, because)
    }

    fn look<'p>(&self, pair: &'p Pair, looking: &mut Parties<'p>) {
        if !pair.joint.is_empty() {
            note(looking, self.party(pair, &pair.joint), pair);
        }
    }

    /// What the first part of an offer's constraint that refuses the job reads.
    fn facts(&self, number: usize, pair: &Pair) -> Vec<String> {
        let facts = || {
            let ad = self.case.snapshot.ad(pair.offer)?;
            let (via, port) = (ad.ports.list.get(pair.via)?, self.ad.ports.list.get(number)?);
            let name = self.case.offer_name(pair.offer);
            let sides = Sides { case: self.case, offer: (ad, via, &name), job: (self.ad, port) };
            Some(sides.facts(&part_at(ad, pair, &pair.theirs)?))
        };
        facts().unwrap_or_default()
    }

    fn groups(&self, parties: Parties<'_>, facts: impl Fn(&Pair) -> Vec<String>) -> Vec<Refusals> {
        let group = |((namespace, owner, conjunct), (offers, example)): (Party, (usize, &Pair))| Refusals {
            offers,
            namespace: Some(namespace),
            owner,
            conjunct: Some(conjunct),
            example: Some(self.case.offer_name(example.offer)),
            facts: facts(example),
        };
        let mut groups: Vec<Refusals> = parties.into_iter().map(group).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.offers));
        groups
    }

    /// Namespace and owner of an offer, and the first of these parts of its constraint.
    fn party(&self, pair: &Pair, parts: &[usize]) -> Party {
        let Some(ad) = self.case.snapshot.ad(pair.offer) else { return Default::default() };
        let owner = match ad.ports.body.get("Owner").and_then(Expr::as_literal) {
            Some(Value::String(owner)) => Some(owner.to_string()),
            _ => None,
        };
        (ad.key.namespace.clone(), owner, part_of(ad, pair, parts))
    }

    fn closed(&self, id: AdId) -> ClosedOffer {
        let found = self.case.offer(id).and_then(|offer| not_ready(offer, &self.case.pool.objects));
        let (reason, message) = found.unwrap_or_else(|| {
            let message = "it is being deleted, or work of an earlier claim may still be going on";
            ("Unavailable", message.to_owned())
        });
        ClosedOffer { offer: self.case.offer_name(id), reason: reason.to_owned(), message }
    }
}

/// Namespace, owner, and a part of a constraint.
type Party = (String, Option<String>, String);
/// How many offers are of each, and one of them.
type Parties<'p> = BTreeMap<Party, (usize, &'p Pair)>;

fn note<'p>(parties: &mut Parties<'p>, party: Party, pair: &'p Pair) {
    parties.entry(party).or_insert((0, pair)).0 += 1;
}

/// The first part of the constraint of an offer that refuses the job.
pub(crate) fn refusing_part(ad: &PoolAd, pair: &Pair) -> String {
    part_of(ad, pair, &pair.theirs)
}

/// The first of these parts of the constraint of an offer.
pub(crate) fn part_of(ad: &PoolAd, pair: &Pair, places: &[usize]) -> String {
    part_at(ad, pair, places)
        .map_or_else(|| "it has no constraint, which accepts no job".to_owned(), |part| part.excerpt(EXCERPT_MAX))
}

fn part_at(ad: &PoolAd, pair: &Pair, places: &[usize]) -> Option<Expr> {
    let constraint = ad.ports.list.get(pair.via)?.constraint.as_ref()?;
    conjuncts(constraint).get(*places.first()?).cloned()
}

/// The kind of offers that a constraint asks for, if it is one of them.
fn wanted_kind(found: &Inspected) -> Option<String> {
    let known = |kind: &String| ["Machine", "License"].iter().any(|known| known.eq_ignore_ascii_case(kind));
    found.wanted_type().map(|(_, kind)| kind).filter(known)
}

fn noun(kind: Option<&str>) -> &'static str {
    match kind {
        Some(kind) if kind.eq_ignore_ascii_case("Machine") => "machine",
        Some(kind) if kind.eq_ignore_ascii_case("License") => "license",
        _ => "offer",
    }
}
