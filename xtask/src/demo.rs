//! Turns an empty machine into a job that has claimed a machine and a license, shows it, and takes everything down
//! again.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;
use testbed::{Access, ControlPlane, Options, product, repository, until};

use crate::output::{line, noisy_step, step};
use crate::plane;

/// The promise: from `kubectl apply` to the claim.
const CLAIMED_MAX: Duration = Duration::from_secs(5);
const EXAMPLE: &str = "examples/quickstart";

/// The whole demonstration. Ctrl-C at any point leaves nothing running either.
pub(crate) fn run() -> Result<()> {
    plane::build()?;
    noisy_step("controller's executable", "2 minutes", || repository::program("gangmatch-controller"))?;
    let plane =
        step("starting the control plane", || ControlPlane::start(&Options { kwok: true, ..Options::default() }))?;
    step("creating a Node that kwok plays", || product::create_fake_node(&plane, "foo"))?;
    step("helm install gangmatch charts/gangmatch", || product::install_chart(&plane, &[]))?;
    let controller = step("starting the controller with the chart's rights", || {
        product::start_controller(&plane, &product::controller_kubeconfig(&plane)?, &[])
    })?;
    let start = Instant::now();
    step(&format!("kubectl apply -f {EXAMPLE}"), || {
        let folder = repository::root().join(EXAMPLE).display().to_string();
        plane.kubectl_text(&["apply", "-f", &folder], None)
    })?;
    let claimed = step("waiting for a claimed job", || {
        until("a job with phase Claimed", CLAIMED_MAX.saturating_sub(start.elapsed()), || claimed(&plane))
    });
    let table = plane.kubectl_text(&["get", "gmj,gmatch", "--all-namespaces"], None)?;
    line(format_args!("\n{}", table.trim_end()));
    let members = claimed.with_context(|| format!("the end of the controller's log:\n{}", controller.log_tail()))?;
    line(format_args!("\nclaimed {:.2} s after the apply began: {members}", start.elapsed().as_secs_f32()));
    drop(controller);
    step("taking everything down", || {
        drop(plane);
        Ok(())
    })
}

/// The members of the first job that holds its claim.
fn claimed(access: &Access) -> Result<Option<String>> {
    let jobs = access.kubectl_json(&["get", "gmj", "--all-namespaces"])?;
    let jobs = jobs.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
    let claims = ["Claimed", "Running", "Succeeded"];
    Ok(jobs.iter().find_map(|job| {
        let text = |path: &str| job.pointer(path).and_then(Value::as_str);
        text("/status/phase").filter(|phase| claims.contains(phase))?;
        text("/status/members").map(str::to_owned)
    }))
}
