/// The checks of a verification, which each storage carries out in its own way.
///
/// A storage relies on nothing that its writer computes with: counts and sums are its own.
package protocol StoreChecks {
    typealias Check = VerificationReport.Check

    func checkIntegrity(_ check: inout Check) throws(StoreError)
    func checkForeignKeys(_ check: inout Check) throws(StoreError)
    func checkIdentities(_ check: inout Check) throws(StoreError)
    func checkValues(_ check: inout Check) throws(StoreError)
    func checkRequired(_ check: inout Check) throws(StoreError)
    func checkLimits(_ check: inout Check) throws(StoreError)
    func checkCounts(_ check: inout Check) throws(StoreError)
    func checkReferences(_ check: inout Check) throws(StoreError)
    func checkLinks(_ check: inout Check) throws(StoreError)
    func checkInverses(_ check: inout Check) throws(StoreError)
    func checkEntities(_ check: inout Check) throws(StoreError)
    func checkOrder(_ check: inout Check) throws(StoreError)
    func checkDerived(_ check: inout Check) throws(StoreError)
    func checkHistory(_ check: inout Check) throws(StoreError)
    func checkTombstones(_ check: inout Check) throws(StoreError)
    func checkPositions(_ check: inout Check) throws(StoreError)
    func checkKeys(_ check: inout Check) throws(StoreError)

    /// Takes back what a failed check has left on its connection.
    func recover() throws(StoreError)
}

extension StoreChecks {
    /// Makes all checks in one snapshot.
    ///
    /// - Parameter progress: takes the name of each check before it begins.
    package func verify(progress: (String) -> Void) throws -> VerificationReport {
        let checks: [(name: String, body: (inout Check) throws -> Void)] = [
            ("integrity", checkIntegrity), ("foreignKeys", checkForeignKeys), ("identities", checkIdentities),
            ("values", checkValues), ("required", checkRequired), ("limits", checkLimits), ("counts", checkCounts),
            ("references", checkReferences), ("links", checkLinks), ("inverses", checkInverses),
            ("entities", checkEntities), ("order", checkOrder), ("derived", checkDerived), ("history", checkHistory),
            ("tombstones", checkTombstones), ("positions", checkPositions), ("keys", checkKeys),
        ]
        var done: [Check] = []
        for (name, body) in checks {
            progress(name)
            var check = Check(name: name)
            do {
                try body(&check)
            } catch let error as StoreError where [.corrupt, .value, .database].contains(error.code) {
                // The rest can still tell how far the damage goes.
                check.report("store", nil, nil, "could not be read: \(error.message)")
                try recover()
            }
            done.append(check)
        }
        return VerificationReport(checks: done)
    }
}
