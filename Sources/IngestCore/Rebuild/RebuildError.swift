import GraphCore

/// The reason why a store cannot be rebuilt.
package struct RebuildError: CodedError {
    /// The kind of error; the raw value is stable.
    package enum Code: String, Sendable {
        /// The topics do not hold everything that the old store was made of.
        case partial = "rebuild.partial"
        /// The unfinished new store was begun for another store or with other settings, or another store has replaced
        /// the old one.
        case foreign = "rebuild.foreign"
        /// The old store cannot be read, so nothing can be compared with it.
        case unreadable = "rebuild.unreadable"
    }

    /// The kind of error.
    package let code: Code
    package let message: String
    package let remedy: String

    package init(code: Code, message: String, remedy: String) {
        self.code = code
        self.message = message
        self.remedy = remedy
    }
}
