/// The result of a verification.
public struct VerificationReport: Sendable, Equatable {
    /// Something that is not as it has to be.
    public struct Problem: Sendable, Equatable, CustomStringConvertible {
        /// The entity or the store's own table.
        public let entity: String
        /// The object's identity as people read it, or nil.
        public let identity: String?
        /// The property's name, or nil where the whole object is meant.
        public let property: String?
        /// The problem.
        public let what: String

        package init(entity: String, identity: String?, property: String?, what: String) {
            self.entity = entity
            self.identity = identity
            self.property = property
            self.what = what
        }

        /// Everything in one line.
        public var description: String {
            let place = entity + (identity.map { " \($0)" } ?? "") + (property.map { ".\($0)" } ?? "")
            return "\(place): \(what)"
        }
    }

    /// The outcome of one check.
    public struct Check: Sendable, Equatable {
        /// How many problems a check keeps; the others are counted.
        public static let maximumProblemCount = 100

        /// The check's stable name.
        public let name: String
        /// How many rows, links or values were checked.
        public package(set) var checkedCount: Int64 = 0
        /// The first problems.
        public private(set) var problems: [Problem] = []
        /// The number of all problems.
        public private(set) var problemCount = 0

        package init(name: String) { self.name = name }

        /// Makes the outcome of a check that another process has made.
        package init(name: String, checkedCount: Int64, problems: [Problem], problemCount: Int) {
            self.name = name
            self.checkedCount = checkedCount
            self.problems = problems
            self.problemCount = problemCount
        }

        package mutating func report(
            _ entity: String, _ identity: String? = nil, _ property: String? = nil, _ what: String
        ) {
            problemCount += 1
            guard problems.count < Self.maximumProblemCount else { return }
            problems.append(Problem(entity: entity, identity: identity, property: property, what: what))
        }

        /// Reports that the check could not be made to its end; the report always keeps this problem.
        package mutating func reportUnreadable(_ message: String) {
            if problems.count == Self.maximumProblemCount { problems.removeLast() }
            report("store", nil, nil, "could not be read: \(message)")
        }

        /// The checks of rules that an undamaged store may break. A model's limits may be tightened, and a deletion asks
        /// no rule of relationships without inverse.
        private static let namesOfRules: Set = ["limits", "counts"]

        /// Whether the problems are damage, and not only objects that break a rule of the model.
        package var isDamaged: Bool {
            // An object that breaks a rule does so with a property.
            problemCount > 0 && (!Self.namesOfRules.contains(name) || problems.contains { $0.property == nil })
        }
    }

    /// The checks in the order in which they were made.
    public let checks: [Check]

    package init(checks: [Check]) {
        self.checks = checks
    }

    /// The number of all problems.
    public var problemCount: Int { checks.reduce(0) { $0 + $1.problemCount } }

    /// The number of all problems in words, such as `1 problem`.
    package var problemNumber: String { Self.number(ofProblems: problemCount) }

    /// A number of problems in words, such as `1 problem`.
    package static func number(ofProblems count: Int) -> String { counted(count, "problem") }

    /// Tells whether nothing was found.
    public var isSound: Bool { problemCount == 0 }

    /// Whether the store is damaged: objects that break a limit or a count of the model are problems, and no damage.
    public var isDamaged: Bool { checks.contains(where: \.isDamaged) }

    /// The first problems of each check that are damage.
    package var damage: [Problem] { checks.filter(\.isDamaged).flatMap(\.problems) }

    /// The number of problems that are damage in words, such as `1 problem`.
    package var damageNumber: String {
        Self.number(ofProblems: checks.filter(\.isDamaged).reduce(0) { $0 + $1.problemCount })
    }

    /// The steps after a report with problems and without damage.
    package static let ruleRemedy =
        "Nothing is damaged. The model's rules forbid these objects: correct them by events, or relax the model"

    /// Whether the file itself is damaged, and not only its contents.
    package var isFileDamaged: Bool { (check(named: "integrity")?.problemCount ?? 0) > 0 }

    /// Returns the check of a name, or nil.
    public func check(named name: String) -> Check? { checks.first { $0.name == name } }

    /// The report for people: a line for each check, its problems below it.
    public var text: String {
        var lines: [String] = []
        let width = checks.map(\.name.count).max() ?? 0
        for check in checks {
            let name = check.name + String(repeating: " ", count: width - check.name.count)
            let outcome =
                check.problemCount == 0 ? "ok" : Self.number(ofProblems: check.problemCount)
            lines.append("\(name)  \(outcome), \(check.checkedCount) checked")
            lines += check.problems.map { "  \($0)" }
            let rest = check.problemCount - check.problems.count
            if rest > 0 { lines.append("  and \(rest) more") }
        }
        lines.append(isSound ? "The store is sound." : "The store has \(problemNumber).")
        return lines.joined(separator: "\n") + "\n"
    }
}

extension VerificationReport: JSONWritable {
    /// The report as one JSON object.
    public var json: String {
        JSONObject([
            "isSound": isSound, "isDamaged": isDamaged, "problemCount": problemCount,
            "checks": checks.map(Self.object),
        ]).json
    }

    private static func object(_ check: Check) -> JSONObject {
        JSONObject([
            "name": check.name, "checkedCount": check.checkedCount, "problemCount": check.problemCount,
            "problems": check.problems.map {
                JSONObject(["entity": $0.entity, "identity": $0.identity, "property": $0.property, "what": $0.what])
            },
        ])
    }
}
