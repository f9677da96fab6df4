//! Evaluates requests to amounts that can be compared with what is free.

use classad::{Expr, Name};
use matchmaker::{Misfit, Offer, Ports};

use crate::table::{Cell, Table};
use crate::term::{CompiledExpr, Compiler, ReadSet, Side};

/// What a port takes of the partner bound to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Asks {
    /// Nothing is counted.
    Nothing,
    /// By resource name, in small letters.
    Amounts {
        /// The port's `Request`.
        requested: Vec<(String, i64)>,
        /// The attributes `RequestCpus` and its like, for each resource of the pool; none where it is no amount.
        attributes: Vec<(String, Option<i64>)>,
    },
    /// No offer can give it: an amount is no integer of at least 1.
    Impossible,
    /// It depends on the partner.
    Opaque,
}

/// Resources by the attribute that asks for them: `RequestCpus` for `cpus`.
pub(crate) type Resources = Vec<(Name, String)>;

/// Why an offer can never meet what is asked.
pub(crate) fn misfit(asks: &Asks, offer: &Offer) -> Misfit {
    let Asks::Amounts { requested, attributes } = asks else { return Misfit::NoAmount };
    let named = |name: &str| requested.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
    let offered = |name: &str| offer.capacity.keys().any(|own| own.eq_ignore_ascii_case(name));
    let read = |name: &str| attributes.iter().any(|(own, amount)| own.eq_ignore_ascii_case(name) && amount.is_none());
    if requested.iter().any(|(name, _)| !offered(name)) {
        return Misfit::NotOffered;
    }
    match offer.capacity.keys().any(|name| !named(name) && read(name)) {
        true => Misfit::NoAmount,
        false => Misfit::TooMuch,
    }
}

/// What a port of a root asks.
pub(crate) fn asks(table: &mut Table, root: &Ports, port: usize, resources: &Resources, trace: &mut ReadSet) -> Asks {
    let mut compiler = Compiler::new(table, root, port);
    let asks = asks_of(&mut compiler, resources);
    trace.add(std::mem::take(&mut compiler.trace));
    asks
}

fn asks_of(compiler: &mut Compiler<'_>, resources: &Resources) -> Asks {
    let (root, port) = (compiler.root, compiler.port);
    let Some(own) = root.list.get(port) else { return Asks::Opaque };
    let requested = match &own.request {
        None => Ok(Vec::new()),
        Some(request) => requested(compiler, request),
    };
    let requested = match requested {
        Ok(requested) => requested,
        Err(asks) => return asks,
    };
    let mut attributes = Vec::new();
    for (name, resource) in resources {
        let Some((expr, side)) = compiler.requester(name) else { continue };
        match compiler.term(expr, side) {
            Some(CompiledExpr::Known(cell)) => attributes.push((resource.clone(), amount(cell))),
            _ => return Asks::Opaque,
        }
    }
    Asks::Amounts { requested, attributes }
}

/// The amounts of a `Request`: of a nested ad whose attributes do not read each other.
fn requested(compiler: &mut Compiler<'_>, request: &Expr) -> Result<Vec<(String, i64)>, Asks> {
    let Some(ad) = request.as_ad() else {
        return match compiler.term(request, Side::Root) {
            Some(CompiledExpr::Known(cell)) if cell != Cell::Unknown => Err(Asks::Impossible),
            _ => Err(Asks::Opaque),
        };
    };
    let own = |name: &Name| ad.place(name).is_some();
    let mut amounts = Vec::new();
    for (name, expr) in ad.iter() {
        if classad::references(expr).iter().flatten().any(own) {
            return Err(Asks::Opaque);
        }
        match compiler.term(expr, Side::Root) {
            Some(CompiledExpr::Known(Cell::Unknown)) => return Err(Asks::Opaque),
            Some(CompiledExpr::Known(cell)) => {
                amounts.push((name.as_str().to_ascii_lowercase(), amount(cell).ok_or(Asks::Impossible)?));
            }
            _ => return Err(Asks::Opaque),
        }
    }
    Ok(amounts)
}

fn amount(cell: Cell) -> Option<i64> {
    match cell {
        Cell::Int(amount) if amount >= 1 => Some(amount),
        _ => None,
    }
}
