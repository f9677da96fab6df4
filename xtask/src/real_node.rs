//! Turns `up --nodes real` into a control plane with a real node that outlives the command, and on it the image of this checkout.

use anyhow::{Result, bail};
use testbed::control_plane::binaries::Binaries;
use testbed::control_plane::processes::Place;
use testbed::{Options, RealNode, product, real_node};

use crate::output::{line, noisy_step, step};
use crate::{image, plane};

/// Starts both, or finds those of an earlier `up`.
pub(crate) fn up() -> Result<()> {
    let folder = plane::state("plane");
    if plane::is_up(&folder) {
        return Ok(());
    }
    let missing = real_node::missing();
    if !missing.is_empty() {
        bail!("a real node needs more than this machine has: {}", missing.join("; "));
    }
    plane::build()?;
    noisy_step("kubelet and kube-proxy", "2 to 8 minutes on 2 cores", Binaries::of_node)?;
    let (_, archive) = image::write(&plane::state("image"))?;
    // What an earlier one left, after a restart of the machine for example.
    RealNode::end(&folder)?;
    let node = step("starting the control plane and its node", || {
        RealNode::start(&Options { place: Place::At(folder.clone()), ..Options::default() })
    })?;
    step("importing the image", || node.import(&archive))?;
    plane::say_how(&node, node.kubeconfig());
    line(format_args!("node:    {}, with the images {} and {}", real_node::NODE, image::name(), real_node::BUSYBOX));
    line(format_args!("logs:    {}", node.folder().join("log").display()));
    line(format_args!("inside:  {} COMMAND", node.entrance()?));
    line(format_args!(
        "next:    helm install {} charts/gangmatch -n {} --create-namespace",
        product::RELEASE,
        product::NAMESPACE
    ));
    line(
        "no DNS, no NetworkPolicies and no registry: pods reach Services by their addresses, and run images that were imported",
    );
    node.detach()
}
