import KafkaClient
import ObjectGraph

@testable import IngestCore

/// Paths, templates and conditions of routes: refused with a reason, or evaluated on any record without harm, each time
/// with the same result.
struct ExpressionTarget: FuzzTarget {
    private let parser: JSONParser
    private let keys: RecordKeys

    init() throws {
        parser = JSONParser()
        keys = RecordKeys(depthLimit: 64, maximumBytes: 1 << 20)
    }

    /// The first byte chooses the kind, the expression follows up to a NUL, then the record.
    func take(_ bytes: UnsafeRawBufferPointer) throws {
        guard let first = bytes.first, let end = bytes.dropFirst().firstIndex(of: 0) else { return }
        let text = String(decoding: bytes[1..<end], as: UTF8.self)
        let value = UnsafeRawBufferPointer(rebasing: bytes[(end + 1)...])
        guard let root = try? parser.parse(value).root else { return }
        switch first % 3 {
        case 0: try takePath(text, root)
        case 1: try takeExpression(text, root, value, isSplit: first & 4 != 0)
        default: try takeCondition(text, root)
        }
    }

    private func takePath(_ text: String, _ root: JSONValue) throws {
        guard let path = try read({ () throws(ExpressionError) in try RecordPath(text) }) else { return }
        let found = root.member(at: path)?.serialized()
        var value: JSONValue? = root
        for step in path.steps {
            switch step {
            case .key(let key): value = value?.member(named: String(decoding: key, as: UTF8.self))
            case .index(let index): value = value.flatMap { Array($0.elements).dropFirst(index).first }
            }
        }
        if found != value?.serialized() { throw Broken("the steps of a path lead elsewhere than the path") }
    }

    private func takeExpression(
        _ text: String, _ root: JSONValue, _ value: UnsafeRawBufferPointer, isSplit: Bool
    ) throws {
        let read = try read { () throws(ExpressionError) in try RouteExpression(text, isSplit: isSplit) }
        guard let expression = read else { return }
        var record = SourceRecord(
            place: RecordPlace(topic: "topic", partition: 0, offset: 7), key: value, value: value)
        record.headers = [RecordHeader("h", Array("x".utf8)), RecordHeader("n", nil)]
        let scope = RouteScope(record, root: root, keys: keys)
        let result = Result { () throws(DecodeError) in try expression.text(in: scope) }
        let again = Result { () throws(DecodeError) in try expression.text(in: scope) }
        switch (result, again) {
        case (.success(let one), .success(let two)) where one == two: break
        case (.failure(let one), .failure(let two)) where one == two && !one.message.isEmpty: break
        default: throw Broken("an expression gives one value, then another")
        }
        // A template of one path is the path.
        guard case .path(let path)? = expression.parts.first, expression.parts.count == 1,
            let single = try? RouteExpression(path.text), case .path(path)? = single.parts.first,
            single.parts.count == 1
        else { return }
        if let alone = try? single.text(in: scope), let whole = try? result.get(), alone != whole {
            throw Broken("a path alone gives another value")
        }
    }

    private func takeCondition(_ text: String, _ root: JSONValue) throws {
        let condition: RecordCondition
        do throws(ConditionError) {
            condition = try RecordCondition(text)
        } catch {
            if error.description.isEmpty { throw Broken("an error without words") }
            return
        }
        let holds = condition.holds(for: root)
        if let negated = try? RecordCondition("NOT (\(text))"), negated.holds(for: root) == holds {
            throw Broken("a condition and its negation are one")
        }
    }

    private func read<Value>(_ body: () throws(ExpressionError) -> Value) throws -> Value? {
        do throws(ExpressionError) {
            return try body()
        } catch {
            if error.message.isEmpty { throw Broken("an error without words") }
            return nil
        }
    }
}
