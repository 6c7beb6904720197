import Foundation
import ObjectGraph
import Synchronization

/// The schemas of a registry, each asked for once.
///
/// It blocks the thread that asks for a schema which it does not hold.
public final class SchemaRegistry: Sendable {
    /// A schema, or the reason why there is none, and for how long it counts.
    private struct Entry: Sendable {
        let outcome: Result<RegisteredSchema, DecodeError>
        let untilSeconds: Double
    }

    private static let maximumSchemas = 1_000
    private static let maximumReferences = 100
    /// How long a schema that does not exist is not asked for again.
    private static let missingSeconds = 10.0

    private let get: @Sendable (String) -> RegistryAnswer
    private let now: @Sendable () -> Double
    private let limits: LimitConfiguration
    private let entries = Mutex<[SchemaReference: Entry]>([:])

    /// Makes the configured registry, or nil; nothing is asked before the first record that names a schema.
    public convenience init?(_ configuration: WorkerConfiguration) {
        guard configuration.schemaRegistry.url != nil else { return nil }
        let client = RegistryClient(configuration.schemaRegistry)
        self.init(limits: configuration.limits, now: HealthMonitor.monotonicSeconds) { client.get($0) }
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
        if let known = entries.withLock({ $0[reference] }),
            known.untilSeconds == .infinity || now() < known.untilSeconds
        {
            return try known.outcome.get()
        }
        let outcome = Result { () throws(DecodeError) in try load(reference) }
        var untilSeconds = Double.infinity
        if case .failure(let error) = outcome {
            if error.isRetriable { throw error }
            if error.code == Self.missingCode { untilSeconds = now() + Self.missingSeconds }
        }
        entries.withLock { entries in
            // A thousand schemas at once are none of one deployment; the memory stays bounded.
            if entries.count >= Self.maximumSchemas { entries.removeAll() }
            entries[reference] = Entry(outcome: outcome, untilSeconds: untilSeconds)
        }
        return try outcome.get()
    }

    private static let missingCode = "registry.missing"

    private func load(_ reference: SchemaReference) throws(DecodeError) -> RegisteredSchema {
        let schema = try schema(at: reference.path, of: reference)
        var used: Set<RegistrySchema.Reference> = []
        var texts: [(name: String, text: String)] = []
        try collect(schema, of: reference, used: &used, texts: &texts)
        return try RegisteredSchema(schema, references: texts, limits: limits) { reason in
            Self.unusable(reference, reason)
        }
    }

    /// Adds the schemas that a schema uses, each behind those that it uses itself.
    private func collect(
        _ schema: RegistrySchema, of reference: SchemaReference, used: inout Set<RegistrySchema.Reference>,
        texts: inout [(name: String, text: String)]
    ) throws(DecodeError) {
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

    private func schema(at path: String, of reference: SchemaReference) throws(DecodeError) -> RegistrySchema {
        switch get(path) {
        case .schema(let schema): return schema
        case .missing where path == reference.path:
            throw DecodeError(
                code: Self.missingCode,
                "The schema registry has no \(reference), which the record names. Register it, or correct "
                    + "schemaRegistry.url, and retry the record")
        case .missing: throw Self.unusable(reference, "it uses a schema that the registry does not have")
        case .unusable(let reason): throw Self.unusable(reference, reason)
        case .unavailable(let reason):
            throw DecodeError(
                code: "registry.unavailable",
                "The schema registry does not give \(reference): \(reason). The worker asks again by itself",
                isRetriable: true)
        }
    }

    private static func unusable(_ reference: SchemaReference, _ reason: String) -> DecodeError {
        DecodeError(
            code: "registry.schema", "The \(reference) of the schema registry cannot be used: \(reason)")
    }

    /// The characters that stand for themselves in a part of a path.
    private static let unescaped = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
}
