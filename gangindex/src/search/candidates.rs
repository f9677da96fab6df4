//! Computes the candidates of a port from its plan: rows that may be bound there, best first.

use std::sync::Arc;

use matchmaker::{FixedPoint, Score};

use crate::index::availability::Availability;
use crate::index::plan::{OfferSide, PortPlan, Predicates};
use crate::index::preds::{PredId, Preds};
use crate::index::ranks::{Rank, RankId, Ranks};
use crate::index::sort::stable_sort;
use crate::search::order::{LazySort, Order};
use crate::table::{Bits, Cell, Table, as_usize};

/// The candidates of all roots with one plan at a port.
#[derive(Clone, Debug)]
pub(crate) struct Candidates {
    /// The conditions and ranks of the port.
    pub(crate) plan: PortPlan,
    /// The number of what is asked, see [`Availability`].
    pub(crate) ask: u32,
    /// The rows of which nothing says that they are no candidates.
    pub(crate) may: Arc<Bits>,
    /// Those of them for which the evaluator has the last word, or the first one on their rank.
    pub(crate) open: Bits,
    /// Some of them can read more of a root than its class says.
    pub(crate) reflective: bool,
    /// The offer classes that have candidates, in order.
    met: Vec<usize>,
    /// Conditions that are asked row by row: the root's.
    per_row: Vec<PredId>,
    /// And those of the offer classes that have any, with their places in `plan.theirs`.
    theirs_per_row: Vec<(usize, Vec<PredId>)>,
    /// Made when it is needed.
    order: Option<Order>,
    /// The largest score of a row that is not open.
    pub(crate) most: Score,
    /// Whether scores differ between rows.
    pub(crate) varies: bool,
}

/// What candidate sets are made and looked at with.
pub(crate) struct Known<'a> {
    pub(crate) table: &'a mut Table,
    pub(crate) preds: &'a mut Preds,
    pub(crate) ranks: &'a mut Ranks,
    pub(crate) availability: &'a mut Availability,
    /// Rows with no free amounts.
    pub(crate) full: &'a Bits,
    /// Something was met that only the evaluator knows.
    pub(crate) doubt: bool,
}

impl Candidates {
    /// The candidates of a plan. `admitted` are the rows that roots of the plan's namespace may meet now, `shared` those whose
    /// seats may be shared.
    pub(crate) fn of(plan: PortPlan, admitted: &Bits, shared: &Bits, known: &mut Known<'_>) -> Candidates {
        let rows = known.table.rows.len();
        let ask = known.availability.ask_id(&plan.asks);
        let (mut may, mut open) = (Bits::none(rows), Bits::none(rows));
        let own = Filters::of(&plan.own, known);
        let wanted = own.wanted(&plan, admitted, &mut open, known);
        let (mut reflective, mut theirs_per_row) = (false, Vec::new());
        for (place, theirs) in plan.theirs.iter().enumerate() {
            let Some(offer_class) = known.table.offer_classes.list.get(theirs.offer_class) else { continue };
            if plan.own.never || !offer_class.rows.meets(wanted.as_ref().unwrap_or(admitted)) {
                continue;
            }
            let filters = Filters::of(&theirs.demand, known);
            let Some(offer_class) = known.table.offer_classes.list.get(theirs.offer_class) else { continue };
            let mut sets = vec![&offer_class.rows];
            match &wanted {
                Some(wanted) => sets.push(wanted),
                None => own.sets(admitted, &mut sets, known.preds),
            }
            let unknown = known.ranks.open(theirs.rank);
            let opaque = offer_class.deep || offer_class.reflective || theirs.rank == Rank::Opaque;
            if filters.open || opaque || unknown.is_some() {
                let mut rows = Bits::none(rows);
                rows.or_meet(&sets);
                filters.narrow(&theirs.demand, &mut rows, &mut open, known.preds);
                if opaque {
                    open.or(&rows);
                }
                if let Some(unknown) = unknown {
                    open.or(unknown);
                }
                reflective |= offer_class.reflective && rows.any();
                may.or(&rows);
            } else {
                sets.extend(filters.bulk.iter().filter_map(|pred| known.preds.known(*pred)).map(|answer| &answer.yes));
                may.or_meet(&sets);
            }
            if !filters.per_row.is_empty() {
                theirs_per_row.push((place, filters.per_row));
            }
        }
        if own.is_unmet(known) {
            may = Bits::none(rows);
        }
        if let Some(unknown) = known.ranks.open(plan.rank) {
            open.or(unknown);
        }
        open.or(shared);
        if plan.rank == Rank::Opaque || *plan.asks == crate::index::asks::Asks::Opaque {
            open.or(&may);
        }
        open.and(&may);
        // Until they have been looked at, scores may differ.
        let (most, varies) = (Score::default(), true);
        let (may, per_row) = (Arc::new(may), own.per_row);
        let (met, order) = (Vec::new(), None);
        let mut candidates =
            Candidates { plan, ask, may, open, reflective, met, per_row, theirs_per_row, order, most, varies };
        candidates.open_joins(known);
        candidates.meet(known);
        candidates.bound(known);
        candidates
    }

    /// Asks of all rows what was to be asked row by row.
    pub(crate) fn decide(&mut self, known: &mut Known<'_>) {
        for pred in std::mem::take(&mut self.per_row) {
            self.keep(pred, None, known);
        }
        for (place, preds) in std::mem::take(&mut self.theirs_per_row) {
            let offer_class = self.plan.theirs.get(place).map(|theirs| theirs.offer_class);
            for pred in preds {
                self.keep(pred, offer_class, known);
            }
        }
        self.order = None;
        self.meet(known);
        self.bound(known);
    }

    /// Takes out the rows, those of an offer class only, of which a condition is not true.
    fn keep(&mut self, pred: PredId, offer_class: Option<usize>, known: &mut Known<'_>) {
        let Some(answer) = known.preds.decided(pred, known.table) else { return };
        let mut out = Bits::clone(&self.may);
        if let Some(offer_class) = offer_class.and_then(|offer_class| known.table.offer_classes.list.get(offer_class)) {
            out.and(&offer_class.rows);
        }
        out.and_not(&answer.yes);
        if let Some(unknown) = &answer.open {
            let mut asked = out.clone();
            asked.and(unknown);
            self.open.or(&asked);
            out.and_not(unknown);
        }
        self.order = None;
        Arc::make_mut(&mut self.may).and_not(&out);
        self.open.and_not(&out);
    }

    /// Rows whose joined attributes only the evaluator knows.
    fn open_joins(&mut self, known: &mut Known<'_>) {
        let port = self.plan.port;
        let theirs = self.plan.theirs.iter().flat_map(|theirs| &theirs.demand.joins);
        let mut columns = Vec::new();
        for join in self.plan.own.joins.iter().chain(theirs) {
            join.reads(&mut |var, column| {
                if usize::from(var) == port {
                    columns.push(column);
                }
            });
        }
        columns.sort_unstable();
        columns.dedup();
        for column in columns {
            self.open_cells(column, known.table);
        }
    }

    /// Marks the rows whose value in a column only the evaluator knows.
    pub(crate) fn open_cells(&mut self, column: u32, table: &Table) {
        let Some(column) = table.columns.get(column).filter(|column| column.has_unknown) else {
            return;
        };
        let mut unknown = column.rows(|cell| cell == Cell::Unknown);
        unknown.and(&self.may);
        unknown.and_not(&self.open);
        if unknown.any() {
            self.open.or(&unknown);
            self.order = None;
        }
    }

    fn theirs(&self, row: u32, table: &Table) -> Option<(usize, &OfferSide)> {
        let offer_class = table.rows.get(as_usize(row))?.offer_class();
        let place = self.plan.theirs.binary_search_by_key(&offer_class, |theirs| theirs.offer_class).ok()?;
        self.plan.theirs.get(place).map(|theirs| (place, theirs))
    }

    /// Whether conditions that are asked row by row let a row pass; only the evaluator knows about open ones, which pass.
    pub(crate) fn passes(&self, row: u32, known: &mut Known<'_>) -> bool {
        if self.per_row.is_empty() && self.theirs_per_row.is_empty() {
            return true;
        }
        let place = self.theirs(row, known.table).map_or(usize::MAX, |(place, _)| place);
        let known_cold = self.theirs_per_row.binary_search_by_key(&place, |(place, _)| *place).ok();
        let theirs = known_cold.and_then(|place| self.theirs_per_row.get(place)).map_or(&[][..], |(_, preds)| preds);
        let mut each = self.per_row.iter().chain(theirs);
        let open = self.open.get(as_usize(row));
        each.all(|pred| match known.preds.holds(*pred, as_usize(row), known.table) {
            Some(truth) => truth,
            None => {
                known.doubt |= !open;
                true
            }
        })
    }

    /// What a row adds to the score of a gang; none for open rows whose rank is not known.
    pub(crate) fn score(&self, row: u32, table: &Table, ranks: &Ranks) -> Option<Score> {
        if !self.varies && !self.open.get(as_usize(row)) {
            return Some(self.most);
        }
        let (_, theirs) = self.theirs(row, table)?;
        let own = ranks.value(self.plan.rank, as_usize(row))?;
        let partners = ranks.value(theirs.rank, as_usize(row))?;
        Some(Score { own, partners, ..Score::default() })
    }

    /// How the candidates of each offer class rank the root.
    fn offer_ranks(&self) -> impl Iterator<Item = Rank> {
        let met = |theirs: &&OfferSide| self.met.binary_search(&theirs.offer_class).is_ok();
        self.plan.theirs.iter().filter(met).map(|theirs| theirs.rank)
    }

    /// How all candidates rank the root, if they do it in one way: all the same, or all by row.
    fn one_thought(&self) -> Option<Rank> {
        let mut all = self.offer_ranks();
        let first = all.next().unwrap_or(Rank::Same(FixedPoint::default()));
        all.all(|other| other == first).then_some(first).filter(|rank| *rank != Rank::Opaque)
    }

    /// How the candidates rank the root, row by row; open ones do not rank it here.
    fn worths<'r>(&self, table: &Table, ranks: &'r Ranks) -> Worths<'r> {
        let worth = |rank: Rank| match rank {
            Rank::Same(fx) => OfferRank::Same(fx),
            Rank::By(id) => OfferRank::By(ranks.values(id)),
            Rank::Opaque => OfferRank::Same(FixedPoint::default()),
        };
        if let Some(rank) = self.one_thought() {
            return Worths::All(worth(rank));
        }
        let mut all = Vec::new();
        all.resize_with(table.offer_classes.list.len(), || OfferRank::Same(FixedPoint::default()));
        for theirs in self.plan.theirs.iter() {
            if let Some(own) = all.get_mut(theirs.offer_class) {
                *own = worth(theirs.rank);
            }
        }
        Worths::ByTemplate(all)
    }

    /// Whether a candidate has other ports, to be bound when this one is.
    pub(crate) fn leads_on(&self, row: u32, table: &Table) -> bool {
        let offer_class = table.rows.get(as_usize(row)).and_then(|row| table.offer_classes.list.get(row.offer_class()));
        offer_class.is_none_or(|offer_class| offer_class.deep)
    }

    /// Whether some candidate has other ports, to be bound when this one is.
    pub(crate) fn is_deep(&self, table: &Table) -> bool {
        let list = &table.offer_classes.list;
        self.met.iter().any(|id| list.get(*id).is_some_and(|offer_class| offer_class.deep))
    }

    /// The offer classes that have candidates.
    fn meet(&mut self, known: &Known<'_>) {
        let list = &known.table.offer_classes.list;
        let has =
            |offer_class: &usize| list.get(*offer_class).is_some_and(|offer_class| offer_class.rows.meets(&self.may));
        self.met = self.plan.theirs.iter().map(|theirs| theirs.offer_class).filter(has).collect();
    }

    fn bound(&mut self, known: &mut Known<'_>) {
        if let (Some(own), Some(partners)) = (same(self.plan.rank), self.one_thought().and_then(same)) {
            self.most = Score { own, partners, ..Score::default() };
            self.varies = false;
            return;
        }
        self.order(known);
        self.extend(known);
        let (first, last) = self.order.as_ref().map_or((None, None), |order| order.ends(known.ranks));
        let score = |row: Option<u32>| self.score(row?, known.table, known.ranks);
        let (best, worst) = (score(first).unwrap_or_default(), score(last).unwrap_or_default());
        (self.most, self.varies) = (best, best != worst);
    }

    /// Puts the candidates that are not open in order, the best first. Those that do not [pass](Candidates::passes) are among
    /// them.
    pub(crate) fn order(&mut self, known: &mut Known<'_>) {
        if self.order.is_none() {
            self.order = Some(self.in_order(known));
        }
    }

    /// All of them in that order; those that are full may be left out.
    pub(crate) fn rows(&mut self, known: &mut Known<'_>) -> Vec<u32> {
        self.order(known);
        while self.extend(known) {}
        self.order.as_ref().map(|order| order.rows(known.ranks)).unwrap_or_default()
    }

    /// The first candidate at a place of the order or after it that is not left out, and its place. The order must have
    /// been asked for. `out` gives what is left out, 64 rows at a time.
    pub(crate) fn next(
        &mut self,
        mut place: usize,
        out: impl Fn(usize) -> u64,
        known: &Known<'_>,
    ) -> Option<(usize, u32)> {
        loop {
            let order = self.order.as_ref()?;
            if let Some(found) = order.next(place, &out, known.ranks) {
                return Some(found);
            }
            place = place.max(order.listed()?);
            if !self.extend(known) {
                return None;
            }
        }
    }

    /// Lists more candidates; false if all are.
    fn extend(&mut self, known: &Known<'_>) -> bool {
        let Some(Order::LazySort(mut runs)) = self.order.take_if(|order| matches!(order, Order::LazySort(_))) else {
            return false;
        };
        let worths = self.worths(known.table, known.ranks);
        let more = runs.more(known.ranks, known.full, |row| worths.of(row, known.table));
        self.order = Some(Order::LazySort(runs));
        more
    }

    fn in_order(&self, known: &mut Known<'_>) -> Order {
        let mut rows = Arc::clone(&self.may);
        if self.open.any() {
            Arc::make_mut(&mut rows).and_not(&self.open);
        }
        let thought = self.one_thought();
        if let (Rank::Same(_), Some(Rank::By(id))) = (self.plan.rank, thought) {
            known.ranks.sort(id, known.table);
        }
        let (table, ranks) = (&*known.table, &*known.ranks);
        let ranked = |id: RankId| {
            let (order, places) = ranks.order(id);
            rows.permuted(places, order.len())
        };
        match (self.plan.rank, thought) {
            (Rank::By(id), Some(Rank::Same(_))) | (Rank::Same(_), Some(Rank::By(id))) => Order::Ranked(ranked(id), id),
            (Rank::By(id), _) => Order::LazySort(LazySort::new(ranked(id), id)),
            // Rows that have not been moved about are in the order of their ads.
            (_, Some(Rank::Same(_))) if table.is_in_order() => Order::Plain(rows),
            (_, Some(Rank::Same(_))) => Order::Listed(table.in_turn(&rows)),
            _ => {
                let mut rows = table.in_turn(&rows);
                let worths = self.worths(table, ranks);
                stable_sort(&mut rows, |row| worths.of(row, table));
                Order::Listed(rows)
            }
        }
    }
}

/// How rows rank a root.
enum Worths<'r> {
    All(OfferRank<'r>),
    ByTemplate(Vec<OfferRank<'r>>),
}

enum OfferRank<'r> {
    Same(FixedPoint),
    /// By row.
    By(&'r [FixedPoint]),
}

impl Worths<'_> {
    fn of(&self, row: u32, table: &Table) -> FixedPoint {
        let worth = match self {
            Worths::All(worth) => Some(worth),
            Worths::ByTemplate(all) => table.rows.get(as_usize(row)).and_then(|row| all.get(row.offer_class())),
        };
        match worth {
            Some(OfferRank::Same(fx)) => *fx,
            Some(OfferRank::By(values)) => values.get(as_usize(row)).copied().unwrap_or_default(),
            None => FixedPoint::default(),
        }
    }
}

fn same(rank: Rank) -> Option<FixedPoint> {
    match rank {
        Rank::Same(fx) => Some(fx),
        Rank::By(_) | Rank::Opaque => None,
    }
}

/// The conditions of a demand by how they are asked.
struct Filters {
    /// Those that are answered for all rows at once.
    bulk: Vec<PredId>,
    /// Those that are left to be asked row by row.
    per_row: Vec<PredId>,
    /// Of some rows only the evaluator knows.
    open: bool,
}

impl Filters {
    fn of(demand: &Predicates, known: &mut Known<'_>) -> Filters {
        let mut filters = Filters { bulk: Vec::new(), per_row: Vec::new(), open: demand.opaque };
        for pred in &demand.preds {
            match known.preds.answer(*pred, known.table) {
                Some(answer) => {
                    filters.open |= answer.open.is_some();
                    filters.bulk.push(*pred);
                }
                None => filters.per_row.push(*pred),
            }
        }
        filters
    }

    /// Whether one of those that are asked row by row is true of no value there is.
    fn is_unmet(&self, known: &mut Known<'_>) -> bool {
        self.per_row.iter().any(|pred| known.preds.is_unmet(*pred, known.table))
    }

    /// What is left of the admitted rows, if it pays to work that out before offer classes are looked at.
    fn wanted(&self, plan: &PortPlan, admitted: &Bits, open: &mut Bits, known: &Known<'_>) -> Option<Bits> {
        if self.open {
            let mut wanted = admitted.clone();
            self.narrow(&plan.own, &mut wanted, open, known.preds);
            return Some(wanted);
        }
        if plan.theirs.len() <= FEW || self.bulk.is_empty() {
            return None;
        }
        let (mut wanted, mut sets) = (Bits::none(admitted.len()), Vec::new());
        self.sets(admitted, &mut sets, known.preds);
        wanted.or_meet(&sets);
        Some(wanted)
    }

    /// The sets whose common rows pass, if none is open.
    fn sets<'k>(&self, admitted: &'k Bits, sets: &mut Vec<&'k Bits>, preds: &'k Preds) {
        sets.push(admitted);
        sets.extend(self.bulk.iter().filter_map(|pred| preds.known(*pred)).map(|answer| &answer.yes));
    }

    /// Takes out of `rows` what is refused, and adds to `open` what is not known.
    fn narrow(&self, demand: &Predicates, rows: &mut Bits, open: &mut Bits, preds: &Preds) {
        for answer in self.bulk.iter().filter_map(|pred| preds.known(*pred)) {
            match &answer.open {
                None => rows.and(&answer.yes),
                Some(unknown) => {
                    let mut pass = answer.yes.clone();
                    pass.or(unknown);
                    rows.and(&pass);
                    open.or(unknown);
                }
            }
        }
        if demand.opaque {
            open.or(rows);
        }
    }
}

/// For so many offer classes the root's own conditions are asked again and again.
const FEW: usize = 2;
