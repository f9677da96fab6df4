//! Turns one layer and its settings into an OCI image layout: blobs by their digests, and an index that names the image.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::Archive;
use crate::control_plane::hexadecimal;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// The time that an image states for its creation: the same for each build.
const CREATED: &str = "1970-01-01T00:00:00Z";

/// How containers of an image run, unless their pod says otherwise.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The program and its first arguments.
    pub entrypoint: Vec<String>,
    /// The ids of user and group, `65532:65532`; empty for root.
    pub user: String,
    /// `NAME=VALUE`.
    pub environment: Vec<String>,
    /// Ports that the program listens on, `8080/tcp`.
    pub ports: Vec<String>,
    /// Labels of the image.
    pub labels: BTreeMap<String, String>,
}

/// An image of one layer.
#[derive(Debug, Clone)]
pub struct Image {
    /// The registry, repository and tag: `registry.invalid/gangmatch:0.1.0`.
    pub name: String,
    /// The architecture as Go names it: `amd64`.
    pub architecture: String,
    /// How containers run.
    pub settings: Settings,
    /// The file system.
    pub files: Archive,
}

/// The files of an OCI image layout.
#[derive(Debug, Clone)]
pub struct Layout {
    files: BTreeMap<String, Vec<u8>>,
    digest: String,
    id: String,
}

impl Image {
    /// The image as a layout.
    ///
    /// # Errors
    /// When the file system cannot be put into an archive.
    pub fn layout(&self) -> Result<Layout> {
        let mut files = BTreeMap::new();
        let layer = blob(&mut files, LAYER, self.files.bytes()?);
        let layer_digest = layer.get("digest").cloned().unwrap_or_default();
        let config = blob(&mut files, CONFIG, serde_json::to_vec(&self.config(&layer_digest))?);
        let id = digest_of(&config);
        // The name of a tag alone, by the specification; with its repository, as containerd reads it.
        let tag = self.name.rsplit_once(':').map_or("latest", |(_, tag)| tag);
        let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]});
        let mut manifest = blob(&mut files, MANIFEST, serde_json::to_vec(&manifest)?);
        let digest = digest_of(&manifest);
        if let Some(fields) = manifest.as_object_mut() {
            fields.insert("platform".to_owned(), json!({"architecture": self.architecture, "os": "linux"}));
            fields.insert(
                "annotations".to_owned(),
                json!({"io.containerd.image.name": self.name, "org.opencontainers.image.ref.name": tag}),
            );
        }
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [manifest]});
        let path = |digest: &str| format!("blobs/{}", digest.replace(':', "/"));
        let docker = json!([{
            "Config": path(&id),
            "RepoTags": [self.name.trim_start_matches("docker.io/")],
            "Layers": [path(layer_digest.as_str().unwrap_or_default())],
        }]);
        files.insert("oci-layout".to_owned(), serde_json::to_vec(&json!({"imageLayoutVersion": "1.0.0"}))?);
        files.insert("index.json".to_owned(), serde_json::to_vec(&index)?);
        files.insert("manifest.json".to_owned(), serde_json::to_vec(&docker)?);
        Ok(Layout { files, digest, id })
    }

    fn config(&self, layer: &Value) -> Value {
        let Settings { entrypoint, user, environment, ports, labels } = &self.settings;
        let ports: BTreeMap<&String, Value> = ports.iter().map(|port| (port, json!({}))).collect();
        json!({
            "created": CREATED,
            "architecture": self.architecture,
            "os": "linux",
            "config": {
                "User": user,
                "ExposedPorts": ports,
                "Env": environment,
                "Entrypoint": entrypoint,
                "WorkingDir": "/",
                "Labels": labels,
            },
            "rootfs": {"type": "layers", "diff_ids": [layer]},
            "history": [{"created": CREATED, "created_by": "cargo xtask image"}],
        })
    }
}

impl Layout {
    /// The digest of the manifest, `sha256:...`: what a registry and a chart's `image.digest` call the image.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The digest of the configuration, `sha256:...`: what a container runtime calls the image.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Writes the layout as a folder, in the place of what was there.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_folder(&self, folder: &Path) -> Result<()> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        for (name, content) in &self.files {
            let path = folder.join(name);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    /// Writes the layout as one tar archive, for `ctr images import` and `docker load`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_archive(&self, file: &Path) -> Result<()> {
        let archive = self
            .files
            .iter()
            .fold(Archive::default(), |archive, (name, content)| archive.file(name, 0o644, content.clone()));
        fs::write(file, archive.bytes()?).with_context(|| format!("cannot write {}", file.display()))
    }
}

/// Puts content among the files under its digest; returns its descriptor.
fn blob(files: &mut BTreeMap<String, Vec<u8>>, media_type: &str, content: Vec<u8>) -> Value {
    let digest = hexadecimal(&Sha256::digest(&content));
    let descriptor = json!({"mediaType": media_type, "digest": format!("sha256:{digest}"), "size": content.len()});
    files.insert(format!("blobs/sha256/{digest}"), content);
    descriptor
}

fn digest_of(descriptor: &Value) -> String {
    descriptor.get("digest").and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Image {
        Image {
            name: "docker.io/some/thing:1.2".to_owned(),
            architecture: "amd64".to_owned(),
            settings: Settings {
                entrypoint: vec!["/thing".to_owned()],
                user: "65532:65532".to_owned(),
                labels: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
                ..Settings::default()
            },
            files: Archive::default().file("thing", 0o755, b"program".to_vec()),
        }
    }

    /// The JSON file that a descriptor names, after its size and digest were compared.
    fn content<'l>(layout: &'l Layout, descriptor: &Value) -> &'l [u8] {
        let digest = digest_of(descriptor);
        let bytes = layout.files.get(&format!("blobs/{}", digest.replace(':', "/"))).unwrap();
        assert_eq!(format!("sha256:{}", hexadecimal(&Sha256::digest(bytes))), digest);
        assert_eq!(descriptor["size"].as_u64().unwrap(), bytes.len() as u64);
        bytes
    }

    #[test]
    fn the_index_leads_by_digests_to_the_settings_and_the_files() {
        let layout = image().layout().unwrap();
        let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
        let index = json(&layout.files["index.json"]);
        let entry = &index["manifests"][0];
        assert_eq!(entry["annotations"]["io.containerd.image.name"], "docker.io/some/thing:1.2");
        assert_eq!(entry["annotations"]["org.opencontainers.image.ref.name"], "1.2");
        assert_eq!(entry["digest"], layout.digest());
        let manifest = json(content(&layout, entry));
        assert_eq!(manifest["config"]["digest"], layout.id());
        let config = json(content(&layout, &manifest["config"]));
        assert_eq!((&config["config"]["User"], &config["os"]), (&json!("65532:65532"), &json!("linux")));
        assert_eq!(config["rootfs"]["diff_ids"][0], manifest["layers"][0]["digest"]);
        assert_eq!(content(&layout, &manifest["layers"][0]), image().files.bytes().unwrap());
        let docker = json(&layout.files["manifest.json"]);
        assert_eq!(docker[0]["RepoTags"], json!(["some/thing:1.2"]));
        assert!(layout.files.contains_key(docker[0]["Layers"][0].as_str().unwrap()));
    }

    #[test]
    fn the_same_files_and_settings_give_the_same_bytes_and_others_give_another_digest() {
        let one = image().layout().unwrap();
        assert_eq!(one.files, image().layout().unwrap().files);
        let other = Image { files: Archive::default().file("thing", 0o755, b"other".to_vec()), ..image() };
        assert_ne!(other.layout().unwrap().digest(), one.digest());
    }
}
