//! Turns requests with JSON bodies into the API server's answers: over one connection, and not by a process for each.

use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use testbed::Access;
use tokio::runtime::Runtime;

/// What the resources of our API group have in common.
pub(crate) const GROUP: &str = "/apis/gangmatch.dev/v1alpha1";

/// A client of the API server, as its admin.
pub(crate) struct Requests {
    client: Client,
    runtime: Runtime,
}

/// The API server's no.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// The HTTP status.
    pub(crate) code: u16,
    pub(crate) message: String,
}

impl Refusal {
    /// Whether the object itself is the reason: malformed, too large or invalid.
    pub(crate) fn is_about_the_object(&self) -> bool {
        [400, 413, 422].contains(&self.code)
    }
}

impl Requests {
    pub(crate) fn of(access: &Access) -> Requests {
        let runtime = Runtime::new().unwrap();
        let client = runtime.block_on(async {
            let file = Kubeconfig::read_from(access.kubeconfig()).unwrap();
            let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
            Client::try_from(config).unwrap()
        });
        Requests { client, runtime }
    }

    pub(crate) fn get(&self, path: &str) -> Result<Value, Refusal> {
        self.send("GET", path, "application/json", &Value::Null)
    }

    /// The items of a list.
    pub(crate) fn list(&self, path: &str) -> Vec<Value> {
        self.get(path).unwrap().get("items").and_then(Value::as_array).cloned().unwrap_or_default()
    }

    pub(crate) fn create(&self, path: &str, object: &Value) -> Result<Value, Refusal> {
        self.send("POST", path, "application/json", object)
    }

    /// A JSON Patch.
    pub(crate) fn patch(&self, path: &str, operations: &Value) -> Result<Value, Refusal> {
        self.send("PATCH", path, "application/json-patch+json", operations)
    }

    /// Deletes an object, or all of a list, as kubectl does; what is not there is deleted already.
    pub(crate) fn delete(&self, path: &str) {
        match self.send("DELETE", path, "application/json", &json!({"propagationPolicy": "Background"})) {
            Ok(_) => {}
            Err(refusal) => assert_eq!(refusal.code, 404, "DELETE {path}: {}", refusal.message),
        }
    }

    fn send(&self, method: &str, path: &str, content: &str, body: &Value) -> Result<Value, Refusal> {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = Request::builder().method(method).uri(path).header("Content-Type", content).body(bytes).unwrap();
        match self.runtime.block_on(self.client.request::<Value>(request)) {
            Ok(answer) => Ok(answer),
            Err(kube::Error::Api(status)) => Err(Refusal { code: status.code, message: status.message.clone() }),
            Err(error) => panic!("{method} {path}: {error}"),
        }
    }
}
