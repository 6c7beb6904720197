// The identities that events name.
extension ObjectRegistry {
    /// Names an operation's identities, and appends their places as those of the next operation.
    ///
    /// - Returns: whether the operation replaces destinations, and whether it changes links in join tables.
    func name(_ operation: OperationPointer, in names: OperationNames) -> (replaces: Bool, links: Bool) {
        let entity = operation.pointee.entity
        names.beginOperation()
        names.append(byIdentity[roots[entity]].name(operation.pointee.identity))
        var (replaces, links) = (false, false)
        for link in operation.pointee.links {
            let shape = shape(entity, link.relationship)
            links = links || shape.isInJoinTable
            if case .replace = link.change { replaces = true }
            let destinations = byIdentity[shape.destinationRoot]
            link.change.forEachIdentity { names.append(destinations.name($0)) }
        }
        return (replaces, links)
    }
}
