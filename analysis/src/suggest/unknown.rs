//! Names in a root's constraints that mean nothing: attributes that no offer has, and labels of no port.

use std::collections::BTreeMap;

use classad::{Dialect, Name, is_scope_word, parse_expr, references, similar};
use matchmaker::{AdId, PoolAd, Ports, Snapshot};

use super::Change;
use crate::inspect::Inspected;

/// A name that nothing in the pool has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The number of the port in whose constraint it stands.
    pub port: usize,
    /// The number of the conjunct.
    pub conjunct: usize,
    /// The path as it is written, such as `cpu.Memry`.
    pub written: String,
    /// What is unknown in it.
    pub word: Word,
    /// What was probably meant, as it would be written.
    pub meant: Option<String>,
    /// How many offers have an attribute of that name; 0 for a label.
    pub offers: u64,
}

/// What a name should have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// An attribute of a partner.
    Attribute,
    /// The label of a port.
    Label,
}

impl Unknown {
    /// The conjunct with the name that was meant.
    pub(super) fn correction(&self, inspected: &[Inspected]) -> Option<Change> {
        let part = inspected.get(self.port)?.conjuncts.get(self.conjunct)?;
        let text = renamed(&part.to_string(), &self.written, self.meant.as_deref()?);
        // A private name is not printed, so its text would mean something else.
        if references(part).iter().flatten().any(Name::is_hidden) {
            return None;
        }
        let with = parse_expr(&text, Dialect::Gangmatch).ok()?;
        Some(Change::Replace { port: self.port, conjunct: self.conjunct, with })
    }
}

/// A text with each occurrence of a path as a whole word replaced.
fn renamed(text: &str, written: &str, meant: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let (mut all, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(written) {
        let inside = before.chars().next_back().is_some_and(is_word) || after.chars().next().is_some_and(is_word);
        all.push_str(before);
        all.push_str(if inside { written } else { meant });
        rest = after;
    }
    all.push_str(rest);
    all
}

/// Words that mean something beside those of [`classad::SCOPE_WORDS`].
const WORDS: [&str; 3] = ["requester", "members", "currenttime"];

/// The names in the constraints of a root that mean nothing in a pool. Names of offers that the reader may not see are not suggested.
pub fn unknown(pool: &Snapshot, root: AdId, may_tell: &dyn Fn(AdId) -> bool) -> Vec<Unknown> {
    let Some(ad) = pool.ad(root) else { return Vec::new() };
    let advertised = Advertised::of(pool, may_tell);
    let mut found: Vec<Unknown> = Vec::new();
    for (number, port) in ad.ports.list.iter().enumerate() {
        let parts = port.constraint.as_ref().map(classad::conjuncts).unwrap_or_default();
        for (conjunct, part) in parts.iter().enumerate() {
            for path in references(part) {
                let unknown = judged(&ad.ports, number, &path, &advertised);
                found.extend(unknown.map(|unknown| Unknown { port: number, conjunct, ..unknown }));
            }
        }
    }
    found.dedup_by(|one, other| (one.port, &one.written) == (other.port, &other.written));
    found
}

/// The attributes of all offers.
struct Advertised {
    /// How many offers have each, and whether one of them may be told.
    names: BTreeMap<Name, (u64, bool)>,
}

impl Advertised {
    fn of(pool: &Snapshot, may_tell: &dyn Fn(AdId) -> bool) -> Advertised {
        let mut names: BTreeMap<Name, (u64, bool)> = BTreeMap::new();
        for (id, ad) in pool.ads().filter(|(_, ad)| ad.offer().is_some()) {
            let told = may_tell(id);
            let mut note = |name: &Name| {
                let entry = names.entry(name.clone()).or_default();
                entry.0 += 1;
                entry.1 |= told;
            };
            names_of(ad).for_each(&mut note);
        }
        Advertised { names }
    }

    fn meant(&self, name: &Name) -> Option<(&Name, u64)> {
        let told = self.names.iter().filter(|(_, (_, told))| *told).map(|(name, _)| name);
        let meant = similar(name.as_str(), told)?;
        Some((meant, self.names.get(meant)?.0))
    }
}

fn names_of(ad: &PoolAd) -> impl Iterator<Item = &Name> {
    let of_ports = ad.ports.list.iter().flat_map(|port| port.attributes.iter());
    let all = ad.ports.body.iter().chain(of_ports).map(|(name, _)| name);
    all.filter(|name| !name.is_hidden())
}

/// What is unknown in a path of names, if anything is.
fn judged(ports: &Ports, port: usize, path: &[Name], advertised: &Advertised) -> Option<Unknown> {
    let [first, rest @ ..] = path else { return None };
    let written = path.iter().take(2).map(Name::as_str).collect::<Vec<_>>().join(".");
    let is = |word: &str| first.as_str().eq_ignore_ascii_case(word);
    let of = |word, meant: Option<(String, u64)>| {
        let (meant, offers) = meant.map_or((None, 0), |(meant, offers)| (Some(meant), offers));
        Some(Unknown { port: 0, conjunct: 0, written: written.clone(), word, meant, offers })
    };
    let own = |name: &Name| {
        let in_port = ports.list.get(port).is_some_and(|port| port.attributes.place(name).is_some());
        in_port || ports.body.place(name).is_some()
    };
    let is_label = ports.list.iter().take(port + 1).any(|port| port.label == *first);
    let is_partner = is_label || (ports.implicit && (is("other") || is("target")));
    let is_word = is_scope_word(first.as_str()) || WORDS.iter().any(|word| is(word));
    match rest {
        [attribute, ..] if is_partner => {
            if attribute.is_hidden() || advertised.names.contains_key(attribute) || is_system(attribute) {
                return None;
            }
            let meant = advertised.meant(attribute).map(|(meant, count)| (format!("{first}.{meant}"), count));
            of(Word::Attribute, meant)
        }
        [_, ..] if first.is_hidden() || own(first) || is_word => None,
        [attribute, ..] => {
            let labels = ports.list.iter().take(port + 1).map(|port| &port.label);
            let label = similar(first.as_str(), labels).or_else(|| ports.list.get(port).map(|port| &port.label));
            of(Word::Label, label.map(|label| (format!("{label}.{attribute}"), 0)))
        }
        [] if !ports.implicit || first.is_hidden() || own(first) || is_word => None,
        [] if advertised.names.contains_key(first) || is_system(first) => None,
        [] => of(Word::Attribute, advertised.meant(first).map(|(meant, count)| (meant.to_string(), count))),
    }
}

/// Attributes that the system gives to ads, which an ad may lack without being wrong.
const SYSTEM: [&str; 11] =
    ["Type", "MyType", "Name", "Namespace", "Owner", "Uid", "Labels", "Members", "Capacity", "Free", "NodeName"];

fn is_system(name: &Name) -> bool {
    SYSTEM.iter().any(|word| name.as_str().eq_ignore_ascii_case(word))
}
