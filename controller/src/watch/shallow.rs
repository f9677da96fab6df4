//! What the API server sends into JSON that is nested so deeply at most: what is deeper is sent on as null.
//!
//! The library that reads JSON refuses a whole list for one value that is nested too deeply, and the API server stores values that
//! are nested far deeper. An ad may be nested 64 deep (`crds`), so that one that is cut here is refused there, and told why.

use bytes::{Bytes, BytesMut};

/// How deep lists and maps may be nested, those around an object included.
const DEPTH_MAX: usize = 100;

/// A stream of JSON texts, as far as it was looked at.
#[derive(Debug, Default)]
pub(crate) struct Shallow {
    depth: usize,
    in_text: bool,
    escaped: bool,
}

impl Shallow {
    /// The next piece of the stream, without what is too deep.
    pub(crate) fn pass(&mut self, piece: Bytes) -> Bytes {
        let (mut kept, mut from) = (BytesMut::new(), 0);
        // where what is left out begins in this piece
        let mut out = (self.depth > DEPTH_MAX).then_some(0);
        for (at, byte) in piece.iter().enumerate() {
            if self.in_text {
                self.in_text = *byte != b'"' || self.escaped;
                self.escaped = *byte == b'\\' && !self.escaped;
                continue;
            }
            match byte {
                b'"' => self.in_text = true,
                b'{' | b'[' => {
                    self.depth = self.depth.saturating_add(1);
                    if self.depth > DEPTH_MAX && out.is_none() {
                        kept.extend_from_slice(piece.get(from..at).unwrap_or_default());
                        kept.extend_from_slice(b"null");
                        out = Some(at);
                    }
                }
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == DEPTH_MAX && out.take().is_some() {
                        from = at.saturating_add(1);
                    }
                }
                _ => {}
            }
        }
        match out {
            None if from == 0 && kept.is_empty() => piece,
            None => {
                kept.extend_from_slice(piece.get(from..).unwrap_or_default());
                kept.freeze()
            }
            Some(_) => kept.freeze(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn passed(text: &str, pieces: usize) -> String {
        let mut shallow = Shallow::default();
        let all: Vec<Bytes> =
            text.as_bytes().chunks(pieces).map(|part| shallow.pass(Bytes::copy_from_slice(part))).collect();
        String::from_utf8(all.concat()).unwrap()
    }

    fn nested(depth: usize, around: (&str, &str)) -> String {
        format!("{}{}{}", around.0.repeat(depth), r#""]}\"[{""#, around.1.repeat(depth))
    }

    #[test]
    fn f6_what_is_nested_too_deeply_is_left_out_and_all_else_is_read() {
        for around in [("[", "]"), (r#"{"a":"#, "}"), (r#"[1,{"b]":"#, "},2]")] {
            for depth in [1, 40, 49, 50, 60, 99, 100, 101, 130, 5_000] {
                let text = format!(r#"{{"items": [{{"a": {}, "b": 1}}, {{"c": "[["}}]}}"#, nested(depth, around));
                for pieces in [1, 7, 100_000] {
                    let read: Value = serde_json::from_str(&passed(&text, pieces)).unwrap();
                    assert_eq!((&read["items"][0]["b"], &read["items"][1]), (&json!(1), &json!({"c": "[["})));
                }
            }
        }
        // as events of a watch come: one after the other
        let two = format!("{}\n{{\"type\": \"MODIFIED\"}}\n", nested(300, ("[", "]")));
        let read: Vec<Value> = passed(&two, 11).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(read[1], json!({"type": "MODIFIED"}));
    }

    proptest! {
        #[test]
        fn what_is_not_deep_passes_as_it_is(text in "[\\[\\]{}\",:a1\\\\ ]{0,80}", pieces in 1_usize..9) {
            prop_assert_eq!(passed(&text, pieces), text);
        }
    }
}
