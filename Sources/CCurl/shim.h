#pragma once
#include <curl/curl.h>

/* Swift cannot call a function with a variable number of arguments. */
static inline CURLcode curl_set_number(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_set_receiver(CURL *handle, curl_write_callback receiver, void *target) {
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receiver);
    return curl_easy_setopt(handle, CURLOPT_WRITEDATA, target);
}

static inline CURLcode curl_get_number(CURL *handle, CURLINFO item, long *value) {
    return curl_easy_getinfo(handle, item, value);
}
