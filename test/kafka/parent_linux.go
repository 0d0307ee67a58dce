package kafka

import (
	"os/exec"
	"syscall"
)

// endWithParent lets a broker not outlive the tests that started it, and keeps a terminal's signals from it.
func endWithParent(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
