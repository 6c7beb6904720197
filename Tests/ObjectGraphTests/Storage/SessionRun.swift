import CPostgres
import Foundation
import GRDBSQLite
import ObjectGraph
import TestSupport

@testable import GraphCore
@testable import MemoryStorage
@testable import PostgresStorage
@testable import SQLiteStorage

/// Carries calls of sessions out on several storages, and compares every answer and the content after each transaction.
/// The storage in memory is the model: what it holds decides which rows a call means.
final class SessionRun {
    /// One storage with the session of its writer.
    final class Subject {
        let name: String
        var store: Store
        var session: any WriterSession
        private let open: () throws -> Store

        init(_ name: String, _ open: @escaping () throws -> Store) throws {
            (self.name, self.open) = (name, open)
            store = try open()
            session = try store.storage.makeWriterSession()
        }

        func reopen() throws {
            session.close()
            (store.storage as? MemoryStorage)?.rollback()
            try store.storage.close()
            store = try open()
            session = try store.storage.makeWriterSession()
        }

        func access<Result>(_ body: () throws -> Result) throws -> Result {
            guard let sqlite = store.storage as? SQLiteStorage else { return try body() }
            return try sqlite.onWriter { _ in try body() }
        }
    }

    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    static let claimSeconds = 10.0
    let model: ObjectModel
    let subjects: [Subject]
    /// The present time, in microseconds since 1970 UTC.
    private(set) var now: Int64 = 1_000_000_000
    private(set) var story: [String] = []
    var sweep = TombstoneSweep()
    var auditCount = 0
    private let path: String
    private let administrator: PostgresConnection
    private var isReading = false

    init(_ model: ObjectModel) throws {
        self.model = model
        let place = MemoryPlace(model: model)
        let path =
            "\(FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : "/tmp")/"
            + "sessions-\(UUID().uuidString).sqlite"
        self.path = path
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        administrator = try PostgresConnection(
            ConnectionAddress(server.url, schema: "public"), .reader, lockTimeoutMilliseconds: 1000)
        subjects = [
            try Subject("memory") { Store(MemoryStorage(place), model: model) },
            try Subject("SQLite") { try Store.open(path: path, model: model) },
            try Subject("PostgreSQL") { try Store.postgres(url: server.url, schema: schema, model: model) },
        ]
    }

    deinit {
        for subject in subjects {
            try? subject.access { try subject.session.rollback() }
            subject.session.close()
            try? subject.store.close()
        }
        DurableFile.removeDatabase(path)
    }

    var memory: Subject { subjects[0] }
    var kinds: SessionKinds { SessionKinds(model) }
    var isInTransaction: Bool { memory.session.isInTransaction }

    // MARK: The run

    /// Returns the first difference, or nil.
    func problem(_ calls: [SessionCall]) -> String? {
        do {
            try claimAll()
            try carryOut(calls)
            if isInTransaction { try carryOut([.commit]) }
            return nil
        } catch {
            return "\(error)\n" + story.suffix(30).map { "  " + $0 }.joined(separator: "\n")
        }
    }

    private func carryOut(_ calls: [SessionCall]) throws {
        for call in calls {
            now += 1_000
            switch call {
            case .snapshot(let calls): try read(subjects[...], calls)
            case .fault(let call): try fail(call)
            case .reopen(let released): try reopen(released: released)
            case .usurp(let early): try usurp(early: early)
            case .begin, .commit, .rollback: try bound(call)
            default: try write(call)
            }
        }
    }

    /// Carries out a call, compares the answers, and undoes the transaction where it fails.
    private func write(_ call: SessionCall) throws {
        guard let operation = prepare(call) else { return }
        let answers = subjects.map { subject in answer(subject, operation) }
        story.append("\(call) → \(answers[0])")
        try compare(answers, after: "\(call)")
        if case .failed = answers[0], isInTransaction { try undo() }
    }

    private func bound(_ call: SessionCall) throws {
        switch call {
        case .begin where !isInTransaction:
            try compare(subjects.map { answer($0, Self.begin) }, after: "begin")
            story.append("begin")
        case .commit where isInTransaction:
            try compare(subjects.map { answer($0, Self.commit) }, after: "commit")
            story.append("commit")
            try compareContent("commit")
        case .rollback where isInTransaction: try undo()
        default: break
        }
    }

    private func undo() throws {
        for subject in subjects { try subject.access { try subject.session.rollback() } }
        story.append("rollback")
        try compareContent("rollback")
    }

    // MARK: Answers

    enum Answer: Equatable, CustomStringConvertible {
        case text(String)
        case failed(String)

        var description: String {
            switch self {
            case .text(let text): text.isEmpty ? "done" : text
            case .failed(let code): "fails with \(code)"
            }
        }
    }

    typealias Operation = (SessionRun, Subject) throws -> String

    func answer(_ subject: Subject, _ operation: (SessionRun, Subject) throws -> String) -> Answer {
        do {
            return .text(try subject.access { try operation(self, subject) })
        } catch let error as StoreError {
            return .failed(error.code.rawValue)
        } catch {
            return .failed("\(error)")
        }
    }

    static func begin(_ run: SessionRun, _ subject: Subject) throws -> String {
        try subject.session.begin()
        return ""
    }

    static func commit(_ run: SessionRun, _ subject: Subject) throws -> String {
        try subject.session.commit()
        return ""
    }

    /// Asks a question that every open transaction answers.
    static func counters(_ run: SessionRun, _ subject: Subject) throws -> String {
        "\(try subject.session.counters())"
    }

    private func compare(_ answers: [Answer], after call: String) throws {
        for (subject, found) in zip(subjects, answers).dropFirst() {
            var answer = found
            // Over a network a later call fails.
            if case .failed = answers[0], case .text = found, subject.name == "PostgreSQL", isInTransaction {
                answer = self.answer(subject, Self.counters)
            }
            if answer != answers[0] {
                throw Problem(description: "\(call):\n- memory \(answers[0])\n+ \(subject.name) \(answer)")
            }
        }
    }

    private func compareContent(_ moment: String) throws {
        let contents = try subjects.map { subject in try subject.store.read { try VisibleContent.lines($0) } }
        for (subject, found) in zip(subjects, contents).dropFirst() {
            if let difference = StoreDump.difference(contents[0], found) {
                throw Problem(description: "memory and \(subject.name) after the \(moment):\n\(difference)")
            }
        }
    }

    // MARK: Snapshots

    /// Carries calls out while a reader of each storage has a snapshot, which may not change.
    private func read(_ rest: ArraySlice<Subject>, _ calls: [SessionCall]) throws {
        if isReading { return try carryOut(calls) }
        guard let subject = rest.first else {
            isReading = true
            defer { isReading = false }
            return try carryOut(calls)
        }
        try subject.store.read { context in
            let before = try VisibleContent.lines(context)
            try read(rest.dropFirst(), calls)
            if let difference = StoreDump.difference(before, try VisibleContent.lines(context)) {
                throw Problem(description: "a snapshot of \(subject.name) has changed:\n\(difference)")
            }
        }
    }

    // MARK: Claims

    private func claimAll() throws {
        let answers = subjects.map { subject in
            answer(subject) { run, subject in try run.claim(subject.session, now: run.now) }
        }
        try compare(answers, after: "claim")
    }

    private func claim(_ session: any WriterSession, now: Int64) throws -> String {
        "\(try session.claim(ttlSeconds: Self.claimSeconds, now: now))"
    }

    private func usurp(early: Bool) throws {
        if isInTransaction { return }
        if !early { now += Int64(Self.claimSeconds * 2_000_000) }
        var others: [any WriterSession] = []
        var answers: [Answer] = []
        for subject in subjects {
            let other = try subject.store.storage.makeWriterSession()
            others.append(other)
            // The session knows its claim's end by the time of its last renewal.
            answers.append(answer(subject) { run, _ in try run.claim(other, now: run.now - (early ? 1_000_000 : 0)) })
        }
        story.append("another session claims \(early ? "early" : "late") → \(answers[0])")
        try compare(answers, after: "another claim")
        guard case .text = answers[0] else {
            for (subject, other) in zip(subjects, others) { try subject.access { other.close() } }
            return
        }
        let fenced = subjects.map { subject in
            answer(subject) { run, subject in
                defer { try? subject.session.rollback() }
                _ = try Self.begin(run, subject)
                return try Self.counters(run, subject)
            }
        }
        try compare(fenced, after: "a fenced session begins")
        for (subject, other) in zip(subjects, others) {
            try subject.access { subject.session.close() }
            subject.session = other
        }
    }

    private func reopen(released: Bool) throws {
        if isInTransaction { try undo() }
        if isReading { return }
        if released {
            for subject in subjects {
                try subject.access {
                    try subject.session.begin()
                    try subject.session.releaseClaim()
                    try subject.session.commit()
                }
            }
        } else {
            now += Int64(Self.claimSeconds * 2_000_000)
        }
        for subject in subjects { try subject.access { subject.session.close() } }
        for subject in subjects { try subject.reopen() }
        story.append("reopen\(released ? "" : " after a crash")")
        try claimAll()
        try compareContent("reopening")
    }

    // MARK: Faults

    /// Lets the storages fail in a call. Which of its statements fails is theirs; all of the transaction is undone.
    private func fail(_ call: SessionCall) throws {
        let isBegin = if case .begin = call { true } else { false }
        let isCommit = if case .commit = call { true } else { false }
        if isInTransaction == isBegin { return }
        let operation = isBegin ? Self.begin : isCommit ? Self.commit : prepare(call) ?? Self.counters
        for subject in subjects.dropFirst() {
            let answer = try withFault(subject, isCommit: isCommit) {
                self.answer(subject) { run, subject in
                    let text = try operation(run, subject)
                    return isCommit ? text : try Self.counters(run, subject)
                }
            }
            if isCommit, case .text = answer {
                throw Problem(description: "\(subject.name) commits in spite of the fault")
            }
            try subject.access { try subject.session.rollback() }
        }
        try memory.session.rollback()
        story.append("a failure in \(call)")
        try compareContent("failure in \(call)")
        // The next transaction connects again. Until then another session may take the store.
        try carryOut([.begin, .counters, .rollback])
    }

    private func withFault(_ subject: Subject, isCommit: Bool, _ body: () -> Answer) throws -> Answer {
        switch subject.session {
        case let session as PostgresWriterSession:
            var end = PostgresStatement("SELECT pg_terminate_backend($1::int8::int4, 5000)")
            end.bind(Int64(PQbackendPID(session.connection.pointer)))
            try administrator.run(end)
            return body()
        case let session as SQLiteWriterSession:
            let connection = session.connection
            if isCommit { sqlite3_commit_hook(connection, { _ in 1 }, nil) }
            if !isCommit { sqlite3_progress_handler(connection, 1, { _ in 1 }, nil) }
            defer {
                sqlite3_commit_hook(connection, nil, nil)
                sqlite3_progress_handler(connection, 0, nil, nil)
            }
            return body()
        default: return body()
        }
    }
}

/// The entities of the model of ``SessionSequenceTests``.
struct SessionKinds {
    let person, guest, member, room: Entity

    init(_ model: ObjectModel) {
        func named(_ name: String) -> Entity { model.entities.first { $0.name == name } ?? model.entities[0] }
        (person, guest, member, room) = (named("Person"), named("Guest"), named("Member"), named("Room"))
    }

    /// A kind of person.
    subscript(_ number: Int) -> Entity { [person, guest, member][number] }
}
