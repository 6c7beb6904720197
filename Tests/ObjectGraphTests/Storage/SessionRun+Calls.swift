import ObjectGraph
import TestSupport

@testable import GraphCore
@testable import MemoryStorage

// What a call does with a session, once the model's content has said which rows it means.
extension SessionRun {
    private struct Deliberate: Error, CustomStringConvertible {
        let description = "deliberate"
    }

    /// Prepares a call for all storages alike; nil where it is not legal now.
    func prepare(_ call: SessionCall) -> Operation? {
        switch call {
        case .load(let seed): return loading(seed)
        case .ask(let seed):
            return { _, subject in try subject.store.read { try VisibleContent.answers($0, seed: seed) } }
        case .counters: return { _, subject in "\(try subject.session.counters())" }
        default: return isInTransaction ? writing(call) : nil
        }
    }

    private func writing(_ call: SessionCall) -> Operation? {
        let now = now
        switch call {
        case .rows(let rows): return self.rows(rows)
        case .part(let calls, let fails): return part(calls, fails: fails)
        case .history(let kinds): return history(kinds)
        case .ledger(let ledger):
            let written = self.ledger(ledger)
            return { _, subject in
                try subject.session.write(written)
                return ""
            }
        case .tombstones(let written, let removed, let version):
            return tombstones(written, removed, version)
        case .purgeTombstones(let age, let limit, let countsOnly): return purgeTombstones(age, limit, countsOnly)
        case .purge(let through, let transactions, let changes, let passes):
            var purge = HistoryPurge(
                before: through % 2 == 0 ? .token(Int64(through)) : .time(now - Int64(through) * 1_500))
            (purge.transactionLimit, purge.changeLimit) = (transactions, changes)
            if passes { purge.passesCursorsSavedBefore = now - 4_000 }
            return { _, subject in
                let result = try subject.session.removeHistory(purge)
                return
                    "\(result.transactionCount) \(result.changeRowCount) \(result.holdingCursors.sorted { $0.key < $1.key }) "
                    + "\(result.passedCursors.sorted { $0.key < $1.key }) \(result.isFinished)"
            }
        case .renew:
            return { _, subject in
                try subject.session.renewClaim(now: now)
                return ""
            }
        default: return recording(call)
        }
    }

    private func recording(_ call: SessionCall) -> Operation? {
        let now = now
        switch call {
        case .conflict(let number):
            let note = conflict(number)
            return { _, subject in
                try subject.session.append([note])
                return ""
            }
        case .cursor(let name, let token):
            return { _, subject in
                try subject.session.putCursor(name: "reader \(name)", token: Int64(token), time: now)
                return ""
            }
        case .removeCursor(let name):
            return { _, subject in "\(try subject.session.removeCursor(name: "reader \(name)"))" }
        case .sent(let number):
            return { _, subject in
                try subject.session.putSentDeadLetter(Int64(number), topic: "letters \(number % 2)")
                return ""
            }
        case .note(let number):
            return { _, subject in
                try subject.session.putNote("note \(number % 2)", "text \(number)")
                return ""
            }
        case .removeLetters(let ids):
            return { _, subject in
                try subject.session.removeDeadLetters(ids.map { Int64($0) })
                return ""
            }
        case .removeConflicts(let id):
            return { _, subject in "\(try subject.session.removeConflicts(through: Int64(id)))" }
        case .audit(let number):
            // A key stands for one request.
            auditCount += 1
            let entry = AuditEntry(
                time: now, actor: "actor \(number)", action: "verify", request: "{}",
                idempotencyKey: number == 0 ? nil : "key \(auditCount)")
            return { _, subject in "\(try subject.session.put(entry))" }
        case .purgeAudit(let age, let limit):
            return { _, subject in
                "\(try subject.session.removeAuditEntries(before: now - Int64(age) * 1_000, limit: limit))"
            }
        default: return nil
        }
    }

    // MARK: Parts

    private func part(_ calls: [SessionCall], fails: Bool) -> Operation {
        // The model prepares each call as it meets it; the others repeat what the model did.
        final class Prepared { var operations: [Operation]? }
        let prepared = Prepared()
        return { run, subject in
            var answers: [String] = []
            do {
                try subject.session.undoingOnFailure {
                    if let operations = prepared.operations {
                        for operation in operations { answers.append(try operation(run, subject)) }
                    } else {
                        prepared.operations = []
                        for call in calls {
                            guard let operation = run.prepare(call) else { continue }
                            prepared.operations?.append(operation)
                            answers.append(try operation(run, subject))
                        }
                    }
                    if fails {
                        // Over a network a later call fails.
                        _ = try subject.session.counters()
                        throw Deliberate()
                    }
                }
                return "[\(answers.joined(separator: "; "))]"
            } catch let error as StoreError {
                return "undone: \(error.code.rawValue)"
            } catch is Deliberate {
                return "undone"
            }
        }
    }

    // MARK: Rows

    /// The rows of the model's open transaction, by their hierarchy and key.
    private func present(_ entity: Entity) -> [Int64: StoredRow] {
        var rows: [Int64: StoredRow] = [:]
        try? memory.session.rows(of: entity.index, .primaryKeys(Array(1...60))) { rows[$0.pk] = $0 }
        return rows
    }

    private func rows(_ calls: [SessionCall.RowCall]) -> Operation? {
        guard let counters = try? memory.session.counters() else { return nil }
        var change = SessionRowChange(model, people: present(kinds.person), rooms: present(kinds.room), counters)
        for call in calls { change.add(call) }
        return { _, subject in
            let session = subject.session
            try session.write(change.changes(joinsUpdates: session.joinsUpdates))
            try session.write(nextKeys: change.nextKeys)
            return ""
        }
    }

    private func tombstones(_ written: [Int], _ removed: [Int], _ version: Int) -> Operation {
        var changes = TombstoneChanges()
        func place(_ number: Int) -> (Entity, Value) {
            number % 2 == 0 ? (kinds.person, .text("p\(number / 2)")) : (kinds.room, .integer(Int64(number / 2)))
        }
        changes.written = written.map { number in
            let (entity, identity) = place(number)
            let time = version == 3 ? nil : Int64(version)
            // One without an identity is refused.
            let isRefused = number == 13 && version == 4
            return (
                entity, isRefused ? .null : identity,
                Tombstone(version: version > 1 ? .integer(Int64(version)) : .null, time: time)
            )
        }
        changes.removed = removed.filter { !written.contains($0) }.map { place($0) }
        changes.time = now
        return { _, subject in
            try subject.session.write(changes)
            return ""
        }
    }

    private func purgeTombstones(_ age: Int, _ limit: Int, _ countsOnly: Bool) -> Operation {
        let (from, time) = (sweep, now - Int64(age) * 1_000)
        return { run, subject in
            let result = try subject.session.removeTombstones(
                savedBefore: time, from: from, limit: limit, countsOnly: countsOnly)
            run.sweep = result.next ?? TombstoneSweep()
            let next = result.next.map { "\($0.entity ?? "-") \($0.identity.shown)" } ?? "the end"
            return "\(result.examinedCount) \(result.removedCount) \(next)"
        }
    }

    // MARK: History and records

    private func history(_ changes: [Int]) -> Operation? {
        guard let first = try? memory.session.counters().nextChange else { return nil }
        let people = present(kinds.person).values.sorted { $0.pk < $1.pk }
        var entries = HistoryEntries(firstChange: first)
        for (index, kind) in changes.enumerated() {
            let person = people.isEmpty ? nil : people[index % people.count]
            entries.append(
                .row(
                    person?.entity ?? kinds.guest, key: person?.pk ?? 90,
                    identity: person?.values[kinds.person.identitySlot] ?? .text("gone")),
                [.insert, .update, .delete][kind], properties: kind == 1 ? "mail" : nil,
                preservedValues: kind == 2 ? "{}" : nil)
        }
        let header = HistoryHeader(
            time: now, author: "author \(changes.count % 2)", context: changes.count > 2 ? "context" : nil,
            source: "t/0@\(changes.count)", trace: changes.count == 1 ? "trace" : nil, firstChange: first)
        return { _, subject in
            let token = try subject.session.openHistory(header)
            if entries.count > 0 { try subject.session.append(entries, token: token) }
            try subject.session.closeHistory(token: token, changeCount: Int64(entries.count))
            return "token \(token)"
        }
    }

    private func ledger(_ call: SessionCall.LedgerCall) -> ChunkLedger {
        var ledger = ChunkLedger()
        ledger.letters = call.letters.map { offset, value, timestamp in
            var letter = DeadLetter(
                time: now, topic: "t", partition: Int32(offset % 2), offset: Int64(offset), stage: "decode",
                code: "code \(timestamp)", reason: "reason \(now)", key: value == 0 ? nil : [1], value: [UInt8(value)],
                valueBytes: 1 + value)
            letter.timestampMilliseconds = timestamp == 0 ? nil : Int64(timestamp)
            return letter
        }
        ledger.failedAttempts = call.failed.map {
            FailedAttempt(id: Int64($0), stage: "apply", code: "again", reason: "reason \(now)")
        }
        ledger.removedLetters = call.removed.map { Int64($0) }
        ledger.positions = call.positions.map { partition, next, after in
            var position = SourcePosition(
                topic: "t", partition: Int32(partition), nextOffset: Int64(next), detail: next == 0 ? nil : "d\(next)")
            position.predecessor = after < 2 ? .anything : after == 2 ? .nothing : .offset(Int64(after - 3))
            return position
        }
        return ledger
    }

    private func conflict(_ number: Int) -> ConflictNote {
        var note = ConflictNote(
            kind: "changed", entity: "Person", identity: .text("p\(number)"), property: number == 0 ? nil : "mail",
            local: number == 1 ? nil : "1", stored: number == 2 ? nil : "2", policy: "store", decision: "store")
        (note.token, note.time, note.source) = (Int64(number), now, number == 3 ? nil : "t/0@1")
        return note
    }

    // MARK: Loads

    private func loading(_ seed: UInt64) -> Operation {
        var random = SeededRandom(seed: seed)
        func some(_ limit: Int) -> [Int64] {
            (1...8).filter { _ in random.number(below: limit) == 0 }.map { Int64($0) }
        }
        let (person, room) = (kinds.person, kinds.room)
        let arena = ValueArena()
        var plan: [ReadRequest] = [
            .rows(entity: kinds[random.number(below: 3)].index, .primaryKeys(some(2))),
            .rows(entity: person.index, .identities((0..<7).map { arena.pack(.text("p\($0)")) })),
            .rows(entity: room.index, .identities(some(2).map { .integer($0) })),
            .tombstones([
                (root: person.rootIndex, identities: (0..<7).map { arena.pack(.text("p\($0)")) }),
                (root: room.rootIndex, identities: some(1).map { .integer($0) }),
            ]),
            .links(table: 0, of: some(2), isOwnerSide: random.number(below: 2) == 0),
            .existingLinks(table: 0, some(2).map { Pair(owner: $0, destination: 1 + $0 % 4) }),
        ]
        if let mail = person.attribute(named: "mail") {
            plan.append(.rows(entity: person.index, .values(["m1", "m2"].map { arena.pack($0) }, slot: mail.slot)))
        }
        if let friends = person.relationships.first(where: { $0.name == "friends" }) {
            plan.append(.greatestPlaces(friends, owners: some(2)))
        }
        return { _, subject in
            var lines: [String] = []
            try subject.session.load(plan, in: arena) { place, answer in
                lines.append("\(place) \(VisibleContent.text(answer))")
            }
            return lines.sorted().joined(separator: ", ")
        }
    }
}
