//! The table: what was met, in the order in which it was written down, and what keeps it mended.

/// What keeps something mended.
pub(crate) enum Mended {
    /// A test, by its file and its name.
    Test(&'static str, &'static str),
    /// Words that answer it, by the file that has them. The spaces between words do not count.
    Words(&'static str, &'static str),
}

use Mended::{Test, Words};

const HERE: &str = "kubectl-gangmatch/tests/first_use/main.rs";
const CLUSTER: &str = "kubectl-gangmatch/tests/cluster/main.rs";
const INPUT: &str = "kubectl-gangmatch/tests/bad_input.rs";
const OBSTACLES: &str = "pool/tests/obstacles.rs";
const MISTAKES: &str = "crds/src/ad/tests/mistakes.rs";
const YAML: &str = "crds/tests/yaml.rs";

/// B is what failed though it was documented, M is what mattered, m the rest.
pub(crate) const MET: &[(&str, &str, &[Mended])] = &[
    (
        "B1",
        "the namespace of an example is missing, and nothing says so",
        &[
            Test("controller/src/nodes/changes.rs", "b1_a_class_whose_namespace_does_not_exist_says_so_until_it_does"),
            Words("examples/campus/README.md", "kubectl create namespace campus"),
            Test("e2e/tests/docs.rs", "cluster_commands_work"),
        ],
    ),
    (
        "B2",
        "no image is published, and no command builds one",
        &[
            Words("docs/quickstart.md", "docker build -t REGISTRY/gangmatch"),
            Test("e2e/tests/real_node.rs", "the_image_is_the_same_each_time_and_runs_as_the_user_of_the_chart"),
        ],
    ),
    (
        "M1",
        "a closed offer is explained by another reason",
        &[
            Test(OBSTACLES, "m1_a_drained_license_is_named"),
            Test(OBSTACLES, "m1_the_drained_host_of_a_node_locked_license_is_named"),
            Test("e2e/tests/product/gangs.rs", "m1_a_drained_license_is_named_by_the_jobs_that_wait_for_it"),
        ],
    ),
    (
        "M2",
        "the only host of a node-locked licence is not named",
        &[Test(OBSTACLES, "m2_the_taken_host_of_a_node_locked_license_is_named")],
    ),
    (
        "M3",
        "the missing label of a namespace is not told to the job",
        &[
            Test(OBSTACLES, "m3_the_missing_label_of_a_namespace_is_told_beside_the_reason"),
            Test(
                "e2e/tests/product/gangs.rs",
                "m3_the_missing_label_of_a_namespace_is_told_by_the_jobs_that_wait_for_its_offers",
            ),
        ],
    ),
    (
        "M4",
        "evicted jobs lose their places",
        &[Test("controller/tests/plays/places.rs", "m4_all_evicted_jobs_keep_their_places")],
    ),
    (
        "M5",
        "a gang of two starves",
        &[
            Test("matchmaker/tests/reservation.rs", "w1_a_big_gang_is_claimed_within_the_bound"),
            Words("README.md", "A PoolPolicy can [reserve offers](docs/policy.md#reservation)"),
        ],
    ),
    (
        "M6",
        "what is wrong, waits or ended has no Event",
        &[
            Test("controller/src/status/news.rs", "m6_an_ad_that_is_refused_is_a_warning_once"),
            Test("controller/src/status/news.rs", "m6_a_job_that_waits_says_each_new_reason_and_no_other_words"),
            Test("controller/src/status/news.rs", "m6_a_wait_that_was_too_long_is_a_warning"),
            Test(
                "controller/src/claims/decide.rs",
                "m6_the_offer_for_which_a_claim_ends_is_named_and_what_happened_to_it",
            ),
            Test("controller/src/claims/free.rs", "m6_what_the_job_did_not_ask_for_is_a_warning"),
        ],
    ),
    (
        "M7",
        "a job that says nothing claims something",
        &[
            Test(MISTAKES, "m7_a_job_that_names_no_partner_is_not_accepted"),
            Test(MISTAKES, "m7_a_constraint_is_a_condition_and_no_number"),
        ],
    ),
    (
        "M8",
        "a job that was cancelled shows as Succeeded",
        &[
            Test("controller/src/status/tests.rs", "m8_a_job_that_is_done_before_its_workload_has_ended_is_cancelled"),
            Words("docs/howto/cancel.md", "kubectl gangmatch cancel"),
        ],
    ),
    (
        "M9",
        "the requests of a template are not read",
        &[
            Test("crds/src/ad/template_request.rs", "m9_what_a_template_requests_is_the_default_request"),
            Test(
                "crds/src/ad/template_request.rs",
                "m9_a_template_that_requests_more_than_the_job_is_refused_and_far_less_is_told",
            ),
        ],
    ),
    (
        "M10",
        "memory is in bytes here and in MiB there",
        &[
            Test("crds/src/ad/units.rs", "m10_memory_in_bytes_is_told_and_memory_in_mib_is_not"),
            Test("crds/src/ad/tests/forms.rs", "m10_quantities_in_requests_are_converted_or_refused"),
        ],
    ),
    (
        "M11",
        "a class that cannot work is accepted",
        &[
            Test("controller/src/nodes/changes.rs", "m11_a_class_that_cannot_work_says_so_and_makes_nothing"),
            Test("crds/src/ad/class.rs", "m11_a_capacity_of_a_name_that_no_node_has_is_refused"),
        ],
    ),
    (
        "M12",
        "where a finished job ran is forgotten, and it stays for ever",
        &[
            Test(
                "controller/src/status/tests.rs",
                "m12_a_finished_job_is_deleted_when_its_time_is_over_and_not_written_before",
            ),
            Test(
                "e2e/tests/product/pods/work.rs",
                "m8_m12_a_running_job_that_is_cancelled_says_so_and_where_it_ran_and_goes_when_its_time_is_over",
            ),
        ],
    ),
    (
        "M13",
        "who holds the seats cannot be seen, and jobs cannot be chosen by phase",
        &[
            Test(HERE, "m13_who_holds_the_seats_of_a_licence_is_told_with_the_user_behind_each_claim"),
            Test(YAML, "m13_jobs_are_selected_by_phase_and_by_user"),
            Test(CLUSTER, "queue"),
            Words("docs/howto/holders.md", "kubectl gangmatch why license/solver"),
        ],
    ),
    (
        "M14",
        "without a cluster, nodes and classes do not count",
        &[Test(HERE, "m14_nodes_and_classes_are_matched_without_a_cluster")],
    ),
    (
        "M15",
        "the reason of jobs that are alike is told for each of them",
        &[Test(HERE, "m15_the_reason_of_jobs_that_are_alike_is_told_once")],
    ),
    (
        "M16",
        "what people do every day has no page, and the language cannot be found",
        &[Test(HERE, "m16_what_people_do_every_day_has_a_page_that_the_contents_name")],
    ),
    (
        "M17",
        "an import freezes the moment, and refuses lists of jobs",
        &[
            Test("kubectl-gangmatch/tests/import.rs", "m17_what_changes_all_the_time_is_left_to_an_agent"),
            Test("kubectl-gangmatch/tests/import.rs", "m17_lists_of_jobs_are_expanded_and_gpus_are_requested"),
        ],
    ),
    (
        "M18",
        "a workload that is not there is asked for all the time",
        &[
            Test(
                "controller/tests/plays/paced.rs",
                "m18_a_reference_to_nothing_is_looked_up_less_and_less_often_and_at_once_when_it_is_there",
            ),
            Test("controller/src/claims/stalls.rs", "m18_a_reason_is_new_once"),
        ],
    ),
    (
        "M19",
        "a release has no licence, and its chart does not say where it comes from",
        &[Test(
            "e2e/tests/release.rs",
            "m19_a_release_has_licence_security_changes_and_notice_and_its_chart_says_where_it_comes_from",
        )],
    ),
    (
        "M20",
        "no metric has seats, and long waits are not told apart",
        &[
            Test(
                "controller/src/metrics/census.rs",
                "amounts_are_summed_by_kind_and_names_are_counted_where_it_is_asked_for",
            ),
            Test("controller/src/metrics/mod.rs", "m20_waits_of_a_week_are_told_apart_and_the_version_is_a_metric"),
            Test("e2e/tests/chart/main.rs", "each_switch_changes_what_is_written_beside_it"),
        ],
    ),
    ("m1", "tables are wider than the terminal", &[Test(CLUSTER, "m1_tables_fit_into_the_terminal")]),
    (
        "m2",
        "the column READY has a reason",
        &[Words("docs/runbooks.md", "the column READY shows the reason of the condition `Ready`")],
    ),
    (
        "m3",
        "seats that are used elsewhere are not told where too few are left",
        &[Test(HERE, "m3_seats_that_are_used_elsewhere_are_named_where_too_few_are_left")],
    ),
    (
        "m4",
        "labels and types that do not exist pass",
        &[Test(MISTAKES, "m4_names_that_are_no_labels_and_kinds_that_do_not_exist_are_told")],
    ),
    ("m5", "the advice for half a cpu is wrong", &[Test(INPUT, "m5_m6_capacities_in_quantities_are_told_in_numbers")]),
    ("m6", "the advice for 4Gi has no number", &[Test(INPUT, "m5_m6_capacities_in_quantities_are_told_in_numbers")]),
    (
        "m7",
        "there is no advice for a text with a mark",
        &[Test(INPUT, "m7_a_text_that_begins_with_a_mark_has_to_be_quoted")],
    ),
    ("m8", "a pipe that is closed is an error", &[Test(HERE, "m8_a_reader_that_has_seen_enough_is_no_error")]),
    ("m9", "findings of a List have its first line", &[Test(INPUT, "m9_findings_of_a_list_carry_their_own_lines")]),
    (
        "m10",
        "jobs that have finished are counted as not matched",
        &[Test(HERE, "m10_only_jobs_that_wait_are_counted_and_the_others_are_told_of")],
    ),
    (
        "m11",
        "Events of both kinds of jobs read alike",
        &[
            Test(
                "kubectl-gangmatch/src/command/describe/events.rs",
                "m11_events_are_those_of_the_job_and_not_of_a_batch_job_of_its_name",
            ),
            Words("docs/monitoring.md", "--field-selector involvedObject.apiVersion=gangmatch.dev/v1alpha1"),
        ],
    ),
    (
        "m12",
        "kubectl explain cuts values, and leaves defaults out",
        &[
            Test(YAML, "m12_m23_what_kubectl_explain_cuts_or_leaves_out_is_in_the_texts"),
            Test(YAML, "every_field_explains_itself_by_an_example"),
        ],
    ),
    (
        "m13",
        "the tools are not on PATH",
        &[Test("xtask/src/plane.rs", "m13_what_is_pasted_makes_kubectl_and_helm_known")],
    ),
    ("m14", "nothing says that no controller runs", &[Test(CLUSTER, "m14_that_no_controller_runs_is_said")]),
    (
        "m15",
        "no completion, no man pages, no manifest for krew",
        &[
            Test("kubectl-gangmatch/tests/completion.rs", "bash_completes_verbs_and_names"),
            Test("kubectl-gangmatch/tests/reference.rs", "every_verb_has_a_man_page"),
            Test("e2e/tests/release.rs", "the_manifest_for_krew_says_what_is_in_the_archives"),
        ],
    ),
    (
        "m16",
        "kubectl takes what lint refuses",
        &[
            Test(INPUT, "a_key_twice"),
            Test(INPUT, "m16_a_kind_is_written_as_the_api_spells_it"),
            Words("docs/cli.md", "kubectl accepts some of what this refuses"),
        ],
    ),
    (
        "m17",
        "the first command builds for minutes without a word",
        &[Words("README.md", "Its first build takes about three minutes")],
    ),
    (
        "m18",
        "the folder of builds on PATH makes kubectl report errors",
        &[Words("docs/howto/plugin.md", "Do not add cargo's `release` folder itself to `PATH`")],
    ),
    (
        "m19",
        "what is said is not shown with --quiet",
        &[Words("examples/condor/README.md", "without `--quiet`, the command reports this")],
    ),
    (
        "m20",
        "no example of two machines, of several namespaces, of a default request",
        &[
            Test("kubectl-gangmatch/tests/examples.rs", "every_example_gives_what_stands_beside_it"),
            Words("examples/README.md", "[two-machines](two-machines/README.md)"),
            Words("examples/README.md", "[tenants](tenants/README.md)"),
            Words("examples/README.md", "[default-request](default-request/README.md)"),
            Words("examples/mpi/README.md", "The workload gets the names of the machines in the variable `HOSTS`"),
        ],
    ),
    (
        "m21",
        "the notes of the chart are no sentence",
        &[Words("charts/gangmatch/templates/NOTES.txt", "kubectl get gangmatch shows objects of all these kinds")],
    ),
    ("m22", "lines of the README are too long", &[Test(HERE, "m22_lines_of_the_readme_fit_into_an_editor")]),
    (
        "m23",
        "how long a claim waits for its workload is not explained",
        &[Test(YAML, "m12_m23_what_kubectl_explain_cuts_or_leaves_out_is_in_the_texts")],
    ),
    (
        "m24",
        "a long chain of conditions never matches",
        &[Test(HERE, "m24_a_chain_that_is_too_long_is_told_with_what_to_write")],
    ),
    (
        "m25",
        "with simulated nodes, a rollout succeeds though nothing runs",
        &[Words(
            "docs/testing.md",
            "This control plane does not run container images, so the chart's own pods do nothing. After you install the chart, start the \
             controller as a local process.",
        )],
    ),
];
