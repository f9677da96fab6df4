//! Turns an API server's address and somebody's credentials into a kubeconfig (as JSON, which every reader of YAML
//! reads).

use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use super::pki::{Identity, write_private};

/// The `cluster` part: where the API server is and which authority signed its certificate.
pub(crate) fn cluster(server: (Ipv4Addr, u16), authority: &Path) -> Result<Value> {
    let (address, port) = server;
    let authority = base64(&std::fs::read(authority)?);
    Ok(json!({"server": format!("https://{address}:{port}"), "certificate-authority-data": authority}))
}

/// The `user` part for a client certificate.
pub(crate) fn by_certificate(identity: &Identity) -> Value {
    json!({
        "client-certificate-data": base64(identity.certificate.as_bytes()),
        "client-key-data": base64(identity.key.as_bytes()),
    })
}

/// The `user` part for a bearer token.
pub(crate) fn by_token(token: &str) -> Value {
    json!({"token": token})
}

/// Writes the whole file, readable by its owner only.
pub(crate) fn write(path: &Path, cluster: &Value, user: &Value) -> Result<()> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "it", "cluster": cluster}],
        "users": [{"name": "me", "user": user}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "me"}}],
        "current-context": "it",
    });
    write_private(path, &serde_json::to_string_pretty(&config)?)
}

/// The standard alphabet of RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4_usize {
            let index = usize::try_from(bits >> (18 - 6 * place) & 63).unwrap_or(0);
            let digit = ALPHABET.get(index).copied().unwrap_or(b'=');
            text.push(char::from(if place <= chunk.len() { digit } else { b'=' }));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_pads_as_the_standard_says() {
        let cases = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (plain, coded) in cases {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
        assert_eq!(base64(&[0xfb, 0xff]), "+/8=");
    }
}
