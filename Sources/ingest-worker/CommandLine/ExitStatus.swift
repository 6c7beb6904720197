import ArgumentParser
import Foundation
import GraphCore
import Inference
import IngestCore
import KafkaClient
import Operations
import RecordDecoding
import RecordFiles

/// The exit codes of sysexits.h that scripts can rely on.
enum ExitStatus {
    static let usage: Int32 = 64
    static let badData: Int32 = 65
    static let unavailable: Int32 = 69
    static let internalError: Int32 = 70
    static let tryAgain: Int32 = 75
    static let configuration: Int32 = 78

    /// Returns the code of an error, or nil where the argument parser has to say it.
    static func code(of error: any Error) -> Int32? {
        switch error {
        case is ConfigurationError, is ModelError, is RouteError, is PartitionError: configuration
        case let error as StoreError: storeCode(error.code)
        case let error as ControlError: controlCode(error)
        case let error as MigrationError: migrationCode(error)
        case let error as KafkaError: kafkaCode(error)
        case let error as RebuildError: error.code == .foreign ? configuration : badData
        case let error as TopicReplayError: [.gone, .unreadable].contains(error.code) ? badData : configuration
        case is RetryBudget.Spent, is OutputError: tryAgain
        case let error as ExaminationError: examinationCode(error.code)
        case let error as DecodeError: error.isRetriable ? tryAgain : badData
        case let error as InferenceError:
            [InferenceError.tooManyColumns, InferenceError.repeats].contains(error.code) ? configuration : badData
        case is RecordFileError, is IngestPipeline.Halt: badData
        case is FetchPredicateError: usage
        case is HTTPServerError: unavailable
        case let error as CommandError: error.code
        case is CleanExit, is ValidationError, is ExitCode: nil
        default: isParserError(error) ? nil : internalError
        }
    }

    private static func isParserError(_ error: any Error) -> Bool {
        String(reflecting: type(of: error)).hasPrefix("ArgumentParser.")
    }

    /// Returns the exit code that another process's answer would have had here.
    private static func controlCode(_ error: ControlError) -> Int32 {
        if let code = StoreError.Code(rawValue: error.code) { return storeCode(code) }
        return switch ControlError.Kind(rawValue: error.code) {
        case .token, .tooLong, .keyReused: usage
        case .busy, .ending, .interrupted, .late, .silent, .abandoned: tryAgain
        case .forbidden, .otherStore, .cursorInUse, .suspect, .unavailable: unavailable
        case .configuration, .version, .unknown, .noBackupFolder: configuration
        case nil where error.isRetriable: tryAgain
        case .malformed, nil: internalError
        }
    }

    private static func examinationCode(_ code: ExaminationError.Code) -> Int32 {
        switch code {
        case .topic, .group: configuration
        case .position, .deadLetters: badData
        case .worker: tryAgain
        case .machine, .certificate, .clock: unavailable
        }
    }

    private static func storeCode(_ code: StoreError.Code) -> Int32 {
        switch code {
        case .modelMismatch, .modelUnsuited, .newerFormat, .olderFormat: configuration
        case .historyExpired, .historyForeignToken, .historyTokenAhead, .historyForked, .historyMalformedToken: badData
        case .busy, .full, .fenced, .positionConflict, .conflict, .disconnected: tryAgain
        case .tooComplex, .timeLimit: usage
        case .leased, .inputOutput, .corrupt, .unavailable: unavailable
        case .constraint, .value, .database: internalError
        }
    }

    private static func migrationCode(_ error: MigrationError) -> Int32 {
        switch error.code {
        case .notInferable, .missingSource, .newerModel, .missingStage: configuration
        case .rows, .losses: badData
        case .failed: internalError
        }
    }

    private static func kafkaCode(_ error: KafkaError) -> Int32 {
        let refused: Set = [KafkaError.Code.unknownProperty, .invalidProperty, .unsupportedByLibrary]
        return refused.contains(error.code) ? configuration : unavailable
    }
}

/// An error that a command itself finds.
struct CommandError: Error, CustomStringConvertible {
    let code: Int32
    let description: String

    /// Throws where a path has no file that this user may read; `-` is standard input.
    static func checkFile(_ path: String) throws {
        if path == "-" || access(path, R_OK) == 0 { return }
        let description =
            [ENOENT, ENOTDIR].contains(errno)
            ? "There is no file at \(path). Check the path"
            : "\(path) cannot be read: \(String(cString: strerror(errno))). Check its permissions"
        throw CommandError(code: ExitStatus.badData, description: description)
    }
}
