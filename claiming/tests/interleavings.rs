//! Every interleaving of two claims over the same two offers, with crashes and late writes, through the production step.
//!
//! The world keeps the rules of the API server: an offer is held by one claim, the decision is written once. A crash drops
//! what a coordinator knows; what it had asked for may land at any later time, or never.

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet, VecDeque};

    use claiming::{Action, Claim, Decision, Event, Hold, Reason, step};

    const LEGS: usize = 2;
    /// Writes of crashed coordinators that may be under way at the same time; bounds the space, which is searched whole.
    const LATE_MAX: usize = 1;

    #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
    struct World {
        decisions: [Decision; 2],
        roots: [bool; 2],
        entries: [BTreeSet<usize>; LEGS],
    }

    #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
    struct State {
        world: World,
        claims: [Claim; 2],
        asked: [BTreeSet<Action>; 2],
        late: BTreeSet<(usize, Action)>,
        left: [bool; 2],
    }

    /// Which of the server's rules is switched off, to see that the check can fail.
    #[derive(Clone, Copy, PartialEq)]
    enum Rules {
        All,
        NoCapacity,
        NoWriteOnce,
    }

    fn land(world: &mut World, claim: usize, action: Action, knows: &Claim, rules: Rules) -> Option<Event> {
        let decision = world.decisions[claim];
        Some(match action {
            Action::CreateMatch => {
                if decision == Decision::Absent {
                    world.decisions[claim] = Decision::Pending;
                }
                Event::MatchCreated
            }
            Action::ReserveRoot => {
                world.roots[claim] = true;
                Event::RootReserved
            }
            Action::Reserve(leg) => {
                let taken = world.entries[leg].iter().any(|other| *other != claim);
                if taken && rules != Rules::NoCapacity {
                    Event::Refused(leg, Reason::CapacityTaken)
                } else {
                    world.entries[leg].insert(claim);
                    Event::Reserved(leg)
                }
            }
            Action::Verify => Event::Verified,
            Action::Commit | Action::Abort(_) => {
                let to = if action == Action::Commit { Decision::Committed } else { Decision::Aborted };
                let open = decision == Decision::Pending || rules == Rules::NoWriteOnce;
                if open {
                    world.decisions[claim] = to;
                }
                Event::Decided(world.decisions[claim])
            }
            Action::Release(_) => {
                if decision == Decision::Committed {
                    world.decisions[claim] = Decision::Released;
                }
                Event::Decided(world.decisions[claim])
            }
            Action::NotifyJob => Event::JobNotified,
            Action::Free(leg) => {
                world.entries[leg].remove(&claim);
                Event::Freed(leg)
            }
            Action::ListEntries => {
                let known = knows.holds();
                let found = (0..LEGS).find(|leg| world.entries[*leg].contains(&claim) && known[*leg] != Hold::Held);
                found.map_or(Event::NoEntries, Event::Reserved)
            }
            Action::ReadDecision => Event::DecisionRead(decision),
            Action::ConfirmExit(reason) => Event::ExitConfirmed(reason),
            Action::FreeRoot => {
                world.roots[claim] = false;
                Event::RootFreed
            }
            other => panic!("{other:?}: no offer here has an agent, and no job a workload"),
        })
    }

    fn seen(world: &World, claim: usize) -> Claim {
        let held = |held: bool| if held { Hold::Held } else { Hold::Free };
        let legs = world.entries.iter().map(|entries| held(entries.contains(&claim))).collect();
        Claim::seen(world.decisions[claim], held(world.roots[claim]), legs, u64::MAX)
    }

    fn tell(state: &mut State, claim: usize, event: Event) {
        let (next, actions) = step(state.claims[claim].clone(), event, 0);
        state.claims[claim] = next;
        state.asked[claim].extend(actions);
    }

    fn successors(state: &State, rules: Rules) -> Vec<State> {
        let mut all = Vec::new();
        for claim in 0..2 {
            for action in &state.asked[claim] {
                let mut next = state.clone();
                next.asked[claim].remove(action);
                if let Some(event) = land(&mut next.world, claim, *action, &state.claims[claim], rules) {
                    tell(&mut next, claim, event);
                }
                all.push(next);
            }
            let mut crashed = state.clone();
            let dropped = std::mem::take(&mut crashed.asked[claim]);
            crashed.late.extend(
                dropped
                    .into_iter()
                    .filter(|a| !matches!(a, Action::Verify | Action::ListEntries | Action::ReadDecision))
                    .map(|a| (claim, a)),
            );
            crashed.claims[claim] = seen(&crashed.world, claim);
            tell(&mut crashed, claim, Event::Tick);
            if crashed.late.len() <= LATE_MAX {
                all.push(crashed);
            }
            if !state.left[claim] {
                let mut leaving = state.clone();
                leaving.left[claim] = true;
                tell(&mut leaving, claim, Event::Exit(Reason::Done));
                all.push(leaving);
            }
        }
        for (claim, action) in &state.late {
            let mut next = state.clone();
            next.late.remove(&(*claim, *action));
            let _ = land(&mut next.world, *claim, *action, &state.claims[*claim], rules);
            all.push(next);
        }
        all
    }

    fn broken(world: &World) -> Option<&'static str> {
        if world.entries.iter().any(|entries| entries.len() > 1) {
            return Some("an offer is held twice");
        }
        for claim in 0..2 {
            let whole = world.roots[claim] && world.entries.iter().all(|entries| entries.contains(&claim));
            if world.decisions[claim] == Decision::Committed && !whole {
                return Some("committed without all its members");
            }
        }
        None
    }

    /// Whether everything is given back once both jobs are done and the coordinators go on from what they see.
    fn drains(mut state: State) -> bool {
        for _ in 0..200 {
            for claim in 0..2 {
                state.asked[claim].clear();
                state.claims[claim] = seen(&state.world, claim);
                tell(&mut state, claim, Event::Exit(Reason::Done));
                while let Some(action) = state.asked[claim].pop_first() {
                    let knows = state.claims[claim].clone();
                    if let Some(event) = land(&mut state.world, claim, action, &knows, Rules::All) {
                        tell(&mut state, claim, event);
                    }
                }
            }
            let clean = !state.world.roots.contains(&true) && state.world.entries.iter().all(BTreeSet::is_empty);
            if clean {
                return true;
            }
        }
        false
    }

    fn explore(rules: Rules, limit: usize) -> Result<usize, String> {
        let world =
            World { decisions: [Decision::Absent; 2], roots: [false; 2], entries: [BTreeSet::new(), BTreeSet::new()] };
        let claims = [seen(&world, 0), seen(&world, 1)];
        let mut start = State { world, claims, asked: Default::default(), late: BTreeSet::new(), left: [false; 2] };
        for claim in 0..2 {
            tell(&mut start, claim, Event::Tick);
        }
        let digest = |state: &State| format!("{state:?}");
        let (mut known, mut queue) = (HashSet::from([digest(&start)]), VecDeque::from([start]));
        while let Some(state) = queue.pop_front() {
            if let Some(what) = broken(&state.world) {
                return Err(what.to_owned());
            }
            if rules == Rules::All && !drains(state.clone()) {
                return Err(format!("leaks: {state:#?}"));
            }
            if known.len() >= limit {
                return Ok(known.len());
            }
            for next in successors(&state, rules) {
                if known.insert(digest(&next)) {
                    queue.push_back(next);
                }
            }
        }
        Ok(known.len())
    }

    #[test]
    fn no_interleaving_breaks_or_leaks() {
        let states = explore(Rules::All, usize::MAX).unwrap();
        println!("{states} states");
        assert!(states >= 500_000, "only {states} states: the model has shrunk");
    }

    #[test]
    fn without_the_capacity_rule_an_offer_is_held_twice() {
        assert_eq!(explore(Rules::NoCapacity, 1_000_000), Err("an offer is held twice".to_owned()));
    }

    #[test]
    fn without_the_write_once_decision_a_gang_is_torn() {
        assert_eq!(explore(Rules::NoWriteOnce, 1_000_000), Err("committed without all its members".to_owned()));
    }
}
