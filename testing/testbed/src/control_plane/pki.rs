//! Turns nothing but randomness into the control plane's authority, its certificates and its signing keys, all P-256.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use sha2::{Digest as _, Sha256};

/// X.509's own number for an organization: a name for a second one, of which `rcgen` keeps one of each type.
const ORGANIZATION: [u64; 4] = [2, 5, 4, 10];

/// The names under which clients know the API server. Pods know it by the address of the Service `kubernetes`.
const SERVER_NAMES: [&str; 5] = ["10.96.0.1", "localhost", "kubernetes", "kubernetes.default.svc", "127.0.0.1"];

/// The folder with the control plane's keys and certificates.
#[derive(Debug, Clone)]
pub(crate) struct Pki {
    folder: PathBuf,
}

/// A certificate and its key, both as PEM.
pub(crate) struct Identity {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Pki {
    /// Makes the authority, the API server's certificates for this address and the key that signs ServiceAccount tokens.
    pub(crate) fn create(folder: &Path, address: Ipv4Addr) -> Result<Self> {
        let pki = Self { folder: folder.to_path_buf() };
        fs::create_dir_all(folder)?;
        let authority = KeyPair::generate()?;
        write_private(&pki.file("ca.crt"), &authority_params().self_signed(&authority)?.pem())?;
        write_private(&pki.file("ca.key"), &authority.serialize_pem())?;

        let mut names = SERVER_NAMES.map(String::from).to_vec();
        names.push(address.to_string());
        names.dedup();
        let mut serving = CertificateParams::new(names)?;
        serving.distinguished_name = name("kube-apiserver", &[])?;
        serving.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let server = pki.sign(serving)?;
        write_private(&pki.file("apiserver.crt"), &server.certificate)?;
        write_private(&pki.file("apiserver.key"), &server.key)?;
        let to_kubelets = pki.client("kube-apiserver", &["system:masters"])?;
        write_private(&pki.file("kubelet-client.crt"), &to_kubelets.certificate)?;
        write_private(&pki.file("kubelet-client.key"), &to_kubelets.key)?;

        let signer = KeyPair::generate()?;
        write_private(&pki.file("sa.key"), &signer.serialize_pem())?;
        write_private(&pki.file("sa.pub"), &signer.public_key_pem())?;
        Ok(pki)
    }

    /// The keys of a control plane that runs already.
    pub(crate) fn open(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf() }
    }

    /// The path of one file: `ca.crt`, `ca.key`, `apiserver.crt`, `apiserver.key`, `kubelet-client.crt`,
    /// `kubelet-client.key`, `sa.key`, `sa.pub`.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A client certificate: the user's name is its common name, the user's groups are its organizations, two at most.
    pub(crate) fn client(&self, user: &str, groups: &[&str]) -> Result<Identity> {
        let mut params = CertificateParams::default();
        params.distinguished_name = name(user, groups)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    fn sign(&self, mut params: CertificateParams) -> Result<Identity> {
        // Written out, since rustls insists where OpenSSL is content with a guess.
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        lifetime(&mut params);
        let authority = fs::read_to_string(self.file("ca.key")).context("the control plane's authority is gone")?;
        let issuer = Issuer::new(authority_params(), KeyPair::from_pem(&authority)?);
        let key = KeyPair::generate()?;
        Ok(Identity { certificate: params.signed_by(&key, &issuer)?.pem(), key: key.serialize_pem() })
    }
}

/// A bearer token that cannot be guessed: the digest of a fresh private key.
pub(crate) fn token() -> Result<String> {
    Ok(hexadecimal(&Sha256::digest(KeyPair::generate()?.serialized_der())))
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a file that only its owner may read.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "control-plane-authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    lifetime(&mut params);
    params
}

fn lifetime(params: &mut CertificateParams) {
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2100, 1, 1);
}

fn name(common: &str, organizations: &[&str]) -> Result<DistinguishedName> {
    let mut name = DistinguishedName::new();
    let types = [DnType::OrganizationName, DnType::CustomDnType(ORGANIZATION.to_vec())];
    if organizations.len() > types.len() {
        bail!("a certificate carries two groups at most: declare user `{common}` in `Options::users`, or give fewer");
    }
    for (kind, organization) in types.into_iter().zip(organizations) {
        name.push(kind, *organization);
    }
    name.push(DnType::CommonName, common);
    Ok(name)
}
