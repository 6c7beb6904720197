/// Why a store was not migrated: a stable code, what to do, and what the rows have against it.
///
/// The store is unharmed.
public struct MigrationError: CodedError {
    /// The kinds of refusal; the raw values are stable and meant for scripts and logs.
    public enum Code: String, Sendable {
        /// The models differ in a way from which no migration follows.
        case notInferable = "migration.not_inferable"
        /// Rows stand against the migration.
        case rows = "migration.rows"
        /// Rows, links or values would be dropped, and nobody has consented to that.
        case losses = "migration.losses"
        /// The store does not hold the model it was made with, and none was named.
        case missingSource = "migration.missing_source"
        /// The store's model is newer than the one it is to be migrated to.
        case newerModel = "migration.newer_model"
        /// No stage begins where the store is.
        case missingStage = "migration.missing_stage"
        /// The migrated store did not come out as a new one would be.
        case failed = "migration.failed"
    }

    /// The kind of refusal.
    public let code: Code
    /// The message, without any value of a row.
    public let message: String
    /// The remedy.
    public let remedy: String
    /// The problems of rows, a line each.
    public let details: [String]

    /// The number that Core Data has for the kind of refusal, or nil where it has none.
    ///
    /// Source: CoreDataErrors.h.
    public var coreDataCode: Int? {
        switch code {
        case .notInferable: 134_190
        case .rows, .failed: 134_110
        case .missingSource: 134_130
        case .missingStage: 134_170
        case .newerModel, .losses: nil
        }
    }

    /// The message, the details, the remedy and the code.
    public var description: String {
        let lines = details.map { "\n  \($0)" }.joined()
        return "\(message)\(lines.isEmpty ? "." : ":")\(lines)\(lines.isEmpty ? " " : "\n")\(remedy) [\(code.rawValue)]"
    }

    package init(_ code: Code, _ message: String, remedy: String, details: [String] = []) {
        self.code = code
        self.message = message
        self.remedy = remedy
        self.details = details
    }
}
