//! Any text, in every form and both dialects, is read or refused with a reason that lies inside the text.
#![no_main]

use classad::{Dialect, Form, read_ad, read_ads, read_expr};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for dialect in [Dialect::Htcondor, Dialect::Gangmatch] {
        let expr = read_expr(text, dialect);
        let mut remarks = vec![(expr.read.is_some(), expr.diagnostics)];
        for form in [Form::Brackets, Form::Long, Form::Json, Form::Any] {
            let ad = read_ad(text, dialect, form);
            remarks.push((ad.read.is_some(), ad.diagnostics));
        }
        let ads = read_ads(text, dialect);
        remarks.push((ads.read.is_some(), ads.diagnostics));
        for (read, diagnostics) in remarks {
            assert!(read || !diagnostics.is_empty(), "refused without a reason");
            for diagnostic in diagnostics {
                let span = diagnostic.span;
                assert!(span.start <= span.end && span.end <= text.len(), "{span:?} is outside");
                assert!(text.get(span.start..span.end).is_some(), "{span:?} cuts a character");
                assert!(!diagnostic.to_string().is_empty());
            }
        }
    }
});
