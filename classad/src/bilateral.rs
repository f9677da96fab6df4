//! The bilateral match of two ads, as HTCondor evaluates it.

use std::sync::LazyLock;

use crate::ad::Ad;
use crate::dialect::Dialect;
use crate::eval::arena::Arena;
use crate::eval::evaluator::Evaluator;
use crate::eval::lazy::Lazy;
use crate::eval::limits::{Context, Exhausted};
use crate::eval::scope::{Env, FrameId, ScopeId};
use crate::name::Name;
use crate::text::parse_ad;
use crate::value::Value;

/// The `Requirements` and `Rank` of two ads, each evaluated against the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Bilateral {
    /// The left ad's `Requirements`.
    pub left_requirements: Result<Value, Exhausted>,
    /// The right ad's `Requirements`.
    pub right_requirements: Result<Value, Exhausted>,
    /// The left ad's `Rank` of the right one.
    pub left_rank: Result<Value, Exhausted>,
    /// The right ad's `Rank` of the left one.
    pub right_rank: Result<Value, Exhausted>,
}

impl Bilateral {
    /// Whether the left ad accepts the right one.
    #[must_use]
    pub fn left_ok(&self) -> bool {
        self.left_requirements.as_ref().is_ok_and(Value::is_true)
    }

    /// Whether the right ad accepts the left one.
    #[must_use]
    pub fn right_ok(&self) -> bool {
        self.right_requirements.as_ref().is_ok_and(Value::is_true)
    }

    /// Whether both accept.
    #[must_use]
    pub fn is_match(&self) -> bool {
        self.left_ok() && self.right_ok()
    }
}

/// The ads that HTCondor puts around the two ads of a match: what `.x`, `LEFT` and similar names find there.
struct Surroundings {
    both: Ad,
    left: Ad,
    right: Ad,
    /// The names of the ads and of those around them.
    names: [Name; 4],
}

static SURROUNDINGS: LazyLock<Surroundings> = LazyLock::new(|| {
    let ad = |text: &str| parse_ad(text, Dialect::Htcondor).unwrap_or_default();
    Surroundings {
        both: ad("[ symmetricMatch = RIGHT.requirements && LEFT.requirements;
                    leftMatchesRight = RIGHT.requirements; rightMatchesLeft = LEFT.requirements;
                    leftRankValue = LEFT.rank; rightRankValue = RIGHT.rank ]"),
        left: ad("[ other = .RIGHT; target = .RIGHT; my = .LEFT; ad = .LEFT ]"),
        right: ad("[ other = .LEFT; target = .LEFT; my = .RIGHT; ad = .RIGHT ]"),
        names: ["LEFT", "RIGHT", "lCtx", "rCtx"].map(Name::new),
    }
});

/// Evaluates `Requirements` and `Rank` both ways, in the environment of HTCondor's matches: `other` and `target` mean the
/// other ad, and a bare name that an ad lacks is looked up in the other.
#[must_use]
pub fn bilateral(left: &Ad, right: &Ad, context: &Context) -> Bilateral {
    let (left_requirements, left_rank) = one_sided(left, right, context);
    let (right_requirements, right_rank) = one_sided(right, left, context);
    Bilateral { left_requirements, right_requirements, left_rank, right_rank }
}

type Answer = Result<Value, Exhausted>;

/// `Requirements` and `Rank` of `own`, evaluated against `other`. `own` is always `LEFT`, as when HTCondor tests a candidate.
fn one_sided(own: &Ad, other: &Ad, context: &Context) -> (Answer, Answer) {
    let around = &*SURROUNDINGS;
    let mut env = Env::new();
    let root = env.nested(&around.both, None);
    let own_around = env.nested(&around.left, Some(root));
    let other_around = env.nested(&around.right, Some(root));
    let own = env.nested(own, Some(own_around));
    let other = env.nested(other, Some(other_around));
    for (name, frame) in around.names.iter().zip([own, other, own_around, other_around]) {
        env.alias(root, name, frame);
    }
    env.set_fallback(own, other);
    env.set_fallback(other, own);
    (selected(&env, own, "Requirements", context), selected(&env, own, "Rank", context))
}

/// The value of `frame.name`.
fn selected(env: &Env<'_>, frame: FrameId, name: &str, context: &Context) -> Answer {
    let arena = Arena::default();
    Evaluator::new(env, context, &arena).run(|evaluator| {
        let value = evaluator.select(&Lazy::Ad(ScopeId(frame.index())), &Name::new(name))?;
        evaluator.force(&value)
    })
}
