extension ReadContext {
    /// Returns the number of dead letters.
    ///
    /// - Throws: ``StoreError``.
    public func deadLetterCount(_ selection: DeadLetterSelection = DeadLetterSelection()) throws -> Int {
        try session.deadLetterCount(selection, after: 0)
    }

    /// Returns the number of dead letters after `id`.
    ///
    /// - Throws: ``StoreError``.
    public func deadLetterCount(after id: Int64) throws -> Int {
        try session.deadLetterCount(DeadLetterSelection(), after: id)
    }

    /// Returns the number of the last dead letter, or 0.
    ///
    /// - Throws: ``StoreError``.
    public func lastDeadLetterID() throws -> Int64 { try session.lastDeadLetterID() }

    /// Returns dead letters in the order of their numbers, those after `id`, at most `limit`.
    ///
    /// - Throws: ``StoreError``.
    public func deadLetters(
        _ selection: DeadLetterSelection = DeadLetterSelection(), after id: Int64 = 0, limit: Int = 100
    ) throws -> [DeadLetter] {
        try session.deadLetters(selection, after: id, limit: bounded(limit), valueLimit: nil)
    }

    /// Returns dead letters as ``deadLetters(_:after:limit:)`` does, without keys and headers, and of each value the
    /// first bytes.
    ///
    /// - Throws: ``StoreError``.
    package func deadLetterPreviews(
        _ selection: DeadLetterSelection, after id: Int64, limit: Int, valueLimit: Int
    ) throws -> [DeadLetter] {
        try session.deadLetters(selection, after: id, limit: bounded(limit), valueLimit: valueLimit)
    }

    /// Returns the dead letters after `id` in the order of their numbers, at most `limit`. Together their values have at
    /// most `maximumBytes`, unless the first alone has more.
    ///
    /// - Throws: ``StoreError``.
    public func deadLetters(after id: Int64, limit: Int, maximumBytes: Int) throws -> [DeadLetter] {
        var bytes = 0
        let fitting = try session.deadLetterSizes(after: id, limit: bounded(limit)).prefix { size in
            defer { bytes += size.bytes }
            return bytes == 0 || bytes + size.bytes <= maximumBytes
        }
        return fitting.isEmpty ? [] : try deadLetters(after: id, limit: fitting.count)
    }

    /// Returns the number of the last dead letter that was sent to a topic, or 0.
    ///
    /// - Throws: ``StoreError``.
    public func sentDeadLetter(topic: String) throws -> Int64 { try session.sentDeadLetter(topic: topic) }

    /// Returns the numbers of dead letters with the sizes of their records, in the order of their original positions:
    /// by topic, partition and offset.
    ///
    /// - Throws: ``StoreError``.
    public func deadLetterIDs(_ selection: DeadLetterSelection) throws -> [(id: Int64, bytes: Int)] {
        try session.deadLetterSizesByPlace(selection).map { ($0.id, $0.bytes) }
    }

    /// Returns the dead letter of a number, or nil where there is none.
    ///
    /// - Throws: ``StoreError``.
    public func deadLetter(_ id: Int64) throws -> DeadLetter? {
        var selection = DeadLetterSelection()
        selection.ids = [id]
        return try session.deadLetters(selection, after: id == .min ? id : id - 1, limit: 1, valueLimit: nil).first
    }

    /// Returns the dead letters of a selection in groups, the greatest count first.
    ///
    /// - Parameter byEntity: whether the letters of a group have the entity in common, beside code and topic.
    /// - Throws: ``StoreError``.
    public func deadLetterGroups(
        _ selection: DeadLetterSelection = DeadLetterSelection(), byEntity: Bool = true
    ) throws -> [DeadLetterGroup] {
        struct Key: Hashable {
            let code: String
            let topic: String
            let entity: String?
        }
        var groups: [Key: DeadLetterGroup] = [:]
        try session.deadLetterReasons(selection) { found in
            let key = Key(
                code: found.code, topic: found.topic,
                entity: byEntity ? DeadLetterGroup.entity(ofReason: found.reason, model: model) : nil)
            var group =
                groups[key]
                ?? DeadLetterGroup(
                    code: key.code, topic: key.topic, entity: key.entity, count: 0, firstTime: found.firstTime,
                    lastTime: found.lastTime)
            group.count += found.count
            group.firstTime = min(group.firstTime, found.firstTime)
            group.lastTime = max(group.lastTime, found.lastTime)
            groups[key] = group
        }
        return groups.values.sorted {
            ($1.count, $0.code, $0.topic, $0.entity ?? "") < ($0.count, $1.code, $1.topic, $1.entity ?? "")
        }
    }
}
