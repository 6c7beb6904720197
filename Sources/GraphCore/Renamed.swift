// Names of before, for programs that still use them; CHANGELOG.md lists all changed names.

/// A change set.
@available(*, deprecated, renamed: "ChangeSet")
public typealias GraphEvent = ChangeSet

extension Store {
    /// Whether the store has to be verified before it is written again.
    @available(*, deprecated, renamed: "needsVerification")
    public var isSuspect: Bool { needsVerification }
}
