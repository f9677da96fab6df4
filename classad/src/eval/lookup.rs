//! Names into what they mean: the ad, the ads around it, labels, the partner.

use crate::ad::Ad;
use crate::eval::lazy::{Items, Lazy};
use crate::eval::machine::{Machine, Outcome, ScopeId};
use crate::eval::scope::FrameId;
use crate::expr::Expr;
use crate::name::Name;

/// Where a name is used: a bare name sees labels, a selected one does not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Bare,
    Selected,
}

/// What a name means.
pub(crate) enum Found {
    /// An attribute's expression and the scope it stands in.
    Attribute(Expr, ScopeId),
    /// An ad.
    Scope(ScopeId),
    /// `CurrentTime`
    Now,
    Nothing,
}

/// Names that mean something if no attribute is called so.
#[derive(Clone, Copy)]
enum BuiltinName {
    Itself,
    Parent,
    Root,
    Now,
}

impl BuiltinName {
    fn of(name: &str) -> Option<Self> {
        const NAMES: [(&str, BuiltinName); 6] = [
            ("self", BuiltinName::Itself),
            ("my", BuiltinName::Itself),
            ("parent", BuiltinName::Parent),
            ("toplevel", BuiltinName::Root),
            ("root", BuiltinName::Root),
            ("currenttime", BuiltinName::Now),
        ];
        NAMES.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, meaning)| *meaning)
    }
}

impl Machine<'_> {
    /// `x`, or `.x` if the lookup starts at the outermost ad.
    pub(crate) fn refer(&mut self, name: &str, absolute: bool, scope: ScopeId) -> Outcome {
        let found = if absolute {
            self.look_up(self.root(scope), name, Use::Selected)
        } else {
            self.look_up(scope, name, Use::Bare)
        };
        self.value_of(found)
    }

    /// `base.x`
    pub(crate) fn select(&mut self, base: &Lazy, name: &str) -> Outcome {
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
    fn select_each(&mut self, items: &Items, name: &str) -> Outcome {
        self.enter()?;
        let items = self.items(items)?;
        let selected: Result<Vec<_>, _> = items.iter().map(|item| self.select(item, name)).collect();
        self.leave();
        Ok(Lazy::list(selected?))
    }

    /// `base[index]`: an element by position from 0, or an ad's own attribute by name.
    pub(crate) fn subscript(&mut self, base: &Lazy, index: &Lazy) -> Outcome {
        match (base, index) {
            (Lazy::Error, _) | (_, Lazy::Error) => Ok(Lazy::Error),
            (Lazy::Undefined, _) | (_, Lazy::Undefined) => Ok(Lazy::Undefined),
            (Lazy::List(items), Lazy::Integer(index)) => self.element(items, *index),
            (Lazy::Ad(scope), Lazy::String(name)) => match self.own_or_body(*scope, name) {
                Some((expr, scope)) => self.resolve(&expr, scope),
                None => Ok(Lazy::Undefined),
            },
            _ => Ok(Lazy::Error),
        }
    }

    fn element(&mut self, items: &Items, index: i64) -> Outcome {
        let Ok(index) = usize::try_from(index) else { return Ok(Lazy::Error) };
        match items {
            Items::Written(items, scope) => match items.get(index) {
                Some(expr) => self.eval(expr, *scope),
                None => Ok(Lazy::Error),
            },
            Items::Computed(items) => Ok(items.get(index).cloned().unwrap_or(Lazy::Error)),
        }
    }

    fn value_of(&mut self, found: Found) -> Outcome {
        match found {
            Found::Attribute(expr, scope) => self.resolve(&expr, scope),
            Found::Scope(scope) => Ok(Lazy::Ad(scope)),
            Found::Now => Ok(Lazy::Integer(self.context.now)),
            Found::Nothing => Ok(Lazy::Undefined),
        }
    }

    /// What `name` means in `start`, or else in the scopes around it, or else for the partner.
    pub(crate) fn look_up(&mut self, start: ScopeId, name: &str, how: Use) -> Found {
        let builtin = BuiltinName::of(name);
        let mut current = Some(start);
        while let Some(scope) = current {
            if let Some((expr, scope)) = self.own(scope, name) {
                return Found::Attribute(expr, scope);
            }
            let frame = self.frame(scope);
            if let (Some(frame), Use::Bare) = (frame, how)
                && let Some(view) = self.env.label(frame, name)
            {
                return Found::Scope(ScopeId(view.index()));
            }
            let parent = self.parent(scope);
            match builtin {
                Some(BuiltinName::Itself) => return Found::Scope(scope),
                Some(BuiltinName::Root) => return Found::Scope(self.root(scope)),
                Some(BuiltinName::Parent) => return parent.map_or(Found::Nothing, Found::Scope),
                Some(BuiltinName::Now) => return Found::Now,
                None => {}
            }
            if let Some(target) = frame.and_then(|frame| self.env.alias_of(frame, name)) {
                return Found::Scope(ScopeId(target.index()));
            }
            current = parent;
        }
        let fallback = self.frame(start).filter(|_| how == Use::Bare).and_then(|frame| self.env.fallback(frame));
        match fallback {
            Some(partner) => self.look_up(ScopeId(partner.index()), name, Use::Selected),
            None => Found::Nothing,
        }
    }

    /// A defined value or an attribute of the ad itself.
    pub(crate) fn own(&mut self, scope: ScopeId, name: &str) -> Option<(Expr, ScopeId)> {
        if let Some(frame) = self.frame(scope) {
            if let Some(expr) = self.env.defined(frame, name) {
                return Some((expr.clone(), self.nowhere()));
            }
            return self.env.ad(frame)?.get(name).map(|expr| (expr.clone(), scope));
        }
        self.ad(scope)?.get(name).map(|expr| (expr.clone(), scope))
    }

    /// The same, and for a port's frame the attributes of the ad behind it.
    fn own_or_body(&mut self, scope: ScopeId, name: &str) -> Option<(Expr, ScopeId)> {
        if let Some(found) = self.own(scope, name) {
            return Some(found);
        }
        let body = self.frame(scope).and_then(|frame| self.env.body(frame))?;
        self.own(ScopeId(body.index()), name)
    }

    /// The attributes of the ad itself with the scopes to evaluate them in; defined values are not among them.
    pub(crate) fn attributes(&self, scope: ScopeId) -> Vec<(Name, Expr, ScopeId)> {
        let attributes = self.ad(scope).into_iter().flat_map(Ad::iter);
        attributes.map(|(name, expr)| (name.clone(), expr.clone(), scope)).collect()
    }

    /// The frame of the environment that a scope is, if it is one.
    pub(crate) fn frame(&self, scope: ScopeId) -> Option<FrameId> {
        (scope.0 < self.env.len()).then(|| FrameId::from_index(scope.0))
    }

    pub(crate) fn ad(&self, scope: ScopeId) -> Option<&Ad> {
        match self.frame(scope) {
            Some(frame) => self.env.ad(frame),
            None => self.nested.get(scope.0 - self.env.len()).map(|nested| &nested.ad),
        }
    }

    pub(crate) fn parent(&self, scope: ScopeId) -> Option<ScopeId> {
        match self.frame(scope) {
            Some(frame) => self.env.parent(frame).map(|parent| ScopeId(parent.index())),
            None => self.nested.get(scope.0 - self.env.len()).and_then(|nested| nested.parent),
        }
    }

    /// The outermost ad around a scope.
    pub(crate) fn root(&self, scope: ScopeId) -> ScopeId {
        let mut root = scope;
        while let Some(parent) = self.parent(root) {
            root = parent;
        }
        root
    }

    /// The frame of the environment around a scope.
    pub(crate) fn root_frame(&self, scope: ScopeId) -> Option<FrameId> {
        let mut current = Some(scope);
        while let Some(scope) = current {
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
                let scope = self.add_scope(Ad::new(), None);
                self.empty = Some(scope);
                scope
            }
        }
    }
}
