import GraphCore

/// Why a route does not fit the model.
public struct RouteError: CodedError {
    /// The file and line of the configuration, where they are known.
    public var location: String?
    /// The fault and its remedy.
    public let message: String
    /// A stable code for scripts and logs.
    public var code: String { "config.route" }

    package init(location: String? = nil, message: String) {
        self.location = location
        self.message = message
    }
}
