import GraphCore

/// The calls of a program around the life of its objects; the context calls each hook on its own thread.
///
/// The names are the same as in NSManagedObject and its context.
public struct EditingHooks {
    /// Called for each new object, after its defaults are set. Where it throws, the context takes back the insertion and
    /// all that the hook has changed.
    public var awakeFromInsert: ((ManagedObject) throws -> Void)?
    /// Called for each object that is about to be deleted, also by a delete rule, while all relationships are still
    /// intact.
    public var prepareForDeletion: ((ManagedObject) throws -> Void)?
    /// Called once before a save, before anything is validated.
    public var contextWillSave: ((EditingContext) throws -> Void)?
    /// Called for each changed object after the validation, again and again until no hook changes anything.
    public var willSave: ((ManagedObject) throws -> Void)?
    /// Called for each saved object; of a deleted one only its ``ManagedObject/objectID`` is left.
    public var didSave: ((ManagedObject) -> Void)?
    /// Called once after a save.
    public var contextDidSave: ((EditingContext, SaveResult) -> Void)?

    /// Makes hooks that do nothing.
    public init() {}
}
