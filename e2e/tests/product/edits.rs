//! Turns random sequences of edits, made while the product works, into a comparison with ads that never were anything else
//! (Gu et al., Acto: Automatic End-to-End Testing for Operation Correctness, SOSP 2023).
//!
//! A sequence begins with three jobs that want more than two machines and two licenses have. Three to eight edits follow, each at once or when
//! the one before has had its effect: valid and forbidden values by the schema that the API server has, and values that mean something to a
//! gang. A forbidden edit must be refused and change nothing; a text that does not parse must be told in `Accepted`.
//!
//! Then the namespace comes to rest, and three comparisons follow:
//!
//! 1. While the claims of the sequence stand, a job that waits is compared with a twin of the same spec that is created beside it. The twin
//!    has no history and the same offers, so it must wait for the same reason; if it is claimed, the job was forgotten.
//! 2. All jobs are suspended, which ends all claims. What a user sees must be what is seen of new ads of the same specs in another namespace.
//!    That is necessary because a claim stays when specs change: which jobs hold something depends on when it was edited.
//! 3. The jobs that are not to be suspended go on, one after the other in both namespaces, so that the order in which they are served is no matter of
//!    chance. After each of them both namespaces must come to look the same: phase, members, conditions, and of every offer the
//!    number of entries and what is free.
//!
//! Not compared: that an earlier claim ended and why, counters of attempts, and texts that depend on counts, which are told with a delay.

mod compare;
mod edit;
mod sequence;
mod values;
mod world;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use testbed::Requests;

use crate::schema::Schemas;
use crate::stage::Stage;
use sequence::Sequence;

/// How many sequences the suite runs, and how many at a time.
const SEQUENCES: u64 = 20;
const AT_A_TIME: usize = 4;

/// What all sequences of a run share.
struct Run<'r> {
    requests: &'r Requests,
    schemas: &'r Schemas,
    /// What the names of its namespaces begin with.
    prefix: String,
    figures: Figures,
}

/// How often something happened, which shows that the comparisons were about something.
#[derive(Default)]
struct Figures {
    taken: AtomicUsize,
    refused: AtomicUsize,
    /// Ads with a text that does not parse.
    told: AtomicUsize,
    /// Jobs that were claimed at the end.
    claimed: AtomicUsize,
    twins: AtomicUsize,
    /// Jobs that took other seats the first time.
    again: AtomicUsize,
}

impl Figures {
    fn all(&self) -> [usize; 5] {
        [&self.taken, &self.refused, &self.told, &self.claimed, &self.twins].map(|one| one.load(Ordering::Relaxed))
    }
}

/// Adds to one of the figures.
fn count(figure: &AtomicUsize, more: usize) {
    figure.fetch_add(more, Ordering::Relaxed);
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn after_any_edits_ads_are_what_new_ones_of_the_same_specs_are() {
    let (sequences, first) = (number("EDITS").unwrap_or(SEQUENCES), number("EDITS_SEED").unwrap_or(1));
    let stage = Stage::own();
    let requests = stage.cluster.requests().unwrap();
    let schemas = Schemas::read(requests);
    let run = Run { requests, schemas: &schemas, prefix: stage.unused("edits"), figures: Figures::default() };
    let (next, failures, begun) = (AtomicU64::new(first), Mutex::new(Vec::new()), Instant::now());
    let play = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + sequences {
                return;
            }
            let mut sequence = Sequence::new(&run, seed);
            if let Err(why) = sequence.play() {
                let failure = format!("EDITS_SEED={seed} EDITS=1\n{}\n{why}", sequence.log.join("\n"));
                eprintln!("{failure}");
                failures.lock().unwrap().push(failure);
            }
        }
    };
    std::thread::scope(|scope| (0..AT_A_TIME).for_each(|_| drop(scope.spawn(play))));
    let failures = failures.into_inner().unwrap();
    let figures = run.figures.all();
    let [taken, refused, told, claimed, twins] = figures;
    println!(
        "edits: {sequences} sequences from seed {first}: {taken} edits taken, {refused} refused; {told} ads told what does not parse, \
         {claimed} claims and {twins} twins compared, {} claims a second time; {} failed; {:.0} s",
        run.figures.again.load(Ordering::Relaxed),
        failures.len(),
        begun.elapsed().as_secs_f32()
    );
    assert!(failures.is_empty(), "{}\nthe controller says:\n{}", failures.join("\n\n"), stage.controller.log_tail());
    assert!(sequences < SEQUENCES || figures.iter().all(|&figure| figure > 1), "much has happened");
}
