/* The least that a consumer with a store has to do before it is ready: open the store, join the group, get the
 * partitions, and read its own position. Prints "ready" then, and waits to be killed.
 *
 *   ready STORE BOOTSTRAP_SERVERS TOPIC GROUP
 */
#include <librdkafka/rdkafka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

static volatile int assigned = 0;

static void rebalance(rd_kafka_t *client, rd_kafka_resp_err_t event, rd_kafka_topic_partition_list_t *partitions,
                      void *unused) {
    (void)unused;
    if (event == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        rd_kafka_assign(client, partitions);
        assigned = 1;
    } else {
        rd_kafka_assign(client, NULL);
    }
}

int main(int count, char **arguments) {
    char reason[512];
    sqlite3 *store;
    sqlite3_stmt *position;
    if (count != 5) {
        fprintf(stderr, "usage: ready STORE BOOTSTRAP_SERVERS TOPIC GROUP\n");
        return 64;
    }
    if (sqlite3_open(arguments[1], &store) != SQLITE_OK ||
        sqlite3_exec(store, "PRAGMA journal_mode = WAL", NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(store, "SELECT nextOffset FROM _position WHERE topic = ?", -1, &position, NULL) !=
            SQLITE_OK) {
        fprintf(stderr, "the store: %s\n", sqlite3_errmsg(store));
        return 69;
    }
    rd_kafka_conf_t *configuration = rd_kafka_conf_new();
    rd_kafka_conf_set(configuration, "bootstrap.servers", arguments[2], reason, sizeof reason);
    rd_kafka_conf_set(configuration, "group.id", arguments[4], reason, sizeof reason);
    rd_kafka_conf_set(configuration, "enable.auto.commit", "false", reason, sizeof reason);
    rd_kafka_conf_set_rebalance_cb(configuration, rebalance);
    rd_kafka_t *client = rd_kafka_new(RD_KAFKA_CONSUMER, configuration, reason, sizeof reason);
    if (client == NULL) {
        fprintf(stderr, "the consumer: %s\n", reason);
        return 69;
    }
    rd_kafka_poll_set_consumer(client);
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, arguments[3], RD_KAFKA_PARTITION_UA);
    rd_kafka_subscribe(client, topics);
    while (!assigned) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(client, 10);
        if (message != NULL) rd_kafka_message_destroy(message);
    }
    sqlite3_bind_text(position, 1, arguments[3], -1, SQLITE_STATIC);
    sqlite3_step(position);
    puts("ready");
    fflush(stdout);
    pause();
    return 0;
}
