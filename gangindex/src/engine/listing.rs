//! Lists the gangs that roots may have, where the index knows everything of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use foldhash::fast::RandomState;
use matchmaker::{AdId, Ask, Gang, Listed, Needs, Round, Score, Snapshot, Turn};
use smallvec::{SmallVec, smallvec};

use super::run::Run;
use super::variety::{Rows, Variety};
use super::{Indexed, Tables};
use crate::search::candidates::{Candidates, Known};
use crate::search::join_partitions::JoinedPort;
use crate::table::{Bits, as_u64, as_usize};

/// How many rows are looked at for a list of gangs in about the time of a step.
const LISTED_OF_A_STEP: usize = 16;
/// If candidate sets have more rows than this together, offers are not compared: it would take as long as the placement.
const COMPARED_MAX: usize = 4_000_000;

/// If more rows than that can be bound to a port, the port is hardly what a gang lacks.
const NEEDED_MAX: usize = 512;

/// Rows by all that roots can tell of them: of rows with equal numbers nothing differs that matters.
struct Signatures {
    /// By row.
    of: Vec<u32>,
    next: u32,
    /// What an ask takes of the row, by its number; only one is remembered.
    asks: Vec<Option<u32>>,
    /// Rows that are like no other one.
    alone: Bits,
    /// The numbers that were given for what is being told.
    seen: HashMap<(u32, Fact), u32, RandomState>,
}

/// Something that a root can tell of a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Fact {
    /// What its ad has in all, what is free of it, and the namespace if its offers are left out for others.
    Offer(u32, Vec<i64>, Option<String>),
    /// A candidate of this set, by number, with this score.
    Candidate(usize, Score),
    /// What it shows to the conditions of this candidate set on two partners, by number.
    Shows(usize, Vec<u32>),
}

impl Signatures {
    fn new(rows: usize) -> Signatures {
        let (of, asks) = (vec![0; rows], vec![None; rows]);
        Signatures { of, next: 0, asks, alone: Bits::none(rows), seen: HashMap::default() }
    }

    /// From here on a row differs from those of which this is not true.
    fn add(&mut self, row: u32, fact: Fact) {
        let Some(own) = self.of.get_mut(as_usize(row)) else { return };
        let next = self.next + 1;
        let number = *self.seen.entry((*own, fact)).or_insert(next);
        self.next = self.next.max(number);
        *own = number;
    }

    fn set_alone(&mut self, row: u32) {
        self.alone.set(as_usize(row), true);
    }

    /// Those of some rows that differ from all others are like no other one.
    fn set_unique_alone(&mut self, rows: &Bits) {
        let number = |of: &[u32], row: u32| of.get(as_usize(row)).copied().unwrap_or(0);
        let mut counts = vec![0u32; as_usize(self.next) + 1];
        for row in rows.iter() {
            counts.get_mut(as_usize(number(&self.of, row))).into_iter().for_each(|count| *count += 1);
        }
        for row in rows.iter().filter(|row| counts.get(as_usize(number(&self.of, *row))) == Some(&1)) {
            self.alone.set(as_usize(row), true);
        }
    }
}

impl Indexed {
    /// The candidate sets of the ports of a root, if the index alone lists its gangs.
    fn listed_by_index(&self, run: &Run<'_>, turn: &Turn<'_>) -> Option<Vec<usize>> {
        let (class, ports) = known_ports(run, turn)?;
        Some(ports).filter(|_| !turn.excludes && !self.meets_itself(run, class, turn))
    }

    /// What roots have in common whose gangs are the same but for themselves, see [`matchmaker::Finder::kind`].
    pub(super) fn kind_of(&self, run: &Run<'_>, turn: &Turn<'_>, round: &Round<'_>) -> Option<usize> {
        // what is left out for others depends on the namespace
        let is_told = round.snapshot.barred.is_empty() && self.listed_by_index(run, turn).is_some();
        run.key(turn.number).filter(|_| is_told).map(|(_, of_key)| as_usize(of_key.class))
    }

    /// Offers that are alike for roots, see [`matchmaker::Finder::alike`]. Their rows are remembered.
    pub(super) fn alike_of(
        &mut self,
        run: &mut Run<'_>,
        turns: &[Turn<'_>],
        round: &Round<'_>,
    ) -> BTreeMap<AdId, AdId> {
        let rows = self.tables.table.rows.len();
        run.likewise = Bits::none(rows);
        let mut signatures = Signatures::new(rows);
        let (mut stars, mut others) = (BTreeSet::new(), BTreeSet::new());
        for turn in turns {
            match (self.listed_by_index(run, turn), run.key(turn.number)) {
                (Some(ports), _) => _ = stars.insert(ports),
                (None, Some((_, of_key))) => _ = others.insert(of_key.class),
                // nothing is known of it
                (None, None) => return BTreeMap::new(),
            }
        }
        for class in others.into_iter().filter_map(|class| run.classes.get(as_usize(class))) {
            for candidates in class.ports.iter().filter_map(|port| run.candidate_sets.get(*port)) {
                if candidates.is_deep(&self.tables.table) {
                    return BTreeMap::new();
                }
                candidates.may.iter().for_each(|row| signatures.set_alone(row));
            }
        }
        let sets: BTreeSet<usize> = stars.iter().flatten().copied().collect();
        let compared = sets.iter().filter_map(|set| run.candidate_sets.get(*set)).map(|set| set.may.count());
        if compared.fold(0, usize::saturating_add) > COMPARED_MAX {
            return BTreeMap::new();
        }
        // by joined port: the rows of port 0
        let mut hubs: BTreeMap<usize, Bits> = BTreeMap::new();
        for (first, rest) in stars.iter().filter_map(|ports| ports.split_first()) {
            let Some(hub) = run.candidate_sets.get(*first) else { continue };
            let is_small = |set: &usize| run.candidate_sets.get(*set).is_some_and(|set| set.may.count() <= NEEDED_MAX);
            // where few can be bound to another port, lists have gangs with each of these, and rows of this port need not be compared
            let is_large = !is_small(first) && rest.iter().any(is_small);
            if is_large {
                signatures.alone.or(&hub.may);
            }
            for port in rest {
                let of_port = hubs.entry(*port).or_insert_with(|| Bits::none(rows));
                if !is_large {
                    of_port.or(&hub.may);
                }
            }
        }
        let mut known = self.tables.known();
        for (port, hub) in &hubs {
            if let Some(Some(joined_port)) = run.joined_ports.get(*port) {
                signatures.tell_joins(*port, hub, joined_port, &known);
            }
        }
        let candidates = sets.iter().filter_map(|set| run.candidate_sets.get(*set));
        let mut all = Bits::none(rows);
        candidates.for_each(|candidates| all.or(&candidates.may));
        // of most rows no more has to be told where jobs show the name of one port to another
        signatures.set_unique_alone(&all);
        for set in &sets {
            let Some(candidates) = run.candidate_sets.get(*set) else { continue };
            signatures.tell_candidates(*set, candidates, &mut known);
        }
        if known.doubt {
            return BTreeMap::new();
        }
        self.tables.group(&mut signatures, &all, round.snapshot, &mut run.likewise)
    }

    /// What every gang of a root needs, see [`matchmaker::Finder::needs`].
    pub(super) fn needs_of(&mut self, run: &Run<'_>, turn: &Turn<'_>, round: &mut Round<'_>) -> Option<Needs> {
        let (_, ports) = known_ports(run, turn)?;
        let left = Some(round.shares.left(turn.submitter)).filter(|left| *left > 0)?;
        self.tables.table.words.meter.begin(left);
        let mut known = self.tables.known();
        let needed = needed(&ports, run, &mut known, |_, _, _| true);
        let doubt = known.doubt;
        let (steps, dry) = self.tables.table.words.meter.end();
        let rows: usize = needed.iter().map(|(_, rows)| rows.len()).sum();
        round.shares.pay(turn.submitter, steps.saturating_add(as_u64(rows.div_ceil(LISTED_OF_A_STEP))));
        if doubt || dry {
            return None;
        }
        Some(needed.into_iter().map(|(ask, rows)| self.offers(ask, &rows)).collect())
    }

    /// The gangs of a root, see [`matchmaker::Finder::list`].
    pub(super) fn list_of(
        &mut self,
        run: &mut Run<'_>,
        turn: &Turn<'_>,
        round: &Round<'_>,
        cap: usize,
    ) -> Option<Listed> {
        let ports = self.listed_by_index(run, turn)?;
        let (first, rest) = ports.split_first()?;
        let own = round.snapshot.ad(turn.ad).map(|ad| ad.key.namespace.as_str());
        let mut left_out = run.likewise.clone();
        if !round.snapshot.barred.is_empty() {
            self.tables.bar(round.snapshot, own, &mut left_out);
        }
        let (steps_max, mut is_cut) = (round.shares.for_one(turn.submitter), false);
        self.tables.table.words.meter.begin(steps_max);
        let mut known = self.tables.known();
        let is_in = |row: u32, candidates: &Candidates, known: &mut Known<'_>| {
            !left_out.get(as_usize(row)) && known.has_room(row, candidates)
        };
        let (mut found, mut count, mut looked, mut place) = (Vec::new(), 0usize, 0usize, 0);
        // once there are too many gangs: the ones that are chosen
        let mut many: Option<Variety> = None;
        run.candidate_sets.get_mut(*first)?.order(&mut known);
        while let Some((at, row)) = run.candidate_sets.get_mut(*first)?.next(place, |word| left_out.word(word), &known)
        {
            (place, looked) = (at + 1, looked + 1);
            is_cut = as_u64(looked / LISTED_OF_A_STEP) > steps_max || !known.table.words.meter.has_fuel();
            if is_cut {
                break;
            }
            let hub = run.candidate_sets.get(*first)?;
            if !is_in(row, hub, &mut known) || !hub.passes(row, &mut known) {
                continue;
            }
            let own = hub.score(row, known.table, known.ranks)?;
            // the gangs with this row, port by port
            let mut gangs: SmallVec<[(Score, Rows); 1]> = smallvec![(own, smallvec![row])];
            for port in rest {
                let candidates = run.candidate_sets.get(*port)?;
                let mut joined = run.joined_ports.get_mut(*port)?.as_mut()?.joined(row, &mut known);
                looked += joined.len();
                joined.retain(|row| is_in(*row, candidates, &mut known));
                many.iter().for_each(|variety| variety.choose(&mut joined));
                gangs = extended(&gangs, &joined, cap.max(NEEDED_MAX), |row| {
                    candidates.score(row, known.table, known.ranks)
                })?;
            }
            if let Some(variety) = &mut many {
                variety.add(gangs);
            } else {
                count += gangs.len();
                found.push(gangs);
            }
            if many.is_none() && count > cap {
                let mut variety = Variety::of(needed(&ports, run, &mut known, is_in), cap);
                std::mem::take(&mut found).into_iter().for_each(|gangs| variety.add(gangs));
                many = Some(variety);
            }
            if many.as_ref().is_some_and(Variety::is_done) {
                break;
            }
        }
        let has_more = is_cut || many.is_some();
        let (needed, found) = match many {
            Some(Variety { needed, gangs, .. }) => (needed, gangs),
            None => (Vec::new(), found.into_iter().flatten().collect()),
        };
        looked += needed.iter().map(|(_, rows)| rows.len()).sum::<usize>();
        let doubt = known.doubt;
        let (steps, dry) = self.tables.table.words.meter.end();
        if doubt || dry {
            return None;
        }
        let gang = |(score, rows): (Score, Rows)| self.gang(turn.ad, score, &rows, &ports, &run.candidate_sets);
        let gangs: Vec<Gang> = found.into_iter().map(gang).collect();
        let needs = needed.into_iter().map(|(ask, rows)| self.offers(ask, &rows)).collect();
        Some(Listed { gangs, has_more, needs, steps: steps.saturating_add(as_u64(looked.div_ceil(LISTED_OF_A_STEP))) })
    }
}

/// Gangs with one more row each, at most so many. `None` if the score of a row is not known.
fn extended(
    gangs: &[(Score, Rows)],
    joined: &[u32],
    most: usize,
    score: impl Fn(u32) -> Option<Score>,
) -> Option<SmallVec<[(Score, Rows); 1]>> {
    let mut extended = SmallVec::with_capacity(gangs.len().saturating_mul(joined.len()).min(most));
    for (of_gang, rows) in gangs {
        for row in joined.iter().take((most + 1).saturating_sub(extended.len())) {
            extended.push((of_gang.plus(&score(*row)?), rows.iter().copied().chain([*row]).collect()));
        }
    }
    Some(extended)
}

/// The number of the class of a root and the candidate sets of its ports, if nothing of them is left to the evaluator.
fn known_ports(run: &Run<'_>, turn: &Turn<'_>) -> Option<(usize, Vec<usize>)> {
    let (_, of_key) = run.key(turn.number).filter(|_| run.aside(turn.number).is_none())?;
    let number = as_usize(of_key.class);
    let class = run.classes.get(number).filter(|class| class.star)?;
    let is_whole = |port: &usize| run.joined_ports.get(*port).is_some_and(Option::is_some);
    class.ports.iter().skip(1).all(is_whole).then(|| (number, class.ports.clone()))
}

/// The rows of which every gang has one, with the number of what is asked of them: of each port that few rows can be bound to.
fn needed(
    ports: &[usize],
    run: &Run<'_>,
    known: &mut Known<'_>,
    is_in: impl Fn(u32, &Candidates, &mut Known<'_>) -> bool,
) -> Vec<(u32, Vec<u32>)> {
    let mut needed = Vec::new();
    for candidates in ports.iter().filter_map(|port| run.candidate_sets.get(*port)) {
        if candidates.may.count() > NEEDED_MAX {
            continue;
        }
        let mut rows: Vec<u32> = candidates.may.iter().collect();
        rows.retain(|row| is_in(*row, candidates, known) && candidates.passes(*row, known));
        needed.push((candidates.ask, rows));
    }
    needed
}

impl Signatures {
    /// Which rows are candidates of a set, and with which scores.
    fn tell_candidates(&mut self, set: usize, candidates: &Candidates, known: &mut Known<'_>) {
        self.seen.clear();
        let mut rows: Vec<u32> = candidates.may.iter().filter(|row| !self.alone.get(as_usize(*row))).collect();
        rows.retain(|row| candidates.passes(*row, known));
        for row in rows {
            let Some(score) = candidates.score(row, known.table, known.ranks) else {
                self.set_alone(row);
                continue;
            };
            self.add(row, Fact::Candidate(set, score));
            let Some(place) =
                known.table.rows.get(as_usize(row)).filter(|row| !row.has_others()).map(|row| row.place())
            else {
                self.set_alone(row);
                continue;
            };
            let before = self.asks.get(as_usize(row)).copied().flatten();
            let takes_the_same =
                before.is_none_or(|before| known.availability.take_the_same(before, candidates.ask, place));
            if !takes_the_same {
                self.set_alone(row);
            }
            self.asks.get_mut(as_usize(row)).into_iter().for_each(|ask| *ask = Some(candidates.ask));
        }
    }

    /// What the rows of port 0 and those of a joined port show to the conditions on both.
    fn tell_joins(&mut self, port: usize, hub: &Bits, joined_port: &JoinedPort, known: &Known<'_>) {
        let shown = |columns: &[u32], row: u32| {
            let code = |column: &u32| known.table.columns.get(*column)?.codes().get(as_usize(row)).copied();
            columns.iter().map(|column| code(column).map_or(0, |code| code + 1)).collect()
        };
        self.seen.clear();
        let (of_hub, own) = joined_port.reads();
        for row in hub.iter() {
            self.add(row, Fact::Shows(2 * port, shown(&of_hub, row)));
        }
        for row in joined_port.rows() {
            self.add(*row, Fact::Shows(2 * port + 1, shown(&own, *row)));
        }
    }
}

impl Indexed {
    /// What is asked of the ads of rows.
    fn offers(&mut self, ask: u32, rows: &[u32]) -> Vec<(AdId, Ask)> {
        let offer = |row: &u32| {
            let place = self.tables.table.rows.get(as_usize(*row))?.place();
            // one that never has as much is no offer for it
            let take = self.tables.availability.take_of(ask, place)?;
            Some((AdId::at(place), take.ask.clone()))
        };
        rows.iter().filter_map(offer).collect()
    }
}

impl Tables {
    /// The ads of rows by what is known of them, each with the first one of its group; `likewise` gets the rows of all others.
    fn group(
        &self,
        signatures: &mut Signatures,
        rows: &Bits,
        snapshot: &Snapshot,
        likewise: &mut Bits,
    ) -> BTreeMap<AdId, AdId> {
        let mut groups: BTreeMap<u32, Vec<(AdId, u32)>> = BTreeMap::new();
        for row in rows.iter().filter(|row| !signatures.alone.get(as_usize(*row))).collect::<Vec<u32>>() {
            let Some(place) = self.table.rows.get(as_usize(row)).map(|row| row.place()) else { continue };
            let Some((terms, free)) = self.availability.free_of(place) else { continue };
            let namespace = snapshot.ad(AdId::at(place)).map(|ad| &ad.key.namespace);
            let barred = namespace.filter(|namespace| snapshot.barred.contains(*namespace)).cloned();
            signatures.add(row, Fact::Offer(terms, free.to_vec(), barred));
            let signature = signatures.of.get(as_usize(row)).copied().unwrap_or(0);
            groups.entry(signature).or_default().push((AdId::at(place), row));
        }
        let mut alike = BTreeMap::new();
        for mut group in groups.into_values().filter(|group| group.len() > 1) {
            group.sort_unstable();
            let Some((first, _)) = group.first().copied() else { continue };
            group.iter().skip(1).for_each(|(_, row)| likewise.set(as_usize(*row), true));
            alike.extend(group.into_iter().map(|(ad, _)| (ad, first)));
        }
        alike
    }

    /// Leaves out the rows of namespaces whose offers are left out for all others.
    fn bar(&self, snapshot: &Snapshot, own: Option<&str>, left_out: &mut Bits) {
        for (row, place) in
            self.table.rows.iter().map(|row| row.place()).enumerate().filter(|(row, _)| self.table.live.get(*row))
        {
            let namespace = snapshot.ad(AdId::at(place)).map(|ad| ad.key.namespace.as_str());
            let is_barred = namespace.is_some_and(|namespace| snapshot.barred.contains(namespace));
            if is_barred && namespace != own {
                left_out.set(row, true);
            }
        }
    }
}
