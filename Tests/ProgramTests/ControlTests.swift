import Foundation
import TestSupport
import Testing

/// Commands that write the store while a worker has it: no downtime, the same output and the same exit codes.
@Suite(.serialized) struct ControlTests {
    private let broker: BrokerProcess
    private let workspace: Workspace
    private let store: String
    /// A configuration whose route knows what `text` means.
    private let mended: String

    init() throws {
        broker = try BrokerProcess(.noida)
        workspace = try Workspace()
        store = workspace.path("store.sqlite")
        mended = try workspace.write(
            """
            topics:
              - name: events
                routes: [{ type: message.upserted, entity: Message, aliases: { text: body } }]
            """, to: "mended.yaml")
        try broker.makeTopic()
    }

    private var socket: String { store + ".control" }

    private func start(
        _ extra: [String] = [], flags: [String] = [], group: String, config: String? = nil
    ) throws -> Program {
        let settings = [
            "store.path=\(store)", "notifications.topic=null", "http.enabled=false", "log.level=info",
            "kafka.bootstrap.servers=\(broker.bootstrapServers)", "kafka.group.id=\(group)",
            "kafka.session.timeout.ms=6000",
        ]
        let configuration = config.map { ["--config", $0] } ?? ["--set", "topics=events"]
        return try Program(["run"] + flags + configuration + (settings + extra).flatMap { ["--set", $0] })
    }

    private func waitForSocket(_ program: Program) throws {
        try program.wait(for: "the socket") { program.errors.contains("the worker takes requests") }
    }

    private func stop(_ program: Program) throws {
        program.send(SIGTERM)
        try program.expectGoodEnd()
    }

    private func command(_ arguments: [String], config: Bool = true, store: String? = nil) throws -> Program.Result {
        try Program.run(
            arguments + (config ? ["--config", mended] : []) + ["--set", "store.path=\(store ?? self.store)"])
    }

    /// Runs a worker that knows no `text` until it has put the records aside.
    private func makeLetters(_ values: [String]) throws {
        try broker.send(values)
        let program = try start(group: "first")
        try program.waitForPosition(values.count, of: store)
        try stop(program)
        #expect(!FileManager.default.fileExists(atPath: socket))
        try #require(Foreign.value(store, "SELECT count(*) FROM _dead_letter") == values.count)
    }

    @Test func `the commands say and do the same with a worker and without one`() throws {
        try makeLetters((0..<20).map { BrokerProcess.message("late-\($0)", text: "text") } + ["{", "[", "{}"])
        let copy = workspace.path("copy.sqlite")
        try FileManager.default.copyItem(atPath: store, toPath: copy)
        let program = try start(["chunk.maxOperations=4"], group: "second", config: mended)
        try waitForSocket(program)
        let mode = try Foreign.run("stat", ["-c", "%a %F", socket])
        #expect(mode == "600 socket\n")

        let commands: [(arguments: [String], status: Int32)] = [
            (["dead-letters", "retry", "1", "2", "--json"], 0), (["dead-letters", "retry"], 65),
            (["dead-letters", "retry", "--topic", "others"], 0), (["dead-letters", "drop", "21"], 0),
            (["dead-letters", "drop", "--stage", "decode"], 0), (["dead-letters", "drop", "--all"], 0),
            (["history", "cursors", "put", "feed", "2"], 0), (["history", "cursors", "put", "feed", "999"], 64),
            (["history", "purge", "--before", "4"], 0),
            (["history", "purge", "--before", "4", "--pass-cursors"], 0),
            (["history", "cursors", "remove", "feed"], 0), (["history", "cursors", "remove", "feed"], 65),
            (["conflicts", "drop", "--through", "5"], 0), (["verify"], 0), (["verify", "--json"], 0),
        ]
        for (arguments, status) in commands {
            // Its chunks are as large as the worker's, so that both make as many transactions.
            let alone = try command(arguments + ["--set", "chunk.maxOperations=4"], store: copy)
            let asked = try command(arguments)
            #expect(asked.status == status, "\(arguments): \(asked.errors)")
            #expect(alone.status == status, "\(arguments): \(alone.errors)")
            let ways = ["asked the worker at \(socket)\n", "opened the store \(copy)\n"]
            let errors = zip([asked, alone], ways).map { result, way in result.errors.replacing(way, with: "") }
            #expect(asked.output == alone.output && errors[0] == errors[1], "\(arguments): \(errors)")
            if status == 0 {
                #expect(asked.errors.contains(ways[0]) && alone.errors.contains(ways[1]), "\(arguments)")
            }
        }
        // Each request is in the audit, of whichever process carried it out. Alone, a verification is no request.
        let audit = try command(["audit", "--json"]).output.split(separator: "\n")
        #expect(audit.count == commands.count, "\(audit)")
        #expect(try command(["audit"], store: copy).output.split(separator: "\n").count == commands.count - 2)
        #expect(audit.last?.contains(#""actor":"user \#(geteuid()), process "#) == true, "\(audit)")
        #expect(audit.last?.contains(#""arguments":{"ids":[1,2]}"#) == true, "\(audit)")
        #expect(Foreign.value(store, "SELECT count(*) FROM Message WHERE body = 'x'") == 20)
        #expect(Foreign.value(store, "SELECT count(*) FROM _dead_letter") == 0)
        let carriedOut = program.errors.components(separatedBy: "a request has ended").count - 1
        #expect(carriedOut == commands.count, "\(program.errors)")
        #expect(program.errors.contains("checkedCount"), "\(program.errors)")
        #expect(
            !program.errors.contains(#"checks":["#) && !program.errors.contains(#"checks\":["#), "\(program.errors)")

        // Other settings than the worker's would make something else of the letters.
        let other = try command(["dead-letters", "retry"], config: false)
        #expect(other.status == 78 && other.errors.contains("control.configuration"), "\(other.errors)")
        // It has read on all the time.
        try broker.send([BrokerProcess.message("after")])
        try program.waitForPosition(24, of: store)
        try stop(program)
        #expect(!FileManager.default.fileExists(atPath: socket))
        #expect(try command(["verify"]).status == 0)
    }

    @Test func `the socket of a killed worker is in nobody's way`() throws {
        let first = try start(group: "first")
        try waitForSocket(first)
        try first.crash()
        #expect(FileManager.default.fileExists(atPath: socket))
        #expect(try command(["history", "cursors", "put", "alone", "0"]).status == 0)
        let second = try start(group: "second")
        try waitForSocket(second)
        #expect(try command(["history", "cursors", "put", "asked", "0"]).status == 0)
        #expect(second.errors.contains("a request has ended"), "\(second.errors)")
        try stop(second)
        #expect(try Foreign.sqlite(store, "SELECT name FROM _cursor ORDER BY name") == "alone\nasked")
        #expect(!FileManager.default.fileExists(atPath: socket))
    }

    @Test func `the worker of a rebuilt store takes requests at the same place`() throws {
        try broker.send((0..<20).map { BrokerProcess.message("m\($0)") })
        let first = try start(group: "first")
        try first.waitForPosition(20, of: store)
        try stop(first)
        let second = try start(flags: ["--rebuild"], group: "second")
        try waitForSocket(second)
        #expect(FileManager.default.fileExists(atPath: store + ".before-rebuild"))
        #expect(!FileManager.default.fileExists(atPath: store + ".rebuild.control"))
        #expect(try command(["history", "cursors", "put", "feed", "1"]).status == 0)
        #expect(second.errors.contains("a request has ended"), "\(second.errors)")
        try stop(second)
        #expect(try Foreign.sqlite(store, "SELECT name FROM _cursor") == "feed")
        #expect(try Foreign.sqlite(store + ".before-rebuild", "SELECT count(*) FROM _cursor") == "0")
    }

    @Test func `commands while the worker ends are carried out by it or by themselves`() throws {
        let program = try start(group: "first")
        try waitForSocket(program)
        for number in 0..<12 {
            if number == 4 { program.send(SIGTERM) }
            let result = try command(["history", "cursors", "put", "c\(number)", "0"])
            #expect(result.status == 0, "\(result.errors)")
        }
        try program.expectGoodEnd()
        #expect(Foreign.value(store, "SELECT count(*) FROM _cursor") == 12)
    }

    @Test(.timeLimit(.minutes(60))) func `a worker that is killed in a retry loses and doubles nothing`() throws {
        let letters = 1_500
        try makeLetters((0..<letters).map { BrokerProcess.message("late-\($0)", text: "text") })
        var (sent, interrupted) = (letters, 0)
        for round in 0..<3 {
            // A letter a step, so that the kill comes between them; and events to read meanwhile.
            let program = try start(["chunk.maxOperations=1"], group: "life-\(round)", config: mended)
            try waitForSocket(program)
            try broker.send((0..<200).map { BrokerProcess.message("m\(round)-\($0)") })
            sent += 200
            let before = Foreign.value(store, "SELECT count(*) FROM _dead_letter")
            let retry = try Program(
                ["dead-letters", "retry", "--config", mended, "--set", "store.path=\(store)"])
            try program.wait(for: "some letters") {
                Foreign.value(store, "SELECT count(*) FROM _dead_letter") < before || !retry.isRunning
            }
            try program.crash()
            // A letter goes in the commit of its effect: it is there, or its message is.
            let late = "SELECT count(*) FROM Message WHERE id LIKE 'late-%'"
            #expect(Foreign.value(store, "SELECT (SELECT count(*) FROM _dead_letter) + (\(late))") == letters)
            let told = try retry.wait()
            if told.status == 75 { interrupted += 1 }
            // It may have been done by then.
            #expect([0, 75].contains(told.status), "\(told.errors)")
            #expect(told.status == 0 || told.errors.contains("control.interrupted"), "\(told.errors)")
        }
        #expect(interrupted > 0, "no kill came before the end of a retry")
        let last = try start(group: "last", config: mended)
        try waitForSocket(last)
        let retried = try command(["dead-letters", "retry"])
        #expect(retried.status == 0, "\(retried.errors)")
        try last.waitForPosition(sent, of: store)
        try stop(last)
        #expect(Foreign.value(store, "SELECT count(*) FROM _dead_letter") == 0)
        #expect(Foreign.value(store, "SELECT count(*) FROM Message") == sent)
        #expect(Foreign.value(store, "SELECT count(*) FROM Message WHERE id LIKE 'late-%' AND body = 'x'") == letters)
        // Each was made once, and what was repeated changed nothing.
        let made = "FROM _history WHERE entity = 'Message' AND change = 'insert'"
        #expect(
            Foreign.value(store, "SELECT count(*) \(made)") == sent
                && Foreign.value(store, "SELECT count(DISTINCT identity) \(made)") == sent)
        #expect(try command(["verify"]).status == 0)
    }
}
