//! An expression in its place into what is left of it for a candidate.

use super::Node;
use crate::eval::arena::Arena;
use crate::eval::limits::{Context, Exhausted};
use crate::eval::logic::Truth;
use crate::eval::machine::{Machine, ScopeId};
use crate::eval::scope::{Env, FrameId, PARTNER};
use crate::expr::{BinaryOp, Expr, Kind};
use crate::name::Name;
use crate::partial::is_open;
use crate::value::Value;

/// What is left, and the candidate's attributes in it.
type Compiled = (Node, Vec<Name>);

/// Steps that it takes to compare a text of the candidate's.
const TEXT_STEPS: u64 = 64;

const UNCLEAR: Compiled = (Node::Unclear, Vec::new());

/// For a candidate bound as `label` in the frame.
pub(super) fn labelled(expr: &Expr, env: &mut Env<'_>, at: FrameId, label: &Name, context: &Context) -> Compiled {
    // Attributes come before labels.
    let hidden =
        env.get(at).is_none_or(|frame| frame.definition(label).is_some() || frame.ad.get_name(label).is_some());
    if hidden {
        return UNCLEAR;
    }
    env.leave_open(at, label);
    let compiled = Compiler::new(env, at, Candidate::Label(label), context).whole(expr);
    env.undefine(at, label);
    compiled
}

/// For a candidate that is the frame's partner.
pub(super) fn partnered(expr: &Expr, env: &mut Env<'_>, at: FrameId, context: &Context) -> Compiled {
    // Whatever else is called so comes before the partner, or may come after.
    if env.ad(at).is_none() || env.parent(at).is_some() || PARTNER.iter().any(|name| env.names(at, name)) {
        return UNCLEAR;
    }
    let (mark, fallback) = (env.mark(), env.fallback(at));
    env.leave_partner_open(at);
    let compiled = Compiler::new(env, at, Candidate::Partner, context).whole(expr);
    for name in &*PARTNER {
        env.undefine(at, name);
    }
    env.restore_fallback(at, fallback);
    env.reset(mark);
    compiled
}

/// How an expression calls the candidate.
#[derive(Clone, Copy)]
enum Candidate<'c> {
    Label(&'c Name),
    /// By these names, and by none at all.
    Partner,
}

struct Compiler<'c> {
    env: &'c Env<'c>,
    at: FrameId,
    candidate: Candidate<'c>,
    context: &'c Context,
    names: Vec<Name>,
    /// How many steps evaluation takes at most.
    steps: u64,
    /// How many steps may still be taken to find out what is known.
    work: u64,
}

impl<'c> Compiler<'c> {
    fn new(env: &'c Env<'c>, at: FrameId, candidate: Candidate<'c>, context: &'c Context) -> Self {
        Self { env, at, candidate, context, names: Vec::new(), steps: 0, work: context.limits.fuel }
    }

    fn whole(mut self, expr: &Expr) -> Compiled {
        let node = self.node(expr, 0);
        // What might run out of fuel must run out for every candidate for which evaluation does.
        if self.steps > self.context.limits.fuel { UNCLEAR } else { (node, self.names) }
    }

    /// What is left of a part that stands below `depth` operators.
    fn node(&mut self, expr: &Expr, depth: usize) -> Node {
        if let Kind::Literal(value) = expr.kind() {
            self.steps += 1;
            return Node::Known(value.clone());
        }
        match self.attempt(expr, depth) {
            Ok((value, steps)) => {
                self.steps = self.steps.saturating_add(steps);
                value.map_or(Node::Unclear, Node::Known)
            }
            Err(stop) if is_open(stop) => self.rest(expr, depth),
            Err(_) => Node::Unclear,
        }
    }

    /// The value, if it depends on no candidate, with the steps that it took. Lists and ads are for full evaluation.
    fn attempt(&mut self, expr: &Expr, depth: usize) -> Result<(Option<Value>, u64), Exhausted> {
        let (arena, mut context, mut spent) = (Arena::default(), *self.context, 0);
        context.limits.fuel = self.work;
        let outcome = Machine::new(self.env, &context, &arena).run(|machine| {
            for _ in 0..depth {
                machine.enter()?;
            }
            let value = machine.eval(expr, ScopeId(self.at.index()));
            spent = machine.spent();
            Ok(value?.to_scalar())
        });
        self.work = self.work.saturating_sub(spent);
        outcome.map(|value| (value, spent))
    }

    /// Counts the parentheses around an expression.
    fn open(&mut self, expr: &Expr) {
        let mut inner = expr;
        while let Kind::Parenthesized(expr) = inner.kind() {
            // They may be looked through twice.
            self.steps = self.steps.saturating_add(2);
            inner = expr;
        }
    }

    /// What is left of a part that depends on the candidate.
    fn rest(&mut self, expr: &Expr, depth: usize) -> Node {
        self.steps += 1;
        self.open(expr);
        // One level for the operator, one for the label in a selection.
        if depth + 2 > self.context.limits.depth {
            return Node::Unclear;
        }
        let below = depth + 1;
        match expr.unparenthesized().kind() {
            Kind::Attribute { name, absolute: false } => match self.candidate {
                // Its value is open and it is no attribute of this ad: so it is the partner's.
                Candidate::Partner if !PARTNER.contains(name) && !self.env.names(self.at, name) => self.theirs(name),
                _ => Node::Unclear,
            },
            Kind::Select { base, name } if self.is_candidate(base) => self.theirs(name),
            Kind::Binary { op: op @ (BinaryOp::And | BinaryOp::Or), .. } => self.chain(*op, expr, depth),
            Kind::Binary { op, left, right } => {
                let (left, right) = (self.node(left, below), self.node(right, below));
                binary(*op, left, right)
            }
            Kind::Unary { op, operand } => Node::Unary { op: *op, operand: Box::new(self.node(operand, below)) },
            Kind::Conditional { condition, then, otherwise } => {
                Node::Conditional(Box::new([condition, then, otherwise].map(|part| self.node(part, below))))
            }
            Kind::Elvis { value, fallback } => {
                Node::Elvis(Box::new([value, fallback].map(|part| self.node(part, below))))
            }
            _ => Node::Unclear,
        }
    }

    /// `a && b && c`: the tree leans to the left, and the leftmost operand stands deepest.
    fn chain(&mut self, op: BinaryOp, expr: &Expr, depth: usize) -> Node {
        let mut rights = Vec::new();
        let (mut first, mut below) = (expr, depth);
        while let Kind::Binary { op: own, left, right } = first.unparenthesized().kind()
            && *own == op
        {
            below += 1;
            self.open(left);
            rights.push((right, below));
            first = left;
        }
        if below > self.context.limits.depth {
            return Node::Unclear;
        }
        self.steps = self.steps.saturating_add(rights.len().try_into().unwrap_or(u64::MAX));
        let mut operands = vec![self.node(first, below)];
        for (right, below) in rights.into_iter().rev() {
            operands.push(self.node(right, below));
        }
        Node::Chain { absorbing: Truth::from(op == BinaryOp::Or), operands }
    }

    fn is_candidate(&self, expr: &Expr) -> bool {
        match (expr.unparenthesized().kind(), self.candidate) {
            (Kind::Attribute { name, absolute: false }, Candidate::Label(label)) => name == label,
            (Kind::Attribute { name, absolute: false }, Candidate::Partner) => PARTNER.contains(name),
            _ => false,
        }
    }

    /// The candidate's attribute. Names that every ad has are for full evaluation, and so are partners of partners.
    fn theirs(&mut self, name: &Name) -> Node {
        // The label and the literal found, and comparing as long a text as is looked at.
        self.steps += 2 + TEXT_STEPS;
        if name.builtin().is_some() || PARTNER.contains(name) {
            return Node::Unclear;
        }
        let known = self.names.iter().position(|own| own == name);
        Node::Theirs(known.unwrap_or_else(|| {
            self.names.push(name.clone());
            self.names.len() - 1
        }))
    }
}

/// An operator that needs both sides.
fn binary(op: BinaryOp, left: Node, right: Node) -> Node {
    let mirrored = match op {
        BinaryOp::Equal | BinaryOp::NotEqual => Some(op),
        BinaryOp::Less => Some(BinaryOp::Greater),
        BinaryOp::LessEqual => Some(BinaryOp::GreaterEqual),
        BinaryOp::Greater => Some(BinaryOp::Less),
        BinaryOp::GreaterEqual => Some(BinaryOp::LessEqual),
        _ => None,
    };
    match (left, right, mirrored) {
        (Node::Theirs(theirs), Node::Known(value), Some(_)) => Node::Test { op, theirs, value },
        (Node::Known(value), Node::Theirs(theirs), Some(op)) => Node::Test { op, theirs, value },
        (left, right, _) => Node::Binary { op, operands: Box::new([left, right]) },
    }
}
