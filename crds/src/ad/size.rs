//! How large the text of an object is, and whether that is too large for an ad.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde_json::Value;

use super::NotAccepted;
use crate::conditions::reasons;
use crate::{AdFields, ExprText, Job, Offer, SetFields};

/// Most text of one ad, in bytes: of all its expressions, literals and names, a workload's template included.
pub const AD_BYTES_MAX: usize = 262_144;
/// Most elements of one ad: values, names and operators.
pub const AD_ELEMENTS_MAX: usize = 32_768;

/// How large an object's text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// The length of all texts, in bytes.
    pub bytes: usize,
    /// The values, names and operators in them, about as many as an ad has nodes.
    pub elements: usize,
}

impl Size {
    /// That of a Job.
    #[must_use]
    pub fn of_job(job: &Job) -> Size {
        let mut size = Size::default();
        size.metadata(&job.metadata);
        size.fields(&job.spec.ad);
        size.text(job.spec.gang_rank.as_ref());
        if let Some(workload) = &job.spec.workload {
            size.literals(workload.job_template.as_ref());
            size.texts(Some(&workload.env));
        }
        size
    }

    /// That of an offer.
    #[must_use]
    pub fn of_offer<O: Offer>(offer: &O) -> Size {
        let mut size = Size::default();
        size.metadata(offer.meta());
        size.fields(offer.ad_fields());
        let fields = offer.offer_fields();
        for declared in &fields.dynamic_attributes {
            size.text(declared.min_change.as_ref());
        }
        size.text(fields.charge_weight.as_ref());
        size.selector(fields.allowed_namespaces.as_ref().and_then(|allowed| allowed.selector.as_ref()));
        size.literals(offer.status().map(|status| &status.attributes));
        size
    }

    /// Whether no ad may be so large.
    ///
    /// # Errors
    /// It is: the message says how large it is, how large it may be, and what to do.
    pub fn check(self) -> Result<(), NotAccepted> {
        let Size { bytes, elements } = self;
        if bytes <= AD_BYTES_MAX && elements <= AD_ELEMENTS_MAX {
            return Ok(());
        }
        let (found, most) = match bytes > AD_BYTES_MAX {
            true => (format!("{bytes} bytes of text"), format!("{AD_BYTES_MAX} bytes")),
            // reading stops a little beyond the limit
            false => (
                format!("more than {AD_ELEMENTS_MAX} values, names and operators"),
                format!("{AD_ELEMENTS_MAX} of them"),
            ),
        };
        let message = format!(
            "spec: found {found}; write at most {most}: keep large data in a ConfigMap or a file, and name it in an attribute"
        );
        Err(NotAccepted::new(reasons::AD_TOO_LARGE, &message))
    }

    fn metadata(&mut self, metadata: &ObjectMeta) {
        for (name, value) in metadata.labels.iter().chain(&metadata.annotations).flatten() {
            self.string(name);
            self.string(value);
        }
        metadata.finalizers.iter().flatten().for_each(|name| self.string(name));
        for owner in metadata.owner_references.iter().flatten() {
            [&owner.api_version, &owner.kind, &owner.name, &owner.uid].into_iter().for_each(|text| self.string(text));
        }
    }

    fn selector(&mut self, selector: Option<&LabelSelector>) {
        let labels = selector.and_then(|selector| selector.match_labels.as_ref());
        for (name, value) in labels.into_iter().flatten() {
            self.string(name);
            self.string(value);
        }
        let requirements = selector.and_then(|selector| selector.match_expressions.as_ref());
        for requirement in requirements.into_iter().flatten() {
            self.string(&requirement.key);
            requirement.values.iter().flatten().for_each(|value| self.string(value));
        }
    }

    fn fields(&mut self, fields: &AdFields) {
        let AdFields { owner, classad, attributes, expressions, constraint, rank, request, ports, private } = fields;
        owner.iter().for_each(|text| self.string(text));
        classad.iter().for_each(|text| self.source(text));
        self.literals(attributes.as_ref());
        self.texts(expressions.as_ref());
        [constraint, rank].into_iter().for_each(|text| self.text(text.as_ref()));
        self.texts(request.as_ref());
        for port in ports.iter().flatten() {
            self.string(&port.label);
            self.literals(port.attributes.as_ref());
            self.texts(port.expressions.as_ref());
            [&port.constraint, &port.rank].into_iter().for_each(|text| self.text(text.as_ref()));
            let SetFields { count, min_count, max_count, same, distinct, group_constraint, group_rank } = &port.set;
            let texts = [count, min_count, max_count, group_constraint, group_rank];
            texts.into_iter().for_each(|text| self.text(text.as_ref()));
            same.iter().chain(distinct).flatten().for_each(|name| self.string(name));
            self.texts(port.request.as_ref());
        }
        private.iter().flatten().for_each(|name| self.string(name));
    }

    fn string(&mut self, text: &str) {
        self.bytes = self.bytes.saturating_add(text.len());
        self.elements = self.elements.saturating_add(1);
    }

    fn literals<'v>(&mut self, map: Option<impl IntoIterator<Item = (&'v String, &'v Value)>>) {
        for (name, value) in map.into_iter().flatten() {
            self.string(name);
            self.literal(value);
        }
    }

    fn literal(&mut self, value: &Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => self.elements = self.elements.saturating_add(1),
            Value::String(text) => self.string(text),
            Value::Array(items) => {
                self.elements = self.elements.saturating_add(1);
                items.iter().for_each(|item| self.literal(item));
            }
            Value::Object(fields) => {
                self.elements = self.elements.saturating_add(1);
                self.literals(Some(fields));
            }
        }
    }

    fn texts(&mut self, map: Option<&BTreeMap<String, ExprText>>) {
        for (name, source) in map.into_iter().flatten() {
            self.string(name);
            self.text(Some(source));
        }
    }

    fn text(&mut self, source: Option<&ExprText>) {
        source.into_iter().for_each(|source| self.source(&source.text()));
    }

    fn source(&mut self, source: &str) {
        self.bytes = self.bytes.saturating_add(source.len());
        self.elements = self.elements.saturating_add(elements(source));
    }
}

/// Words, numbers, strings and operators of an expression's text, without reading it.
fn elements(source: &str) -> usize {
    let (mut count, mut in_word, mut quote, mut escaped) = (0_usize, false, None, false);
    for byte in source.bytes() {
        if let Some(end) = quote {
            if byte == end && !escaped {
                quote = None;
            }
            escaped = byte == b'\\' && !escaped;
            continue;
        }
        let is_word = byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
        // after a dot another name begins
        let begins = if is_word { !in_word } else { !byte.is_ascii_whitespace() && byte != b'.' };
        count = count.saturating_add(usize::from(begins));
        in_word = is_word;
        if matches!(byte, b'"' | b'\'') {
            quote = Some(byte);
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JobSpec, Machine, MachineSpec};
    use serde_json::json;

    fn job(spec: Value) -> Job {
        Job::new("j", serde_json::from_value::<JobSpec>(spec).unwrap())
    }

    #[test]
    fn elements_are_words_operators_and_strings() {
        for (source, count) in [
            ("", 0),
            ("other.Memory", 2),
            ("a.a.a.a", 4),
            ("other.Memory >= 64", 5),
            ("a+b*c", 5),
            ("!!!x", 4),
            ("{1,2,3}", 7),
            (r#"Name == "two \" words" && x"#, 7),
        ] {
            assert_eq!(elements(source), count, "{source}");
        }
    }

    #[test]
    fn b13_an_ad_of_ordinary_size_is_small() {
        let size = Size::of_job(&job(json!({"attributes": {"App": "sim", "Tags": ["a", "b"]}, "ports": [
            {"label": "cpu", "constraint": "cpu.Type == \"Machine\" && cpu.Memory >= 1024", "rank": "cpu.Speed"}]})));
        assert!(size.bytes < 128 && (15..50).contains(&size.elements), "{size:?}");
        assert_eq!(size.check(), Ok(()));
    }

    #[test]
    fn b13_what_is_too_large_is_refused_wherever_it_stands() {
        let (long, list) = ("x".repeat(AD_BYTES_MAX), json!(vec![1; AD_ELEMENTS_MAX]));
        for spec in [
            json!({"attributes": {"A": long}}),
            json!({"attributes": {"A": list}}),
            json!({"classad": format!("[ A = {{{}1}} ]", "1,".repeat(AD_ELEMENTS_MAX / 2))}),
            json!({"ports": [{"label": "a", "attributes": {"A": list}}]}),
            json!({"workload": {"jobTemplate": {"metadata": {"annotations": {"a": long}}}}}),
            json!({"expressions": (0..17).map(|n| (format!("E{n}"), json!("x".repeat(16384)))).collect::<serde_json::Map<_, _>>()}),
        ] {
            let problem = super::super::job_ad(&job(spec)).unwrap_err();
            assert_eq!(problem.reason, "AdTooLarge");
            assert!(problem.message.starts_with("spec: found ") && problem.message.contains("write at most"));
        }
        let spec: MachineSpec = serde_json::from_value(json!({"attributes": {"A": list}})).unwrap();
        assert_eq!(super::super::machine_ad(&Machine::new("m", spec)).unwrap_err().reason, "AdTooLarge");
    }

    #[test]
    fn b13_reading_stops_beyond_the_limit() {
        let text = json!({"attributes": {"A": [1, vec![1; AD_ELEMENTS_MAX * 8], {"b": {"c": vec![1; 9]}}], "Z": 1}})
            .to_string();
        let spec: JobSpec = serde_json::from_str(&text).unwrap();
        let read = Size::of_job(&Job::new("j", spec));
        assert!((AD_ELEMENTS_MAX + 1..AD_ELEMENTS_MAX + 16).contains(&read.elements), "{read:?}");
    }
}
