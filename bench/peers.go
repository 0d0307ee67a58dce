package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// peers runs the Python peers in a virtual environment of their own.
type peers struct {
	python string            // the environment's interpreter, "" if there is none
	absent error             // why there is none
	lacks  map[string]string // packages that could not be installed, and why
	have   string            // name and version of what was installed
}

// newPeers makes the environment of requirements.txt, or finds it as it was made before. What cannot be had
// is remembered, not fatal: the results name the columns that are missing.
func newPeers(ctx context.Context, folder string) *peers {
	p := &peers{lacks: map[string]string{}}
	if p.absent = p.make(ctx, folder); p.absent != nil {
		slog.Warn("no Python peers", "reason", p.absent)
		p.python = ""
	}
	return p
}

func (p *peers) make(ctx context.Context, folder string) error {
	required, err := os.ReadFile(filepath.Join(folder, "requirements.txt"))
	if err != nil {
		return err
	}
	venv, err := filepath.Abs(filepath.Join(folder, ".venv"))
	if err != nil {
		return err
	}
	p.python = filepath.Join(venv, "bin", "python")
	sum := sha256.Sum256(required)
	stamp, stampFile := hex.EncodeToString(sum[:]), filepath.Join(venv, "requirements.sha256")
	if made, err := os.ReadFile(stampFile); err != nil || string(made) != stamp {
		python, err := exec.LookPath("python3")
		if err != nil {
			return fmt.Errorf("python3 is not installed")
		}
		slog.Info("making the Python environment", "folder", venv)
		if err := quietly(ctx, python, "-m", "venv", "--clear", venv); err != nil {
			return fmt.Errorf("python3 -m venv: %w", err)
		}
		for line := range strings.Lines(string(required)) {
			if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			if err := quietly(ctx, p.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
				line); err != nil {
				name, _, _ := strings.Cut(line, "==")
				p.lacks[name] = err.Error()
				slog.Warn("a peer cannot be installed", "package", line, "reason", err)
			}
		}
		if len(p.lacks) == 0 {
			if err := os.WriteFile(stampFile, []byte(stamp), 0o644); err != nil {
				return err
			}
		}
	}
	freeze, err := exec.CommandContext(ctx, p.python, "-m", "pip", "freeze",
		"--disable-pip-version-check").Output()
	if err != nil {
		return fmt.Errorf("pip freeze: %w", err)
	}
	var have []string
	for line := range strings.Lines(string(freeze)) {
		if name, version, ok := strings.Cut(strings.TrimSpace(line), "=="); ok && strings.Contains(string(required),
			name+"==") {
			have = append(have, name+" "+version)
		}
	}
	p.have = strings.Join(have, ", ")
	return nil
}

// quietly runs a command and returns the end of what it said only if it failed.
func quietly(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err == nil {
		return nil
	}
	said := strings.TrimSpace(string(out))
	if at := strings.LastIndexByte(said, '\n'); at >= 0 {
		said = said[at+1:]
	}
	return fmt.Errorf("%w: %s", err, said)
}

func (p *peers) versions() string {
	if p.absent != nil {
		return "no Python peers: " + p.absent.Error()
	}
	return p.have
}

// Has returns nil if every package named is there, else why not.
func (b *bench) Has(packages ...string) error {
	if b.peers.absent != nil {
		return b.peers.absent
	}
	for _, name := range packages {
		if why, lacks := b.peers.lacks[name]; lacks {
			return fmt.Errorf("%s cannot be installed: %s", name, why)
		}
	}
	return nil
}

// Python runs a script of this folder with the threads given, 0 for as many as Go has, and decodes the JSON
// that it prints last.
func (b *bench) Python(ctx context.Context, threads int, into any, script string, args ...string) error {
	if b.peers.absent != nil {
		return b.peers.absent
	}
	command := exec.CommandContext(ctx, b.peers.python, append([]string{filepath.Join(b.folder, script)},
		args...)...)
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	command.Env = os.Environ()
	for _, name := range []string{
		"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
		"NUMBA_NUM_THREADS",
	} {
		command.Env = append(command.Env, fmt.Sprintf("%s=%d", name, threads))
	}
	var errors bytes.Buffer
	command.Stderr = &errors
	out, err := command.Output()
	if err != nil {
		said := errors.String()
		return fmt.Errorf("%s %s: %w: %s", script, strings.Join(args, " "), err, said[max(0, len(said)-2000):])
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), into); err != nil {
		return fmt.Errorf("%s: its last line is not JSON: %w", script, err)
	}
	return nil
}
