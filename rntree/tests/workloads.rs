//! What the workloads draw, one test for each distribution of the paper's appendix A. Shares may be off by as much as the composition of
//! table 1: 1.5 percentage points; means by 1.5 percent.

#[cfg(test)]
mod tests {
    use rntree::{Happening, ID_BITS, Profile, Script, Sizes, Spec, WORKLOADS};
    use sampling::{deviation, mean};

    const SEEDS: [u64; 3] = [1, 2, 3];
    const TOLERANCE: f64 = 1.5;
    /// Of each resource: the number of groups of nodes, the size in the first one, and how far a size may be from that of its group.
    const GROUPS: u32 = 10;
    const BASE: f64 = 100.0;
    const JITTER: f64 = 0.1;

    /// The scripts of some workloads, under each seed.
    fn scripts(is_wanted: impl Fn(&str) -> bool) -> Vec<Script> {
        let wanted = WORKLOADS.iter().filter(|workload| is_wanted(workload.name));
        wanted.flat_map(|workload| SEEDS.map(|seed| workload.script(seed))).collect()
    }

    fn happenings(scripts: &[Script]) -> impl Iterator<Item = &Happening> {
        scripts.iter().flat_map(|script| &script.happenings).map(|(_, what)| what)
    }

    fn specs(scripts: &[Script]) -> Vec<Spec> {
        let spec = |what: &Happening| if let Happening::Join(_, spec) = what { Some(spec.clone()) } else { None };
        happenings(scripts).filter_map(spec).collect()
    }

    fn jobs(scripts: &[Script]) -> Vec<Profile> {
        let job = |what: &Happening| if let Happening::Submit(job) = what { Some(job.clone()) } else { None };
        happenings(scripts).filter_map(job).collect()
    }

    fn real(count: usize) -> f64 {
        f64::from(u32::try_from(count).unwrap())
    }

    /// How many percent of the values are so.
    fn percent<T>(values: &[T], is_so: impl Fn(&T) -> bool) -> f64 {
        100.0 * real(values.iter().filter(|value| is_so(value)).count()) / real(values.len())
    }

    #[track_caller]
    fn assert_share(found: f64, expected: f64) {
        assert!((found - expected).abs() <= TOLERANCE, "{found} %, and not {expected} %");
    }

    #[track_caller]
    fn assert_mean(values: &[f64], expected: f64) {
        let found = mean(values);
        assert!((found / expected - 1.0).abs() <= TOLERANCE / 100.0, "a mean of {found}, and not {expected}");
    }

    /// Each quarter of the range has a quarter of the values, and none is outside.
    #[track_caller]
    fn assert_uniform(values: &[f64], (least, most): (f64, f64)) {
        assert!(values.iter().all(|value| (least..=most).contains(value)));
        for quarter in 0..4u8 {
            let from = least + (most - least) * f64::from(quarter) / 4.0;
            let to = from + (most - least) / 4.0;
            assert_share(percent(values, |value| from <= *value && *value < to), 25.0);
        }
        assert_mean(values, f64::midpoint(least, most));
    }

    /// The places of some happenings among those that are no first joins, from 0 to 1.
    fn places(script: &Script, is_wanted: impl Fn(&Happening) -> bool) -> Vec<f64> {
        let begun: Vec<&Happening> =
            script.happenings.iter().filter(|(at, _)| *at >= script.begins).map(|(_, what)| what).collect();
        let wanted = begun.iter().enumerate().filter(|(_, what)| is_wanted(what));
        wanted.map(|(place, _)| real(place) / real(begun.len())).collect()
    }

    fn is_static(name: &str) -> bool {
        name.starts_with('S')
    }

    fn is_dynamic(name: &str) -> bool {
        name.starts_with('D')
    }

    fn sizes_of(specs: &[Spec]) -> Vec<f64> {
        specs.iter().flat_map(|spec| spec.sizes).collect()
    }

    /// The groups whose sizes overlap with no other group's.
    const APART: std::ops::RangeInclusive<u32> = 1..=4;

    fn is_of(group: u32) -> impl Fn(&f64) -> bool {
        move |size| (size / (BASE * f64::from(group)) - 1.0).abs() <= JITTER
    }

    #[test]
    fn group_b_has_a_probability_in_proportion_to_1_over_b() {
        let sizes = sizes_of(&specs(&scripts(is_dynamic)));
        let harmonic: f64 = (1..=GROUPS).map(|group| 1.0 / f64::from(group)).sum();
        for group in APART {
            assert_share(percent(&sizes, is_of(group)), 100.0 / f64::from(group) / harmonic);
        }
        assert_mean(&sizes, BASE * f64::from(GROUPS) / harmonic);
        assert!(sizes.iter().all(|size| (90.0..=1100.0).contains(size)));
    }

    #[test]
    fn sizes_in_a_group_are_uniform_within_the_jitter() {
        let sizes = sizes_of(&specs(&scripts(is_dynamic)));
        let own =
            |group: u32| sizes.iter().copied().filter(is_of(group)).map(move |size| size / (BASE * f64::from(group)));
        assert_uniform(&APART.flat_map(own).collect::<Vec<_>>(), (1.0 - JITTER, 1.0 + JITTER));
    }

    #[test]
    fn the_resources_of_a_node_are_independent() {
        let specs = specs(&scripts(is_dynamic));
        let column = |place: usize| specs.iter().map(|spec| spec.sizes[place]).collect::<Vec<_>>();
        for (one, other) in [(0, 1), (0, 2), (1, 2)].map(|(one, other)| (column(one), column(other))) {
            let products: Vec<f64> = one.iter().zip(&other).map(|(one, other)| one * other).collect();
            let covariance = mean(&products) - mean(&one) * mean(&other);
            let correlation = covariance / (deviation(&one) * deviation(&other));
            assert!(correlation.abs() <= TOLERANCE / 100.0 * 2.0, "{correlation}");
        }
    }

    #[test]
    fn a_resource_is_asked_for_with_a_probability_of_chf_plus_1_percent() {
        for workload in WORKLOADS {
            let jobs = jobs(&scripts(|name| name == workload.name));
            for resource in 0..Sizes::default().len() {
                let asked = percent(&jobs, |job| job.want.sizes[resource] > 0.0);
                assert_share(asked, real(usize::try_from(workload.chf).unwrap() + 1));
            }
        }
    }

    /// A job is modelled on one node that is present: of the nodes by age, each quarter is the model of a quarter of the jobs.
    #[test]
    fn a_job_is_modelled_on_a_random_node_that_is_present() {
        let mut ages = Vec::new();
        for script in scripts(|name| name == "D-TR-II") {
            let mut present = Vec::new();
            for (_, what) in &script.happenings {
                match what {
                    Happening::Join(node, spec) => present.push((*node, spec)),
                    Happening::Leave(gone) | Happening::Fail(gone) => present.retain(|(node, _)| node != gone),
                    Happening::Submit(job) if job.want.constraints() > 0 => {
                        let asks = |spec: &Spec| {
                            job.want.sizes.iter().zip(spec.sizes).all(|(want, size)| *want == 0.0 || *want == size)
                        };
                        let model = present.iter().position(|(_, spec)| asks(spec)).expect("a model that is present");
                        ages.push(real(model) / real(present.len()));
                    }
                    Happening::Submit(_) => {}
                }
            }
        }
        assert_uniform(&ages, (0.0, 1.0));
    }

    #[test]
    fn work_is_uniform() {
        let work: Vec<f64> = jobs(&scripts(|_| true)).iter().map(|job| job.work).collect();
        assert_uniform(&work, (20_000.0, 380_000.0));
    }

    #[test]
    fn gaps_between_events_are_exponential_with_a_mean_of_100() {
        let gaps = |script: &Script| {
            let times: Vec<f64> = script.happenings.iter().map(|(at, _)| *at).collect();
            // One gap is the settling of the first nodes.
            let is_gap = |pair: &&[f64]| pair[0] >= script.begins || pair[1] < script.begins;
            times.windows(2).filter(is_gap).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()
        };
        let gaps: Vec<f64> = scripts(is_static).iter().flat_map(gaps).collect();
        assert_mean(&gaps, 100.0);
        assert!((deviation(&gaps) / 100.0 - 1.0).abs() <= TOLERANCE / 100.0 * 2.0, "{}", deviation(&gaps));
        for longer in [50.0, 100.0, 200.0, 300.0] {
            assert_share(percent(&gaps, |gap| *gap > longer), 100.0 * (-longer / 100.0f64).exp());
        }
    }

    #[test]
    fn jobs_joins_failures_and_leaves_are_shuffled() {
        let kinds: [fn(&Happening) -> bool; 4] = [
            |what| matches!(what, Happening::Submit(_)),
            |what| matches!(what, Happening::Join(..)),
            |what| matches!(what, Happening::Fail(_)),
            |what| matches!(what, Happening::Leave(_)),
        ];
        let scripts = scripts(is_dynamic);
        for is_of_kind in kinds {
            let places: Vec<f64> = scripts.iter().flat_map(|script| places(script, is_of_kind)).collect();
            assert_uniform(&places, (0.0, 1.0));
        }
    }

    /// Of the nodes by age, each quarter has a quarter of those that go.
    #[test]
    fn a_random_node_goes() {
        let mut ages = Vec::new();
        for script in scripts(is_dynamic) {
            let mut present = Vec::new();
            for (_, what) in &script.happenings {
                match what {
                    Happening::Join(node, _) => present.push(*node),
                    Happening::Leave(gone) | Happening::Fail(gone) => {
                        let place = present.iter().position(|node| node == gone).expect("a node that is present");
                        ages.push(real(place) / real(present.len()));
                        present.remove(place);
                    }
                    Happening::Submit(_) => {}
                }
            }
        }
        assert_uniform(&ages, (0.0, 1.0));
    }

    #[test]
    fn ids_of_nodes_and_keys_of_jobs_are_uniform_on_the_ring() {
        let scripts = scripts(is_dynamic);
        let id = |what: &Happening| if let Happening::Join(node, _) = what { Some(*node) } else { None };
        let keys: Vec<u64> = jobs(&scripts).iter().map(|job| job.key).collect();
        for ids in [happenings(&scripts).filter_map(id).collect(), keys] {
            // The upper 16 bits.
            let shares = ids.iter().map(|id| f64::from(u16::try_from(id >> (ID_BITS - 16)).unwrap()) / 65_536.0);
            assert_uniform(&shares.collect::<Vec<_>>(), (0.0, 1.0));
        }
    }
}
