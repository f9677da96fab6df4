//! The live cluster: the options that choose it, and its objects, read with kubectl. So contexts, credentials and rights are those of
//! the user who runs the plugin.

mod failure;
mod held;
mod kubectl;
mod live;
mod source;

use std::path::PathBuf;

use jiff::Timestamp;

pub(crate) use failure::Failure;
pub(crate) use held::{Held, without_job};
pub(crate) use kubectl::{Kubectl, Scope};
pub(crate) use live::{Kind, Pool, pool};
pub(crate) use source::{ClusterSource, NamespaceSource, NamespacesSource, PoolSource, Shown, read, read_files};

/// The heading in the help of the options that many verbs have.
pub(crate) const HEADING: &str = "Cluster options";

/// The options of kubectl that choose a cluster and a user.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ClusterOptions {
    /// The context of the kubeconfig. Default: the current context.
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub(crate) context: Option<String>,

    /// The kubeconfig. Default: that of kubectl.
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The user to act as. With files: the user who creates the objects, which a cluster would record as `Owner`.
    #[arg(long = "as", value_name = "USER", help_heading = HEADING)]
    pub(crate) user: Option<String>,

    /// A group to act as. Can be repeated.
    #[arg(long = "as-group", value_name = "GROUP", help_heading = HEADING)]
    pub(crate) groups: Vec<String>,

    /// How long to wait for one answer of the API server, such as 10s. Default: that of kubectl.
    #[arg(long, value_name = "TIME", help_heading = HEADING)]
    pub(crate) request_timeout: Option<String>,
}

/// A namespace. The name is that of kubectl's own option.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct NamespaceOption {
    /// The namespace. Default: that of the context; with files: default.
    #[arg(short, long, value_name = "NAME", help_heading = HEADING)]
    pub(crate) namespace: Option<String>,
}

/// One namespace, or all of them.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct NamespaceOptions {
    #[command(flatten)]
    one: NamespaceOption,

    /// All namespaces.
    #[arg(short = 'A', long, conflicts_with = "namespace", help_heading = HEADING)]
    all_namespaces: bool,
}

/// Files with manifests in the place of the cluster.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct FileOptions {
    /// Read this file or folder with manifests, and not the cluster; - means standard input. Can be repeated.
    #[arg(short, long = "filename", value_name = "PATH")]
    pub(crate) filename: Vec<PathBuf>,

    /// Also read folders inside folders.
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,
}

/// Files with manifests, as arguments or with -f.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ManifestOptions {
    /// Files and folders with manifests; - means standard input.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// The same as PATH. Can be repeated.
    #[arg(short, long = "filename", value_name = "PATH")]
    filename: Vec<PathBuf>,

    /// Also read folders inside folders.
    #[arg(short = 'R', long)]
    recursive: bool,
}

impl ManifestOptions {
    /// All of them.
    pub(crate) fn files(&self) -> FileOptions {
        let filename = self.paths.iter().chain(&self.filename).cloned().collect();
        FileOptions { filename, recursive: self.recursive }
    }
}

/// The time that counts as now: for tests, and to read old dumps.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct NowOption {
    /// The time that counts as now, RFC 3339. Default: the current time.
    #[arg(
        long,
        visible_alias = "at",
        value_name = "TIME",
        hide_short_help = true,
        env = "GANGMATCH_NOW",
        hide_env = true
    )]
    now: Option<Timestamp>,
}

impl NowOption {
    /// That time.
    pub(crate) fn time(self) -> Timestamp {
        self.now.unwrap_or_else(Timestamp::now)
    }

    /// That time; if none is named, the one at which a snapshot was taken.
    pub(crate) fn time_of_snapshot(self, taken: Timestamp) -> Timestamp {
        self.now.unwrap_or(taken)
    }
}
