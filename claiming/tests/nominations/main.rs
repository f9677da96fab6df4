//! All interleavings of nominations in a small world: a job that waits, two gangs that hold its seats, another job that would take a seat, and two
//! leaders, either of which may crash after each write, act on what it read before, or write late. What must hold holds in every state. Each rule of
//! the protocol is left out once, and that is found.
#![cfg(test)]

mod world;

use std::collections::HashMap;

use crate::world::{Rule, Setting, World};

/// All states that can be reached, and which follow from each, by their numbers.
struct States {
    all: Vec<World>,
    before: Vec<Vec<usize>>,
}

/// All states that can be reached; or what breaks.
fn explore(setting: &Setting) -> Result<States, &'static str> {
    let mut states = States { all: vec![World::begin(setting)], before: vec![Vec::new()] };
    let mut numbers = HashMap::from([(World::begin(setting), 0)]);
    let mut number = 0;
    while let Some(world) = states.all.get(number).cloned() {
        for next in world.next(setting) {
            if let Some(broken) = next.broken {
                return Err(broken);
            }
            let known = *numbers.entry(next).or_insert_with_key(|next| {
                states.all.push(next.clone());
                states.before.push(Vec::new());
                states.all.len() - 1
            });
            states.before[known].push(number);
        }
        number += 1;
    }
    Ok(states)
}

/// Whether from every state one can be reached in which nothing is held for anybody (K3).
fn ends(states: &States) -> Result<(), &'static str> {
    let mut reached: Vec<bool> = states.all.iter().map(World::is_at_rest).collect();
    let mut left: Vec<usize> = (0..reached.len()).filter(|number| reached[*number]).collect();
    while let Some(number) = left.pop() {
        for earlier in &states.before[number] {
            if !std::mem::replace(&mut reached[*earlier], true) {
                left.push(*earlier);
            }
        }
    }
    if reached.into_iter().all(|is_reached| is_reached) { Ok(()) } else { Err("K3: a nomination does not end") }
}

fn check(setting: &Setting) -> Result<usize, &'static str> {
    let states = explore(setting)?;
    ends(&states)?;
    Ok(states.all.len())
}

#[test]
fn small_worlds_hold() {
    for setting in Setting::all() {
        let states = check(&setting);
        println!("{setting:?}: {states:?} states");
        assert!(states.is_ok_and(|states| states > 100), "{setting:?}: {states:?}");
    }
}

#[test]
fn a_lone_leader_ends_no_gang_in_vain() {
    let lone = Setting { leaders: 1, victims: 2, expires: false, ..Setting::default() };
    let all = explore(&lone).unwrap().all;
    let in_vain = all.iter().filter(|world| world.is_at_rest() && world.has_ended_in_vain());
    assert_eq!(in_vain.count(), 0);
    let claimed = all.iter().filter(|world| world.is_claimed()).count();
    assert!(claimed > 0, "the job gets its gang");
}

#[test]
fn a_reservation_that_does_not_expire_is_claimed() {
    let lone = Setting { leaders: 1, victims: 2, expires: false, reserves: true, ..Setting::default() };
    let states = explore(&lone).unwrap();
    let has_ended = |world: &&World| world.is_at_rest() && world.has_ended_in_vain();
    let was_reserved = states.all.iter().filter(has_ended).filter(|world| world.was_stored());
    assert_eq!(was_reserved.count(), 0);
    assert!(states.all.iter().any(World::is_claimed), "the job gets its gang");
}

#[test]
fn each_rule_that_is_left_out_is_found() {
    for rule in Rule::ALL {
        let found =
            Setting::all().into_iter().find_map(|setting| check(&Setting { without: Some(rule), ..setting }).err());
        assert_eq!(found, Some(rule.breaks()), "{rule:?}");
    }
}
