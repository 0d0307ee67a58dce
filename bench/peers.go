package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// peers runs the Python peers in their own virtual environment.
type peers struct {
	python string            // the environment's interpreter; "": none
	absent error             // why there is no interpreter
	lacks  map[string]string // packages that could not be installed, and why
	have   string            // installed packages with their versions
}

// newPeers creates the environment of requirements.txt, or uses the existing one. Whatever cannot be
// installed is remembered, not fatal: the results name the missing columns.
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

// quietly runs a command. On failure its error holds the end of the output.
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

// Has returns nil if every named package is installed, else the reason.
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

// Python runs a script of this folder with the given number of threads, 0 for Go's, and decodes the JSON that
// it prints last.
func (b *bench) Python(ctx context.Context, threads int, into any, script string, args ...string) error {
	if b.peers.absent != nil {
		return b.peers.absent
	}
	command := b.script(ctx, threads, script, args)
	var errors bytes.Buffer
	command.Stderr = &errors
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", script, strings.Join(args, " "), err, ending(errors.String()))
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), into); err != nil {
		return fmt.Errorf("%s: its last line is not JSON: %w", script, err)
	}
	return nil
}

// script returns a command that runs a script of this folder with the given number of threads.
func (b *bench) script(ctx context.Context, threads int, script string, args []string) *exec.Cmd {
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
	return command
}

// ending returns the end of a command's output.
func ending(said string) string { return said[max(0, len(said)-2000):] }

// runner is a script that repeats its measurement on request, but loads and compiles once.
type runner struct {
	name    string
	command *exec.Cmd
	tell    io.WriteCloser
	answers *bufio.Scanner
	errors  bytes.Buffer
}

// Runner starts a script that prints a line of JSON, and another for every line that it reads, until its
// input ends. The caller stops it.
func (b *bench) Runner(ctx context.Context, threads int, script string, args ...string) (*runner, error) {
	if b.peers.absent != nil {
		return nil, b.peers.absent
	}
	r := &runner{name: script + " " + strings.Join(args, " "), command: b.script(ctx, threads, script, args)}
	r.command.Stderr = &r.errors
	out, err := r.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if r.tell, err = r.command.StdinPipe(); err != nil {
		return nil, err
	}
	r.answers = bufio.NewScanner(out)
	return r, r.command.Start()
}

// Next decodes the next line.
func (r *runner) Next(into any) error {
	if !r.answers.Scan() {
		err := r.Stop()
		return fmt.Errorf("%s ended: %w: %s", r.name, err, ending(r.errors.String()))
	}
	return json.Unmarshal(r.answers.Bytes(), into)
}

// Again requests one more measurement and decodes it.
func (r *runner) Again(into any) error {
	if _, err := io.WriteString(r.tell, "\n"); err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	return r.Next(into)
}

// Stop ends the script.
func (r *runner) Stop() error {
	r.tell.Close()
	return r.command.Wait()
}
