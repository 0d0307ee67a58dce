//go:build !linux

package kafka

import (
	"os/exec"
	"syscall"
)

func endWithParent(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
