/// The effect of an object's deletion on the destinations of a relationship.
///
/// A new rule is a case here and an answer to each question below. Contexts, deletions inside the store, the tables, the
/// verifier and migrations ask these questions and name no rule.
/// Source: NSDeleteRule.
public enum DeleteRule: String, Sendable, CaseIterable {
    /// Deletes the destinations too.
    case cascade
    /// Clears the destinations' references to the deleted object.
    case nullify
    /// Refuses the deletion while a destination stays.
    case deny
    /// Leaves the destinations as they are, dangling references included.
    case noAction

    /// The effect of a late event that refers, by the inverse, to a deleted object.
    package enum LateReference {
        /// The deletion would have taken the referring object with it.
        case deletesSource
        /// The referring object would have refused the deletion.
        case refuses
        /// The reference is null.
        case clears
    }

    /// Whether the destinations are deleted with the object.
    package var deletesDestinations: Bool {
        switch self {
        case .cascade: true
        case .nullify, .deny, .noAction: false
        }
    }

    /// Whether a destination that stays refuses the deletion.
    package var refusesWhileDestinationsStay: Bool {
        switch self {
        case .deny: true
        case .nullify, .cascade, .noAction: false
        }
    }

    /// Whether destinations that stay lose their reference, where a column of theirs holds it.
    package var clearsReferences: Bool {
        switch self {
        case .nullify, .cascade: true
        case .deny, .noAction: false
        }
    }

    /// Whether destinations that stay lose their link, where a join table holds it: a link belongs to both ends.
    package var removesLinks: Bool {
        switch self {
        case .nullify, .cascade, .noAction: true
        case .deny: false
        }
    }

    /// Whether references to deleted objects may stay in columns. No foreign key can be declared for those.
    package var leavesDanglingReferences: Bool {
        switch self {
        case .noAction: true
        case .nullify, .cascade, .deny: false
        }
    }

    /// The rule that applies to an object that was never saved. Its deletion takes back only what was not saved either, so
    /// no destination refuses it.
    package var ofUnsavedObject: DeleteRule {
        switch self {
        case .deny: .nullify
        case .nullify, .cascade, .noAction: self
        }
    }

    /// The rule's effect on an object whose event comes after the deletion.
    package var lateReference: LateReference {
        switch self {
        case .cascade: .deletesSource
        case .deny: .refuses
        case .nullify, .noAction: .clears
        }
    }

    /// The rule's name in a Core Data model.
    package var coreDataName: String {
        switch self {
        case .nullify: "Nullify"
        case .cascade: "Cascade"
        case .deny: "Deny"
        case .noAction: "No Action"
        }
    }
}
