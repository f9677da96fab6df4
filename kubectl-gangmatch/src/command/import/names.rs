//! Names as people write them into names that Kubernetes takes.

/// Small letters, digits, dashes and dots; what is anything else becomes a dash.
pub(super) fn object(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| c.to_ascii_lowercase())
        .map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' })
        .collect();
    let trimmed = plain.trim_matches(['-', '.']);
    if trimmed.is_empty() { "unnamed".to_owned() } else { trimmed.to_owned() }
}

/// Letters, digits and underscores, no digit first.
pub(super) fn label(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if plain.starts_with(|c: char| c.is_ascii_digit()) || plain.is_empty() { format!("_{plain}") } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_fit() {
        assert_eq!(object("slot1@Foo.cs.wisc.edu"), "slot1-foo.cs.wisc.edu");
        assert_eq!((object("-"), label("vcs-2024"), label("2x")), ("unnamed".into(), "vcs_2024".into(), "_2x".into()));
    }
}
