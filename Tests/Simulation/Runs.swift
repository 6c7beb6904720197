import GraphModel

/// How much was lived.
package struct Tally: Equatable, CustomStringConvertible {
    package var lives: UInt64 = 0
    package var steps = 0
    package var records = 0
    package var seconds = 0.0

    package var description: String {
        let minute = seconds > 0 ? Double(lives) / seconds * 60 : 0
        return "\(lives) lives, \(steps) steps, \(records) records in \(Int(seconds)) s: \(Int(minute)) lives a minute"
    }
}

/// Many lives in a row, until one fails.
package struct Runs {
    private let model: ObjectModel
    private let kind: Life.Kind
    private let first: UInt64
    private let lives: UInt64
    private let seconds: Double?
    package private(set) var tally = Tally()

    /// The number of lives of which the last is lived again: an equal seed has to give an equal life.
    package static let block: UInt64 = 500

    /// - Parameters:
    ///   - lives: how many to live at most.
    ///   - seconds: after which time to begin no other; nil sets none.
    package init(
        model: ObjectModel, kind: Life.Kind = .workers, first: UInt64, lives: UInt64, seconds: Double?
    ) {
        self.model = model
        self.kind = kind
        self.first = first
        self.lives = lives
        self.seconds = seconds
    }

    /// Lives, and returns the report of the first life that fails.
    package mutating func run(progress: (String) -> Void) -> String? {
        let start = MonotonicClock.seconds()
        while tally.lives < lives {
            let life = Life(seed: first &+ tally.lives, model: model, kind: kind)
            let outcome = life.run(life.actions)
            tally.lives += 1
            tally.steps += outcome.stepCount
            tally.records += outcome.recordCount
            tally.seconds = MonotonicClock.seconds() - start
            if outcome.violation != nil { return life.report() ?? "seed \(life.seed) fails only sometimes" }
            if tally.lives % Self.block == 0 {
                if life.run(life.actions).digest != outcome.digest { return "seed \(life.seed) does not repeat" }
                progress("\(tally)")
            }
            if let seconds, tally.seconds >= seconds { break }
        }
        return nil
    }
}

/// The model of the simulated stores: the one of chats that the package ships.
package enum SimulatedModel {
    /// This file stands three levels below the package's folder.
    private static let path =
        #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        .joined(separator: "/") + "/config/models/chat.yaml"

    package static func chat() throws -> ObjectModel { try ObjectModel.load(path: path) }
}
