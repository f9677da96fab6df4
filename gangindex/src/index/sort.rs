//! Stable sorting of rows by rank.

/// Sorts rows by rank, the best first; rows of one rank stay in their order.
pub(crate) fn stable_sort<S: Ord>(rows: &mut [u32], rank: impl Fn(u32) -> S) {
    if rows.len() < 2 {
        return;
    }
    let mut ranked: Vec<(S, u32)> = rows.iter().map(|row| (rank(*row), *row)).collect();
    ranked.sort_by(|one, other| other.0.cmp(&one.0));
    rows.iter_mut().zip(ranked).for_each(|(own, (_, row))| *own = row);
}
