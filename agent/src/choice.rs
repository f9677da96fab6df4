//! An offer's ad, with values as fresh as they can be, and the attributes of the requester, into a vote.

use std::collections::BTreeMap;

use classad::{Ad, Context, Dialect, Env, Expr, FrameId, Name, Value, conjuncts, eval, parse_json, references};
use crds::Disclosure;
use matchmaker::{Port, Ports};
use serde_json::{Value as Json, json};

/// Longest reason of a vote, in characters.
const REASON_MAX: usize = 256;

/// What an agent votes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Yes.
    Yes,
    /// No, and why.
    No(String),
    /// No, because a value could not be measured; the failure.
    Unmeasured(String),
}

impl Choice {
    /// No, for this reason.
    pub(crate) fn no(why: &str) -> Choice {
        Choice::No(why.chars().take(REASON_MAX).collect())
    }

    /// The reason of a no as it is written into the entry, and none for a yes. Values and expressions of the offer are for readers to whom its
    /// owner discloses them.
    pub(crate) fn refusal(&self, reader: &Reader) -> Option<String> {
        let is_told = reader.is_at_home || reader.disclosure != Disclosure::Counts;
        let why = match self {
            Choice::Yes => return None,
            Choice::No(why) | Choice::Unmeasured(why) if is_told => why,
            Choice::No(_) => "the constraint of the offer is not true of the job",
            Choice::Unmeasured(_) => "the agent of the offer cannot measure its values, as its log says",
        };
        Some(why.chars().take(REASON_MAX).collect())
    }
}

/// Who reads the reason of a vote: the author of the job that asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    /// The job is in the offer's namespace.
    pub(crate) is_at_home: bool,
    /// What the owner of the offer discloses to others.
    pub(crate) disclosure: Disclosure,
}

/// Whether the ad accepts the requester: through one of its ports, for it is not known through which. What an expression reads
/// of partners at other ports is not known here; that has been looked at by the controller. `now` is in seconds since 1970.
pub(crate) fn choose(ad: &Ad, requester: &BTreeMap<String, Json>, now: i64) -> Choice {
    let ports = Ports::of(ad);
    if let Some(problem) = &ports.problem {
        return Choice::no(problem);
    }
    let partner = match parse_json(&json!(requester).to_string(), Dialect::Gangmatch) {
        Ok(partner) => partner,
        Err(error) => return Choice::no(&format!("the requester cannot be read: {error}")),
    };
    let mut objection = "the ad has no port".to_owned();
    for port in ports.list.iter() {
        match objects_to(&ports, port, &partner, now) {
            None => return Choice::Yes,
            Some(found) => objection = found,
        }
    }
    Choice::no(&objection)
}

/// Why one port does not accept the requester, if it does not.
fn objects_to(ports: &Ports, port: &Port, partner: &Ad, now: i64) -> Option<String> {
    let Some(constraint) = &port.constraint else {
        return ports.implicit.then(|| "the ad has no constraint".to_owned());
    };
    let mut env = Env::new();
    let body = env.frame(&ports.body, None);
    let frame = if ports.implicit { body } else { env.frame(&port.attributes, Some(body)) };
    let asks = env.frame(partner, None);
    if ports.implicit {
        env.partner(body, asks)
    } else {
        env.bind(frame, &port.label, asks)
    }
    let others: Vec<&Name> =
        ports.list.iter().map(|other| &other.label).filter(|label| **label != port.label).collect();
    conjuncts(constraint).iter().find_map(|part| refused(part, &env, frame, now, &others))
}

/// What a part of a constraint says, if it is not true and not about another partner.
fn refused(part: &Expr, env: &Env<'_>, frame: FrameId, now: i64, others: &[&Name]) -> Option<String> {
    let context = Context { now, ..Context::default() };
    match eval(part, env, frame, &context) {
        Ok(value) if value.is_true() => None,
        Ok(Value::Undefined | Value::Error) if is_about(part, others) => None,
        Ok(value) => Some(format!("`{part}` is {}", value.canonical())),
        Err(exhausted) => Some(format!("`{part}`: {exhausted}")),
    }
}

/// Whether an expression reads something of a partner at another port.
fn is_about(part: &Expr, others: &[&Name]) -> bool {
    references(part).iter().filter_map(|path| path.first()).any(|first| others.contains(&first) || *first == "Members")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(ad: &str, requester: &Json) -> Choice {
        let ad = classad::parse_ad(ad, Dialect::Gangmatch).unwrap();
        choose(&ad, &serde_json::from_value(requester.clone()).unwrap(), 1_795_000_000)
    }

    #[test]
    fn the_ad_judges_whoever_asks_on_its_own_values() {
        let machine = |load: &str| {
            format!(
                "[LoadAvg = {load}; LastInput = 1794999000; Requirements = LoadAvg < 0.3 && time() - LastInput > 15*60 \
                && other.Owner != \"riffraff\"]"
            )
        };
        let asks = json!({"Owner": "raman"});
        assert_eq!(judged(&machine("0.1"), &asks), Choice::Yes);
        assert_eq!(judged(&machine("0.5"), &asks), Choice::no("`LoadAvg < 0.3` is false"));
        assert_eq!(
            judged(&machine("0.1"), &json!({"Owner": "riffraff"})),
            Choice::no("`other.Owner != \"riffraff\"` is false")
        );
        assert_eq!(judged(&machine("0.1"), &json!({})), Choice::no("`other.Owner != \"riffraff\"` is undefined"));
    }

    #[test]
    fn values_that_json_cannot_say_are_read_as_what_they_are() {
        let ad = "[Requirements = other.Weight / 2 == 0.5 && other.Tags[0] == \"x\"]";
        assert_eq!(judged(ad, &json!({"Weight": "/Expr(1.0)/", "Tags": "/Expr({ \"x\" })/"})), Choice::Yes);
        assert_eq!(
            judged(ad, &json!({"Weight": 1, "Tags": "/Expr({ \"x\" })/"})),
            Choice::no("`other.Weight / 2 == 0.5` is false")
        );
    }

    #[test]
    fn what_is_about_partners_at_other_ports_has_been_looked_at_by_others() {
        let station = "[Ports = {[Label = tool; Constraint = tool.App == \"cad\"], \
            [Label = user; Constraint = user.Owner == \"raman\" && tool.Seats > 1 && Members[0].Name == \"x\"]}]";
        assert_eq!(judged(station, &json!({"Owner": "raman"})), Choice::Yes);
        let Choice::No(why) = judged(station, &json!({"Owner": "other"})) else { panic!("it is somebody else") };
        assert_eq!(why, "`user.Owner == \"raman\"` is false");
    }

    #[test]
    fn others_are_told_why_only_if_the_owner_discloses_it() {
        let (condition, failure) = ("`LoadAvg < 0.3` is false", "lmutil does not answer");
        for (is_at_home, disclosure, is_told) in [
            (true, Disclosure::Counts, true),
            (true, Disclosure::Full, true),
            (false, Disclosure::Full, true),
            (false, Disclosure::Counts, false),
        ] {
            let reader = Reader { is_at_home, disclosure };
            let told = |choice: &Choice| choice.refusal(&reader).unwrap();
            assert_eq!(told(&Choice::no(condition)) == condition, is_told, "{reader:?}");
            let unmeasured = told(&Choice::Unmeasured(failure.to_owned()));
            assert_eq!(unmeasured == failure, is_told, "{reader:?}");
            assert!(is_told || unmeasured.contains("cannot measure"), "{unmeasured}");
            assert_eq!(Choice::Yes.refusal(&reader), None);
        }
    }

    #[test]
    fn an_ad_without_a_constraint_takes_nobody() {
        assert_eq!(judged("[A = 1]", &json!({})), Choice::no("the ad has no constraint"));
    }
}
