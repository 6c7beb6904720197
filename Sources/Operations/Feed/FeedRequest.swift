import Foundation
import GraphCore
import Hummingbird
import IngestCore

/// A reader's request to the feed.
struct FeedRequest: Sendable, Equatable {
    /// Where a reader begins.
    enum Start: Sendable, Equatable {
        /// With the oldest change that the history still holds.
        case oldest
        /// With the next change.
        case latest
        /// After a token of this store.
        case number(Int64)
        /// After a token that names its store.
        case token(HistoryToken)
    }

    var start = Start.oldest
    /// Where a reader of several stores begins in each of them.
    var positions: StorePositions?
    /// The transactions of an answer at most; a stream has no end.
    var limit = 100
    /// How long an answer may wait for a change, in seconds.
    var waitSeconds = 25.0
    /// The entities whose changes are wanted; empty for all.
    var entities: Set<String> = []
    /// The scope of one event, or nil for the notifications' scope.
    var granularity: NotificationConfiguration.Granularity?
    /// Whether the reader wants a stream of server-sent events.
    var isStream = false
    /// The path that was asked, below which the next page is found.
    var path = ChangeFeed.path

    static let limits = 1...1000
    static let waits = 0.0...60.0
    static let parameters = ["after", "limit", "wait", "entity", "granularity"]

    init() {}

    /// Reads a request.
    ///
    /// - Throws: ``FeedRefusal`` where it says something that cannot be understood.
    init(_ request: Request, model: ObjectModel) throws(FeedRefusal) {
        for (name, value) in request.uri.queryParameters {
            switch name {
            case "after": try begin(after: value)
            case "limit": limit = try Self.limit(value)
            case "wait": waitSeconds = try Self.wait(value)
            case "entity": entities.formUnion(try Self.entities(value, model))
            case "granularity": granularity = try Self.granularity(value)
            default:
                throw .badParameter("The feed takes the parameters \(Self.parameters.joined(separator: ", ")) only.")
            }
        }
        path = request.uri.path
        isStream = request.headers[.accept]?.contains("text/event-stream") ?? false
        // A reader that comes again knows better than its address does.
        if isStream, let last = request.headers[Self.lastEventID], !last.isEmpty { try begin(after: last[...]) }
    }

    // swift-format-ignore: NeverForceUnwrap
    private static let lastEventID = HTTPFields.Element.Name("Last-Event-ID")!

    private mutating func begin(after text: Substring) throws(FeedRefusal) {
        positions = StorePositions(text)
        if positions == nil { start = try Self.start(text) }
    }

    /// Returns where a reader begins in the store of a partition, or in the only store.
    func start(of partition: Int32?) throws(FeedRefusal) -> Start {
        guard let partition else {
            if positions == nil { return start }
            throw .badParameter("'after' takes one token: this feed has one store.")
        }
        if let positions {
            return try positions[partition].map { text throws(FeedRefusal) in try Self.start(text[...]) } ?? .oldest
        }
        if start == .oldest || start == .latest { return start }
        throw .badParameter("'after' takes a token of each store, as in 0=TOKEN,1=TOKEN: each has its own history.")
    }

    private static func start(_ text: Substring) throws(FeedRefusal) -> Start {
        if text == "latest" { return .latest }
        if let number = Int64(text), number >= 0 { return .number(number) }
        do {
            return .token(try HistoryToken(String(text)))
        } catch {
            throw FeedRefusal(error)
        }
    }

    private static func limit(_ text: Substring) throws(FeedRefusal) -> Int {
        guard let number = Int(text), limits.contains(number) else {
            throw .badParameter(
                "'limit' is a whole number of transactions from \(limits.lowerBound) to \(limits.upperBound).")
        }
        return number
    }

    private static func wait(_ text: Substring) throws(FeedRefusal) -> Double {
        guard let number = Double(text), waits.contains(number) else {
            throw .badParameter(
                "'wait' is a number of seconds from \(Int(waits.lowerBound)) to \(Int(waits.upperBound)).")
        }
        return number
    }

    /// Returns the named entities with those below them.
    private static func entities(_ text: Substring, _ model: ObjectModel) throws(FeedRefusal) -> [String] {
        var names: [String] = []
        for name in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let entity = model.entity(matching: String(name)) else {
                let known = model.entities.map(\.name).sorted().joined(separator: ", ")
                throw .badParameter("'entity' names what the model does not have. It has: \(known).")
            }
            names += model.kindNames(entity)
        }
        return names
    }

    private static func granularity(_ text: Substring) throws(FeedRefusal) -> NotificationConfiguration.Granularity {
        guard let granularity = NotificationConfiguration.Granularity(rawValue: String(text)) else {
            throw .badParameter("'granularity' is transaction or object.")
        }
        return granularity
    }
}
