// Keeper runs one command and sees to it that the command does not outlive
// its owner.
//
//	keeper DIRECTORY COMMAND [ARGUMENT...]
//
// The owner holds the writing end of keeper's stdin. When that end closes, for
// whatever reason, and be it that the owner was killed, keeper kills the
// command with its process group and removes DIRECTORY, in which the command
// worked. If keeper itself is killed, the kernel kills the command.
//
// Keeper's exit status is the command's, or 125 if it could not be started.
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

// The kernel sends the death signal when the thread that started the command
// ends, so that has to be a thread that lives as long as we do: the first.
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

	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	closed := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(closed)
	}()
	// An interrupt from the terminal is for the owner, and what it makes of it
	// reaches us through the pipe.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGHUP)

	select {
	case err := <-ended:
		os.Exit(status(err))
	case <-closed:
		syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		err := <-ended
		// Several keepers may share the directory. Each comes here after its
		// own command has gone, so the last of them leaves nothing.
		os.RemoveAll(directory)
		os.Exit(status(err))
	}
}

func status(err error) int {
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
