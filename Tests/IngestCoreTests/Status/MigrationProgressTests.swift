import Testing

@testable import IngestCore

@Suite struct MigrationProgressTests {
    @Test func `a migration of a file counts the rows of each part`() {
        var progress = MigrationProgress()
        #expect(progress.apply(.backingUp) == ProgressMeter.Step("backing up"))
        let begun = progress.apply(.copying(rowCount: 200, part: 1, partCount: 2))
        #expect(begun == ProgressMeter.Step("copying, part 1 of 2", count: 0, noun: "row", share: 0))
        _ = progress.apply(.copied(rowCount: 50, areObjects: true))
        let half = progress.apply(.copied(rowCount: 50, areObjects: false))
        #expect(half == ProgressMeter.Step("copying, part 1 of 2", count: 100, noun: "row", share: 0.5))
        #expect(progress.apply(.finishing) == ProgressMeter.Step("making indexes and derived values"))
        #expect(progress.apply(.copying(rowCount: 8, part: 2, partCount: 2)).count == 0)
        #expect(progress.apply(.copying(rowCount: 8, part: 1, partCount: 1)).name == "copying")
    }

    @Test func `a part without rows to copy has no share`() {
        var progress = MigrationProgress()
        #expect(progress.apply(.copying(rowCount: 0, part: 1, partCount: 1)) == ProgressMeter.Step("copying"))
    }

    @Test func `a copy of tables has one share, and goes on within a table`() {
        var progress = MigrationProgress()
        _ = progress.begin("copying to the server", rowCount: 100)
        _ = progress.pass(table: "Chat", rowCount: 0)
        #expect(progress.pass(table: "Chat", rowCount: 20).share == 0.2)
        #expect(progress.pass(table: "Chat", rowCount: 30).share == 0.3)
        #expect(
            progress.pass(table: "Message", rowCount: 20)
                == ProgressMeter.Step(
                    "copying to the server", part: "Message", count: 50, noun: "row", share: 0.5))
    }
}
