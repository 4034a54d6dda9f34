/* Replaces getrandom with a deterministic generator, so that the seeds of hash maps, which affect coverage, and UIDs are
   the same in every run. fuzz/run preloads it if the seed is fixed. Not thread-safe: targets use one thread. */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

ssize_t getrandom(void *buffer, size_t length, unsigned flags) {
    static uint64_t state = 1;
    unsigned char *bytes = buffer;
    (void)flags;
    for (size_t i = 0; i < length; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (unsigned char)(state >> 56);
    }
    return (ssize_t)length;
}
