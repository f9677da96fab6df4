//! Operations, one by one, into a guarded JSON Patch.

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation, RemoveOperation, ReplaceOperation, TestOperation};
use serde::Serialize;
use serde_json::Value;

/// A JSON Patch in the making. Paths are lists of names; they are escaped here.
#[derive(Debug, Default)]
pub(crate) struct Ops(Vec<PatchOperation>);

impl Ops {
    pub(crate) fn test(mut self, path: &[&str], value: impl Into<Value>) -> Ops {
        self.0.push(PatchOperation::Test(TestOperation { path: pointer(path), value: value.into() }));
        self
    }

    pub(crate) fn add(mut self, path: &[&str], value: impl Into<Value>) -> Ops {
        self.0.push(PatchOperation::Add(AddOperation { path: pointer(path), value: value.into() }));
        self
    }

    pub(crate) fn replace(mut self, path: &[&str], value: impl Into<Value>) -> Ops {
        self.0.push(PatchOperation::Replace(ReplaceOperation { path: pointer(path), value: value.into() }));
        self
    }

    pub(crate) fn remove(mut self, path: &[&str]) -> Ops {
        self.0.push(PatchOperation::Remove(RemoveOperation { path: pointer(path) }));
        self
    }

    /// What turns one status into another, field by field: only fields that differ are named.
    pub(crate) fn status<S: Serialize>(self, from: &S, to: &S) -> Ops {
        self.fields("status", from, to)
    }

    /// The same for a specification.
    pub(crate) fn spec<S: Serialize>(self, from: &S, to: &S) -> Ops {
        self.fields("spec", from, to)
    }

    fn fields<S: Serialize>(mut self, part: &str, from: &S, to: &S) -> Ops {
        let (from, to) = (fields(from), fields(to));
        for (name, value) in &to {
            if from.get(name) != Some(value) {
                self = self.add(&[part, name], value.clone());
            }
        }
        for name in from.keys().filter(|name| !to.contains_key(*name)) {
            self = self.remove(&[part, name]);
        }
        self
    }

    /// Whether it would write anything.
    pub(crate) fn writes(&self) -> bool {
        self.0.iter().any(|op| !matches!(op, PatchOperation::Test(_)))
    }

    /// The patch of all these operations, in their order.
    pub(crate) fn build(self) -> Patch {
        Patch(self.0)
    }
}

fn pointer(path: &[&str]) -> PointerBuf {
    PointerBuf::from_tokens(path.iter().copied())
}

fn fields<S: Serialize>(status: &S) -> serde_json::Map<String, Value> {
    match serde_json::to_value(status) {
        Ok(Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::JobStatus;
    use serde_json::json;

    #[test]
    fn keys_are_escaped() {
        let patch = Ops::default().add(&["status", "shared", "a/b~c"], 1).build();
        assert_eq!(
            serde_json::to_value(patch).unwrap(),
            json!([{"op": "add", "path": "/status/shared/a~1b~0c", "value": 1}])
        );
    }

    #[test]
    fn only_what_differs_is_written() {
        let from = JobStatus { why: Some("busy".into()), attempts: Some(1), ..JobStatus::default() };
        let to = JobStatus { members: Some("cpu=a/b".into()), attempts: Some(1), ..JobStatus::default() };
        let patch = Ops::default().test(&["metadata", "uid"], "u").status(&from, &to);
        assert!(patch.writes());
        assert_eq!(
            serde_json::to_value(patch.build()).unwrap(),
            json!([
                {"op": "test", "path": "/metadata/uid", "value": "u"},
                {"op": "add", "path": "/status/members", "value": "cpu=a/b"},
                {"op": "remove", "path": "/status/why"},
            ])
        );
        assert!(!Ops::default().test(&["metadata", "uid"], "u").status(&to, &to).writes());
    }
}
