//! `simulate`: jobs that are not submitted yet, into the gangs that they would get in a cluster now, or why not. It writes nothing.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;
use crds::{Account, License, Machine, PoolPolicy};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use pool::{KnownAccounts, ObjectKey, Objects};
use serde_json::{Value, json};

use super::placing::CollectiveOptions;
use super::together::print_objective;
use super::why::KINDS;
use crate::cluster::{ClusterSource, Failure, Kind, ManifestOptions, Pool};
use crate::manifests;
use crate::offline::{Loaded, READER, Stamp, load};
use crate::output::{self, AnswerOptions};
use crate::snapshot;
use crate::why::{Case, job_answer, job_text};

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
The manifests are added to what is in the cluster, as if you had just created them; an object of the same name is replaced. Then one
negotiation cycle is computed here. Nothing is written to the cluster: kubectl is only asked to list objects. The cycle of a snapshot is
that of the time at which it was taken, unless --now names another.

Exit status:
  0  the jobs were tried, whether they would match or not
  1  there is a mistake in the manifests; the others were tried
  2  an option is wrong, a file does not exist, or the cluster cannot be read";

/// What to try, and where.
#[derive(Debug, clap::Args)]
pub(crate) struct SimulateArguments {
    #[command(flatten)]
    manifests: ManifestOptions,

    /// Try them in this snapshot, and not in the cluster.
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,

    /// How the jobs are served, those of the cluster included: write how the controller does it (chart value `placing.policy`).
    #[arg(long, value_enum, value_name = "POLICY", ignore_case = true)]
    placing: Option<Policy>,

    #[command(flatten)]
    collective: CollectiveOptions,

    #[command(flatten)]
    output: AnswerOptions,

    #[command(flatten)]
    source: ClusterSource,
}

/// How the controller serves jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Policy {
    /// Each job gets its best gang, one job after the other.
    #[value(name = "InTurn")]
    InTurn,
    /// The jobs of a window get their gangs together: as many as possible, then the best ones.
    #[value(name = "Collective")]
    Collective,
}

/// Prints an answer for each job of the manifests.
pub(crate) fn run(arguments: &SimulateArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let SimulateArguments { source, snapshot: file, placing, collective, .. } = arguments;
    let is_collective = *placing == Some(Policy::Collective);
    let settings = Some(collective.settings(is_collective)?).filter(|_| is_collective);
    let (documents, problems) = manifests::read(&arguments.manifests.files())?;
    let (mut pool, now) = match file {
        Some(file) => snapshot::read(file).map(|saved| (saved.pool, source.time_of_snapshot(saved.time)))?,
        None => (source.read(&KINDS).map_err(without_a_cluster)?, source.time()),
    };
    let namespace = match (source.named(), file) {
        (None, Some(_)) => "default".to_owned(),
        _ => source.namespace(),
    };
    let owner = match (&source.cluster.user, file) {
        (Some(user), _) => user.clone(),
        (None, None) => source
            .kubectl()
            .run(&["auth", "whoami", "--output=jsonpath={.status.userInfo.username}"])
            .map_or_else(|_| READER.to_owned(), |name| name.trim().to_owned()),
        (None, Some(_)) => READER.to_owned(),
    };
    pool.notes.extend(documents.iter().filter_map(|document| labelled(&document.value)));
    let loaded = load(documents, &Stamp { namespace: &namespace, owner: &owner });
    pool.problems.extend(problems.iter().map(ToString::to_string));
    let jobs = add(&mut pool, loaded, now);
    // The controller knows nothing of these jobs: the answer is what the offers that the user may see give.
    let partly = std::mem::take(&mut pool.partly);
    if jobs.is_empty() && pool.notes.is_empty() {
        pool.notes
            .push("there is no Job in the files: add those of which you want to know what they would get".to_owned());
    }
    let mut case = Case::with_placing(&pool, now, settings);
    let mut answers: Vec<_> = jobs.iter().filter_map(|key| job_answer(&mut case, key)).collect();
    let unseen = [Kind::Machine, Kind::License].into_iter().filter(|kind| partly.contains(kind));
    let unseen: Vec<&str> = unseen.map(|kind| kind.resource().split('.').next().unwrap_or_default()).collect();
    if !unseen.is_empty() {
        answers.iter_mut().for_each(|answer| answer.status.is_of_some_offers(&unseen.join(" and ")));
    }
    let mut text: Vec<String> = answers.iter().map(job_text).collect();
    if let Some(placement) = &case.placement {
        let mut objective = Vec::new();
        print_objective(&mut objective, &placement.together)?;
        text.push(String::from_utf8(objective)?);
    }
    arguments.output.print(out, &text.join("\n"), &json!({"items": answers}))?;
    Ok(output::remarks(&pool)?)
}

/// What is said if there is no cluster: `simulate` needs one, other than `match`.
fn without_a_cluster(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(Failure::NoCluster) => anyhow!(
            "{error}; simulate adds jobs to a cluster: without one, write simulate --snapshot FILE, or match PATH with jobs and offers"
        ),
        _ => error,
    }
}

/// What is said of a workload with the label, for which the controller would make a Job: only Jobs are simulated.
fn labelled(object: &Value) -> Option<String> {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str);
    let ad = object.pointer("/metadata/labels")?.get(crds::LABEL_AD)?.as_str()?;
    let noun = match (text("/apiVersion")?, text("/kind")?) {
        ("batch/v1", "Job") => "batch Job",
        (_, kind @ ("Pod" | "JobSet")) => kind,
        _ => return None,
    };
    let name = text("/metadata/name").unwrap_or("without a name");
    Some(format!(
        "{noun} {name} has the label gangmatch.dev/ad: {ad}; to know what it would get, simulate the Job {ad} with `suspend: false`"
    ))
}

/// Puts the objects of manifests into a pool, as if they had been created now. The jobs among them.
fn add(pool: &mut Pool, loaded: Loaded, now: Timestamp) -> Vec<ObjectKey> {
    let Loaded { objects, problems, warnings, sources } = loaded;
    pool.problems.extend(problems.iter().map(ToString::to_string));
    pool.warnings.extend(warnings.iter().map(ToString::to_string));
    pool.sources.extend(sources);
    let mut jobs = Vec::new();
    for (key, held) in objects.jobs.iter() {
        if pool.objects.jobs.get(key).is_some_and(|held| held.object.claim().is_some()) {
            pool.notes
                .push(format!("job {key} exists already, and holds a gang; the answer is that of another job like it"));
        }
        let mut job = held.object.as_ref().clone();
        job.metadata.creation_timestamp = Some(Time(now));
        job.status = None;
        pool.objects.put(job);
        jobs.push(key.clone());
    }
    // An offer that is applied again is the same one: what is claimed of it stays claimed.
    for (key, held) in objects.machines.iter() {
        let mut machine = held.object.as_ref().clone();
        if let Some(known) = pool.objects.machines.get(key).map(|known| known.object.as_ref().clone()) {
            machine.spec.ad.owner = known.spec.ad.owner;
            machine = Machine { metadata: applied(known.metadata, machine.metadata), status: known.status, ..machine };
        }
        pool.objects.put(machine);
    }
    for (key, held) in objects.licenses.iter() {
        let mut license = held.object.as_ref().clone();
        if let Some(known) = pool.objects.licenses.get(key).map(|known| known.object.as_ref().clone()) {
            license.spec.ad.owner = known.spec.ad.owner;
            license = License { metadata: applied(known.metadata, license.metadata), status: known.status, ..license };
        }
        pool.objects.put(license);
    }
    let mut agents = pool.objects.agents.as_ref().clone();
    for (name, life) in objects.agents.iter() {
        agents.entry(name.clone()).or_insert(*life);
    }
    pool.objects.agents = std::sync::Arc::new(agents);
    for (name, labels) in objects.namespaces.iter() {
        pool.objects.namespaces.apply(name, labels.clone());
    }
    add_nodes(&mut pool.objects, &objects);
    add_accounts(&mut pool.objects.accounts, &objects.accounts);
    jobs
}

/// The metadata of an object after it was applied again.
fn applied(known: ObjectMeta, own: ObjectMeta) -> ObjectMeta {
    ObjectMeta { labels: own.labels, annotations: own.annotations, ..known }
}

/// Adds the accounts and the PoolPolicy of manifests. What an account has used stays, as it does when its spec is changed in a cluster.
fn add_accounts(pool: &mut KnownAccounts, manifests: &KnownAccounts) {
    for (name, account) in manifests.iter() {
        let known = pool.get(name).map(|known| Account { spec: account.spec.clone(), ..known.as_ref().clone() });
        pool.apply(known.unwrap_or_else(|| account.as_ref().clone()));
    }
    let Some(policy) = manifests.policy().map(|known| known.object.as_ref()) else { return };
    let known = pool.policy().map(|known| PoolPolicy { spec: policy.spec.clone(), ..known.object.as_ref().clone() });
    pool.apply_policy(known.unwrap_or_else(|| policy.clone()));
}

/// Adds the nodes of manifests that a pool does not have. Those of a cluster are as the cluster says.
fn add_nodes(pool: &mut Objects, manifests: &Objects) {
    for (name, node) in manifests.nodes.iter().flat_map(|nodes| nodes.iter()) {
        if !pool.nodes.as_ref().is_some_and(|nodes| nodes.contains_key(name)) {
            pool.put_node(node.as_ref().clone());
        }
    }
}
