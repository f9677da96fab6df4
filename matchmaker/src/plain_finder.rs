//! The plain search as a [`Finder`].

use crate::explain::{contradiction, tried};
use crate::finder::{Answer, Asked, Explained, Finder, Round, Turn};
use crate::plain::{Found, best};

/// Finds gangs by the plain search.
#[derive(Debug, Default)]
pub struct Plain {
    explained: Explained,
}

impl Finder for Plain {
    type Run<'s> = ();

    fn begin(&mut self, _: &mut Round<'_>) {}

    fn best(&mut self, (): &mut (), turn: &Turn<'_>, round: &mut Round<'_>) -> Found {
        let (config, now) = (round.config, round.now);
        best(round.pool(), turn.ad, &turn.root.exclusions, config, now)
    }

    fn took(&mut self, (): &mut (), _: &mut Round<'_>) {}

    fn end(&mut self, (): &mut (), _: &mut Round<'_>) {}

    fn why(&mut self, (): &mut (), asked: &Asked<'_>, round: &mut Round<'_>) -> Answer {
        if asked.steps_max == 0 {
            return Answer::for_nothing(asked);
        }
        let (config, now) = (round.config, round.now);
        tried(asked, round.pool(), config, now, &contradiction)
    }

    fn explained(&mut self) -> &mut Explained {
        &mut self.explained
    }
}
