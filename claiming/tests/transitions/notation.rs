//! Text of the table in docs/claiming.md into claims, events and actions.

use std::collections::BTreeMap;

use claiming::{Action, Activity, Agent, Claim, Decision, Digest, Event, Hold, Leg, Reason, Vote, Work};

/// One row: where the claim is, what happens, what the last event asks for.
pub(crate) struct Row {
    pub(crate) text: String,
    pub(crate) claim: Claim,
    pub(crate) events: Vec<Event>,
    pub(crate) actions: Vec<String>,
    pub(crate) now_ms: u64,
}

/// The rows of the table whose first column is `claim`.
pub(crate) fn rows(document: &str) -> Vec<Row> {
    let lines = document.lines().skip_while(|line| !line.starts_with("| claim | events |")).skip(2);
    lines.take_while(|line| line.starts_with('|')).map(row).collect()
}

fn row(line: &str) -> Row {
    let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
    assert!(cells.len() == 4 || cells.len() == 3, "four columns: {line}");
    let (claim, now_ms) = claim(code(cells[0])[0]);
    let events = code(cells[1]).into_iter().map(event).collect();
    let actions = code(cells[2]).into_iter().map(str::to_owned).collect();
    Row { text: line.to_owned(), claim, events, actions, now_ms }
}

/// What stands between backticks.
fn code(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

const DEADLINE_MS: u64 = 1000;

fn claim(text: &str) -> (Claim, u64) {
    let mut words = text.split(' ');
    let decision = named(DECISIONS, words.next().unwrap());
    let (mut claim, mut now_ms) = (Claim::seen(decision, Hold::Free, vec![Hold::Free], DEADLINE_MS), 0);
    for word in words {
        match word.split_once(':') {
            Some(("root", hold)) => claim.root = named(HOLDS, hold),
            Some(("legs", legs)) => claim.legs = legs.split(',').map(leg).collect(),
            Some(("work", work)) => claim.work = named(WORKS, work),
            Some(("epoch", epoch)) => claim.epochs.own = epoch.parse().unwrap(),
            Some(("newest", epoch)) => claim.epochs.newest = epoch.parse().unwrap(),
            Some(("members", "unknown")) => claim.members_known = false,
            None if word == "refused" => claim.refused_before = true,
            None if word == "verified" => claim.verified = true,
            None if word == "notified" => claim.root_notified = true,
            None if word == "late" => now_ms = DEADLINE_MS,
            _ => panic!("{word}: no part of a claim"),
        }
    }
    (claim, now_ms)
}

fn leg(text: &str) -> Leg {
    let head = text.split(['+', '^']).next().unwrap();
    let mut leg = match head {
        "agent" => Leg { agent: Some(agent(text)), ..Leg::auto(Hold::Held) },
        "agent_free" => Leg { agent: Some(Agent::default()), ..Leg::auto(Hold::Free) },
        hold => Leg::auto(named(HOLDS, hold)),
    };
    if let Some((_, rest)) = text.split_once('^') {
        leg = leg.below(rest.split('+').next().unwrap().parse().unwrap());
    }
    leg
}

fn agent(text: &str) -> Agent {
    let mut agent = Agent::default();
    for word in text.split('+').skip(1) {
        match word {
            "asked" => agent.asked = true,
            "yes" => (agent.vote, agent.ballot) = (Vote::Accepted, Digest(1)),
            "again" => (agent.vote, agent.ballot) = (Vote::Accepted, Digest(2)),
            "no" => agent.vote = Vote::Rejected,
            "notified" => agent.committed = true,
            "stop" => agent.release = true,
            "active" => agent.activity = Activity::Active,
            "ended" => agent.activity = Activity::Ended,
            "lost" => agent.activity = Activity::Lost,
            "silent" => agent.silent = true,
            _ => panic!("{word}: no register of an agent"),
        }
    }
    agent
}

fn event(text: &str) -> Event {
    if let Some((leg, entry)) = text.strip_prefix("Entry(").and_then(|rest| rest.split_once(", ")) {
        return Event::Entry(leg.parse().unwrap(), agent(entry.trim_end_matches(')')));
    }
    *events().get(text).unwrap_or_else(|| panic!("{text}: no event"))
}

/// All events with small arguments, by what they are called.
fn events() -> BTreeMap<String, Event> {
    let mut all = vec![Event::Tick, Event::MatchCreated, Event::RootReserved, Event::Verified];
    all.extend([Event::JobNotified, Event::NoWork]);
    all.extend([Event::NoEntries, Event::RootFreed, Event::Epoch(7), Event::Failed(Action::Verify)]);
    all.extend(DECISIONS.iter().flat_map(|decision| [Event::Decided(*decision), Event::DecisionRead(*decision)]));
    all.extend(WORKS.iter().map(|work| Event::Work(*work)));
    for reason in Reason::ALL {
        all.extend([Event::RootRefused(reason), Event::NotVerified(reason)]);
        all.extend([Event::Exit(reason), Event::ExitConfirmed(reason)]);
        all.extend((0..3).map(|leg| Event::Refused(leg, reason)));
    }
    all.extend((0..3).flat_map(|leg| [Event::Reserved(leg), Event::Freed(leg)]));
    all.into_iter().map(|event| (format!("{event:?}"), event)).collect()
}

const DECISIONS: &[Decision] = &[
    Decision::Absent,
    Decision::Pending,
    Decision::Committed,
    Decision::Aborted,
    Decision::Released,
    Decision::Missing,
    Decision::Gone,
];
const HOLDS: &[Hold] = &[Hold::Free, Hold::Held, Hold::Gone];
const WORKS: &[Work] = &[
    Work::None,
    Work::Absent,
    Work::Foreign,
    Work::Suspended(Digest(1)),
    Work::Suspended(Digest(2)),
    Work::Started,
    Work::Finished(true),
    Work::Finished(false),
];

fn named<T: Copy + std::fmt::Debug>(all: &[T], text: &str) -> T {
    *all.iter().find(|one| format!("{one:?}") == text).unwrap_or_else(|| panic!("{text}: none of {all:?}"))
}
