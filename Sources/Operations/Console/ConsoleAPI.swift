import GraphCore
import Hummingbird
import IngestCore

/// The JSON that the console asks for, read from the store and from the samples.
///
/// All paths begin with `/console/api/` and ask for the token where there is one. A few reads run at the same time, so a
/// slow search does not keep another reader of the console waiting. Each ends at its time limit, or with its connection.
final class ConsoleAPI: Sendable {
    private let store: Store
    private let sampler: ConsoleSampler
    private let hosts: HTTPHosts?
    private let administration: Administration
    private let reads: RequestReads

    /// A question that was understood: it reads its answer from a snapshot.
    private typealias Reading = @Sendable (ReadContext) throws -> String

    /// The reads at the same time.
    static let maximumReads = 3
    /// The objects and dead letters of an answer at most.
    static let pageLength = 50
    /// The bytes of a dead letter's record that an answer has at most.
    static let maximumValueBytes = 64 << 10
    /// The changes of one object that its timeline shows at most.
    static let timelineLength = 200

    /// The administrative requests that the worker takes over HTTP.
    struct Administration: Sendable {
        /// Whether it takes any.
        var isOn = false
        /// Whether it has a folder for backups.
        var hasBackups = false
    }

    /// - Parameters:
    ///   - hosts: the names by which readers may ask for the console; nil for the server's names.
    ///   - administration: the requests that the page offers.
    ///   - limitSeconds: how long a read of the store may take.
    init(
        store: Store, sampler: ConsoleSampler, hosts: HTTPHosts? = nil,
        administration: Administration = Administration(), limitSeconds: Double = RequestReads.limitSeconds
    ) {
        self.store = store
        reads = RequestReads(store, maximumCount: Self.maximumReads, limitSeconds: limitSeconds)
        self.sampler = sampler
        self.hosts = hosts
        self.administration = administration
    }

    var routes: [HTTPRoute] {
        [
            route("samples") { [sampler] in
                .json(sampler.json(after: try $0.time("after")))
            },
            route("model") { [store] _ in .json(ModelDescription(store.model).json) },
            route("model.svg") { [store] _ in
                .text(ModelDiagram(store.model).svg, type: "image/svg+xml; charset=utf-8")
            },
            route("administration") { [administration] _ in
                .json(JSONObject(["isOn": administration.isOn, "hasBackups": administration.hasBackups]).json)
            },
            read("audit", audit), read("objects", objects), read("object", object), read("dead-letters", deadLetters),
        ]
    }

    /// Makes a route whose answer is read from the store.
    private func read(_ name: String, _ answer: @escaping @Sendable (ConsoleQuestion) throws -> Reading) -> HTTPRoute {
        route(name, lasting: .read) { [reads] question in .json(try await reads.read(try answer(question))) }
    }

    /// Makes a route for the server's own names; a refused question is answered with its code.
    private func route(
        _ name: String, lasting: HTTPRoute.Lasting? = nil,
        _ answer: @escaping @Sendable (ConsoleQuestion) async throws -> Response
    ) -> HTTPRoute {
        var route = HTTPRoute("/console/api/\(name)", lasting: lasting) { request in
            do {
                return try await answer(try ConsoleQuestion(request))
            } catch let error as any CodedError {
                let isOfStore = (error as? StoreError).map { $0.code != .tooComplex } ?? false
                throw HTTPRefusal(
                    status: isOfStore ? .serviceUnavailable : .badRequest, code: error.stableCode,
                    detail: error.explanation)
            }
        }
        route.hosts = hosts
        return route
    }

    // MARK: Objects

    /// A page of objects that a condition selects, with the place of the next page.
    private func objects(_ question: ConsoleQuestion) throws -> Reading {
        let request = try question.request(model: store.model)
        return { context in
            let page = try context.page(request)
            return JSONObject(["objects": page.objects.map(Self.fragment), "next": page.next?.description]).json
        }
    }

    private static func fragment(_ object: FetchedObject) -> JSONFragment {
        var text = ""
        object.appendJSON(to: &text)
        return JSONFragment(text)
    }

    /// One object with its timeline, the newest change first.
    private func object(_ question: ConsoleQuestion) throws -> Reading {
        let entity = try question.entity(store.model)
        let identity = try question.text("id")
        guard let key = entity.identity.type.value(fromText: identity) else {
            throw ConsoleQuestion.refusal("'id' is no \(entity.identity.type.rawValue)")
        }
        var request = FetchRequest(entity.name, where: "\(entity.identity.name) == %@", key)
        request.limit = 1
        var history = HistoryRequest()
        history.entity = entity.name
        history.identity = key
        let checked = try request.checked(with: store.model)
        return { [history] context in
            let found = try context.page(checked).objects
            let (changes, isCut) = try Self.lastChanges(history, context)
            return JSONObject([
                "object": found.first.map(Self.fragment), "isCut": isCut, "timeline": changes.map(\.line),
            ]).json
        }
    }

    /// A change with its transaction.
    private struct TimedChange {
        let transaction: HistoryTransaction
        let change: HistoryChange

        var line: JSONObject {
            JSONObject([
                "token": transaction.token, "time": Timestamp.text(transaction.time), "author": transaction.author,
                "source": transaction.source, "change": change.kind.name, "properties": change.properties,
            ])
        }
    }

    /// Reads the last changes that a request asks for, the newest first, and whether there are older ones.
    private static func lastChanges(
        _ request: HistoryRequest, _ context: ReadContext
    ) throws -> (changes: [TimedChange], isCut: Bool) {
        var (changes, isCut): ([TimedChange], Bool) = ([], false)
        // The history is read from its beginning only.
        var next: HistoryRequest? = request
        while let request = next {
            let page = try context.history(request)
            changes += page.transactions.flatMap { transaction in
                transaction.changes.map { TimedChange(transaction: transaction, change: $0) }
            }
            isCut = isCut || changes.count > timelineLength
            changes = Array(changes.suffix(timelineLength))
            next = page.next
        }
        return (changes.reversed(), isCut)
    }

    // MARK: Audit

    /// A page of administrative requests, the last first.
    private func audit(_ question: ConsoleQuestion) throws -> Reading {
        let before = try question.number("before") ?? .max
        return { context in
            let entries = try context.auditEntries(before: before, limit: Self.pageLength)
            let next = entries.count == Self.pageLength ? entries.last?.id : nil
            return JSONObject(["entries": entries.map(\.line), "next": next]).json
        }
    }

    // MARK: Dead letters

    /// Returns the groups of all dead letters by code and topic, and a page of the letters that a condition selects.
    private func deadLetters(_ question: ConsoleQuestion) throws -> Reading {
        var selection = DeadLetterSelection()
        selection.code = question["code"]
        selection.topic = question["topic"]
        selection.reason = question["reason"]
        let after = try question.number("after") ?? 0
        return { [selection] context in
            let letters = try context.deadLetterPreviews(
                selection, after: after, limit: Self.pageLength, valueLimit: Self.maximumValueBytes)
            let next = letters.count == Self.pageLength ? letters.last?.id : nil
            return JSONObject([
                "total": try context.deadLetterCount(selection),
                "groups": try context.deadLetterGroups(byEntity: false),
                "letters": letters.map(Self.line), "next": next,
            ]).json
        }
    }

    /// A letter as the page shows it: without key and headers, and with the beginning of a long record.
    private static func line(_ letter: DeadLetter) -> JSONObject {
        DeadLetterLine.description(letter)
            + JSONObject([
                "value": letter.value.map { Base64Text.text($0) },
                "isCut": letter.value.map { $0.count < letter.valueBytes } ?? false,
            ])
    }
}

extension Response {
    fileprivate static func json(_ text: String) -> Response { bytes(Array(text.utf8), type: "application/json") }
}
