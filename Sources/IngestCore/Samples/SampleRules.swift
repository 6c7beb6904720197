import GraphCore
import RecordDecoding

/// The rules of the model that one record shows to be broken, without the store: the limits of values, and required values
/// that are null.
package struct SampleRules {
    /// A required attribute that events leave out. An object that has none of its own yet would be refused.
    package struct Gap: Sendable, Equatable {
        /// The entity and the attribute, as in `Customer.name`.
        package let attribute: String
        /// The number of objects without a value.
        package let objects: Int

        /// The gap as a line of text.
        package var text: String {
            "required  \(attribute)  left out of \(counted(objects, "object")): a dead letter "
                + "\(ValidationFailure.Reason.missingMandatory.number()) where the object is new"
        }

        /// The gap as a JSON object on one line.
        package var json: String { JSONObject(["required": attribute, "objects": objects]).json }
    }

    private let model: ObjectModel
    private var counts: [String: Int] = [:]

    init(_ model: ObjectModel) { self.model = model }

    /// The gaps so far, by name.
    var gaps: [Gap] { counts.sorted { $0.key < $1.key }.map { Gap(attribute: $0.key, objects: $0.value) } }

    /// Checks an event as the store would, as far as its values alone say.
    ///
    /// - Throws: ``DecodeError`` with the code and the reason of the dead letter.
    mutating func check(_ event: ChangeSet) throws(DecodeError) {
        var failures = ValidationFailures()
        var missing: [String] = []
        for operation in event.operations where operation.kind == .upsert {
            let entity = model.entities[operation.entity]
            // The store counts a rule that an object breaks once, however often the record states the value.
            func note(_ failure: ValidationFailure) {
                let failure = failure.about(operation.identity, nil)
                if !failures.details.contains(failure) { failures.add(failure) }
            }
            for item in operation.transients {
                entity.transientAttributes[item.slot].check(item.value, entity: entity.name) { note($0) }
            }
            for item in operation.attributes where item.slot != entity.identitySlot {
                entity.limitsBySlot[item.slot]?.check(item.value, of: entity) { note($0) }
            }
            for attribute in entity.attributes where !attribute.isOptional && !attribute.isDerived {
                switch Self.value(of: attribute, operation, entity) {
                case .null?: note(.missing(attribute.name, of: entity))
                case nil where attribute.defaultValue.isNull: missing.append("\(entity.name).\(attribute.name)")
                default: break
                }
            }
        }
        if !failures.isEmpty { throw DecodeError(code: failures.stableCode, failures.message) }
        for name in missing { counts[name, default: 0] += 1 }
    }

    /// The value that an operation gives an attribute in the end, or nil.
    private static func value(of attribute: Attribute, _ operation: ObjectOperation, _ entity: Entity) -> Value? {
        if attribute.slot == entity.identitySlot { return operation.identity }
        if attribute.slot == entity.versionSlot, !operation.version.isNull { return operation.version }
        return operation.attributes.last { $0.slot == attribute.slot }?.value
    }
}
