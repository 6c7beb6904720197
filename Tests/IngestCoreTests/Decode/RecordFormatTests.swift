import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

/// Lines of entity, identity and name, parted by semicolons: a format that this file alone defines.
private struct SemicolonFormat: RecordFormat {
    func decode(
        _ value: UnsafeRawBufferPointer, _ record: SourceRecord, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet {
        let parts = String(decoding: value, as: UTF8.self).split(separator: ";").map(String.init)
        guard parts.count == 3, let entity = decoder.model.entities.first(where: { $0.name == parts[0] }),
            let identity = entity.identityValue(fromText: parts[1]),
            let name = entity.attributes.first(where: { $0.name == "name" })
        else { throw DecodeError(code: "decode.semicolons", "Send ENTITY;IDENTITY;NAME") }
        var operation = ObjectOperation(.upsert, entity: entity.index, identity: identity)
        operation.attributes.append(.init(slot: name.slot, value: .text(parts[2])))
        return ChangeSet(operation)
    }

    func decodeTombstone(_ record: SourceRecord, _ decoder: EventDecoder) throws(DecodeError) -> ChangeSet {
        decoder.skipped(.tombstone)
    }
}

extension EventFormat {
    fileprivate static let semicolons = EventFormat("semicolons", SemicolonFormat())
}

struct RecordFormatTests {
    @Test func `a format is a file with a type and its name`() throws {
        let decoder = try TestDecoder(TestModels.kinds(), format: .semicolons)
        #expect(try decoder.shown("WorkOrder;w1;Pump") == ["upsert WorkOrder w1 name=Pump"])
        #expect(decoder.failure("WorkOrder;w1")?.code == "decode.semicolons")
        #expect(try decoder.shown(TestRecord(nil, key: "w1")) == [])
    }

    @Test func `the list of formats is where names are found`() {
        for format in EventFormat.allCases { #expect(EventFormat(rawValue: format.rawValue) == format) }
        #expect(Set(EventFormat.allCases.map(\.rawValue)).count == EventFormat.allCases.count)
        #expect(EventFormat(rawValue: "semicolons") == nil)
    }
}
