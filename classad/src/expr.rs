//! The syntax tree: the same tree is parsed, evaluated, analysed and printed.

mod equality;
pub(crate) mod paths;

use std::fmt;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};
use triomphe::Arc as Counted;

use crate::ad::Ad;
use crate::cache::CallCache;
use crate::diagnostic::Span;
use crate::name::Name;
use crate::value::Value;

/// An expression with its place in the source.
///
/// Cloning is O(1). Equality ignores spans. Dropping, comparing and printing use no stack in proportion to the depth of
/// the tree, so that a sum of a million terms is only slow.
#[derive(Clone)]
// Counted without weak references: a pool consists of nodes.
pub struct Expr(Counted<Node>);

struct Node {
    kind: Kind,
    /// The span in half the memory. Places beyond 4 GiB count as the end of the text.
    start: u32,
    end: u32,
}

// A pool consists of nodes: with its count, a node fits the 64 bytes that an allocator provides.
const _: () = assert!(size_of::<Node>() <= 40, "a node must stay small");

/// The direct parts of an expression. Up to three need no allocation.
pub type Children<'e> = SmallVec<[&'e Expr; 3]>;

/// What an expression is.
#[derive(Clone)]
pub enum Kind {
    /// `7`, `"text"`, `undefined`, `absTime("2004-01-01")`. INVARIANT: never a list or an ad value.
    Literal(Value),
    /// `x`, or `.x` where the lookup starts at the outermost ad.
    Attribute {
        /// The name looked up.
        name: Name,
        /// Whether a dot stands before it.
        absolute: bool,
    },
    /// `base.name`.
    Select {
        /// What the attribute is selected from.
        base: Expr,
        /// The attribute.
        name: Name,
    },
    /// `base[index]`.
    Subscript {
        /// A list or an ad.
        base: Expr,
        /// A position or an attribute's name.
        index: Expr,
    },
    /// `-x`.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// Its operand.
        operand: Expr,
    },
    /// `x + y`.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Its left operand.
        left: Expr,
        /// Its right operand.
        right: Expr,
    },
    /// `condition ? then : otherwise`.
    Conditional {
        /// Decides.
        condition: Expr,
        /// The value if the condition is true.
        then: Expr,
        /// The value if the condition is false.
        otherwise: Expr,
    },
    /// `value ?: fallback`.
    Elvis {
        /// The value unless it is undefined.
        value: Expr,
        /// The value if the other is undefined.
        fallback: Expr,
    },
    /// `size(x)`.
    Call(Box<Call>),
    /// `{1, 2}`.
    List(Arc<[Expr]>),
    /// `[a = 1]`.
    Ad(Ad),
    /// `(x)`; kept, because the tree prints as it was written.
    Parenthesized(Expr),
}

/// A call of a built-in function.
#[derive(Clone)]
pub struct Call {
    /// The function as it was written.
    pub function: Name,
    /// The arguments.
    pub arguments: Arc<[Expr]>,
    /// Index of the function in the table of built-in functions, if there is such a function.
    pub(crate) builtin: Option<usize>,
    /// Whether the call stands for its argument: HTCondor prints `relTime("1:00")` as a literal, but its value is the real 60.0.
    pub(crate) is_literal: bool,
    /// Data of the function that outlives one evaluation, such as a compiled pattern.
    pub(crate) cache: CallCache,
}

impl Call {
    /// A literal that HTCondor prints as one, but whose value has another type: `relTime("1:00")` is the real 60.0 there.
    pub(crate) fn of_literal(literal: Expr) -> Self {
        Self {
            function: Name::new("relTime"),
            arguments: [literal].into(),
            builtin: None,
            is_literal: true,
            cache: CallCache::default(),
        }
    }

    /// The literal that is printed instead of the call.
    pub(crate) fn as_literal(&self) -> Option<&Expr> {
        self.arguments.first().filter(|_| self.is_literal)
    }
}

/// An operator with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-x`
    Minus,
    /// `+x`
    Plus,
    /// `~x`
    BitNot,
    /// `!x`
    Not,
}

impl UnaryOp {
    /// The operator as it is written.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Minus => "-",
            Self::Plus => "+",
            Self::BitNot => "~",
            Self::Not => "!",
        }
    }
}

/// An operator with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `x || y`
    Or,
    /// `x && y`
    And,
    /// `x | y`
    BitOr,
    /// `x ^ y`
    BitXor,
    /// `x & y`
    BitAnd,
    /// `x == y`
    Equal,
    /// `x != y`
    NotEqual,
    /// `x is y`, also `=?=`
    Is,
    /// `x isnt y`, also `=!=`
    Isnt,
    /// `x < y`
    Less,
    /// `x <= y`
    LessEqual,
    /// `x > y`
    Greater,
    /// `x >= y`
    GreaterEqual,
    /// `x << y`
    ShiftLeft,
    /// `x >> y`
    ShiftRight,
    /// `x >>> y`
    ShiftRightUnsigned,
    /// `x + y`
    Add,
    /// `x - y`
    Subtract,
    /// `x * y`
    Multiply,
    /// `x / y`
    Divide,
    /// `x % y`
    Remainder,
}

impl BinaryOp {
    /// Whether this is `<<`, `>>` or `>>>`.
    pub(crate) fn shifts(self) -> bool {
        matches!(self, Self::ShiftLeft | Self::ShiftRight | Self::ShiftRightUnsigned)
    }

    /// The comparison that says the same with its sides exchanged, such as `>` for `<`; the operator itself if it does not say which side is less.
    #[must_use]
    pub fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
            other => other,
        }
    }

    /// The operator as the printer writes it.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Or => "||",
            Self::And => "&&",
            Self::BitOr => "|",
            Self::BitXor => "^",
            Self::BitAnd => "&",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Is => "is",
            Self::Isnt => "isnt",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
            Self::ShiftRightUnsigned => ">>>",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }

    /// Whether this is `==`, `!=`, `<`, `<=`, `>` or `>=`.
    pub(crate) fn compares(self) -> bool {
        use BinaryOp::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
        matches!(self, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual)
    }

    /// Whether the value can only be true, false, undefined or error.
    #[must_use]
    pub fn gives_truth(self) -> bool {
        self.compares() || matches!(self, Self::And | Self::Or | Self::Is | Self::Isnt)
    }

    /// How tightly the operator binds; all of them group to the left.
    #[must_use]
    pub fn precedence(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::BitOr => 3,
            Self::BitXor => 4,
            Self::BitAnd => 5,
            Self::Equal | Self::NotEqual | Self::Is | Self::Isnt => 6,
            Self::Less | Self::LessEqual | Self::Greater | Self::GreaterEqual => 7,
            Self::ShiftLeft | Self::ShiftRight | Self::ShiftRightUnsigned => 8,
            Self::Add | Self::Subtract => 9,
            Self::Multiply | Self::Divide | Self::Remainder => 10,
        }
    }
}

impl Expr {
    /// The expression `kind` found at `span`.
    #[must_use]
    pub fn new(kind: Kind, span: Span) -> Self {
        let narrow = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        Self(Counted::new(Node { kind, start: narrow(span.start), end: narrow(span.end) }))
    }

    /// An expression that evaluates to `value`; lists and ads become list and ad expressions.
    #[must_use]
    pub fn literal(value: Value) -> Self {
        match value {
            Value::List(items) => Self::list(items.iter().cloned().map(Self::literal).collect()),
            Value::Ad(attributes) => {
                Self::ad(attributes.iter().map(|(name, value)| (name.clone(), Self::literal(value.clone()))).collect())
            }
            scalar => Self::new(Kind::Literal(scalar), Span::default()),
        }
    }

    /// The bare name `name`.
    #[must_use]
    pub fn attribute(name: Name) -> Self {
        Self::new(Kind::Attribute { name, absolute: false }, Span::default())
    }

    /// `{items}`.
    #[must_use]
    pub fn list(items: Vec<Expr>) -> Self {
        Self::new(Kind::List(items.into()), Span::default())
    }

    /// `[ad]`.
    #[must_use]
    pub fn ad(ad: Ad) -> Self {
        Self::new(Kind::Ad(ad), Span::default())
    }

    /// `op operand`.
    #[must_use]
    pub fn unary(op: UnaryOp, operand: Expr) -> Self {
        Self::new(Kind::Unary { op, operand }, Span::default())
    }

    /// `left op right`.
    #[must_use]
    pub fn binary(op: BinaryOp, left: Expr, right: Expr) -> Self {
        Self::new(Kind::Binary { op, left, right }, Span::default())
    }

    /// `base[index]`.
    #[must_use]
    pub fn subscript(base: Expr, index: Expr) -> Self {
        Self::new(Kind::Subscript { base, index }, Span::default())
    }

    /// What the expression is.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.0.kind
    }

    /// Where it stands in the text it was parsed from.
    #[must_use]
    pub fn span(&self) -> Span {
        let wide = |place: u32| match place {
            u32::MAX => usize::MAX,
            place => usize::try_from(place).unwrap_or(usize::MAX),
        };
        Span { start: wide(self.0.start), end: wide(self.0.end) }
    }

    /// The expression inside any parentheses around it.
    #[must_use]
    pub fn unparenthesized(&self) -> &Expr {
        let mut inner = self;
        while let Kind::Parenthesized(expr) = inner.kind() {
            inner = expr;
        }
        inner
    }

    /// The elements of a list, seen through parentheses, unevaluated.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Expr]> {
        match self.unparenthesized().kind() {
            Kind::List(items) => Some(items),
            _ => None,
        }
    }

    /// The ad, seen through parentheses, unevaluated.
    #[must_use]
    pub fn as_ad(&self) -> Option<&Ad> {
        match self.unparenthesized().kind() {
            Kind::Ad(ad) => Some(ad),
            _ => None,
        }
    }

    /// The value of a literal, seen through parentheses.
    #[must_use]
    pub fn as_literal(&self) -> Option<&Value> {
        match self.unparenthesized().kind() {
            Kind::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// The name of a bare attribute reference, seen through parentheses.
    #[must_use]
    pub fn as_attribute(&self) -> Option<&Name> {
        match self.unparenthesized().kind() {
            Kind::Attribute { name, absolute: false } => Some(name),
            _ => None,
        }
    }

    /// The direct parts of the expression, in source order. The attributes of an ad are its parts.
    #[must_use]
    pub fn children(&self) -> Children<'_> {
        match self.kind() {
            Kind::Literal(_) | Kind::Attribute { .. } => Children::new(),
            Kind::Select { base, .. } => smallvec![base],
            Kind::Subscript { base, index } => smallvec![base, index],
            Kind::Unary { operand, .. } => smallvec![operand],
            Kind::Binary { left, right, .. } => smallvec![left, right],
            Kind::Conditional { condition, then, otherwise } => smallvec![condition, then, otherwise],
            Kind::Elvis { value, fallback } => smallvec![value, fallback],
            Kind::Call(call) => call.arguments.iter().collect(),
            Kind::List(items) => items.iter().collect(),
            Kind::Ad(ad) => ad.iter().map(|(_, expr)| expr).collect(),
            Kind::Parenthesized(inner) => smallvec![inner],
        }
    }

    /// The expression with these parts, as many as [`Expr::children`] gives, in the place of its own.
    pub(crate) fn with_children(&self, parts: Vec<Expr>) -> Expr {
        let mut parts = parts.into_iter();
        let mut next = || parts.next().unwrap_or_else(|| Expr::literal(Value::Undefined));
        let kind = match self.kind() {
            Kind::Literal(_) | Kind::Attribute { .. } => return self.clone(),
            Kind::Select { name, .. } => Kind::Select { base: next(), name: name.clone() },
            Kind::Subscript { .. } => Kind::Subscript { base: next(), index: next() },
            Kind::Unary { op, .. } => Kind::Unary { op: *op, operand: next() },
            Kind::Binary { op, .. } => Kind::Binary { op: *op, left: next(), right: next() },
            Kind::Conditional { .. } => Kind::Conditional { condition: next(), then: next(), otherwise: next() },
            Kind::Elvis { .. } => Kind::Elvis { value: next(), fallback: next() },
            Kind::Call(call) => {
                let (arguments, cache) = (parts.collect(), call.cache.renewed());
                Kind::Call(Box::new(Call { arguments, cache, ..Call::clone(call) }))
            }
            Kind::List(_) => Kind::List(parts.collect()),
            Kind::Ad(ad) => Kind::Ad(Ad::of_shape(ad.shape(), parts)),
            Kind::Parenthesized(_) => Kind::Parenthesized(next()),
        };
        Expr::new(kind, self.span())
    }

    /// The number of nodes of the tree, a part that occurs twice counted twice; `most + 1` if there are more than `most`.
    #[must_use]
    pub fn nodes_within(&self, most: usize) -> usize {
        let mut nodes = 0;
        let mut pending: Children<'_> = smallvec![self];
        while let Some(expr) = pending.pop() {
            nodes += 1;
            if nodes > most {
                break;
            }
            match expr.kind() {
                Kind::List(items) if items.len() > most => return most.saturating_add(1),
                _ => pending.extend(expr.children()),
            }
        }
        nodes
    }

    /// A number that identifies the node among all that are live. Copies of an expression share it.
    #[must_use]
    pub fn id(&self) -> usize {
        Counted::as_ptr(&self.0) as usize
    }
}

impl Kind {
    /// Moves the children out, so that they are dropped in a loop and not by recursion.
    fn take_children(&mut self, into: &mut Vec<Expr>) {
        match std::mem::replace(self, Kind::Literal(Value::Undefined)) {
            Kind::Literal(_) | Kind::Attribute { .. } | Kind::Ad(_) => {}
            Kind::Select { base, .. } => into.push(base),
            Kind::Subscript { base, index } => into.extend([base, index]),
            Kind::Unary { operand, .. } => into.push(operand),
            Kind::Binary { left, right, .. } => into.extend([left, right]),
            Kind::Conditional { condition, then, otherwise } => into.extend([condition, then, otherwise]),
            Kind::Elvis { value, fallback } => into.extend([value, fallback]),
            Kind::Call(call) => into.extend(call.arguments.iter().cloned()),
            Kind::List(items) => into.extend(items.iter().cloned()),
            Kind::Parenthesized(inner) => into.push(inner),
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if matches!(self.kind, Kind::Literal(_) | Kind::Attribute { .. } | Kind::Ad(_)) {
            return;
        }
        let mut pending = Vec::new();
        self.kind.take_children(&mut pending);
        while let Some(expr) = pending.pop() {
            if let Some(mut node) = Counted::into_unique(expr.0) {
                node.kind.take_children(&mut pending);
            }
        }
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{self}`")
    }
}
