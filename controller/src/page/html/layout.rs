//! The frame of every page, and the pages without data: signing in, and notices.

use jiff::Timestamp;
use maud::{DOCTYPE, Markup, html};

use super::{address, plain, shown};
use crate::page::view::{Listing, Query};

/// Which page it is, for the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Here {
    Overview,
    Jobs,
    Machines,
    Licenses,
    /// A page that the navigation does not name.
    Other,
}

/// What surrounds a page.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) here: Here,
    /// The name of the viewer.
    pub(crate) viewer: String,
    /// Whether the viewer has signed in with the form, and so can sign out.
    pub(crate) has_session: bool,
    /// There are namespaces of which it is not known whether the viewer may list anything in them.
    pub(crate) is_partial: bool,
    /// The namespace to which the viewer has limited the pages.
    pub(crate) namespace: Option<String>,
    pub(crate) taken_at: Timestamp,
}

const PAGES: [(Here, &str, &str); 4] = [
    (Here::Overview, "./", "Overview"),
    (Here::Jobs, "jobs", "Jobs"),
    (Here::Licenses, "licenses", "Licenses"),
    (Here::Machines, "machines", "Machines"),
];

fn document(title: &str, header: &Markup, main: &Markup, footer: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (plain(title)) " - gangmatch" }
                link rel="stylesheet" href="style.css";
                link rel="icon" href="data:,";
            }
            body {
                a class="skip" href="#main" { "Skip to content" }
                header { div class="bar" { span class="brand" { "gangmatch" } (header) } }
                main id="main" { h1 { (shown(title)) } (main) }
                footer { (footer) }
            }
        }
    }
}

impl Frame {
    /// The page with this title and content.
    pub(crate) fn page(&self, title: &str, content: &Markup) -> Markup {
        let namespace = self.namespace.as_deref().unwrap_or_default();
        let header = html! {
            nav aria-label="Pages" {
                ul {
                    @for (here, page, name) in PAGES {
                        li { a href=(address(page, &[("namespace", namespace)])) aria-current=[(here == self.here).then_some("page")] { (name) } }
                    }
                }
            }
            div class="who" {
                span { "You are " bdi { (plain(&self.viewer)) } }
                @if self.has_session { form method="post" action="session-end" { button class="quiet" type="submit" { "Sign out" } } }
            }
        };
        let main = html! {
            @if self.is_partial {
                p class="note" { "There are more namespaces than are looked at for you at once. Enter the name of a namespace below to see it." }
            }
            (content)
        };
        let footer = html! {
            p {
                "State of " time datetime=(self.taken_at.to_string()) { (self.taken_at.strftime("%Y-%m-%d %H:%M:%S")) " UTC" }
                ". Reload the page for a new one. You see what " code { "kubectl get" } " would show you, and nothing can be changed here."
            }
        };
        document(title, &header, &main, &footer)
    }
}

/// A page that says that something cannot be shown.
pub(crate) fn notice(title: &str, words: &str) -> Markup {
    document(title, &html! {}, &html! { p { (shown(words)) } p { a href="./" { "Overview" } } }, &html! {})
}

/// The page for viewers who have not said who they are. `problem`: what was wrong with what they said.
pub(crate) fn sign_in(problem: Option<&str>) -> Markup {
    let main = html! {
        @if let Some(problem) = problem { p class="note" role="alert" { (shown(problem)) } }
        section {
            p { "This page shows what you may list with kubectl. To say who you are, enter a token of the cluster. It is kept in the memory of this replica for an hour at most; your browser gets a random session number." }
            form class="token" method="post" action="session" {
                label for="token" { "Token" }
                input id="token" name="token" type="password" autocomplete="off" spellcheck="false" required maxlength="16384";
                button type="submit" { "Sign in" }
            }
        }
        section aria-labelledby="how" {
            h2 id="how" { "How to get a token" }
            p { "For a ServiceAccount, such as one with the role " code { "view" } " in your namespace:" }
            pre { "kubectl create token NAME -n NAMESPACE" }
            p { "Programs send the token with each request instead:" }
            pre { "curl -H \"Authorization: Bearer $TOKEN\" http://localhost:8081/" }
        }
    };
    document("Sign in", &html! {}, &main, &html! {})
}

/// The form that limits a list to a namespace and a state.
pub(super) fn filter(page: &str, query: &Query, states: &[&str]) -> Markup {
    html! {
        form class="filter" method="get" action=(page) role="search" aria-label="Filter" {
            label { "Namespace" input name="namespace" value=[query.namespace.as_deref().map(plain)] placeholder="all" autocomplete="off" maxlength="63"; }
            @if !states.is_empty() {
                label {
                    "State"
                    select name="state" {
                        option value="" { "all" }
                        @for state in states { option value=(state) selected[query.state.as_deref() == Some(*state)] { (state) } }
                    }
                }
            }
            button type="submit" { "Show" }
        }
    }
}

/// The links to the parts of a list.
pub(super) fn pages<R>(page: &str, query: &Query, list: &Listing<R>) -> Markup {
    let link = |to: usize| {
        let (namespace, state) = (query.namespace.as_deref().unwrap_or(""), query.state.as_deref().unwrap_or(""));
        address(page, &[("namespace", namespace), ("state", state), ("page", &to.to_string())])
    };
    html! {
        @if list.pages > 1 {
            nav class="pages" aria-label="Parts of the list" {
                @if list.page > 1 { a href=(link(list.page - 1)) rel="prev" { "Previous" } }
                span { "Part " (list.page) " of " (list.pages) }
                @if list.page < list.pages { a href=(link(list.page + 1)) rel="next" { "Next" } }
            }
        }
    }
}
