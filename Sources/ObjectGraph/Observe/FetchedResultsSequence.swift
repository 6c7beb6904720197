/// The objects of a fetch request at one commit, with what changed since the element before.
public struct FetchedResults: Sendable {
    /// Objects that follow one another and have the same value of the section's property.
    public struct Section: Sendable, Equatable {
        /// The common value, in stored form.
        public let value: Value
        /// The positions of the objects.
        public let range: Range<Int>
    }

    /// The objects in the order of the request.
    public let objects: [FetchedObject]
    /// The sections in their order; empty where none were asked for.
    public let sections: [Section]
    /// What leads here from the element before; nil of the first.
    public let difference: ResultsDifference?
    /// What leads here from the sections before; nil of the first, and where none were asked for.
    public let sectionDifference: ResultsDifference?
    /// The history token of the commit.
    public let token: HistoryToken

    /// Returns the section and the place in it of the object at a position, or nil where there are no sections.
    public func place(of position: Int) -> (section: Int, item: Int)? {
        guard let section = sections.firstIndex(where: { $0.range.contains(position) }) else { return nil }
        return (section, position - sections[section].range.lowerBound)
    }
}

/// A fetch request's results, again each time a commit of this process or another changes them.
///
/// The first element comes at once. The next one is read when it is asked for, and is always the newest state: a slow
/// reader passes over states between, and the difference leads from the element it has seen. Ends with its task.
public struct FetchedResultsSequence: AsyncSequence, Sendable {
    /// The objects with what changed.
    public typealias Element = FetchedResults

    let store: Store
    let request: CheckedFetchRequest
    let section: String?
    let options: ObservationOptions

    /// Makes the iterator.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(store: store, request: request, section: section, options: options)
    }

    /// Fetches once for each element, and after commits that turn out not to matter.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let store: Store
        private let request: CheckedFetchRequest
        private let section: String?
        private let options: ObservationOptions
        private var last: FetchedResults?

        init(store: Store, request: CheckedFetchRequest, section: String?, options: ObservationOptions) {
            self.store = store
            self.request = request
            self.section = section
            self.options = options
        }

        /// Returns the next state, waiting for it; nil once the task is cancelled.
        ///
        /// - Throws: ``StoreError``.
        public mutating func next() async throws -> FetchedResults? {
            if last != nil { try? await Task.sleep(for: options.minimumInterval) }
            while !Task.isCancelled {
                let generation = store.signal.generation
                if let results = try await read() {
                    last = results
                    if results.difference?.isEmpty != true { return results }
                }
                await store.signal.wait(after: generation, timeout: options.pollInterval)
            }
            return nil
        }

        /// Fetches where there was a commit since the last time.
        private func read() async throws -> FetchedResults? {
            let (request, known) = (request, last?.token)
            let found = try await store.reading { context -> (token: HistoryToken, objects: [FetchedObject])? in
                let token = try context.historyToken()
                return token == known ? nil : (token, try context.fetch(request))
            }
            return (found ?? nil).map { results($0.objects, $0.token) }
        }

        private func results(_ objects: [FetchedObject], _ token: HistoryToken) -> FetchedResults {
            let sections = sections(objects)
            guard let last else {
                return FetchedResults(
                    objects: objects, sections: sections, difference: nil, sectionDifference: nil, token: token)
            }
            let before = Dictionary(uniqueKeysWithValues: last.objects.map { ($0.pk, $0) })
            let changed = objects.filter { object in
                guard let old = before[object.pk] else { return false }
                return old.contents != object.contents || old.isPlaceholder != object.isPlaceholder
            }
            return FetchedResults(
                objects: objects, sections: sections,
                difference: ResultsDifference(
                    from: last.objects.map(\.pk), to: objects.map(\.pk), changed: Set(changed.map(\.pk))),
                sectionDifference: section == nil
                    ? nil : ResultsDifference(from: Self.labels(last.sections), to: Self.labels(sections)),
                token: token)
        }

        private func sections(_ objects: [FetchedObject]) -> [FetchedResults.Section] {
            guard let section else { return [] }
            var sections: [FetchedResults.Section] = []
            var start = 0
            for (index, object) in objects.enumerated() {
                let value = object[section] ?? .null
                if index + 1 < objects.count, objects[index + 1][section] ?? .null == value { continue }
                sections.append(FetchedResults.Section(value: value, range: start..<index + 1))
                start = index + 1
            }
            return sections
        }

        /// Values that come again, because the order is not that of the sections, are told apart by their count.
        private static func labels(_ sections: [FetchedResults.Section]) -> [SectionLabel] {
            var counts: [Value: Int] = [:]
            return sections.map { section in
                counts[section.value, default: 0] += 1
                return SectionLabel(value: section.value, occurrence: counts[section.value, default: 0])
            }
        }
    }

    private struct SectionLabel: Hashable {
        let value: Value
        let occurrence: Int
    }
}

extension Store {
    /// Returns a request's results, those to come included.
    ///
    /// - Parameters:
    ///   - request: which objects, in which order.
    ///   - section: the property whose value makes sections, one of those that are fetched; sort by it first.
    ///   - options: how often to look for other processes' commits.
    /// - Throws: ``FetchPredicateError`` where the request does not fit the model, or the section's property is not fetched.
    public func results(
        of request: FetchRequest, section: String? = nil, options: ObservationOptions = ObservationOptions()
    ) throws(FetchPredicateError) -> FetchedResultsSequence {
        let checked = try request.checked(with: model)
        if let section, checked.shape.columns.first(where: { $0.name == section })?.isToMany ?? true {
            throw FetchPredicateError(
                .unknownProperty, "'\(section)' is no single value that the request fetches", at: nil,
                remedy: "Name an attribute or to-one relationship among the request's properties")
        }
        return FetchedResultsSequence(store: self, request: checked, section: section, options: options)
    }
}
