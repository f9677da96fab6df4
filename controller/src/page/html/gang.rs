//! A gang as a drawing of its tree, and as a table.

use maud::{Markup, html};

use super::{Frame, named, plain, shown, state};
use crate::page::view::gang::{GangMember, GangView, Position};

/// A box of a member, and the room around it.
const BOX: (usize, usize) = (240, 66);
const ROOM: (usize, usize) = (24, 46);
/// The most characters of a name in a box; the table has all of them.
const NAME_MAX: usize = 31;

/// The page about the gang of a Match.
pub(crate) fn page(frame: &Frame, gang: &GangView) -> Markup {
    let content = html! {
        section aria-label="Summary" {
            dl {
                dt { "Decision" } dd { (state(&gang.decision)) }
                @if !gang.reason.is_empty() { dt { "Reason" } dd { (shown(&gang.reason)) } }
                @if !gang.message.is_empty() { dt { "Message" } dd { (shown(&gang.message)) } }
                dt { "Rank" } dd { (shown(&gang.rank)) }
            }
        }
        (section(gang))
    };
    frame.page(&format!("Match {}", gang.key), &content)
}

/// The drawing and the table.
pub(super) fn section(gang: &GangView) -> Markup {
    html! {
        section aria-labelledby="gang" {
            h2 id="gang" { "Gang" }
            div class="scroll" tabindex="0" role="region" aria-label="The gang as a tree" { (drawing(gang)) }
            div class="scroll" tabindex="0" role="region" aria-label="The members of the gang" {
                table {
                    caption { "The members of the gang, " (gang.members.len()) " in all" }
                    thead { tr { th scope="col" { "Member" } th scope="col" { "Kind" } th scope="col" { "Port" } th scope="col" { "Partner of" } th scope="col" { "Holds" } } }
                    tbody {
                        @for member in &gang.members {
                            tr {
                                th scope="row" class="key" { (link(member)) }
                                td { (shown(&member.kind)) }
                                td { (shown(&member.port)) }
                                td { @if let Some(parent) = member.parent.and_then(|parent| gang.members.get(parent)) { (shown(&parent.key.to_string())) } }
                                td { (shown(&member.allocation)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn link(member: &GangMember) -> Markup {
    match member.kind.as_str() {
        "Job" => named(member.is_seen.then_some("job"), "", &member.key),
        "Machine" => named(member.is_seen.then_some("offer"), "machine", &member.key),
        "License" => named(member.is_seen.then_some("offer"), "license", &member.key),
        _ => named(None, "", &member.key),
    }
}

/// The left upper corner of a box.
fn corner(position: Position) -> (usize, usize) {
    (position.across * (BOX.0 + ROOM.0) / 2 + 2, position.down * (BOX.1 + ROOM.1) + 2)
}

fn drawing(gang: &GangView) -> Markup {
    let positions = gang.positions();
    let corners: Vec<(usize, usize)> = positions.iter().map(|position| corner(*position)).collect();
    let width = corners.iter().map(|(x, _)| x + BOX.0 + 2).max().unwrap_or(0);
    let height = corners.iter().map(|(_, y)| y + BOX.1 + 2).max().unwrap_or(0);
    let offers = gang.members.len().saturating_sub(1);
    let words = format!("A tree: the job, and below it the {offers} offers that it holds; the table has the same");
    html! {
        svg class="tree" width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(words) {
            @for (member, (x, y)) in gang.members.iter().zip(&corners) {
                @if let Some((parent_x, parent_y)) = member.parent.and_then(|parent| corners.get(parent)) {
                    (edge((parent_x + BOX.0 / 2, parent_y + BOX.1), (x + BOX.0 / 2, *y)))
                }
            }
            @for (index, (member, (x, y))) in gang.members.iter().zip(&corners).enumerate() {
                g {
                    title { (plain(&format!("{} {}", member.kind, member.key))) }
                    rect class=(if index == 0 { "box root" } else { "box" }) x=(x) y=(y) width=(BOX.0) height=(BOX.1) rx="8" {}
                    text class="kind" x=(x + 12) y=(y + 20) { (plain(&heading(member))) }
                    text class="strong" x=(x + 12) y=(y + 38) { (cut(&member.key.name)) }
                    text class="kind" x=(x + 12) y=(y + 55) { (cut(&below(member))) }
                }
            }
        }
    }
}

fn heading(member: &GangMember) -> String {
    if member.port.is_empty() { member.kind.clone() } else { format!("{} at port {}", member.kind, cut(&member.port)) }
}

fn below(member: &GangMember) -> String {
    let namespace = &member.key.namespace;
    if member.allocation.is_empty() { namespace.clone() } else { format!("{namespace}: {}", member.allocation) }
}

fn edge(from: (usize, usize), to: (usize, usize)) -> Markup {
    let middle = usize::midpoint(from.1, to.1);
    let path = format!("M{} {} C{} {middle} {} {middle} {} {}", from.0, from.1, from.0, to.0, to.0, to.1);
    html! { path class="edge" d=(path) {} }
}

fn cut(text: &str) -> String {
    crate::status::cut(&plain(text), NAME_MAX)
}
