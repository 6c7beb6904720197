import GraphCore

/// The objects of a fetch request at one commit, with the changes since the previous element.
public struct FetchedResults: Sendable {
    /// Consecutive objects with the same value of the section's property.
    public struct Section: Sendable, Equatable {
        /// The common value, in stored form.
        public let value: Value
        /// The positions of the objects.
        public let range: Range<Int>
    }

    /// The objects in the order of the request.
    public let objects: [FetchedObject]
    /// The sections in their order; empty if the request names no section's property.
    public let sections: [Section]
    /// The difference from the previous element; nil for the first.
    public let difference: ResultsDifference?
    /// The difference from the previous sections; nil for the first element, and without sections.
    public let sectionDifference: ResultsDifference?
    /// The history token of the commit.
    public let token: HistoryToken

    /// Returns the section of the object at a position, and its place there; nil without sections.
    public func place(of position: Int) -> (section: Int, item: Int)? {
        guard let section = sections.firstIndex(where: { $0.range.contains(position) }) else { return nil }
        return (section, position - sections[section].range.lowerBound)
    }
}

/// A fetch request's results, again each time a commit of this process or another changes them.
///
/// The first element comes at once. Each next element is the newest state at the time of the call. So a slow reader
/// skips states, and each difference is from the element that it received last. The sequence ends with its task.
public struct FetchedResultsSequence: AsyncSequence, Sendable {
    /// The objects with the changes.
    public typealias Element = FetchedResults

    package let store: Store
    package let request: CheckedFetchRequest
    package let section: String?
    package let options: ObservationOptions

    /// Makes the iterator.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(store: store, request: request, section: section, options: options)
    }

    /// Fetches once for each element, and after commits that change nothing here.
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

        /// Waits for the next state and returns it, or nil once the task is cancelled.
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

        /// Fetches if there was a commit since the last fetch.
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

        /// A number distinguishes repeated values, which occur if the request does not sort by the sections.
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
    /// Returns a request's present and future results.
    ///
    /// - Parameters:
    ///   - request: the objects and their order.
    ///   - section: the property whose values make the sections. The request must fetch it, and sort by it first.
    ///   - options: how often to look for other processes' commits.
    /// - Throws: ``FetchPredicateError`` if the request does not fit the model, or does not fetch the section's property.
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
