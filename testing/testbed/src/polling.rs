//! Turns a question that is asked again and again into its first answer, or into an error at a deadline.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// The pause between two questions.
const PAUSE: Duration = Duration::from_millis(25);

/// Asks until the answer is `Some`, and fails when `limit` has passed; `what` names the awaited thing in the error.
///
/// # Errors
/// When the question itself fails, or nothing was answered in time.
pub fn until<T>(what: &str, limit: Duration, mut ask: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask()? {
            return Ok(answer);
        }
        if start.elapsed() >= limit {
            bail!("waited {:.1} s in vain for {what}", limit.as_secs_f32());
        }
        std::thread::sleep(PAUSE);
    }
}
