//! Random windows, the result in turn, and all placements of a small window.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use placing::{Choice, Column, Root, Score, Seat, Take, Window};
use sampling::Random;

/// How large a random window is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) roots: usize,
    pub(crate) resources: usize,
    pub(crate) columns: usize,
}

/// Windows that brute force can take.
pub(crate) const SMALL: Size = Size { roots: 6, resources: 6, columns: 4 };
/// Windows that are not solved exactly.
pub(crate) const LARGE: Size = Size { roots: 90, resources: 70, columns: 6 };

/// A random window with the result in turn: whole resources and units, seats, submitters, priorities, bands, pins, weights, equal roots.
pub(crate) fn window(seed: u64, size: Size) -> Window {
    let random = &mut Random::stream(seed, "window");
    let resources = 1 + random.index(size.resources);
    let wide = random.happens(400);
    let free = (0..resources).map(|_| if wide { 1 + random.below(6) } else { 1 + random.below(2) }).collect();
    let with_seats = random.happens(300);
    let seats: Vec<Seat> =
        (0..if with_seats { 2 } else { 0 }).map(|_| Seat { takes: vec![(random.index(resources), 1)] }).collect();
    let weighted = random.happens(250);
    let (submitters, bands) = (1 + random.index(4), 1 + random.below(2));
    let mut roots: Vec<Root> = Vec::new();
    for _ in 0..1 + random.index(size.roots) {
        if random.happens(200)
            && let Some(like) = random.pick(&roots).cloned()
        {
            roots.push(like);
            continue;
        }
        let columns: Vec<Column> =
            (0..random.index(size.columns + 1)).map(|_| column(random, resources, &seats)).collect();
        roots.push(Root {
            weight: if weighted { 1 + random.below(4) } else { 1 },
            submitter: random.index(submitters),
            priority: random.between(0, 3),
            band: i64::try_from(random.below(bands)).unwrap(),
            pinned: random.happens(250),
            columns: Arc::new(columns),
            ..Root::default()
        });
    }
    let mut window = Window { roots, free, seats, fair: random.happens(800) };
    in_turn(&mut window);
    window
}

fn column(random: &mut Random, resources: usize, seats: &[Seat]) -> Column {
    let mut takes = BTreeMap::new();
    for _ in 0..1 + random.index(2) {
        takes.insert(random.index(resources), 1 + random.below(2));
    }
    let seat = random.index(seats.len().max(1));
    let seat =
        seats.get(seat).filter(|seat| random.happens(400) && !takes.contains_key(&seat.takes[0].0)).map(|_| seat);
    let units = takes.into_iter().map(|(resource, amount)| Take::Units { resource, amount });
    let takes = units.chain(seat.map(Take::Seat)).collect();
    Column { takes, score: [random.between(-5, 9).into(), random.between(0, 2).into(), 0] }
}

/// A window that is a flow: some machines are only taken together with a seat, and which seats these are is the same for all roots. There are
/// more roots than machines, and many roots are alike.
pub(crate) fn flow(seed: u64) -> Window {
    let random = &mut Random::stream(seed, "flow");
    let (machines, seats) = (10 + random.index(60), 1 + random.index(6));
    let free = (0..machines + seats).map(|resource| random.below(if resource < machines { 3 } else { 12 })).collect();
    let with: Vec<Vec<Option<usize>>> = (0..machines)
        .map(|_| match random.index(5) {
            0 => vec![None],
            1 => vec![Some(random.index(seats)), None],
            2 => (0..seats).map(Some).collect(),
            _ => vec![Some(random.index(seats))],
        })
        .collect();
    let kinds: Vec<Arc<Vec<Column>>> = (0..20)
        .map(|_| {
            let mut columns = Vec::new();
            let mut column = |resources: &[usize], score: i64| {
                let takes = resources.iter().map(|resource| Take::Units { resource: *resource, amount: 1 }).collect();
                columns.push(Column { takes, score: [score.into(), 0, 0] });
            };
            for (machine, seats) in with.iter().enumerate() {
                let score = random.between(0, 9);
                for seat in seats.iter().filter(|_| score < 2) {
                    let seat = seat.map(|seat| machines + seat);
                    column(&[Some(machine), seat].into_iter().flatten().collect::<Vec<_>>(), score);
                }
            }
            if random.happens(100) {
                column(&[machines + random.index(seats)], 1);
            }
            Arc::new(columns)
        })
        .collect();
    let roots = (0..20 + random.index(120)).map(|_| Root {
        weight: 1,
        submitter: random.index(3),
        priority: random.between(0, 3),
        pinned: random.happens(250),
        columns: Arc::clone(random.pick(&kinds).unwrap()),
        ..Root::default()
    });
    let mut window = Window { roots: roots.collect(), free, seats: Vec::new(), fair: true };
    in_turn(&mut window);
    window
}

/// The most roots of such a window that can be placed: one path after the other, in the plainest way.
pub(crate) fn most_of_flow(window: &Window) -> u64 {
    let (roots, resources) = (window.roots.len(), window.free.len());
    let (source, sink) = (0, 1 + roots + 2 * resources);
    let mut room = vec![BTreeMap::new(); sink + 1];
    for (root, of) in window.roots.iter().enumerate() {
        room[source].insert(1 + root, 1);
        for column in of.columns.iter() {
            let mut from = 1 + root;
            for take in &column.takes {
                let Take::Units { resource, .. } = take else { panic!("a flow has no seats that are shared") };
                let own = 1 + roots + 2 * resource;
                room[from].insert(own, u64::MAX);
                room[own].insert(own + 1, window.free[*resource]);
                from = own + 1;
            }
            room[from].insert(sink, u64::MAX);
        }
    }
    let mut flow = 0;
    loop {
        let mut before = BTreeMap::from([(source, source)]);
        let mut open = vec![source];
        while let Some(node) = open.pop() {
            for (to, _) in room[node].clone().into_iter().filter(|(_, room)| *room > 0) {
                before.entry(to).or_insert_with(|| {
                    open.push(to);
                    node
                });
            }
        }
        let mut node = sink;
        if !before.contains_key(&sink) {
            return flow;
        }
        while node != source {
            let from = before[&node];
            *room[from].get_mut(&node).unwrap() -= 1;
            *room[node].entry(from).or_default() += 1;
            node = from;
        }
        flow += 1;
    }
}

/// Puts the roots into the order of their turns, and gives each its best column of what is left: the highest band, then the submitter with
/// the fewest gangs, then priority, then the first.
pub(crate) fn in_turn(window: &mut Window) {
    let mut waiting: Vec<Root> = std::mem::take(&mut window.roots);
    let mut held: BTreeMap<usize, usize> = BTreeMap::new();
    let mut choices: Vec<Choice> = Vec::new();
    while let Some(next) = (0..waiting.len()).min_by_key(|number| {
        let root = &waiting[*number];
        let gangs = held.get(&root.submitter).copied().unwrap_or(0);
        (Reverse(root.band), gangs, root.submitter, Reverse(root.priority), *number)
    }) {
        let mut root = waiting.remove(next);
        window.roots.push(root.clone());
        choices.push(None);
        let number = choices.len() - 1;
        let fitting = (0..root.columns.len()).filter(|column| {
            choices[number] = Some(*column);
            fits(window, &choices)
        });
        root.in_turn = fitting
            .collect::<Vec<_>>()
            .into_iter()
            .min_by_key(|column| (Reverse(root.columns[*column].score), *column));
        choices[number] = root.in_turn;
        *held.entry(root.submitter).or_default() += usize::from(root.in_turn.is_some());
        window.roots[number] = root;
    }
}

/// Whether no resource is overdrawn: counted anew, in the plainest way.
pub(crate) fn fits(window: &Window, choices: &[Choice]) -> bool {
    let mut taken = vec![0; window.free.len()];
    let mut seats = BTreeSet::new();
    for (root, choice) in window.roots.iter().zip(choices) {
        for take in choice.iter().flat_map(|column| &root.columns[*column].takes) {
            match take {
                Take::Units { resource, amount } => taken[*resource] += amount,
                Take::Seat(seat) => _ = seats.insert(*seat),
            }
        }
    }
    seats.iter().flat_map(|seat| &window.seats[*seat].takes).for_each(|(resource, amount)| taken[*resource] += amount);
    taken.iter().zip(&window.free).all(|(taken, free)| taken <= free)
}

/// What choices are worth: the weights of the placed roots by band, the highest first, then the sum of the scores.
pub(crate) fn worth(window: &Window, choices: &[Choice]) -> (Vec<u64>, Score) {
    let bands: BTreeSet<Reverse<i64>> = window.roots.iter().map(|root| Reverse(root.band)).collect();
    let placed = || window.roots.iter().zip(choices).filter_map(|(root, choice)| Some((root, (*choice)?)));
    let weight = |band: i64| placed().filter(|(root, _)| root.band == band).map(|(root, _)| root.weight).sum();
    let mut score = Score::default();
    for (root, column) in placed() {
        score.iter_mut().zip(root.columns[column].score).for_each(|(sum, level)| *sum += level);
    }
    (bands.into_iter().map(|band| weight(band.0)).collect(), score)
}

/// Which rule of fairness these choices break, if any.
pub(crate) fn unfair(window: &Window, choices: &[Choice]) -> Option<String> {
    if !window.fair {
        return None;
    }
    for level in &window.roots {
        let counts = |root: &&Root| {
            (root.band, root.submitter) == (level.band, level.submitter) && root.priority >= level.priority
        };
        let before: u64 =
            window.roots.iter().filter(counts).filter(|root| root.in_turn.is_some()).map(|root| root.weight).sum();
        let with = window.roots.iter().zip(choices).filter(|(root, choice)| counts(root) && choice.is_some());
        let now: u64 = with.map(|(root, _)| root.weight).sum();
        if now < before {
            return Some(format!("{now} instead of {before} for {level:?}"));
        }
    }
    let lost = |(root, choice): &(&Root, &Choice)| root.pinned && root.in_turn.is_some() && choice.is_none();
    window.roots.iter().zip(choices).find(lost).map(|(root, _)| format!("passed over: {root:?}"))
}

/// The most that any fair placement is worth: by trying all of them.
pub(crate) fn brute_force(window: &Window) -> (Vec<u64>, Score) {
    let mut most = (Vec::new(), Score::default());
    let mut choices = vec![None; window.roots.len()];
    try_all(window, 0, &mut choices, &mut |choices| {
        if unfair(window, choices).is_none() {
            most = worth(window, choices).max(most.clone());
        }
    });
    most
}

fn try_all(window: &Window, root: usize, choices: &mut Vec<Choice>, with: &mut dyn FnMut(&[Choice])) {
    if root == choices.len() {
        return with(choices);
    }
    for choice in std::iter::once(None).chain((0..window.roots[root].columns.len()).map(Some)) {
        choices[root] = choice;
        if fits(window, choices) {
            try_all(window, root + 1, choices, with);
        }
    }
    choices[root] = None;
}
