package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An element of a list setting may be given under a name of its own, in each layer; contradictions are refused.
func TestNamesOfElements(t *testing.T) {
	folder := t.TempDir()
	save := func(name string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	teach, read := save("teach"), save("read")
	sasl := []string{"--brokers=kafka:9092", "--sasl=oauthbearer", "--tls"}
	for _, row := range []struct {
		file     string
		environ  []string
		args     []string
		problem  string // "": none
		log      string
		token    string
		command  string
		viewable bool

		advertise string
	}{
		{log: "info text"},
		{args: []string{"--log=json,debug"}, log: "debug json"},
		{file: "log-format: json\n", environ: []string{"SLKSTREAM_LOG_LEVEL=warn"}, log: "warn json"},
		{args: []string{"--log=debug", "--log-level=warn"}, problem: "one of debug"},
		{args: []string{"--log=loud"}, problem: "each one of"},
		{args: []string{"--listen=:80"}, problem: "none to let everyone in"},
		{args: []string{"--listen=:80", "--listen-token-file=none"}, log: "info text"},
		{
			args: []string{"--listen=127.0.0.1:80", "--advertise=edge:8070"}, log: "info text",
			advertise: "edge:8070",
		},
		{
			environ: []string{"SLKSTREAM_LISTEN=127.0.0.1:80,advertise=https://edge/a"}, log: "info text",
			advertise: "https://edge/a",
		},
		{args: []string{"--advertise=edge:8070"}, problem: "must be one HOST:PORT"},
		{args: []string{"--listen=127.0.0.1:80,127.0.0.1:81"}, problem: "must be one HOST:PORT"},
		{args: []string{"--listen=127.0.0.1:80", "--advertise=edge"}, problem: "HOST:PORT or a URL"},
		{
			file: "view-token-file: " + read + "\n", args: []string{"--listen-token-file=" + teach},
			token: "teach", viewable: true, log: "info text",
		},
		{
			args: []string{"--listen-token-file=" + teach + ",view=" + read}, token: "teach", viewable: true,
			log: "info text",
		},
		{args: []string{"--listen-token-file=" + teach + "," + read}, problem: "must be one FILE"},
		{args: []string{"--view-token-file=" + read}, problem: "another token beside it"},
		{args: append(sasl, "--sasl-token-command=get a,b"), command: "get a,b", log: "info text"},
		{args: append(sasl, "--sasl-password-file=|get a"), command: "get a", log: "info text"},
		{args: append(sasl, "--sasl-token-command=a", "--sasl-token-file=b"), problem: "where one is meant"},
		{args: append(sasl[:1:1], "--sasl-token-command=a"), problem: "is not oauthbearer"},
		{args: append(sasl, "--sasl-password-file=a", "--sasl-user=me"), problem: "the token says who logs in"},
	} {
		args := append([]string{"--in=a", "--out=b"}, row.args...)
		c, err := load(t, "run", row.file, row.environ, args...)
		if row.problem != "" {
			if err == nil || !strings.Contains(err.Error(), row.problem) {
				t.Errorf("%+v: %v", row, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", row, err)
			continue
		}
		_, command := c.Kafka.Token()
		log := strings.ToLower(c.General.Level().String()) + " text"
		if c.General.LogJSON() {
			log = strings.Replace(log, "text", "json", 1)
		}
		if log != row.log || string(c.Listen.Token) != row.token ||
			c.Listen.Advertise != row.advertise || command != row.command ||
			(c.Listen.ViewToken != "") != row.viewable {
			t.Errorf("%+v: log %s, token %s, command %s", row, log, string(c.Listen.Token), command)
		}
	}
}

// A token file that cannot be read is one fault: it is not also said to be missing.
func TestUnreadableTokenIsOneFault(t *testing.T) {
	for _, token := range []string{"/nowhere/at/all", os.DevNull} {
		_, err := load(t, "run", "", nil, "--in=a", "--out=b", "--listen=:80", "--listen-token-file="+token)
		if err == nil || !strings.Contains(err.Error(), "listen-token-file") || strings.Contains(err.Error(), "others can reach") {
			t.Errorf("%s: %v", token, err)
		}
	}
}
