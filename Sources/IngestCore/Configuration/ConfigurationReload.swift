/// The changes of a configuration that was read again: some take effect in a running worker, the others need a restart.
///
/// A decision without I/O. Each setting's declaration says whether the worker takes it.
package struct ConfigurationReload: Sendable {
    /// A setting that has another value now; the texts show no secret.
    package struct Change: Sendable, Equatable {
        package let key: String
        package let from: String
        package let to: String
    }

    /// The changes that the worker takes.
    package let taken: [Change]
    /// The changes that need a restart.
    package let needingRestart: [Change]
    /// The running configuration with the changes that are taken.
    package let configuration: WorkerConfiguration

    /// Compares the running configuration with a new one.
    package init(from old: WorkerConfiguration, to new: WorkerConfiguration) {
        var merged = old
        let sameTopics = old.topics.map(\.name) == new.topics.map(\.name)
        for key in ConfigurationKey.known
        where key.reload == .taken || key.reload == .takenForSameTopics && sameTopics {
            key.copy(&merged, new)
        }
        configuration = merged
        taken = Self.changes(from: old, to: merged)
        needingRestart = Self.changes(from: merged, to: new)
    }

    private static func changes(from old: WorkerConfiguration, to new: WorkerConfiguration) -> [Change] {
        let settings = ConfigurationKey.known.compactMap { change($0, from: old, to: new) }
        return settings + kafkaChanges(from: old, to: new)
    }

    private static func change(
        _ key: ConfigurationKey, from old: WorkerConfiguration, to new: WorkerConfiguration
    ) -> Change? {
        guard key.differs(old, new) else { return nil }
        let (from, to) = (key.render(old), key.render(new))
        return Change(key: key.path, from: from, to: to == from ? "another" : to)
    }

    private static func kafkaChanges(from old: WorkerConfiguration, to new: WorkerConfiguration) -> [Change] {
        let (before, after) = (old.kafka.properties, new.kafka.properties)
        return Set(before.values.keys).union(after.values.keys).sorted().compactMap { name in
            let (from, to) = (before.values[name], after.values[name])
            if from == to { return nil }
            func shown(_ value: String?, _ properties: KafkaProperties) -> String {
                value.map { properties.shown($0, of: name) } ?? "null"
            }
            return Change(key: "kafka.\(name)", from: shown(from, before), to: shown(to, after))
        }
    }
}
