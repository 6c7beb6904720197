import ObjectGraph
import Testing

@testable import GraphCore

/// The numbers that Core Data's errors have. Source: CoreDataErrors.h.
@Suite struct CoreDataCodeTests {
    @Test(arguments: [
        (ValidationFailure.Reason.generic, 1550), (.uniqueness, 1551), (.missingMandatory, 1570),
        (.tooFewDestinations, 1580), (.tooManyDestinations, 1590), (.deniedDelete, 1600), (.numberTooLarge, 1610),
        (.numberTooSmall, 1620), (.dateTooLate, 1630), (.dateTooSoon, 1640), (.invalidDate, 1650),
        (.textTooLong, 1660), (.textTooShort, 1670), (.patternMismatch, 1680), (.invalidURI, 1690),
    ])
    func `broken rules have their codes`(_ reason: ValidationFailure.Reason, _ code: Int) {
        let failure = ValidationFailure(reason: reason, entity: "A", property: "b", limit: "is wrong")
        #expect(failure.code == code)
        #expect(EditingError([failure]).coreDataCode == code)
        #expect(EditingError([failure, failure]).coreDataCode == 1560)
    }

    @Test(arguments: [
        (ValidationFailure.Reason.generic, "rule"), (.uniqueness, "unique"), (.missingMandatory, "required"),
        (.tooFewDestinations, "min_count"), (.tooManyDestinations, "max_count"), (.deniedDelete, "deny"),
        (.numberTooLarge, "max"), (.numberTooSmall, "min"), (.dateTooLate, "max_date"), (.dateTooSoon, "min_date"),
        (.invalidDate, "date"), (.textTooLong, "max_length"), (.textTooShort, "min_length"),
        (.patternMismatch, "pattern"), (.invalidURI, "uri"),
    ])
    func `the text of a broken rule has its number and its name`(_ reason: ValidationFailure.Reason, _ name: String) {
        let failure = ValidationFailure(reason: reason, entity: "A", property: "b", limit: "is wrong")
        #expect(failure.description == "A.b is wrong (\(reason.rawValue), validation.\(name))")
        #expect(ValidationFailure.stableCode(ofName: "validation.\(name)") == failure.stableCode)
    }

    @Test func `refused saves have their codes`() {
        #expect(EditingError(conflicts: [], isUniqueness: false).coreDataCode == 133_020)
        #expect(EditingError(conflicts: [], isUniqueness: true).coreDataCode == 133_021)
        // A row that is not there is Core Data's broken referential integrity.
        #expect(EditingError(.objectGone, "").coreDataCode == 133_000)
        #expect(BatchError(.refused, "", remedy: "").coreDataCode == 134_050)
        #expect(BatchError(.invalid, "", remedy: "").coreDataCode == nil)
    }

    @Test func `refused stores and tokens have their codes`() {
        #expect(StoreError(.modelMismatch, "", remedy: "").coreDataCode == 134_100)
        #expect(StoreError(.historyExpired, "", remedy: "").coreDataCode == 134_301)
        #expect(StoreError(.historyForeignToken, "", remedy: "").coreDataCode == 134_501)
        #expect(StoreError(.busy, "", remedy: "").coreDataCode == nil)
    }

    @Test(
        arguments: [
            (MigrationError.Code.notInferable, 134_190), (.rows, 134_110), (.failed, 134_110),
            (.missingSource, 134_130),
            (.missingStage, 134_170), (.newerModel, nil), (.losses, nil),
        ] as [(MigrationError.Code, Int?)])
    func `refused migrations have their codes`(_ code: MigrationError.Code, _ number: Int?) {
        #expect(MigrationError(code, "", remedy: "").coreDataCode == number)
    }
}
