import IngestCore
import Logging
import ObjectGraph

/// Replays a file into the configuration's store, and says what came of it.
func replayFile(_ path: String, into configuration: WorkerConfiguration) throws -> String {
    let model = try ObjectModel.load(path: configuration.model)
    let counts = try configuration.replay(files: [path], model: model, logger: Logger(label: "replay"))
    return "\(counts.applied) applied; dead letters: \(counts.deadLetters)"
}
