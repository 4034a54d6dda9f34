// Keeper runs a command and ensures that it does not outlive its owner, the
// process that started keeper.
//
//	keeper DIRECTORY COMMAND [ARGUMENT...]
//
// The owner holds the write end of keeper's stdin. When it is closed, even
// because the owner was killed, keeper kills the command's process group and
// removes DIRECTORY, which has the command's files. If keeper itself is killed,
// the kernel kills the command.
//
// The exit status is that of the command, or 125 if it could not be started.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
)

// The kernel sends the parent death signal when the thread that started the
// command exits, so the command must be started from the main thread.
func init() { runtime.LockOSThread() }

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: keeper DIRECTORY COMMAND [ARGUMENT...]")
		os.Exit(125)
	}
	directory := os.Args[1]

	command := exec.Command(os.Args[2], os.Args[3:]...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "keeper:", err)
		os.Exit(125)
	}

	exited := make(chan error, 1)
	go func() { exited <- command.Wait() }()
	closed := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(closed)
	}()
	// The terminal sends interrupts to the owner too. Keeper ignores them, and
	// exits when the owner closes the pipe.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGHUP)

	select {
	case err := <-exited:
		os.Exit(exitStatus(err))
	case <-closed:
		syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		err := <-exited
		// Several keepers may share the directory. Each removes it after its
		// own command has exited, so the last one removes the remaining files.
		os.RemoveAll(directory)
		os.Exit(exitStatus(err))
	}
}

// exitStatus returns the exit status for the result of Wait, in the manner of a
// shell.
func exitStatus(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		return 125
	case exit.ExitCode() < 0:
		return 128 + int(exit.Sys().(syscall.WaitStatus).Signal())
	}
	return exit.ExitCode()
}
