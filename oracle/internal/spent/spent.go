// Package spent says what this process has cost, as the kernel counts it.
package spent

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// Spent is a moment, and what had been spent by then.
type Spent struct {
	at  time.Time
	cpu time.Duration
}

// Now is what has been spent so far.
func Now() Spent {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return Spent{time.Now(), time.Duration(usage.Utime.Nano() + usage.Stime.Nano())}
}

// Since is what has been spent since then, as reports word it.
func (s Spent) Since() string {
	now := Now()
	return fmt.Sprintf("wall=%.3fs cpu=%.6fs", now.at.Sub(s.at).Seconds(), (now.cpu - s.cpu).Seconds())
}

// Memory is the peak and the present resident size, as the kernel words them.
func Memory() string { return sizes("VmHWM:", "VmRSS:") }

// Peak is the largest resident size so far, as the kernel words it.
func Peak() string { return sizes("VmHWM:") }

func sizes(names ...string) string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	var sizes []string
	for line := range strings.Lines(string(status)) {
		for _, name := range names {
			if strings.HasPrefix(line, name) {
				sizes = append(sizes, strings.Join(strings.Fields(line), " "))
			}
		}
	}
	return strings.Join(sizes, " ")
}
