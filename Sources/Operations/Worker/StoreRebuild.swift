import Foundation
import GraphCore
import IngestCore
import KafkaClient
import Logging
import RecordDecoding

/// Builds a store again beside the old one, from the beginning of the topics, and puts it in the old one's place.
///
/// The old store may be read and written meanwhile. It can be killed at any moment and run again.
package final class StoreRebuild: Sendable {
    /// How a rebuild ended.
    package enum Outcome: Sendable {
        /// The new store stands in the old one's place.
        case replaced
        /// An earlier run has done it already, or there is no store to be rebuilt.
        case unneeded
        /// A stop was requested; the next run goes on.
        case stopped
    }

    private let configuration: WorkerConfiguration
    private let model: ObjectModel
    private let logger: Logger
    private let hooks: WorkerRuntime.Hooks
    private let allowsPartial: Bool
    private let places: any RebuildPlaces

    /// Makes the rebuild of the configured store.
    ///
    /// - Parameters:
    ///   - configuration: the worker's; its store is the one that is rebuilt.
    ///   - model: the new store's.
    ///   - logger: reports progress.
    ///   - hooks: how the program observes the worker and the steps of the exchange.
    ///   - allowsPartial: goes on though the topics do not hold everything that the old store was made of.
    /// - Throws: `StoreError` with code `store.unavailable` where the store's URL cannot be read.
    package init(
        configuration: WorkerConfiguration, model: ObjectModel, logger: Logger,
        hooks: WorkerRuntime.Hooks = WorkerRuntime.Hooks(), allowsPartial: Bool = false
    ) throws(StoreError) {
        self.configuration = configuration
        self.model = model
        self.logger = logger
        self.hooks = hooks
        self.allowsPartial = allowsPartial
        places = try configuration.rebuildPlaces()
    }

    /// Rebuilds. Returns when the new store is in its place and closed, or after a request to stop.
    ///
    /// - Throws: ``RebuildError``, and what a worker throws.
    package func run() async throws -> Outcome {
        let unlock = try places.lock()
        defer { unlock() }
        guard let old = try readOld() else {
            logger.info("there is no store to rebuild", metadata: ["path": "\(places.old)"])
            return .unneeded
        }
        let begun = try readBegun()
        // Each exchange keeps the store that it has replaced: while that is there, the store is the rebuilt one.
        if begun == nil, old.replaces != nil, old.builtWith == configuration.contentMark, try places.hasKept() {
            logger.warning(
                "the store was rebuilt already, and is not rebuilt again",
                metadata: ["remove to rebuild it again": "\(places.kept)"])
            return .unneeded
        }
        if let begun { try check(begun, replaces: old) }
        try checkCoverage(old, begun)
        let takeover = RebuildTakeover(
            old: old, places: places, configuration: configuration, model: model, allowsPartial: allowsPartial)
        do {
            return try await build(takeover)
        } catch {
            takeover.abandon()
            throw error
        }
    }

    private func readOld() throws -> StoreDescription? {
        do { return try places.describeOld() } catch {
            guard error.code == .corrupt else { throw error }
            throw RebuildError(
                code: .unreadable, message: error.message,
                remedy: "\(places.movingOldAway). Then run without --rebuild: a new store is made from the beginning "
                    + "of the topics")
        }
    }

    private func readBegun() throws -> StoreDescription? {
        do { return try places.describeNew() } catch {
            throw error.code == .corrupt ? foreign("cannot be read: \(error.message)") : error
        }
    }

    private func check(_ begun: StoreDescription, replaces old: StoreDescription) throws {
        if begun.replaces != old.identity { throw foreign("was not begun to replace the store at \(places.old)") }
        if begun.builtWith != configuration.contentMark {
            throw foreign("was begun with other topics, routes, partitions or limits than are set now")
        }
        logger.info("a rebuild that was begun before goes on", metadata: ["path": "\(places.new)"])
    }

    private func foreign(_ reason: String) -> RebuildError {
        RebuildError(
            code: .foreign, message: "\(places.new) \(reason)", remedy: "\(places.removingNew), to begin again")
    }

    private func build(_ takeover: RebuildTakeover) async throws -> Outcome {
        let runtime: WorkerRuntime
        do {
            runtime = try await WorkerRuntime.open(
                configuration: buildingConfiguration, model: model, logger: logger, hooks: hooks, takeover: takeover)
        } catch let error as StoreError where error.code == .modelMismatch {
            throw foreign("was begun with another model. \(error.message)")
        }
        takeover.onTaken = { [hooks] in
            hooks.onRebuildStep("taken")
            Task { await runtime.requestStop() }
        }
        logger.info("the store is rebuilt", metadata: ["path": "\(places.new)", "replaces": "\(takeover.identity)"])
        try await runtime.run()
        takeover.onTaken = {}
        guard takeover.isTaken, let old = takeover.retiring else {
            takeover.abandon()
            return .stopped
        }
        hooks.onRebuildStep("closed")
        try old.exchange { hooks.onRebuildStep($0) }
        logger.info("the rebuilt store is in its place", metadata: ["path": "\(places.old)", "old": "\(places.kept)"])
        for view in old.viewsOfOldStore {
            logger.warning("a view of another schema still reads the old store", metadata: ["view": "\(view)"])
        }
        return .replaced
    }

    /// The configuration of the worker that builds: another store, all partitions, nothing told to anybody.
    private var buildingConfiguration: WorkerConfiguration {
        var building = configuration
        places.chooseNew(in: &building.store)
        building.kafka.partitions = configuration.kafka.partitions ?? .all
        building.notifications.topic = nil
        building.deadLetters.topic = nil
        return building
    }

    // MARK: What is gone

    private func checkCoverage(_ old: StoreDescription, _ begun: StoreDescription?) throws {
        let admin = try Admin(configuration: configuration.kafka.clientConfiguration(logger: logger))
        let known = try admin.metadata().topics
        var marks: [TopicPartition: Watermarks] = [:]
        for topic in configuration.topics {
            let selection = configuration.selection(of: topic.name)
            for partition in known[topic.name] ?? [] where selection.contains(partition.number) {
                let place = TopicPartition(topic.name, partition.number)
                marks[place] = try admin.watermarks(place)
            }
        }
        let read = Set((begun?.positions ?? []).map { TopicPartition($0.topic, $0.partition) })
        let missing = RebuildCoverage.missing(old: old.positions, marks: marks, read: read)
        if missing.isEmpty { return }
        let list = missing.prefix(5).joined(separator: "; ") + (missing.count > 5 ? "; and more" : "")
        if allowsPartial {
            logger.warning("the rebuilt store will lack something", metadata: ["missing": "\(list)"])
            return
        }
        throw RebuildError(
            code: .partial,
            message: "The topics do not hold everything that the store at \(places.old) was made of: \(list)",
            remedy: "With --allow-partial the rebuilt store goes without")
    }
}

/// Finds the records that a rebuilt store would lack.
enum RebuildCoverage {
    /// Lists the sources that the old store has read and that cannot be read again, a line each.
    ///
    /// - Parameters:
    ///   - old: how far the old store's sources were read.
    ///   - marks: the oldest offset and the end of every partition that is read again.
    ///   - read: the partitions that the rebuild has begun to read.
    static func missing(
        old: [SourcePosition], marks: [TopicPartition: Watermarks], read: Set<TopicPartition>
    ) -> [String] {
        var result = marks.filter { $0.value.low > 0 && !read.contains($0.key) }.sorted { $0.key < $1.key }.map {
            "\($0.key) begins at offset \($0.value.low), retention has taken what was before"
        }
        for position in old where !position.topic.hasPrefix(TopicReplayRequest.markPrefix) && position.nextOffset > 0 {
            if let path = RecordPlace.file(ofTopic: position.topic) {
                result.append("the file \(path) was replayed into it")
                continue
            }
            let partition = TopicPartition(position.topic, position.partition)
            guard let marks = marks[partition] else {
                result.append("\(partition) is not read any more")
                continue
            }
            if position.nextOffset > marks.high {
                result.append(
                    "\(partition) ends at offset \(marks.high), and the store has read up to \(position.nextOffset): the topic "
                        + "was made again, or has lost its end")
            }
        }
        return result
    }
}
