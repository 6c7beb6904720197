import Testing

@testable import IngestCore

@Suite struct RetryBudgetTests {
    private func failing(_ name: String) -> [HealthCheck] { [HealthCheck("loop"), HealthCheck(name, failure: "away")] }

    @Test(arguments: ["store", "broker", "publisher", "deadLetters"])
    func `the budget is spent by a failure that lasts for its time`(_ name: String) {
        var budget = RetryBudget(limitSeconds: 10)
        #expect(budget.spent(on: failing(name), at: 100) == nil)
        #expect(budget.spent(on: failing(name), at: 109.9) == nil)
        let spent = budget.spent(on: failing(name), at: 110.5)
        #expect(spent == RetryBudget.Spent(check: name, reason: "away", seconds: 10))
        #expect(spent?.description.contains("errors.retryTimeoutSeconds") == true)
    }

    @Test func `a success begins the budget again`() {
        var budget = RetryBudget(limitSeconds: 10)
        #expect(budget.spent(on: failing("store"), at: 0) == nil)
        #expect(budget.spent(on: [HealthCheck("store")], at: 9) == nil)
        #expect(budget.spent(on: failing("store"), at: 9.5) == nil)
        #expect(budget.spent(on: failing("store"), at: 19) == nil)
        #expect(budget.spent(on: failing("store"), at: 19.5) != nil)
    }

    @Test func `short failures in a row do not spend the budget`() {
        var budget = RetryBudget(limitSeconds: 10)
        #expect(budget.spent(on: failing("store") + [HealthCheck("broker")], at: 0) == nil)
        #expect(budget.spent(on: failing("broker") + [HealthCheck("store")], at: 9) == nil)
        #expect(budget.spent(on: failing("broker"), at: 18) == nil)
        #expect(budget.spent(on: failing("broker"), at: 19)?.check == "broker")
    }

    @Test(arguments: ["group", "partitions", "outbox", "loop", "shutdown"])
    func `a permanent failure spends nothing`(_ name: String) {
        var budget = RetryBudget(limitSeconds: 1)
        #expect(budget.spent(on: failing(name), at: 0) == nil)
        #expect(budget.spent(on: failing(name), at: 1000) == nil)
    }

    @Test func `no limit is never spent`() {
        var budget = RetryBudget(limitSeconds: 0)
        #expect(budget.spent(on: failing("store"), at: 0) == nil)
        #expect(budget.spent(on: failing("store"), at: 1e9) == nil)
    }
}
