import GraphCore
import Inference
import IngestCore

extension InitCommand {
    /// A model that was inferred, and its trial.
    struct Proposal {
        /// The outcome of a file's records.
        struct Trial {
            let path: String
            let events: Int
            let deadLetters: Int
            let firstLetter: String?
        }

        let model: InferredModel
        var trials: [Trial] = []
        /// The entities with fewer objects than records.
        var losses: [ObjectCount.Loss] = []

        /// Whether an import would bring something.
        var isUseful: Bool { trials.allSatisfy { $0.deadLetters == 0 } || trials.contains { $0.events > 0 } }

        /// The proposal as one JSON object.
        func json(model path: String, configuration: String, next: String) -> String {
            JSONObject([
                "model": path, "configuration": configuration, "entities": model.entities.map(Self.object),
                "warnings": model.warnings,
                "files": trials.map {
                    JSONObject([
                        "path": $0.path, "events": $0.events, "deadLetters": $0.deadLetters,
                        "firstDeadLetter": $0.firstLetter,
                    ])
                },
                "losses": losses.map {
                    JSONObject([
                        "entity": $0.entity, "identity": $0.identity, "records": $0.records, "objects": $0.objects,
                    ])
                },
                "next": next,
            ]).json
        }

        private static func object(_ entity: InferredModel.Entity) -> JSONObject {
            JSONObject([
                "name": entity.name, "path": entity.profile.path, "records": entity.profile.recordCount,
                "attributes": entity.attributes.map(\.name), "identity": entity.identity,
                "identityReason": entity.identityReason, "emptyRows": entity.profile.emptyCount,
                "brokenRecords": entity.profile.faults.values.reduce(0) { $0 + $1.count },
                "relationships": entity.relationships.filter { $0.column != nil }.map {
                    JSONObject(["name": $0.name, "destination": $0.destination, "reason": $0.reason])
                },
            ])
        }
    }
}
