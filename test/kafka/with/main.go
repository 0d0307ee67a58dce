// Command with starts a real Apache Kafka, runs a command with SLKSTREAM_TEST_BROKERS set to its address, and
// stops it:
//
//	go run ./test/kafka/with [-brokers 3] go test ./...
//	go run ./test/kafka/with [-brokers 3] bash
//
// A command's exit code is passed on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/slkstream/slkstream/test/kafka"
)

func main() {
	brokers := flag.Int("brokers", 1, "how many brokers")
	secure := flag.Bool("secure", false, "also listen with TLS and with SASL; the environment then holds their addresses and files")
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	code, err := run(*brokers, *secure, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "with:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(brokers int, secure bool, command []string) (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "kafka-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	cluster, err := kafka.Start(ctx, kafka.Options{Dir: dir, Brokers: brokers, Secure: secure})
	if err != nil {
		return 1, err
	}
	defer cluster.Close()
	child := exec.CommandContext(ctx, command[0], command[1:]...)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	child.Env = append(os.Environ(), "SLKSTREAM_TEST_BROKERS="+strings.Join(cluster.Brokers(), ","))
	if secure {
		files := cluster.Certificates()
		child.Env = append(child.Env, "SLKSTREAM_TEST_TLS="+cluster.TLS()[0],
			"SLKSTREAM_TEST_SASL="+cluster.SASL()[0],
			"SLKSTREAM_TEST_CA="+files.CA, "SLKSTREAM_TEST_CERT="+files.Cert, "SLKSTREAM_TEST_KEY="+files.Key)
	}
	err = child.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return max(failed.ExitCode(), 1), nil
	}
	return 0, err
}
