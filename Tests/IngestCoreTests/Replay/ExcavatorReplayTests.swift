import Foundation
import ObjectGraph
import Testing

@testable import IngestCore

/// The public work orders of mining excavators, where the folder beside the package has them.
@Suite struct ExcavatorReplayTests {
    static let path = URL(fileURLWithPath: TestModels.packageFolder).deletingLastPathComponent()
        .appendingPathComponent("shared/data/work-orders.csv").path
    static var isPresent: Bool { FileManager.default.fileExists(atPath: path) }

    /// Splits a line of CSV by hand, independently of the reader; no field of the file holds a line break.
    private func fields(_ line: Substring) -> [String] {
        var fields = [""]
        var isQuoted = false
        for character in line {
            switch character {
            case "\"": isQuoted.toggle()
            case "," where !isQuoted: fields.append("")
            default: fields[fields.count - 1].append(character)
            }
        }
        return fields
    }

    @Test(.enabled(if: isPresent)) func `counts and costs are those of the file`() throws {
        var counts: [String: Int64] = [:]
        var cents: [String: Int] = [:]
        var bad: [Int] = []
        let text = try String(contentsOfFile: Self.path, encoding: .utf8)
        for (index, line) in text.split(whereSeparator: \.isNewline).dropFirst().enumerated() {
            let row = fields(line)
            guard row[4].isEmpty || Double(row[4]) != nil else {
                bad.append(index + 1)
                continue
            }
            counts[row[1], default: 0] += 1
            cents[row[1], default: 0] += Int(((Double(row[4]) ?? 0) * 100).rounded())
        }
        #expect(bad == [3453])

        let configuration = try WorkerConfiguration.load(file: TestModels.packageFolder + "/samples/excavators.yaml")
            .configuration
        let fixture = try PipelineFixture(model: TestModels.workOrders())
        let engine = ReplayEngine(pipeline: fixture.pipeline, configuration: configuration, logger: .silent)
        let result = try engine.replay(path: Self.path)
        #expect(result.records == 5485)
        let letters = try fixture.deadLetters()
        #expect(letters.map(\.offset) == [3453])
        #expect(letters.first?.code == "decode.type" && letters.first?.reason.contains("WorkOrder.Cost") == true)
        #expect(try fixture.identities("WorkOrder").count == 5484)

        let assets = try fixture.store.read { try $0.fetch(FetchRequest("Asset")) }
        let foundCounts = try Dictionary(
            uniqueKeysWithValues: assets.map { (try #require($0["id"]?.text), $0["workOrdersCount"]?.integer) })
        #expect(foundCounts == counts.filter { !$0.key.isEmpty }.mapValues { $0 })
        for asset in assets {
            let name = try #require(asset["id"]?.text)
            let cost = try #require(asset["maintenanceCost"]?.text.flatMap { Decimal(string: $0) })
            #expect(cost * 100 == Decimal(cents[name] ?? 0), "\(name)")
        }
        #expect(try fixture.store.verify().isSound)
    }
}
