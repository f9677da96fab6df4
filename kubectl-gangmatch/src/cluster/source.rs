//! Where a verb reads its pool: a cluster, or files with manifests in its place.

use anyhow::bail;
use jiff::Timestamp;

use super::{ClusterOptions, FileOptions, Kind, Kubectl, NamespaceOption, NamespaceOptions, NowOption, Pool, pool};
use crate::manifests::{self, Problem};
use crate::offline::{Loaded, READER, Stamp, load};

/// A cluster, or files; and the time of the question.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct PoolSource {
    #[command(flatten)]
    files: FileOptions,

    #[command(flatten)]
    cluster: ClusterOptions,

    #[command(flatten)]
    now: NowOption,
}

/// A cluster of which one namespace is meant, and the time of the question.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ClusterSource {
    #[command(flatten)]
    pub(crate) cluster: ClusterOptions,

    #[command(flatten)]
    namespace: NamespaceOption,

    #[command(flatten)]
    now: NowOption,
}

/// A [`ClusterSource`], or files.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct NamespaceSource {
    #[command(flatten)]
    files: FileOptions,

    #[command(flatten)]
    live: ClusterSource,
}

/// A [`PoolSource`] of which one namespace is shown, or all of them.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct NamespacesSource {
    #[command(flatten)]
    source: PoolSource,

    #[command(flatten)]
    namespaces: NamespaceOptions,
}

impl PoolSource {
    /// The cluster; none if files are read.
    pub(crate) fn kubectl(&self) -> Option<Kubectl<'_>> {
        self.files.filename.is_empty().then(|| Kubectl::of(&self.cluster))
    }

    /// The time of the question.
    pub(crate) fn time(&self) -> Timestamp {
        self.now.time()
    }

    /// See [`read`].
    ///
    /// # Errors
    /// Those of [`read`].
    pub(crate) fn read(&self, namespace: Option<&str>, kinds: &[Kind]) -> anyhow::Result<Pool> {
        read(&self.files, &self.cluster, namespace, kinds)
    }
}

impl ClusterSource {
    /// The cluster.
    pub(crate) fn kubectl(&self) -> Kubectl<'_> {
        Kubectl::of(&self.cluster)
    }

    /// The time of the question.
    pub(crate) fn time(&self) -> Timestamp {
        self.now.time()
    }

    /// The time of the question; of a snapshot that was taken at this time.
    pub(crate) fn time_of_snapshot(&self, taken: Timestamp) -> Timestamp {
        self.now.time_of_snapshot(taken)
    }

    /// The namespace that is named.
    pub(crate) fn named(&self) -> Option<&str> {
        self.namespace.namespace.as_deref()
    }

    /// The namespace: the one that is named, or that of the context.
    pub(crate) fn namespace(&self) -> String {
        self.named().map_or_else(|| self.kubectl().current_namespace(), str::to_owned)
    }

    /// See [`read`].
    ///
    /// # Errors
    /// Those of [`read`].
    pub(crate) fn read(&self, kinds: &[Kind]) -> anyhow::Result<Pool> {
        pool(&self.kubectl(), self.named(), kinds)
    }
}

impl NamespaceSource {
    /// The cluster; none if files are read.
    pub(crate) fn kubectl(&self) -> Option<Kubectl<'_>> {
        self.files.filename.is_empty().then(|| self.live.kubectl())
    }

    /// The time of the question.
    pub(crate) fn time(&self) -> Timestamp {
        self.live.time()
    }

    /// The namespace: the one that is named, or that of the context; of files, `default`.
    pub(crate) fn namespace(&self) -> String {
        match (self.live.named(), self.kubectl()) {
            (None, None) => "default".to_owned(),
            _ => self.live.namespace(),
        }
    }

    /// See [`read`].
    ///
    /// # Errors
    /// Those of [`read`].
    pub(crate) fn read(&self, kinds: &[Kind]) -> anyhow::Result<Pool> {
        read(&self.files, &self.live.cluster, self.live.named(), kinds)
    }
}

impl NamespacesSource {
    /// The cluster; none if files are read.
    pub(crate) fn kubectl(&self) -> Option<Kubectl<'_>> {
        self.source.kubectl()
    }

    /// The time of the question.
    pub(crate) fn time(&self) -> Timestamp {
        self.source.time()
    }

    /// See [`read`]. Of files, the objects of all namespaces are shown if none is named.
    ///
    /// # Errors
    /// Those of [`read`].
    pub(crate) fn read(&self, kinds: &[Kind]) -> anyhow::Result<(Pool, Shown)> {
        let named = self.namespaces.one.namespace.as_deref();
        let pool = self.source.read(named, kinds)?;
        let shown = match (named, self.source.kubectl()) {
            _ if self.namespaces.all_namespaces => None,
            (Some(named), _) => Some(named.to_owned()),
            (None, Some(kubectl)) => Some(kubectl.current_namespace()),
            (None, None) => None,
        };
        Ok((pool, Shown(shown)))
    }
}

/// The namespace whose objects are shown; without one, those of all.
pub(crate) struct Shown(Option<String>);

impl Shown {
    /// Whether objects of this namespace are shown.
    pub(crate) fn has(&self, namespace: &str) -> bool {
        self.0.as_ref().is_none_or(|only| namespace == *only)
    }

    /// The only namespace, if there is one.
    pub(crate) fn only(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The cell of the column NAMESPACE, which a list of all namespaces has.
    pub(crate) fn column<T: ToOwned + ?Sized>(&self, cell: &T) -> Option<T::Owned> {
        self.0.is_none().then(|| cell.to_owned())
    }

    /// The place, as a message says it: ` in namespace eda`, or nothing.
    pub(crate) fn place(&self) -> String {
        self.only().map_or(String::new(), |name| format!(" in namespace {name}"))
    }
}

/// The pool: that of the cluster, or, if files are named, that of their manifests. `kinds` are read of the cluster; a kind that the
/// user may not list in all namespaces is read in the namespace, and a note says so.
///
/// # Errors
/// A file does not exist; kubectl does not start, the cluster does not answer or does not have gangmatch, or a right is missing.
pub(crate) fn read(
    files: &FileOptions,
    cluster: &ClusterOptions,
    namespace: Option<&str>,
    kinds: &[Kind],
) -> anyhow::Result<Pool> {
    if files.filename.is_empty() {
        return pool(&Kubectl::of(cluster), namespace, kinds);
    }
    let of_cluster = [
        ("--context", cluster.context.is_some()),
        ("--kubeconfig", cluster.kubeconfig.is_some()),
        ("--as-group", !cluster.groups.is_empty()),
        ("--request-timeout", cluster.request_timeout.is_some()),
    ];
    if let Some((option, _)) = of_cluster.into_iter().find(|(_, is_set)| *is_set) {
        bail!("-f reads files and not a cluster; leave out either -f or {option}");
    }
    let owner = cluster.user.as_deref().unwrap_or(READER);
    read_files(files, &Stamp { namespace: namespace.unwrap_or("default"), owner })
}

/// The pool of manifests.
///
/// # Errors
/// A file does not exist, or there is none.
pub(crate) fn read_files(files: &FileOptions, stamp: &Stamp<'_>) -> anyhow::Result<Pool> {
    let (documents, mut problems) = manifests::read(files)?;
    let Loaded { objects, problems: wrong, warnings, sources } = load(documents, stamp);
    problems.extend(wrong);
    problems.sort();
    let texts = |list: &[Problem]| list.iter().map(ToString::to_string).collect();
    let (problems, warnings) = (texts(&problems), texts(&warnings));
    let matches = objects.matches.iter().map(|(key, found)| (key.clone(), (**found).clone())).collect();
    Ok(Pool { objects, matches, problems, warnings, sources, ..Pool::default() })
}
