//! Turns the alerts of the chart and their unit tests into the verdict of promtool.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use testbed::control_plane::binaries::Binaries;
use testbed::repository;

use crate::output::noisy_step;

/// The rules, from the repository's root.
const RULES: &str = "charts/gangmatch/files/alerts.yaml";
/// Their unit tests.
const TESTS: &str = "testing/alerts/tests.yaml";

/// Checks the rules, and tests them.
///
/// # Errors
/// When promtool cannot be built, or finds something.
pub(crate) fn run() -> Result<()> {
    let promtool = noisy_step("promtool", "5 to 10 minutes on 2 cores", Binaries::of_prometheus)?.path("promtool");
    noisy_step("promtool check rules", "a second", || promtool_says(&promtool, &["check", "rules", RULES]))?;
    noisy_step("promtool test rules", "a second", || promtool_says(&promtool, &["test", "rules", TESTS]))
}

fn promtool_says(promtool: &Path, arguments: &[&str]) -> Result<()> {
    let status = Command::new(promtool).args(arguments).current_dir(repository::root()).stdin(Stdio::null()).status();
    if !status.with_context(|| format!("{} does not start", promtool.display()))?.success() {
        bail!("`promtool {}` failed; its own words are above", arguments.join(" "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::Value;

    use super::*;

    const DASHBOARD: &str = "charts/gangmatch/files/dashboard.json";
    const RUNBOOKS: &str = "docs/runbooks.md";

    fn read(path: &str) -> String {
        fs::read_to_string(repository::root().join(path)).unwrap()
    }

    fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
        value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
        value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    fn alerts() -> Vec<Value> {
        let rules: Value = serde_saphyr::from_str(&read(RULES)).unwrap();
        list(&rules, "/groups").iter().flat_map(|group| list(group, "/rules")).cloned().collect()
    }

    #[test]
    fn every_alert_reads_metrics_that_exist_and_has_a_runbook() {
        let runbooks = read(RUNBOOKS);
        let alerts = alerts();
        assert!(alerts.len() >= 10, "{}", alerts.len());
        for alert in &alerts {
            let (name, expression) = (text(alert, "/alert"), text(alert, "/expr"));
            assert!(!metrics_table::names_in(expression).is_empty(), "{name} reads no metric");
            assert_eq!(metrics_table::unknown_names(expression), [""; 0], "{name}");
            let url = format!("RUNBOOKS#{}", name.to_lowercase());
            assert_eq!(text(alert, "/annotations/runbook_url"), url, "{name}");
            assert!(["critical", "warning", "info"].contains(&text(alert, "/labels/severity")), "{name}");
            let (_, section) =
                runbooks.split_once(&format!("\n## {name}\n")).unwrap_or_else(|| panic!("no runbook of {name}"));
            let section = section.split("\n## ").next().unwrap_or_default();
            for part in ["**Meaning.**", "**Look.**", "**Act.**"] {
                assert!(section.contains(part), "the runbook of {name} lacks {part}");
            }
        }
        let sections = runbooks.lines().filter(|line| line.starts_with("## Gangmatch")).count();
        assert_eq!(sections, alerts.len(), "a runbook of no alert");
    }

    #[test]
    fn every_alert_has_a_test_in_which_it_fires_and_one_in_which_it_does_not() {
        let tests: Value = serde_saphyr::from_str(&read(TESTS)).unwrap();
        let cases: Vec<&Value> =
            list(&tests, "/tests").iter().flat_map(|test| list(test, "/alert_rule_test")).collect();
        for alert in alerts() {
            let name = text(&alert, "/alert");
            let of_alert = || cases.iter().filter(|case| text(case, "/alertname") == name);
            let fires = |case: &&&Value| !list(case, "/exp_alerts").is_empty();
            assert!(of_alert().any(|case| fires(&case)) && of_alert().any(|case| !fires(&case)), "{name}");
        }
        for series in list(&tests, "/tests").iter().flat_map(|test| list(test, "/input_series")) {
            assert_eq!(metrics_table::unknown_names(text(series, "/series")), [""; 0]);
        }
    }

    #[test]
    fn every_panel_reads_metrics_that_exist_and_has_title_unit_and_description() {
        let dashboard: Value = serde_json::from_str(&read(DASHBOARD)).unwrap();
        let panels: Vec<&Value> =
            list(&dashboard, "/panels").iter().filter(|panel| text(panel, "/type") != "row").collect();
        assert!(panels.len() > 20, "{}", panels.len());
        let mut read_somewhere = String::new();
        for panel in panels {
            let title = text(panel, "/title");
            for field in ["/title", "/description", "/fieldConfig/defaults/unit", "/datasource/uid"] {
                assert_ne!(text(panel, field), "", "{title}: {field}");
            }
            assert!(!list(panel, "/targets").is_empty(), "{title}");
            for target in list(panel, "/targets") {
                let expression = text(target, "/expr");
                assert_eq!(metrics_table::unknown_names(expression), [""; 0], "{title}");
                assert!(expression.contains("job=~\"$job\""), "{title}: {expression}");
                read_somewhere.push_str(expression);
            }
        }
        // What no alert or dashboard reads need not be counted.
        let alerts: String = alerts().iter().map(|alert| text(alert, "/expr").to_owned()).collect();
        let shown = [metrics_table::names_in(&read_somewhere), metrics_table::names_in(&alerts)].concat();
        for row in metrics_table::ROWS {
            let is_shown = row.series().any(|series| shown.contains(&series.as_str()));
            let elsewhere = ["attempts", "jobs_over_budget", "license_seats"].contains(&row.name);
            assert!(is_shown || elsewhere, "{} is on no panel and in no alert", row.name);
        }
    }
}
