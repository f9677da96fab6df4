//! Requests of the cases for `gridcam` into answers.

use std::collections::BTreeSet;

use gridcam::{
    Amounts, Arrival, Assignment, Distribution, Grid, Law, Laws, Metrics, Outcome, Pick, Request, Scheme, State, Window,
};
use serde_json::{Map, Value, json};

/// The cases give times in seconds.
const SECOND: u64 = 1000;

/// Answer to one request.
pub(crate) fn answer(request: &Value) -> Value {
    let answer = match request["op"].as_str() {
        Some("placing") => placing(request),
        Some("gridcam") => simulation(request),
        Some("trace") => trace(request),
        _ => None,
    };
    answer.unwrap_or_else(|| json!({ "unsupported": request.get("op") }))
}

fn list<'r>(request: &'r Value, field: &str) -> &'r [Value] {
    request[field].as_array().map_or(&[], Vec::as_slice)
}

fn id(of: &Value) -> &str {
    of["id"].as_str().unwrap_or_default()
}

fn amounts(of: &Value) -> Amounts {
    let amount = |name: &str| of[name].as_u64().unwrap_or(0);
    Amounts { cpus: amount("cpus"), disk: amount("disk"), memory: amount("memory") }
}

/// The numbers of the clusters that a job accepts.
fn accepts(job: &Value, clusters: &[Value]) -> Option<BTreeSet<usize>> {
    let accepted = job.get("accepts")?.as_array()?;
    Some(clusters.iter().enumerate().filter(|(_, one)| accepted.contains(&one["id"])).map(|(at, _)| at).collect())
}

fn scheme(request: &Value) -> Option<Scheme> {
    let pick = match request["pick"].as_str() {
        None | Some("most-free") => Pick::MostFree,
        Some("first") => Pick::First,
        Some("best-fit") => Pick::BestFit,
        Some(_) => return None,
    };
    match request["algorithm"].as_str()? {
        "fcfs-skipping" => Some(Scheme::Fcfs { pick, blocked: false }),
        "fcfs-blocked" => Some(Scheme::Fcfs { pick, blocked: true }),
        "srfm" => Some(Scheme::Srfm),
        "srfm-printed" => Some(Scheme::SrfmPrinted),
        "lbm" => Some(Scheme::Lbm),
        _ => None,
    }
}

fn placing(request: &Value) -> Option<Value> {
    let (jobs, clusters) = (list(request, "jobs"), list(request, "clusters"));
    let accepted: Vec<Option<BTreeSet<usize>>> = jobs.iter().map(|job| accepts(job, clusters)).collect();
    let asks = jobs.iter().zip(&accepted).map(|(job, accepts)| Request {
        priority: job["priority"].as_i64().unwrap_or(0),
        accepts: accepts.as_ref(),
        ..Request::of(amounts(job))
    });
    let window = Window { jobs: asks.collect(), free: clusters.iter().map(amounts).collect() };
    let Assignment { clusters: placed, raised } = match request["algorithm"].as_str()? {
        "best" => gridcam::best(&window),
        _ => scheme(request)?.place(&window),
    };
    let name = |all: &[Value], number: usize| all.get(number).map(|one| id(one).to_owned()).unwrap_or_default();
    let pairs = placed
        .iter()
        .enumerate()
        .filter_map(|(job, cluster)| Some((name(jobs, job), json!(name(clusters, (*cluster)?)))));
    let assigned: Map<String, Value> = pairs.collect();
    let raised: Vec<String> = raised.into_iter().map(|job| name(jobs, job)).collect();
    let mut answer = json!({ "assigned": assigned, "raised": raised });
    if request["algorithm"] == "lbm" {
        let relaxation = gridcam::relaxation(&window);
        let solution =
            relaxation.requests.iter().map(|(job, cluster, r)| json!([name(jobs, *job), name(clusters, *cluster), r]));
        if let Value::Object(fields) = &mut answer {
            fields.insert("solution".to_owned(), solution.collect());
            fields.insert("value".to_owned(), json!(relaxation.value));
        }
    }
    Some(answer)
}

fn simulation(request: &Value) -> Option<Value> {
    let clusters = list(request, "clusters");
    let seconds = |of: &Value, name: &str| of[name].as_u64().map(|seconds| seconds.saturating_mul(SECOND));
    let arrival = |job: &Value| {
        Some(Arrival {
            at: seconds(job, "arrival")?,
            service: seconds(job, "service")?,
            amounts: amounts(job),
            priority: job["priority"].as_i64().unwrap_or(0),
            accepts: accepts(job, clusters),
        })
    };
    let jobs: Vec<Arrival> = list(request, "jobs").iter().map(arrival).collect::<Option<_>>()?;
    let free: Vec<Amounts> = clusters.iter().map(amounts).collect();
    let (window, until) = (seconds(request, "window")?, seconds(request, "until")?);
    let grid = Grid { clusters: &free, window, until, timeout: seconds(request, "timeout") };
    let scheme = scheme(request)?;
    let outcomes = gridcam::simulate(&jobs, &grid, &mut |window| scheme.place(window));
    let metrics = Metrics::of(&jobs, &grid, &outcomes);
    let job = |outcome: &Outcome| {
        json!({
            "id": list(request, "jobs").get(outcome.job).map(id),
            "state": match outcome.state {
                State::Completed => "completed",
                State::Running => "running",
                State::Waiting => "waiting",
                State::TimedOut => "timedout",
            },
            "start": outcome.placed.map(|(start, _)| start / SECOND),
            "cluster": outcome.placed.and_then(|(_, cluster)| clusters.get(cluster)).map(id),
        })
    };
    Some(json!({
        "jobs": outcomes.iter().map(job).collect::<Vec<_>>(),
        "metrics": {
            "submitted": metrics.submitted,
            "completed": metrics.completed,
            "scheduled": metrics.running,
            "waiting": metrics.waiting,
            "timedout": metrics.timed_out,
            "max_wait": metrics.max_wait / SECOND,
            "sum_wait": metrics.sum_wait / SECOND,
            "sum_wait_all": metrics.sum_wait_all / SECOND,
        },
    }))
}

fn distribution(of: &Value) -> Option<Distribution> {
    let number = |name: &str| of[name].as_f64();
    let law = match of["dist"].as_str()? {
        "constant" => Law::Constant(number("value")?),
        "exponential" => Law::Exponential(number("mean")?),
        "uniform" if of["whole"] == true => Law::Whole(of["a"].as_i64()?, of["b"].as_i64()?),
        "uniform" => Law::Uniform(number("a")?, number("b")?),
        "gaussian" => Law::Gaussian(number("mean")?, number("sigma")?),
        _ => return None,
    };
    Some(Distribution { law, min: number("min"), max: number("max") })
}

fn trace(request: &Value) -> Option<Value> {
    let law = |name: &str| distribution(&request[name]);
    let laws = Laws {
        arrival: law("arrival")?,
        service: law("service")?,
        cpus: law("cpus")?,
        disk: Some(law("disk")?),
        memory: Some(law("memory")?),
        never_fits: 0.0,
    };
    let most = request["most"].as_u64().and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    let until = request["until"].as_u64()?.saturating_mul(SECOND);
    let jobs = gridcam::arrivals(&laws, request["seed"].as_u64()?, until, most);
    let job = |(number, job): (usize, &Arrival)| {
        let Amounts { cpus, disk, memory } = job.amounts;
        json!({"id": format!("j{number}"), "arrival": job.at, "service": job.service, "cpus": cpus, "disk": disk, "memory": memory})
    };
    Some(json!({ "jobs": jobs.iter().enumerate().map(job).collect::<Vec<_>>() }))
}
