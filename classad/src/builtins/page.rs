//! Writes the page of the manual that lists the functions.

use std::fmt::Write;

use crate::builtins::BUILTINS;
use crate::eval::builtin::{Arity, Builtin};

/// The first function of each subject, in the order of the table.
const SUBJECTS: [(&str, &str); 10] = [
    ("isUndefined", "Kinds of values"),
    ("ifThenElse", "Choice"),
    ("size", "Lists"),
    ("floor", "Numbers"),
    ("strcat", "Strings"),
    ("regexp", "Regular expressions"),
    ("stringListSize", "Strings that are lists"),
    ("time", "Times"),
    ("eval", "Expressions"),
    ("envV1ToV2", "HTCondor's strings"),
];

/// The manual's page of built-in functions, in Markdown.
#[must_use]
pub fn builtins_page() -> String {
    let mut page = String::from(
        "<!-- Generated from the table of functions in classad/src/builtins; do not edit. -->\n\
         # Built-in functions\n\n\
         Case is ignored in names. A call of an unknown function, or with the wrong number of arguments, is ERROR. Most functions\n\
         give ERROR for an argument that is ERROR or of the wrong kind, and UNDEFINED for one that is UNDEFINED. Functions that\n\
         test the kind of a value give true or false.\n",
    );
    for builtin in BUILTINS {
        if let Some((_, subject)) = SUBJECTS.iter().find(|(first, _)| *first == builtin.name) {
            // Writing to a string does not fail.
            let _ = write!(page, "\n## {subject}\n\n| function | arguments | result |\n|---|---|---|\n");
        }
        let _ = writeln!(page, "| `{}` | {} | {} |", builtin.name, count(builtin), builtin.doc.replace('|', "\\|"));
    }
    page
}

fn count(builtin: &Builtin) -> String {
    match builtin.arity {
        Arity { min, max: Some(max) } if min == max => min.to_string(),
        Arity { min, max: Some(max) } => format!("{min} to {max}"),
        Arity { min: 0, max: None } => "any number".to_owned(),
        Arity { min, max: None } => format!("{min} or more"),
    }
}
