//! The picture of the cache, and what a viewer may list, into what a page shows: values without any markup.

pub(crate) mod gang;
pub(crate) mod jobs;
pub(crate) mod offers;
pub(crate) mod overview;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::ResourceExt;

use crate::page::sight::{Kind, Sight};

/// The rows of one page.
pub(crate) const ROWS_MAX: usize = 100;

/// What a request asks for, besides its path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query {
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) kind: Option<String>,
    /// A phase of jobs, or a state of offers.
    pub(crate) state: Option<String>,
    /// From 1.
    pub(crate) page: usize,
}

impl Query {
    /// The query of an address; what is not known in it is ignored.
    pub(crate) fn parse(text: &str) -> Query {
        let mut query = Query { page: 1, ..Query::default() };
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            let value = Some(value.into_owned()).filter(|value| !value.is_empty() && value.len() <= 253);
            match name.as_ref() {
                "namespace" => query.namespace = value,
                "name" => query.name = value,
                "kind" => query.kind = value,
                "state" => query.state = value,
                "page" => query.page = value.and_then(|value| value.parse().ok()).unwrap_or(1).max(1),
                _ => {}
            }
        }
        query
    }
}

/// The objects that a viewer may list, of one namespace if one was asked for.
fn visible<'p, K: ResourceExt>(
    all: &'p [Arc<K>],
    kind: Kind,
    sight: &'p Sight,
    wanted: Option<&'p str>,
) -> impl Iterator<Item = &'p K> {
    all.iter().map(Arc::as_ref).filter(move |object| {
        let namespace = object.meta().namespace.as_deref().unwrap_or_default();
        wanted.is_none_or(|wanted| wanted == namespace) && sight.sees(kind, namespace)
    })
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listing<R> {
    pub(crate) rows: Vec<R>,
    /// How many there are in all.
    pub(crate) total: usize,
    /// From 1.
    pub(crate) page: usize,
    pub(crate) pages: usize,
}

/// The page of a list that is asked for; only its rows are made.
fn listing<T: Copy, R>(all: &[T], page: usize, row: impl Fn(T) -> R) -> Listing<R> {
    let pages = all.len().div_ceil(ROWS_MAX).max(1);
    let page = page.clamp(1, pages);
    let rows = all.iter().skip((page - 1) * ROWS_MAX).take(ROWS_MAX).map(|item| row(*item)).collect();
    Listing { rows, total: all.len(), page, pages }
}

/// A condition of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConditionRow {
    pub(crate) type_: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) since_seconds: i64,
}

fn condition_rows(conditions: &[Condition], now: Timestamp) -> Vec<ConditionRow> {
    let row = |condition: &Condition| ConditionRow {
        type_: condition.type_.clone(),
        status: condition.status.clone(),
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        since_seconds: seconds_since(Some(condition.last_transition_time.0), now),
    };
    conditions.iter().map(row).collect()
}

fn age_seconds(metadata: &ObjectMeta, now: Timestamp) -> i64 {
    seconds_since(metadata.creation_timestamp.as_ref().map(|time| time.0), now)
}

fn seconds_since(time: Option<Timestamp>, now: Timestamp) -> i64 {
    time.map_or(0, |time| now.duration_since(time).as_secs().max(0))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_and_what_is_odd_in_it_is_ignored() {
        let query = Query::parse("namespace=eda&name=a%20b&page=3&state=&page=x&other=1");
        let expected = Query { namespace: Some("eda".into()), name: Some("a b".into()), page: 1, ..Query::default() };
        assert_eq!(query, expected);
        assert_eq!(
            Query::parse(&format!("namespace={}&page=-4", "x".repeat(300))),
            Query { page: 1, ..Query::default() }
        );
    }

    #[test]
    fn a_list_is_shown_in_parts() {
        let all: Vec<usize> = (0..250).collect();
        let part = |page| listing(&all, page, |item| item);
        assert_eq!((part(1).rows.len(), part(3).rows.first(), part(3).rows.len()), (100, Some(&200), 50));
        assert_eq!((part(9).page, part(9).pages, part(9).total), (3, 3, 250));
        assert_eq!((listing(&[] as &[usize], 1, |item| item).pages), 1);
    }
}
