//! Random bytes into the text of ads: ports, constraints, ranks, requests, views that depend on other members.

/// Decisions, one byte each; zero when they are used up.
pub(crate) struct Draw<'b> {
    bytes: std::slice::Iter<'b, u8>,
    /// Many ports are counted.
    sets: bool,
}

/// What an expression in a port can name.
pub(crate) struct Names<'n> {
    /// The port's own label.
    pub(crate) own: &'n str,
    /// The labels of the ports before it.
    pub(crate) earlier: &'n [String],
}

const VALUES: [&str; 10] = ["1", "0", "2", "\"x\"", "\"X\"", "undefined", "error", "0.5", "{1, 2}", "[Z = 1]"];
const RANKS: [&str; 14] =
    ["0", "1", "2", "-1", "0.1", "0.2", "1e16", "-1e16", "1e300", "1e-30", "true", "\"x\"", "undefined", "-2.5e-19"];

impl<'b> Draw<'b> {
    pub(crate) fn new(bytes: &'b [u8], sets: bool) -> Draw<'b> {
        Draw { bytes: bytes.iter(), sets }
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.bytes.next().map_or(0, |byte| usize::from(*byte)) % limit.max(1)
    }

    /// True in about that many of a hundred cases.
    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.bytes.next().map_or(0, |byte| usize::from(*byte)) * 100 / 256 >= 100 - percent
    }

    /// One of these; the first is the plainest.
    pub(crate) fn pick<'t, T>(&mut self, list: &'t [T]) -> &'t T {
        &list[self.below(list.len())]
    }

    /// A whole ad.
    pub(crate) fn ad(&mut self, asks: bool) -> String {
        let mut parts = vec![format!("A = {}", self.pick(&VALUES)), format!("B = {}", self.pick(&VALUES))];
        if self.percent(30) {
            parts.push((*self.pick(&["C = A", "C = [Z = A; H = 1]", "C = H", "p = 1", "C = p.A"])).to_owned());
        }
        if asks && self.percent(15) {
            let rank = self.pick(&["p.A", "1", "other.A * 1.5", "q.A + p.A", "error", "A + P.H"]);
            parts.push(format!("GangRank = {rank}"));
        }
        if self.percent(10) {
            parts.push((*self.pick(&["RequestCpus = 1", "RequestSeats = 2", "RequestCpus = p.A"])).to_owned());
        }
        let ports = if asks { *self.pick(&[1, 2, 0, 2, 3]) } else { *self.pick(&[1, 0, 2, 1, 0, 3, 2, 1]) };
        match ports {
            0 => parts.extend(self.implicit()),
            _ => parts.push(format!("Ports = {{{}}}", self.ports(ports).join(", "))),
        }
        format!("[{}]", parts.join("; "))
    }

    /// The attributes of an ad without ports.
    fn implicit(&mut self) -> Vec<String> {
        let names = Names { own: "other", earlier: &[] };
        let name = *self.pick(&["Requirements", "Constraint"]);
        let mut parts = Vec::new();
        if !self.percent(10) {
            let fall_through = self.percent(20);
            let own = if fall_through { "H == 1".to_owned() } else { self.constraint(&names) };
            parts.push(format!("{name} = {own}"));
        }
        if self.percent(50) {
            parts.push(format!("Rank = {}", self.rank(&names)));
        }
        if self.percent(15) {
            parts.push(self.request());
        }
        parts
    }

    fn ports(&mut self, count: usize) -> Vec<String> {
        let mut labels: Vec<String> = Vec::new();
        let mut ports = Vec::new();
        for number in 0..count {
            let plain = [["p", "P"], ["q", "Q"], ["r", "R"]][number];
            let mut label = (*self.pick(&plain)).to_owned();
            if self.percent(10) {
                label = (*self.pick(&["'r s'", "A", "H", "P"])).to_owned();
            }
            ports.push(self.port(&Names { own: &label, earlier: &labels }));
            labels.push(label);
        }
        ports
    }

    fn port(&mut self, names: &Names<'_>) -> String {
        let mut parts = vec![format!("Label = {}", names.own)];
        for attribute in ["H", "K", "'o d'"] {
            if self.percent(if attribute == "'o d'" { 4 } else { 40 }) {
                let expr = match self.below(10) {
                    0..=3 => self.term(names),
                    4 => (*self.pick(&VALUES)).to_owned(),
                    5 => format!("[Z = {}]", self.term(names)),
                    6 => (*self.pick(&["H", "K", "A", "size(Members)", "Members[0].Name"])).to_owned(),
                    7 => format!("eval(\"{}\")", self.term(names).replace('"', "")),
                    8 => (*self.pick(&["self", "my", "parent", names.own])).to_owned(),
                    _ => format!("{} + 1", self.term(names)),
                };
                parts.push(format!("{attribute} = {expr}"));
            }
        }
        if !self.percent(25) {
            let name = *self.pick(&["Constraint", "Requirements"]);
            parts.push(format!("{name} = {}", self.constraint(names)));
        }
        if self.percent(50) {
            parts.push(format!("Rank = {}", self.rank(names)));
        }
        if self.percent(15) {
            parts.push(self.request());
        }
        if self.percent(6) {
            parts.push((*self.pick(&["RequestSeats = 1", "RequestCpus = p.A", "RequestSlots = 1"])).to_owned());
        }
        if self.sets && self.percent(50) {
            parts.extend(self.set(names));
        }
        format!("[{}]", parts.join("; "))
    }

    /// The attributes that make a port a counted one.
    fn set(&mut self, names: &Names<'_>) -> Vec<String> {
        let own = names.own;
        let counts = [
            "Count = 2",
            "Count = 1",
            "MinCount = 1; MaxCount = 2",
            "MinCount = 1; MaxCount = 3",
            "MinCount = 2; MaxCount = 4",
            "Count = 3",
            "Count = B",
            "MinCount = 1; MaxCount = size(Members) + 1",
            "MinCount = 2; MaxCount = 1",
            "MinCount = 1; MaxCount = 63",
        ];
        let mut parts = vec![(*self.pick(&counts)).to_owned()];
        for field in ["Same", "Distinct"] {
            if self.percent(25) {
                let attributes = ["A", "B", "H", "A\", \"B", "Name", "Type"];
                parts.push(format!("{field} = {{\"{}\"}}", self.pick(&attributes)));
            }
        }
        if self.percent(40) {
            let earlier = names.earlier.first().map_or("A", String::as_str);
            let condition = match self.below(9) {
                0 => format!("sum({own}.A) >= 1"),
                1 => format!("size({own}) >= 2"),
                2 => format!("allCompare(\"==\", {own}.A, {own}[0].A)"),
                3 => format!("{own}[0].A isnt {own}[1].A"),
                4 => format!("member(1, {own}.B)"),
                5 => "size(Members) < 2".to_owned(),
                6 => format!("{earlier}.A isnt {own}[0].A"),
                7 => format!("size({earlier}) isnt 1"),
                _ => self.constraint(names),
            };
            parts.push(format!("GroupConstraint = {condition}"));
        }
        if self.percent(25) {
            let ranks = [format!("-size({own})"), format!("sum({own}.A)"), format!("{own}[0].B"), "Count".to_owned()];
            parts.push(format!("GroupRank = {}", self.pick(&ranks)));
        }
        parts
    }

    fn request(&mut self) -> String {
        let amounts = ["[seats = 1]", "[Cpus = 1]", "[cpus = 2; seats = 1]", "[slots = A]", "[gpus = 1]", "[]", "3"];
        format!("Request = {}", self.pick(&amounts))
    }

    fn rank(&mut self, names: &Names<'_>) -> String {
        match self.below(4) {
            0 | 1 => (*self.pick(&RANKS)).to_owned(),
            2 => self.term(names),
            _ => format!("{} * {}", self.term(names), self.pick(&RANKS)),
        }
    }

    /// Parts that hold rather more often than not.
    pub(crate) fn constraint(&mut self, names: &Names<'_>) -> String {
        let parts: Vec<String> = (0..*self.pick(&[0, 1, 1, 2])).map(|_| self.part(names)).collect();
        if parts.is_empty() { "true".to_owned() } else { parts.join(" && ") }
    }

    fn part(&mut self, names: &Names<'_>) -> String {
        let term = self.term(names);
        let own = names.own;
        match self.below(14) {
            0..=2 => format!("{term} isnt {}", self.pick(&VALUES)),
            3 | 4 => format!("{term} == {}", self.pick(&VALUES)),
            5 => format!("({term} is {} || {term} is undefined)", self.term(names)),
            6 => format!("{term} == {}", self.term(names)),
            7 => format!("({term} >= 0)"),
            8 => term,
            9 => format!("eval(\"{own}.{}\") isnt 1", self.pick(&["H", "A", "K.Z"])),
            10 => format!("{own}[strcat(\"\", \"{}\")] isnt undefined", self.pick(&["H", "K", "A"])),
            11 => format!("size({own}.Members) {} 1", self.pick(&[">=", "<", "=="])),
            12 => format!("size(Members) {} 1", self.pick(&["<", ">=", "=="])),
            _ => match self.below(7) {
                5 => format!("regexp(\"{}\", {term})", self.pick(&["^x", "[xk]$", "", "(", "H.?"])),
                6 => format!("stringListMember({term}, \"{}\") isnt false", self.pick(&["x, k", "h X", ""])),
                4 => format!("time() - {term} {} 6", self.pick(&["> ", "<=", "isnt"])),
                0 => format!("countMatches({}, {{{own}}}) == {}", self.pick(&["C", "H", "K"]), self.pick(&["1", "0"])),
                1 => format!("size(string({own})) > 40"),
                2 => format!("unparse({own}.H) isnt \"x\""),
                _ => (*self.pick(&["1/0 == 1", "undefined", "my.A", "H isnt 1", "CurrentTime > 5"])).to_owned(),
            },
        }
    }

    /// Something to read: of the partner, of a partner at an earlier port, or of the ad itself.
    fn term(&mut self, names: &Names<'_>) -> String {
        let label = match (self.below(5), names.earlier.is_empty()) {
            (3, false) => Some(self.pick(names.earlier).clone()),
            (4, _) => None,
            _ => Some(names.own.to_owned()),
        };
        let name = *self.pick(&["A", "B", "H", "K", "H", "K.Z", "C", "h", "'o d'", "C.Z", "C.H", "K.H"]);
        match label {
            None => (*self.pick(&["A", "B", "H", "my.H", "self.K", "C", "r.A", "q.H", "Members[0].Name"])).to_owned(),
            Some(label) if name == "h" => format!("{label}[\"h\"]"),
            Some(label) => format!("{label}.{name}"),
        }
    }
}
