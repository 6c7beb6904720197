import Testing

@testable import GraphCore
@testable import ObjectGraph

@Suite struct DeletionOriginsTests {
    private static func key(_ pk: Int64) -> ObjectKey { ObjectKey(entity: 0, pk: pk) }

    /// 1 takes 2 and 3 along, both take 4 along, and 5 takes 3 along; 1 and 5 were deleted by a program.
    private static let diamond: DeletionOrigins = {
        var origins = DeletionOrigins()
        origins.note([key(1), key(5)])
        for (leader, follower) in [(1, 2), (1, 3), (2, 4), (3, 4), (5, 3), (4, 1)] as [(Int64, Int64)] {
            origins.note(key(follower), goesWith: key(leader))
        }
        return origins
    }()

    @Test(
        arguments: [
            ([], [1, 2, 3, 4, 5]), ([1], [1, 2, 3, 4, 5]), ([5], [1, 2, 3, 4]), ([1, 5], []),
            ([2, 3, 4], [1, 2, 3, 4, 5]),
            ([1, 2, 3, 4, 5], []),
        ] as [([Int64], [Int64])])
    func `a deletion drops the objects that it cascaded to`(_ staying: [Int64], _ going: [Int64]) {
        let found = Self.diamond.going((1...5).map(Self.key), staying: Set(staying.map(Self.key)))
        // The circle: while 5 goes, it takes along 3, 4 and so 1, though 1 alone was to stay.
        #expect(found == Set(going.map(Self.key)))
    }

    @Test func `a deletion without a known origin stands alone`() {
        let found = Self.diamond.going([Self.key(1), Self.key(9)], staying: [Self.key(1), Self.key(5)])
        #expect(found == [Self.key(9)])
    }
}
