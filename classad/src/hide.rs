//! Private attributes: ads whose own expressions can use attributes that no partner can read.
//!
//! A private attribute is renamed: its new name contains a character that no text and no string of the language can contain. The
//! references to it in the ad's own expressions are renamed, too. So partners read it as UNDEFINED in every way there is to name an
//! attribute, and whatever evaluates or compiles expressions needs no list of private names.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::ad::Ad;
use crate::expr::{Expr, Kind};
use crate::name::{BuiltinName, Name};
use crate::value::Value;

impl Ad {
    /// The ad with these attributes hidden: partners read them as undefined, printed ads leave them out, and a reference to one of
    /// them prints as `private`. Names that the ad does not define have no effect.
    ///
    /// The ad's own expressions keep their values: `x`, `.x`, `my.x`, `self.x`, `parent.x`, `root.x` and `toplevel.x` are rewritten
    /// wherever they mean the hidden attribute, in nested ads too, such as the entries of `Ports`. What names an attribute in another
    /// way does not find it: `eval("x")`, `my["x"]`, and `my.x` where `evalInEachContext` or `countMatches` evaluates it in
    /// another ad. A label of a port must not have the name of a hidden attribute.
    ///
    /// ```
    /// use classad::{Dialect, Name, bilateral, Context, parse_ad};
    ///
    /// let machine = parse_ad("[ Cost = 7; Price = Cost * 2; Requirements = other.Bid > Cost ]", Dialect::Gangmatch)?;
    /// let machine = machine.hide(&[Name::new("cost")]);
    /// assert_eq!(machine.to_string(), "[ Price = private * 2; Requirements = other.Bid > private ]");
    /// let job = parse_ad("[ Bid = 8; Requirements = other.Price == 14 && other.Cost is undefined ]", Dialect::Gangmatch)?;
    /// assert!(bilateral(&job, &machine, &Context::default()).is_match());
    /// # Ok::<(), classad::Diagnostics>(())
    /// ```
    #[must_use]
    pub fn hide(&self, names: &[Name]) -> Ad {
        let plain = names.iter().filter(|name| !name.is_hidden());
        let own = plain.filter_map(|name| self.entry(name.as_str()));
        let hidden: BTreeMap<Name, Name> = own.map(|(name, _)| (name.clone(), name.hidden())).collect();
        if hidden.is_empty() {
            return self.clone();
        }
        let name = |name: &Name| hidden.get(name).unwrap_or(name).clone();
        let mut hiding = Hiding::of(self, hidden.clone());
        self.iter().map(|(own, expr)| (name(own), rebuilt(expr, 0, &mut hiding))).collect()
    }

    /// An expression that stands outside the ad, but is evaluated in it, with the ad's hidden attributes renamed as in the ad's own
    /// expressions.
    #[must_use]
    pub fn own_expression(&self, expr: &Expr) -> Expr {
        if !self.hides() {
            return expr.clone();
        }
        let hidden = self.iter().filter_map(|(name, _)| Some((name.revealed()?, name.clone())));
        rebuilt(expr, 0, &mut Hiding::of(self, hidden.collect()))
    }
}

/// The expression as it is evaluated in an ad that is not its own: hidden attributes are undefined there, but for bare names if these are
/// kept.
pub(crate) fn without_hidden(expr: &Expr, keeps_bare: bool) -> Expr {
    rebuilt(expr, 0, &mut Undefined { keeps_bare })
}

/// The expression as it is printed: the word `private` in the place of each hidden name.
pub(crate) fn as_printed(expr: &Expr) -> Expr {
    rebuilt(expr, 0, &mut Printed)
}

/// What replaces parts of an expression. Scopes are numbered; 0 is the ad that contains the expression.
trait Rules {
    /// What replaces an expression in this scope; `None` if it stays, and its parts are looked at.
    fn replacement(&mut self, expr: &Expr, scope: usize) -> Option<Expr>;

    /// The number of the scope of an ad that stands in this scope.
    fn nested(&mut self, _ad: &Ad, scope: usize) -> usize {
        scope
    }
}

/// A step of [`rebuilt`].
enum Task<'e> {
    /// Look at an expression in a scope.
    Enter(&'e Expr, usize),
    /// Its parts, so many of them, are done.
    Leave(&'e Expr, usize),
}

/// The expression with some parts replaced. What is unchanged is shared with the original. It uses no stack in proportion to the
/// depth of the tree.
fn rebuilt(expr: &Expr, scope: usize, rules: &mut impl Rules) -> Expr {
    let mut pending = vec![Task::Enter(expr, scope)];
    let mut done: Vec<Expr> = Vec::new();
    while let Some(task) = pending.pop() {
        match task {
            Task::Enter(expr, scope) => {
                if let Some(replacement) = rules.replacement(expr, scope) {
                    done.push(replacement);
                    continue;
                }
                let scope = match expr.kind() {
                    Kind::Ad(ad) => rules.nested(ad, scope),
                    _ => scope,
                };
                let parts = expr.children();
                pending.push(Task::Leave(expr, parts.len()));
                pending.extend(parts.into_iter().rev().map(|part| Task::Enter(part, scope)));
            }
            Task::Leave(expr, count) => {
                let parts = done.split_off(done.len().saturating_sub(count));
                let is_same = parts.iter().zip(expr.children()).all(|(new, old)| new.id() == old.id());
                done.push(if is_same { expr.clone() } else { expr.with_children(parts) });
            }
        }
    }
    done.pop().unwrap_or_else(|| expr.clone())
}

/// Renames the references to attributes of one ad.
struct Hiding {
    /// The ad itself, then the ads in its expressions.
    scopes: Vec<Scope>,
}

/// What names mean in one ad.
struct Scope {
    /// The new names of the attributes that are visible here: no ad further in defines the same name.
    visible: Rc<BTreeMap<Name, Name>>,
    /// The number of the ad around it.
    parent: Option<usize>,
    /// Words such as `my` that the ad defines as attributes.
    words: Vec<Name>,
}

impl Hiding {
    /// Renames what an ad hides, by its names without and with the mark.
    fn of(ad: &Ad, hidden: BTreeMap<Name, Name>) -> Hiding {
        Hiding { scopes: vec![Scope { visible: Rc::new(hidden), parent: None, words: words(ad) }] }
    }

    /// The new name of `name`, looked up from this scope outwards.
    fn renamed(&self, name: &Name, scope: usize) -> Option<Name> {
        self.scopes.get(scope)?.visible.get(name).cloned()
    }

    /// The number of the ad that `my`, `parent` or such a word means in this scope.
    fn meant(&self, word: &Name, scope: usize) -> Option<usize> {
        let here = self.scopes.get(scope)?;
        if here.words.contains(word) {
            return None;
        }
        match word.builtin()? {
            BuiltinName::Itself => Some(scope),
            BuiltinName::Parent => here.parent,
            BuiltinName::Root => Some(0),
            BuiltinName::Now => None,
        }
    }
}

impl Rules for Hiding {
    fn replacement(&mut self, expr: &Expr, scope: usize) -> Option<Expr> {
        let kind = match expr.kind() {
            Kind::Attribute { name, absolute } => {
                let from = if *absolute { 0 } else { scope };
                // Such words have a meaning in each ad, so their lookup does not go on outside.
                let name = self.renamed(name, from).filter(|_| from == 0 || name.builtin().is_none())?;
                Kind::Attribute { name, absolute: *absolute }
            }
            Kind::Select { base, name } => {
                let seen = self.meant(base.as_attribute()?, scope)?;
                Kind::Select { base: base.clone(), name: self.renamed(name, seen)? }
            }
            _ => return None,
        };
        Some(Expr::new(kind, expr.span()))
    }

    fn nested(&mut self, ad: &Ad, scope: usize) -> usize {
        let Some(around) = self.scopes.get(scope) else { return scope };
        let defined = |name: &Name| ad.place(name).is_some();
        let mut visible = Rc::clone(&around.visible);
        if visible.keys().any(defined) {
            let rest = around.visible.iter().filter(|(name, _)| !defined(name));
            visible = Rc::new(rest.map(|(name, hidden)| (name.clone(), hidden.clone())).collect());
        }
        self.scopes.push(Scope { visible, parent: Some(scope), words: words(ad) });
        self.scopes.len() - 1
    }
}

/// The words with a meaning in every ad that an ad defines as attributes.
fn words(ad: &Ad) -> Vec<Name> {
    BuiltinName::WORDS.iter().filter_map(|(word, _)| ad.entry(word)).map(|(name, _)| name.clone()).collect()
}

/// Replaces hidden attributes by UNDEFINED.
struct Undefined {
    keeps_bare: bool,
}

impl Rules for Undefined {
    fn replacement(&mut self, expr: &Expr, _scope: usize) -> Option<Expr> {
        match expr.kind() {
            Kind::Attribute { absolute: false, .. } if self.keeps_bare => None,
            Kind::Attribute { name, .. } | Kind::Select { name, .. } if name.is_hidden() => {
                Some(Expr::new(Kind::Literal(Value::Undefined), expr.span()))
            }
            _ => None,
        }
    }
}

/// Replaces hidden names by the word that is printed for them.
struct Printed;

impl Rules for Printed {
    fn replacement(&mut self, expr: &Expr, _scope: usize) -> Option<Expr> {
        let printed = |name: &Name| Name::new(name.to_string());
        let kind = match expr.kind() {
            Kind::Attribute { name, absolute } if name.is_hidden() => {
                Kind::Attribute { name: printed(name), absolute: *absolute }
            }
            Kind::Select { base, name } if name.is_hidden() => Kind::Select { base: base.clone(), name: printed(name) },
            _ => return None,
        };
        Some(Expr::new(kind, expr.span()))
    }
}
