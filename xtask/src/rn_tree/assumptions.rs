//! What the paper leaves out, and what is taken for it.

use super::{TableRow, heads};

/// What it is, what is taken, and why.
const ASSUMPTIONS: [[&str; 3]; 14] = [
    ["groups of nodes (N), jitter, BASE_RESOURCE", "10; 10 %; 100 of each resource", "table 1 does not depend on them"],
    [
        "MAX_CHF, and how D is drawn",
        "a whole number from 0 to 99, so a resource is asked for with probability (CHF + 1) / 100",
        "gives all 24 compositions of table 1",
    ],
    [
        "amount of work",
        "20,000 to 380,000 units of time on a node of group 1",
        "the nodes are busy, and the ratio of the waiting times is the paper's",
    ],
    [
        "number of joins in the dynamic workloads",
        "1,570, 1,520 and 2,234",
        "table 1 gives the other numbers, and there are 15,000 events",
    ],
    ["stabilization period before the first event", "20 periods", "an aggregate reaches the root in fewer"],
    ["period of refreshing, aggregates and heartbeats", "1,000 units of time", ""],
    ["when a node counts as gone", "3 heartbeats missed; a child after 2 periods", "the paper omits recovery"],
    ["time of one hop", "1 unit of time", "the unit of the Chord simulator"],
    ["hops of a lookup", "half of log2 n", "the mean in the paper on Chord"],
    ["rounding in equation (1)", "down", ""],
    ["which of several children is tried first", "a random one", "algorithm 1 says only \"a child\""],
    ["discrete resources in aggregates", "the set of the values below", "the paper only says that they are modelled"],
    [
        "a search without a result",
        "tried ten times, a period apart; then the client is told",
        "while nodes come and go, the first results may be out of date",
    ],
    [
        "messages that are counted",
        "ring: 2 + half of log2 n for each node and period; one heartbeat for each job in a queue and period; tree: 2 for each node and period, half of log2 n for each changed parent, also after a planned leave, and the searches; not what a node that leaves tells the others",
        "to leave is a few messages, once",
    ],
];

/// The assumptions as a table.
pub(super) fn table() -> Vec<TableRow> {
    let mut rows = heads(&["the paper does not give", "taken", "why"]);
    rows.extend(ASSUMPTIONS.map(|cells| cells.map(str::to_owned).to_vec()));
    rows
}
