//! The straight path and each way off it, row by row: state and event in, actions out.

#[cfg(test)]
mod tests {
    use claiming::{Action, Claim, Event, Hold, Reason, Record, step};

    /// Feeds events one after the other; returns the claim and what the last one asked for.
    fn after(claim: Claim, events: &[Event]) -> (Claim, Vec<Action>) {
        events.iter().fold((claim, Vec::new()), |(claim, _), event| step(claim, *event, 0))
    }

    const RESERVED: [Event; 5] =
        [Event::Woke, Event::Recorded, Event::RootReserved, Event::Reserved(0), Event::Reserved(1)];

    fn pending() -> Claim {
        after(Claim::new(2, 1000), &RESERVED).0
    }

    #[test]
    fn the_straight_path() {
        let (claim, actions) = after(Claim::new(2, 1000), &RESERVED);
        assert_eq!(actions, [Action::Check]);
        let (claim, actions) = step(claim, Event::Agreed, 0);
        assert_eq!(actions, [Action::Commit]);
        let (claim, actions) = step(claim, Event::Decided(Record::Committed), 0);
        assert_eq!(actions, [Action::TellRoot]);
        let (claim, actions) = step(claim, Event::Told, 0);
        assert_eq!(actions, []);
        assert!(claim.is_settled());
    }

    #[test]
    fn the_end_gives_back_offers_first() {
        let (claim, _) = after(pending(), &[Event::Agreed, Event::Decided(Record::Committed), Event::Told]);
        let (claim, actions) = step(claim, Event::Leave(Reason::Done), 0);
        assert_eq!(actions, [Action::Release(Reason::Done)]);
        let (claim, actions) = step(claim, Event::Decided(Record::Released), 0);
        assert_eq!(actions, [Action::Free(0), Action::Free(1)]);
        let (claim, actions) = step(claim, Event::Freed(1), 0);
        assert_eq!(actions, [], "one offer is still held");
        let (claim, actions) = step(claim, Event::Freed(0), 0);
        assert_eq!(actions, [Action::FreeRoot]);
        assert!(step(claim, Event::RootFreed, 0).0.is_settled());
    }

    #[test]
    fn a_refused_reserve_aborts_and_waits_for_the_others() {
        let (claim, _) = after(Claim::new(2, 1000), &[Event::Woke, Event::Recorded, Event::RootReserved]);
        let (claim, actions) = step(claim, Event::Refused(0, Reason::CapacityTaken), 0);
        assert_eq!(actions, [Action::Abort(Reason::CapacityTaken)]);
        let (claim, actions) = step(claim, Event::Decided(Record::Aborted), 0);
        assert_eq!(actions, [], "the reserve of leg 1 may yet land");
        let (claim, actions) = step(claim, Event::Reserved(1), 0);
        assert_eq!(actions, [Action::Free(1)]);
        let (_, actions) = step(claim, Event::Freed(1), 0);
        assert_eq!(actions, [Action::FreeRoot]);
    }

    #[test]
    fn reasons_to_call_it_off() {
        for (event, reason) in [
            (Event::Disagreed(Reason::RequirementsChanged), Reason::RequirementsChanged),
            (Event::Leave(Reason::JobDeleted), Reason::JobDeleted),
            (Event::Refused(1, Reason::MemberGone), Reason::MemberGone),
            (Event::RootRefused(Reason::JobTaken), Reason::JobTaken),
        ] {
            let (_, actions) = step(pending(), event, 0);
            assert_eq!(actions, [Action::Abort(reason)], "{event:?}");
        }
        let late = Claim::seen(Record::Pending, Hold::Held, vec![Hold::Free], 1000);
        assert_eq!(step(late, Event::Woke, 1000).1, [Action::Abort(Reason::ReserveTimedOut)]);
    }

    #[test]
    fn one_decision_at_a_time() {
        let (claim, actions) = step(pending(), Event::Agreed, 0);
        assert_eq!(actions, [Action::Commit]);
        let (claim, actions) = step(claim, Event::Leave(Reason::Suspended), 0);
        assert_eq!(actions, [], "the commit is under way");
        let (_, actions) = step(claim, Event::Decided(Record::Committed), 0);
        assert_eq!(actions, [Action::Release(Reason::Suspended)]);
    }

    #[test]
    fn the_register_never_goes_back() {
        let (claim, _) = after(pending(), &[Event::Agreed, Event::Decided(Record::Aborted)]);
        let (claim, actions) = step(claim, Event::Decided(Record::Committed), 0);
        assert_eq!(claim.record, Record::Aborted);
        assert_eq!(actions, [], "giving back is asked for already");
    }

    #[test]
    fn begins_again_from_what_is_seen() {
        let half = Claim::seen(Record::Pending, Hold::Held, vec![Hold::Held, Hold::Free], 1000);
        assert_eq!(step(half, Event::Woke, 0).1, [Action::Reserve(1)]);
        let orphan = Claim::seen(Record::Gone, Hold::Free, vec![Hold::Free, Hold::Held], 1000);
        assert_eq!(step(orphan, Event::Woke, 0).1, [Action::Free(1)]);
        let unfinished = Claim::seen(Record::Released, Hold::Held, vec![Hold::Free, Hold::Free], 1000);
        assert_eq!(step(unfinished, Event::Woke, 0).1, [Action::FreeRoot]);
    }

    #[test]
    fn a_failure_rests_the_claim() {
        let (claim, _) = step(Claim::new(1, 1000), Event::Woke, 0);
        let (claim, actions) = step(claim, Event::Failed(Action::Record), 0);
        assert_eq!(actions, []);
        assert_eq!(step(claim, Event::Woke, 0).1, [], "the caller begins again from the cluster");
    }

    #[test]
    fn nothing_recorded_leaves_nothing() {
        let (claim, actions) = step(Claim::new(1, 1000), Event::Leave(Reason::JobDeleted), 0);
        assert_eq!(actions, []);
        assert!(claim.is_settled());
    }

    #[test]
    fn reasons_are_words_and_back() {
        for reason in Reason::ALL {
            assert_eq!(Reason::of(reason.as_str()), Some(reason));
        }
        assert_eq!(Reason::of("Bored"), None);
    }
}
