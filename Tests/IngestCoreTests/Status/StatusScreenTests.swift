import ObjectGraph
import Testing

@testable import IngestCore
@testable import Operations

@Suite struct StatusScreenTests {
    private static func report(
        records: Int?, lag: Int64? = 5, state: String = "running", partitions: Int32 = 1, worker: String = "w"
    ) throws -> StatusReport {
        let counts = records.map { "\"counts\":{\"records\":\($0),\"stale\":0}," } ?? ""
        let positions = (0..<partitions).map {
            """
            {"topic":"t","partition":\($0),"nextOffset":9,"lag":\(lag.map { "\($0)" } ?? "null"),"state":"reading",
            "reason":null}
            """
        }
        return try StatusReport(
            worker: worker,
            status: Array(
                """
                {"ready":true,\(counts)"checks":{"broker":true,"store":false},"deadLettersByCode":{"a":1,"b":2},
                "verdict":{"state":"\(state)","sentence":"Running, it is a sentence.","attention":[]},
                "store":{"path":"a.sqlite","model":"Chat","bytes":4096,"walBytes":0},
                "history":{"token":7,"notified":5},"deadLetters":3,"positions":[\(positions.joined(separator: ","))]}
                """.utf8))
    }

    private static func text(
        _ screen: StatusScreen, columns: Int = 80, rows: Int = 30, hasColours: Bool = false
    ) -> [String] {
        screen.lines(size: (columns, rows), clock: "12:00:05 UTC", hasColours: hasColours)
    }

    @Test func `it shows the verdict, the curves, checks, dead letters and partitions`() throws {
        var screen = StatusScreen()
        for (second, records) in [0, 100, 300, 300].enumerated() {
            screen.show(try Self.report(records: records, lag: Int64(40 - second * 10)), at: Double(second))
        }
        #expect(
            Self.text(screen) == [
                "Running, it is a sentence." + String(repeating: " ", count: 42) + "12:00:05 UTC", "",
                "records/s               0   ▅█▁",
                "lag                    10  █▆▅▃",
                "", "asked          w", "store          a.sqlite, model Chat, 4.1 kB",
                "history        token 7, notified up to 5", "dead letters   3: 2 b, 1 a",
                "checks         1 of 2 pass; failing: store", "",
                "topic  partition  next offset  lag  state",
                "t              0            9   10  reading", "", "q ends",
            ])
    }

    @Test func `a figure that is not known leaves a gap`() throws {
        var screen = StatusScreen()
        screen.show(try Self.report(records: 0, lag: nil), at: 0)
        screen.show(try Self.report(records: 100, lag: 7), at: 1)
        // The worker was started again.
        screen.show(try Self.report(records: 10, lag: 7), at: 2)
        screen.show(failure: "The store is away")
        screen.show(try Self.report(records: 20, lag: nil), at: 4)
        let lines = Self.text(screen)
        #expect(lines[2] == "records/s         unknown   █   ")
        #expect(lines[3] == "lag               unknown   ██  ")
    }

    @Test func `without an answer it says why`() {
        var screen = StatusScreen()
        screen.show(failure: "There is no store at a.sqlite")
        let lines = Self.text(screen)
        #expect(lines[0].hasPrefix("There is no store at a.sqlite  "))
        #expect(lines.last == "q ends")
    }

    @Test(arguments: [(20, 1), (40, 5), (60, 14), (200, 60)])
    func `it stays within the window`(_ columns: Int, _ rows: Int) throws {
        var screen = StatusScreen()
        for second in 0..<300 {
            screen.show(try Self.report(records: second * second, partitions: 40), at: Double(second))
        }
        let lines = Self.text(screen, columns: columns, rows: rows)
        #expect(lines.count <= rows)
        #expect(lines.allSatisfy { $0.count <= columns })
        if rows == 14 { #expect(lines.contains { $0.hasPrefix("… 40 more partitions") }) }
        if rows == 60 { #expect(lines.filter { $0.hasPrefix("t  ") }.count == 40) }
    }

    @Test(arguments: [("running", "32"), ("stopped", "31"), ("starting", "33")])
    func `colours are used only where they are wanted`(_ state: String, _ colour: String) throws {
        var screen = StatusScreen()
        screen.show(try Self.report(records: 1, state: state), at: 0)
        #expect(Self.text(screen, hasColours: true)[0].hasPrefix("\u{1B}[1;\(colour)mRunning"))
        #expect(!Self.text(screen).joined().contains("\u{1B}"))
    }
}
