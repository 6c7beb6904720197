import Foundation
import GraphCore
import Synchronization

/// The schemas of a registry, each asked for once.
///
/// It blocks the thread that asks for a schema which it does not hold.
public final class SchemaRegistry: Sendable {
    /// Why there is no schema.
    private struct Refusal: Error {
        let error: DecodeError
        /// How long the schema is not asked for again.
        let seconds: Double
    }

    /// The schemas and the refusals that the registry has given.
    private struct Knowledge {
        var schemas: [SchemaReference: RegisteredSchema] = [:]
        var refusals: [SchemaReference: (error: DecodeError, untilSeconds: Double)] = [:]
        /// Why the registry did not answer at all, and until when no other schema is asked for.
        var outage: (reason: String, untilSeconds: Double)?

        /// Returns the error for a schema that is not held: its refusal or the registry's outage, while it still
        /// counts.
        func error(_ reference: SchemaReference, at seconds: Double) -> DecodeError? {
            if let refusal = refusals[reference], seconds < refusal.untilSeconds { return refusal.error }
            guard let outage, seconds < outage.untilSeconds else { return nil }
            return SchemaRegistry.unavailable(reference, outage.reason)
        }
    }

    /// No deployment needs a thousand schemas at once; the limit bounds the memory.
    private static let maximumSchemas = 1_000
    private static let maximumReferences = 100
    /// How long a schema that does not exist is not asked for again.
    private static let missingSeconds = 10.0
    /// How long nothing is asked that the registry has just not answered. Each partition of a poll asks for itself, and
    /// would wait as long as the first.
    private static let unavailableSeconds = 1.0

    private let get: @Sendable (String) -> RegistryAnswer
    private let now: @Sendable () -> Double
    private let limits: LimitConfiguration
    private let knowledge = Mutex(Knowledge())

    /// Makes the configured registry, or nil; nothing is asked before the first record that names a schema.
    public convenience init?(_ configuration: SchemaRegistryConfiguration, limits: LimitConfiguration) {
        guard configuration.url != nil else { return nil }
        let client = RegistryClient(configuration)
        self.init(limits: limits, now: MonotonicClock.seconds) { client.get($0) }
    }

    /// - Parameter get: returns the answer to a path.
    init(
        limits: LimitConfiguration, now: @escaping @Sendable () -> Double,
        get: @escaping @Sendable (String) -> RegistryAnswer
    ) {
        self.limits = limits
        self.now = now
        self.get = get
    }

    /// Returns a schema.
    ///
    /// - Throws: ``DecodeError``: `registry.unavailable`, which is retriable, where the registry says nothing of the
    ///   schema, `registry.missing` where there is none, `registry.schema` where it cannot be used.
    func schema(_ reference: SchemaReference) throws(DecodeError) -> RegisteredSchema {
        if let schema = knowledge.withLock({ $0.schemas[reference] }) { return schema }
        let time = now()
        if let error = knowledge.withLock({ $0.error(reference, at: time) }) { throw error }
        do throws(Refusal) {
            let schema = try load(reference)
            knowledge.withLock { Self.put(schema, reference, into: &$0.schemas) }
            return schema
        } catch {
            let untilSeconds = now() + error.seconds
            knowledge.withLock { Self.put((error.error, untilSeconds), reference, into: &$0.refusals) }
            throw error.error
        }
    }

    private static func put<Found>(
        _ found: Found, _ reference: SchemaReference, into table: inout [SchemaReference: Found]
    ) {
        if table.count >= maximumSchemas { table.removeAll() }
        table[reference] = found
    }

    private func load(_ reference: SchemaReference) throws(Refusal) -> RegisteredSchema {
        let schema = try schema(at: reference.path, of: reference)
        var used: Set<RegistrySchema.Reference> = []
        var texts: [(name: String, text: String)] = []
        try collect(schema, of: reference, used: &used, texts: &texts)
        do throws(DecodeError) {
            return try RegisteredSchema(schema, references: texts, limits: limits) { reason in
                Self.unusable(reference, reason).error
            }
        } catch {
            throw Refusal(error: error, seconds: .infinity)
        }
    }

    /// Adds the schemas that a schema uses, each behind the schemas that it uses itself.
    private func collect(
        _ schema: RegistrySchema, of reference: SchemaReference, used: inout Set<RegistrySchema.Reference>,
        texts: inout [(name: String, text: String)]
    ) throws(Refusal) {
        for other in schema.references where !used.contains(other) {
            if used.count >= Self.maximumReferences {
                throw Self.unusable(reference, "it uses more than \(Self.maximumReferences) other schemas")
            }
            used.insert(other)
            let subject = other.subject.addingPercentEncoding(withAllowedCharacters: Self.unescaped) ?? ""
            let path = "/subjects/\(subject)/versions/\(other.version)"
            let found = try self.schema(at: path, of: reference)
            try collect(found, of: reference, used: &used, texts: &texts)
            texts.append((other.name, found.text))
        }
    }

    private func schema(at path: String, of reference: SchemaReference) throws(Refusal) -> RegistrySchema {
        switch get(path) {
        case .schema(let schema): return schema
        case .missing where path == reference.path:
            let error = DecodeError(
                code: "registry.missing",
                "The schema registry has no \(reference), which the record names. Register it, or correct "
                    + "schemaRegistry.url, and retry the record")
            throw Refusal(error: error, seconds: Self.missingSeconds)
        case .missing:
            let reason = "it uses a schema that the registry does not have"
            throw Refusal(error: Self.unusable(reference, reason).error, seconds: Self.missingSeconds)
        case .unusable(let reason): throw Self.unusable(reference, reason)
        case .unavailable(let reason):
            throw Refusal(error: Self.unavailable(reference, reason), seconds: Self.unavailableSeconds)
        case .silent(let reason):
            let untilSeconds = now() + Self.unavailableSeconds
            knowledge.withLock { $0.outage = (reason, untilSeconds) }
            throw Refusal(error: Self.unavailable(reference, reason), seconds: Self.unavailableSeconds)
        }
    }

    private static func unavailable(_ reference: SchemaReference, _ reason: String) -> DecodeError {
        DecodeError(
            code: "registry.unavailable",
            "The schema registry does not give \(reference): \(reason). The worker asks again by itself",
            isRetriable: true)
    }

    private static func unusable(_ reference: SchemaReference, _ reason: String) -> Refusal {
        let error = DecodeError(
            code: "registry.schema", "The \(reference) of the schema registry cannot be used: \(reason)")
        return Refusal(error: error, seconds: .infinity)
    }

    /// The characters that stand for themselves in a part of a path.
    private static let unescaped = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
}
