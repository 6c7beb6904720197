@testable import IngestCore

/// Change events as Debezium's connectors write them, made up for the chat model.
enum DebeziumRecords {
    static let source = """
        {"version":"2.7.3.Final","connector":"postgresql","name":"shop","ts_ms":1767323045123,"snapshot":"false",\
        "db":"chats","sequence":"[\\"24023119\\",\\"24023128\\"]","ts_us":1767323045123456,"ts_ns":1767323045123456000,\
        "schema":"public","table":"messages","txId":555,"lsn":24023128,"xmin":null}
        """

    /// An envelope without the schema wrapper.
    static func change(
        _ operation: String, before: String = "null", after: String = "null", source: String = source
    ) -> String {
        """
        {"before":\(before),"after":\(after),"source":\(source),"transaction":null,"op":"\(operation)",\
        "ts_ms":1767323045999,"ts_us":1767323045999001,"ts_ns":1767323045999001000}
        """
    }

    static func source(table: String) -> String {
        source.replacing("\"table\":\"messages\"", with: "\"table\":\"\(table)\"")
    }

    /// A field's schema.
    static func field(_ name: String, _ type: String, _ logical: String? = nil, scale: Int? = nil) -> String {
        let meaning = logical.map { ",\"name\":\"\($0)\",\"version\":1" } ?? ""
        let parameters =
            scale.map { ",\"parameters\":{\"scale\":\"\($0)\",\"connect.decimal.precision\":\"10\"}" } ?? ""
        return "{\"type\":\"\(type)\",\"optional\":true\(meaning)\(parameters),\"field\":\"\(name)\"}"
    }

    /// A struct's schema.
    static func structure(_ fields: [String], field: String? = nil) -> String {
        let place = field.map { ",\"field\":\"\($0)\"" } ?? ""
        return
            "{\"type\":\"struct\",\"fields\":[\(fields.joined(separator: ","))],\"optional\":true,\"name\":\"shop.Value\"\(place)}"
    }

    /// An envelope in the schema wrapper of Kafka Connect's JSON converter.
    static func wrapped(_ envelope: String, row: [String]) -> String {
        let parts = [
            structure(row, field: "before"), structure(row, field: "after"),
            structure([field("table", "string"), field("lsn", "int64")], field: "source"), field("op", "string"),
            field("ts_ms", "int64"),
        ]
        return "{\"schema\":\(structure(parts)),\"payload\":\(envelope)}"
    }
}
