import Foundation
import TestSupport
import Testing

/// Commands over the stores of several partitions, each in a file.
@Suite struct StoreCommandTests {
    private let workspace: Workspace
    private let place: [String]

    /// The samples, apart by their lines: stores 0, 1 and 4 have about a third each.
    init() throws {
        workspace = try Workspace()
        place = ["--set", "store.path=\(workspace.path("chat-{partition}.sqlite"))", "--set", "http.port=9"]
        let lines = try String(contentsOfFile: "samples/chat-events.jsonl", encoding: .utf8).split(separator: "\n")
        for (index, partition) in [0, 1, 4].enumerated() {
            let file = workspace.path("\(partition).jsonl")
            let own = lines.enumerated().filter { $0.offset % 3 == index }.map(\.element)
            try (own.joined(separator: "\n") + "\n").write(toFile: file, atomically: true, encoding: .utf8)
            let store = "store.path=\(workspace.path("chat-\(partition).sqlite"))"
            let replayed = try Program.run(["replay", file, "--allow-dead-letters", "--set", store])
            #expect(replayed.status == 0, "\(replayed.errors)")
        }
        // Another partition's name is 7: this file is none of a partition.
        try "".write(toFile: workspace.path("chat-07.sqlite"), atomically: true, encoding: .utf8)
    }

    private func lines(_ arguments: [String]) throws -> [Substring] {
        let found = try Program.run(arguments + place)
        #expect(found.status == 0, "\(found.errors)")
        return found.output.split(separator: "\n")
    }

    @Test(arguments: ["-sentAt", "body[cd],sentAt", "sender.name,-body"])
    func `pages of objects of all stores follow one order, and none is missing or twice`(_ sort: String) throws {
        let fetch = ["fetch", "Message", "--sort", sort, "--json"]
        var pages: [Substring] = []
        var after: [String] = []
        while true {
            let page = try Program.run(fetch + ["--limit", "40"] + after + place)
            #expect(page.status == 0, "\(page.errors)")
            pages += page.output.split(separator: "\n")
            guard let next = page.errors.firstMatch(of: /more: --after (\S+)/)?.1 else { break }
            after = ["--after", String(next)]
        }
        let whole = try lines(fetch + ["--limit", "100000"])
        #expect(pages == whole)
        #expect(pages.count > 100 && Set(pages).count == pages.count)
        let stores = Set(pages.compactMap { $0.firstMatch(of: /^\{"store":(\d)/)?.1 })
        #expect(stores == ["0", "1", "4"])
        for store in ["0", "1", "4"] {
            let mark = "{\"store\":\(store),"
            let own: [String] = try lines(fetch + ["--limit", "100000", "--store", store]).map { mark + $0.dropFirst() }
            let marked: [String] = pages.filter { $0.hasPrefix(mark) }.map { String($0) }
            #expect(marked == own)
        }
        let skipped = try lines(fetch + ["--limit", "5", "--offset", "9"])
        #expect(skipped == Array(whole.dropFirst(9).prefix(5)))
    }

    @Test func `a count is of all stores, and rows are of each`() throws {
        func count(_ options: String...) throws -> Int? {
            Int(try lines(["fetch", "Message", "--count"] + options)[0])
        }
        let (first, second) = (try count("--store", "0") ?? 0, try count("--store", "1") ?? 0)
        let total = first + second + (try count("--store", "4") ?? 0)
        #expect(try count() == total && total > 100)
        #expect(try count("--store", "0-1") == first + second)
        let rows = try lines(["fetch", "Message", "--fields", "count() AS n", "--group-by", "sender.name", "--json"])
        let sums = rows.compactMap { $0.firstMatch(of: /"n":(\d+)/).flatMap { Int($0.1) } }
        #expect(rows.allSatisfy { $0.hasPrefix("{\"store\":") } && sums.reduce(0, +) == total)
    }

    @Test func `the history goes on at a token of each store`() throws {
        let first = try Program.run(["history", "--json", "--limit", "1"] + place)
        let after = try #require(first.errors.firstMatch(of: /more: --after (\S+)/)?.1)
        #expect(after.contains("0=") && after.contains(",4="))
        let rest = try lines(["history", "--json", "--limit", "100000", "--after", String(after)])
        let whole = try lines(["history", "--json", "--limit", "100000"])
        let begun = first.output.split(separator: "\n")
        #expect(Set(begun).isDisjoint(with: rest) && Set(begun).union(rest) == Set(whole) && !begun.isEmpty)
    }

    @Test func `a store that fails is named, and the others go on`() throws {
        let sound = try lines(["verify", "--json"])
        #expect(sound.count == 3 && sound.allSatisfy { $0.contains("\"isSound\":true") })
        let missing = try Program.run(["verify", "--json", "--store", "0,3-4"] + place)
        #expect(missing.status == 69)
        #expect(missing.output.split(separator: "\n").map { $0.prefix(10) } == ["{\"store\":0", "{\"store\":4"])
        #expect(missing.errors.contains("store 3: There is no store at"))
        let fetched = try Program.run(["fetch", "Message", "--json", "--store", "0,3"] + place)
        #expect(fetched.status == 69 && fetched.output.isEmpty)
        let status = try Program.run(["status"] + place)
        #expect(status.status == 75 && status.output.contains("\n4  store "))
    }

    @Test func `dead letters are exported as they are, and each store retries its own`() throws {
        let letters = try lines(["dead-letters", "export"])
        #expect(!letters.isEmpty && letters.allSatisfy { !$0.hasPrefix("{\"store\"") })
        let dropped = try lines(["dead-letters", "drop", "--all", "--json"])
        #expect(dropped.count == 3 && dropped.allSatisfy { $0.hasPrefix("{\"store\":") })
        #expect(try lines(["dead-letters", "export"]).isEmpty)
    }

    @Test func `a backup of each store has the partition in its name`() throws {
        let backups = try lines(["backup", workspace.path("copy-{partition}.sqlite"), "--json"])
        #expect(backups.count == 3)
        for partition in [0, 1, 4] {
            let copy = ["--set", "store.path=\(workspace.path("copy-\(partition).sqlite"))"]
            let own = ["--set", "store.path=\(workspace.path("chat-\(partition).sqlite"))"]
            #expect(try Program.contents(ofStore: copy) == Program.contents(ofStore: own))
        }
        let folder = workspace.path("backups")
        _ = try lines(["backup", "--set", "backup.folder=\(folder)"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 3)
    }

    @Test(arguments: [
        (["dead-letters", "drop", "3"], "The number of a dead letter is of one store"),
        (["dead-letters", "list", "--after", "2"], "The number of --after is of one store"),
        (["history", "purge", "--before", "2"], "The token of --before is of one store"),
        (["history", "--after", "2"], "--after takes a token of each store"),
        (["fetch", "Message", "--after", "x"], "--after takes the positions"),
        (["backup", "/tmp/one.sqlite"], "A file without {partition} is of one store"),
        (["run", "--store", "0,1"], "--store names one store here"),
        (["dead-letters", "drop"], "Name numbers or a condition"),
        (["verify", "--store", "x"], "'x' is invalid"),
    ])
    func `an argument of one store is refused for several`(_ arguments: [String], _ reason: String) throws {
        let refused = try Program.run(arguments + place)
        #expect(refused.status == 64)
        #expect(refused.errors.contains(reason), "\(refused.errors)")
    }

    @Test func `no store at all is an error that names the place`() throws {
        let none = try Program.run(["verify", "--set", "store.path=\(workspace.path("none-{partition}.sqlite"))"])
        #expect(none.status == 65 && none.errors.contains("No partition has a store at"))
    }
}
