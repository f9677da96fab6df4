//! Workload files into figures: parsing, pair evaluations and memory, one JSON line each, so that two builds can be
//! compared. Times are processor time of this one thread.
//!
//! `cargo run --release --example bench_language [-- NAME]` or `cargo bench --bench bench`. The ads come from
//! `../shared/bench/gen.py`; without it a built-in sample stands in, which is said on standard error.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use classad::{Ad, Context, Dialect, Env, Expr, FrameId, Name, Reader, eval, parse_ad};
use serde_json::{Value as Json, json};

type Fallible<T> = Result<T, Box<dyn Error>>;

/// How often each measurement is repeated; the median counts.
const ROUNDS: usize = 7;

pub(crate) fn main() -> Fallible<()> {
    // `cargo bench` hands on `--bench`; anything else names the one measurement wanted.
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let measure =
        |name: &str| wanted.as_deref().is_none_or(|wanted| name.starts_with(wanted) || wanted.starts_with(name));
    // First of all, while nothing has been freed that ads could take without the process growing; and with as many
    // different ads as are counted, because repeated ones would share everything.
    if measure("memory") {
        memory(&texts(&["gang", "--n", "40000"])?)?;
    }
    let gang = texts(&["gang", "--n", "4000"])?;
    let modern = texts(&["modern", "--machines", "1000", "--jobs", "2000", "--licenses", "500"])?;
    for (workload, texts) in [("gang", &gang), ("modern", &modern)] {
        let name = format!("parse_{workload}");
        if measure(&name) {
            parsing(&name, texts)?;
        }
    }
    if measure("pairs") {
        pairs(&gang)?;
    }
    Ok(())
}

fn print(name: &str, figure: f64, unit: &str, about: &Json) -> Fallible<()> {
    let command = format!("cargo run --release --example bench_language -- {name}");
    let line = json!({ "name": name, "figure": (figure * 100.0).round() / 100.0, "unit": unit, "about": about, "command": command });
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}

/// Seconds this thread has run, or has existed where the system does not say.
fn processor_seconds(started: Instant) -> f64 {
    let scheduler = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = scheduler.as_deref().and_then(|line| line.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| started.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

/// The median time of some rounds of `work`, in seconds.
fn median(mut work: impl FnMut() -> Fallible<()>) -> Fallible<f64> {
    let started = Instant::now();
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let before = processor_seconds(started);
        work()?;
        times.push(processor_seconds(started) - before);
    }
    times.sort_by(f64::total_cmp);
    Ok(times.get(ROUNDS / 2).copied().unwrap_or(f64::NAN))
}

/// The texts of the ads of a workload, by kind.
fn texts(arguments: &[&str]) -> Fallible<BTreeMap<String, Vec<String>>> {
    let generator = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/bench/gen.py");
    let lines = if generator.is_file() {
        let file = std::env::temp_dir().join(format!("classad-bench-{}.jsonl", std::process::id()));
        let status = Command::new("python3").arg(generator).args(arguments).arg("--out").arg(&file).status()?;
        let lines = std::fs::read_to_string(&file)?;
        std::fs::remove_file(&file)?;
        if !status.success() {
            return Err("the generator failed".into());
        }
        lines
    } else {
        writeln!(std::io::stderr(), "SKIPPED: no {}; measuring the built-in sample instead", generator.display())?;
        sample()
    };
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in lines.lines().skip(1) {
        let line: Json = serde_json::from_str(line)?;
        let text = |field: &str| line.get(field).and_then(Json::as_str);
        if let (Some(kind), Some(ad)) = (text("kind"), text("ad")) {
            texts.entry(kind.to_owned()).or_default().push(ad.to_owned());
        }
    }
    Ok(texts)
}

/// A few hundred ads of the kind that the generator makes.
fn sample() -> String {
    let mut lines = String::from("{\"kind\":\"workload\"}\n");
    let platforms = ["INTEL", "ALPHA", "SUN4u", "HPPA", "SGI", "AIX", "VAX"];
    for (index, arch) in (0..500).zip(platforms.iter().cycle()) {
        let machine = format!(
            "[ Type = \"Machine\"; Name = \"ws{index:05}\"; Arch = \"{arch}\"; OpSys = \"UNIX\"; Memory = {}; VirtualMemory = 128; Mips = {}; KFlops = 38412; Subnet = \"128.105.{}\"; Ports = {{ [ Label = requester; Rank = 1 / requester.ImageSize; Constraint = requester.Type == \"Job\" && requester.ImageSize <= Memory ] }} ]",
            32 << (index % 4),
            100 + index,
            index % 9
        );
        let license = format!(
            "[ Type = \"License\"; Name = \"lic{index:05}\"; App = \"sim_app\"; ValidSubnet = \"128.105.{}\"; Ports = {{ [ Label = requester; Rank = 0; Constraint = requester.Type == \"Job\" && requester.Subnet == ValidSubnet ] }} ]",
            index % 9
        );
        let job = format!(
            "[ Type = \"Job\"; Name = \"job{index:05}\"; Owner = \"user00\"; Cmd = \"sim_app\"; QDate = {}; Ports = {{ [ Label = cpu; ImageSize = 64; MinMemory = 64; MinVirtualMemory = 128; Rank = cpu.KFlops / 1E3 + cpu.Memory / 32; Constraint = cpu.Type == \"Machine\" && cpu.Arch == \"{arch}\" && cpu.OpSys == \"UNIX\" && cpu.Memory >= MinMemory && cpu.VirtualMemory >= MinVirtualMemory ], [ Label = license; Host = cpu.Name; Subnet = cpu.Subnet; Rank = 0; Constraint = license.Type == \"License\" && license.App == Cmd ] }} ]",
            951_769_342 + index
        );
        for (kind, ad) in [("machine", machine), ("license", license), ("job", job)] {
            lines.push_str(&json!({ "kind": kind, "ad": ad }).to_string());
            lines.push('\n');
        }
    }
    lines
}

/// Text to trees: every ad for itself, and all with one reader that has read nothing before.
fn parsing(name: &str, texts: &BTreeMap<String, Vec<String>>) -> Fallible<()> {
    let all: Vec<&String> = texts.values().flatten().collect();
    let bytes: usize = all.iter().map(|text| text.len()).sum();
    let about = json!({ "ads": all.len(), "bytes": bytes });
    let mut ads = Vec::new();
    let seconds = median(|| {
        ads.clear();
        for text in &all {
            ads.push(parse_ad(text, Dialect::Htcondor)?);
        }
        Ok(())
    })?;
    print(&format!("{name}_alone"), real(bytes) / seconds / 1e6, "MB/s", &about)?;
    // Dropping the ads of the round before is no part of reading.
    let mut seconds = Vec::new();
    let started = Instant::now();
    for _ in 0..ROUNDS {
        ads.clear();
        let before = processor_seconds(started);
        let mut reader = Reader::new(Dialect::Htcondor);
        for text in &all {
            ads.push(reader.ad(text)?);
        }
        seconds.push(processor_seconds(started) - before);
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds.get(ROUNDS / 2).copied().unwrap_or(f64::NAN);
    print(&format!("{name}_shared"), real(bytes) / median / 1e6, "MB/s", &about)
}

#[expect(clippy::cast_precision_loss, reason = "counts of a benchmark are far below 2^53")]
fn real(count: usize) -> f64 {
    count as f64
}

/// An ad taken apart as the matchmaker does it.
struct Parts {
    body: Ad,
    ports: Vec<Port>,
}

struct Port {
    label: Name,
    attributes: Ad,
    constraint: Expr,
}

impl Parts {
    fn new(text: &str, reader: &mut Reader) -> Fallible<Self> {
        let mut body = reader.ad(text)?;
        let list = body.remove("Ports").ok_or("no ports")?;
        let port = |expr: &Expr| -> Option<Port> {
            let mut attributes = expr.as_ad()?.clone();
            let label = attributes.remove("Label")?.as_attribute()?.clone();
            let constraint = attributes.remove("Constraint")?;
            attributes.remove("Rank");
            Some(Port { label, attributes, constraint })
        };
        let ports = list.as_list().unwrap_or_default().iter().map(port).collect::<Option<Vec<_>>>();
        Ok(Self { body, ports: ports.ok_or("a port without label or constraint")? })
    }

    fn all(texts: Option<&Vec<String>>, count: usize, reader: &mut Reader) -> Fallible<Vec<Self>> {
        texts.map_or(&[][..], Vec::as_slice).iter().take(count).map(|text| Self::new(text, reader)).collect()
    }

    fn seat<'a>(&'a self, env: &mut Env<'a>) -> Vec<FrameId> {
        let body = env.frame(&self.body, None);
        self.ports.iter().map(|port| env.frame(&port.attributes, Some(body))).collect()
    }
}

/// One question per pair: does the asker's port accept the candidate, and if so, the candidate's port the asker?
fn ask<'a>(env: &mut Env<'a>, asker: (&'a Port, FrameId), candidate: &'a Parts, context: &Context) -> Fallible<bool> {
    let (port, frame) = asker;
    let mark = env.mark();
    let view = candidate.seat(env).first().copied().ok_or("no port")?;
    let offered = candidate.ports.first().ok_or("no port")?;
    let bound = env.labels(frame);
    env.bind(frame, &port.label, view);
    env.bind(view, &offered.label, frame);
    let accepted = eval(&port.constraint, env, frame, context)?.is_true()
        && eval(&offered.constraint, env, view, context)?.is_true();
    env.truncate_labels(frame, bound);
    env.reset(mark);
    Ok(accepted)
}

/// All pairs of some jobs with some machines; only those that match; and licences for jobs with a machine.
fn pairs(texts: &BTreeMap<String, Vec<String>>) -> Fallible<()> {
    let context = Context::default();
    let mut reader = Reader::new(Dialect::Htcondor);
    let jobs = Parts::all(texts.get("job"), 250, &mut reader)?;
    let machines = Parts::all(texts.get("machine"), 2000, &mut reader)?;
    let licenses = Parts::all(texts.get("license"), 2000, &mut reader)?;
    let mut matching: Vec<Vec<usize>> = Vec::new();
    for job in &jobs {
        let mut env = Env::new();
        let frame = *job.seat(&mut env).first().ok_or("no port")?;
        let port = job.ports.first().ok_or("no port")?;
        let mut accepted = Vec::new();
        for (index, machine) in machines.iter().enumerate() {
            if ask(&mut env, (port, frame), machine, &context)? {
                accepted.push(index);
            }
        }
        matching.push(accepted);
    }
    let matches: usize = matching.iter().map(Vec::len).sum();
    let all = vec![(0..machines.len()).collect(); jobs.len()];
    for (name, candidates) in [("pairs_all", &all), ("pairs_matching", &matching)] {
        let count: usize = candidates.iter().map(Vec::len).sum();
        let about = json!({ "pairs": count, "accepted": matches });
        let seconds = median(|| {
            for (job, candidates) in jobs.iter().zip(candidates) {
                let mut env = Env::new();
                let frame = *job.seat(&mut env).first().ok_or("no port")?;
                let port = job.ports.first().ok_or("no port")?;
                for machine in candidates.iter().filter_map(|index| machines.get(*index)) {
                    ask(&mut env, (port, frame), machine, &context)?;
                }
            }
            Ok(())
        })?;
        print(name, real(count) / seconds / 1e6, "million pairs/s", &about)?;
    }
    let mut accepted = 0;
    let seconds = median(|| {
        accepted = 0;
        for (job, accepted_by_job) in jobs.iter().zip(&matching) {
            let mut env = Env::new();
            let frames = job.seat(&mut env);
            let machine = accepted_by_job.first().and_then(|index| machines.get(*index));
            let ([first, second], Some(machine)) = (&*job.ports, machine) else { continue };
            let [cpu, license] = *frames else { continue };
            let view = machine.seat(&mut env).first().copied().ok_or("no port")?;
            env.bind(cpu, &first.label, view);
            env.bind(license, &first.label, view);
            for offer in &licenses {
                accepted += usize::from(ask(&mut env, (second, license), offer, &context)?);
            }
        }
        Ok(())
    })?;
    let count = matching.iter().filter(|machines| !machines.is_empty()).count() * licenses.len();
    let about = json!({ "pairs": count, "accepted": accepted });
    print("pairs_license", real(count) / seconds / 1e6, "million pairs/s", &about)
}

/// What the process grows by for an ad, with 100,000 of them.
fn memory(texts: &BTreeMap<String, Vec<String>>) -> Fallible<()> {
    const ADS: usize = 100_000;
    let all: Vec<&String> = texts.values().flatten().collect();
    let before = resident()?;
    let mut reader = Reader::new(Dialect::Htcondor);
    let mut ads: Vec<Ad> = Vec::with_capacity(ADS);
    for text in all.iter().cycle().take(ADS) {
        ads.push(reader.ad(text)?);
    }
    drop(reader);
    let bytes = real(resident()?.saturating_sub(before)) / real(ads.len());
    print("memory_gang", bytes, "bytes/ad", &json!({ "ads": ads.len() }))
}

/// The resident memory of this process in bytes.
fn resident() -> Fallible<usize> {
    const PAGE: usize = 4096;
    let pages = std::fs::read_to_string("/proc/self/statm")?;
    Ok(pages.split(' ').nth(1).ok_or("no resident size")?.parse::<usize>()? * PAGE)
}
