/// The kind of change of an object in a transaction; the raw values are Core Data's.
public enum ChangeKind: Int, Sendable, Hashable {
    case insert = 0
    case update = 1
    case delete = 2

    /// The kind as notifications spell it.
    public var name: String {
        switch self {
        case .insert: "insert"
        case .update: "update"
        case .delete: "delete"
        }
    }
}
