//! Amounts as bars, and seats over time as curves: drawings with words for those who do not see them.

use maud::{Markup, html};

use super::{number, plain};
use crate::page::history::{EVERY_SECONDS, SeatSample};
use crate::page::policy::of_resource;
use crate::page::view::offers::Amount;

const BAR: i64 = 110;
const CURVE: (i64, i64) = (150, 30);

/// A bar of what is claimed, used outside the cluster, and free; with the numbers beside it.
pub(super) fn bar(amount: &Amount) -> Markup {
    let Amount { resource, all, claimed, external } = amount;
    let width = |part: i64| (part.max(0).saturating_mul(BAR) / (*all).max(1)).min(BAR);
    let claimed_width = width(*claimed);
    let external_width = width(claimed.saturating_add(*external)).saturating_sub(claimed_width);
    let outside = if *external > 0 { format!(", {external} outside the cluster") } else { String::new() };
    html! {
        span class="meter" {
            svg width=(BAR) height="10" viewBox={ "0 0 " (BAR) " 10" } aria-hidden="true" {
                rect class="free" width=(BAR) height="10" rx="3" {}
                rect class="taken" width=(claimed_width) height="10" rx="3" {}
                rect class="outside" x=(claimed_width) width=(external_width) height="10" rx="3" {}
            }
            span { (number(*claimed)) " of " (number(*all)) " " bdi { (plain(of_resource(resource, *all))) } (outside) }
        }
    }
}

/// What the colours of bars mean.
pub(super) fn legend() -> Markup {
    let mark = |class: &str| html! { svg width="10" height="10" aria-hidden="true" { rect class=(class) width="10" height="10" rx="2" {} } };
    html! {
        p class="legend" {
            span { (mark("taken")) " claimed" } span { (mark("outside")) " used outside the cluster" } span { (mark("free")) " free" }
        }
    }
}

/// The seats that were taken over the last hours.
pub(super) fn curve(samples: &[SeatSample]) -> Markup {
    let (width, height) = CURVE;
    let most = samples.iter().map(|seats| seats.all.max(seats.taken())).max().unwrap_or(0).max(1);
    let steps = i64::try_from(samples.len().saturating_sub(1)).unwrap_or(1).max(1);
    let at = |index: usize, level: i64| {
        let across = i64::try_from(index).unwrap_or(0).saturating_mul(width) / steps;
        let up = level.max(0).saturating_mul(height - 4) / most;
        format!("{across},{}", height - 2 - up)
    };
    let points: Vec<String> = samples.iter().enumerate().map(|(index, seats)| at(index, seats.taken())).collect();
    let limit = samples.last().map_or(0, |seats| height - 2 - seats.all.max(0).saturating_mul(height - 4) / most);
    let minutes = samples.len().saturating_sub(1) as u64 * EVERY_SECONDS / 60;
    let taken = || samples.iter().map(|seats| seats.taken());
    let words = match (taken().min(), taken().max(), samples.last()) {
        (Some(least), Some(most), Some(now)) => format!(
            "Seats taken in the last {minutes} minutes: between {least} and {most}, now {} of {}",
            now.taken(),
            now.all
        ),
        _ => String::new(),
    };
    html! {
        @if samples.len() < 2 { span class="soft" { "not yet" } } @else {
            svg width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(words) {
                title { (words) }
                line class="limit" x1="0" x2=(width) y1=(limit) y2=(limit) {}
                polygon class="area" points={ "0," (height - 2) " " (points.join(" ")) " " (width) "," (height - 2) } {}
                polyline class="curve" points=(points.join(" ")) {}
            }
        }
    }
}
