//! Turns a question that is asked again and again into its first answer, or into an error at a deadline.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// The least pause between two questions.
const PAUSE_MIN: Duration = Duration::from_millis(25);
/// The longest.
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// A pause is so many times as long as the question before it took: who waits leaves the processor to what is waited for.
const PAUSE_PER_QUESTION: u32 = 8;
/// It is also this part of what was waited until then: the answer comes that much later at most.
const PART_OF_WAIT: u32 = 10;

/// Asks until the answer is `Some`, and fails when `limit` has passed; `what` names the awaited thing in the error.
///
/// # Errors
/// When the question itself fails, or nothing was answered in time.
pub fn until<T>(what: &str, limit: Duration, mut ask: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let start = Instant::now();
    loop {
        let asked = Instant::now();
        if let Some(answer) = ask()? {
            return Ok(answer);
        }
        let pause = asked.elapsed().saturating_mul(PAUSE_PER_QUESTION).max(start.elapsed() / PART_OF_WAIT);
        if start.elapsed() >= limit {
            bail!("waited {:.1} s in vain for {what}", limit.as_secs_f32());
        }
        std::thread::sleep(pause.clamp(PAUSE_MIN, PAUSE_MAX));
    }
}
