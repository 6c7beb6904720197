/// The reasons why a model is refused: all that were found, each with its place and remedy.
public struct ModelError: CodedError {
    /// One thing that is wrong with a model.
    public struct Problem: Sendable, Equatable, CustomStringConvertible {
        /// The model file.
        public let file: String
        /// The line, counted from 1, or nil where the whole file is meant.
        public let line: Int?
        /// The problem.
        public let message: String
        /// The remedy.
        public let remedy: String

        package init(file: String, line: Int?, message: String, remedy: String) {
            self.file = file
            self.line = line
            self.message = message
            self.remedy = remedy
        }

        /// The file, the line where one is known, what is wrong and what to do, in one line.
        public var description: String {
            "\(file)\(line.map { ":\($0)" } ?? ""): \(message). \(remedy)"
        }
    }

    /// All problems that were found in the model.
    public let problems: [Problem]

    package init(problems: [Problem]) { self.problems = problems }

    /// Makes the error of a file that cannot be used at all.
    package init(file: String, _ message: String, remedy: String) {
        self.init(problems: [Problem(file: file, line: nil, message: message, remedy: remedy)])
    }

    /// A stable code for scripts and logs.
    public var code: String { "model.invalid" }
    /// The problems, one a line, each with its place and remedy.
    public var message: String { problems.map(\.description).joined(separator: "\n") }
    /// The message.
    public var description: String { message }
}
