//! An HTTP request into what it asks for.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Method;
use serde_json::Value;

use crate::protobuf::{PROTOBUF, namespace};

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read several.
    List,
    /// Be told of changes.
    Watch,
    /// POST.
    Create,
    /// PUT.
    Replace,
    /// PATCH.
    Patch,
    /// DELETE of one object.
    Delete,
}

impl Verb {
    /// Whether it changes anything.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Verb::Create | Verb::Replace | Verb::Patch | Verb::Delete)
    }
}

/// A request, taken apart.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is to be done.
    pub verb: Verb,
    /// The API group; empty for the core.
    pub group: String,
    /// Its version.
    pub version: String,
    /// The kind, in the plural.
    pub plural: String,
    /// The namespace; empty for all, or for none.
    pub namespace: String,
    /// The object; empty for all, or for a new one.
    pub name: String,
    /// `status`; empty for the object itself.
    pub subresource: String,
    /// The rest of the address.
    pub query: BTreeMap<String, String>,
    /// What kind of patch it is.
    pub content_type: String,
    /// What was sent.
    pub body: Bytes,
    /// Which form the answer may have.
    pub accept: String,
    /// The user who asks; empty if no one has authenticated.
    pub user: String,
}

impl Call {
    /// Takes a request apart; `None` for what no API server would serve.
    #[must_use]
    pub fn of(method: &Method, uri: &http::Uri, content_type: &str, body: Bytes) -> Option<Call> {
        let mut parts = uri.path().split('/').filter(|part| !part.is_empty()).map(unescaped);
        let (group, version) = match parts.next()?.as_str() {
            "api" => (String::new(), parts.next()?),
            "apis" => (parts.next()?, parts.next()?),
            _ => return None,
        };
        let (mut namespace, mut plural) = (String::new(), parts.next()?);
        let mut rest: Vec<String> = parts.collect();
        if plural == "namespaces" && rest.len() >= 2 && rest.get(1).is_some_and(|part| part != "status") {
            namespace = rest.remove(0);
            plural = rest.remove(0);
        }
        let mut rest = rest.into_iter();
        let (name, subresource) = (rest.next().unwrap_or_default(), rest.next().unwrap_or_default());
        let query: BTreeMap<String, String> = uri.query().unwrap_or("").split('&').filter_map(pair).collect();
        let watches = query.get("watch").is_some_and(|watch| watch == "true" || watch == "1");
        let verb = match (method.as_str(), name.is_empty()) {
            ("GET", _) if watches => Verb::Watch,
            ("GET", true) => Verb::List,
            ("GET", false) => Verb::Get,
            ("POST", true) => Verb::Create,
            ("PUT", false) => Verb::Replace,
            ("PATCH", false) => Verb::Patch,
            ("DELETE", false) => Verb::Delete,
            _ => return None,
        };
        let content_type = content_type.split(';').next().unwrap_or("").trim().to_owned();
        Some(Call {
            verb,
            group,
            version,
            plural,
            namespace,
            name,
            subresource,
            query,
            content_type,
            body,
            accept: String::new(),
            user: String::new(),
        })
    }

    /// What was sent, as JSON.
    #[must_use]
    pub fn json(&self) -> Option<Value> {
        if self.content_type == PROTOBUF { namespace(&self.body) } else { serde_json::from_slice(&self.body).ok() }
    }

    /// A word of the address.
    #[must_use]
    pub fn asks(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {}", self.verb, self.plural)?;
        if !self.subresource.is_empty() {
            write!(f, "/{}", self.subresource)?;
        }
        if !self.name.is_empty() {
            write!(f, " {}", self.name)?;
        }
        Ok(())
    }
}

fn pair(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    (!name.is_empty()).then(|| (unescaped(name), unescaped(value)))
}

/// Percent-encoding undone.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16)).unwrap_or(0);
                let (high, low) = (digit(rest.next()), digit(rest.next()));
                bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(method: &Method, uri: &str) -> Option<Call> {
        Call::of(method, &uri.parse().unwrap(), "application/json; charset=utf-8", Bytes::new())
    }

    #[test]
    fn paths_are_taken_apart() {
        let status = call(&Method::PATCH, "/apis/gangmatch.dev/v1alpha1/namespaces/n/jobs/j/status?fieldManager=a%20b");
        let status = status.unwrap();
        assert_eq!((status.verb, status.plural.as_str(), status.namespace.as_str()), (Verb::Patch, "jobs", "n"));
        assert_eq!((status.name.as_str(), status.subresource.as_str()), ("j", "status"));
        assert_eq!((status.asks("fieldManager"), status.content_type.as_str()), ("a b", "application/json"));
        let all = call(&Method::GET, "/api/v1/pods?&watch=true&resourceVersion=7").unwrap();
        assert_eq!((all.verb, all.group.as_str(), all.asks("resourceVersion")), (Verb::Watch, "", "7"));
        let namespace = call(&Method::GET, "/api/v1/namespaces/n").unwrap();
        assert_eq!(
            (namespace.verb, namespace.plural.as_str(), namespace.name.as_str()),
            (Verb::Get, "namespaces", "n")
        );
        assert!(call(&Method::GET, "/version").is_none() && call(&Method::DELETE, "/api/v1/pods").is_none());
    }
}
