/// A value with secrets: neither its `description`, nor `debugDescription`, nor a dump shows them.
public protocol RedactedDescription: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension RedactedDescription {
    /// Prints what `description` does.
    public var debugDescription: String { description }

    /// Shows only what `description` does, so that a dump does not print secrets.
    public var customMirror: Mirror { Mirror(self, children: ["settings": description]) }
}
