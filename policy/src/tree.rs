//! The tree of accounts.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use crate::account::Account;
use crate::amounts::Amount;

/// A node of the tree: the pool, an account, or the *leaf* of an account that has accounts below it. Gangs are held at leaves: an account
/// without accounts below it is its own leaf. Any other account has its leaf beside the accounts below it, for gangs of its own. Siblings
/// are in the order of their names; such a leaf has the empty name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node(usize);

impl Node {
    /// The root of the tree.
    pub const POOL: Node = Node(0);

    /// The node at a place in a list of all nodes.
    pub(crate) const fn at(place: usize) -> Node {
        Node(place)
    }

    /// Its place in a list of all nodes.
    pub(crate) fn place(self) -> usize {
        self.0
    }
}

/// Why an account is below the pool and not where its parent says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misplaced {
    /// There is no such parent.
    ParentMissing,
    /// It is its own ancestor.
    ParentLoop,
    /// It would be more than 8 levels below the pool.
    TooDeep,
}

/// How many levels of accounts there are at most.
const LEVELS: usize = 8;

/// The accounts as a tree, with the pool as its root. Most accounts have no accounts below them: each is its own leaf, so that it is one
/// node, and paths are one node shorter.
#[derive(Clone, Debug)]
pub struct Tree {
    accounts: Vec<Account>,
    misplaced: Vec<Option<Misplaced>>,
    nodes: Vec<Entry>,
    /// By account: some account is below it, so that its leaf is a node of its own.
    has_below: Vec<bool>,
    /// Each node before its children.
    top_down: Vec<Node>,
    /// Each node with all nodes above it, up to the pool.
    paths: Vec<Box<[Node]>>,
}

/// An account with its nodes.
pub(crate) struct Placed<'t> {
    pub(crate) stated: &'t Account,
    pub(crate) leaf: Node,
    pub(crate) node: Node,
}

#[derive(Clone, Debug)]
struct Entry {
    parent: Option<Node>,
    children: Vec<Node>,
    /// 1 to 1,000,000.
    weight: NonZeroU32,
    /// Of the whole subtree.
    usage: Amount,
}

impl Tree {
    /// The tree of accounts in any order. Of two with the same name the later one counts.
    #[must_use]
    pub fn new(accounts: impl IntoIterator<Item = Account>) -> Tree {
        let by_name: BTreeMap<String, Account> =
            accounts.into_iter().map(|account| (account.name.clone(), account)).collect();
        let accounts: Vec<Account> = by_name.into_values().collect();
        let (parents, misplaced) = Parents::of(&accounts);
        let mut has_below = vec![false; accounts.len()];
        for parent in parents.iter().flatten() {
            has_below.get_mut(*parent).into_iter().for_each(|has| *has = true);
        }
        let (nodes, top_down, paths) = <(Vec<_>, Vec<_>, Vec<_>)>::default();
        let mut tree = Tree { accounts, misplaced, nodes, has_below, top_down, paths };
        tree.link(&parents);
        let path = |node| std::iter::successors(Some(node), |node| tree.parent(*node)).collect();
        tree.paths = (0..tree.len()).map(Node).map(path).collect();
        tree.sum_usage();
        tree
    }

    /// Makes the nodes: first the pool, then the leaves of all accounts, then the accounts, both by name. So siblings are in order. Where
    /// an account is its own leaf, the place among the leaves stays empty: it has no parent.
    fn link(&mut self, parents: &[Option<usize>]) {
        let count = self.accounts.len();
        let account_node = |index: usize| Node(1 + count + index);
        let entry = |parent, weight: i64, usage| Entry {
            parent,
            children: Vec::new(),
            weight: u32::try_from(weight.min(1_000_000)).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN),
            usage,
        };
        self.nodes.push(entry(None, Account::WEIGHT, 0));
        let leaves = self.accounts.iter().zip(&self.has_below).enumerate();
        self.nodes.extend(leaves.map(|(index, (own, has_below))| {
            entry(has_below.then(|| account_node(index)), Account::WEIGHT, if *has_below { own.usage } else { 0 })
        }));
        let placed = self.accounts.iter().zip(parents).zip(&self.has_below);
        self.nodes.extend(placed.map(|((own, parent), has_below)| {
            entry(Some(parent.map_or(Node::POOL, account_node)), own.weight, if *has_below { 0 } else { own.usage })
        }));
        for node in (0..self.nodes.len()).map(Node) {
            if let Some(parent) = self.parent(node).and_then(|parent| self.nodes.get_mut(parent.0)) {
                parent.children.push(node);
            }
        }
        self.top_down.push(Node::POOL);
        for next in 0..self.nodes.len() {
            let children = self.top_down.get(next).map_or(&[][..], |node| self.children(*node)).to_vec();
            self.top_down.extend(children);
        }
    }

    fn sum_usage(&mut self) {
        for index in (0..self.top_down.len()).rev() {
            let Some(node) = self.top_down.get(index).copied() else { continue };
            let usage = self.usage(node);
            if let Some(parent) = self.parent(node).and_then(|parent| self.nodes.get_mut(parent.0)) {
                parent.usage += usage;
            }
        }
    }

    /// The accounts, by name.
    #[must_use]
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// The node of an account; absent if there is no such account.
    #[must_use]
    pub fn account(&self, name: &str) -> Option<Node> {
        self.index(name).map(|index| Node(1 + self.accounts.len() + index))
    }

    /// The node at which the gangs of an account are held; absent if there is no such account.
    #[must_use]
    pub fn leaf(&self, name: &str) -> Option<Node> {
        self.index(name).map(|index| self.leaf_at(index))
    }

    /// The leaf of the account at a place in the list.
    fn leaf_at(&self, index: usize) -> Node {
        if self.has_below(index) { Node(1 + index) } else { Node(1 + self.accounts.len() + index) }
    }

    fn has_below(&self, index: usize) -> bool {
        self.has_below.get(index).is_some_and(|has_below| *has_below)
    }

    /// The weight of an account among its siblings; 1 if there is no such account.
    #[must_use]
    pub fn weight_of(&self, name: &str) -> Amount {
        self.account(name).map_or(1, |node| self.weight(node).get().into())
    }

    /// Why an account is not where its parent says, if so.
    #[must_use]
    pub fn misplaced(&self, name: &str) -> Option<Misplaced> {
        self.misplaced.get(self.index(name)?).copied().flatten()
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.accounts.binary_search_by(|account| account.name.as_str().cmp(name)).ok()
    }

    /// The account of a node; absent for the pool, and for a leaf that is a node of its own.
    pub(crate) fn stated(&self, node: Node) -> Option<&Account> {
        node.0.checked_sub(1 + self.accounts.len()).and_then(|index| self.accounts.get(index))
    }

    /// The accounts with their nodes.
    pub(crate) fn placed(&self) -> impl Iterator<Item = Placed<'_>> {
        let count = self.accounts.len();
        self.accounts.iter().enumerate().map(move |(index, stated)| Placed {
            stated,
            leaf: self.leaf_at(index),
            node: Node(1 + count + index),
        })
    }

    /// The node above; absent for the pool.
    pub(crate) fn parent(&self, node: Node) -> Option<Node> {
        self.nodes.get(node.0).and_then(|entry| entry.parent)
    }

    /// The nodes below, by name.
    pub(crate) fn children(&self, node: Node) -> &[Node] {
        self.nodes.get(node.0).map_or(&[], |entry| &entry.children)
    }

    /// The weight of a node among its siblings.
    pub(crate) fn weight(&self, node: Node) -> NonZeroU32 {
        self.nodes.get(node.0).map_or(NonZeroU32::MIN, |entry| entry.weight)
    }

    /// The name of the account above one, as it counts; absent if that is the pool.
    #[must_use]
    pub fn parent_of(&self, name: &str) -> Option<&str> {
        let parent = self.parent(self.account(name)?)?;
        self.stated(parent).map(|account| account.name.as_str())
    }

    /// What was used in the subtree of a node, in micros.
    #[must_use]
    pub fn usage(&self, node: Node) -> Amount {
        self.nodes.get(node.0).map_or(0, |entry| entry.usage)
    }

    /// All nodes, each before those below it.
    pub(crate) fn top_down(&self) -> impl DoubleEndedIterator<Item = Node> {
        self.top_down.iter().copied()
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// A node and all above it, up to the pool.
    #[inline]
    pub(crate) fn path(&self, node: Node) -> &[Node] {
        self.paths.get(node.0).map_or(&[], |path| path)
    }

    /// The two children of the lowest common ancestor that are on the paths of two leaves; absent if these are the same.
    pub(crate) fn branches(&self, one: Node, other: Node) -> Option<(Node, Node)> {
        let down = |node| self.path(node).iter().rev().copied();
        down(one).zip(down(other)).find(|(one, other)| one != other)
    }
}

/// The parents of accounts while the tree is made.
struct Parents {
    of: Vec<Option<usize>>,
    misplaced: Vec<Option<Misplaced>>,
}

impl Parents {
    /// The parent of each account, by place, and why it is not the stated one.
    fn of(accounts: &[Account]) -> (Vec<Option<usize>>, Vec<Option<Misplaced>>) {
        let mut parents = Parents { of: Vec::new(), misplaced: vec![None; accounts.len()] };
        for (index, account) in accounts.iter().enumerate() {
            let found = account.parent.as_ref().map(|name| accounts.binary_search_by(|other| other.name.cmp(name)));
            parents.of.push(found.and_then(Result::ok));
            if found.is_some_and(|found| found.is_err()) {
                parents.cut(index, Misplaced::ParentMissing);
            }
        }
        parents.cut_loops();
        parents.cut_deep();
        (parents.of, parents.misplaced)
    }

    fn get(&self, index: usize) -> Option<usize> {
        self.of.get(index).copied().flatten()
    }

    fn cut(&mut self, index: usize, why: Misplaced) {
        if let (Some(parent), Some(misplaced)) = (self.of.get_mut(index), self.misplaced.get_mut(index)) {
            (*parent, *misplaced) = (None, Some(why));
        }
    }

    /// Puts every account of a loop below the pool; those below a loop stay below it.
    fn cut_loops(&mut self) {
        // In which walk an account was first visited: a walk that comes back to one of its own has found a loop.
        let mut walks: Vec<Option<usize>> = vec![None; self.of.len()];
        for start in 0..self.of.len() {
            let mut next = Some(start);
            while let Some(index) = next {
                match walks.get_mut(index) {
                    Some(walk @ None) => *walk = Some(start),
                    Some(Some(walk)) if *walk == start => {
                        self.cut_loop(index);
                        break;
                    }
                    _ => break,
                }
                next = self.get(index);
            }
        }
    }

    /// Follows the parents from an account of a loop, and cuts each, until it comes back to one that was cut.
    fn cut_loop(&mut self, start: usize) {
        let mut next = Some(start);
        while let Some(index) = next {
            next = self.get(index);
            if next.is_some() {
                self.cut(index, Misplaced::ParentLoop);
            }
        }
    }

    /// Puts every account that has too many above it below the pool, with what is below it. There are no loops any more.
    fn cut_deep(&mut self) {
        let mut levels: Vec<Option<usize>> = vec![None; self.of.len()];
        for start in 0..self.of.len() {
            let level = |levels: &[Option<usize>], index: usize| levels.get(index).copied().flatten();
            let mut path = vec![start];
            path.extend(std::iter::successors(self.get(start), |index| self.get(*index)));
            for index in path.into_iter().rev().filter(|index| level(&levels, *index).is_none()).collect::<Vec<_>>() {
                let mut own = self.get(index).and_then(|parent| level(&levels, parent)).unwrap_or(0) + 1;
                if own > LEVELS {
                    self.cut(index, Misplaced::TooDeep);
                    own = 1;
                }
                if let Some(level) = levels.get_mut(index) {
                    *level = Some(own);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
