package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// programs is a container runtime with a few built-in commands.
type programs struct{}

// Exec runs one of the built-in commands.
func (programs) Exec(ctx context.Context, _ string, cmd []string, in io.Reader, out, err io.WriteCloser, _ bool, resize <-chan remotecommand.TerminalSize) error {
	switch cmd[0] {
	case "echo":
		return write(out, cmd[1:])
	case "complain":
		return write(err, cmd[1:])
	case "exit":
		code, parseErr := strconv.Atoi(cmd[1])
		if parseErr != nil || code == 0 {
			return parseErr
		}
		return utilexec.CodeExitError{Err: fmt.Errorf("exit status %d", code), Code: code}
	case "cat":
		return cat(in, out)
	case "size":
		size := <-resize
		return write(out, []string{fmt.Sprintf("%dx%d", size.Width, size.Height)})
	default:
		return fmt.Errorf("program %q not found", cmd[0])
	}
}

// Attach copies stdin to stdout.
func (programs) Attach(_ context.Context, _ string, in io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error {
	return cat(in, out)
}

// PortForward echoes the stream. Ports below 10 refuse connections.
func (programs) PortForward(_ context.Context, _ string, port int32, stream io.ReadWriteCloser) error {
	if port < 10 {
		return fmt.Errorf("port %d refuses connections", port)
	}
	_, err := io.Copy(stream, stream)
	return err
}

func write(to io.Writer, words []string) error {
	if to == nil {
		return nil
	}
	_, err := io.WriteString(to, strings.Join(words, " ")+"\n")
	return err
}

func cat(in io.Reader, out io.Writer) error {
	if in == nil || out == nil {
		return nil
	}
	_, err := io.Copy(out, in)
	return err
}
