//! What both sides think of each other into one order of rows, made once for all roots that think alike.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use foldhash::fast::RandomState;

use super::ranks::{Rank, RankId, Ranks};
use crate::score::Fx;
use crate::table::{Bits, Table, as_u32, as_usize};

/// An order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderId {
    /// By a rank alone.
    Rank(RankId),
    /// By the root's rank, then by that of the row's own template.
    Both(u32),
}

/// What a template thinks of a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Liking {
    /// Where every template thinks the same of the root through all of its rows: which of them like it better.
    Level(u32),
    Rank(Rank),
}

/// Who thinks what: the root, and each template that it can meet.
type Minds = (Rank, Vec<(usize, Liking)>);

/// Orders that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    list: Vec<(Vec<u32>, Vec<u32>)>,
    ids: HashMap<Minds, u32, RandomState>,
}

/// How many orders are kept from one cycle to the next.
const ORDERS_MAX: usize = 512;

impl Orders {
    /// Forgets all orders: rows or ranks have changed.
    pub(crate) fn forget(&mut self) {
        *self = Orders::default();
    }

    /// Makes room if too much is kept. No order of before is used after that.
    pub(crate) fn make_room(&mut self) {
        if self.list.len() > ORDERS_MAX {
            self.forget();
        }
    }

    /// The order of the rows of some templates, each with its rank of the root: by `own`, then by those, then as ads are.
    pub(crate) fn both(&mut self, own: Rank, theirs: &[(usize, Rank)], ranks: &Ranks, table: &Table) -> OrderId {
        let minds = (own, levels(theirs));
        if let Some(id) = self.ids.get(&minds) {
            return OrderId::Both(*id);
        }
        let id = as_u32(self.list.len());
        self.list.push(sorted(own, theirs, ranks, table));
        self.ids.insert(minds, id);
        OrderId::Both(id)
    }

    /// The rows of an order, the best first, and the place of each row in it.
    pub(crate) fn get<'o>(&'o self, id: OrderId, ranks: &'o Ranks) -> (&'o [u32], &'o [u32]) {
        match id {
            OrderId::Rank(rank) => ranks.order(rank),
            OrderId::Both(id) => self.list.get(as_usize(id)).map_or((&[], &[]), |(order, places)| (order, places)),
        }
    }
}

/// Which of several constant ranks is larger is all that matters of them.
fn levels(theirs: &[(usize, Rank)]) -> Vec<(usize, Liking)> {
    let constant = |(_, rank): &(usize, Rank)| match rank {
        Rank::Same(fx) => Some(*fx),
        Rank::By(_) | Rank::Opaque => None,
    };
    let Some(all) = theirs.iter().map(constant).collect::<Option<BTreeSet<Fx>>>() else {
        return theirs.iter().map(|(template, rank)| (*template, Liking::Rank(*rank))).collect();
    };
    let level = |rank: &(usize, Rank)| as_u32(all.iter().position(|fx| Some(*fx) == constant(rank)).unwrap_or(0));
    theirs.iter().map(|rank| (rank.0, Liking::Level(level(rank)))).collect()
}

fn sorted(own: Rank, theirs: &[(usize, Rank)], ranks: &Ranks, table: &Table) -> (Vec<u32>, Vec<u32>) {
    let mut rows: Vec<(Reverse<(Fx, Fx)>, u32, u32)> = Vec::new();
    for (template, rank) in theirs {
        let of = table.templates.list.get(*template).map(|template| template.rows.rows()).unwrap_or_default();
        let score = |row: u32| {
            let value = |rank: Rank| ranks.value(rank, as_usize(row)).unwrap_or_default();
            (value(own), value(*rank))
        };
        rows.extend(of.into_iter().map(|row| (Reverse(score(row)), table.position(row), row)));
    }
    rows.sort_unstable();
    let order: Vec<u32> = rows.into_iter().map(|(_, _, row)| row).collect();
    let mut places = vec![u32::MAX; table.rows.len()];
    for (place, row) in (0u32..).zip(&order) {
        if let Some(own) = places.get_mut(as_usize(*row)) {
            *own = place;
        }
    }
    (order, places)
}

/// The places of some rows in an order.
pub(crate) fn places_of(rows: &Bits, (order, places): (&[u32], &[u32])) -> Bits {
    let mut taken = Bits::none(order.len());
    for row in rows.iter() {
        taken.set(places.get(as_usize(row)).map_or(usize::MAX, |place| as_usize(*place)), true);
    }
    taken
}
