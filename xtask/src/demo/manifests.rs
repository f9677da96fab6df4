//! A folder of manifests into requests that create their objects, for machines without kubectl.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Where an object of gangmatch in the namespace `default` is created, and the object, for each of a folder's manifests.
pub(crate) fn read(folder: &Path) -> Result<Vec<(String, Value)>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<_> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|end| end == "yaml"));
    files.sort();
    let mut objects = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file)?;
        let documents: Vec<Value> =
            serde_saphyr::from_multiple(&text).with_context(|| format!("cannot read {}", file.display()))?;
        for object in documents {
            objects.push((collection(&object).with_context(|| file.display().to_string())?, object));
        }
    }
    Ok(objects)
}

fn collection(object: &Value) -> Result<String> {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let plural = match text("kind") {
        kind @ ("Job" | "Machine" | "License") => format!("{}s", kind.to_lowercase()),
        other => bail!("an example of the demonstration has the kind `{other}`; it can be Job, Machine or License"),
    };
    Ok(format!("/apis/{}/namespaces/default/{plural}", text("apiVersion")))
}

#[cfg(test)]
mod tests {
    use testbed::repository;

    #[test]
    fn the_example_is_a_job_a_license_and_a_machine() {
        let objects = super::read(&repository::root().join(super::super::EXAMPLE)).unwrap();
        let paths: Vec<&str> = objects.iter().filter_map(|(path, _)| path.rsplit('/').next()).collect();
        assert_eq!(paths, ["jobs", "licenses", "machines"]);
        assert!(objects.iter().all(|(path, _)| path.starts_with("/apis/gangmatch.dev/v1alpha1/namespaces/default/")));
    }
}
