import Testing

@testable import IngestCore

/// The decision whether the broker lost records that were delivered.
@Suite struct SentMarksTests {
    private func marks(_ delivered: (Int32, Int64)...) -> SentMarks {
        var marks = SentMarks()
        for (partition, offset) in delivered { marks.delivered(partition, at: offset) }
        return marks
    }

    @Test func `a partition that ends at its mark or behind it lost nothing`() {
        let marks = marks((0, 4), (0, 5), (1, 9))
        #expect(marks.partitions == [0, 1])
        #expect(marks.lost([0, 1], ends: [0: 6, 1: 12]).isEmpty)
        // Of a partition whose end was not told nothing is known.
        #expect(marks.lost([0, 1, 2], ends: [0: 6]).isEmpty)
        #expect(SentMarks().lost([0], ends: [0: 0]).isEmpty)
    }

    @Test func `a partition that ends before its mark lost its end, and one that is gone lost all`() {
        let marks = marks((0, 5), (1, 9), (2, 3))
        #expect(marks.lost([0, 1], ends: [0: 2, 1: 10]) == [0: 2, 2: 0])
    }

    @Test func `a delivery before the mark shows a loss, though the partition has grown beyond it since`() {
        var marks = marks((0, 5), (0, 2), (0, 3), (0, 7))
        #expect(marks.showsLoss)
        let lost = marks.lost([0], ends: [0: 8])
        #expect(lost == [0: 2])
        marks.accept(lost, sendingAgain: .init(reached: 2, through: 7))
        #expect(!marks.showsLoss && marks.lost([0], ends: [0: 8]).isEmpty)
        #expect(marks.lost([0], ends: [0: 1]) == [0: 1])
    }

    /// The records 0 to 2 were under way when all before them was lost; then all was sent again from 3 on.
    @Test func `records that were under way during a loss are no end of what the topic keeps at the next one`() throws {
        var marks = marks((0, 21), (0, 0), (0, 2))
        marks.accept([0: 0], sendingAgain: .init(reached: 0, through: 20))
        #expect(marks.orderedEnd(0, 3) == 0)
        for offset: Int64 in 3...9 { marks.delivered(0, at: offset) }
        _ = marks.reached(20)
        #expect("\(marks)" == "0:10:0:3")
        for marks in [marks, try #require(SentMarks("0:10:0:3"))] {
            #expect(marks.orderedEnd(0, 10) == 10 && marks.orderedEnd(0, 4) == 4)
            #expect(marks.orderedEnd(0, 3) == 0 && marks.orderedEnd(0, 1) == 0)
        }
        // A loss that no record was under way at.
        marks.accept([0: 7], sendingAgain: .init(reached: 3, through: 9))
        marks.delivered(0, at: 7)
        _ = marks.reached(9)
        #expect("\(marks)" == "0:8:0:3" && marks.orderedEnd(0, 5) == 5 && marks.orderedEnd(0, 2) == 0)
        #expect(SentMarks("\(marks)") == marks)
        #expect(SentMarks("0:10:0:3:1:1") == nil && SentMarks("0:10:0:x") == nil)
    }

    /// Each loss is behind the records that were under way at the one before, and the last one is among the first of them.
    @Test func `a loss among records that were under way at an earlier one has its order, however many came between`()
        throws
    {
        var marks = marks((0, 21), (0, 0), (0, 2))
        marks.accept([0: 0], sendingAgain: .init(reached: 0, through: 20))
        for offset: Int64 in 3...100 { marks.delivered(0, at: offset) }
        for loss: Int64 in 1...3 {
            let end = 20 * loss
            marks.delivered(0, at: end)
            marks.accept([0: end], sendingAgain: .init(reached: 0, through: 20))
            for offset in end + 5...end + 50 { marks.delivered(0, at: offset) }
        }
        #expect("\(marks)" == "again:0:20 0:111:0:3:20:25:40:45:60:65" && SentMarks("\(marks)") == marks)
        #expect([2, 3, 10, 22, 30, 44, 61, 70].map { marks.orderedEnd(0, $0) } == [0, 0, 10, 20, 30, 40, 60, 70])
        // A loss before the later ones forgets them.
        marks.accept([0: 22], sendingAgain: .init(reached: 0, through: 20))
        marks.delivered(0, at: 30)
        #expect("\(marks)" == "again:0:20 0:31:0:3:20:30")
    }

    @Test func `of more losses than are kept, the first ones count as one`() throws {
        var marks = marks((0, 0))
        for loss: Int64 in 0...8 {
            marks.accept([0: 10 * loss], sendingAgain: .init(reached: 0, through: 20))
            for offset in 10 * loss + 2...10 * loss + 10 { marks.delivered(0, at: offset) }
        }
        #expect([1, 5, 12, 13, 21, 23, 82].map { marks.orderedEnd(0, $0) } == [0, 0, 0, 13, 20, 23, 80])
        #expect(try #require(SentMarks("\(marks)")) == marks)
    }

    /// A worker may save the marks before it looks, and be killed then.
    @Test func `a loss that deliveries have shown is one for the next worker, too`() throws {
        var marks = marks((0, 21), (0, 4), (0, 30))
        #expect("\(marks)" == "0:31:4")
        #expect(try #require(SentMarks("\(marks)")).lost([0], ends: [0: 31]) == [0: 4])
        marks.accept([0: 4], sendingAgain: .init(reached: 3, through: 21))
        marks.delivered(0, at: 6)
        marks.delivered(0, at: 2)
        #expect("\(marks)" == "again:3:21 0:7:4:6:2" && SentMarks("\(marks)") == marks)
    }

    @Test func `the next worker goes on with what is sent again`() throws {
        var marks = marks((0, 21))
        marks.accept([0: 4], sendingAgain: .init(reached: 3, through: 21))
        let hasReachedTen = marks.reached(10)
        #expect(!hasReachedTen && marks.again == .init(reached: 10, through: 21))
        // Another loss, of which the cursor knows less.
        marks.accept([0: 2], sendingAgain: .init(reached: 1, through: 10))
        marks = try #require(SentMarks("\(marks)"))
        #expect(marks.again == .init(reached: 1, through: 21))
        // Of the last entry it tells once.
        let ends = [20, 21, 22].map { marks.reached($0) }
        #expect(ends == [false, true, false] && marks.again == nil)
    }

    @Test func `an offset that is not known says nothing`() {
        #expect(marks((0, 5), (0, -1), (0, -1001)) == marks((0, 5)))
    }

    @Test func `the store gives the marks back`() throws {
        let marks = marks((10, 5), (2, 9_000_000_000))
        #expect("\(marks)" == "2:9000000001 10:6")
        #expect(SentMarks("\(marks)") == marks)
        #expect(SentMarks("again:3") == nil)
        #expect(SentMarks("") == SentMarks() && SentMarks("2") == nil && SentMarks("a:1") == nil)
    }
}
