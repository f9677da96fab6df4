//! The tables of `docs/summaries.md` that tests measure.

use std::path::PathBuf;
use std::sync::Mutex;

/// One test at a time writes the page.
static PAGE: Mutex<()> = Mutex::new(());

/// How far a share may be from that in the page, in percentage points, if the page has it of more pools.
const TOLERANCE: f64 = 3.0;

/// A row of such a table: the generator, the number of pools, and how many jobs are of each sort.
#[derive(Debug, PartialEq)]
struct Row {
    name: String,
    pools: u64,
    jobs: Vec<f64>,
}

impl Row {
    fn of(line: &str) -> Option<Row> {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, pools, jobs @ ..] = cells.as_slice() else { return None };
        let jobs: Result<Vec<f64>, _> = jobs.iter().map(|cell| cell.parse()).collect();
        Some(Row { name: (*name).to_owned(), pools: pools.parse().ok()?, jobs: jobs.ok()? })
    }

    /// How many percent of the jobs are of each sort.
    fn shares(&self) -> impl Iterator<Item = f64> {
        let all: f64 = self.jobs.iter().sum();
        self.jobs.iter().map(move |jobs| 100.0 * jobs / all)
    }

    /// Of as many pools it is the same row; of others, the shares are near.
    fn agrees(&self, page: &Row) -> bool {
        let near = |(ours, theirs): (f64, f64)| (ours - theirs).abs() <= TOLERANCE;
        self.name == page.name
            && self.jobs.len() == page.jobs.len()
            && if self.pools == page.pools { self == page } else { self.shares().zip(page.shares()).all(near) }
    }
}

/// Compares a table with the one between the marks of this name in the page, prints it, and writes it anew with `UPDATE=1`.
pub(super) fn compare(mark: &str, table: &str) {
    println!("{table}");
    let _writing = PAGE.lock().unwrap();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/summaries.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- begin {mark} -->\n"), format!("\n<!-- end {mark} -->"));
    let (before, rest) = page.split_once(&begin).unwrap();
    let (stands, after) = rest.split_once(&end).unwrap();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, format!("{before}{begin}{table}{end}{after}")).unwrap();
        return;
    }
    let [ours, theirs] = [table, stands].map(|table| table.lines().filter_map(Row::of).collect::<Vec<Row>>());
    let agree = ours.len() == theirs.len() && ours.iter().zip(&theirs).all(|(ours, page)| ours.agrees(page));
    assert!(agree, "docs/summaries.md has another table; UPDATE=1 writes it anew, better with as many pools\n{stands}");
}
