import Glibc

/// Tells whether work takes linear time: for four times the size about four times as long, and not sixteen times.
///
/// Only the processor time of this thread counts, so a loaded machine changes nothing. A measurement that was disturbed
/// all the same is repeated.
///
/// - Parameters:
///   - size: the smaller size, at which the work takes milliseconds.
///   - work: does the work at a size, and tells whether its result is right.
/// - Returns: the measured ratios, or that `work` gave a wrong result; nil where the time is linear.
public func problemOfLinearTime(_ size: Int, _ work: (Int) -> Bool) -> String? {
    var ratios: [Double] = []
    for _ in 0..<5 {
        guard let small = processorSeconds(work, size), let large = processorSeconds(work, 4 * size) else {
            return "the result is wrong"
        }
        if large < 9 * max(0.001, small) { return nil }
        ratios.append(large / small)
    }
    return "four times the size takes \(ratios) times as long"
}

/// The processor time of some work; nil where its result is wrong.
private func processorSeconds(_ work: (Int) -> Bool, _ size: Int) -> Double? {
    func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
    let began = now()
    return work(size) ? now() - began : nil
}
