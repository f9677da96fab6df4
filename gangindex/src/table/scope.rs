//! Whether an expression of an ad depends on the ad alone.

use std::collections::HashSet;

use classad::{Expr, Kind, Name, SCOPE_WORDS, is_pure};
use foldhash::fast::RandomState;
use matchmaker::Ports;
use smallvec::{SmallVec, smallvec};

/// Names that mean something else than an attribute, beside [`SCOPE_WORDS`], wherever they are not attributes.
const SPECIAL: [&str; 2] = ["currenttime", "members"];

/// How deep references are followed from one expression into the next.
const NESTING_MAX: usize = 24;

/// How many nodes are looked at for one expression, those of the expressions that it refers to included.
pub(crate) const CLOSURE_MAX: usize = 2_000;

/// Whether a name means something else than an attribute.
pub(crate) fn is_special(name: &Name) -> bool {
    SCOPE_WORDS.iter().chain(&SPECIAL).any(|special| name == special)
}

/// Whether the value of an expression of an ad depends on the ad's own attributes alone: on no label, no partner, no time
/// and no chance. `port` is the port in whose attributes it stands; none for the ad's own. False, too, if that takes more
/// than [`CLOSURE_MAX`] nodes to find out. The number of nodes that were looked at is subtracted from `work`.
pub(crate) fn closed(expr: &Expr, ports: &Ports, port: Option<usize>, work: &mut usize) -> bool {
    let nodes = CLOSURE_MAX.min(*work);
    let mut closure = Closure { ports, known: HashSet::default(), nodes };
    let closed = closure.is_closed(expr, port, 0).is_some();
    *work -= nodes - closure.nodes;
    closed
}

/// The expressions reachable from one expression by names. A part that is not closed gives none.
struct Closure<'p> {
    ports: &'p Ports,
    /// Expressions that are closed, by identity and port: each is followed once, however many names lead to it.
    known: HashSet<(usize, Option<usize>), RandomState>,
    /// How many more nodes may be looked at.
    nodes: usize,
}

impl Closure<'_> {
    fn is_closed(&mut self, expr: &Expr, port: Option<usize>, nesting: usize) -> Option<()> {
        // A circle of names ends here, too: its values depend on where evaluation enters it.
        if nesting > NESTING_MAX {
            return None;
        }
        let mut pending: SmallVec<[&Expr; 8]> = smallvec![expr];
        while let Some(expr) = pending.pop() {
            self.nodes = self.nodes.checked_sub(1)?;
            match expr.kind() {
                Kind::Attribute { absolute: true, .. } | Kind::Select { .. } | Kind::Ad(_) => return None,
                Kind::Attribute { name, .. } if is_special(name) => return None,
                Kind::Attribute { name, .. } => self.is_closed_name(name, port, nesting)?,
                // What is not found in a nested ad is looked for around it; a selection can lead anywhere.
                Kind::Subscript { index, .. } if index.as_literal().is_none() => return None,
                Kind::Call(call) if !is_pure(call) => return None,
                Kind::Call(call) => self.add(&call.arguments, &mut pending)?,
                Kind::List(items) => self.add(items, &mut pending)?,
                _ => pending.extend(expr.children()),
            }
        }
        Some(())
    }

    /// The parts of a long list are not even put together if there are too many.
    fn add<'e>(&self, parts: &'e [Expr], pending: &mut SmallVec<[&'e Expr; 8]>) -> Option<()> {
        (parts.len() <= self.nodes).then(|| pending.extend(parts))
    }

    fn is_closed_name(&mut self, name: &Name, port: Option<usize>, nesting: usize) -> Option<()> {
        let ports = self.ports;
        let own = port.filter(|_| !ports.implicit);
        let in_port = own.and_then(|port| ports.list.get(port)?.attributes.get_name(name));
        if let Some(expr) = in_port {
            return self.follow(expr, own, nesting);
        }
        if own.is_some() {
            // Labels are seen from their ports on only; seen from anywhere they are no attribute of the ad's own.
            self.nodes = self.nodes.checked_sub(ports.list.len())?;
            if ports.list.iter().any(|port| port.label == *name) {
                return None;
            }
        }
        match ports.body.get_name(name) {
            Some(expr) => self.follow(expr, None, nesting),
            // In an ad with an implicit port the partner is asked for what is not there.
            None => (!ports.implicit).then_some(()),
        }
    }

    fn follow(&mut self, expr: &Expr, port: Option<usize>, nesting: usize) -> Option<()> {
        if matches!(expr.kind(), Kind::Literal(_)) || self.known.contains(&(expr.id(), port)) {
            return Some(());
        }
        self.is_closed(expr, port, nesting + 1)?;
        self.known.insert((expr.id(), port));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use classad::{Dialect, parse_ad, parse_expr};
    use proptest::prelude::*;

    /// Whether `expr` is closed in an ad, and how many nodes were looked at to find out.
    fn followed(ad: &str, expr: &str) -> (bool, usize) {
        let ports = Ports::of(&parse_ad(ad, Dialect::Gangmatch).unwrap());
        let mut work = usize::MAX;
        let closed = closed(&parse_expr(expr, Dialect::Gangmatch).unwrap(), &ports, None, &mut work);
        (closed, usize::MAX - work)
    }

    #[test]
    fn a_name_is_followed_once_however_many_lead_to_it() {
        let level = |level: usize| format!("s{level} = {{s{0}, s{0}, s{0}, s{0}}}; ", level - 1);
        let ad = |levels: usize| format!("[ s0 = 1; {} ]", (1..=levels).map(level).collect::<String>());
        assert_eq!(followed(&ad(20), "s20"), (true, 1 + 20 * 5));
        let (closed, nodes) = followed(&ad(39), "s39");
        assert!(!closed && nodes < 200, "so deep references are not followed: {nodes}");
    }

    #[test]
    fn circles_and_long_lists_are_left_to_the_evaluator() {
        for (ad, expr) in [("[ a = {a, a, a, a} ]", "a"), ("[ a = {b, b, b}; b = {a, a, a} ]", "{a, b, a, b}")] {
            let (closed, nodes) = followed(ad, expr);
            assert!(!closed && nodes < 200, "{ad}: {nodes}");
        }
        let list = vec!["1"; CLOSURE_MAX].join(", ");
        let (closed, nodes) = followed(&format!("[ a = {{ {list} }} ]"), "a");
        assert!(!closed && nodes < 10, "{nodes}");
    }

    proptest! {
        /// Any graph of names: the work is bounded, and where no name leads back, by the nodes that there are.
        #[test]
        fn no_graph_of_names_takes_more_than_its_nodes(
            edges in prop::collection::vec(prop::collection::vec(0..40_usize, 0..6), 1..40), back in any::<bool>(),
        ) {
            let mut nodes = 1;
            let mut ad = String::from("[ ");
            for (number, targets) in edges.iter().enumerate() {
                let targets = targets.iter().filter(|target| back || **target > number).filter(|target| **target < edges.len());
                let names: Vec<String> = targets.map(|target| format!("a{target}")).collect();
                nodes += 1 + names.len();
                ad.push_str(&format!("a{number} = {{ {} }}; ", names.join(", ")));
            }
            let (_, looked_at) = followed(&(ad + "]"), "a0");
            prop_assert!(looked_at <= CLOSURE_MAX);
            prop_assert!(back || looked_at <= nodes, "{} of {}", looked_at, nodes);
        }
    }
}
