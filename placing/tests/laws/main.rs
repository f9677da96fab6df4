//! What holds of every placement.
#![cfg(test)]

use std::collections::BTreeSet;
use std::sync::Arc;

use placing::{Choice, Column, Effort, Placed, Presolved, Root, Take, Window, bound_at, place, presolve};
use sampling::Random;

mod world;

use world::{LARGE, SMALL, brute_force, fits, flow, in_turn, most_of_flow, unfair, window, worth};

const EFFORT: Effort = Effort { steps: 20_000, seed: 1 };

/// Small windows, which are solved exactly, and some larger ones.
fn windows() -> impl Iterator<Item = (u64, Window)> {
    let small = (0..3_000).map(|seed| (seed, window(seed, SMALL)));
    let large = (0..40).map(|seed| (seed, window(seed, LARGE)));
    small.chain(large).chain((0..40).map(|seed| (seed, flow(seed))))
}

fn turns(window: &Window) -> Vec<Choice> {
    window.roots.iter().map(|root| root.in_turn).collect()
}

fn weight(window: &Window, choices: &[Choice]) -> u128 {
    worth(window, choices).0.into_iter().map(u128::from).sum()
}

#[test]
fn p1_nothing_is_taken_twice() {
    for (seed, window) in windows() {
        let placed = place(&window, EFFORT);
        assert_eq!(placed.choices.len(), window.roots.len());
        assert!(fits(&window, &placed.choices), "seed {seed}: {window:#?} {placed:?}");
        assert_eq!(placed.weight, weight(&window, &placed.choices), "seed {seed}");
        assert_eq!(placed.in_turn, weight(&window, &turns(&window)), "seed {seed}");
    }
}

#[test]
fn p2_p8_no_submitter_gets_less_than_in_turn_and_no_pinned_root_is_passed_over() {
    let mut gained = 0;
    for (seed, window) in windows() {
        let placed = place(&window, EFFORT);
        assert_eq!(unfair(&window, &placed.choices), None, "seed {seed}: {window:#?} {placed:?}");
        gained += u32::from(window.fair && placed.weight > placed.in_turn);
    }
    assert!(gained > 100, "in {gained} windows there is a gain");
}

#[test]
fn p8_if_all_are_pinned_nobody_is_passed_over() {
    for (seed, mut window) in windows() {
        window.fair = true;
        window.roots.iter_mut().for_each(|root| root.pinned = true);
        let placed = place(&window, EFFORT);
        let lost = turns(&window).iter().zip(&placed.choices).any(|(turn, now)| turn.is_some() && now.is_none());
        assert!(!lost, "seed {seed}: {window:#?} {placed:?}");
    }
}

#[test]
fn p3_small_windows_are_solved_exactly() {
    for seed in 0..3_000 {
        let window = window(seed, SMALL);
        let placed = place(&window, EFFORT);
        assert!(placed.proven, "seed {seed}");
        assert_eq!(worth(&window, &placed.choices), brute_force(&window), "seed {seed}: {window:#?} {placed:?}");
        assert!(placed.bound == placed.weight, "seed {seed}: {placed:?}");
    }
}

/// Whether a window is a flow is found out with one look at each column, though each resource is by itself here.
#[test]
fn t4_a_window_of_many_offers_is_known_to_be_a_flow_at_once() {
    let column = |resource: usize| Column { takes: vec![Take::Units { resource, amount: 1 }], ..Column::default() };
    let offers = 20_000;
    let root = |number: usize| {
        let columns = (0..100usize).map(|own| column((number * 31 + own * (number % 13 + 1)) % offers));
        Root { weight: 1, columns: Arc::new(columns.collect()), in_turn: Some(number % 7), ..Root::default() }
    };
    let mut window = Window { roots: (0..1000).map(root).collect(), free: vec![1; offers], ..Window::default() };
    let mut taken = BTreeSet::new();
    for root in &mut window.roots {
        root.in_turn = (0..100).find(|number| taken.insert(root.columns[*number].takes.clone()));
    }
    let placed = place(&window, Effort { steps: 200_000, seed: 0 });
    assert!(placed.proven && placed.weight >= placed.in_turn);
}

#[test]
fn p3_a_window_that_is_a_flow_has_as_many_gangs_as_there_can_be_and_that_is_proven() {
    let (mut gained, mut passed_over) = (0, 0);
    for seed in 0..300 {
        let window = flow(seed);
        let placed = place(&window, EFFORT);
        let most = u128::from(most_of_flow(&window));
        assert_eq!((placed.weight, placed.bound, placed.proven), (most, most, true), "seed {seed}");
        assert!(fits(&window, &placed.choices), "seed {seed}");
        gained += u32::from(placed.weight > placed.in_turn);
        // flow is never taken away; small windows are solved for the scores, too
        let lost = window.roots.iter().zip(&placed.choices).any(|(root, now)| root.in_turn.is_some() && now.is_none());
        passed_over += u32::from(lost && window.roots.len() > 64);
    }
    assert!(gained > 50, "in {gained} windows there is a gain");
    assert_eq!(passed_over, 0);
}

#[test]
fn roots_with_equal_columns_in_lists_of_their_own_are_placed_as_with_one_list() {
    for (seed, window) in windows().filter(|(seed, _)| seed % 10 == 0) {
        let mut apart = window.clone();
        apart.roots.iter_mut().for_each(|root| root.columns = Arc::new(root.columns.to_vec()));
        assert_eq!(place(&apart, EFFORT), place(&window, EFFORT), "seed {seed}");
    }
}

#[test]
fn p3_placed_is_between_in_turn_and_the_bound() {
    for (seed, window) in windows() {
        let placed = place(&window, EFFORT);
        assert!(worth(&window, &placed.choices) >= worth(&window, &turns(&window)), "seed {seed}: {placed:?}");
        assert!(placed.weight <= placed.bound, "seed {seed}: {placed:?}");
    }
}

#[test]
fn p5_the_same_window_gives_the_same_placement() {
    for (seed, window) in windows().filter(|(seed, _)| seed % 10 == 0) {
        assert_eq!(place(&window, EFFORT), place(&window.clone(), EFFORT), "seed {seed}");
    }
}

#[test]
fn p6_more_steps_are_never_worse() {
    for (seed, window) in windows().filter(|(seed, _)| seed % 10 == 0) {
        let mut before: Option<(_, Placed)> = None;
        for steps in [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 20_000] {
            let placed = place(&window, Effort { steps, ..EFFORT });
            let reached = worth(&window, &placed.choices);
            assert!(placed.steps <= steps, "seed {seed}: {placed:?}");
            if let Some((less, earlier)) = before {
                assert!(reached >= less, "seed {seed}, {steps} steps: {placed:?}, before {earlier:?}");
                assert!(placed.bound <= earlier.bound, "seed {seed}, {steps} steps: {placed:?}, before {earlier:?}");
            }
            before = Some((reached, placed));
        }
    }
}

#[test]
fn p7_one_unit_more_never_places_fewer() {
    let mut more = 0;
    for seed in 0..2_000 {
        let mut window = window(seed, SMALL);
        window.roots.iter_mut().for_each(|root| {
            (root.submitter, root.priority, root.band, root.pinned, root.weight) = (0, 0, 0, false, 1);
        });
        let reached = |window: &mut Window| {
            in_turn(window);
            place(window, EFFORT)
        };
        let before = reached(&mut window);
        let resource = Random::new(seed).index(window.free.len());
        window.free[resource] += 1;
        let after = reached(&mut window);
        assert!(before.proven && after.proven && after.weight >= before.weight, "seed {seed}: {before:?} {after:?}");
        more += u32::from(after.weight > before.weight);
    }
    assert!(more > 100, "in {more} windows it helps");
}

#[test]
fn p9_of_equal_roots_the_older_ones_are_placed() {
    let equal = |one: &Root, other: &Root| {
        let key = |root: &Root| (root.band, root.submitter, root.priority, root.weight, root.pinned);
        key(one) == key(other) && one.columns == other.columns
    };
    let mut pairs = 0;
    for (seed, window) in windows() {
        let placed = place(&window, EFFORT);
        for (younger, root) in window.roots.iter().enumerate() {
            for older in (0..younger).filter(|older| equal(&window.roots[*older], root)) {
                let (one, other) = (placed.choices[older], placed.choices[younger]);
                assert!(other.is_none() || one.is_some(), "seed {seed}: {older} waits for {younger}: {placed:?}");
                pairs += u32::from(one.is_some() && other.is_none());
            }
        }
    }
    assert!(pairs > 100, "{pairs} pairs");
}

#[test]
fn p10_a_scale_of_scores_changes_no_count() {
    for (seed, mut window) in windows().filter(|(seed, _)| seed % 3 == 0) {
        let before = place(&window, EFFORT);
        let columns = window.roots.iter_mut().flat_map(|root| Arc::make_mut(&mut root.columns));
        let scores = columns.flat_map(|column| &mut column.score);
        scores.for_each(|level| *level *= 1000);
        let after = place(&window, EFFORT);
        assert_eq!(worth(&window, &before.choices).0, worth(&window, &after.choices).0, "seed {seed}");
    }
}

#[test]
fn p11_where_all_are_placed_in_turn_all_are_placed_with_no_smaller_sum() {
    let mut all = 0;
    for (seed, mut window) in windows() {
        window.free.iter_mut().for_each(|free| *free += 5);
        in_turn(&mut window);
        let before = turns(&window);
        let can: Vec<bool> = window.roots.iter().map(|root| !root.columns.is_empty()).collect();
        if before.iter().map(Option::is_some).ne(can.iter().copied()) {
            continue;
        }
        let placed = place(&window, EFFORT);
        assert!(placed.choices.iter().map(Option::is_some).eq(can), "seed {seed}: {placed:?}");
        assert!(worth(&window, &placed.choices).1 >= worth(&window, &before).1, "seed {seed}: {placed:?}");
        all += 1;
    }
    assert!(all > 100, "{all} windows");
}

#[test]
fn p12_every_price_gives_a_bound() {
    for seed in 0..3_000 {
        let window = window(seed, SMALL);
        let exact = place(&window, EFFORT);
        let random = &mut Random::stream(seed, "prices");
        for _ in 0..5 {
            let top = [1 << 20, 1 << 28, 1 << 30, 1 << 31][random.index(4)];
            let prices: Vec<u64> = window.free.iter().map(|_| random.below(top)).collect();
            assert!(bound_at(&window, &prices) >= exact.weight, "seed {seed}: {prices:?} {exact:?}");
        }
    }
}

/// The second half of some lists is not listed, and of what their roots need the first and the last take of any of their gangs are known.
fn cut(window: &Window, random: &mut Random) -> Window {
    let mut cut = window.clone();
    for root in cut.roots.iter_mut().filter(|root| root.columns.len() > 1 && random.below(2) == 0) {
        let alone = |take: Option<&Take>| {
            let takes = take.copied().filter(|take| matches!(take, Take::Units { .. })).into_iter().collect();
            Column { takes, ..Column::default() }
        };
        let first = root.columns.iter().map(|column| alone(column.takes.first())).collect();
        let last = root.columns.iter().filter(|column| column.takes.len() > 1);
        let last: Vec<Column> = last.map(|column| alone(column.takes.last())).collect();
        let all_have_two = last.len() == root.columns.len();
        root.needs = [Some(first), Some(last).filter(|_| all_have_two)].into_iter().flatten().map(Arc::new).collect();
        let listed = (root.columns.len() / 2).max(root.in_turn.map_or(0, |number| number + 1));
        root.has_more = listed < root.columns.len();
        Arc::make_mut(&mut root.columns).truncate(listed);
    }
    cut
}

#[test]
fn p12_what_gangs_need_that_are_not_listed_gives_a_bound() {
    let (mut lower, mut cuts) = (0, 0);
    // these windows are not solved exactly
    let short = Effort { steps: 500, ..EFFORT };
    for seed in 0..600 {
        let window = window(seed, SMALL);
        let exact = place(&window, EFFORT).weight;
        let random = &mut Random::stream(seed, "needs");
        let cut = cut(&window, random);
        for _ in 0..5 {
            let top = [1 << 20, 1 << 28, 1 << 30, 1 << 31][random.index(4)];
            let prices: Vec<u64> = cut.free.iter().map(|_| random.below(top)).collect();
            assert!(bound_at(&cut, &prices) >= exact, "seed {seed}: {prices:?} {exact}");
        }
        let bound = place(&cut, short).bound;
        assert!(bound >= exact, "seed {seed}: {bound} {exact} {cut:#?}");
        let mut unknown = cut.clone();
        unknown.roots.iter_mut().for_each(|root| root.needs.clear());
        cuts += u32::from(cut.roots.iter().any(|root| root.has_more));
        lower += u32::from(bound < place(&unknown, short).bound);
    }
    assert!(cuts > 200 && lower * 10 > cuts, "of {cuts} windows with lists that were cut, {lower} have a lower bound");
}

#[test]
fn p13_with_one_port_and_whole_offers_pinning_everybody_costs_nothing() {
    let mut pinned = 0;
    for seed in 0..2_000 {
        let mut window = window(seed, SMALL);
        (window.seats, window.fair) = (Vec::new(), true);
        window.free.iter_mut().for_each(|free| *free = 1);
        for root in &mut window.roots {
            (root.weight, root.submitter, root.priority, root.band, root.pinned) = (1, 0, 0, 0, false);
            let columns = Arc::make_mut(&mut root.columns);
            columns.retain(|column| matches!(column.takes.as_slice(), [Take::Units { .. }]));
            let takes = columns.iter_mut().flat_map(|column| &mut column.takes);
            takes.for_each(|take| {
                if let Take::Units { amount, .. } = take {
                    *amount = 1;
                }
            });
        }
        in_turn(&mut window);
        let free = place(&window, EFFORT);
        window.roots.iter_mut().for_each(|root| root.pinned = true);
        let all = place(&window, EFFORT);
        assert!(free.proven && all.proven && free.weight == all.weight, "seed {seed}: {free:?} {all:?}");
        pinned += u32::from(all.weight > all.in_turn);
    }
    assert!(pinned > 50, "in {pinned} windows there is a gain");
}

#[test]
fn the_example_of_the_definition() {
    // Machines foo and bar, and a licence that is tied to foo. `any` is older and likes foo better; `sim` needs the licence.
    let gang = |resources: &[usize], rank| placing::Column {
        takes: resources.iter().map(|resource| Take::Units { resource: *resource, amount: 1 }).collect(),
        score: [rank, 0, 0],
    };
    let any = Root { columns: Arc::new(vec![gang(&[0], 9), gang(&[1], 1)]), ..Root::default() };
    let sim = Root { columns: Arc::new(vec![gang(&[0, 2], 9)]), ..Root::default() };
    let mut window = Window { roots: vec![any, sim], free: vec![1; 3], fair: true, ..Window::default() };
    in_turn(&mut window);
    let placed = place(&window, EFFORT);
    assert_eq!((placed.in_turn, placed.weight, placed.bound), (1, 2, 2));
    assert_eq!(placed.choices, [Some(1), Some(0)]);
    // If `any` may not be passed over, it still has a gang.
    window.roots[0].pinned = true;
    assert_eq!(place(&window, EFFORT).choices, [Some(1), Some(0)]);
}

/// The same window as it looks before its gangs are known, in which all roots count the same.
fn before_it_is_listed(window: &Window, random: &mut Random) -> Window {
    let mut cut = cut(window, random);
    for (root, whole) in cut.roots.iter_mut().zip(&window.roots) {
        // a gang takes one of its columns, which is known or not
        if root.needs.is_empty() && random.below(4) > 0 {
            root.needs = vec![Arc::clone(&whole.columns)];
        }
        (root.columns, root.has_more) = (Arc::default(), true);
    }
    cut
}

#[test]
fn p14_presolving_bounds_what_can_be_placed_and_knows_parts_that_cannot_gain() {
    let (mut gained, mut settled, mut narrowed) = (0, 0, 0);
    for seed in 0..1500 {
        let mut window = window(seed, SMALL);
        window.roots.iter_mut().for_each(|root| (root.weight, root.band) = (1, 0));
        let placed = place(&window, EFFORT);
        let exact = usize::try_from(placed.weight).unwrap();
        let in_turn = usize::try_from(placed.in_turn).unwrap();
        let unlisted = before_it_is_listed(&window, &mut Random::stream(seed, "presolve"));
        let Presolved { bound, may_gain } = presolve(&unlisted);
        assert!(exact <= bound && bound <= window.roots.len(), "seed {seed}: {exact} {bound} {unlisted:#?}");
        if !may_gain.contains(&true) {
            assert_eq!((exact, bound), (in_turn, in_turn), "seed {seed}: {unlisted:#?}");
            settled += 1;
        }
        gained += u32::from(exact > in_turn);
        narrowed += u32::from(may_gain.contains(&true) && may_gain.contains(&false));
    }
    assert!(
        gained > 100 && settled > 300 && narrowed > 20,
        "{gained} gain, {settled} are settled, {narrowed} narrowed"
    );
}
