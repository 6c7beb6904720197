import GraphCore

/// The jq program of a route, which makes events of records in a process of its own.
///
/// Used by one thread.
final class RecordProgram {
    let process: ProgramProcess
    /// The inputs that the process has, and for whose outputs nobody has asked yet; the oldest first.
    private var ahead: [InputAhead] = []
    /// Inputs ahead have no more bytes than a socket holds, so that no process waits for the other to read.
    private static let maximumAheadBytes = 1 << 16

    private struct InputAhead {
        let input: [UInt8]
        /// The answer, where another input's came behind it; nil while the process has not given it.
        var answer: ProgramProcess.Answer?
    }

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
        ahead = []
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
    func expect(_ input: [UInt8]) {
        let bytes = ahead.reduce(input.count) { $0 + $1.input.count }
        guard process.isRunning, ahead.count < RecordsAhead.limit, bytes <= Self.maximumAheadBytes else { return }
        if process.send(frame: input) == nil { ahead.append(InputAhead(input: input)) }
    }

    /// Returns the answer to an input, which the process may have been given ahead. It answers inputs in their order. The
    /// answers before are kept; where this input was given behind them, nobody asks for them, and they are passed over.
    ///
    /// - Returns: nil where the process ended at another input.
    private func answer(to input: [UInt8]) -> ProgramProcess.Answer? {
        let isAhead = ahead.contains { $0.input == input }
        if !isAhead, let failure = process.send(frame: input) { return ahead.isEmpty ? failure : nil }
        var kept: [InputAhead] = []
        while let next = ahead.first {
            ahead.removeFirst()
            let answer = next.answer ?? process.answer()
            if next.input == input { return answer }
            guard case .frame(_, let content) = answer else { return nil }
            // The process makes a large one again, which would take room for long.
            if content.count <= Self.maximumAheadBytes { kept.append(InputAhead(input: next.input, answer: answer)) }
        }
        ahead = kept
        return process.answer()
    }

    /// Runs the program on an input, which is the JSON text of its variables and of the value in an array.
    ///
    /// - Returns: the outputs as an array, valid until the next run.
    func outputs(of input: [UInt8]) throws(DecodeError) -> JSONValue {
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
                switch answer(to: input) {
                case nil: action = run.take(.endedAtAnother)
                case .frame(let answered, let bytes):
                    (mark, content) = (answered, bytes)
                    action = run.take(.answered)
                case .ended(let end): action = run.take(.ended(end))
                case .silent: action = run.take(.silent)
                }
            case .finish: return try result(mark, content)
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
