//! The environment of an evaluation: frames, which may refer to each other freely.

use std::sync::{Arc, LazyLock};

use crate::ad::Ad;
use crate::expr::Expr;
use crate::name::Name;
use crate::value::Value;

/// An arena of frames: everything one evaluation can see.
///
/// A name is looked up in a frame among its defined values, the attributes of its ad, its labels, the built-in names
/// (`self`, `my`, `parent`, `toplevel`, `root`, `CurrentTime`), its partner's names (`other`, `target`), then in the same
/// way in the frame's parent, and at last in the partner itself. A selection `view.x` does the same without labels and
/// without the partner: labels are private.
///
/// ```
/// use classad::{Context, Dialect, Env, Name, Value, eval_attribute, parse_ad};
///
/// let job = parse_ad("[ Memory = 2; Rank = cpu.Speed * 2 ]", Dialect::Gangmatch)?;
/// let machine = parse_ad("[ Speed = 21; cpu = 5 ]", Dialect::Gangmatch)?;
/// let mut env = Env::new();
/// let machine = env.frame(&machine, None);
/// let job = env.frame(&job, None);
/// env.bind(job, &Name::new("cpu"), machine);
/// assert_eq!(eval_attribute(&env, job, "Rank", &Context::default())?, Value::Integer(42));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Env<'a> {
    /// The first `live` are in use. The others keep the memory of their labels: a search adds and removes frames all the time.
    frames: Vec<Frame<'a>>,
    live: usize,
}

/// The names of the partner.
pub(crate) static PARTNER: LazyLock<[Name; 2]> = LazyLock::new(|| ["other", "target"].map(Name::new));

/// A frame of an [`Env`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameId(u32);

/// A scope of an evaluation: the frames of the environment first, then ads found on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ScopeId(pub(crate) usize);

/// How many frames there were; see [`Env::mark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(usize);

/// What one ad, or one port of an ad, sees.
#[derive(Clone, Debug)]
pub(crate) struct Frame<'a> {
    /// The ad, or the attributes of the port.
    pub(crate) ad: &'a Ad,
    /// The frame around it.
    pub(crate) parent: Option<FrameId>,
    defined: Vec<(Name, Expr)>,
    labels: Vec<(Name, Labelled)>,
    /// Names for other frames that selections see too.
    aliases: Vec<(Name, FrameId)>,
    /// The frame in which bare names are resolved that are found nowhere else.
    pub(crate) fallback: Option<FrameId>,
    seed: u64,
    /// Whether this is a port's frame, which with its parent makes up a view.
    view: bool,
}

/// What a label names.
#[derive(Clone, Debug)]
pub(crate) enum Labelled {
    /// One view.
    One(FrameId),
    /// A list of views.
    Each(Arc<[FrameId]>),
}

impl FrameId {
    /// The frame with this number.
    pub(crate) fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// The number of the frame.
    pub(crate) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<'a> Frame<'a> {
    /// The defined value of a name.
    pub(crate) fn definition(&self, name: &Name) -> Option<&Expr> {
        self.defined.iter().find(|(own, _)| own == name).map(|(_, expr)| expr)
    }

    /// What a label is bound to, the latest binding of the name.
    pub(crate) fn label(&self, name: &Name) -> Option<&Labelled> {
        self.labels.iter().rev().find(|(own, _)| own == name).map(|(_, bound)| bound)
    }

    /// The frame that an alias stands for.
    pub(crate) fn alias(&self, name: &Name) -> Option<FrameId> {
        self.aliases.iter().find(|(own, _)| own == name).map(|(_, target)| *target)
    }

    fn new(ad: &'a Ad, parent: Option<FrameId>) -> Self {
        Self {
            ad,
            parent,
            defined: Vec::new(),
            labels: Vec::new(),
            aliases: Vec::new(),
            fallback: None,
            seed: 0,
            view: false,
        }
    }

    /// Makes it a new frame, which keeps the memory of the old one.
    fn renew(&mut self, ad: &'a Ad, parent: Option<FrameId>) {
        self.ad = ad;
        self.parent = parent;
        self.defined.clear();
        self.labels.clear();
        self.aliases.clear();
        self.fallback = None;
        self.seed = 0;
        self.view = false;
    }
}

impl<'a> Env<'a> {
    /// An environment without frames.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the frame of an ad, or of a port's ad whose parent is the frame of the ad around it.
    pub fn frame(&mut self, ad: &'a Ad, parent: Option<FrameId>) -> FrameId {
        let id = self.nested(ad, parent);
        if let Some(frame) = self.get_mut(id) {
            frame.view = parent.is_some();
        }
        id
    }

    /// Adds the frame of an ad that stands inside another.
    pub(crate) fn nested(&mut self, ad: &'a Ad, parent: Option<FrameId>) -> FrameId {
        let id = FrameId::from_index(self.live);
        // Only frames that are there already: parents never form a circle.
        let parent = parent.filter(|parent| parent.index() < id.index());
        match self.frames.get_mut(self.live) {
            Some(spare) => spare.renew(ad, parent),
            None => self.frames.push(Frame::new(ad, parent)),
        }
        self.live += 1;
        id
    }

    /// Sets a value that is seen before the ad's own attributes, through views too. A list or an ad in it has no scope
    /// around it.
    pub fn define(&mut self, frame: FrameId, name: Name, value: Value) {
        if let Some(frame) = self.get_mut(frame) {
            frame.defined.retain(|(own, _)| *own != name);
            frame.defined.push((name, Expr::literal(value)));
        }
    }

    /// Lets bare names in `frame` and in what is nested in it reach `view` as `label`. A later label hides an earlier one
    /// of the same name.
    pub fn bind(&mut self, frame: FrameId, label: &Name, view: FrameId) {
        if let Some(frame) = self.get_mut(frame) {
            frame.labels.push((label.clone(), Labelled::One(view)));
        }
    }

    /// The same for a list of views: `label.x` is the list of their `x`, `label[0]` the first of them, `size(label)` their number.
    ///
    /// ```
    /// use classad::{Context, Dialect, Env, Name, Value, eval_attribute, parse_ad};
    ///
    /// let job = parse_ad("[ Whole = sum(node.Memory); First = node[0].Memory; Count = size(node) ]", Dialect::Gangmatch)?;
    /// let nodes = [parse_ad("[ Memory = 2 ]", Dialect::Gangmatch)?, parse_ad("[ Memory = 3 ]", Dialect::Gangmatch)?];
    /// let mut env = Env::new();
    /// let views = nodes.iter().map(|node| env.frame(node, None)).collect();
    /// let job = env.frame(&job, None);
    /// env.bind_each(job, &Name::new("node"), views);
    /// let value = |name: &str| eval_attribute(&env, job, name, &Context::default());
    /// assert_eq!(value("Whole")?, Value::Integer(5));
    /// assert_eq!(value("First")?, Value::Integer(2));
    /// assert_eq!(value("Count")?, Value::Integer(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bind_each(&mut self, frame: FrameId, label: &Name, views: Vec<FrameId>) {
        if let Some(frame) = self.get_mut(frame) {
            frame.labels.push((label.clone(), Labelled::Each(views.into())));
        }
    }

    /// Gives `frame` the labels of the frame `like`, and no others.
    pub fn copy_labels(&mut self, like: FrameId, frame: FrameId) {
        let labels = self.get(like).map(|like| like.labels.clone()).unwrap_or_default();
        if let Some(frame) = self.get_mut(frame) {
            frame.labels = labels;
        }
    }

    /// How many labels are bound in `frame`.
    #[must_use]
    pub fn labels(&self, frame: FrameId) -> usize {
        self.get(frame).map_or(0, |frame| frame.labels.len())
    }

    /// Forgets all labels of `frame` but the first `count`.
    pub fn truncate_labels(&mut self, frame: FrameId, count: usize) {
        if let Some(frame) = self.get_mut(frame) {
            frame.labels.truncate(count);
        }
    }

    /// Makes `other` the partner of `frame`: `other` and `target` mean it, and bare names in expressions directly in the ad
    /// (not in ads nested in it) fall through to it.
    pub fn partner(&mut self, frame: FrameId, other: FrameId) {
        for name in &*PARTNER {
            self.alias(frame, name, other);
        }
        self.set_fallback(frame, other);
    }

    /// Sets the seed that `random()` in the expressions of this frame draws from, beside [`Context::seed`](crate::Context::seed), so
    /// that it differs from ad to ad.
    pub fn seed(&mut self, frame: FrameId, seed: u64) {
        if let Some(frame) = self.get_mut(frame) {
            frame.seed = seed;
        }
    }

    /// The number of frames, to go back to with [`Env::reset`].
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark(self.live)
    }

    /// Forgets all frames made since `mark`. Labels and partners of earlier frames that point at them must be gone too.
    pub fn reset(&mut self, mark: Mark) {
        self.live = self.live.min(mark.0);
    }

    /// Gives `frame` a name for another frame that selections see too.
    pub(crate) fn alias(&mut self, frame: FrameId, name: &Name, target: FrameId) {
        if let Some(frame) = self.get_mut(frame) {
            frame.aliases.retain(|(own, _)| own != name);
            frame.aliases.push((name.clone(), target));
        }
    }

    /// Sets the frame in which bare names are resolved that are found nowhere else.
    pub(crate) fn set_fallback(&mut self, frame: FrameId, target: FrameId) {
        if let Some(frame) = self.get_mut(frame) {
            frame.fallback = Some(target);
        }
    }

    /// Whether an ad of some frame has hidden attributes.
    pub(crate) fn hides(&self) -> bool {
        self.frames.iter().take(self.live).any(|frame| frame.ad.hides())
    }

    /// How many frames there are.
    pub(crate) fn len(&self) -> usize {
        self.live
    }

    /// The frame, unless it was reset.
    pub(crate) fn get(&self, frame: FrameId) -> Option<&Frame<'a>> {
        self.frames.get(..self.live)?.get(frame.index())
    }

    fn get_mut(&mut self, frame: FrameId) -> Option<&mut Frame<'a>> {
        self.frames.get_mut(frame.index()).filter(|_| frame.index() < self.live)
    }

    /// The ad of a frame.
    pub(crate) fn ad(&self, frame: FrameId) -> Option<&'a Ad> {
        self.get(frame).map(|frame| frame.ad)
    }

    /// The frame around a frame.
    pub(crate) fn parent(&self, frame: FrameId) -> Option<FrameId> {
        self.get(frame).and_then(|frame| frame.parent)
    }

    /// The frame of the ad that the port of this frame belongs to.
    pub(crate) fn body(&self, frame: FrameId) -> Option<FrameId> {
        self.get(frame).filter(|frame| frame.view).and_then(|frame| frame.parent)
    }

    /// What `random()` in the expressions of a frame draws from, see [`Env::seed`].
    pub(crate) fn frame_seed(&self, frame: FrameId) -> u64 {
        self.get(frame).map_or(0, |frame| frame.seed)
    }
}
