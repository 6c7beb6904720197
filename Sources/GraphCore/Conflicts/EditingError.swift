/// Why an editing context refused: a stable code, the failures or conflicts in question, and what to do.
public struct EditingError: CodedError {
    /// The kinds of refusal; the raw values are stable.
    public enum Code: String, Sendable {
        /// The model has no such entity.
        case unknownEntity = "editing.unknown_entity"
        /// The entity has no such property, or it is of another kind.
        case unknownProperty = "editing.unknown_property"
        /// The value is none of the property's type.
        case type = "editing.type"
        /// The property cannot be set: an identity, or what the store computes.
        case readOnly = "editing.read_only"
        /// The object is not in the store any more, or was never saved.
        case objectGone = "editing.object_gone"
        /// The object belongs to another context, or its context is gone.
        case otherContext = "editing.other_context"
        /// An object breaks rules of the model.
        case validation = "editing.validation"
        /// Others changed objects in the meantime, and the policy is `error`.
        case mergeConflict = "editing.merge_conflict"
        /// Objects claim values that have to be unique, and the policy is `error`.
        case constraintConflict = "editing.constraint_conflict"
        /// Will-save hooks kept changing objects.
        case unstableHooks = "editing.unstable_hooks"
        /// A deletion or a list reaches more objects than memory should hold.
        case tooLarge = "editing.too_large"
    }

    /// The kind of refusal.
    public let code: Code
    /// The problem, without any value.
    public let message: String
    /// The remedy; empty where the message says it.
    public let remedy: String
    /// Every rule that is broken, for ``Code/validation``.
    public var failures: [ValidationFailure] = []
    /// Every conflict, for ``Code/mergeConflict`` and ``Code/constraintConflict``.
    public var conflicts: [MergeConflict] = []

    /// The code that Core Data gives the error, or nil where it has none. Source: CoreDataErrors.h.
    public var coreDataCode: Int? {
        switch code {
        case .validation: failures.count == 1 ? failures[0].code : 1560
        case .mergeConflict: 133_020
        case .constraintConflict: 133_021
        case .objectGone: 133_000
        default: nil
        }
    }

    package init(_ code: Code, _ message: String, remedy: String = "") {
        self.code = code
        self.message = message
        self.remedy = remedy
    }

    package init(_ failures: [ValidationFailure]) {
        code = .validation
        remedy = failures.count == 1 ? failures[0].remedy : "Correct the objects and save again"
        self.failures = failures
        let list = failures.prefix(5).map(\.description).joined(separator: "; ")
        let more = failures.count > 5 ? "; and \(failures.count - 5) more" : ""
        message = "The changes break rules of the model: \(list)\(more)"
    }

    package init(conflicts: [MergeConflict], isUniqueness: Bool) {
        code = isUniqueness ? .constraintConflict : .mergeConflict
        self.conflicts = conflicts
        let list = conflicts.prefix(5).map(\.description).joined(separator: "; ")
        let more = conflicts.count > 5 ? "; and \(conflicts.count - 5) more" : ""
        message =
            isUniqueness
            ? "Values that have to be unique are taken: \(list)\(more)"
            : "Others changed the same objects: \(list)\(more)"
        remedy =
            isUniqueness
            ? "Change them, or set a merge policy" : "Refresh the objects, or set a merge policy, and save again"
    }

    package static func unknownEntity(_ name: String, _ model: ObjectModel) -> EditingError {
        EditingError(
            .unknownEntity, "The model has no entity '\(name)'",
            remedy: ClosestName.remedy(name, among: model.entities.map(\.name)))
    }

    package static func unknownProperty(_ name: String, _ kind: String, _ entity: Entity) -> EditingError {
        EditingError(
            .unknownProperty, "\(entity.name) has no \(kind) '\(name)'",
            remedy: ClosestName.remedy(name, among: entity.propertyNames))
    }

    /// - Parameter property: the entity and the property, as `Message.sentAt`.
    package static func wrongType(_ property: String, _ expected: String, given value: Any?) -> EditingError {
        let given = value.map { "\(type(of: $0))" } ?? "nil"
        return EditingError(.type, "\(property) takes \(expected), and was given a value of type \(given)")
    }

    package static func gone(_ id: ManagedObjectID) -> EditingError {
        EditingError(
            .objectGone, "The object \(id) is not in the store: somebody deleted it, or it was never saved",
            remedy: "Drop your reference to it")
    }
}
