import Foundation
import ObjectGraph

@testable import GraphCore

/// Classes with each kind of property.
enum Typed {
    enum Priority: Int, CaseIterable, AttributeValue { case low, normal, high }
    enum State: String, CaseIterable, AttributeValue { case open, closed }

    final class Chat: TypedObject {
        @Identity var id: String
        @Field(maxLength: 20, indexed: true) var title: String?
        @Field var updatedAt: Date?
        @Field var priority: Priority = .normal
        @Derived("messages.@count") var messagesCount: Int
        @ToMany(inverse: \Message.chat, delete: .cascade) var messages: [Message]
        @ToMany(inverse: \Member.chats, maxCount: 3) var members: [Member]
        @ToOne(inverse: .none) var pinned: Message?

        /// What the program makes of attributes is its own business.
        var heading: String { title ?? "Untitled" }

        override class var entityOptions: EntityOptions {
            EntityOptions(version: \Chat.updatedAt, indexes: [[\Chat.title, \Chat.updatedAt]])
        }
    }

    final class Message: TypedObject {
        @Identity var id: String
        @Field(minLength: 2) var body: String
        @Field(min: 0) var seq: Int = 7
        @Field var isRead: Bool = false
        @ToOne(required: true) var chat: Chat?
        @ToOne(inverse: \Member.messages) var sender: Member?

        var isUnread: Bool { !isRead }
    }

    final class Member: TypedObject {
        @Identity var id: UUID
        @Field(pattern: "[a-z]+", unique: true) var name: String?
        @Field(type: .integer16) var age: Int?
        @ToMany var chats: [Chat]
        @ToMany var messages: [Message]
        @ToMany(inverse: .itself) var friends: [Member]
    }

    static let types: [TypedObject.Type] = [Chat.self, Message.self, Member.self]

    /// The same model as a file.
    static let yaml = """
        model: typed
        entities:
          Chat:
            identity: id
            version: updatedAt
            attributes:
              id: { type: string }
              title: { type: string, optional: true, maxLength: 20, indexed: true }
              updatedAt: { type: date, optional: true }
              priority: { type: integer64, default: 1, min: 0, max: 2 }
              messagesCount: { type: integer64, derived: messages.@count }
            relationships:
              messages: { to: Message, many: true, inverse: chat, delete: cascade }
              members: { to: Member, many: true, inverse: chats, maxCount: 3 }
              pinned: { to: Message, inverse: none, optional: true }
            indexes:
              - [title, updatedAt]
          Message:
            identity: id
            attributes:
              id: { type: string }
              body: { type: string, minLength: 2 }
              seq: { type: integer64, default: 7, min: 0 }
              isRead: { type: boolean, default: false }
            relationships:
              chat: { to: Chat, inverse: messages }
              sender: { to: Member, inverse: messages, optional: true }
          Member:
            identity: id
            attributes:
              id: { type: uuid }
              name: { type: string, optional: true, pattern: "[a-z]+", unique: true }
              age: { type: integer16, optional: true }
            relationships:
              chats: { to: Chat, many: true, inverse: members }
              messages: { to: Message, many: true, inverse: sender }
              friends: { to: Member, many: true, inverse: friends }
        """

    /// All types of values.
    final class Sample: TypedObject {
        @Identity var id: UUID
        @Field var text: String
        @Field var flag: Bool
        @Field var small: Int16
        @Field var middle: Int32
        @Field var large: Int64
        @Field var number: Double
        @Field var single: Float
        @Field var amount: Decimal
        @Field var time: Date
        @Field var link: URL
        @Field var bytes: Data
        @Field var list: [UInt8]
        @Field var state: State
        @Field var maybeText: String?
        @Field var maybeAmount: Decimal?
        @Field var maybeState: State?
        @Field var maybeTime: Date?
    }

    class Party: TypedObject {
        @Identity var id: String
        @Field var name: String?

        override class var entityOptions: EntityOptions { EntityOptions(abstract: true) }
    }

    final class Person: Party {
        @Field var age: Int?
        @ToOne var employer: Company?
    }

    final class Company: Party {
        @ToMany(inverse: \Person.employer) var staff: [Person]
    }

    static func model() throws -> ObjectModel { try ObjectModel(name: "typed", entities: types) }
}

/// Returns the problems of a model that is refused.
func modelProblems(_ body: () throws -> Void) -> [ModelError.Problem] {
    do {
        try body()
        return []
    } catch {
        return (error as? ModelError)?.problems ?? []
    }
}
