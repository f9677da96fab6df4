//! A request into what becomes of it. Pure: the same requests in the same order meet the same fate.

use std::collections::BTreeMap;

use sampling::Random;

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// It never arrives; the connection breaks.
    Lost,
    /// It arrives, and its answer never does; the connection breaks.
    AnswerLost,
    /// The controller is killed before it arrives.
    KilledBefore,
    /// It arrives; the controller is killed before it hears of it.
    KilledAfter,
    /// It is kept, and arrives when it is let go, whatever has become of the controller.
    Held,
    /// It does not arrive; the server seems to answer with this status.
    Refused(u16),
    /// It arrives; the server seems to answer with this status all the same.
    DoneAndRefused(u16),
}

/// A request, as far as its fate depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestFacts {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The namespace in the path.
    pub namespace: Option<String>,
    /// How many writes in that namespace came before it, and itself; 0 of what is no write.
    pub ordinal: usize,
}

impl RequestFacts {
    /// What is asked for by a method and a path.
    #[must_use]
    pub fn new(method: &str, path: &str) -> RequestFacts {
        let mut parts = path.split(['/', '?']).skip_while(|part| *part != "namespaces").skip(1);
        let namespace = parts.next().filter(|_| parts.next().is_some()).map(str::to_owned);
        RequestFacts { method: method.to_owned(), path: path.to_owned(), namespace, ordinal: 0 }
    }

    /// Whether it changes something, other than who leads.
    #[must_use]
    pub fn is_write(&self) -> bool {
        ["POST", "PUT", "PATCH", "DELETE"].contains(&self.method.as_str()) && !self.path.contains("/leases")
    }

    /// Whether it is answered by a stream of events.
    #[must_use]
    pub fn is_watch(&self) -> bool {
        self.path.contains("watch=")
    }
}

/// Faults by chance.
#[derive(Clone, Debug)]
pub struct Weather {
    /// Of a thousand writes, how many meet one of these.
    pub writes: u64,
    /// Which.
    pub faults: Vec<Fault>,
    /// Of a thousand reads, how many are refused with 429.
    pub reads: u64,
}

/// What becomes of which request.
#[derive(Clone, Debug)]
pub struct FaultPlan {
    ordinals: BTreeMap<String, usize>,
    rules: BTreeMap<(String, usize), Fault>,
    weather: Option<Weather>,
    random: Random,
}

impl FaultPlan {
    /// Nothing happens to anybody, as long as nobody says so.
    #[must_use]
    pub fn new(seed: u64) -> FaultPlan {
        FaultPlan { ordinals: BTreeMap::new(), rules: BTreeMap::new(), weather: None, random: Random::new(seed) }
    }

    /// Injects this into the write with this ordinal in a namespace, once.
    pub fn strike(&mut self, namespace: &str, ordinal: usize, fault: Fault) {
        self.rules.insert((namespace.to_owned(), ordinal), fault);
    }

    /// Lets faults happen by chance from now on, or none any more.
    pub fn set_weather(&mut self, weather: Option<Weather>) {
        self.weather = weather;
    }

    /// How many writes there were in a namespace.
    #[must_use]
    pub fn writes(&self, namespace: &str) -> usize {
        self.ordinals.get(namespace).copied().unwrap_or(0)
    }

    /// Counts a request and says what becomes of it.
    pub fn judge(&mut self, asked: &mut RequestFacts) -> Option<Fault> {
        if asked.is_write()
            && let Some(namespace) = &asked.namespace
        {
            let ordinal = self.ordinals.entry(namespace.clone()).or_default();
            *ordinal += 1;
            asked.ordinal = *ordinal;
            if let Some(fault) = self.rules.remove(&(namespace.clone(), *ordinal)) {
                return Some(fault);
            }
        }
        let weather = self.weather.as_ref()?;
        if asked.is_write() {
            let strikes = self.random.happens(weather.writes);
            return strikes.then(|| self.random.pick(&weather.faults).copied()).flatten();
        }
        let refused = !asked.is_watch() && !asked.path.contains("/leases") && self.random.happens(weather.reads);
        refused.then_some(Fault::Refused(429))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "/apis/gangmatch.dev/v1alpha1/namespaces/here/jobs/j/status?fieldManager=x";

    fn judged(plan: &mut FaultPlan, method: &str, path: &str) -> (usize, Option<Fault>) {
        let mut asked = RequestFacts::new(method, path);
        let fault = plan.judge(&mut asked);
        (asked.ordinal, fault)
    }

    #[test]
    fn writes_are_counted_by_namespace_and_struck_once() {
        let mut plan = FaultPlan::new(1);
        plan.strike("here", 2, Fault::KilledBefore);
        assert_eq!(judged(&mut plan, "PATCH", PATCH), (1, None));
        assert_eq!(judged(&mut plan, "GET", PATCH), (0, None), "a read is none");
        assert_eq!(judged(&mut plan, "PATCH", &PATCH.replace("here", "there")), (1, None), "each namespace by itself");
        assert_eq!(judged(&mut plan, "PATCH", PATCH), (2, Some(Fault::KilledBefore)));
        assert_eq!(judged(&mut plan, "PATCH", PATCH), (3, None));
        assert_eq!((plan.writes("here"), plan.writes("there"), plan.writes("nowhere")), (3, 1, 0));
    }

    #[test]
    fn what_is_no_write_is_known() {
        let write = |method, path| RequestFacts::new(method, path).is_write();
        assert!(write("PATCH", PATCH) && !write("GET", PATCH));
        assert!(
            !write("PUT", "/apis/coordination.k8s.io/v1/namespaces/s/leases/gangmatch"),
            "who leads is another matter"
        );
        assert!(RequestFacts::new("GET", "/apis/gangmatch.dev/v1alpha1/jobs?watch=true&timeoutSeconds=60").is_watch());
        assert_eq!(RequestFacts::new("GET", "/api/v1/namespaces?watch=true").namespace, None);
    }

    #[test]
    fn the_same_seed_brings_the_same_weather() {
        let run = |seed| {
            let mut plan = FaultPlan::new(seed);
            plan.set_weather(Some(Weather { writes: 300, faults: vec![Fault::Lost, Fault::AnswerLost], reads: 0 }));
            (0..200).map(|_| judged(&mut plan, "PATCH", PATCH).1).collect::<Vec<_>>()
        };
        let faults = run(7).into_iter().flatten().count();
        assert!((30..=90).contains(&faults), "{faults} of 200");
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
    }
}
