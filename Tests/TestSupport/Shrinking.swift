/// Makes a list of steps that fails smaller, so that its report shows the steps that the failure needs.
public enum Shrinking {
    /// Leaves out neighbouring steps, by halves first and at last one by one, and replaces single steps by simpler ones,
    /// until no smaller list fails.
    ///
    /// Source: Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002.
    ///
    /// - Parameters:
    ///   - simpler: returns the forms of a step that are simpler, the simplest first.
    ///   - problem: carries a list out, and returns its problem, nil where it ends well. Equal lists have equal ends.
    /// - Returns: the smallest list and its problem; nil where `steps` end well.
    public static func smallest<Step, Problem>(
        _ steps: [Step], simpler: (Step) -> [Step] = { _ in [] }, problem: ([Step]) -> Problem?
    ) -> (steps: [Step], problem: Problem)? {
        guard let found = problem(steps) else { return nil }
        var smallest = (steps: steps, problem: found)
        var isSmaller = true
        while isSmaller {
            isSmaller = leaveOut(from: &smallest, problem)
            if simplify(&smallest, simpler, problem) { isSmaller = true }
        }
        return smallest
    }

    private static func leaveOut<Step, Problem>(
        from smallest: inout (steps: [Step], problem: Problem), _ problem: ([Step]) -> Problem?
    ) -> Bool {
        var isSmaller = false
        var length = smallest.steps.count
        while length > 0 {
            var start = 0
            while start < smallest.steps.count {
                let end = min(start + length, smallest.steps.count)
                let fewer = Array(smallest.steps[..<start] + smallest.steps[end...])
                if let found = problem(fewer) {
                    smallest = (fewer, found)
                    isSmaller = true
                } else {
                    start = end
                }
            }
            length /= 2
        }
        return isSmaller
    }

    private static func simplify<Step, Problem>(
        _ smallest: inout (steps: [Step], problem: Problem), _ simpler: (Step) -> [Step],
        _ problem: ([Step]) -> Problem?
    ) -> Bool {
        var isSmaller = false
        for index in smallest.steps.indices {
            var forms = simpler(smallest.steps[index])[...]
            while let form = forms.popFirst() {
                var steps = smallest.steps
                steps[index] = form
                guard let found = problem(steps) else { continue }
                smallest = (steps, found)
                isSmaller = true
                forms = simpler(form)[...]
            }
        }
        return isSmaller
    }
}
