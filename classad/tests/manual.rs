//! The manual's examples: every `expression -> value` in it holds, and the page of functions is what the table gives.

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use classad::{Ad, Context, Dialect, Env, Name, builtins_page, eval, parse_ad, parse_expr};

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/language")
    }

    /// The ads that an example is evaluated among.
    #[derive(Default)]
    struct Scene {
        own: Ad,
        others: Vec<(String, Ad)>,
    }

    impl Scene {
        fn set(&mut self, name: &str, ad: Ad) {
            if name == "MY" {
                *self = Self { own: ad, others: Vec::new() };
            } else {
                self.others.push((name.to_owned(), ad));
            }
        }

        fn value(&self, text: &str) -> String {
            let expr = match parse_expr(text, Dialect::Gangmatch) {
                Ok(expr) => expr,
                Err(wrong) => return format!("refused: {}", wrong.first().map_or("", |one| one.code)),
            };
            let mut env = Env::new();
            let frame = env.frame(&self.own, None);
            for (name, ad) in &self.others {
                let other = env.frame(ad, None);
                if name == "TARGET" {
                    env.partner(frame, other);
                } else {
                    env.bind(frame, &Name::new(name.as_str()), other);
                }
            }
            match eval(&expr, &env, frame, &Context::default()) {
                Ok(value) => value.to_string(),
                Err(stop) => stop.to_string(),
            }
        }
    }

    /// Checks the blocks marked `eval`; returns how many examples there are.
    fn check(page: &str, text: &str, wrong: &mut Vec<String>) -> usize {
        let (mut scene, mut inside, mut count) = (None::<Scene>, false, 0);
        for (number, line) in text.lines().enumerate() {
            if line.starts_with("```") {
                inside = line == "```eval";
                scene = inside.then(Scene::default);
            } else if let Some(scene) = scene.as_mut().filter(|_| inside) {
                let place = format!("{page}:{}", number + 1);
                if let Some((text, want)) = line.rsplit_once(" -> ") {
                    count += 1;
                    let got = scene.value(text.trim());
                    if got != want.trim() {
                        wrong.push(format!("{place}: {} -> {got}", text.trim()));
                    }
                } else if let Some((name, ad)) = line.split_once(": ") {
                    match parse_ad(ad, Dialect::Gangmatch) {
                        Ok(ad) => scene.set(name, ad),
                        Err(mistakes) => wrong.push(format!("{place}: {mistakes}")),
                    }
                } else if !line.trim().is_empty() {
                    wrong.push(format!("{place}: no example"));
                }
            }
        }
        count
    }

    #[test]
    fn every_example_holds() {
        let (mut wrong, mut count) = (Vec::new(), 0);
        let mut pages: Vec<PathBuf> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
        pages.sort();
        for page in &pages {
            let text = fs::read_to_string(page).unwrap();
            count += check(&page.file_name().unwrap().to_string_lossy(), &text, &mut wrong);
        }
        assert!(wrong.is_empty(), "{} of {count} examples are wrong:\n{}", wrong.len(), wrong.join("\n"));
        assert!(count > 120, "{count} examples");
    }

    #[test]
    fn every_page_is_listed() {
        let index = fs::read_to_string(folder().join("README.md")).unwrap();
        for entry in fs::read_dir(folder()).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            assert!(name == "README.md" || index.contains(&format!("({name})")), "{name} is not in the index");
        }
    }

    /// Written anew with `UPDATE_MANUAL=1 cargo test --test classad-tests manual::`.
    #[test]
    fn the_page_of_functions_is_up_to_date() {
        let path = folder().join("builtins.md");
        let page = builtins_page();
        if std::env::var_os("UPDATE_MANUAL").is_some() {
            fs::write(&path, &page).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap_or_default(), page, "write it anew with UPDATE_MANUAL=1");
    }
}
