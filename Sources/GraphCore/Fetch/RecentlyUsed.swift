/// Elements by their keys; only the last used ones stay.
package struct RecentlyUsed<Key: Hashable, Element> {
    package let maximumCount: Int
    private var elements: [Key: (element: Element, use: Int)] = [:]
    private var useCount = 0

    package init(maximumCount: Int) { self.maximumCount = maximumCount }

    package var count: Int { elements.count }

    /// Returns the element of a key, which counts as a use, or nil.
    package mutating func find(_ key: Key) -> Element? {
        guard let index = elements.index(forKey: key) else { return nil }
        useCount += 1
        elements.values[index].use = useCount
        return elements.values[index].element
    }

    /// Removes the element of a key and returns it, or nil.
    package mutating func take(_ key: Key) -> Element? { elements.removeValue(forKey: key)?.element }

    /// Keeps an element, unless the key has one, and drops the one that was not used for longest where there is no room.
    package mutating func keep(_ element: Element, for key: Key) {
        if elements[key] != nil { return }
        useCount += 1
        elements[key] = (element, useCount)
        if elements.count <= maximumCount { return }
        if let oldest = elements.min(by: { $0.value.use < $1.value.use })?.key { elements[oldest] = nil }
    }
}
