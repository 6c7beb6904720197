import Foundation

/// What libFuzzer calls: takes an input's bytes, and throws where a promise is broken.
protocol FuzzTarget {
    init() throws
    func take(_ bytes: UnsafeRawBufferPointer) throws
}

/// A promise that did not hold.
struct Broken: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

private let targets: [String: any FuzzTarget.Type] = [
    "records": RecordTarget.self, "files": FileTarget.self, "models": ModelTarget.self,
    "coredata": CoreDataTarget.self, "predicates": PredicateTarget.self, "configuration": ConfigurationTarget.self,
    "texts": TextTarget.self, "expressions": ExpressionTarget.self, "programs": ProgramTarget.self,
    "schemas": SchemaTarget.self,
]

// libFuzzer has one thread.
nonisolated(unsafe) private let target: any FuzzTarget = {
    guard let type = targets[ProcessInfo.processInfo.environment["FUZZ_TARGET"] ?? ""] else {
        print("FUZZ_TARGET is one of: " + targets.keys.sorted().joined(separator: ", "))
        exit(64)
    }
    do {
        return try type.init()
    } catch {
        fatalError("the target cannot be made: \(error)")
    }
}()

/// Takes one input; a promise that is broken ends the process, which libFuzzer tells and keeps the input for.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    do {
        try target.take(UnsafeRawBufferPointer(start: data, count: size))
    } catch {
        fatalError("\(error)")
    }
    return 0
}
