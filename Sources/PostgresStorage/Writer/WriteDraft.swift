/// The reads of a chunk and its writes to come, while no transaction is open: docs/explanation/many-writers.md.
final class WriteDraft {
    /// A request with the digest of its answer.
    struct Read {
        let request: ReadRequest
        let digest: ReadDigest
    }

    private(set) var reads: [Read] = []
    /// The memory of the requests' values, which the chunk's own does not outlive.
    private let arena = ValueArena()
    /// The last token before the first read, and the server's mark; nil before it.
    var found: (token: Int64, server: String)?
    /// The statements of the transaction, in their order.
    private(set) var statements: [PostgresStatement] = []
    var positions: [SourcePosition] = []
    /// The next primary keys of hierarchies, by the positions of their roots.
    var nextKeys: [Int: Int64] = [:]
    /// The counters, until they are asked for.
    var counters: StoreCounters?

    /// Keeps the answers to a read plan. An answer that reached its limit says nothing of the rest. An object that is
    /// there has no tombstone unless it is a placeholder, and its row is compared. So the other tombstones are enough.
    ///
    /// - Parameter present: the identities of such objects in the answers, by the positions of their roots.
    /// - Throws: ``StoreError`` with code `store.conflict` where the answers cannot be compared later.
    func note(
        _ plan: [ReadRequest], _ digests: [ReadDigest], present: [Int: Set<Value>]
    ) throws(StoreError) {
        for (request, digest) in zip(plan, digests) {
            switch request {
            case .rows(_, _, let limit?) where digest.count >= limit: throw .conflict
            case .links(_, _, _, let limit?) where digest.count >= limit: throw .conflict
            case .tombstones(let lists):
                let absent = lists.map { root, identities in
                    (root: root, identities: identities.filter { present[root]?.contains($0.value) != true })
                }.filter { !$0.identities.isEmpty }
                if !absent.isEmpty { keep(.tombstones(absent), digest) }
            default: keep(request, digest)
            }
        }
    }

    private func keep(_ request: ReadRequest, _ digest: ReadDigest) {
        reads.append(Read(request: request.copy(in: arena), digest: digest))
    }

    func append(_ statement: PostgresStatement) { statements.append(statement) }
}

/// A number for an answer: equal answers have equal ones, in whatever order their rows come.
struct ReadDigest: Equatable {
    private(set) var count = 0
    private(set) var rows: Int64 = 0

    init() {}

    /// Adds a row by the server's hash of it.
    mutating func add(_ hash: Int64) {
        count += 1
        rows ^= hash
    }
}

extension StoreError {
    /// The error of a chunk that another writer got in the way of.
    static let conflict = StoreError(
        .conflict, "Another writer has changed what the chunk has read", remedy: "Apply the chunk again")
}
