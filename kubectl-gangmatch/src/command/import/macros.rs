//! The `$(variables)` of a submit file into their values.

/// A text with the values of its variables.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expanded {
    pub(super) text: String,
    /// The first variable that has no value.
    pub(super) unknown: Option<String>,
    /// What is not a variable of the file, and stays as it is: `$$(OpSys)`, `$ENV(HOME)`.
    pub(super) kept: Vec<String>,
}

/// How deep variables may stand in the values of variables, and how long a text may become.
const DEPTH_MAX: usize = 8;
const LENGTH_MAX: usize = 1 << 16;

/// A text with the values of its variables, which may have variables themselves. `$(x:default)` has a value in any case. A name is
/// asked for in lower case.
pub(super) fn expanded(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Expanded {
    let mut text = text.to_owned();
    for _ in 0..DEPTH_MAX {
        let (mut next, mut at, mut changed) = (String::new(), 0, false);
        for reference in references(&text).into_iter().filter(Reference::is_variable) {
            let Some(value) = reference.value(value) else { continue };
            next.push_str(text.get(at..reference.start).unwrap_or(""));
            next.push_str(&value);
            (at, changed) = (reference.end, true);
        }
        next.push_str(text.get(at..).unwrap_or(""));
        text = next;
        if !changed || text.len() > LENGTH_MAX {
            break;
        }
    }
    let left = references(&text);
    let unknown = left.iter().find(|one| one.is_variable()).map(|one| one.name().to_owned());
    let kept = left.iter().filter(|one| !one.is_variable()).filter_map(|one| text.get(one.start..one.end));
    let kept = kept.map(str::to_owned).collect();
    Expanded { text, unknown, kept }
}

/// A text in which a variable's own earlier value stands in its place: `A = $(A) -v` adds to what A was. Without one, it is the default
/// or empty.
pub(super) fn with_earlier(text: &str, is_own: impl Fn(&str) -> bool, earlier: Option<&str>) -> String {
    let (mut all, mut at) = (String::new(), 0);
    let is_own = |one: &Reference<'_>| one.is_variable() && is_own(one.name());
    for reference in references(text).into_iter().filter(is_own) {
        if all.len() > LENGTH_MAX {
            break;
        }
        all.push_str(text.get(at..reference.start).unwrap_or(""));
        all.push_str(&reference.value(&|_| earlier.map(str::to_owned)).unwrap_or_default());
        at = reference.end;
    }
    all.push_str(text.get(at..).unwrap_or(""));
    all
}

/// The names of the variables that a text uses, in lower case.
pub(super) fn variables(text: &str) -> Vec<String> {
    let all = references(text);
    all.iter().filter(|one| one.is_variable()).map(|one| one.name().to_ascii_lowercase()).collect()
}

/// Something like `$(x)`: where it stands, what is before its parenthesis, and what is in it.
struct Reference<'t> {
    start: usize,
    end: usize,
    head: &'t str,
    inside: &'t str,
}

impl Reference<'_> {
    fn is_variable(&self) -> bool {
        // The number of the machine among those of a parallel job: no value of the file.
        self.head == "$" && !self.name().eq_ignore_ascii_case("node")
    }

    fn name(&self) -> &str {
        self.inside.split_once(':').map_or(self.inside, |(name, _)| name).trim()
    }

    fn value(&self, value: &dyn Fn(&str) -> Option<String>) -> Option<String> {
        let default = || self.inside.split_once(':').map(|(_, default)| default.to_owned());
        value(&self.name().to_ascii_lowercase()).or_else(default)
    }
}

/// The references of a text, those inside of others left out.
fn references(text: &str) -> Vec<Reference<'_>> {
    let (mut all, mut from) = (Vec::new(), 0);
    while let Some(at) = text.get(from..).and_then(|rest| rest.find('$')) {
        match reference(text, from + at) {
            Some(found) => {
                from = found.end;
                all.push(found);
            }
            None => from += at + 1,
        }
    }
    all
}

/// The reference that begins here, if one does.
fn reference(text: &str, start: usize) -> Option<Reference<'_>> {
    let rest = text.get(start..)?;
    let open = rest.find('(')?;
    let head = rest.get(..open)?;
    let function = head.trim_start_matches('$');
    if !function.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return None;
    }
    let mut depth = 0_usize;
    for (place, letter) in rest.char_indices().skip_while(|(place, _)| *place < open) {
        match letter {
            '(' => depth += 1,
            ')' if depth == 1 => {
                let inside = rest.get(open + 1..place)?;
                return Some(Reference { start, end: start + place + 1, head, inside });
            }
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str) -> Option<String> {
        match name {
            "process" => Some("3".to_owned()),
            "out" => Some("run.$(Process)".to_owned()),
            "loop" => Some("$(loop)".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn variables_are_expanded_to_the_bottom_and_circles_end() {
        let of = |text: &str| expanded(text, &value);
        assert_eq!(of("$(OUT) $5 (a) $(open").text, "run.3 $5 (a) $(open");
        assert_eq!(of("$(OUT)").unknown, None);
        assert_eq!(of("$(mem:2048) $(Process:7) $(a:$(out))").text, "2048 3 run.3");
        assert_eq!((of("$(loop)").unknown.as_deref(), of("a $(Mem)").unknown.as_deref()), (Some("loop"), Some("Mem")));
    }

    #[test]
    fn what_is_no_variable_of_the_file_is_kept_and_named() {
        let found = expanded("$$(OpSys) $ENV(HOME)/$(process) $(Node)", &value);
        assert_eq!(found.text, "$$(OpSys) $ENV(HOME)/3 $(Node)");
        assert_eq!(
            (found.unknown, found.kept),
            (None, vec!["$$(OpSys)".into(), "$ENV(HOME)".into(), "$(Node)".into()])
        );
    }

    #[test]
    fn a_variable_that_refers_to_itself_has_its_earlier_value_there() {
        let of = |text: &str, earlier| with_earlier(text, |name| name.eq_ignore_ascii_case("a"), earlier);
        assert_eq!(of("$(A)2 $(b) $(a)", Some("1")), "12 $(b) 1");
        assert_eq!((of("$(A)2", None), of("$(A:x)2", None)), ("2".into(), "x2".into()));
    }

    #[test]
    fn a_variable_is_used_in_any_spelling() {
        assert_eq!(variables("a $(Seed).b $(seed:1) $$(other)"), ["seed", "seed"]);
    }
}
