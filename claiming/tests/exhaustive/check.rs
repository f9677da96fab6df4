//! What must hold in every state, and when everything is given back.

use claiming::Vote;

use crate::setting::{Setting, Workload};
use crate::world::{Batch, Offer, Register, State};

/// The first invariant that this state breaks.
pub(crate) fn broken(state: &State, setting: &Setting) -> Option<&'static str> {
    if state.torn.is_some() {
        return state.torn;
    }
    if state.offers.iter().any(|offer| offer.entries.iter().flatten().count() > 1) {
        return Some("I1: an offer is held twice");
    }
    let works: Vec<bool> = (0..setting.gangs.len()).map(|gang| is_at_work(state, setting, gang)).collect();
    for gang in 0..setting.gangs.len() {
        let committed = state.registers[gang] == Register::Committed;
        for other in 0..gang {
            let same_job = job(setting, gang) == job(setting, other);
            if same_job && committed && state.registers[other] == Register::Committed {
                return Some("I2: two claims of one job stand");
            }
            if same_job && works[gang] && works[other] {
                return Some("I2: two gangs work for one job");
            }
        }
        if committed && !is_whole(state, setting, gang, true) {
            return Some("I3: a claim stands without all its members");
        }
        let never_reported =
            |offer: &Offer| offer.works[gang] && offer.entries[gang].is_some_and(|entry| !entry.committed);
        if (works[gang] && !state.stood[gang]) || state.offers.iter().any(never_reported) {
            return Some("I4: work without a commit");
        }
        if works[gang] && !is_whole(state, setting, gang, false) {
            return Some("I4: work goes on and not everything is held");
        }
    }
    for offer in 0..state.offers.len() {
        if (0..setting.gangs.len()).filter(|gang| occupies(state, setting, *gang, offer)).count() > 1 {
            return Some("I5: two gangs work on one offer");
        }
    }
    None
}

fn job(setting: &Setting, gang: usize) -> (usize, u8) {
    (setting.gangs[gang].root, setting.gangs[gang].root_life)
}

/// Whether its batch Job or its pods run.
fn runs(state: &State, setting: &Setting, gang: usize) -> bool {
    let own = |of: u8| usize::from(of) == gang;
    state.work.iter().any(|place| match setting.workload {
        Workload::None => false,
        Workload::Pods => place.pod.is_some_and(own),
        Workload::Template | Workload::Reference => place.batch == Batch::Started && own(place.of),
    })
}

/// An agent whose offer was deleted may not have noticed yet. Nothing on the server tells of it, and nobody waits for it; but
/// an offer that is made again waits (I5).
fn is_at_work(state: &State, setting: &Setting, gang: usize) -> bool {
    let mut agents = setting.gangs[gang].legs.iter().filter(|leg| state.offers[leg.offer].life == leg.life);
    runs(state, setting, gang) || agents.any(|leg| state.offers[leg.offer].works[gang])
}

fn occupies(state: &State, setting: &Setting, gang: usize, offer: usize) -> bool {
    let member = setting.gangs[gang].legs.iter().any(|leg| leg.offer == offer);
    state.offers[offer].works[gang] || (member && runs(state, setting, gang))
}

/// Whether everything that is still there of its members holds it; and, if asked, has said yes.
fn is_whole(state: &State, setting: &Setting, gang: usize, voted: bool) -> bool {
    let wanted = setting.gangs[gang];
    let root = state.roots[wanted.root];
    let root_holds = root.life != wanted.root_life || root.claim == Some(gang as u8);
    let mut legs = wanted.legs.iter();
    root_holds
        && legs.all(|leg| {
            let offer = &state.offers[leg.offer];
            let entry = offer.entries[gang];
            offer.life != leg.life || entry.is_some_and(|entry| !voted || entry.vote == Vote::Accepted)
        })
}

/// Whether nothing is held and nobody is at work.
pub(crate) fn is_clean(state: &State) -> bool {
    let ledgers = state.offers.iter().all(|offer| offer.entries.iter().all(Option::is_none));
    let roots = state.roots.iter().all(|root| root.claim.is_none());
    let work = state.work.iter().all(|place| {
        let idle = matches!(place.batch, Batch::None | Batch::Finished);
        idle && place.pod.is_none() && place.pod_under_way.is_none()
    });
    ledgers && roots && work && !state.offers.iter().any(|offer| offer.works.contains(&true))
}
