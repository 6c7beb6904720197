import GraphCore

/// Why objects of an editing context go: a program deleted them, or the rule 'cascade' reaches them from others.
package struct DeletionOrigins {
    private var roots: Set<ObjectKey> = []
    private var followers: [ObjectKey: [ObjectKey]] = [:]

    /// Notes the objects that a program deleted.
    package mutating func note(_ roots: [ObjectKey]) { self.roots.formUnion(roots) }

    /// Notes that an object goes with another one.
    package mutating func note(_ object: ObjectKey, goesWith leader: ObjectKey) {
        followers[leader, default: []].append(object)
    }

    /// Returns the objects to delete where some of the deleted objects survive. These are the objects that a program
    /// deleted, without the survivors. All objects that delete rules reach from them are included.
    ///
    /// An object that was deleted without a known reason counts as deleted by the program.
    package func going(_ deleted: [ObjectKey], staying: Set<ObjectKey>) -> Set<ObjectKey> {
        if staying.isEmpty { return Set(deleted) }
        let known = reached(from: roots)
        let own = roots.union(deleted.filter { !known.contains($0) })
        return reached(from: own.subtracting(staying)).intersection(deleted)
    }

    private func reached(from roots: Set<ObjectKey>) -> Set<ObjectKey> {
        var reached = roots
        var next = Array(roots)
        while let object = next.popLast() {
            for follower in followers[object] ?? [] where reached.insert(follower).inserted { next.append(follower) }
        }
        return reached
    }
}
