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
        for index in operation.pointee.relationships.indices {
            let shape = shape(entity, operation.pointee.relationships[index].relationship)
            links = links || shape.isInJoinTable
            let destinations = byIdentity[shape.destinationRoot]
            switch operation.pointee.relationships[index].change {
            case .one(let identity): if !identity.isNull { names.append(destinations.name(identity)) }
            case .replace(let list):
                replaces = true
                for identity in list { names.append(destinations.name(identity)) }
            case .edit(let added, let removed):
                for identity in added { names.append(destinations.name(identity)) }
                for identity in removed { names.append(destinations.name(identity)) }
            }
        }
        return (replaces, links)
    }
}
