//! Turns files into container images without any container program: an OCI image layout, as a folder and as one archive.
//!
//! The same files and settings give the same bytes. The formats are those of the OCI Image Specification 1.1
//! (`image-layout.md`, `manifest.md`, `config.md`, `layer.md`); `manifest.json` in the archive is Docker's, for `docker load`.

mod archive;
mod layout;

pub use archive::Archive;
pub use layout::{Image, Layout, Settings};
