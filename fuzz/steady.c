/* Chance that is the same in every run: the seeds of hash maps, by which coverage would differ, and UIDs.
   fuzz/run loads it before a target whose seed is fixed. A target has one thread that asks. */
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
