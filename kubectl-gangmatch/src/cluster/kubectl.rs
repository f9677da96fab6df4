//! kubectl as the client: what it is asked, and what it answers.

use std::io::ErrorKind;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::ClusterOptions;
use super::failure::{Failure, failures};

/// kubectl with the options that choose a cluster and a user.
pub(crate) struct Kubectl<'o> {
    options: &'o ClusterOptions,
}

/// Which namespaces to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope<'s> {
    /// All of them.
    All,
    /// This one.
    One(&'s str),
}

/// The objects that could be listed, and why the others could not.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    pub(crate) items: Vec<Value>,
    pub(crate) failures: Vec<Failure>,
}

/// Where a pod finds the name of its namespace.
const POD_NAMESPACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

impl<'o> Kubectl<'o> {
    /// kubectl with these options.
    pub(crate) fn of(options: &'o ClusterOptions) -> Kubectl<'o> {
        Kubectl { options }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command.args(arguments);
        let ClusterOptions { context, kubeconfig, user, groups, request_timeout } = self.options;
        let mut flag = |name: &str, value: &std::ffi::OsStr| {
            let mut whole = std::ffi::OsString::from(name);
            whole.push("=");
            whole.push(value);
            command.arg(whole);
        };
        let texts = [("--context", context), ("--as", user), ("--request-timeout", request_timeout)];
        for (name, value) in texts.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))) {
            flag(name, value.as_ref());
        }
        kubeconfig.iter().for_each(|path| flag("--kubeconfig", path.as_os_str()));
        groups.iter().for_each(|group| flag("--as-group", group.as_ref()));
        command
    }

    fn output(&self, arguments: &[&str]) -> Result<Output, Failure> {
        self.command(arguments).stdin(Stdio::null()).output().map_err(|error| match error.kind() {
            ErrorKind::NotFound => Failure::NoKubectl,
            _ => Failure::Other(format!("cannot run kubectl: {error}")),
        })
    }

    /// What kubectl prints for these arguments.
    ///
    /// # Errors
    /// It does not start, or it fails.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String, Failure> {
        let output = self.output(arguments)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(first_failure(&output))
    }

    /// One object as JSON; `None` if there is none of that name.
    ///
    /// # Errors
    /// The cluster cannot be asked.
    pub(crate) fn get(&self, resource: &str, namespace: &str, name: &str) -> Result<Option<Value>, Failure> {
        let arguments = ["get", resource, name, "--namespace", namespace, "--output=json", "--ignore-not-found"];
        let text = self.run(&arguments)?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        serde_json::from_str(&text).map(Some).map_err(|error| not_json(&error))
    }

    /// All objects of these resources; of those that cannot be listed, the reasons.
    ///
    /// # Errors
    /// None of them can be listed, by any user.
    pub(crate) fn list(&self, resources: &[&str], scope: Scope<'_>, flags: &[&str]) -> Result<Listed, Failure> {
        let all = resources.join(",");
        let mut arguments = vec!["get", all.as_str(), "--output=json"];
        match scope {
            Scope::All => arguments.push("--all-namespaces"),
            Scope::One(namespace) => arguments.extend(["--namespace", namespace]),
        }
        arguments.extend(flags);
        let output = self.output(&arguments)?;
        let mut listed = Listed::default();
        if !output.status.success() {
            let found = failures(&String::from_utf8_lossy(&output.stderr));
            if found.is_empty() || found.iter().any(|one| !matches!(one, Failure::Forbidden(_))) {
                return Err(first_failure(&output));
            }
            listed.failures = found;
        }
        if !output.stdout.trim_ascii().is_empty() {
            let value: Value = serde_json::from_slice(&output.stdout).map_err(|error| not_json(&error))?;
            listed.items = items(value);
        }
        Ok(listed)
    }

    /// The namespace that kubectl uses if none is named.
    pub(crate) fn current_namespace(&self) -> String {
        let path = "jsonpath={.contexts[0].context.namespace}";
        let of_context = self.run(&["config", "view", "--minify", "--output", path]).unwrap_or_default();
        let of_pod = || std::fs::read_to_string(POD_NAMESPACE).unwrap_or_default();
        let found = if of_context.trim().is_empty() { of_pod() } else { of_context };
        if found.trim().is_empty() { "default".to_owned() } else { found.trim().to_owned() }
    }
}

fn not_json(error: &serde_json::Error) -> Failure {
    Failure::Other(format!("what kubectl prints is not JSON: {error}"))
}

/// The items of a List, or the only object.
fn items(mut value: Value) -> Vec<Value> {
    match value.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => vec![value],
    }
}

fn first_failure(output: &Output) -> Failure {
    let said = String::from_utf8_lossy(&output.stderr);
    let first = failures(&said).into_iter().next();
    first.unwrap_or_else(|| Failure::Other(format!("kubectl failed ({})", output.status)))
}
