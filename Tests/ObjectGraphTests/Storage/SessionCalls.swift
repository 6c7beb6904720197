import ObjectGraph
import TestSupport

@testable import GraphCore

/// A call of a writer's session with small numbers, which a run reads against what the store holds then.
///
/// A call that is not legal at its place does nothing, so any list of calls is a run.
indirect enum SessionCall {
    case begin, commit, rollback
    case rows([RowCall])
    case tombstones(written: [Int], removed: [Int], version: Int)
    case history(kinds: [Int])
    case ledger(LedgerCall)
    case conflict(Int)
    case cursor(Int, token: Int), removeCursor(Int)
    case sent(Int), note(Int)
    case removeLetters([Int]), removeConflicts(Int)
    case purge(through: Int, transactions: Int, changes: Int, passes: Bool)
    case purgeTombstones(age: Int, limit: Int, countsOnly: Bool)
    case audit(Int), purgeAudit(age: Int, limit: Int)
    case counters
    case load(UInt64)
    case ask(UInt64)
    case renew
    /// The calls are undone together where one fails, or where they are to fail.
    case part([SessionCall], fails: Bool)
    /// A reader has a snapshot while the calls are made.
    case snapshot([SessionCall])
    /// The storage fails in a call, and the caller undoes the transaction.
    case fault(SessionCall)
    case reopen(released: Bool)
    /// Another session wants the store, while the claim holds or after it.
    case usurp(early: Bool)

    enum RowCall {
        case insert(kind: Int, name: Int, key: Int, mail: Int)
        case update(key: Int, slot: Int, value: Int)
        case swap(Int, Int)
        case delete(person: Bool, key: Int)
        case become(Int, guest: Bool)
        case link(Int, Int, place: Int), unlink(Int, Int)
    }

    struct LedgerCall {
        /// The offset and the value of each.
        var letters: [(offset: Int, value: Int, timestamp: Int)] = []
        var failed: [Int] = []
        var removed: [Int] = []
        var positions: [(partition: Int, next: Int, after: Int)] = []
    }

    /// The call with fewer or simpler calls in it.
    var simpler: [SessionCall] {
        func fewer<Element>(_ list: [Element]) -> [[Element]] {
            list.indices.map { index in
                var rest = list
                rest.remove(at: index)
                return rest
            }
        }
        switch self {
        case .rows(let rows) where rows.count > 1: return fewer(rows).map { .rows($0) }
        case .history(let kinds) where kinds.count > 1: return fewer(kinds).map { .history(kinds: $0) }
        case .part(let calls, let fails): return calls + fewer(calls).map { .part($0, fails: fails) }
        case .snapshot(let calls): return calls + fewer(calls).map { .snapshot($0) }
        case .ledger(let ledger):
            return fewer(ledger.letters).map { .ledger(LedgerCall(letters: $0, failed: ledger.failed)) }
                + fewer(ledger.positions).map { .ledger(LedgerCall(positions: $0)) }
        default: return []
        }
    }
}

/// Makes lists of calls that a seed decides.
struct SessionCallGenerator {
    var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    private mutating func number(_ limit: Int) -> Int { random.number(below: limit) }

    private mutating func list<Element>(_ limit: Int, _ make: (inout Self) -> Element) -> [Element] {
        (0..<1 + number(limit)).map { _ in make(&self) }
    }

    mutating func calls() -> [SessionCall] {
        var calls: [SessionCall] = []
        for _ in 0..<3 + number(8) {
            switch number(12) {
            case 0: calls.append(.usurp(early: number(2) == 0))
            case 1: calls.append(.reopen(released: number(2) == 0))
            case 2: calls.append(.snapshot(transaction() + transaction()))
            case 3: calls.append(.load(random.next()))
            case 4: calls.append(.fault(.begin))
            case 5: calls.append(.ask(random.next()))
            default: calls += transaction()
            }
        }
        return calls
    }

    private mutating func transaction() -> [SessionCall] {
        var calls = [SessionCall.begin] + list(6) { $0.write(depth: 0) }
        switch number(12) {
        case 0: calls.append(.rollback)
        case 1: calls.append(.fault(.commit))
        case 2: calls.append(.fault(write(depth: 0)))
        default: calls.append(.commit)
        }
        if number(4) == 0 { calls.append(.ask(random.next())) }
        return calls
    }

    private mutating func write(depth: Int) -> SessionCall {
        switch number(26) {
        case 0...6: return .rows(list(4) { $0.row() })
        case 7, 8:
            return .tombstones(
                written: list(3) { $0.number(14) }, removed: list(2) { $0.number(14) }, version: number(5))
        case 9, 10: return .history(kinds: number(5) == 0 ? [] : list(5) { $0.number(3) })
        case 11, 12: return .ledger(ledger())
        case 13: return .conflict(number(5))
        case 14: return number(3) == 0 ? .removeCursor(number(3)) : .cursor(number(3), token: number(6))
        case 15: return number(2) == 0 ? .sent(number(4)) : .note(number(3))
        case 16: return number(2) == 0 ? .removeLetters(list(3) { $0.number(8) }) : .removeConflicts(number(6))
        case 17:
            return .purge(
                through: number(8), transactions: number(4), changes: 1 + number(6), passes: number(3) == 0)
        case 18: return .purgeTombstones(age: number(20), limit: 1 + number(4), countsOnly: number(4) == 0)
        case 19: return number(4) == 0 ? .purgeAudit(age: number(20), limit: 1 + number(3)) : .audit(number(4))
        case 20: return .counters
        case 21: return .renew
        case 22, 23: return .load(random.next())
        default:
            if depth > 1 { return .counters }
            return .part(list(4) { $0.write(depth: depth + 1) }, fails: number(3) == 0)
        }
    }

    private mutating func row() -> SessionCall.RowCall {
        switch number(12) {
        case 0...3: .insert(kind: number(3), name: number(7), key: number(8), mail: number(8))
        case 4...6: .update(key: 1 + number(8), slot: number(6), value: number(7))
        case 7: .swap(1 + number(8), 1 + number(8))
        case 8: .delete(person: number(3) > 0, key: 1 + number(8))
        case 9: .become(1 + number(8), guest: number(2) == 0)
        case 10: .link(1 + number(8), 1 + number(8), place: number(4))
        default: .unlink(1 + number(8), 1 + number(8))
        }
    }

    private mutating func ledger() -> SessionCall.LedgerCall {
        var ledger = SessionCall.LedgerCall()
        if number(3) > 0 { ledger.letters = list(3) { ($0.number(3), $0.number(2), $0.number(3)) } }
        if number(3) == 0 { ledger.failed = list(3) { $0.number(6) } }
        if number(4) == 0 { ledger.removed = list(2) { $0.number(6) } }
        if number(2) == 0 { ledger.positions = list(2) { ($0.number(3), $0.number(4), $0.number(6)) } }
        return ledger
    }
}
