/// The steps of a migration, and the problems that prevent it.
public struct MigrationPlan: Sendable {
    /// One thing that is done.
    public struct Step: Sendable, Equatable {
        /// The kind of step, for scripts: `create`, `keep`, `alter`, `rebuild`, `drop`, `links`, `derive`, `record`, and
        /// `stage` at the head of each of several stages.
        public let action: String
        /// The table or relationship, or nil.
        public let subject: String?
        /// The step in words.
        public let text: String
        /// How many rows are written or read, or nil where the number is not known or does not matter.
        public let rowCount: Int64?

        package init(action: String, subject: String?, text: String, rowCount: Int64?) {
            self.action = action
            self.subject = subject
            self.text = text
            self.rowCount = rowCount
        }
    }

    /// How the rows come into their new form.
    public enum Method: String, Sendable {
        /// Nothing has to be done.
        case none
        /// In one transaction, where they are.
        case inPlace
        /// Into a new file that takes the store's place; resumable.
        case copy
    }

    /// The model that the store has, with its version.
    public let source: String
    /// The model that it gets, with its version.
    public let target: String
    /// The differences of the two models.
    public let difference: ModelDifference
    /// How the rows come into their new form.
    public let method: Method
    /// The steps in their order.
    public let steps: [Step]
    /// The number of rows in the store's tables.
    public let rowCount: Int64
    /// The problems that prevent it; empty where the migration would succeed.
    public let problems: [String]
    /// Notes that do not prevent it, such as values beyond limits that the new model sets.
    public var notes: [String] = []
    /// The rows, links and values that are dropped.
    public var losses = MigrationLosses()
    /// The lines that the routes of a configuration need for records with the former names.
    package var routeLines: [String] = []
    /// Where the copy of the old store is kept, once it was migrated and if that was asked for.
    public package(set) var backup: String?

    package init(
        source: String, target: String, difference: ModelDifference, method: Method, steps: [Step], rowCount: Int64,
        problems: [String], notes: [String] = [], losses: MigrationLosses = MigrationLosses()
    ) {
        self.source = source
        self.target = target
        self.difference = difference
        self.method = method
        self.steps = steps
        self.rowCount = rowCount
        self.problems = problems
        self.notes = notes
        self.losses = losses
    }

    /// The number of values that are lost with each attribute that is removed, by entity and attribute: `Member.email`.
    public var droppedValues: [String: Int64] {
        get { losses.values }
        set { losses.values = newValue }
    }

    /// The plan in lines.
    public var text: String {
        var lines = ["\(source) → \(target): \(counted(rowCount, "row")), \(method.rawValue)"]
        if !difference.isEmpty {
            lines.append("changes:")
            lines += difference.changes.filter { $0.inference != .unneeded }.map { "  \($0)\(loss(of: $0))" }
        }
        if !steps.isEmpty {
            lines.append("steps:")
            lines += steps.enumerated().map { index, step in
                "  \(index + 1). \(step.text)\(step.rowCount.map { " (\(counted($0, "row")))" } ?? "")"
            }
        }
        if !problems.isEmpty { lines += ["problems:"] + problems.map { "  \($0)" } }
        if !losses.isEmpty { lines += ["dropped:"] + losses.lines.map { "  \($0)" } }
        if !notes.isEmpty { lines += ["notes:"] + notes.map { "  \($0)" } }
        lines += routeLines
        return lines.joined(separator: "\n") + "\n"
    }

    /// The number of values that a change drops, in words, or nothing.
    private func loss(of change: ModelDifference.Change) -> String {
        guard change.dropsValues, let count = droppedValues[change.name] else { return "" }
        return count == 1 ? "; 1 value is dropped" : "; \(count == 0 ? "no" : "\(count)") values are dropped"
    }

    /// The plan as one JSON object.
    public var json: String {
        JSONObject([
            "source": source, "target": target, "method": method.rawValue, "rows": rowCount,
            "steps": steps.map {
                JSONObject(["action": $0.action, "subject": $0.subject, "text": $0.text, "rows": $0.rowCount])
            },
            "problems": problems, "notes": notes, "droppedRows": losses.rows,
            "droppedLinks": losses.links, "droppedValues": losses.values, "routes": routeLines, "backup": backup,
            "difference": difference,
        ]).json
    }
}
