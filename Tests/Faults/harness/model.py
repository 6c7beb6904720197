"""The two models of config/models as the oracle knows them, written down a second time on purpose.

The oracle shares nothing with the program, so it does not read the program's model files either; a change of a model
has to be made here too, and the comparison of dumps tells when it was forgotten.
"""


class Attribute:
    def __init__(self, name, kind, optional=False, default=None, derived=None, **limits):
        self.name, self.kind, self.optional, self.default = name, kind, optional, default
        self.derived = derived  # (relationship, None) is a count, (relationship, attribute) a sum, a callable a formula
        self.limits = limits


class Relationship:
    def __init__(self, name, to, inverse, many=False, delete="nullify", optional=None):
        self.name, self.to, self.inverse, self.many, self.delete = name, to, inverse, many, delete
        self.optional = many if optional is None else optional


class Entity:
    def __init__(self, name, version, attributes, relationships):
        self.name, self.version = name, version
        self.attributes = {a.name: a for a in attributes}
        self.relationships = {r.name: r for r in relationships}
        self.stored = {a.name: a for a in attributes if not a.derived}
        self.required = [a.name for a in attributes if not a.derived and not a.optional and a.name != "id"]
        self.required_links = [r.name for r in relationships if not r.many and not r.optional]
        self.defaults = {a.name: a.default for a in attributes if a.default is not None}
        self.one = [r.name for r in relationships if not r.many]
        self.many = [r.name for r in relationships if r.many]


class Model:
    def __init__(self, name, *entities):
        self.name = name
        self.entities = {e.name: e for e in entities}
        self.folded = {e.name.lower(): e.name for e in entities}
        for entity in entities:
            for link in entity.relationships.values():
                other = self.entities[link.to].relationships[link.inverse]
                # A one-to-many relationship is the other side's column; everything else is shown on its own.
                link.is_column_of_other = link.many and not other.many
                link.is_join = link.many and other.many


def identity():
    return Attribute("id", "string", minLength=1, maxLength=100)


CHAT = Model(
    "chat",
    Entity("Chat", "updatedAt", [
        identity(),
        Attribute("title", "string", optional=True, maxLength=200),
        Attribute("updatedAt", "date", optional=True),
        Attribute("membersCount", "integer", derived=("members", None)),
        Attribute("messagesCount", "integer", derived=("messages", None)),
    ], [
        Relationship("messages", "Message", "chat", many=True, delete="cascade"),
        Relationship("members", "Member", "chats", many=True),
    ]),
    Entity("Message", "updatedAt", [
        identity(),
        Attribute("body", "string", optional=True, maxLength=10000),
        Attribute("sentAt", "date", optional=True),
        Attribute("updatedAt", "date", optional=True),
        Attribute("seq", "integer", default=0, min=0),
    ], [
        Relationship("chat", "Chat", "messages"),
        Relationship("sender", "Member", "messages", optional=True),
    ]),
    Entity("Member", "updatedAt", [
        identity(),
        Attribute("name", "string", optional=True, maxLength=200),
        Attribute("email", "string", optional=True, pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$", maxLength=254),
        Attribute("updatedAt", "date", optional=True),
        Attribute("messagesCount", "integer", derived=("messages", None)),
    ], [
        Relationship("chats", "Chat", "members", many=True),
        Relationship("messages", "Message", "sender", many=True),
    ]),
)
