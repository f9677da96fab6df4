//! Accounts and their stated parents into the tree that they make.

use super::*;

fn tree(parents: &[(&str, Option<&str>)]) -> Tree {
    let account =
        |(name, parent): &(&str, Option<&str>)| Account { parent: parent.map(str::to_owned), ..Account::named(name) };
    Tree::new(parents.iter().map(account))
}

/// The names of the accounts above an account, from the pool down.
fn above<'t>(tree: &'t Tree, name: &str) -> Vec<&'t str> {
    let mut path: Vec<&str> = tree
        .path(tree.account(name).unwrap())
        .iter()
        .skip(1)
        .filter_map(|node| tree.stated(*node))
        .map(|account| account.name.as_str())
        .collect();
    path.reverse();
    path
}

#[test]
fn accounts_hang_on_their_parents() {
    let tree = tree(&[("x", Some("g")), ("g", None), ("y", Some("x"))]);
    assert_eq!(above(&tree, "y"), ["g", "x"]);
    assert_eq!(above(&tree, "g"), [""; 0]);
    assert_eq!(tree.misplaced("y"), None);
    assert_eq!(tree.account("z"), None);
}

#[test]
fn an_account_without_its_parent_is_below_the_pool() {
    let tree = tree(&[("x", Some("gone")), ("y", Some("x"))]);
    assert_eq!(above(&tree, "x"), [""; 0]);
    assert_eq!(above(&tree, "y"), ["x"]);
    assert_eq!(tree.misplaced("x"), Some(Misplaced::ParentMissing));
}

#[test]
fn all_accounts_of_a_loop_are_below_the_pool_and_others_stay_below_it() {
    let tree = tree(&[
        ("a", Some("b")),
        ("b", Some("c")),
        ("c", Some("a")),
        ("below", Some("a")),
        ("Above", Some("below")),
        ("self", Some("self")),
    ]);
    for name in ["a", "b", "c", "self"] {
        assert_eq!(above(&tree, name), [""; 0], "{name}");
        assert_eq!(tree.misplaced(name), Some(Misplaced::ParentLoop), "{name}");
    }
    assert_eq!(above(&tree, "Above"), ["a", "below"]);
    assert_eq!((tree.misplaced("below"), tree.misplaced("Above")), (None, None));
}

#[test]
fn the_ninth_level_is_below_the_pool_with_all_below_it() {
    let names: Vec<String> = (1..=10).map(|level| format!("level{level:02}")).collect();
    let parents: Vec<(&str, Option<&str>)> = names
        .iter()
        .enumerate()
        .map(|(index, name)| (name.as_str(), index.checked_sub(1).map(|above| names[above].as_str())))
        .collect();
    for order in [parents.clone(), parents.into_iter().rev().collect()] {
        let tree = tree(&order);
        assert_eq!(above(&tree, "level08").len(), 7);
        assert_eq!(above(&tree, "level09"), [""; 0]);
        assert_eq!(above(&tree, "level10"), ["level09"]);
        assert_eq!(tree.misplaced("level09"), Some(Misplaced::TooDeep));
        assert_eq!((tree.misplaced("level08"), tree.misplaced("level10")), (None, None));
    }
}

#[test]
fn siblings_are_in_the_order_of_their_names_and_the_leaf_is_first() {
    let tree = tree(&[("g", None), ("b", Some("g")), ("B", Some("g")), ("a", Some("g"))]);
    let children = tree.children(tree.account("g").unwrap());
    let expected = ["B", "a", "b"].map(|name| tree.account(name).unwrap());
    assert_eq!(children[0], tree.leaf("g").unwrap());
    assert_eq!(children[1..], expected);
    assert!(children.is_sorted());
}

#[test]
fn an_account_without_accounts_below_it_is_its_own_leaf() {
    let tree = tree(&[("g", None), ("x", Some("g"))]);
    let (roots, node) = (|name| tree.leaf(name).unwrap(), |name| tree.account(name).unwrap());
    assert_eq!(roots("x"), node("x"));
    assert_eq!(tree.path(roots("x")), [node("x"), node("g"), Node::POOL]);
    assert_eq!(tree.path(roots("g")), [roots("g"), node("g"), Node::POOL]);
    assert_eq!(tree.path(node("g")), [node("g"), Node::POOL]);
}

#[test]
fn branches_are_the_children_of_the_lowest_common_account() {
    let tree = tree(&[("g", None), ("x", Some("g")), ("y", Some("g")), ("z", None)]);
    let (roots, node) = (|name| tree.leaf(name).unwrap(), |name| tree.account(name).unwrap());
    assert_eq!(tree.branches(roots("x"), roots("y")), Some((node("x"), node("y"))));
    assert_eq!(tree.branches(roots("x"), roots("z")), Some((node("g"), node("z"))));
    assert_eq!(tree.branches(roots("g"), roots("y")), Some((roots("g"), node("y"))));
    assert_eq!(tree.branches(roots("x"), roots("x")), None);
}

#[test]
fn usage_is_summed_up() {
    let own = |name: &str, parent: Option<&str>, usage| Account {
        parent: parent.map(str::to_owned),
        usage,
        ..Account::named(name)
    };
    let tree = Tree::new([own("g", None, 1), own("x", Some("g"), 10), own("y", Some("x"), 100), own("z", None, 1000)]);
    assert_eq!(tree.usage(tree.account("g").unwrap()), 111);
    assert_eq!(tree.usage(tree.leaf("g").unwrap()), 1);
    assert_eq!(tree.usage(Node::POOL), 1111);
}
