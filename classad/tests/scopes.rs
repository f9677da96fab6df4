//! What a name means: ads in ads, ports and their labels, partners, values the system defines.

#[cfg(test)]
mod tests {
    use classad::{
        Ad, Context, Dialect, Env, FrameId, Limits, Name, Value, bilateral, eval, eval_attribute, parse_ad, parse_expr,
    };

    fn ad(text: &str) -> Ad {
        parse_ad(text, Dialect::Gangmatch).unwrap()
    }

    fn at(env: &Env<'_>, frame: FrameId, expr: &str) -> String {
        eval(&parse_expr(expr, Dialect::Gangmatch).unwrap(), env, frame, &Context::default()).unwrap().to_string()
    }

    fn name(text: &str) -> Name {
        Name::new(text)
    }

    #[test]
    fn a_port_sees_its_attributes_its_labels_then_the_body() {
        let (body, port, machine) =
            (ad("[ Size = 1; Both = \"body\" ]"), ad("[ Both = \"port\"; View = cpu ]"), ad("[ Size = 64 ]"));
        let mut env = Env::new();
        let body = env.frame(&body, None);
        let port = env.frame(&port, Some(body));
        let machine = env.frame(&machine, None);
        env.bind(port, &name("cpu"), machine);
        assert_eq!(
            at(&env, port, "{cpu.Size, Size, Both, CPU.size, View.Size, [inner = cpu.Size].inner}"),
            "{ 64,1,\"port\",64,64,64 }"
        );
        // The body's own expressions see no labels.
        assert_eq!(at(&env, body, "cpu.Size"), "undefined");
    }

    #[test]
    fn labels_are_private_and_attributes_are_evaluated_where_they_stand() {
        let job = ad("[ Cmd = \"run\"; Loud = license; Ports = 0 ]");
        let license_port = ad("[ Host = cpu.Name; Seen = Cmd ]");
        let machine = ad("[ Name = \"m1\"; Cmd = \"other\" ]");
        let license = ad(
            "[ Ask = requester.Host; Peek = requester.cpu; Body = requester.Cmd; Seen = requester.Seen; Sub = requester[\"Cmd\"] ]",
        );
        let mut env = Env::new();
        let job = env.frame(&job, None);
        let port = env.frame(&license_port, Some(job));
        let machine = env.frame(&machine, None);
        let license = env.frame(&license, None);
        env.bind(port, &name("cpu"), machine);
        env.bind(port, &name("license"), license);
        env.bind(license, &name("requester"), port);
        assert_eq!(at(&env, license, "{Ask, Peek, Body, Seen, Sub}"), "{ \"m1\",undefined,\"run\",\"run\",\"run\" }");
        assert_eq!(at(&env, license, "requester.Loud"), "undefined");
    }

    #[test]
    fn an_expression_evaluated_in_a_partner_sees_no_labels_of_it() {
        let job = ad("[ Cmd = \"run\"; Tags = { [ t = 1 ], [ t = 2; cpu = 3 ] } ]");
        let port = ad("[ Host = cpu.Name; Deep = [ n = 5 ]; Own = evalInEachContext(cpu.Name, { self, [ a = 1 ] }) ]");
        let machine = ad("[ Name = \"m1\" ]");
        let license = ad(
            "[ Peek = evalInEachContext(cpu.Name, {requester}); Count = countMatches(cpu.Name == \"m1\", {requester});
               Quoted = evalInEachContext(eval(\"cpu.Name\"), {requester}); Inner = evalInEachContext([x = cpu.Name].x, {requester});
               Tagged = evalInEachContext(cpu.Name, requester.Tags); Nested = evalInEachContext(cpu.Name, {requester.Deep});
               Meant = evalInEachContext(Wish, {requester}); Wish = cpu.Name; Twice = evalInEachContext(evalInEachContext(cpu, {self}), {requester});
               Fine = evalInEachContext({Host, Cmd, self.Host, n}, {requester, requester.Deep});
               Mine = evalInEachContext(requester.Cmd, {self, [ b = 1 ]}); Theirs = requester.Own ]",
        );
        let mut env = Env::new();
        let job = env.frame(&job, None);
        let port = env.frame(&port, Some(job));
        let machine = env.frame(&machine, None);
        let license = env.frame(&license, None);
        env.bind(port, &name("cpu"), machine);
        env.bind(license, &name("requester"), port);
        for (expr, want) in [
            ("Peek", "{ undefined }"),
            ("Count", "0"),
            ("Quoted", "{ undefined }"),
            ("Inner", "{ undefined }"),
            // An attribute of that name is seen, and a number has no `Name`.
            ("Tagged", "{ undefined,error }"),
            ("Nested", "{ undefined }"),
            ("Meant", "{ undefined }"),
            ("Twice", "{ { undefined } }"),
            ("Fine", "{ { \"m1\",\"run\",\"m1\",undefined },{ \"m1\",\"run\",\"m1\",5 } }"),
            // Labels of the ad that the expression stands in are seen.
            ("Mine", "{ \"run\",\"run\" }"),
            ("Theirs", "{ \"m1\",\"m1\" }"),
        ] {
            assert_eq!(at(&env, license, expr), want, "{expr}");
        }
    }

    #[test]
    fn an_attribute_of_a_partner_sees_no_labels_of_the_expression_that_reads_it() {
        let job = ad("[ Wish = 3; Least = 20; Spot = strcat(cpu.Name) ]");
        let machine = ad("[ Name = \"m1\" ]");
        let license =
            ad("[ Good = cpu.Name; L = { [ Good = cpu.Name; Own = self.Good; Mem = 16; Peek = Wish ], [ Mem = 40 ] };
               Taken = evalInEachContext(other.Spot, {self, L[1]}) ]");
        let mut env = Env::new();
        let job_frame = env.frame(&job, None);
        let machine = env.frame(&machine, None);
        let license = env.frame(&license, None);
        env.bind(job_frame, &name("cpu"), machine);
        env.bind(job_frame, &name("license"), license);
        env.partner(license, job_frame);
        for (expr, want) in [
            ("evalInEachContext(Good, license.L)", "{ undefined,undefined }"),
            ("evalInEachContext(my.Good, license.L)", "{ undefined,undefined }"),
            ("evalInEachContext(Own, license.L)", "{ undefined,undefined }"),
            ("evalInEachContext(Peek, license.L)", "{ undefined,undefined }"),
            ("evalInEachContext(strcat(cpu.Name), license.L)", "{ \"m1\",\"m1\" }"),
            // Names that the reader wrote, in an ad within the expression as well.
            ("evalInEachContext(cpu.Name, license.L)", "{ \"m1\",\"m1\" }"),
            ("countMatches(Least <= Mem, license.L)", "1"),
            ("countMatches([ a = Least ].a <= Mem, license.L)", "1"),
        ] {
            assert_eq!(at(&env, job_frame, expr), want, "{expr}");
        }
        // Of an expression that another ad has, not even its own labels are seen.
        assert_eq!(at(&env, license, "Taken"), "{ undefined,undefined }");
        for call in ["evalInEachContext(Spot, {[ a = 1 ]})", "evalInEachContext(my.Spot, {[ a = 1 ]})"] {
            assert_eq!(
                at(&env, license, &format!("evalInEachContext({call}, {{other}})")),
                "{ { undefined } }",
                "{call}"
            );
        }
        // Its author sees them, in a call inside of another one as well.
        assert_eq!(
            at(&env, job_frame, "evalInEachContext(evalInEachContext(Spot, {[ b = 1 ]})[0], license.L)[0]"),
            "\"m1\""
        );
    }

    #[test]
    fn an_expression_that_the_partner_evaluates_still_reads_the_partner() {
        let (job, machine) =
            (ad("[ Want = Mem > JobMem; Least = 5 ]"), ad("[ JobMem = 5; L = { [ Mem = 8 ], [ Mem = 2 ] } ]"));
        let mut env = Env::new();
        let (job, machine) = (env.frame(&job, None), env.frame(&machine, None));
        env.partner(job, machine);
        env.partner(machine, job);
        assert_eq!(at(&env, machine, "countMatches(other.Want, L)"), "1");
        assert_eq!(at(&env, job, "countMatches(Want, other.L)"), "1");
    }

    /// Each host stands in the one before it, thousands deep: that takes steps, and no stack.
    #[test]
    fn a_long_chain_of_hosts_ends() {
        let inner = format!("{}X{}", "evalInEachContext([],".repeat(78), ")".repeat(78));
        let mut text = format!("[ T = {inner}; B0 = {{[]}};");
        for at in 1..=300 {
            text.push_str(&format!(" B{at} = evalInEachContext(T, {{[X = B{}]}})[0];", at - 1));
        }
        let sizes: Vec<String> = (0..=300).map(|at| format!("size(B{at})")).collect();
        let reads = ["B300[0].q"; 100].join(",");
        text.push_str(&format!(
            " W = sum({{{}}}) > 0; R = W && size({{{reads}}}) == 100 && sum({{{reads}}}) is undefined ]",
            sizes.join(",")
        ));
        let chain = ad(&text);
        let mut env = Env::new();
        let frame = env.frame(&chain, None);
        let of = |name: &str, fuel: u64| {
            let limits = Limits { fuel, memory: usize::MAX, ..Limits::default() };
            eval_attribute(&env, frame, name, &Context { limits, ..Context::default() })
        };
        assert_eq!(of("W", 1_000_000), Ok(Value::Boolean(true)));
        assert!(of("R", 2_000_000).is_err(), "each step from host to host is charged");
        assert!(of("R", 1_000_000_000).is_ok());
    }

    #[test]
    fn a_later_label_hides_an_earlier_one_until_it_is_unbound() {
        let (empty, one, two) = (ad("[]"), ad("[ n = 1 ]"), ad("[ n = 2 ]"));
        let mut env = Env::new();
        let frame = env.frame(&empty, None);
        let mark = env.mark();
        let (one, two) = (env.frame(&one, None), env.frame(&two, None));
        env.bind(frame, &name("x"), one);
        let count = env.labels(frame);
        env.bind(frame, &name("X"), two);
        assert_eq!(at(&env, frame, "x.n"), "2");
        env.truncate_labels(frame, count);
        assert_eq!(at(&env, frame, "x.n"), "1");
        env.truncate_labels(frame, 0);
        env.reset(mark);
        assert_eq!(at(&env, frame, "x.n"), "undefined");
        assert_eq!(env.mark(), mark);
    }

    #[test]
    fn two_ads_may_see_each_other() {
        let (left, right) = (ad("[ a = r.b + 1; c = r.d ]"), ad("[ b = l.e * 2; d = l.c ]"));
        let mut env = Env::new();
        let (left, right) = (env.frame(&left, None), env.frame(&right, None));
        env.define(left, name("e"), Value::Integer(20));
        env.bind(left, &name("r"), right);
        env.bind(right, &name("l"), left);
        assert_eq!(at(&env, left, "a"), "41");
        assert_eq!(at(&env, left, "c"), "undefined", "the circle ends undefined");
    }

    #[test]
    fn defined_values_come_first_also_through_views_and_have_no_scope_around_them() {
        let (own, other) = (ad("[ Owner = \"forged\"; x = 5 ]"), ad("[]"));
        let mut env = Env::new();
        let (own, other) = (env.frame(&own, None), env.frame(&other, None));
        env.define(own, name("owner"), Value::from("ann"));
        let member = Value::ad([(name("Name"), Value::from("m1"))]);
        env.define(own, name("Members"), Value::list([member]));
        env.bind(other, &name("requester"), own);
        assert_eq!(at(&env, other, "requester.Owner"), "\"ann\"");
        assert_eq!(at(&env, other, "requester.Members[0].Name"), "\"m1\"");
        assert_eq!(at(&env, own, "Members.Name"), "{ \"m1\" }");
        assert_eq!(at(&env, own, "Members[0].x"), "undefined");
        assert_eq!(eval_attribute(&env, own, "OWNER", &Context::default()), Ok(Value::from("ann")));
        assert_eq!(eval_attribute(&env, own, "nosuch", &Context::default()), Ok(Value::Undefined));
        env.define(own, name("Owner"), Value::from("bob"));
        assert_eq!(at(&env, own, "Owner"), "\"bob\"");
    }

    #[test]
    fn a_partner_is_other_and_target_and_catches_bare_names_of_the_ad_itself() {
        let job = ad("[ Size = 2; Here = Disk; Nested = [ v = Disk; w = other.Disk ]; Own = self.Disk ]");
        let machine = ad("[ Disk = 9; Size = 3; Back = Size + other.Size ]");
        let mut env = Env::new();
        let (job, machine) = (env.frame(&job, None), env.frame(&machine, None));
        env.partner(job, machine);
        env.partner(machine, job);
        assert_eq!(at(&env, job, "{Here, Size, Nested.v, Nested.w, Own}"), "{ 9,2,undefined,9,undefined }");
        assert_eq!(at(&env, job, "{other.other.Size, TARGET.Back, other.my.Size, my.other.Disk}"), "{ 2,5,3,9 }");
    }

    #[test]
    fn attributes_hide_builtin_names() {
        let ad = ad("[ self = 1; x = 2; n = [ parent = 3; y = parent; z = self.x ] ]");
        let mut env = Env::new();
        let frame = env.frame(&ad, None);
        assert_eq!(at(&env, frame, "{self, n.y, n.z, .x, n.toplevel.x, MY.x}"), "{ 1,3,2,2,2,2 }");
    }

    #[test]
    fn time_and_chance_come_from_the_context() {
        let ad = ad("[ r = random(1000000); s = random() ]");
        let mut env = Env::new();
        let frame = env.frame(&ad, None);
        let context = Context { now: 86_400 + 3600, local_offset: 3600, seed: 1, ..Context::default() };
        let value = |context: &Context, expr: &str| {
            eval(&parse_expr(expr, Dialect::Gangmatch).unwrap(), &env, frame, context).unwrap()
        };
        assert_eq!(value(&context, "time()"), Value::Integer(90_000));
        assert_eq!(value(&context, "CurrentTime"), Value::Integer(90_000));
        assert_eq!(value(&context, "currentTime()"), Value::AbsTime { seconds: 90_000, offset: 3600 });
        assert_eq!(value(&context, "dayTime()"), Value::RelTime(7200.0));
        assert_eq!(value(&context, "timeZoneOffset()"), Value::RelTime(3600.0));
        assert_eq!(value(&context, "r"), value(&context, "r"));
        assert_ne!(value(&context, "r"), value(&Context { seed: 2, ..context }, "r"));
        assert!(value(&context, "s").as_number().is_some_and(|s| (0.0..1.0).contains(&s)));
    }

    #[test]
    fn chance_differs_from_ad_to_ad() {
        let ad = ad("[ r = random(1000000) ]");
        let mut env = Env::new();
        let (one, two) = (env.frame(&ad, None), env.frame(&ad, None));
        env.seed(one, 1);
        env.seed(two, 2);
        assert_ne!(at(&env, one, "r"), at(&env, two, "r"));
    }

    #[test]
    fn the_figures_of_the_papers_match() {
        let machine = ad("[ Type = \"Machine\"; Memory = 64; KFlops = 21893; LoadAvg = 0.04;
            ResearchGroup = { \"raman\", \"miron\" }; Untrusted = { \"rival\" };
            Rank = member(other.Owner, ResearchGroup) * 10;
            Requirements = !member(other.Owner, Untrusted) && LoadAvg < 0.3 && Rank >= 10 ]");
        let job = ad("[ Type = \"Job\"; Owner = \"raman\"; Memory = 31; Rank = KFlops / 1E3 + other.Memory / 32;
            Requirements = other.Type == \"Machine\" && other.Memory >= self.Memory ]");
        let both = bilateral(&job, &machine, &Context::default());
        assert!(both.is_match(), "{both:?}");
        assert_eq!(both.left_rank, Ok(Value::Real(23.893)));
        assert_eq!(both.right_rank, Ok(Value::Integer(10)));
    }
}
