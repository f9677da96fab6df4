//! Random quantities: how long between two jobs, how long a job runs, what it asks for.

use sampling::Random;

/// A distribution of the simulator (thesis, section 5.2), cut to bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distribution {
    /// What is drawn from.
    pub law: Law,
    /// A smaller value becomes this.
    pub min: Option<f64>,
    /// A larger value becomes this.
    pub max: Option<f64>,
}

/// What is drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Always this value; it draws no random number.
    Constant(f64),
    /// The exponential distribution with this mean; it draws one number, as the others but the normal one do.
    Exponential(f64),
    /// Real numbers between two bounds, each alike.
    Uniform(f64, f64),
    /// Whole numbers between two bounds, both included, each alike.
    Whole(i64, i64),
    /// The normal distribution with this mean and this standard deviation; it draws two numbers.
    Gaussian(f64, f64),
}

impl From<Law> for Distribution {
    fn from(law: Law) -> Distribution {
        Distribution { law, min: None, max: None }
    }
}

impl Distribution {
    /// The next value.
    pub fn draw(&self, random: &mut Random) -> f64 {
        let value = match self.law {
            Law::Constant(value) => value,
            Law::Exponential(mean) => random.exponential(mean),
            Law::Uniform(low, high) => random.uniform(low, high),
            Law::Whole(low, high) => signed(random.between(low, high)),
            Law::Gaussian(mean, deviation) => random.gaussian(mean, deviation),
        };
        let raised = self.min.map_or(value, |min| value.max(min));
        self.max.map_or(raised, |max| raised.min(max))
    }
}

/// A whole number as a real one.
#[expect(clippy::cast_precision_loss, reason = "bounds of a distribution are small")]
fn signed(whole: i64) -> f64 {
    whole as f64
}
