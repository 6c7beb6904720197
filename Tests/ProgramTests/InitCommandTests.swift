import Foundation
import KafkaClient
import TestSupport
import Testing

/// `init` writes a model and a configuration that import the files as they are.
@Suite struct InitCommandTests {
    private let workspace: Workspace

    init() throws { workspace = try Workspace() }

    private var folder: String { workspace.path("made") }

    /// Runs `init` and `replay`, and gives the output of `init`.
    private func `import`(_ paths: [String]) throws -> String {
        let made = try Program.run(["init"] + paths + ["--folder", folder])
        try #require(made.status == 0, "\(made.errors)")
        let replayed = try Program.run(["replay"] + paths + ["--config", folder + "/worker.yaml"])
        try #require(replayed.status == 0, "\(replayed.output)\(replayed.errors)")
        let verified = try Program.run(["verify", "--config", folder + "/worker.yaml"])
        #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        return made.output
    }

    private func query(_ statement: String) throws -> String {
        try Foreign.run("sqlite3", [folder + "/store.sqlite", statement]).trimmingCharacters(
            in: .whitespacesAndNewlines)
    }

    @Test func `the sample table comes in with two commands`() throws {
        let output = try `import`(["samples/work-orders.csv"])
        #expect(output.contains("WorkOrder: 150 records"))
        #expect(output.contains("150 events, 0 dead letters"))
        #expect(try query("SELECT count(*), count(Start) FROM WorkOrder_readable") == "150|142")
    }

    @Test func `a container file of Avro comes in with two commands`() throws {
        let file = Program.root.appending(path: "Tests/Avro/readings-deflate.avro").path
        #expect(try `import`([file]).contains("40 events, 0 dead letters"))
        let read = try query("SELECT count(*), sum(cost), max(number) FROM ReadingsDeflate_readable")
        #expect(read == "40|750.0|9007199254741032")
        let sample = try Program.run(["check", "--offline", "--sample", file, "--config", folder + "/worker.yaml"])
        #expect(sample.status == 0 && sample.output.contains("took 40 records"), "\(sample.errors)")
    }

    @Test(arguments: ["sep=;\nid;name\n1;Ada\n2;Ben\n", "id,name\r1,Ada\r2,Ben"])
    func `a spreadsheet's first line and its line ends are understood`(text: String) throws {
        let file = try workspace.write(text, to: "people.csv")
        #expect(try `import`([file]).contains("2 events, 0 dead letters"))
        #expect(try query("SELECT group_concat(name) FROM People") == "Ada,Ben")
    }

    @Test(arguments: [1_998, 2_100]) func `a table of more columns than the store has is refused`(count: Int) throws {
        let names = (["id"] + (0..<count).map { "c\($0)" }).joined(separator: ",")
        let values = Array(repeating: "x", count: count).joined(separator: ",")
        let file = try workspace.write("\(names)\n1,\(values)\n", to: "wide.csv")
        let made = try Program.run(["init", file, "--folder", folder])
        #expect(made.status == 78 && made.errors.contains("at most"), "\(made.errors)")
        #expect(!FileManager.default.fileExists(atPath: folder + "/model.yaml"))
    }

    @Test func `what a storage cannot carry is said by each check`() throws {
        let attributes = (0..<1_700).map { "      c\($0): { type: string, optional: true }\n" }.joined()
        let model = try workspace.write(
            "model: m\nversion: 1\nentities:\n  A:\n    identity: id\n    attributes:\n      id: { type: string }\n"
                + attributes, to: "model.yaml")
        let server = ["--set", "store.url=postgres://nowhere.invalid/x", "--set", "model=\(model)"]
        let commands = [["model", "check"], ["model", "check", model], ["check", "--offline"]]
        for command in commands {
            let refused = try Program.run(command + server)
            #expect(refused.status == 78 && refused.errors.contains("PostgreSQL has at most 1598"), "\(refused.errors)")
            #expect(try Program.run(command + ["--set", "model=\(model)"]).status == 0)
        }
    }

    @Test func `tables refer to each other`() throws {
        let machines = try workspace.write("code,name\nA,Digger\nB,Truck\nC,Crane\n", to: "machines.csv")
        let orders = try workspace.write(
            "\u{FEFF}number,machine,Cost,opened\n1,A,12.50,2026-01-02\n2,B,,2026-01-03\n3,A,7.25,2026-01-04\n4,C,1.00,2026-01-05\n",
            to: "orders.csv")
        let output = try `import`([machines, orders])
        #expect(output.contains("machine → Machine: 3 of 3"))
        #expect(
            try query("SELECT count(*) FROM \"Order\" o JOIN Machine m ON m.pk = o.machine WHERE m.name = 'Digger'")
                == "2")
    }

    @Test func `nested objects of arrays become children, in lines and in arrays`() throws {
        let records =
            #"{"id":"o1","total":3.5,"to":{"city":"Ulm"},"lines":[{"sku":"A","n":1},{"sku":"B","n":2}]}"#
        let second = #"{"id":"o2","total":1,"tags":["x"],"lines":[{"sku":"A","n":5}]}"#
        let lines = try workspace.write(records + "\n" + second + "\n", to: "orders.jsonl")
        let output = try `import`([lines])
        #expect(output.contains("Line: 3 records"))
        #expect(try query("SELECT count(*) FROM Line WHERE \"order\" IS NOT NULL") == "3")
        let array = try workspace.write("[\(records),\(second)]", to: "baskets.json")
        let other = workspace.path("other")
        let made = try Program.run(["init", array, "--folder", other])
        #expect(made.status == 0, "\(made.errors)")
        #expect(made.output.contains("2 events, 0 dead letters"))
    }

    @Test func `objects in fields become entities that the record leads to`() throws {
        let records = [
            #"{"id":"o1","to":{"city":"Ulm","zip":"01"},"customer":{"id":"c1","name":"Ada"},"sizes":{"1":2,"2":3}}"#,
            #"{"id":"o2","to":{"city":"Bonn"},"customer":{"id":"c2","name":"Ben"},"mixed":{"a":1}}"#,
            #"{"id":"o3","to":null,"customer":{"id":"c1","name":"Ada"},"mixed":"none","the place":{"x":1}}"#,
        ]
        let path = try workspace.write(records.joined(separator: "\n") + "\n", to: "orders.jsonl")
        let output = try `import`([path])
        #expect(output.contains("Customer: 3 records") && output.contains("3 events, 0 dead letters"), "\(output)")
        #expect(try query("SELECT id || name FROM Customer ORDER BY id") == "c1Ada\nc2Ben")
        #expect(
            try query("SELECT count(*) FROM \"Order\" o JOIN Customer c ON c.pk = o.customer WHERE c.id = 'c1'") == "2")
        #expect(
            try query("SELECT o.id || t.city FROM \"Order\" o JOIN \"To\" t ON t.pk = o.\"to\" ORDER BY o.id")
                == "o1Ulm\no2Bonn")
        #expect(try query("SELECT sizes FROM \"Order\" WHERE id = 'o1'") == #"{"1":2,"2":3}"#)
        #expect(try query("SELECT mixed FROM \"Order\" WHERE id = 'o2'") == #"{"a":1}"#)
        #expect(try query("SELECT x FROM ThePlace") == "1")
        let checked = try Program.run(["check", "--sample", path, "--config", folder + "/worker.yaml"])
        #expect(checked.output.contains("3 events, 0 filtered, 0 dead letters"), "\(checked.output)")
        // Nothing of it is new to the store.
        let again = try Program.run(["replay", path, "--restart", "--json", "--config", folder + "/worker.yaml"])
        #expect(again.status == 0, "\(again.errors)")
        #expect(try query("SELECT count(*) FROM \"To\"") == "2")
    }

    @Test func `columns that identify together become a template`() throws {
        let rows = ["north,1,Pump,3", "north,2,Belt,3", "south,1,Pump,4", "south,2,Pump,4"]
        let path = try workspace.write(
            "siteid,wonum,title,hours\n" + rows.joined(separator: "\n") + "\n", to: "orders.csv")
        let output = try `import`([path])
        #expect(output.contains("'siteid', 'wonum' identify together"), "\(output)")
        #expect(
            try query("SELECT group_concat(identifier) FROM (SELECT identifier FROM \"Order\" ORDER BY identifier)")
                == "north-1,north-2,south-1,south-2")
        // A row that changed is the same object, wherever it stands.
        let changed = try workspace.write("siteid,wonum,title,hours\nsouth,2,Hose,5\n", to: "later/orders.csv")
        let replayed = try Program.run(["replay", changed, "--config", folder + "/worker.yaml"])
        #expect(replayed.status == 0, "\(replayed.errors)")
        #expect(try query("SELECT title FROM \"Order\" WHERE identifier = 'south-2'") == "Hose")
        #expect(try query("SELECT count(*) FROM \"Order\"") == "4")
    }

    @Test func `columns of JSON identify together, with a sign that none of them has`() throws {
        let records = (0..<24).map { #"{"Line id":"a-\#($0 % 6)","Step no":\#($0 / 6),"value":\#($0 % 2)}"# }
        let path = try workspace.write(records.joined(separator: "\n") + "\n", to: "steps.jsonl")
        let output = try `import`([path])
        #expect(output.contains("24 events, 0 dead letters"), "\(output)")
        #expect(try query("SELECT count(*), min(identifier) FROM Step") == "24|a-0/0")
    }

    @Test func `a record whose schema no registry gives is counted, and does not end the survey`() throws {
        let broker = try EmbeddedBroker()
        try broker.createTopic("mixed", partitions: 1)
        let producer = try Producer(configuration: ["bootstrap.servers": broker.bootstrapServers])
        for value in [[0, 0, 0, 1, 44, 2, 0x6D, 0x31], Array(#"{"id":"o1","name":"N"}"#.utf8)] as [[UInt8]] {
            try producer.enqueue(ProducerRecord(topic: "mixed", partition: 0, value: value))
        }
        try producer.flush(timeoutMilliseconds: patientMilliseconds)
        let made = try Program.run([
            "init", "--topic", "mixed", "--folder", folder, "--set",
            "kafka.bootstrap.servers=\(broker.bootstrapServers)",
        ])
        #expect(made.status == 0, "\(made.errors)")
        #expect(made.output.contains("copied 1 record of mixed") && made.output.contains("no JSON objects: 1 record"))
    }

    @Test func `deletions count towards the records of a sample`() throws {
        let broker = try EmbeddedBroker()
        try broker.createTopic("states", partitions: 1)
        let producer = try Producer(configuration: ["bootstrap.servers": broker.bootstrapServers])
        for number in 0..<6 {
            let value = number == 0 ? [UInt8](#"{"id":"s0"}"#.utf8) : nil
            try producer.enqueue(
                ProducerRecord(topic: "states", partition: 0, key: [UInt8]("s\(number)".utf8), value: value))
        }
        try producer.flush(timeoutMilliseconds: patientMilliseconds)
        let made = try Program.run([
            "init", "--topic", "states", "--sample-records", "3", "--folder", folder, "--set",
            "kafka.bootstrap.servers=\(broker.bootstrapServers)",
        ])
        #expect(made.status == 0, "\(made.errors)")
        #expect(made.output.contains("copied 1 record") && made.output.contains("without a value: 2 records"))
        #expect(made.output.contains("the topic has more"), "\(made.output)")
        #expect(!FileManager.default.fileExists(atPath: folder + "/states.jsonl.new"))
    }

    @Test func `a topic comes in with two commands`() throws {
        let broker = try EmbeddedBroker()
        try broker.createTopic("shop.orders", partitions: 2)
        let producer = try Producer(configuration: ["bootstrap.servers": broker.bootstrapServers])
        for number in 0..<20 {
            let value =
                #"{"schema":{"type":"struct"},"payload":{"id":"o\#(number)","at":"2026-01-02","customer":{"id":"c\#(number % 3)"}}}"#
            try producer.enqueue(
                ProducerRecord(topic: "shop.orders", partition: Int32(number % 2), value: [UInt8](value.utf8)))
        }
        try producer.enqueue(ProducerRecord(topic: "shop.orders", partition: 0, value: [UInt8]("no JSON".utf8)))
        try producer.flush(timeoutMilliseconds: patientMilliseconds)
        let server = ["--set", "kafka.bootstrap.servers=\(broker.bootstrapServers)"]
        let made = try Program.run(["init", "--topic", "shop.orders", "--folder", folder] + server)
        #expect(try Foreign.run("stat", ["-c", "%a", folder + "/shop-orders.jsonl"]) == "600\n")
        #expect(made.status == 0, "\(made.errors)")
        #expect(
            made.output.contains("copied 20 records of shop.orders")
                && made.output.contains("no JSON objects: 1 record"))
        #expect(made.output.contains("20 events, 0 dead letters"), "\(made.output)")
        let checked = try Program.run([
            "check", "--sample", folder + "/shop-orders.jsonl", "--topic", "shop.orders", "--config",
            folder + "/worker.yaml",
        ])
        #expect(checked.output.contains("20 events, 0 filtered, 0 dead letters"), "\(checked.output)\(checked.errors)")
        let replayed = try Program.run([
            "replay", "--topic", "shop.orders", "--allow-dead-letters", "--config", folder + "/worker.yaml",
        ])
        #expect(replayed.status == 0, "\(replayed.errors)")
        #expect(try query("SELECT count(*) FROM ShopOrder WHERE customer IS NOT NULL") == "20")
        #expect(try query("SELECT count(*) FROM Customer") == "3")
        let few = try Program.run(
            ["init", "--topic", "shop.orders", "--sample-records", "5", "--folder", workspace.path("few")] + server)
        #expect(few.output.contains("copied 5 records") && few.output.contains("the topic has more"), "\(few.output)")
        let none = try Program.run(["init", "--topic", "none", "--folder", workspace.path("none")] + server)
        #expect(none.status == 65 && none.errors.contains("no topic none"), "\(none.errors)")
        #expect(try Program.run(["init", "--topic", "t", "a.csv"]).status == 64)
        #expect(try Program.run(["init"]).status == 64)
    }

    @Test func `records of a topic are objects of their own, or those of their keys`() throws {
        let broker = try EmbeddedBroker()
        let producer = try Producer(configuration: ["bootstrap.servers": broker.bootstrapServers])
        try broker.createTopic("readings", partitions: 2)
        try broker.createTopic("states", partitions: 1)
        for number in 0..<4 {
            let value = [UInt8](#"{"unit":"C","step":\#(number / 2)}"#.utf8)
            try producer.enqueue(ProducerRecord(topic: "readings", partition: Int32(number % 2), value: value))
            let key = [UInt8]("s\(number % 3)".utf8)
            try producer.enqueue(
                ProducerRecord(topic: "states", partition: 0, key: key, value: number == 2 ? nil : value))
        }
        try producer.flush(timeoutMilliseconds: patientMilliseconds)
        for (topic, count) in [("readings", "4"), ("states", "2")] {
            let arguments = ["--force", "--keep-last", "--set", "kafka.bootstrap.servers=\(broker.bootstrapServers)"]
            let made = try Program.run(["init", "--topic", topic, "--folder", workspace.path(topic)] + arguments)
            #expect(made.status == 0, "\(made.output)\(made.errors)")
            #expect(made.output.contains("4 events, 0 dead letters"), "\(made.output)")
            let configuration = workspace.path(topic) + "/worker.yaml"
            let replayed = try Program.run(["replay", "--topic", topic, "--config", configuration])
            #expect(replayed.status == 0, "\(replayed.output)\(replayed.errors)")
            let entity = topic == "readings" ? "Reading" : "State"
            #expect(try Program.run(["fetch", entity, "--count", "--config", configuration]).output == count + "\n")
        }
    }

    @Test func `a trial in which each record becomes a dead letter ends without a next step`() throws {
        let lines = [#"{"id":"a\u0000"}"#, #"{"id":"b\u0000"}"#, ""]
        let path = try workspace.write(lines.joined(separator: "\n"), to: "things.jsonl")
        let made = try Program.run(["init", path, "--folder", folder])
        #expect(made.status == 65)
        #expect(made.output.contains("0 events, 2 dead letters") && made.output.contains("without NUL characters"))
        #expect(made.errors.contains("Each record would become a dead letter"))
        #expect(made.errors.contains("check --sample"))
        #expect(!made.output.contains("next:"))
    }

    @Test func `files that exist stay, unless --force says otherwise`() throws {
        let path = try workspace.write("id\n1\n", to: "things.csv")
        #expect(try Program.run(["init", path, "--folder", folder]).status == 0)
        let again = try Program.run(["init", path, "--folder", folder])
        #expect(again.status == 64)
        #expect(again.errors.contains("--force"))
        #expect(try Program.run(["init", path, "--folder", folder, "--force"]).status == 0)
    }

    @Test(arguments: [
        ("", "is empty"), ("a,a\n1,2\n", "same name"),
    ]) func `a file that is no table is refused with its place`(text: String, message: String) throws {
        let path = try workspace.write(text, to: "bad.csv")
        let result = try Program.run(["init", path, "--folder", folder])
        #expect(result.status == 65)
        #expect(result.errors.contains("bad.csv"))
        #expect(result.errors.contains(message), "\(result.errors)")
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    @Test func `semicolons are recognised and null markers become missing values`() throws {
        let path = try workspace.write("id;size;note\na;1;x\nb;NA;N/A\nc;3;y\n", to: "things.csv")
        #expect(try Program.run(["init", path, "--folder", folder]).status == 0)
        let made = try Program.run(["replay", path, "--config", folder + "/worker.yaml"])
        #expect(made.status == 0, "\(made.errors)")
        let found = try Program.run(
            ["fetch", "Thing", "--where", "size > 0", "--json", "--config", folder + "/worker.yaml"])
        #expect(found.output == "{\"id\":\"a\",\"size\":1,\"note\":\"x\"}\n{\"id\":\"c\",\"size\":3,\"note\":\"y\"}\n")
        let missing = try Program.run(
            ["fetch", "Thing", "--where", "size = nil AND note = nil", "--count", "--config", folder + "/worker.yaml"])
        #expect(missing.output == "1\n")
    }

    @Test func `init names a header alone, ragged rows and mixed values`() throws {
        let header = try workspace.write("id,name\n", to: "header.csv")
        #expect(try Program.run(["init", header, "--folder", folder]).status == 0)
        let ragged = try workspace.write("id,n\n1,2\n2\n3,x\n", to: "ragged.csv")
        let result = try Program.run(["init", ragged, "--folder", folder, "--force"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.contains("record.fields, first at line 3"))
        #expect(result.output.contains("mixed values"))
        #expect(result.output.contains("2 events, 1 dead letter"))
    }
}
