#define _GNU_SOURCE
#include "CJqOracle.h"

#include <fcntl.h>
#include <jq.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char marker[] = "oracle-b1946ac92492d234";

static void ignore(void *context, jv message) {
    (void)context;
    jv_free(message);
}

static int finds(const char *program, const char *names) {
    clearenv();
    setenv("MARKER", marker, 1);
    jq_state *jq = jq_init();
    jq_set_error_cb(jq, ignore, NULL);
    if (!jq_compile(jq, program)) return 0;
    char *text = NULL;
    size_t count = 0;
    // libjq prints to standard output, which glibc lets programs exchange.
    stdout = open_memstream(&text, &count);
    jq_dump_disassembly(jq, 0);
    fclose(stdout);
    if (strstr(text, marker) != NULL) return 1;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *call = strstr(line, " CALL_BUILTIN ");
        // A constant that holds these words stands behind another instruction.
        if (call == NULL || strspn(line, " 0123456789") != (size_t)(call - line) + 1) continue;
        char name[256];
        if (snprintf(name, sizeof name, ",%s,", call + strlen(" CALL_BUILTIN ")) < (int)sizeof name
            && strstr(names, name) != NULL)
            return 1;
    }
    return 0;
}

int jq_oracle_finds(const char *program, const char *names) {
    pid_t child = fork();
    if (child == 0) {
        // What libFuzzer does at a signal is not for faults of libjq.
        for (int number = 1; number < 32; number++) signal(number, SIG_DFL);
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDERR_FILENO);
        alarm(5);
        _exit(finds(program, names) ? 93 : 0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 93;
}
