//! The one object that kubectl creates in Kubernetes' protobuf encoding where a newcomer meets it: `kubectl create namespace`.

use serde_json::{Value, json};

pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// With these bytes every such body begins.
const MAGIC: &[u8] = b"k8s\0";

/// A Namespace by its name; `None` for anything else.
pub(crate) fn namespace(body: &[u8]) -> Option<Value> {
    let envelope = body.strip_prefix(MAGIC)?;
    let kind = field(field(envelope, 1)?, 2)?;
    let name = field(field(field(envelope, 2)?, 1)?, 1)?;
    (kind == b"Namespace").then_some(())?;
    let name = std::str::from_utf8(name).ok()?;
    Some(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
}

/// The first field with this number, if it has a length: a text or a message.
fn field(mut message: &[u8], number: u64) -> Option<&[u8]> {
    while !message.is_empty() {
        let tag = varint(&mut message)?;
        match tag & 7 {
            0 => drop(varint(&mut message)?),
            2 => {
                let length = usize::try_from(varint(&mut message)?).ok()?;
                let (value, rest) = message.split_at_checked(length)?;
                if tag >> 3 == number {
                    return Some(value);
                }
                message = rest;
            }
            _ => return None,
        }
    }
    None
}

fn varint(message: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first()?;
        *message = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_read_and_nothing_else() {
        let body = |kind: &str| {
            let types = [&[10, 2][..], b"v1", &[18, u8::try_from(kind.len()).unwrap()], kind.as_bytes()].concat();
            let raw = [&[10, 8, 10, 6][..], b"campus", &[18, 0]].concat();
            let mut all = MAGIC.to_vec();
            all.extend([10, u8::try_from(types.len()).unwrap()]);
            all.extend(types);
            all.extend([18, u8::try_from(raw.len()).unwrap()]);
            all.extend(raw);
            all
        };
        let name = namespace(&body("Namespace")).unwrap().pointer("/metadata/name").cloned();
        assert_eq!(name, Some(json!("campus")));
        assert_eq!((namespace(&body("Pod")), namespace(b"k8s\0\x0a\xff"), namespace(b"{}")), (None, None, None));
    }
}
