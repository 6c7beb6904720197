import GraphCore
import IngestCore

extension Examiner {
    /// Reads from the store whether purges by age wait for an operator.
    func examinePurges() throws -> Examination.Outcome {
        if isStoreFaulty { return .skipped("not examined, since the store cannot be read") }
        let model = try model()
        guard try configuration.hasStore(model: model) else { return .skipped("there is no store yet") }
        let store = try configuration.openStoreForReading(model: model)
        defer { try? store.close() }
        guard let held = try store.read({ try HeldPurges($0) }) else { return .ok("none is held") }
        return .warning("\(HeldPurges.title): \(held.reason)", remedy: HeldPurges.remedy)
    }
}
