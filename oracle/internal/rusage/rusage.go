// Package rusage reports the CPU time and memory of this process, as the kernel
// accounts them.
package rusage

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// Snapshot is a point in time and the CPU time used until then.
type Snapshot struct {
	at  time.Time
	cpu time.Duration
}

// Now returns a snapshot of the current time and CPU time.
func Now() Snapshot {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return Snapshot{time.Now(), time.Duration(usage.Utime.Nano() + usage.Stime.Nano())}
}

// Since returns the wall time and CPU time since the snapshot, formatted as in the
// reports of the benchmarks.
func (s Snapshot) Since() string {
	now := Now()
	return fmt.Sprintf("wall=%.3fs cpu=%.6fs", now.at.Sub(s.at).Seconds(), (now.cpu - s.cpu).Seconds())
}

// Memory returns the peak and the current resident set size, formatted as in
// /proc/self/status.
func Memory() string { return statusFields("VmHWM:", "VmRSS:") }

// Peak returns the peak resident set size, formatted as in /proc/self/status.
func Peak() string { return statusFields("VmHWM:") }

func statusFields(names ...string) string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	var fields []string
	for line := range strings.Lines(string(status)) {
		for _, name := range names {
			if strings.HasPrefix(line, name) {
				fields = append(fields, strings.Join(strings.Fields(line), " "))
			}
		}
	}
	return strings.Join(fields, " ")
}
