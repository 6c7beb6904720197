import GraphCore

/// The jq program of a route, which makes events of records in a process of its own.
///
/// Used by one thread.
final class RecordProgram {
    let process: ProgramProcess
    /// The inputs for whose outputs nobody has asked yet, the oldest first.
    private var ahead: [[UInt8]] = []
    /// Whether the process has the inputs ahead: one that was started since has none of them.
    private var hasAhead = true
    /// Inputs ahead have no more bytes than a socket holds, so that no process waits for the other to read.
    private static let maximumAheadBytes = 1 << 16
    private let parser: JSONParser
    private let text: String
    /// The texts that stand in the program: an error that is one of them shows nothing of a record.
    private let literals: Set<String>
    /// The place of a program that reads times with an offset, which jq 1.6 forgets; nil for others.
    private(set) var lostOffsets: String?

    /// Compiles a program.
    ///
    /// - Throws: ``RouteError`` with the place of the fault, or a ``DecodeError`` that is retriable where the process
    ///   cannot be started.
    init(_ program: RouteProgram, place: String, limits: LimitConfiguration, executable: String? = nil) throws {
        if !Self.isAvailable {
            throw RouteError(
                location: program.location(line: 1),
                message: "The program of \(place) needs jq, and this worker was built without the package trait 'Jq'")
        }
        do throws(JQTokenizer.Refusal) {
            let tokens = try JQTokenizer(program.text)
            literals = tokens.literals
            if tokens.dropsOffsets { lostOffsets = "\(place), \(program.location(line: 1) ?? "jq")" }
        } catch {
            throw RouteError(
                location: program.location(line: error.line), message: "The program of \(place): \(error.message)")
        }
        // The name keeps programs from finding the value by accident. The program's text begins in the first line, so
        // that lines count alike.
        text = ". as [$key,$headers,$topic,$timestamp,$row,$file,$folder,$offset,$__value]|$__value|(\(program.text)\n)"
        process = ProgramProcess(limits, path: executable)
        parser = JSONParser(depthLimit: limits.maxDepth + 1, maximumBytes: Int(Int32.max))
        switch start() {
        case .started: break
        case .refused(let fault):
            throw RouteError(
                location: program.location(line: fault.line),
                message: "jq refuses the program of \(place): \(fault.message)")
        case .failed(let reason): throw Self.unavailable(reason)
        }
    }

    /// Tells whether the program's text has the name of a header.
    func names(_ header: String) -> Bool { text.contains(header) }

    private static var isAvailable: Bool {
        #if Jq
        true
        #else
        false
        #endif
    }

    private enum Start {
        case started
        case refused(JQTokenizer.Refusal)
        case failed(String)
    }

    private func start() -> Start {
        hasAhead = ahead.isEmpty
        do throws(ProgramProcess.StartFailure) { try process.start() } catch { return .failed(error.reason) }
        switch process.exchange(Array(text.utf8)) {
        case .frame(UInt8(ascii: "r"), _): return .started
        case .frame(_, let fault): return .refused(ProgramFault.compiling(String(decoding: fault, as: UTF8.self)))
        case .ended(.memory): return .failed("limits.maxProgramMegabytes is too small for it")
        case .ended, .silent: return .failed("it ended before it was ready")
        }
    }

    private static func unavailable(_ reason: String) -> DecodeError {
        DecodeError(
            code: "jq.unavailable", "The process that runs jq programs cannot be started: \(reason)", isRetriable: true)
    }

    /// The number of inputs that the process has ahead; for tests.
    var aheadCount: Int { ahead.count }

    /// Gives the process an input for whose outputs somebody asks soon: it works on that while the worker does. Nothing
    /// depends on it but the time.
    ///
    /// - Returns: false where it takes no more. No input behind this one may be given then before this one's turn: the
    ///   process would have to answer that first.
    func expect(_ input: [UInt8]) -> Bool {
        let bytes = ahead.reduce(input.count) { $0 + $1.count }
        guard process.isRunning, hasAhead, ahead.count < RecordsAhead.limit, bytes <= Self.maximumAheadBytes,
            process.send(frame: input) == nil
        else { return false }
        ahead.append(input)
        return true
    }

    /// Takes an input from the inputs ahead, and passes over those before it, or over all where it is not among them.
    ///
    /// - Returns: whether the process has the input, and answers it next.
    private func takeAhead(_ input: [UInt8]) -> Bool {
        let place = ahead.firstIndex(of: input)
        for _ in 0..<(place ?? ahead.count) {
            ahead.removeFirst()
            if hasAhead, process.isRunning, case .frame = process.answer() { continue }
            hasAhead = false
        }
        if place != nil { ahead.removeFirst() }
        return place != nil && hasAhead && process.isRunning
    }

    /// Gives the inputs ahead to a process that was started since they were given to another.
    private func giveAheadAgain() {
        if hasAhead { return }
        hasAhead = ahead.allSatisfy { process.send(frame: $0) == nil }
    }

    /// Runs the program on an input, which is the JSON text of its variables and of the value in an array.
    ///
    /// - Returns: the outputs as an array, valid until the next run.
    func outputs(of input: [UInt8]) throws(DecodeError) -> JSONValue {
        var isSent = takeAhead(input)
        var run = ProgramRun()
        var mark: UInt8 = 0
        var content: [UInt8] = []
        var action = run.take(.begin(isProcessReady: process.isRunning))
        while true {
            switch action {
            case .start:
                switch start() {
                case .started: action = run.take(.started)
                case .refused(let fault): action = run.take(.notStarted(fault.message))
                case .failed(let reason): action = run.take(.notStarted(reason))
                }
            case .send:
                let answer = isSent ? process.answer() : process.exchange(input)
                isSent = false
                switch answer {
                case .frame(let answered, let bytes):
                    (mark, content) = (answered, bytes)
                    action = run.take(.answered)
                case .ended(let end): action = run.take(.ended(end))
                case .silent: action = run.take(.silent)
                }
            case .finish:
                giveAheadAgain()
                return try result(mark, content)
            case .fail(let code, let message): throw DecodeError(code: code, message)
            case .wait(let reason): throw Self.unavailable(reason)
            }
        }
    }

    private func result(_ mark: UInt8, _ content: [UInt8]) throws(DecodeError) -> JSONValue {
        switch mark {
        case UInt8(ascii: "o"): break
        case UInt8(ascii: "e"):
            let words = ProgramFault.running(String(decoding: content, as: UTF8.self), literals: literals)
            throw DecodeError(code: "jq.error", "The program ends with an error: \(words)")
        case UInt8(ascii: "p"):
            throw DecodeError(code: "jq.depth", "The record is nested deeper than jq reads, which is 256 levels")
        default:
            throw DecodeError(
                code: "jq.output",
                "The program makes more of the record than limits.maxRecordBytes. Raise the limit, or write less")
        }
        let outputs: JSONValue
        do { outputs = try parser.parse(content).root } catch { throw DecodeError(error) }
        return outputs
    }
}
