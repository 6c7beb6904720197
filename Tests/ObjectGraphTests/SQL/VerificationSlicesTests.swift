import ObjectGraph
import TestSupport
import Testing

import class GRDB.DatabaseQueue
import class GRDB.Row

@testable import GraphCore
@testable import SQLiteStorage

/// A store is verified slice by slice while a writer changes it: nothing is reported that no snapshot had.
struct VerificationSlicesTests {
    /// A writer that changes every kind of row between two slices.
    private final class Meddler {
        let fixture: ReadingFixture
        let writer: WriterContext
        var rounds = 0
        private var random = SeededRandom(seed: 7)

        /// The writer stops after so many rounds, so that the verification can come to its end.
        static let maximumRounds = 600

        init(_ fixture: ReadingFixture) throws {
            self.fixture = fixture
            writer = try WriterContext(store: fixture.store)
        }

        func change() throws {
            if rounds == Self.maximumRounds { return }
            rounds += 1
            let order = "w\(Int.random(in: 1...40, using: &random))"
            let technician = "t\(Int.random(in: 1...30, using: &random))"
            var events = [
                fixture.upsert(
                    "WorkOrder", order,
                    [
                        "cost": .text("\(rounds).5"), "taxRate": .text("0.19"),
                        "asset": .one("a\(Int.random(in: 1...4, using: &random))"),
                        "technicians": .many([technician, "t1"]),
                    ]),
                fixture.upsert(
                    "ChecklistItem", "c\(Int.random(in: 1...60, using: &random))",
                    ["workOrder": .one(order), "minutes": .text("\(rounds % 90)")]),
            ]
            if rounds % 3 == 0 {
                events.append(ReadingFixture.delete(fixture.model, "WorkOrder", order, time: Int64(rounds)))
            }
            if rounds % 7 == 0 {
                events.append(ReadingFixture.delete(fixture.model, "Technician", technician, time: Int64(rounds)))
            }
            _ = try writer.apply(WriterContext.Chunk(events: events))
            try writer.commit()
            if rounds % 5 == 0 { _ = try writer.putCursors(["reader": fixture.store.read { try $0.lastToken() }]) }
            // The purge overtakes the verification of the history.
            if rounds % 20 == 0 {
                let last = try fixture.store.read { try $0.lastToken() }
                _ = try writer.purgeHistory(before: .max)
                try #require(try fixture.store.read { try $0.lastToken() } == last)
            }
        }
    }

    @Test(arguments: [1, 3, 1000]) func `a writer between any two slices makes no false alarm`(_ rowCount: Int) throws {
        let meddler = try Meddler(try StoreVerifierTests.workOrders())
        for _ in 0..<3 {
            meddler.rounds = 0
            var slices = 0
            let report = try meddler.fixture.store.verify(
                VerificationSlices(rowCount: rowCount, renewsSnapshots: true)
            ) { _ in
                slices += 1
                do { try meddler.change() } catch { Issue.record(error) }
            }
            #expect(report.isSound, "\(report.text)")
            #expect(meddler.rounds == min(slices, Meddler.maximumRounds))
            #expect(rowCount == 1000 || slices > 200, "\(slices)")
        }
        try meddler.writer.close()
        #expect(try meddler.fixture.store.verify().isSound)
    }

    @Test(arguments: [TestStorage.sqlite, .postgres])
    func `slices of many snapshots see what was committed meanwhile, slices of one do not`(
        _ storage: TestStorage
    ) throws {
        for (slices, finds) in [(VerificationSlices.ofOneSnapshot, false), (.ofManySnapshots, true)] {
            let fixture = try StoreVerifierTests.workOrders(storage)
            let report = try fixture.store.verify(slices) { step in
                guard step.check == "tombstones" else { return }
                do { try fixture.damage("DELETE FROM _sequence WHERE entity = 'WorkOrder'") } catch {
                    Issue.record(error)
                }
            }
            #expect(report.isSound == !finds, "\(report.text)")
        }
    }

    @Test func `the log is carried over while a verification goes on`() throws {
        let fixture = try StoreVerifierTests.workOrders()
        let writer = try WriterContext(store: fixture.store)
        let other = try DatabaseQueue(path: fixture.store.path)
        /// The pages of the log that a checkpoint has to leave for the verification's snapshot.
        func pagesLeft() throws -> Int {
            let row = try other.inDatabase { try Row.fetchOne($0, sql: "PRAGMA wal_checkpoint(PASSIVE)") }
            let found = try #require(row)
            return found["log"] - found["checkpointed"]
        }
        func greatest(_ slices: VerificationSlices) throws -> Int {
            var (greatest, number) = (0, 0)
            _ = try fixture.store.verify(slices) { _ in
                if number == 300 { return }
                number += 1
                do {
                    let event = fixture.upsert("WorkOrder", "w\(number % 30)", ["title": .text("\(number)")])
                    _ = try writer.apply(WriterContext.Chunk(events: [event]))
                    try writer.commit()
                    greatest = max(greatest, try pagesLeft())
                } catch { Issue.record(error) }
            }
            return greatest
        }
        let ofOne = try greatest(VerificationSlices(rowCount: 1))
        let ofMany = try greatest(VerificationSlices(rowCount: 1, renewsSnapshots: true))
        #expect(ofOne > 300 && ofMany < ofOne / 4, "\(ofMany) of \(ofOne) pages")
        try other.close()
        try writer.close()
    }
}
