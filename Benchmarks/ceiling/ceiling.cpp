// Writes the rows that chat events ask for, as fast as the libraries allow: the ceiling that the product is compared
// with.
//
// The same reader (simdjson), the same database with the same pragmas and the same schema, taken from a store that the
// product made; prepared statements; the rows of entities and links, history, tombstones and positions. No versions, no
// validation, no undo of one bad event, no delete rules but the rows that a deleted chat takes along. `--derived` also
// writes the rows that derived counts change, summed up by chunk as the product does.

#include <sqlite3.h>

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "events.hpp"

static sqlite3 *database;

static void check(int code, const char *action) {
    if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW)
        fail(string(action) + ": " + sqlite3_errmsg(database));
}

static void run(const string &sql) {
    check(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), sql.c_str());
}

/// A prepared statement; text is bound without a copy, for it lives until the statement has run.
class Statement {
public:
    void prepare(const char *sql) {
        check(sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr), sql);
    }
    Statement &text(int position, string_view value) {
        sqlite3_bind_text(statement, position, value.data(), int(value.size()), SQLITE_STATIC);
        return *this;
    }
    Statement &integer(int position, int64_t value) {
        sqlite3_bind_int64(statement, position, value);
        return *this;
    }
    Statement &null(int position) {
        sqlite3_bind_null(statement, position);
        return *this;
    }
    /// A time, or null where it is 0.
    Statement &time(int position, int64_t value) { return value == 0 ? null(position) : integer(position, value); }
    bool step() {
        int code = sqlite3_step(statement);
        check(code, "run a statement");
        return code == SQLITE_ROW;
    }
    void reset() { sqlite3_reset(statement); }
    void execute() {
        step();
        reset();
    }
    int64_t column(int index) { return sqlite3_column_int64(statement, index); }
    string column_text(int index) {
        return string(
            reinterpret_cast<const char *>(sqlite3_column_text(statement, index)), sqlite3_column_bytes(statement, index));
    }
    /// The first column of the only row, or 0.
    int64_t first() {
        int64_t value = step() ? column(0) : 0;
        reset();
        return value;
    }
    ~Statement() { sqlite3_finalize(statement); }

private:
    sqlite3_stmt *statement = nullptr;
};

enum Change { inserted = 0, updated = 1, deleted = 2 };

struct Entity {
    string_view name;
    Statement find, stub, put, erase, find_identity, bump;
};

/// What the store has to be written with, and the chunk's counters.
class Writer {
public:
    Writer(bool derived, int chunk_events, int transaction_events)
        : derived(derived), chunk_events(chunk_events), transaction_events(transaction_events) {
        chat.name = "Chat";
        member.name = "Member";
        message.name = "Message";
        for (Entity *entity : {&chat, &member, &message}) {
            string name = "\"" + string(entity->name) + "\"";
            entity->find.prepare(("SELECT pk FROM " + name + " WHERE id = ?").c_str());
            entity->find_identity.prepare(("SELECT id FROM " + name + " WHERE pk = ?").c_str());
            entity->stub.prepare(("INSERT INTO " + name + " (id, _placeholder) VALUES (?, 1)").c_str());
            entity->erase.prepare(("DELETE FROM " + name + " WHERE pk = ?").c_str());
        }
        for (Entity *entity : {&chat, &member}) {
            string name = "\"" + string(entity->name) + "\"";
            entity->bump.prepare(
                ("UPDATE " + name + " SET messagesCount = coalesce(messagesCount, 0) + ? WHERE pk = ?").c_str());
        }
        bump_members.prepare("UPDATE Chat SET membersCount = coalesce(membersCount, 0) + ? WHERE pk = ?");
        message.put.prepare(
            "INSERT INTO Message (id, body, sentAt, updatedAt, seq, chat, sender, _placeholder) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT (id) DO UPDATE SET body = excluded.body, "
            "sentAt = excluded.sentAt, updatedAt = excluded.updatedAt, seq = excluded.seq, chat = excluded.chat, "
            "sender = excluded.sender, _placeholder = 0");
        chat.put.prepare(
            "INSERT INTO Chat (id, title, updatedAt, _placeholder) VALUES (?, ?, ?, 0) ON CONFLICT (id) DO UPDATE SET "
            "title = excluded.title, updatedAt = excluded.updatedAt, _placeholder = 0");
        member.put.prepare(
            "INSERT INTO Member (id, name, email, updatedAt, _placeholder) VALUES (?, ?, ?, ?, 0) "
            "ON CONFLICT (id) DO UPDATE SET name = excluded.name, email = excluded.email, "
            "updatedAt = excluded.updatedAt, _placeholder = 0");
        link.prepare("INSERT INTO Chat_members (owner, destination) VALUES (?, ?) ON CONFLICT DO NOTHING");
        unlink.prepare("DELETE FROM Chat_members WHERE owner = ? AND destination = ?");
        messages_of_chat.prepare("SELECT pk, id FROM Message WHERE chat = ?");
        change.prepare(
            "INSERT INTO _history_change (id, token, entity, object, identity, change, properties, tombstone) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, NULL)");
        open.prepare(
            "INSERT INTO _history_transaction (time, author, context, source, firstChange, changeCount) "
            "VALUES (?, 'ceiling', NULL, ?, ?, 0)");
        close.prepare("UPDATE _history_transaction SET changeCount = ? WHERE token = ?");
        tombstone.prepare(
            "INSERT INTO _tombstone (entity, identity, version, time, token) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (entity, identity) DO UPDATE SET version = excluded.version, time = excluded.time, "
            "token = excluded.token");
        position.prepare(
            "INSERT INTO _position (topic, partition, nextOffset, detail) VALUES (?, 0, ?, NULL) "
            "ON CONFLICT (topic, partition) DO UPDATE SET nextOffset = excluded.nextOffset");
        Statement last_change;
        last_change.prepare("SELECT max(id) FROM _history_change");
        next_change = last_change.first() + 1;
    }

    string source;
    int64_t events = 0, changes = 0;

    void write(ondemand::document &document) {
        if (chunk_count == 0) begin_chunk();
        string_view type = document["type"].get_string();
        ondemand::object data = document["data"].get_object();
        if (type == "message.upserted") {
            upsert_message(data);
        } else if (type == "chat.upserted") {
            upsert_chat(data);
        } else if (type == "member.upserted") {
            upsert_member(data);
        } else if (type == "message.deleted") {
            erase(message, data);
        } else if (type == "chat.deleted") {
            erase(chat, data);
        } else {
            fail("unknown event type " + string(type));
        }
        events += 1;
        chunk_count += 1;
        if (chunk_count == chunk_events) end_chunk();
    }

    void finish() {
        if (chunk_count > 0) end_chunk();
        if (in_transaction) run("COMMIT");
    }

private:
    bool derived;
    int chunk_events, transaction_events, chunk_count = 0, uncommitted = 0;
    bool in_transaction = false;
    int64_t token = 0, next_change, first_change = 1;
    Entity chat, member, message;
    Statement bump_members, link, unlink, messages_of_chat, change, open, close, tombstone, position;
    std::unordered_map<int64_t, int64_t> chat_messages, member_messages, chat_members;
    std::unordered_set<int64_t> noted_chats, noted_members;

    void begin_chunk() {
        if (!in_transaction) {
            run("BEGIN IMMEDIATE");
            in_transaction = true;
        }
        first_change = next_change;
        open.integer(1, microseconds_now()).text(2, source).integer(3, first_change).execute();
        token = sqlite3_last_insert_rowid(database);
    }

    void end_chunk() {
        if (derived) write_counts();
        close.integer(1, next_change - first_change).integer(2, token).execute();
        position.text(1, source).integer(2, events).execute();
        changes += next_change - first_change;
        uncommitted += chunk_count;
        chunk_count = 0;
        if (uncommitted < transaction_events) return;
        run("COMMIT");
        in_transaction = false;
        uncommitted = 0;
    }

    void note(const Entity &entity, int64_t key, string_view identity, Change kind, string_view properties = {}) {
        if (derived) {
            // An object has one row in the history of a chunk.
            if (&entity == &chat && !noted_chats.insert(key).second && kind == updated) return;
            if (&entity == &member && !noted_members.insert(key).second && kind == updated) return;
        }
        change.integer(1, next_change++).integer(2, token).text(3, entity.name).integer(4, key).text(5, identity);
        change.integer(6, kind);
        if (kind == updated) change.text(7, properties);
        else change.null(7);
        change.execute();
    }

    int64_t resolve(Entity &entity, string_view identity) {
        int64_t key = entity.find.text(1, identity).first();
        if (key != 0) return key;
        entity.stub.text(1, identity).execute();
        key = sqlite3_last_insert_rowid(database);
        note(entity, key, identity, inserted);
        return key;
    }

    /// Runs the upsert and notes it; returns the primary key and whether the row is new.
    std::pair<int64_t, bool> put(Entity &entity, string_view identity, string_view properties) {
        sqlite3_set_last_insert_rowid(database, 0);
        entity.put.execute();
        int64_t key = sqlite3_last_insert_rowid(database);
        bool is_new = key != 0;
        if (!is_new) key = entity.find.text(1, identity).first();
        note(entity, key, identity, is_new ? inserted : updated, properties);
        return {key, is_new};
    }

    void upsert_message(ondemand::object &data) {
        string_view identity, body, chat_identity, sender_identity;
        int64_t sent = 0, version = 0, sequence = 0;
        for (auto field : data) {
            string_view key = field.unescaped_key();
            if (key == "id") identity = field.value().get_string();
            else if (key == "chat") chat_identity = field.value().get_string();
            else if (key == "sender") sender_identity = field.value().get_string();
            else if (key == "body") body = field.value().get_string();
            else if (key == "sentAt") sent = microseconds(field.value().get_string());
            else if (key == "updatedAt") version = microseconds(field.value().get_string());
            else if (key == "seq") sequence = field.value().get_int64();
            else fail("unknown property");
        }
        int64_t chat_key = resolve(chat, chat_identity);
        int64_t sender_key = resolve(member, sender_identity);
        message.put.text(1, identity).text(2, body).time(3, sent).time(4, version).integer(5, sequence);
        message.put.integer(6, chat_key).integer(7, sender_key);
        auto [key, is_new] = put(message, identity, "body,updatedAt");
        if (is_new && derived) {
            chat_messages[chat_key] += 1;
            member_messages[sender_key] += 1;
        }
    }

    void upsert_chat(ondemand::object &data) {
        string_view identity, title;
        int64_t version = 0;
        std::vector<string_view> added, removed;
        auto read = [](ondemand::value value, std::vector<string_view> &list) {
            for (auto element : value.get_array()) list.push_back(element.get_string());
        };
        for (auto field : data) {
            string_view key = field.unescaped_key();
            if (key == "id") identity = field.value().get_string();
            else if (key == "title") title = field.value().get_string();
            else if (key == "updatedAt") version = microseconds(field.value().get_string());
            else if (key == "members") {
                ondemand::value members = field.value();
                if (members.type() == ondemand::json_type::array) {
                    read(members, added);
                } else {
                    for (auto part : members.get_object()) {
                        string_view name = part.unescaped_key();
                        read(part.value(), name == "add" ? added : removed);
                    }
                }
            } else fail("unknown property");
        }
        chat.put.text(1, identity).text(2, title).time(3, version);
        int64_t key = put(chat, identity, "title,updatedAt,members").first;
        for (auto name : added) {
            link.integer(1, key).integer(2, resolve(member, name)).execute();
            if (derived) chat_members[key] += sqlite3_changes(database);
        }
        for (auto name : removed) {
            unlink.integer(1, key).integer(2, resolve(member, name)).execute();
            if (derived) chat_members[key] -= sqlite3_changes(database);
        }
    }

    void upsert_member(ondemand::object &data) {
        string_view identity, name, email;
        int64_t version = 0;
        for (auto field : data) {
            string_view key = field.unescaped_key();
            if (key == "id") identity = field.value().get_string();
            else if (key == "name") name = field.value().get_string();
            else if (key == "email") email = field.value().get_string();
            else if (key == "updatedAt") version = microseconds(field.value().get_string());
            else fail("unknown property");
        }
        member.put.text(1, identity).text(2, name).text(3, email).time(4, version);
        put(member, identity, "name,email,updatedAt");
    }

    void erase(Entity &entity, ondemand::object &data) {
        string_view identity;
        int64_t version = 0;
        for (auto field : data) {
            string_view key = field.unescaped_key();
            if (key == "id") identity = field.value().get_string();
            else version = microseconds(field.value().get_string());
        }
        int64_t key = entity.find.text(1, identity).first();
        if (key != 0 && &entity == &chat) {
            std::vector<std::pair<int64_t, string>> reached;
            messages_of_chat.integer(1, key);
            while (messages_of_chat.step()) reached.emplace_back(messages_of_chat.column(0), messages_of_chat.column_text(1));
            messages_of_chat.reset();
            for (auto &row : reached) erase_row(message, row.first, row.second, version);
            chat_messages.erase(key);
            chat_members.erase(key);
        }
        if (key != 0) erase_row(entity, key, identity, version);
    }

    void erase_row(Entity &entity, int64_t key, string_view identity, int64_t version) {
        entity.erase.integer(1, key).execute();
        tombstone.text(1, entity.name).text(2, identity).time(3, version).time(4, version).integer(5, token).execute();
        note(entity, key, identity, deleted);
    }

    // Counts of deleted messages are left out: they are one event in a hundred.
    void write_counts() {
        write_counts(chat, chat.bump, chat_messages);
        write_counts(chat, bump_members, chat_members);
        write_counts(member, member.bump, member_messages);
        noted_chats.clear();
        noted_members.clear();
    }

    void write_counts(Entity &entity, Statement &statement, std::unordered_map<int64_t, int64_t> &counts) {
        for (auto &count : counts) {
            statement.integer(1, count.second).integer(2, count.first).execute();
            entity.find_identity.integer(1, count.first);
            if (entity.find_identity.step()) {
                string identity = entity.find_identity.column_text(0);
                note(entity, count.first, identity, updated, "messagesCount");
            }
            entity.find_identity.reset();
        }
        counts.clear();
    }
};

/// Lays the store out as the product laid out `pattern`.
static void copy_schema(const string &pattern) {
    run("ATTACH '" + pattern + "' AS pattern");
    std::vector<string> statements;
    Statement list;
    list.prepare(
        "SELECT sql FROM pattern.sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY rowid");
    while (list.step()) statements.push_back(list.column_text(0));
    list.reset();
    run("DETACH pattern");
    if (statements.empty()) fail("there is no schema in " + pattern);
    run("BEGIN");
    for (auto &statement : statements) run(statement);
    run("COMMIT");
}

int main(int count, char **arguments) {
    std::vector<string> places;
    bool derived = false, append = false;
    int chunk_events = 500, transaction_events = 0;
    for (int i = 1; i < count; i++) {
        string argument = arguments[i];
        if (argument == "--derived") derived = true;
        else if (argument == "--append") append = true;
        else if (argument == "--chunk-events" && i + 1 < count) chunk_events = atoi(arguments[++i]);
        else if (argument == "--transaction-events" && i + 1 < count) transaction_events = atoi(arguments[++i]);
        else places.push_back(argument);
    }
    if (places.size() != 3 || chunk_events < 1) {
        fprintf(
            stderr,
            "usage: ceiling [--derived] [--append] [--chunk-events 500] [--transaction-events 500] PATTERN-STORE STORE FILE\n"
            "  PATTERN-STORE  a store that the product made for config/models/chat.yaml; gives the schema\n"
            "  --derived      also write the rows that the derived counts change\n"
            "  --append       go on with a store that this program has made; without it the store has to be new\n");
        return 64;
    }
    bool is_new = access(places[1].c_str(), F_OK) != 0;
    if (!is_new && !append) fail(places[1] + " exists already");
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    check(sqlite3_open_v2(places[1].c_str(), &database, flags, nullptr), "open the store");
    // As Sources/ObjectGraph/SQL/Connection/Store.swift.
    run("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000; "
        "PRAGMA wal_autocheckpoint = 16000; PRAGMA journal_size_limit = 67108864; PRAGMA synchronous = NORMAL");
    if (is_new) copy_schema(places[0]);
    {
        Writer writer(derived, chunk_events, std::max(transaction_events, chunk_events));
        writer.source = "file:" + places[2];
        try {
            read_lines(places[2], writer);
        } catch (const simdjson::simdjson_error &error) {
            fail(error.what());
        }
        writer.finish();
        printf("%lld events, %lld changes\n", (long long)writer.events, (long long)writer.changes);
    }
    sqlite3_close(database);
}
