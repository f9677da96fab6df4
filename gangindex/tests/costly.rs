//! Ads that cost more than they may: others get their gangs, and the job is told what is too expensive.

#[cfg(test)]
mod tests {
    use classad::{Dialect, parse_ad};
    use gangindex::Indexed;
    use matchmaker::{AdKey, Config, Cycle, Offer, PoolAd, Res, Role, Root, Snapshot, Verdict, hint, why};

    fn key(kind: &str, name: &str) -> AdKey {
        AdKey { kind: kind.to_owned(), namespace: "n".to_owned(), name: name.to_owned() }
    }

    fn asking(kind: &str, name: &str, text: &str) -> PoolAd {
        PoolAd::asking(key(kind, name), &format!("uid-{name}"), &parse_ad(text, Dialect::Gangmatch).unwrap())
    }

    fn machine(name: &str, text: &str) -> PoolAd {
        let mut ad = asking("Machine", name, text);
        ad.role = Role::Offers(Box::new(Offer {
            default_request: Res::new(),
            ..Offer::of([("slots".to_owned(), 1)].into_iter().collect())
        }));
        ad
    }

    const WILLING: &str = "[ Memory = 4; Requirements = true ]";

    /// One cycle with these jobs, twelve machines, and more offers.
    fn cycle(jobs: &[(&str, &str)], offers: &[(&str, &str)]) -> (Snapshot, Cycle) {
        cycle_within(&Config::product(), jobs, offers)
    }

    /// The same with other limits.
    fn cycle_within(config: &Config, jobs: &[(&str, &str)], offers: &[(&str, &str)]) -> (Snapshot, Cycle) {
        let mut ads: Vec<PoolAd> = jobs.iter().map(|(name, text)| asking("Job", name, text)).collect();
        ads.extend((0..12).map(|number| machine(&format!("m{number:02}"), WILLING)));
        ads.extend(offers.iter().map(|(name, text)| machine(name, text)));
        let mut snapshot = Snapshot::new(ads);
        for (name, _) in jobs {
            let ad = snapshot.find(&key("Job", name)).unwrap();
            let root = Root { ad, submitter: (*name).into(), priority: 0, since: 0, exclusions: Default::default() };
            snapshot.roots.push(root);
        }
        let cycle = Indexed::new().negotiate(&snapshot, config, 1000);
        (snapshot, cycle)
    }

    /// `s0 = ...; s1 = {s0, s0, s0, s0}; ...`
    fn shared(levels: usize, open: &str, between: &str, close: &str) -> String {
        let level = |level: usize| {
            let parts: Vec<String> = ["a", "b", "c", "d"]
                .map(|name| {
                    let label = if open == "[" { format!("{name} = ") } else { String::new() };
                    format!("{label}s{}", level - 1)
                })
                .to_vec();
            format!("s{level} = {open}{}{close}; ", parts.join(between))
        };
        (1..=levels).map(level).collect()
    }

    fn list_of_800() -> String {
        format!("L = {{ {} }};", vec!["[ a = 5 ]"; 800].join(", "))
    }

    /// A costly job beside one that asks for little; what became of the costly one, if it has no gang.
    fn beside(text: &str) -> Option<(Verdict, String, String)> {
        let (snapshot, cycle) = cycle(&[("costly", text), ("good", "[ Requirements = other.Memory > 1 ]")], &[]);
        let good = snapshot.find(&key("Job", "good")).unwrap();
        assert!(cycle.gangs.iter().any(|gang| gang.members[0].ad == good), "the other job has its gang: {text:.80}");
        assert!(cycle.disagreements.is_empty(), "{text:.80}");
        cycle.unmatched.first().map(|unmatched| (unmatched.verdict.clone(), why(unmatched), hint(unmatched)))
    }

    #[test]
    fn b4_names_that_lead_to_names_are_followed_once() {
        for (open, between, close) in [("{", ", ", "}"), ("[", "; ", "]"), ("(", " + ", ")"), ("size({", ", ", "})")] {
            let names = shared(39, open, between, close);
            for constraint in [
                "size(s39) > other.Memory",
                "s39 == s39 && other.Memory > 5",
                "size(s39) > 100 || size(s38) > 100",
                "member(other.Memory, s39)",
                "size(my.s39) + size(s38) + size(s37) > other.Memory * 100",
                "isError(s39.a.b) && other.Memory > 5",
            ] {
                let told = beside(&format!("[ s0 = 1; {names} Requirements = {constraint}; Rank = size(s39) ]"));
                assert!(told.is_none_or(|(verdict, ..)| verdict != Verdict::GaveUp), "{open} {constraint}");
            }
        }
    }

    #[test]
    fn b4_in_a_port_and_in_an_offer() {
        let names = shared(39, "{", ", ", "}");
        let port = format!(
            "[ s0 = 1; {names} Ports = {{ [ Label = cpu; t1 = {{s39, s39}}; t2 = {{t1, t1, t1}};
               Constraint = size(t2) > cpu.Memory; Rank = size(s39) ] }} ]"
        );
        assert!(beside(&port).is_some());
        let offer =
            format!("[ s0 = 1; {names} Memory = 64; Requirements = size(s39) > other.Wants; Rank = size(s38) ]");
        let jobs = [
            ("a", "[ Wants = 1; Requirements = other.Memory > 5 && size(other.s39) == 4 ]"),
            ("good", "[ Requirements = true ]"),
        ];
        let (_, cycle) = cycle(&jobs, &[("wide", &offer)]);
        assert_eq!(cycle.gangs.len(), 2, "{:?}", cycle.unmatched);
    }

    #[test]
    fn circles_of_names_end() {
        for names in [
            "s39 = { s39, s39, s39, s39 };",
            "s39 = { a, a, a }; a = { s39, s39 };",
            "s39 = [ x = s39; y = parent.s39 ];",
        ] {
            beside(&format!("[ {names} Requirements = size(s39) > other.Memory ]"));
        }
    }

    #[test]
    fn b5_sixteen_million_leaves() {
        let names: String = (1..=24).map(|level| format!("s{level} = {{ s{0}, s{0} }}; ", level - 1)).collect();
        let told = beside(&format!("[ s0 = 1; {names} Requirements = size(s24) > other.Memory ]")).unwrap();
        assert_eq!(told.0, Verdict::NoCandidates { port: 0 }, "{}", told.1);
    }

    #[test]
    fn b6_a_list_for_each_element_of_a_list_is_too_expensive_and_says_so() {
        let costly = format!(
            "[ {} Requirements = size(evalInEachContext(countMatches(a > 3, L), L)) > other.Memory ]",
            list_of_800()
        );
        let (verdict, why, hint) = beside(&costly).unwrap();
        assert!(matches!(&verdict, Verdict::TooExpensive { port: 0, most: 16_777_216, .. }), "{verdict:?}");
        assert_eq!(
            why,
            "port `other`: the constraint is too expensive to evaluate (more than 16,777,216 bytes of texts and lists): \
             `size(evalInEachContext(countMatches(a > 3,L),L)) > other.Memory`"
        );
        assert!(hint.starts_with("simplify the constraint"), "{hint}");
        for expr in [
            "sum(evalInEachContext(sum(L.a), L)) > other.Memory",
            "countMatches(countMatches(a > other.Memory, L) > 5, L) > 0",
            "evalInEachContext(evalInEachContext(evalInEachContext(a, L), L), L) is error",
        ] {
            let (verdict, ..) = beside(&format!("[ {} Requirements = {expr} ]", list_of_800())).unwrap();
            assert!(matches!(verdict, Verdict::TooExpensive { .. }), "{expr}: {verdict:?}");
        }
    }

    #[test]
    fn b8_texts_that_double_are_too_expensive_and_say_so() {
        let names: String = (1..=59).map(|level| format!("s{level} = strcat(s{0}, s{0}); ", level - 1)).collect();
        let (verdict, why, _) =
            beside(&format!("[ s0 = \"x\"; {names} Requirements = size(s59) > other.Memory ]")).unwrap();
        assert!(matches!(verdict, Verdict::TooExpensive { .. }), "{verdict:?}");
        assert!(why.contains("(more than 1,048,576 bytes in one text)"), "{why}");
    }

    #[test]
    fn a_costly_offer_refuses_and_the_job_is_told_how_many_do() {
        let costly = format!(
            "[ {} Memory = 64; Requirements = countMatches(countMatches(a > other.Wants, L) > 5, L) > 0 ]",
            list_of_800()
        );
        let (_, cycle) = cycle(&[("big", "[ Wants = 1; Requirements = other.Memory > 32 ]")], &[("costly", &costly)]);
        let unmatched = cycle.unmatched.first().unwrap();
        assert_eq!(unmatched.verdict, Verdict::RefusedByOffers { port: 0 });
        let why = why(unmatched);
        assert!(why.contains("1 refused because their own constraint is too expensive to evaluate"), "{why}");
    }

    #[test]
    fn constraints_of_a_hundred_thousand_parts_are_told_of_in_short() {
        let parts: Vec<String> = (0..20_000).map(|number| format!("other.Memory > {number}")).collect();
        for text in [
            format!("[ Requirements = {} ]", parts.join(" && ")),
            format!("[ Requirements = member({}, {{ {} }}) ]", "other.Memory", parts.join(", ")),
            format!("[ Requirements = other.Memory > 5 && \"{}\" == other.Name ]", "x".repeat(300_000)),
        ] {
            let config = Config { cycle_steps_max: 2_000_000, ..Config::product() };
            let (_, cycle) = cycle_within(&config, &[("long", &text)], &[]);
            let unmatched = cycle.unmatched.first().unwrap();
            let port = &unmatched.ports[0];
            assert!(port.conjuncts.len() <= 128 && port.conjuncts.iter().all(|part| part.text.len() <= 256));
            assert!(why(unmatched).len() < 2_000 && hint(unmatched).len() < 2_000);
        }
    }

    /// Many expressions that each cost something: the index stops at the ad's budget, and the gang is found all the same.
    #[test]
    fn an_ad_of_many_costly_attributes_costs_the_index_no_more_than_its_budget() {
        let list = (0..150).map(|number| number.to_string()).collect::<Vec<_>>().join(", ");
        let names: String = (0..250).map(|number| format!("c{number} = sum(L) + {number}; ")).collect();
        let reads: Vec<String> = (0..90).map(|number| format!("other.c{number} > c{number} - 1")).collect();
        let ad = format!("[ L = {{ {list} }}; {names} Memory = 64; Requirements = {} ]", reads.join(" && "));
        let job = ad.replace("Memory = 64;", "");
        let (_, cycle) = cycle(&[("many", &job)], &[("many", &ad)]);
        assert_eq!(cycle.gangs.len(), 1, "{:?}", cycle.unmatched.first().map(why));
        assert!(cycle.disagreements.is_empty());
    }
}
