import GraphCore
import RecordDecoding
import RecordFiles

/// Reads a file as its mapping or a topic would have it, and tells what each record would do; writes nothing.
package final class RecordSample {
    /// The effect that a record would have.
    package enum Outcome: Sendable {
        /// The operations, the event's own object last.
        case event(ChangeSet)
        /// Nothing, for this reason; a route that says so has a number, from 1.
        case skipped(EventDecoder.SkipReason, route: Int?)
        /// It would become a dead letter.
        case failed(DecodeError)
    }

    /// The counts of the records by outcome.
    package struct Counts: Sendable, Equatable {
        /// The number of records that are events.
        package var events = 0
        /// The number that are passed over.
        package var filtered = 0
        /// The number that would become dead letters.
        package var deadLetters = 0
    }

    /// The routes that the records of the last file met.
    private var met = SampleRoutes()
    /// The rules of single values, and the required values that the last file's records left out.
    private var rules: SampleRules

    /// The reports of the routes about the records that were read last.
    package var routes: [RouteUsage.Report] { met.reports }

    /// The required attributes that records of the last file left out, with the number of those records.
    package var gaps: [SampleRules.Gap] { rules.gaps }

    private let configuration: WorkerConfiguration
    private let model: ObjectModel

    private let decoders: RecordDecoders
    private let lineParser: JSONParser

    /// Makes a reader of samples.
    package init(configuration: WorkerConfiguration, model: ObjectModel) {
        self.configuration = configuration
        self.model = model
        decoders = RecordDecoders(configuration: configuration, model: model)
        rules = SampleRules(model)
        lineParser = JSONParser(maximumBytes: 1 << 30)
    }

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - path: the file's path; `-` is standard input.
    ///   - topic: the topic whose format and routes are used; nil uses the file's own mapping.
    ///   - body: called for each record with its number and line.
    /// - Throws: ``RecordFileError``, ``RouteError``.
    package func read(path: String, topic: String?, _ body: (RecordPlace, Outcome) -> Void) throws -> Counts {
        let decoding = try FileDecoding(path: path, topic: topic, configuration, model)
        let decoder = decoding.decoder
        (met, rules) = (SampleRoutes(), SampleRules(model))
        if let topic { decoders.keep(decoder, of: topic) }
        if decoding.rows != nil { met.watch(decoder) }
        var counts = Counts()
        while try decoding.reader.next({ file in
            let record = decoding.source(of: file)
            let outcome = try outcome(of: record, file, decoding)
            switch outcome {
            case .event: counts.events += 1
            case .skipped: counts.filtered += 1
            case .failed: counts.deadLetters += 1
            }
            body(record.place, outcome)
        }) {}
        if met.isEmpty { met.watch(decoder) }
        return counts
    }

    private func outcome(
        of record: SourceRecord, _ file: FileRecord, _ decoding: FileDecoding
    ) throws -> Outcome {
        do {
            guard record.fault == nil, decoding.holdsRecord(file) else {
                return try outcome(decoding.decoder) { () throws(DecodeError) in try decoding.decode(file, record) }
            }
            let line = try RecordLine(file.value, parser: lineParser)
            try decoders.checkRoutes(of: line.topic)
            let own = try decoders.decoder(of: line.topic)
            return try line.withRecord { record throws(DecodeError) in
                try outcome(own) { () throws(DecodeError) in try own.decode(record) }
            }
        } catch let error as DecodeError {
            return .failed(error)
        }
    }

    private func outcome(
        _ decoder: EventDecoder, _ decode: () throws(DecodeError) -> ChangeSet
    ) throws(DecodeError) -> Outcome {
        met.watch(decoder)
        let event = try decode()
        if event.operations.isEmpty {
            return .skipped(decoder.skipReason ?? .filter, route: met.number(of: decoder))
        }
        _ = try IdentityLimit.check(event, model: model)
        try rules.check(event)
        return .event(event)
    }

    // MARK: Forms

    /// Returns an outcome as lines of text.
    package func text(_ place: RecordPlace, _ outcome: Outcome) -> String {
        let head = "line \(place.line ?? Int(place.offset))"
        switch outcome {
        case .event(let event): return event.operations.map { "\(head)  \(text($0))" }.joined(separator: "\n")
        case .skipped(.drop, route: let route?): return "\(head)  dropped by route \(route)"
        case .skipped(.filter, route: let route?): return "\(head)  filtered by route \(route)"
        case .skipped(let reason, route: _): return "\(head)  filtered  \(reason.rawValue)"
        case .failed(let error): return "\(head)  dead letter  \(error.code)  \(error.description)"
        }
    }

    private func text(_ operation: ObjectOperation) -> String {
        let entity = model.entities[operation.entity]
        if operation.kind == .truncate { return "truncate  \(entity.name)" }
        var parts = ["\(operation.kind.name)  \(entity.name) \(entity.identity.type.text(of: operation.identity))"]
        parts += properties(operation).map { "\($0.name)=\($0.value.json)" }
        return parts.joined(separator: "  ")
    }

    /// Returns an outcome as a JSON object on one line.
    ///
    /// - Parameter hasReason: whether it has a dead letter's reason, whose wording may change between versions, and the
    ///   number of a route that skips a record.
    package func json(_ place: RecordPlace, _ outcome: Outcome, hasReason: Bool = true) -> String {
        var object = JSONObject(["record": place.offset, "line": place.line])
        switch outcome {
        case .event(let event):
            object.add("outcome", "event")
            object.add("operations", event.operations.map(self.object))
        case .skipped(let reason, route: let route):
            object.add("outcome", "filtered")
            object.add("reason", reason.rawValue)
            object.add("route", hasReason ? route : nil)
        case .failed(let error):
            object.add("outcome", "deadLetter")
            object.add("code", error.code)
            object.add("reason", hasReason ? error.description : nil)
        }
        return object.json
    }

    private func object(_ operation: ObjectOperation) -> JSONObject {
        let entity = model.entities[operation.entity]
        var object = JSONObject([
            "verb": operation.kind.name, "entity": entity.name,
            "identity": entity.identity.type.json(operation.identity),
        ])
        if let slot = entity.versionSlot, !operation.version.isNull {
            object.add("version", entity.attributes[slot].type.json(operation.version))
        }
        object.add("time", operation.time.map { Timestamp.text($0) })
        var members = JSONObject()
        for property in properties(operation) { members.add(property.name, property.value) }
        object.add("properties", members)
        return object
    }

    /// The properties that an operation names, each once, the last value counting.
    private func properties(_ operation: ObjectOperation) -> [(name: String, value: JSONFragment)] {
        let entity = model.entities[operation.entity]
        var list: [(name: String, value: JSONFragment)] = []
        func set(_ name: String, _ value: JSONFragment) {
            list.removeAll { $0.name == name }
            list.append((name, value))
        }
        for item in operation.attributes {
            let attribute = entity.attributes[item.slot]
            set(attribute.name, attribute.type.json(item.value))
        }
        for item in operation.relationships {
            let relationship = entity.relationships[item.relationship]
            let identity = model.entities[relationship.destinationIndex].identity.type.json
            switch item.change {
            case .one(let value): set(relationship.name, identity(value))
            case .replace(let values): set(relationship.name, JSONFragment(values.map(identity).json))
            case .edit(let add, let remove):
                let edit = JSONObject(["add": add.map(identity), "remove": remove.map(identity)])
                set(relationship.name, JSONFragment(edit.json))
            }
        }
        return list
    }
}
