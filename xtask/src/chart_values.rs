//! Turns the comments of the chart's values.yaml into the README of the chart.

use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use testbed::repository;

/// Where the text belongs, from the repository's root.
pub(crate) const PATH: &str = "charts/gangmatch/README.md";
const VALUES: &str = "charts/gangmatch/values.yaml";

const HEADER: &str = "\
<!-- Written by `cargo xtask generate` from the comments in values.yaml; do not edit. -->
# The chart gangmatch

Installs the controller of gangmatch with its CustomResourceDefinitions, admission policies and roles. A cluster has one
installation. It needs Kubernetes 1.33 or newer, and Helm 3 or 4.

```sh
helm upgrade --install gangmatch charts/gangmatch -n gangmatch-system --create-namespace --set image.repository=REGISTRY/gangmatch
```

The chart of a release has its image in its values. There is no release yet: [build an image](../../docs/quickstart.md#1-install) and
push it to your own registry.

To change values later, use `helm upgrade` with `--reset-then-reuse-values` and `--set`. Without that flag, Helm forgets the values that
you set before. `values.schema.json` checks all values: a name that is not in the table below is an error.

[Upgrades](../../docs/upgrade.md) describes what an upgrade, a rollback and an uninstallation do to CustomResourceDefinitions
and claims. [Operation](../../docs/operation.md) describes how the controller behaves with these values.

## Values

";

/// One value that users can set.
#[derive(Debug, PartialEq, Eq)]
struct DocumentedValue {
    /// The keys from the outermost to the value's own.
    path: Vec<String>,
    about: String,
}

/// The text of the chart's README.
///
/// # Errors
/// When values.yaml cannot be read, or has a value without a comment.
pub(crate) fn text() -> Result<String> {
    let values = fs::read_to_string(repository::root().join(VALUES)).context(VALUES)?;
    let defaults: Value = serde_saphyr::from_str(&values).context(VALUES)?;
    let mut text = format!("{HEADER}| value | default | meaning |\n|---|---|---|\n");
    for DocumentedValue { path, about } in rows(&values)? {
        let default = defaults.pointer(&format!("/{}", path.join("/"))).with_context(|| path.join("."))?;
        let cell = |text: &str| text.replace('|', "\\|");
        text.push_str(&format!("| `{}` | `{}` | {} |\n", path.join("."), cell(&default.to_string()), cell(&about)));
    }
    Ok(text)
}

/// The keys with a comment `# -- ...` in front of them, in the order of the file. A comment goes on in the lines below it that begin
/// with `#`. What is below such a key belongs to its default.
fn rows(values: &str) -> Result<Vec<DocumentedValue>> {
    let mut rows = Vec::new();
    let mut outer: Vec<(usize, String)> = Vec::new();
    let mut documented: Option<usize> = None;
    let mut about = String::new();
    for (number, line) in values.lines().enumerate() {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        if let Some(comment) = content.strip_prefix('#') {
            let comment = comment.trim();
            about = match comment.strip_prefix("-- ") {
                Some(first) => first.to_owned(),
                None if about.is_empty() => continue,
                None => format!("{about} {comment}"),
            };
            continue;
        }
        if content.is_empty() || documented.is_some_and(|key| indent > key) {
            continue;
        }
        let (key, value) = content.split_once(':').with_context(|| format!("{VALUES}: line {}: no key", number + 1))?;
        outer.retain(|(before, _)| *before < indent);
        outer.push((indent, key.to_owned()));
        documented = (!about.is_empty()).then_some(indent);
        if documented.is_some() {
            let path = outer.iter().map(|(_, key)| key.clone()).collect();
            rows.push(DocumentedValue { path, about: std::mem::take(&mut about) });
        } else if !value.trim().is_empty() {
            bail!("{VALUES}: line {}: `{key}` has no comment; write `# -- ` and what it means above it", number + 1);
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::Value;
    use testbed::repository;

    use super::{DocumentedValue, VALUES, rows};

    fn row(path: &[&str], about: &str) -> DocumentedValue {
        DocumentedValue { path: path.iter().map(|&key| key.to_owned()).collect(), about: about.to_owned() }
    }

    #[test]
    fn a_comment_belongs_to_the_key_below_it() {
        let text = "# -- How many.\n# 0 stops it.\nreplicas: 2\n\nimage:\n  # -- Where.\n  tag: \"\"\n\n# -- What it\n\
                    # needs.\nresources:\n  limits:\n    memory: 1Gi\n# -- Last.\nlast: {}\n";
        let expected = [
            row(&["replicas"], "How many. 0 stops it."),
            row(&["image", "tag"], "Where."),
            row(&["resources"], "What it needs."),
            row(&["last"], "Last."),
        ];
        assert_eq!(rows(text).unwrap(), expected);
    }

    #[test]
    fn a_value_without_a_comment_is_an_error() {
        let error = rows("a:\n  # -- Known.\n  b: 1\n  c: 2\n").unwrap_err().to_string();
        assert!(error.contains("line 4: `c` has no comment"), "{error}");
    }

    /// All paths of a schema that are not only there to hold others.
    fn leaves(schema: &Value, path: &[String], found: &mut Vec<Vec<String>>) {
        match schema.get("properties").and_then(Value::as_object) {
            Some(properties) => {
                for (name, inner) in properties {
                    leaves(inner, &[path, std::slice::from_ref(name)].concat(), found);
                }
            }
            None => found.push(path.to_vec()),
        }
    }

    #[test]
    fn the_schema_and_the_values_are_about_the_same_values() {
        let read = |path: &str| fs::read_to_string(repository::root().join(path)).unwrap();
        let schema: Value = serde_json::from_str(&read("charts/gangmatch/values.schema.json")).unwrap();
        let mut known = Vec::new();
        leaves(&schema, &[], &mut known);
        let rows = rows(&read(VALUES)).unwrap();
        assert!(rows.len() > 20, "only {} values", rows.len());
        for DocumentedValue { path, .. } in &rows {
            assert!(known.iter().any(|one| one.starts_with(path)), "values.schema.json does not know {path:?}");
        }
        // Helm gives each chart the value `global`.
        for path in known.iter().filter(|path| **path != ["global"]) {
            assert!(rows.iter().any(|row| path.starts_with(&row.path)), "values.yaml does not show {path:?}");
        }
    }
}
