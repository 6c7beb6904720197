import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct HistoryEpochsTests {
    private var epochs: HistoryEpochs {
        var epochs = HistoryEpochs()
        epochs.fork(minimum: 2, lastToken: 40, lastDeadLetter: 7)
        epochs.fork(minimum: 2, lastToken: 60, lastDeadLetter: 9)
        return epochs
    }

    @Test func `epochs grow and are read as they were written`() {
        #expect(epochs.forks.map(\.epoch) == [2, 3] && epochs.current == 3)
        #expect(HistoryEpochs(text: epochs.text) == epochs)
        #expect(HistoryEpochs(text: nil) == HistoryEpochs() && HistoryEpochs().current == 0)
        #expect([40, 41, 60, 61].map(epochs.epoch(of:)) == [0, 2, 2, 3])
    }

    @Test(
        arguments: [(40, 0, 40), (50, 0, 40), (60, 2, 60), (61, 2, 60), (99, 3, 99), (10, 0, 10)]
            as [(Int64, Int64, Int64)])
    func `a token is shared up to the next fork`(_ token: Int64, _ epoch: Int64, _ shared: Int64) throws {
        #expect(epochs.shared(token, of: epoch) == shared)
        if token == shared {
            try epochs.check(token, of: epoch)
        } else {
            let error = #expect(throws: StoreError.self) { try epochs.check(token, of: epoch) }
            #expect(error?.code == .historyForked && error?.message.contains("up to transaction \(shared)") == true)
        }
    }

    @Test func `an epoch that the history does not know is another history's`() {
        #expect(throws: StoreError.self) { try epochs.check(45, of: 4) }
        #expect(throws: StoreError.self) { try HistoryEpochs().check(1, of: 1) }
    }

    @Test func `a token's text has the epoch behind the number`() throws {
        #expect(try HistoryToken("s:5") == HistoryToken(store: "s", number: 5))
        #expect(try HistoryToken("s:5@2") == HistoryToken(store: "s", number: 5, epoch: 2))
        #expect(HistoryToken(store: "s", number: 5, epoch: 2).description == "s:5@2")
        for text in ["s:5@", "s:@2", "s:5@-1", "s:5@1@2", "s:5@x"] {
            #expect(throws: StoreError.self) { try HistoryToken(text) }
        }
    }
}
