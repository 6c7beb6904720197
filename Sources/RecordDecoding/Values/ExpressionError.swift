/// Why an expression of a route cannot be read.
package struct ExpressionError: Error {
    package let message: String
    package let suggestion: String?

    init(_ message: String, suggestion: String? = nil) {
        self.message = message
        self.suggestion = suggestion
    }
}
