//! `top`: the status and the queue, again and again, on the whole terminal.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use crate::ages::{age, instant};
use crate::cluster::ClusterSource;
use crate::command::queue::{Waiting, waiting};
use crate::command::status::{self, Leader, Status};
use crate::screen::shown;
use crate::table::{aligned, cut};

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
Keys: q, Esc or Ctrl-C ends it, r reads the cluster at once. The view follows the size of the terminal.

Examples:
  kubectl gangmatch top
  kubectl gangmatch top --once

Exit status:
  0  it was ended, or the frame was printed
  2  an option is wrong, the cluster cannot be read, or the output is no terminal and --once is missing";

/// How often the terminal is asked for keys and its size.
const LOOK: Duration = Duration::from_millis(100);

/// The lines that the queue has at least: an empty one, the headings, and some jobs.
const QUEUE_MIN: usize = 6;

/// What to show, and how often.
#[derive(Debug, clap::Args)]
pub(crate) struct TopArguments {
    /// Print one frame, and end.
    #[arg(long)]
    once: bool,

    /// The time between two looks at the cluster, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,

    /// The namespace of the controller and its Lease.
    #[arg(long, value_name = "NAME", default_value = "gangmatch-system")]
    controller_namespace: String,

    #[command(flatten)]
    source: ClusterSource,
}

/// What was read at one time.
#[derive(Clone, Debug)]
struct Reading {
    time: Timestamp,
    status: Status,
    queue: Vec<Waiting>,
}

/// The lines and columns of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    lines: usize,
    columns: usize,
}

/// Shows the view until it is ended.
pub(crate) fn run(arguments: &TopArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    if arguments.once {
        let reading = read(&arguments.source, &arguments.controller_namespace)?;
        let columns = crate::output::terminal_width().unwrap_or(usize::MAX);
        let lines = frame(&reading, Size { lines: usize::MAX, columns });
        lines.iter().try_for_each(|line| writeln!(out, "{}", shown(line)))?;
        return Ok(ExitCode::SUCCESS);
    }
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        bail!("top needs a terminal; --once prints one frame to any output");
    }
    // Before the terminal is changed: what is wrong is said where it stays to be read.
    let mut reading = read(&arguments.source, &arguments.controller_namespace)?;
    let mut terminal = Terminal::take(out)?;
    let (mut problem, mut size) = (None, terminal.size());
    let mut next = Instant::now() + Duration::from_secs(arguments.every);
    let mut pending: Option<Receiver<anyhow::Result<Reading>>> = None;
    terminal.draw(&frame(&reading, size), problem.as_deref())?;
    loop {
        let key = terminal.key()?;
        if matches!(key, Some(b'q' | b'Q' | 0x1b | 0x03)) {
            return Ok(ExitCode::SUCCESS);
        }
        if pending.is_none() && (Instant::now() >= next || key == Some(b'r')) {
            pending = Some(begin(arguments));
        }
        let arrived = match pending.as_ref().map(Receiver::try_recv) {
            None | Some(Err(TryRecvError::Empty)) => None,
            Some(Ok(result)) => Some(result),
            Some(Err(TryRecvError::Disconnected)) => Some(Err(anyhow::anyhow!("the cluster was not read"))),
        };
        let changed = arrived.is_some() || size != terminal.size();
        if let Some(result) = arrived {
            pending = None;
            next = Instant::now() + Duration::from_secs(arguments.every);
            match result {
                Ok(fresh) => (reading, problem) = (fresh, None),
                Err(error) => problem = Some(format!("{error:#}")),
            }
        }
        if changed {
            size = terminal.size();
            terminal.draw(&frame(&reading, size), problem.as_deref())?;
        }
    }
}

/// Reads the cluster in a thread of its own, so that keys and sizes are seen meanwhile.
fn begin(arguments: &TopArguments) -> Receiver<anyhow::Result<Reading>> {
    let (sender, receiver) = channel();
    let (source, controller) = (arguments.source.clone(), arguments.controller_namespace.clone());
    std::thread::spawn(move || {
        // Nothing waits for it any more if the view was ended.
        let _ = sender.send(read(&source, &controller));
    });
    receiver
}

fn read(source: &ClusterSource, controller: &str) -> anyhow::Result<Reading> {
    let (pool, time) = (source.read(&status::KINDS)?, source.time());
    let controller = Some(Leader::read(&source.kubectl(), controller, time));
    let status = Status { controller, ..status::status(&pool.objects) };
    Ok(Reading { time, status, queue: waiting(&pool.objects, time) })
}

/// The lines of a view of this size: the status, then as much of the queue as there is room for.
fn frame(reading: &Reading, size: Size) -> Vec<String> {
    let Reading { time, status, queue } = reading;
    let mut lines = vec![format!("kubectl gangmatch top    {}    q ends", instant(*time)), String::new()];
    // On a small terminal the status ends early, so that the head of the queue is seen.
    let room = size.lines.saturating_sub(lines.len() + QUEUE_MIN);
    lines.extend(status::text(status, *time).lines().take(room).map(str::to_owned));
    lines.push(String::new());
    let heading = ["POSITION", "NAMESPACE", "NAME", "PRIORITY", "WAITING", "REASON", "WHY"].map(str::to_owned).to_vec();
    let row = |row: &Waiting| {
        let since = row.since.map_or("-".to_owned(), |since| age(since, *time));
        let [position, priority] = [row.position.to_string(), row.priority.to_string()];
        vec![position, row.namespace.clone(), row.name.clone(), priority, since, row.reason.clone(), row.why.clone()]
    };
    let room = size.lines.saturating_sub(lines.len() + 1).max(1);
    let shown = queue.iter().take(room).map(row);
    let rows: Vec<Vec<String>> = std::iter::once(heading).chain(shown).collect();
    match queue.is_empty() {
        true => lines.push("No job waits.".to_owned()),
        false => lines.extend(aligned(&rows, 0, Some(size.columns)).lines().map(str::to_owned)),
    }
    lines.truncate(size.lines);
    lines.iter().map(|line| cut(line, size.columns)).collect()
}

/// The terminal while the view has it; as it was before when this is dropped.
struct Terminal<'o, W: Write> {
    out: &'o mut W,
    before: Termios,
}

impl<'o, W: Write> Terminal<'o, W> {
    fn take(out: &'o mut W) -> anyhow::Result<Terminal<'o, W>> {
        let before = tcgetattr(std::io::stdin()).context("cannot read the settings of the terminal")?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(std::io::stdin(), OptionalActions::Now, &raw)
            .context("cannot change the settings of the terminal")?;
        let terminal = Terminal { out, before };
        // The other screen, without a cursor.
        write!(terminal.out, "\x1b[?1049h\x1b[?25l")?;
        Ok(terminal)
    }

    fn size(&self) -> Size {
        let size = tcgetwinsize(std::io::stdout()).ok();
        let [lines, columns] = size.map_or([24, 80], |size| [size.ws_row, size.ws_col]).map(usize::from);
        if lines == 0 || columns == 0 { Size { lines: 24, columns: 80 } } else { Size { lines, columns } }
    }

    /// The next key, if one is pressed soon.
    fn key(&self) -> anyhow::Result<Option<u8>> {
        let stdin = std::io::stdin();
        let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
        let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut waiting, Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => bail!("the keyboard cannot be read: {error}"),
        }
        // Not the reader of the standard library: what that has read ahead, `poll` does not see.
        let mut keys = [0_u8; 16];
        match rustix::io::read(&stdin, &mut keys) {
            Err(rustix::io::Errno::INTR) => Ok(None),
            count => Ok(pressed(keys.get(..count?).unwrap_or_default())),
        }
    }

    fn draw(&mut self, lines: &[String], problem: Option<&str>) -> std::io::Result<()> {
        let size = self.size();
        let mut text = String::from("\x1b[H");
        let last = problem.map(|problem| cut(&format!("error: {problem}"), size.columns));
        let room = size.lines.saturating_sub(usize::from(last.is_some()));
        for (place, line) in lines.iter().take(room).chain(&last).enumerate() {
            if place > 0 {
                text.push_str("\r\n");
            }
            text.push_str(&shown(line));
            // The rest of the line, and below the last line the rest of the screen.
            text.push_str("\x1b[K");
        }
        text.push_str("\x1b[J");
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

/// The key of what a terminal sends at once. Without anything the terminal is closed, and no key will follow.
fn pressed(sent: &[u8]) -> Option<u8> {
    match sent {
        [] => Some(b'q'),
        // An arrow or the like, and not Esc.
        [0x1b, _, ..] => None,
        [.., last] => Some(*last),
    }
}

impl<W: Write> Drop for Terminal<'_, W> {
    fn drop(&mut self) {
        // Nothing can be done if the terminal is gone.
        let _ = write!(self.out, "\x1b[?25h\x1b[?1049l");
        let _ = self.out.flush();
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_key_is_not_esc() {
        assert_eq!(
            (pressed(b"\x1b[A"), pressed(b"\x1b"), pressed(b"rq"), pressed(b"")),
            (None, Some(0x1b), Some(b'q'), Some(b'q'))
        );
    }

    #[test]
    fn a_frame_fits_the_terminal() {
        let waiting = |position: usize| Waiting {
            position,
            namespace: "eda".to_owned(),
            name: format!("job-{position}"),
            priority: 0,
            since: None,
            reason: "WaitingForCapacity".to_owned(),
            why: "port `cpu`: 412 ads that would match are taken".to_owned(),
        };
        let time: Timestamp = "2026-11-21T15:00:00Z".parse().unwrap();
        let reading = Reading { time, status: Status::default(), queue: (1..100).map(waiting).collect() };
        for size in [Size { lines: 24, columns: 80 }, Size { lines: 12, columns: 40 }, Size { lines: 3, columns: 10 }] {
            let lines = frame(&reading, size);
            assert!(
                lines.len() <= size.lines && lines.iter().all(|line| line.chars().count() <= size.columns),
                "{lines:#?}"
            );
        }
        let lines = frame(&reading, Size { lines: 12, columns: 80 });
        assert_eq!(lines.len(), 12);
        assert!(lines.iter().any(|line| line.starts_with("1         eda        job-1")), "{lines:#?}");
    }
}
