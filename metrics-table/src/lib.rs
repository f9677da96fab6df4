//! The metrics of the controller, as a table: the controller registers them from it, and the documentation, the dashboard and the alerts
//! are checked against it.

mod table;

use std::fmt::Write as _;

pub use table::*;

/// What every name begins with.
pub const PREFIX: &str = "gangmatch";

/// What a metric does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricType {
    /// It only grows; its name ends in `_total`.
    Counter,
    /// It goes up and down.
    Gauge,
    /// It counts observations by size: `_bucket`, `_sum` and `_count`.
    Histogram,
}

impl MetricType {
    /// The word in the text that Prometheus reads.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            MetricType::Counter => "counter",
            MetricType::Gauge => "gauge",
            MetricType::Histogram => "histogram",
        }
    }

    /// What follows the name in its series.
    fn suffixes(self) -> &'static [&'static str] {
        match self {
            MetricType::Counter => &["_total"],
            MetricType::Gauge => &[""],
            MetricType::Histogram => &["_bucket", "_sum", "_count"],
        }
    }
}

/// One metric with so many labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric<const LABELS: usize> {
    /// Its name, without [`PREFIX`] and without `_total`. Example: `requests`
    pub name: &'static str,
    /// What it does.
    pub kind: MetricType,
    /// The names of its labels.
    pub labels: [&'static str; LABELS],
    /// The unit of its values.
    pub unit: &'static str,
    /// What it says, as a sentence without its full stop.
    pub meaning: &'static str,
}

/// A metric, whatever labels it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// As in [`Metric`].
    pub name: &'static str,
    /// As in [`Metric`].
    pub kind: MetricType,
    /// As in [`Metric`].
    pub labels: &'static [&'static str],
    /// As in [`Metric`].
    pub unit: &'static str,
    /// As in [`Metric`].
    pub meaning: &'static str,
}

impl<const LABELS: usize> Metric<LABELS> {
    const fn row(&'static self) -> Row {
        let Metric { name, kind, labels, unit, meaning } = self;
        Row { name, kind: *kind, labels, unit, meaning }
    }
}

impl Row {
    /// The names of its series. Example: `gangmatch_requests_total`
    pub fn series(self) -> impl Iterator<Item = String> {
        self.kind.suffixes().iter().map(move |suffix| format!("{PREFIX}_{}{suffix}", self.name))
    }

    /// The name by which the documentation calls it: that of its series, for a histogram that without its endings.
    #[must_use]
    pub fn shown(self) -> String {
        let suffix = if self.kind == MetricType::Counter { "_total" } else { "" };
        format!("{PREFIX}_{}{suffix}", self.name)
    }
}

/// The table for the documentation, in Markdown.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from("| metric | type | labels | unit | meaning |\n|---|---|---|---|---|");
    for row in ROWS {
        let labels: Vec<String> = row.labels.iter().map(|label| format!("`{label}`")).collect();
        let (name, kind, unit, meaning) = (row.shown(), row.kind.as_str(), row.unit, row.meaning);
        // Writing into a String does not fail.
        let _ = write!(text, "\n| `{name}` | {kind} | {} | {unit} | {meaning} |", labels.join(", "));
    }
    text
}

/// The names of metrics of the controller in an expression of Prometheus, in the order of the text.
#[must_use]
pub fn names_in(expression: &str) -> Vec<&str> {
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_' || character == ':';
    let begin = format!("{PREFIX}_");
    expression.split(|character| !is_word(character)).filter(|word| word.starts_with(&begin)).collect()
}

/// The names in an expression that are no series of the table.
#[must_use]
pub fn unknown_names(expression: &str) -> Vec<&str> {
    let is_known = |name: &str| ROWS.iter().any(|row| row.series().any(|series| series == name));
    names_in(expression).into_iter().filter(|name| !is_known(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_end_as_their_unit_and_type_ask() {
        for (index, row) in ROWS.iter().enumerate() {
            assert!(ROWS.iter().skip(index + 1).all(|other| other.name != row.name), "{} twice", row.name);
            assert_eq!(row.name.ends_with("_seconds"), row.unit.ends_with("seconds"), "{}", row.name);
            assert!(!row.name.ends_with("_total"), "{}: the text adds _total", row.name);
            assert!(!row.meaning.ends_with('.') && !row.meaning.contains(['|', '\n']), "{}: {}", row.name, row.meaning);
        }
    }

    #[test]
    fn names_in_expressions_are_found_and_checked() {
        let expression =
            "sum by (reason) (rate(gangmatch_decisions_total{decision=\"Aborted\"}[5m])) / gangmatch_leader";
        assert_eq!(names_in(expression), ["gangmatch_decisions_total", "gangmatch_leader"]);
        assert_eq!(unknown_names(expression), Vec::<&str>::new());
        assert_eq!(
            unknown_names("gangmatch_decisions + gangmatch_leaders"),
            ["gangmatch_decisions", "gangmatch_leaders"]
        );
        assert_eq!(unknown_names("histogram_quantile(0.5, rate(gangmatch_wait_duration_seconds_bucket[1h]))"), [""; 0]);
    }

    #[test]
    fn the_documentation_has_a_row_for_each() {
        let text = markdown();
        assert_eq!(text.lines().count(), ROWS.len() + 2);
        assert!(text.contains("| `gangmatch_requests_total` | counter | `kind`, `outcome` | requests | "), "{text}");
    }
}
