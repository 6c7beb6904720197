// Writes the rows that chat events ask for into a schema of PostgreSQL that the product has laid out: the ceiling that
// the product's client and the server's work are compared with.
//
// The same reader (simdjson), libpq in pipeline mode, binary lists of unnest, two round trips a transaction: the keys of
// all identities, and then all rows, links, counts, history, tombstones and the position. No versions, no validation, no
// comparison with other writers, no delete rules but the rows that a deleted chat takes along.

#include <arpa/inet.h>
#include <endian.h>
#include <libpq-fe.h>

#include <array>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "events.hpp"

static PGconn *connection;

/// A list of values in PostgreSQL's binary form; a parameter of unnest.
class List {
public:
    explicit List(uint32_t type) : type(type) {}
    void text(string_view value) {
        length(int32_t(value.size()));
        data.append(value);
    }
    void null() { length(-1); }
    void number(int64_t value) {
        length(8);
        uint64_t swapped = htobe64(uint64_t(value));
        data.append(reinterpret_cast<char *>(&swapped), 8);
    }
    /// A time in microseconds since 1970, or null where it is 0.
    void time(int64_t value) { value == 0 ? null() : number(value - 946684800000000); }
    size_t size() const { return count; }
    string bytes() const {
        string head;
        for (uint32_t part : {1u, 1u, type, uint32_t(count), 1u}) {
            uint32_t swapped = htonl(part);
            head.append(reinterpret_cast<char *>(&swapped), 4);
        }
        return head + data;
    }

private:
    void length(int32_t value) {
        uint32_t swapped = htonl(uint32_t(value));
        data.append(reinterpret_cast<char *>(&swapped), 4);
        count += 1;
    }
    uint32_t type;
    size_t count = 0;
    string data;
};

static List texts() { return List(25); }
static List numbers() { return List(20); }
static List times() { return List(1184); }
static List blobs() { return List(17); }

/// Statements of a round trip; each text is prepared once.
class Pipeline {
public:
    void add(const string &sql, const std::vector<List> &lists = {}) {
        if (!lists.empty() && lists[0].size() == 0) return;
        auto [place, is_new] = names.try_emplace(sql, "s" + std::to_string(names.size()));
        if (is_new && PQsendPrepare(connection, place->second.c_str(), sql.c_str(), 0, nullptr) != 1) fail(PQerrorMessage(connection));
        if (is_new) kinds.push_back(false);
        std::vector<string> bytes;
        std::vector<const char *> values;
        std::vector<int> lengths, formats(lists.size(), 1);
        for (auto &list : lists) bytes.push_back(list.bytes());
        for (auto &each : bytes) {
            values.push_back(each.data());
            lengths.push_back(int(each.size()));
        }
        if (PQsendQueryPrepared(connection, place->second.c_str(), int(lists.size()), values.data(), lengths.data(),
                formats.data(), 1) != 1) fail(PQerrorMessage(connection));
        kinds.push_back(true);
        statements += 1;
    }
    /// Ends the round trip, and hands over the rows of each statement in turn.
    template <typename Body> void run(Body body) {
        if (PQpipelineSync(connection) != 1) fail(PQerrorMessage(connection));
        round_trips += 1;
        int number = 0;
        for (bool counts : kinds) {
            PGresult *result = PQgetResult(connection);
            auto status = PQresultStatus(result);
            if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail(PQerrorMessage(connection));
            if (counts) body(number++, result);
            PQclear(result);
            PQgetResult(connection);
        }
        PQclear(PQgetResult(connection));
        kinds.clear();
    }
    int64_t statements = 0, round_trips = 0;

private:
    std::unordered_map<string, string> names;
    std::vector<bool> kinds;
};

static int64_t integer(PGresult *result, int row, int column) {
    int64_t value;
    memcpy(&value, PQgetvalue(result, row, column), 8);
    return int64_t(be64toh(uint64_t(value)));
}

static string text_of(PGresult *result, int row, int column) {
    return string(PQgetvalue(result, row, column), size_t(PQgetlength(result, row, column)));
}

enum { chat, message, member };
static const char *const names[] = {"Chat", "Message", "Member"};

/// A row as the events of a transaction leave it.
struct Row {
    int64_t key = 0;
    bool is_new = false, is_written = false, is_deleted = false;
    string first, second;
    int64_t sent = 0, version = 0, sequence = 0, chat = 0, sender = 0, messages = 0, members = 0;
};

struct Event {
    int entity;
    bool is_deletion;
    string identity, first, second, chat, sender;
    int64_t sent = 0, version = 0, sequence = 0;
    std::vector<string> added, removed;
};

/// A changed object.
struct Change {
    int64_t key;
    string identity;
};

class Writer {
public:
    explicit Writer(int transaction_events) : transaction_events(transaction_events) {
        pipeline.add("SELECT greatest((SELECT max(pk) FROM \"Chat\"), (SELECT max(pk) FROM \"Message\"), "
                     "(SELECT max(pk) FROM \"Member\"), 0)::int8");
        pipeline.add("SELECT token FROM _token");
        pipeline.add("SELECT coalesce(max(\"firstChange\" + \"changeCount\"), 1) FROM _history_transaction");
        pipeline.run([&](int number, PGresult *result) {
            int64_t found = integer(result, 0, 0);
            (number == 0 ? last_key : number == 1 ? token : next_change) = found;
        });
        pipeline.statements = pipeline.round_trips = 0;
    }
    string source;
    int64_t count = 0, changes = 0, transactions = 0;
    Pipeline pipeline;

    void write(ondemand::document &document) {
        string_view type = document["type"].get_string();
        Event event;
        event.entity = type[0] == 'c' ? chat : type[2] == 's' ? message : member;
        event.is_deletion = type.substr(type.size() - 7) == "deleted";
        for (auto field : document["data"].get_object()) read(event, field.unescaped_key(), field.value());
        events.push_back(std::move(event));
        count += 1;
        if (int(events.size()) == transaction_events) save();
    }
    void finish() {
        if (!events.empty()) save();
    }

private:
    int transaction_events;
    int64_t last_key = 0, next_change = 1, token = 0;
    std::vector<Event> events;
    std::array<std::map<string, Row>, 3> rows;
    std::set<std::pair<int64_t, int64_t>> linked, unlinked;

    static void read(Event &event, string_view key, ondemand::value value) {
        if (key == "members") {
            auto read = [](ondemand::value list, std::vector<string> &into) {
                for (auto each : list.get_array()) into.emplace_back(string_view(each.get_string()));
            };
            if (value.type() == ondemand::json_type::array) return read(value, event.added);
            for (auto part : value.get_object()) {
                bool adds = string_view(part.unescaped_key()) == "add";
                read(part.value(), adds ? event.added : event.removed);
            }
            return;
        }
        if (key == "seq") event.sequence = value.get_int64();
        else if (key == "sentAt") event.sent = microseconds(value.get_string());
        else if (key == "updatedAt") event.version = microseconds(value.get_string());
        else {
            string &place = key == "id" ? event.identity : key == "chat" ? event.chat : key == "sender" ? event.sender
                : key == "email" ? event.second : event.first;
            place = string_view(value.get_string());
        }
    }

    void load() {
        std::array<std::set<string_view>, 3> wanted;
        for (auto &event : events) {
            wanted[event.entity].insert(event.identity);
            if (!event.chat.empty()) wanted[chat].insert(event.chat);
            if (!event.sender.empty()) wanted[member].insert(event.sender);
            for (auto *list : {&event.added, &event.removed}) wanted[member].insert(list->begin(), list->end());
        }
        for (int entity : {chat, message, member}) {
            List identities = texts();
            for (auto each : wanted[entity]) identities.text(each);
            if (identities.size() == 0) identities.text("");
            string columns = entity == message ? "chat, sender" : "0::int8, 0::int8";
            pipeline.add("SELECT id, pk, " + columns + " FROM \"" + names[entity] + "\" WHERE id = ANY($1::text[])", {identities});
        }
        pipeline.run([&](int entity, PGresult *result) {
            for (int row = 0; row < PQntuples(result); row++) {
                Row &found = rows[entity][text_of(result, row, 0)];
                found.key = integer(result, row, 1);
                if (!PQgetisnull(result, row, 2)) found.chat = integer(result, row, 2);
                if (!PQgetisnull(result, row, 3)) found.sender = integer(result, row, 3);
            }
        });
    }

    Row &row(int entity, const string &identity) {
        Row &found = rows[entity][identity];
        if (found.key == 0) {
            found.key = ++last_key;
            found.is_new = true;
        }
        return found;
    }

    void apply(const Event &event) {
        if (event.is_deletion) {
            auto place = rows[event.entity].find(event.identity);
            if (place == rows[event.entity].end()) return;
            place->second.is_deleted = true;
            place->second.version = event.version;
            return;
        }
        Row &target = row(event.entity, event.identity);
        bool counts = event.entity == message && target.chat == 0;
        target.is_written = true;
        target.is_deleted = false;
        target.first = event.first;
        target.second = event.second;
        target.sent = event.sent;
        target.version = event.version;
        target.sequence = event.sequence;
        if (event.entity == message) {
            Row &parent = row(chat, event.chat), &author = row(member, event.sender);
            target.chat = parent.key;
            target.sender = author.key;
            if (counts) {
                parent.messages += 1;
                author.messages += 1;
            }
        }
        for (auto &each : event.added) {
            if (linked.insert({target.key, row(member, each).key}).second) target.members += 1;
        }
        for (auto &each : event.removed) {
            if (unlinked.insert({target.key, row(member, each).key}).second) target.members -= 1;
        }
    }

    static string head(const string &columns, int lists, const string &types) {
        string parts;
        size_t at = 0;
        for (int number = 1; number <= lists; number++) {
            size_t end = types.find(' ', at);
            parts += (number > 1 ? ", $" : "$") + std::to_string(number) + "::" + types.substr(at, end - at) + "[]";
            at = end + 1;
        }
        return "unnest(" + parts + ") AS k(" + columns + ")";
    }

    void put(int entity, List &keys, List &identities, List &firsts, List &seconds, List &sents, List &versions, List &sequences,
        List &chats, List &senders, List &holders, bool is_new) {
        string name = string("\"") + names[entity] + "\"";
        string text = entity == chat ? "title" : entity == member ? "name" : "body";
        std::vector<List> lists = {keys, identities, firsts, versions, holders};
        string columns = "pk, id, a, v, p", types = "int8 text text timestamptz int8";
        string targets = "pk, id, " + text + ", \"updatedAt\", _placeholder", values = "k.pk, k.id, k.a, k.v, k.p = 1";
        string settings = text + " = k.a, \"updatedAt\" = k.v, _placeholder = k.p = 1";
        auto more = [&](List &list, const char *column, const char *alias, const char *type) {
            lists.push_back(list);
            columns += string(", ") + alias;
            types += string(" ") + type;
            targets += string(", ") + column;
            values += string(", k.") + alias;
            settings += string(", ") + column + " = k." + alias;
        };
        if (entity == member) more(seconds, "email", "e", "text");
        if (entity == message) {
            more(sents, "\"sentAt\"", "s", "timestamptz");
            more(sequences, "seq", "q", "int8");
            more(chats, "chat", "c", "int8");
            more(senders, "sender", "f", "int8");
        }
        string from = " FROM " + head(columns, int(lists.size()), types + " ");
        string counts = entity == message ? "" : entity == chat ? ", \"messagesCount\", \"membersCount\"" : ", \"messagesCount\"";
        string zeros = entity == message ? "" : entity == chat ? ", 0, 0" : ", 0";
        pipeline.add(
            is_new ? "INSERT INTO " + name + " (" + targets + counts + ") SELECT " + values + zeros + from
                   : "UPDATE " + name + " t SET " + settings + from + " WHERE t.pk = k.pk",
            lists);
    }

    void save() {
        load();
        for (auto &event : events) apply(event);
        pipeline.add("BEGIN");
        pipeline.add("SELECT epoch FROM _lease WHERE id = 1 FOR UPDATE");
        token += 1;
        std::map<std::tuple<int, int, string>, std::vector<Change>> changed;
        auto note = [&](int entity, const string &identity, int64_t key, int kind, const char *what) {
            changed[{kind, entity, kind == 1 ? what : ""}].push_back({key, identity});
        };
        List gone_names = texts(), gone = blobs(), versions = blobs(), gone_times = numbers(), gone_tokens = numbers();
        for (int entity : {chat, member, message}) {
            for (bool is_new : {true, false}) {
                List keys = numbers(), own = texts(), firsts = texts(), seconds = texts(), sents = times(), marks = times();
                List sequences = numbers(), chats = numbers(), senders = numbers(), holders = numbers();
                for (auto &[identity, row] : rows[entity]) {
                    if (row.is_new != is_new || row.is_deleted || (!is_new && !row.is_written)) continue;
                    keys.number(row.key);
                    own.text(identity);
                    row.is_written ? firsts.text(row.first) : firsts.null();
                    row.is_written ? seconds.text(row.second) : seconds.null();
                    sents.time(row.sent);
                    marks.time(row.version);
                    sequences.number(row.sequence);
                    row.chat ? chats.number(row.chat) : chats.null();
                    row.sender ? senders.number(row.sender) : senders.null();
                    holders.number(row.is_written ? 0 : 1);
                    note(entity, identity, row.key, is_new ? 0 : 1, entity == message ? "body,updatedAt" : "updatedAt");
                }
                put(entity, keys, own, firsts, seconds, sents, marks, sequences, chats, senders, holders, is_new);
            }
            List keys = numbers();
            for (auto &[identity, row] : rows[entity]) {
                if (!row.is_deleted || row.is_new) continue;
                keys.number(row.key);
                note(entity, identity, row.key, 2, "");
                gone_names.text(names[entity]);
                gone.text("t" + identity);
                uint64_t version = htobe64(uint64_t(row.version) ^ 0x8000000000000000);
                versions.text("i" + string(reinterpret_cast<char *>(&version), 8));
                gone_times.number(row.version);
                gone_tokens.number(token);
            }
            if (entity == chat && keys.size() > 0) pipeline.add("DELETE FROM \"Message\" WHERE chat = ANY($1::int8[])", {keys});
            pipeline.add("DELETE FROM \"" + string(names[entity]) + "\" WHERE pk = ANY($1::int8[])", {keys});
        }
        write_links_and_counts(note);
        pipeline.add(
            "INSERT INTO _tombstone (entity, identity, version, time, token, saved) SELECT k.e, k.i, k.v, k.t, k.n, k.t FROM " +
                head("e, i, v, t, n", 5, "text bytea bytea int8 int8 ") + " ON CONFLICT (entity, identity) DO UPDATE SET "
                "version = excluded.version, time = excluded.time, token = excluded.token",
            {gone_names, gone, versions, gone_times, gone_tokens});
        int64_t first_change = next_change;
        write_history(changed);
        finish_transaction(first_change);
    }

    /// Insertions and updates that are alike share a row, as in the product; others have one each.
    void write_history(const std::map<std::tuple<int, int, string>, std::vector<Change>> &changed) {
        List ids = numbers(), tokens = numbers(), entities = texts(), objects = numbers(), identities = blobs(), kinds = numbers();
        List properties = texts(), range_ids = numbers(), counts = numbers(), range_tokens = numbers(), range_entities = texts();
        List firsts = numbers(), lasts = numbers(), lists = texts(), range_kinds = numbers(), range_properties = texts();
        for (auto &[kind_of, changes] : changed) {
            auto &[kind, entity, what] = kind_of;
            if (kind == 2 || changes.size() < 8) {
                for (auto &change : changes) {
                    ids.number(next_change++);
                    tokens.number(token);
                    entities.text(names[entity]);
                    objects.number(change.key);
                    identities.text("t" + change.identity);
                    kinds.number(kind);
                    kind == 1 ? properties.text(what) : properties.null();
                }
                continue;
            }
            string list = "[";
            int64_t first = INT64_MAX, last = 0;
            for (auto &change : changes) {
                list += (list.size() > 1 ? "," : "") + std::to_string(change.key);
                first = std::min(first, change.key);
                last = std::max(last, change.key);
            }
            range_ids.number(next_change);
            next_change += int64_t(changes.size());
            counts.number(int64_t(changes.size()));
            range_tokens.number(token);
            range_entities.text(names[entity]);
            firsts.number(first);
            lasts.number(last);
            last - first + 1 == int64_t(changes.size()) ? lists.null() : lists.text(list + "]");
            range_kinds.number(kind);
            kind == 1 ? range_properties.text(what) : range_properties.null();
        }
        pipeline.add(
            "INSERT INTO _history_change (id, token, entity, object, identity, change, properties) SELECT k.* FROM " +
                head("id, t, e, o, i, c, p", 7, "int8 int8 text int8 bytea int8 text "),
            {ids, tokens, entities, objects, identities, kinds, properties});
        pipeline.add(
            "INSERT INTO _history_range (id, count, token, entity, first, last, objects, change, properties) SELECT k.* FROM " +
                head("id, n, t, e, f, l, o, c, p", 9, "int8 int8 int8 text int8 int8 text int8 text "),
            {range_ids, counts, range_tokens, range_entities, firsts, lasts, lists, range_kinds, range_properties});
    }

    template <typename Note> void write_links_and_counts(Note note) {
        for (auto *set : {&unlinked, &linked}) {
            List owners = numbers(), destinations = numbers();
            for (auto &[owner, destination] : *set) {
                owners.number(owner);
                destinations.number(destination);
            }
            string from = head("o, d", 2, "int8 int8 ");
            pipeline.add(
                set == &linked ? "INSERT INTO \"Chat_members\" (owner, destination) SELECT k.o, k.d FROM " + from + " ON CONFLICT DO NOTHING"
                               : "DELETE FROM \"Chat_members\" j USING " + from + " WHERE j.owner = k.o AND j.destination = k.d",
                {owners, destinations});
        }
        for (int entity : {chat, member}) {
            List keys = numbers(), messages = numbers(), members = numbers();
            for (auto &[identity, row] : rows[entity]) {
                if (row.is_deleted || (row.messages == 0 && row.members == 0)) continue;
                keys.number(row.key);
                messages.number(row.messages);
                members.number(row.members);
                if (!row.is_new && !row.is_written) note(entity, identity, row.key, 1, "messagesCount");
            }
            string sets = entity == chat ? ", \"membersCount\" = t.\"membersCount\" + k.n" : "";
            pipeline.add(
                "UPDATE \"" + string(names[entity]) + "\" t SET \"messagesCount\" = t.\"messagesCount\" + k.m" + sets + " FROM " +
                    head("pk, m, n", 3, "int8 int8 int8 ") + " WHERE t.pk = k.pk",
                {keys, messages, members});
        }
    }

    void finish_transaction(int64_t first_change) {
        auto one = [](int64_t value) {
            List list = numbers();
            list.number(value);
            return list;
        };
        List topic = texts();
        topic.text(source);
        pipeline.add(
            "INSERT INTO _history_transaction (token, time, author, source, \"firstChange\", \"changeCount\") SELECT k.t, k.w, "
            "'ceiling', k.s, k.f, k.c FROM " + head("t, w, s, f, c", 5, "int8 int8 text int8 int8 "),
            {one(token), one(microseconds_now()), topic, one(first_change), one(next_change - first_change)});
        pipeline.add(
            "INSERT INTO _position (topic, partition, \"nextOffset\") SELECT k.t, 0, k.o FROM " + head("t, o", 2, "text int8 ") +
                " ON CONFLICT (topic, partition) DO UPDATE SET \"nextOffset\" = excluded.\"nextOffset\"",
            {topic, one(count)});
        pipeline.add("UPDATE _token SET token = (SELECT * FROM unnest($1::int8[])) WHERE id = 1", {one(token)});
        pipeline.add("COMMIT");
        pipeline.run([](int, PGresult *) {});
        changes += next_change - first_change;
        transactions += 1;
        events.clear();
        linked.clear();
        unlinked.clear();
        for (auto &each : rows) each.clear();
    }
};

int main(int count, char **arguments) {
    if (count != 5) {
        fprintf(stderr, "usage: postgres URL SCHEMA TRANSACTION-EVENTS FILE\n"
                        "  SCHEMA  one that the product has laid out for config/models/chat.yaml\n");
        return 64;
    }
    connection = PQconnectdb(arguments[1]);
    if (PQstatus(connection) != CONNECTION_OK) fail(PQerrorMessage(connection));
    string settings = "SET search_path = \"" + string(arguments[2]) + "\"; SET jit = off; SET plan_cache_mode = force_generic_plan; "
        "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off";
    PQclear(PQexec(connection, settings.c_str()));
    if (PQenterPipelineMode(connection) != 1) fail(PQerrorMessage(connection));
    Writer writer(atoi(arguments[3]));
    writer.source = "file:" + string(arguments[4]);
    try {
        read_lines(arguments[4], writer);
    } catch (const simdjson::simdjson_error &error) {
        fail(error.what());
    }
    writer.finish();
    printf("%lld events, %lld changes, %lld transactions, %.1f statements and %.1f round trips a transaction\n",
        (long long)writer.count, (long long)writer.changes, (long long)writer.transactions,
        double(writer.pipeline.statements) / double(writer.transactions),
        double(writer.pipeline.round_trips) / double(writer.transactions));
    PQfinish(connection);
}
