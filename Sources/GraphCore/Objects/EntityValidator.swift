/// A program's own checks of the objects of an entity and its sub-entities. They run at the end of each event that touches
/// an object, and a failure makes the whole event fail.
///
/// Register them in ``WriterContext/Options/validators``. They run once for each object and event,
/// while no other thread uses the writer. They see the object as the event leaves it, before derived values are computed. Placeholders are not validated.
/// ``EditingContext/validate()`` asks them too, and so does a save twice: before the will-save hooks, with the context's
/// values, and after them, with the store's.
/// Source: NSManagedObject.h, validateForInsert, validateForUpdate and validateForDelete.
public struct EntityValidator {
    /// Called for an object whose own event has come for the first time.
    public var validateForInsert: ((inout ObjectValidation) -> Void)?
    /// Called for an object that was there before.
    public var validateForUpdate: ((inout ObjectValidation) -> Void)?
    /// Called for an object that is deleted, by an event of its own or by a delete rule; it sees the object as it was.
    public var validateForDelete: ((inout ObjectValidation) -> Void)?

    /// Makes a validator of the given checks.
    public init(
        validateForInsert: ((inout ObjectValidation) -> Void)? = nil,
        validateForUpdate: ((inout ObjectValidation) -> Void)? = nil,
        validateForDelete: ((inout ObjectValidation) -> Void)? = nil
    ) {
        self.validateForInsert = validateForInsert
        self.validateForUpdate = validateForUpdate
        self.validateForDelete = validateForDelete
    }
}

/// An object as a validator sees it, and the place for the validator's findings.
public struct ObjectValidation {
    /// The object's entity.
    public let entity: Entity
    private let values: [Value]
    private let oldValues: [Value]?
    package private(set) var failures: [ValidationFailure] = []

    init(entity: Entity, values: [Value], oldValues: [Value]?) {
        self.entity = entity
        self.values = values
        self.oldValues = oldValues
    }

    /// The object's identity.
    public var identity: Value { values[entity.identitySlot] }

    /// The value of an attribute, or the primary key of a to-one relationship's destination; null for any other name. The
    /// key of an unsaved destination is negative.
    public func value(_ property: String) -> Value { value(property, in: values) }

    /// The value before the event; null for an object that was not there.
    public func oldValue(_ property: String) -> Value { oldValues.map { value(property, in: $0) } ?? .null }

    /// The value of an attribute as a Swift type; nil if the attribute has none, or none of this type.
    ///
    ///     guard let sentAt = message.value("sentAt", as: Date.self) else { return }
    public func value<Content: AttributeValue>(_ attribute: String, as type: Content.Type) -> Content? {
        value(attribute, in: values, as: type)
    }

    /// The value before the event as a Swift type; nil for an object that was not there.
    public func oldValue<Content: AttributeValue>(_ attribute: String, as type: Content.Type) -> Content? {
        oldValues.flatMap { value(attribute, in: $0, as: type) }
    }

    private func value<Content: AttributeValue>(
        _ name: String, in values: [Value], as type: Content.Type
    ) -> Content? {
        guard let attribute = entity.attribute(named: name) else { return nil }
        let found = try? attribute.type.read(values[attribute.slot], as: type, property: name)
        return found.flatMap(\.self)
    }

    private func value(_ property: String, in values: [Value]) -> Value {
        guard let slot = entity.attribute(named: property)?.slot ?? entity.relationship(named: property)?.slot else {
            return .null
        }
        return values[slot]
    }

    /// Refuses the object.
    ///
    /// - Parameters:
    ///   - property: the name of the property whose rule is broken, or nil for the whole object.
    ///   - limit: what is allowed, as the end of a sentence that begins with the property: "may not be in the past".
    ///     It goes into dead letters and logs, so it should leak no value.
    ///   - reason: the code.
    public mutating func fail(
        _ property: String? = nil, _ limit: String, reason: ValidationFailure.Reason = .generic
    ) {
        failures.append(ValidationFailure(reason: reason, entity: entity.name, property: property, limit: limit))
    }

    /// Refuses the object with a code of the program's own.
    ///
    /// - Parameters:
    ///   - property: the name of the property whose rule is broken, or nil for the whole object.
    ///   - limit: what is allowed, as for ``fail(_:_:reason:)``.
    ///   - code: the number; a dead letter's code is `validation.` and this number. The numbers from 1550 to 1699 are
    ///     Core Data's.
    public mutating func fail(_ property: String? = nil, _ limit: String, code: Int) {
        failures.append(
            ValidationFailure(reason: .generic, entity: entity.name, property: property, limit: limit, code: code))
    }
}

/// The validators of a model's entities, looked up by position.
package struct Validators {
    private let byEntity: [[EntityValidator]]
    /// Tells whether there is any.
    package let isEmpty: Bool

    /// - Throws: ``StoreError`` where a name is no entity.
    init(_ validators: [String: EntityValidator], model: ObjectModel) throws(StoreError) {
        if let unknown = validators.keys.first(where: { model.entity(named: $0) == nil }) {
            throw StoreError(
                .modelMismatch, "A validator is registered for '\(unknown)', which is no entity of \(model.name)",
                remedy: "Name an entity of the model")
        }
        isEmpty = validators.isEmpty
        byEntity = model.entities.map { entity in
            // The ancestors' checks come first.
            (entity.ancestorIndexes.reversed() + [entity.index]).compactMap { validators[model.entities[$0].name] }
        }
    }

    /// No validators.
    package static func none(_ model: ObjectModel) -> Validators {
        Validators(byEntity: model.entities.map { _ in [] }, isEmpty: true)
    }

    private init(byEntity: [[EntityValidator]], isEmpty: Bool) {
        self.byEntity = byEntity
        self.isEmpty = isEmpty
    }

    package func hasDelete(_ entity: Entity) -> Bool { byEntity[entity.index].contains { $0.validateForDelete != nil } }

    package func failures(
        _ entity: Entity, values: [Value], oldValues: [Value]?,
        _ hook: KeyPath<EntityValidator, ((inout ObjectValidation) -> Void)?>
    ) -> [ValidationFailure] {
        var validation = ObjectValidation(entity: entity, values: values, oldValues: oldValues)
        for validator in byEntity[entity.index] { validator[keyPath: hook]?(&validation) }
        return validation.failures
    }
}
