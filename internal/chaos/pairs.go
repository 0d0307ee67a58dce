package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	testkafka "github.com/slkstream/slkstream/test/kafka"
)

// The table has a cell for each resource of the stage and each way in which one can fail.
var (
	resources = []string{
		"brokers", "group coordinator", "transaction coordinator", "input", "output", "state", "labels", "review",
		"dead letters", "registry", "TLS and SASL", "embedded folder", "clock",
		"one sender", "one labeller", "one visitor",
	}
	ways = []string{
		"away", "denied", "hanging", "made again", "slow", "limits lowered", "other version", "full", "rotated",
		"huge", "forged", "another's", "other settings",
	}
)

type pair struct{ resource, way string }

// elsewhere lists the pairs that tests play, as FOLDER.TEST, because they need no whole stage.
var elsewhere = map[pair]string{
	{"brokers", "denied"}:                  "internal/topic.TestCertificatesAndPasswords",
	{"brokers", "another's"}:               "internal/topic.TestAThrottledReaderWaits",
	{"group coordinator", "other version"}: "consumer.TestWhoDiffersWaits",
	{"transaction coordinator", "slow"}:    "producer.TestALateRequestDoesNoHarm",
	{"embedded folder", "another's"}:       "internal/broker.TestGarbageEndsItsConnection",
	{"registry", "huge"}:                   "internal/registry.TestAnAnswerWithoutEnd",
	{"output", "another's"}:                "internal/topic.TestAThrottledWriterWaits",
	{"output", "slow"}:                     "pipeline.TestOutputIsSlow",
	{"output", "huge"}:                     "pipeline.TestAResultLargerThanTheOutputTakes",
	{"state", "hanging"}:                   "pipeline.TestStateEndsInAHangingTransaction",
	{"state", "made again"}:                "pipeline.TestOutdated",
	{"state", "other version"}:             "pipeline.TestJournalOfAnotherVersion",
	{"state", "huge"}:                      "pipeline.TestLongNamesOfStreams",
	{"labels", "huge"}:                     "pipeline/labels.TestExamplesAreBounded",
	{"labels", "other version"}:            "pipeline.TestLabelsThatCannotBeUsed",
	{"dead letters", "huge"}:               "internal/topic.TestADeadLetterIsCutBeforeItIsSent",
	{"registry", "denied"}:                 "internal/registry.TestNoAnswerHoldsOthersUp",
	{"registry", "other version"}:          "internal/registry.TestReferencesAndChanges",
	{"TLS and SASL", "rotated"}:            "internal/topic.TestRenewedCertificates",
	{"TLS and SASL", "made again"}:         "internal/topic.TestChangedPasswords",
	{"TLS and SASL", "denied"}:             "internal/topic.TestCertificatesAndPasswords",
	{"TLS and SASL", "away"}:               "internal/topic.TestTokens",
	{"embedded folder", "away"}:            "cmd/slkstream.TestFileInPlaceOfAFolder",
	{"embedded folder", "denied"}:          "internal/broker.TestADirectoryThatCannotBeUsed",
	{"embedded folder", "full"}:            "internal/broker.TestAFullDiskRefusesRecords",
	{"embedded folder", "forged"}:          "internal/broker.TestOneWriterWhateverLiesInTheFolder",
	{"embedded folder", "hanging"}:         "internal/broker.TestATransactionCutShortByAKillIsGivenUp",
	{"clock", "made again"}:                "pipeline/intake.TestTheClockIsSet",
	{"one visitor", "hanging"}:             "internal/web.TestSlowVisitorsAreNotWaitedFor",
	{"one visitor", "slow"}:                "internal/web.TestSlowVisitorsAreNotWaitedFor",
	{"one visitor", "forged"}:              "internal/web.TestGuard",
	{"one visitor", "denied"}:              "internal/web.TestGuard",
	{"one visitor", "huge"}:                "internal/web.TestSlowLargeRequestsAreBounded",
	{"one visitor", "full"}:                "internal/web.TestConnectionsAreBounded",
	{"one visitor", "other version"}:       "internal/web.TestTeachingThatCannotBe",
	{"one visitor", "away"}:                "internal/web.TestNobodyLooksOn",
	{"one sender", "hanging"}:              "pipeline.TestInputBehindATransaction",
	{"one sender", "away"}:                 "pipeline.TestQuietStreamAmongBusyOnes",
	{"one labeller", "limits lowered"}:     "pipeline.TestLabelsThatDoNotFit",
}

// meaningless gives the reason why a pair is not played. Without a way it applies to the rest of a row,
// without a resource to the rest of a column.
var meaningless = map[pair]string{
	{"", "rotated"}:                           "nothing of it is replaced while it is used",
	{"", "forged"}:                            "who may write it may write anything: see its rights",
	{"", "huge"}:                              "how much is in it does not matter to who reads on",
	{"", "limits lowered"}:                    "it has no limit of its own",
	{"", "full"}:                              "it is full where the broker's disk is: see output",
	{"", "other version"}:                     "the stage only writes it, or the protocol agrees on a version",
	{"", "other settings"}:                    "it is no topic: see the topics",
	{"", "another's"}:                         "nothing tells another's records from those of the stage: see its rights",
	{"", "slow"}:                              "it is slow where the brokers are: see brokers",
	{"brokers", "made again"}:                 "another cluster at the same address: start the stage again",
	{"brokers", "full"}:                       "its topics are full: see output and state",
	{"group coordinator", "made again"}:       "a group that is forgotten begins as on its first day",
	{"transaction coordinator", "made again"}: "a forgotten id is a new one, and fences nobody less",
	{"input", "limits lowered"}:               "it is its senders' limit",
	{"input", "full"}:                         "it is its senders' trouble",
	{"input", "forged"}:                       "see one sender",
	{"input", "other version"}:                "see one sender",
	{"state", "forged"}:                       "who may write the state may write anything: see its rights",
	{"labels", "limits lowered"}:              "it is its teachers' limit: see one labeller",
	{"labels", "full"}:                        "it is its teachers' trouble",
	{"labels", "forged"}:                      "see one labeller",
	{"review", ""}:                            "written with the results, in their commit: see output",
	{"dead letters", ""}:                      "written with the results, in their commit: see output",
	{"registry", ""}:                          "it answers, or it does not: see away and denied",
	{"TLS and SASL", ""}:                      "it lets the stage in, or it does not: see denied and rotated",
	{"embedded folder", ""}:                   "a local disk: see away, denied and full",
	{"clock", ""}:                             "the stage goes by the records' times; its own only ends waits",
	{"one sender", ""}:                        "only what it sends reaches the stage",
	{"one labeller", ""}:                      "only what it teaches reaches the stage: see labels",
	{"one visitor", ""}:                       "only what it asks reaches the stage",
}

// tableSettings says how the table is played.
type tableSettings struct {
	broker        string // embedded or real
	page          string // output file; "": not written
	only          string // play only cells whose line contains it
	short         bool   // play only the cells of CI
	atOnce        int
	session, hold time.Duration
}

// plays reports whether a cell is played with a delivery.
func (t *tableSettings) plays(c *cell, once bool) bool {
	switch {
	case c.onceOnly && !once, t.short && !c.short:
		return false
	case c.on == embedded && t.broker == "real", c.on == real && t.broker != "real":
		return false
	}
	return strings.Contains(c.resource+", "+c.way+", "+c.how, t.only)
}

// play plays the cells with both deliveries, several at once, prints their outcomes, and writes the page. A
// cell without an answer is an error.
func (t *tableSettings) play(ctx context.Context) error {
	var cluster *testkafka.Cluster
	if t.broker == "real" {
		t.atOnce = 1 // the cells share the cluster
		dir, err := os.MkdirTemp("", "chaos")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if cluster, err = startCluster(ctx, filepath.Join(dir, "kafka")); err != nil {
			return err
		}
		defer cluster.Close()
	}
	bombBatch()
	debug.SetMemoryLimit(mostResident * 3 / 4) // as GOMEMLIMIT of a stage
	all := cells()
	var mutex sync.Mutex
	played, failed := 0, 0
	var worst outcome
	slots := make(chan struct{}, t.atOnce)
	var players sync.WaitGroup
	for i := range all {
		for _, once := range []bool{false, true} {
			c := &all[i]
			if !t.plays(c, once) {
				continue
			}
			slots <- struct{}{}
			players.Go(func() {
				defer func() { <-slots }()
				o := t.playCell(ctx, c, cluster, once)
				mutex.Lock()
				defer mutex.Unlock()
				fmt.Printf("%s, %s, %s, exactly once %t: %s\n", c.resource, c.way, c.how, once, &o)
				if played++; o.err != nil {
					failed++
				}
				worst.told, worst.others = max(worst.told, o.told), max(worst.others, o.others)
				worst.well, worst.loop = max(worst.well, o.well), max(worst.loop, o.loop)
				worst.resident = max(worst.resident, o.resident)
			})
		}
	}
	players.Wait()
	if failed > 0 {
		return fmt.Errorf("%d of %d cells have no answer", failed, played)
	}
	fmt.Printf("%d cells: 0 without an answer; at worst %s\n", played, &worst)
	if t.page == "" || t.short || t.only != "" {
		return nil
	}
	return os.WriteFile(t.page, []byte(tablePage()), 0o644)
}

// startCluster runs a real broker, on which the stage's address may do everything that is not denied.
func startCluster(ctx context.Context, dir string) (*testkafka.Cluster, error) {
	cluster, err := testkafka.Start(ctx, testkafka.Options{Dir: dir, Extra: map[string]string{
		"authorizer.class.name":            "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"allow.everyone.if.no.acl.found":   "true",
		"delete.topic.enable":              "true",
		"log.segment.delete.delay.ms":      "100",
		"group.initial.rebalance.delay.ms": "0",
	}})
	if err != nil {
		return nil, err
	}
	if err := allowAll(ctx, cluster.Brokers()); err != nil {
		cluster.Close()
		return nil, err
	}
	return cluster, nil
}

// tablePage returns the page of the cells for people on call: cells of one resource with the same outcome
// share a row, and so do resources of which a row says the same.
func tablePage() string {
	type group struct{ resource, then string }
	var groups []group
	hows, ways := map[group]string{}, map[group]string{} // ways: the last of a group
	var rows []string
	resources := map[string][]string{}
	for _, c := range cells() {
		if c.unlisted {
			continue
		}
		told, others := "-", "wait too"
		if c.told.text != "" {
			told = "`" + strings.ReplaceAll(c.told.text, inTopic+"/0", "TOPIC/PARTITION") + " ...`"
		} else if c.doubt != "" {
			told = "-, the page and the log say `" + c.doubt + " ...`"
		} else if c.letter {
			told = "-, the dead letter says why"
		}
		if c.othersGoOn {
			others = "go on"
		}
		of := group{c.resource, fmt.Sprintf("%s | %s | %s", c.does, told, others)}
		switch {
		case hows[of] == "":
			groups = append(groups, of)
			hows[of] = c.way + ": " + c.how
		case ways[of] == c.way:
			hows[of] += ", " + c.how
		default:
			hows[of] += "; " + c.way + ": " + c.how
		}
		ways[of] = c.way
	}
	for _, of := range groups {
		row := fmt.Sprintf("%s | %s", hows[of], of.then)
		if resources[row] == nil {
			rows = append(rows, row)
		}
		resources[row] = append(resources[row], of.resource)
	}
	var t strings.Builder
	t.WriteString(`# Failures

For people on call. Each line was broken on purpose, with both deliveries:
` + "`go run ./internal/chaos -table -page docs/failures.md`" + ` writes this page,
and ` + "`-broker real`" + ` plays it on Apache Kafka.

The text under ` + "`/readyz`" + ` appears within 30 s and stays until the fault ends, also in the log and
in ` + "`slkstream_trouble`" + `; with - the stage stays ready. No input is lost, and with exactly-once no record
is answered twice. Results that somebody deletes with their topic are gone. Retries of refused requests use less
than 1 MB a second, the process stays below 512 MiB, and the stage is well again without a restart.

| what fails | how | the stage meanwhile | ` + "`/readyz`" + ` 503 says | other inputs |
|---|---|---|---|---|
`)
	for _, row := range rows {
		fmt.Fprintf(&t, "| %s | %s |\n", strings.Join(resources[row], ", "), row)
	}
	t.WriteString("\nOther failures, such as those of TLS and SASL, and local disks, " +
		"are tests of their own, or do not concern the stage: " +
		"[pairs.go](../internal/chaos/pairs.go) lists each.\n")
	return t.String()
}
