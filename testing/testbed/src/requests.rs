//! Turns requests with JSON bodies into the API server's answers, over a connection that stays: tests ask often while they wait, and a
//! process for each question would cost more than what is tested.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

/// How long a connection may take.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// How long an answer may take, on a busy machine.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// A client of an API server, with the credentials of a kubeconfig.
#[derive(Clone)]
pub struct Requests {
    client: Client,
    runtime: Arc<Runtime>,
    /// Whom it impersonates.
    user: Option<String>,
}

impl fmt::Debug for Requests {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Requests").finish_non_exhaustive()
    }
}

/// The API server's no.
#[derive(Clone, Debug)]
pub struct ServerRefusal {
    /// The HTTP status; 0 if there was no answer.
    pub code: u16,
    /// Its words, or what stood in the way of an answer.
    pub message: String,
}

impl fmt::Display for ServerRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ServerRefusal {}

impl ServerRefusal {
    /// Whether the object itself is the reason: malformed, too large or invalid.
    #[must_use]
    pub fn is_about_the_object(&self) -> bool {
        [400, 413, 422].contains(&self.code)
    }
}

impl Requests {
    /// Connects when the first request is made.
    ///
    /// # Errors
    /// When the file is no kubeconfig.
    pub fn of(kubeconfig: &Path) -> Result<Requests> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let client = runtime.block_on(async {
            let file = Kubeconfig::read_from(kubeconfig)?;
            let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
            // A server that hangs is one that does not answer: some tests make it hang.
            (config.connect_timeout, config.read_timeout) = (Some(CONNECT_MAX), Some(ANSWER_MAX));
            anyhow::Ok(Client::try_from(config)?)
        })?;
        Ok(Requests { client, runtime: Arc::new(runtime), user: None })
    }

    /// The same as another user: with the rights of that user, if this one may impersonate.
    #[must_use]
    pub fn acting_as(&self, user: &str) -> Requests {
        Requests { user: Some(user.to_owned()), ..self.clone() }
    }

    /// An object, or a list, by its path.
    ///
    /// # Errors
    /// When the API server refuses it.
    pub fn get(&self, path: &str) -> Result<Value, ServerRefusal> {
        self.send("GET", path, "application/json", &Value::Null)
    }

    /// The items of a list.
    ///
    /// # Errors
    /// When the API server refuses it.
    pub fn list(&self, path: &str) -> Result<Vec<Value>, ServerRefusal> {
        Ok(self.get(path)?.get("items").and_then(Value::as_array).cloned().unwrap_or_default())
    }

    /// Sends a new object to the path of its list.
    ///
    /// # Errors
    /// When the API server refuses it.
    pub fn create(&self, path: &str, object: &Value) -> Result<Value, ServerRefusal> {
        self.send("POST", path, "application/json", object)
    }

    /// Applies an object at its path, as `kubectl apply --server-side --force-conflicts` does.
    ///
    /// # Errors
    /// When the API server refuses it.
    pub fn apply(&self, path: &str, object: &Value) -> Result<Value, ServerRefusal> {
        let path = with_query(path, "fieldManager=kubectl&force=true&fieldValidation=Strict");
        self.send("PATCH", &path, "application/apply-patch+yaml", object)
    }

    /// Sends a JSON Patch.
    ///
    /// # Errors
    /// When the API server refuses it.
    pub fn patch(&self, path: &str, operations: &Value) -> Result<Value, ServerRefusal> {
        self.send("PATCH", path, "application/json-patch+json", operations)
    }

    /// Sends a JSON Merge Patch.
    ///
    /// # Errors
    /// When the API server refuses it.
    pub fn merge(&self, path: &str, patch: &Value) -> Result<Value, ServerRefusal> {
        self.send("PATCH", path, "application/merge-patch+json", patch)
    }

    /// Deletes an object, or all of a list, as kubectl does; what is not there is deleted already.
    ///
    /// # Errors
    /// When the API server refuses it.
    pub fn delete(&self, path: &str) -> Result<(), ServerRefusal> {
        match self.send("DELETE", &with_query(path, "propagationPolicy=Background"), "application/json", &Value::Null) {
            Err(refusal) if refusal.code != 404 => Err(refusal),
            _ => Ok(()),
        }
    }

    fn send(&self, method: &str, path: &str, content: &str, body: &Value) -> Result<Value, ServerRefusal> {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let no_answer =
            |error: &dyn std::fmt::Display| ServerRefusal { code: 0, message: format!("{method} {path}: {error}") };
        let mut request = Request::builder().method(method).uri(path).header("Content-Type", content);
        if let Some(user) = &self.user {
            request = request.header("Impersonate-User", user);
        }
        let request = request.body(bytes);
        let request = request.map_err(|error| no_answer(&error))?;
        match self.runtime.block_on(self.client.request_text(request)) {
            // Some answers are no JSON: `/readyz` says `ok`.
            Ok(text) => Ok(serde_json::from_str(&text).unwrap_or(Value::String(text))),
            Err(kube::Error::Api(status)) => Err(ServerRefusal { code: status.code, message: status.message.clone() }),
            Err(error) => Err(no_answer(&error)),
        }
    }
}

/// A path, perhaps with a query, and more of that query.
fn with_query(path: &str, more: &str) -> String {
    let begin = if path.contains('?') { '&' } else { '?' };
    format!("{path}{begin}{more}")
}
