//! Name resolution: in the ad, the ads around it, labels, and the partner.

use crate::ad::Ad;
use crate::eval::costs::{ALLOCATION, READ};
use crate::eval::evaluator::{Evaluator, Guest, Outcome};
use crate::eval::lazy::{Items, Lazy};
use crate::eval::scope::{Frame, FrameId, Labelled, ScopeId};
use crate::expr::{Expr, Kind};
use crate::name::{BuiltinName, Name};

/// How a name is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// `x`: a label, or an attribute of the ad, of the ads around it, or of the partner.
    Bare,
    /// `x` in an expression that another ad evaluates: the same without labels, which are private.
    Lent,
    /// `y.x`: an attribute of the ad or of those around it.
    Selected,
}

/// The meaning of a name.
pub(crate) enum Found<'e> {
    /// An attribute: its expression and the scope that contains it.
    Attribute(&'e Expr, ScopeId),
    /// An ad.
    Scope(ScopeId),
    /// The list of views that a label names.
    Views(&'e [FrameId]),
    /// `CurrentTime`
    Now,
    /// The name is not defined.
    Nothing,
}

/// How many scopes are searched without a charge.
const STEPS_FREE: usize = 3;

impl<'e> Evaluator<'e> {
    /// `x`, or `.x` if the lookup starts at the outermost ad.
    pub(super) fn resolve_name(&mut self, name: &Name, absolute: bool, scope: ScopeId) -> Outcome<'e> {
        let found = self.look_up_bare(name, absolute, scope);
        self.value_of(found)
    }

    /// The meaning of `x`, or of `.x` if the lookup starts at the outermost ad.
    pub(crate) fn look_up_bare(&mut self, name: &Name, absolute: bool, scope: ScopeId) -> Found<'e> {
        if absolute {
            let root = self.root(scope);
            return self.look_up(root, name, Use::Selected);
        }
        self.look_up(scope, name, Use::Bare)
    }

    /// `label.x`, the usual selection. The scope that `expr`, a bare name, means is used directly, without a value for it.
    pub(super) fn select_from_name(
        &mut self,
        expr: &'e Expr,
        label: &Name,
        name: &Name,
        scope: ScopeId,
    ) -> Outcome<'e> {
        self.start(expr)?;
        self.enter()?;
        let base = match self.look_up(scope, label, Use::Bare) {
            Found::Scope(scope) => Lazy::Ad(scope),
            found => self.value_of(found)?,
        };
        self.leave();
        self.select(&base, name)
    }

    /// `base.x`
    pub(crate) fn select(&mut self, base: &Lazy<'e>, name: &Name) -> Outcome<'e> {
        match base {
            Lazy::Undefined => Ok(Lazy::Undefined),
            Lazy::Ad(scope) => {
                let found = self.look_up(*scope, name, Use::Selected);
                self.value_of(found)
            }
            Lazy::List(items) => self.select_each(items, name),
            _ => Ok(Lazy::Error),
        }
    }

    /// `list.x` is the list of the elements' `x`. A list may contain itself, so this counts as depth.
    fn select_each(&mut self, items: &Items<'e>, name: &Name) -> Outcome<'e> {
        self.enter()?;
        let items = self.items(items)?;
        self.take(items.len().saturating_mul(size_of::<Lazy<'_>>()))?;
        let selected: Result<Vec<_>, _> = items.iter().map(|item| self.select(item, name)).collect();
        self.leave();
        self.list(selected?)
    }

    /// `base[index]`: an element by position from 0, or an ad's own attribute by name.
    pub(crate) fn subscript(&mut self, base: &Lazy<'e>, index: &Lazy<'e>) -> Outcome<'e> {
        match (base, index) {
            (Lazy::Error, _) | (_, Lazy::Error) => Ok(Lazy::Error),
            (Lazy::Undefined, _) | (_, Lazy::Undefined) => Ok(Lazy::Undefined),
            (Lazy::List(items), Lazy::Integer(index)) => self.element(items, *index),
            (Lazy::Ad(scope), Lazy::String(name)) => {
                self.spend(ALLOCATION + name.len() / READ)?;
                // Only a reference, which the author of the ad wrote, names a hidden attribute.
                let name = Name::new(name.shared());
                match self.own_or_body_attribute(*scope, &name).filter(|_| !name.is_hidden()) {
                    Some((expr, scope)) => self.resolve(expr, scope),
                    None => Ok(Lazy::Undefined),
                }
            }
            _ => Ok(Lazy::Error),
        }
    }

    fn element(&mut self, items: &Items<'e>, index: i64) -> Outcome<'e> {
        let Ok(index) = usize::try_from(index) else { return Ok(Lazy::Error) };
        match items {
            Items::Written(items, scope) => match items.get(index) {
                Some(expr) => self.eval(expr, *scope),
                None => Ok(Lazy::Error),
            },
            Items::Computed(list) => Ok(list.items.get(index).cloned().unwrap_or(Lazy::Error)),
        }
    }

    /// The value that a name means.
    pub(crate) fn value_of(&mut self, found: Found<'e>) -> Outcome<'e> {
        match found {
            Found::Attribute(expr, scope) => self.resolve(expr, scope),
            Found::Scope(scope) => Ok(Lazy::Ad(scope)),
            Found::Views(views) => self.list(views.iter().map(|view| Lazy::Ad(ScopeId(view.index()))).collect()),
            Found::Now => Ok(Lazy::Integer(self.context.now)),
            Found::Nothing => Ok(Lazy::Undefined),
        }
    }

    /// The meaning of `name` in `start`, or else in the scopes around it, or else in the partner. A name in an expression of elsewhere means an
    /// attribute of the ad in which it is evaluated, as if it were selected from it, or else what it means at home. A hidden name is not that
    /// of an attribute of that ad, even if both ads hide one of that name.
    pub(crate) fn look_up(&mut self, start: ScopeId, name: &Name, how: Use) -> Found<'e> {
        let (mut start, mut scope, mut how) = (start, start, how);
        let mut home = None;
        // Names are compared by their hashes first, and then letter by letter.
        let step = name.as_str().len() / READ;
        let mut steps = 0;
        loop {
            steps += 1;
            if steps > STEPS_FREE || step > 0 {
                self.owe(step + 1);
            }
            let around = match (self.env.get(FrameId::from_index(scope.0)), self.guest(scope)) {
                (Some(frame), _) => {
                    if let Some(found) = self.look_in(scope, frame, name, how) {
                        return found;
                    }
                    frame.parent.map(|parent| ScopeId(parent.index()))
                }
                (None, Some(_)) if name.is_hidden() && how == Use::Selected => None,
                (None, Some(guest)) => {
                    if how != Use::Selected {
                        home = Some((guest.home, if how == Use::Lent { how } else { guest.sees }));
                        how = Use::Selected;
                    }
                    Some(guest.host).filter(|_| !name.is_hidden())
                }
                (None, None) => {
                    if let Some(found) = self.look_in_nested(scope, name) {
                        return found;
                    }
                    self.parent(scope)
                }
            };
            scope = match (around, home.take()) {
                (Some(around), kept) => {
                    home = kept;
                    around
                }
                (None, Some((at, sees))) => {
                    (start, how) = (at, sees);
                    at
                }
                (None, None) if how == Use::Selected => return Found::Nothing,
                (None, None) => {
                    let partner = self.env.get(FrameId::from_index(start.0)).and_then(|frame| frame.fallback);
                    let Some(partner) = partner else { return Found::Nothing };
                    how = Use::Selected;
                    ScopeId(partner.index())
                }
            };
        }
    }

    /// The meaning of `name` in one frame: an attribute, a label, a name that every ad has, another frame.
    fn look_in(&mut self, scope: ScopeId, frame: &'e Frame<'e>, name: &Name, how: Use) -> Option<Found<'e>> {
        if let Some((expr, scope)) = self.own_attribute_in(scope, frame, name) {
            return Some(Found::Attribute(expr, scope));
        }
        if how == Use::Bare
            && let Some(bound) = frame.label(name)
        {
            return Some(match bound {
                Labelled::One(view) => Found::Scope(ScopeId(view.index())),
                Labelled::Each(views) => Found::Views(views),
            });
        }
        if let Some(builtin) = name.builtin() {
            return self.built_in(scope, builtin);
        }
        frame.alias(name).map(|target| Found::Scope(ScopeId(target.index())))
    }

    /// The meaning of `name` in an ad written in an expression.
    fn look_in_nested(&mut self, scope: ScopeId, name: &Name) -> Option<Found<'e>> {
        if let Some(expr) = self.ad(scope).and_then(|ad| ad.get_name(name)) {
            return Some(Found::Attribute(expr, scope));
        }
        self.built_in(scope, name.builtin()?)
    }

    /// A name that every ad has.
    fn built_in(&mut self, scope: ScopeId, name: BuiltinName) -> Option<Found<'e>> {
        Some(match name {
            BuiltinName::Itself => Found::Scope(scope),
            BuiltinName::Root => Found::Scope(self.root(scope)),
            BuiltinName::Parent => self.parent(scope).map_or(Found::Nothing, Found::Scope),
            BuiltinName::Now => Found::Now,
        })
    }

    /// A defined value or an attribute of the ad itself.
    pub(crate) fn own_attribute(&mut self, scope: ScopeId, name: &Name) -> Option<(&'e Expr, ScopeId)> {
        match self.env.get(FrameId::from_index(scope.0)) {
            Some(frame) => self.own_attribute_in(scope, frame, name),
            None => self.ad(scope)?.get_name(name).map(|expr| (expr, scope)),
        }
    }

    fn own_attribute_in(&mut self, scope: ScopeId, frame: &'e Frame<'e>, name: &Name) -> Option<(&'e Expr, ScopeId)> {
        if let Some(expr) = frame.definition(name) {
            // A literal needs no scope.
            let scope = if matches!(expr.kind(), Kind::Literal(_)) { scope } else { self.nowhere() };
            return Some((expr, scope));
        }
        frame.ad.get_name(name).map(|expr| (expr, scope))
    }

    /// A defined value or an attribute of the ad itself; for the frame of a port, also an attribute of the ad that has the port.
    fn own_or_body_attribute(&mut self, scope: ScopeId, name: &Name) -> Option<(&'e Expr, ScopeId)> {
        if let Some(found) = self.own_attribute(scope, name) {
            return Some(found);
        }
        let body = self.frame(scope).and_then(|frame| self.env.body(frame))?;
        self.own_attribute(ScopeId(body.index()), name)
    }

    /// The attributes of the ad itself that are not hidden; defined values are not among them.
    pub(crate) fn attributes(&self, scope: ScopeId) -> Vec<(&'e Name, &'e Expr)> {
        self.ad(scope).into_iter().flat_map(Ad::shown).collect()
    }

    /// The frame of the environment that a scope is, if it is one.
    pub(crate) fn frame(&self, scope: ScopeId) -> Option<FrameId> {
        (scope.0 < self.env.len()).then(|| FrameId::from_index(scope.0))
    }

    /// The ad of a scope.
    pub(crate) fn ad(&self, scope: ScopeId) -> Option<&'e Ad> {
        match self.frame(scope) {
            Some(frame) => self.env.ad(frame),
            None => self.nested.get(scope.0 - self.env.len()).map(|nested| nested.ad),
        }
    }

    /// The scope around a scope.
    pub(crate) fn parent(&self, scope: ScopeId) -> Option<ScopeId> {
        match self.frame(scope) {
            Some(frame) => self.env.parent(frame).map(|parent| ScopeId(parent.index())),
            None => self.nested.get(scope.0 - self.env.len()).and_then(|nested| nested.parent),
        }
    }

    fn guest(&self, scope: ScopeId) -> Option<Guest> {
        self.nested.get(scope.0.checked_sub(self.env.len())?).and_then(|nested| nested.guest)
    }

    /// The outermost ad around the text of an expression that is evaluated in this scope, and whether another ad evaluates it.
    pub(crate) fn author(&mut self, scope: ScopeId) -> (ScopeId, bool) {
        let (mut at, mut is_lent, mut steps) = (scope, false, 0_usize);
        loop {
            let guest = self.guest(at);
            is_lent |= guest.is_some_and(|guest| guest.sees == Use::Lent);
            match guest.map(|guest| guest.home).or_else(|| self.parent(at)) {
                Some(next) => (at, steps) = (next, steps + 1),
                None => break,
            }
        }
        self.owe(steps.saturating_sub(STEPS_FREE));
        (at, is_lent)
    }

    /// The outermost ad around an ad; none if the ad is written in an expression that is evaluated elsewhere.
    pub(crate) fn root_at_home(&mut self, scope: ScopeId) -> Option<ScopeId> {
        let (mut at, mut steps) = (scope, 0_usize);
        let root = loop {
            if self.guest(at).is_some() {
                break None;
            }
            match self.parent(at) {
                Some(parent) => (at, steps) = (parent, steps + 1),
                None => break Some(at),
            }
        };
        self.owe(steps.saturating_sub(STEPS_FREE));
        root
    }

    /// The outermost ad around a scope.
    pub(crate) fn root(&mut self, scope: ScopeId) -> ScopeId {
        let (mut root, mut steps) = (scope, 0_usize);
        while let Some(parent) = self.parent(root) {
            (root, steps) = (parent, steps + 1);
        }
        self.owe(steps.saturating_sub(STEPS_FREE));
        root
    }

    /// The frame of the environment around a scope.
    pub(crate) fn root_frame(&mut self, scope: ScopeId) -> Option<FrameId> {
        let mut current = Some(scope);
        while let Some(scope) = current {
            self.owe(1);
            if let Some(frame) = self.frame(scope) {
                return Some(frame);
            }
            current = self.parent(scope);
        }
        None
    }

    /// A scope with nothing in it and nothing around it.
    fn nowhere(&mut self) -> ScopeId {
        match self.empty {
            Some(scope) => scope,
            None => {
                let ad = self.keep_for_good(Ad::new());
                let scope = self.push_scope(ad, None);
                self.empty = Some(scope);
                scope
            }
        }
    }
}
