package pipeline

import (
	"math"
	"net/http"
	"strconv"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/pipeline/first"
	"github.com/slkstream/slkstream/pipeline/health"
	"github.com/slkstream/slkstream/pipeline/ledger"
	"github.com/slkstream/slkstream/producer"
)

// Metrics are a stage's metrics.
type Metrics struct {
	set   *telemetry.Set
	watch *health.Watch

	records                     telemetry.Counter
	taught                      telemetry.Counter
	doubtful                    telemetry.Counter
	oldest, commitAge, takeover telemetry.Gauge
	lost                        telemetry.Counter
	trouble                     telemetry.Gauge
	embeddingChanged            telemetry.Counter
	rejectingFor                telemetry.Gauge
	rejections                  telemetry.Counter
	corrections                 telemetry.Counter
	cutLetters                  telemetry.Counter
	empty                       telemetry.Counter
	episodes                    telemetry.Counter
	solve                       telemetry.Histogram
	delay                       telemetry.Histogram
	iterations                  telemetry.Histogram
	lag                         telemetry.Gauge
	undecided                   telemetry.Gauge
	cutOff                      telemetry.Gauge
	behind                      telemetry.Gauge
	buffered                    telemetry.Gauge
	inflight                    telemetry.Gauge
	streams                     telemetry.Gauge
	restoring                   telemetry.Gauge
	recovery                    telemetry.Gauge
	stateBytes                  telemetry.Counter
	outBytes                    telemetry.Counter
	snapshots                   telemetry.Histogram
	commits                     telemetry.Counter
	now                         telemetry.Counter
	nowTook                     telemetry.Histogram
	rebalances                  telemetry.Counter
	partitions                  telemetry.Gauge
	restarts                    telemetry.Counter
	retired                     telemetry.Counter
	away                        telemetry.Counter
	takeovers                   telemetry.Counter
	labels                      telemetry.Gauge
	memory                      telemetry.Gauge
	memoryUsed, memoryLimit     telemetry.Gauge
	metricsDropped              telemetry.Counter
}

func newMetrics(watch *health.Watch) *Metrics {
	m := &Metrics{set: telemetry.NewSet(), watch: watch}
	s := m.set
	seconds := []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	m.records = s.Counter(
		"slkstream_records_total",
		"embeddings whose answers are acknowledged: known, unknown (answered, but like nothing that is labelled), rejected (the episode could not be solved; they are in the dead letters)",
		"outcome",
	)
	m.taught = s.Counter("slkstream_taught_total", "embeddings that carried a label, whatever became of them")
	m.doubtful = s.Counter(
		"slkstream_doubtful_episodes_total",
		"episodes of streams that answer fewer than half of the items right that people label",
	)
	m.embeddingChanged = s.Counter("slkstream_embedding_changed_total",
		"episodes of streams whose vectors are of another embedder than before; their items are unknown")
	m.corrections = s.Counter(
		"slkstream_corrections_total",
		"recent items that were called something else by a change of the labels, by its kind",
		"kind",
	)
	m.rejections = s.Counter(
		"slkstream_rejected_total",
		"records that could not be used, by fault; they are in the dead letters",
		"fault",
	)
	m.cutLetters = s.Counter("slkstream_letters_cut_total",
		"dead letters that keep only the beginning of a record, as there are too many bytes of them")
	m.empty = s.Counter("slkstream_empty_records_total", "records that are well and hold nothing to answer, by reason", "reason")
	m.episodes = s.Counter("slkstream_episodes_total", "episodes by why they closed", "closed")
	m.solve = s.Histogram("slkstream_solve_seconds", "time to answer an episode", seconds)
	m.delay = s.Histogram("slkstream_answer_seconds", "time from an episode's close to its results' acknowledgement", seconds)
	m.iterations = s.Histogram("slkstream_iterations", "iterations of a solve", []float64{1, 2, 3, 5, 8, 12, 15, 20, 30, 50, 100})
	m.lag = s.Gauge("slkstream_lag_records",
		"records of the input beyond the committed offset; NaN where its end is not known", "topic", "partition")
	m.undecided = s.Gauge("slkstream_undecided_records",
		"records of the input that wait for the end of somebody's transaction", "topic", "partition")
	m.trouble = s.Gauge("slkstream_trouble", "what /readyz reports now, by what it is about", "of")
	m.cutOff = s.Gauge("slkstream_cut_off_seconds",
		"time without a generation of the group or an answer of a broker; 0 up to the session timeout")
	m.behind = s.Gauge("slkstream_lag_seconds", "age of the last record read; 0 at the end of the partition", "topic", "partition")
	m.buffered = s.Gauge("slkstream_buffered_bytes", "bytes of open episodes", "topic", "partition")
	m.inflight = s.Gauge("slkstream_inflight_bytes", "bytes of closed episodes that are not acknowledged", "topic", "partition")
	m.streams = s.Gauge("slkstream_streams", "streams remembered", "topic", "partition")
	m.restoring = s.Gauge(
		"slkstream_relearning_episodes",
		"episodes that are still to be learned again after a change of owner",
		"topic",
		"partition",
	)
	m.recovery = s.Gauge(
		"slkstream_recovery_seconds",
		"how long a new owner would be busy with what is in no snapshot, by the speed of this one",
		"topic",
		"partition",
	)
	m.stateBytes = s.Counter("slkstream_state_bytes_total", "bytes written to the state topic")
	m.outBytes = s.Counter("slkstream_result_bytes_total", "bytes of results, episode and review records and dead letters written")
	m.snapshots = s.Histogram(
		"slkstream_snapshot_bytes",
		"size of what a stream remembers, as it is written",
		[]float64{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20},
	)
	m.commits = s.Counter("slkstream_commits_total", "commits, by what became of them", "outcome")
	m.now = s.Counter("slkstream_first_answers_total",
		"items by what became of their first answer: answered, earlier (in the partition before it was claimed), "+
			"behind, late, full, unknown (nothing to answer by), refused", "outcome")
	m.nowTook = s.Histogram("slkstream_first_answer_seconds",
		"time from reading an item to the acknowledgement of its first answer", seconds)
	m.rebalances = s.Counter("slkstream_rebalances_total", "generations of the group that this process took part in")
	m.partitions = s.Gauge("slkstream_partitions", "partitions that this process owns")
	m.restarts = s.Counter("slkstream_partition_restarts_total", "times a partition had to start again from what is committed")
	m.oldest = s.Gauge(
		"slkstream_oldest_unacknowledged_seconds",
		"how long ago the oldest record was read whose offset is not committed; it may be in an open episode",
		"topic",
		"partition",
	)
	m.commitAge = s.Gauge(
		"slkstream_last_commit_age_seconds",
		"how long ago an offset was last committed, or else the partition assigned",
		"topic",
		"partition",
	)
	m.takeover = s.Gauge(
		"slkstream_takeover_seconds",
		"from the partition's assignment until its first new record could be answered; so far, where it is not over",
		"topic",
		"partition",
	)
	m.rejectingFor = s.Gauge(
		"slkstream_rejecting_seconds",
		"for how long every record of the input has been rejected; 0 while some can be used",
	)
	m.lost = s.Counter("slkstream_lost_records_total", "records that retention took before they were read")
	m.retired = s.Counter(
		"slkstream_streams_retired_total",
		"streams given up: silent for longer than state-ttl, too-many for a partition, or given up for memory",
		"reason",
	)
	m.away = s.Counter("slkstream_streams_away_total",
		"streams whose memory was put-away to the state topic as nothing came from them, or came back", "move")
	m.memory = s.Gauge("slkstream_memory_bytes",
		"memory by what holds it, about: labels, streams (their metrics among them), metrics, episodes, "+
			"first-answers, recent", "kind")
	m.memoryUsed = s.Gauge("slkstream_memory_used_bytes", "memory that was in use at the last collection")
	m.memoryLimit = s.Gauge("slkstream_memory_limit_bytes", "what the process may take; 0: no budget is set")
	m.metricsDropped = s.Counter("slkstream_metrics_given_up_total",
		"learned metrics of streams that were given up for memory")
	m.labels = s.Gauge("slkstream_labels", "examples of the labels topic: in-force, or left-out as there are too many", "state")
	m.takeovers = s.Counter(
		"slkstream_takeovers_total",
		"partitions taken over: kept, where this process owned the partition last and went on with what it had in memory, or restored from the state topic",
		"from",
	)
	// Start at 0 before the first event, so that dashboards and alerts find the series at once.
	for _, outcome := range []string{"known", "unknown", "rejected"} {
		m.records.Of(outcome)
	}
	for _, reason := range []string{"silent", "too-many", "memory"} {
		m.retired.Of(reason)
	}
	for _, move := range []string{answering.MoveAway, answering.MoveBack} {
		m.away.Of(move)
	}
	for _, from := range []string{fromMemory, fromState} {
		m.takeovers.Of(from)
	}
	for _, fault := range record.Faults {
		m.rejections.Of(string(fault))
	}
	for _, kind := range []string{"taught", "rejected", "renamed", "forgotten"} {
		m.corrections.Of(kind)
	}
	for _, reason := range []string{record.NoObjects, record.NoEmbeddings} {
		m.empty.Of(reason)
	}
	for _, outcome := range []string{"done", "failed"} {
		m.commits.Of(outcome)
	}
	for _, outcome := range first.Counts {
		m.now.Of(outcome)
	}
	for _, reason := range consumer.Reasons {
		m.episodes.Of(string(reason))
	}
	return m
}

// Ready returns "" if the stage is at work and can use some of its input; otherwise the reasons why not and what to do,
// one a line.
func (m *Metrics) Ready() string { return m.watch.Ready() }

// ServeHTTP answers a scrape.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.countTroubles()
	m.set.ServeHTTP(w, r)
}

// Gather implements prometheus.Gatherer: the metrics of a scrape, for other exports.
func (m *Metrics) Gather() ([]*dto.MetricFamily, error) {
	m.countTroubles()
	return m.set.Gather()
}

// countTroubles sets the metric of troubles to those of now.
func (m *Metrics) countTroubles() {
	lines := map[string]int{
		health.OfBrokers: 0, health.OfInput: 0, health.OfTransaction: 0, health.OfPartition: 0,
		health.OfLabels: 0, health.OfMemory: 0, health.OfEmbedding: 0, health.OfRecords: 0,
		health.OfSettings: 0,
	}
	for _, t := range m.watch.Troubles() {
		lines[t.Of]++
	}
	for of, n := range lines {
		m.trouble.Set(float64(n), of)
	}
}

// Summary is the stage's state in a few figures.
type Summary struct {
	Answered   int64            `json:"answered"`
	Unknown    int64            `json:"unknown"`
	Refused    int64            `json:"dead"`
	Episodes   int64            `json:"episodes"`
	Streams    int64            `json:"streams"`
	Lag        int64            `json:"lag"` // records not read yet; -1: unknown
	LagSeconds float64          `json:"lagSeconds"`
	Troubles   []health.Trouble `json:"troubles,omitempty"` // set by Status
	Reasons    map[string]int64 `json:"-"`                  // dead letters of unusable records, by fault
	CutOff     time.Duration    `json:"-"`                  // time without reading
}

// Status is Summary with what keeps the stage from doing its work; nothing if m is nil.
func (m *Metrics) Status() (s Summary) {
	if m != nil {
		s = m.Summary()
		s.Troubles = append(m.watch.Troubles(), m.watch.Doubts()...)
	}
	return s
}

// Summary sums up the metrics.
func (m *Metrics) Summary() Summary {
	lag, behind := m.lag.Sum(), m.behind.Max()
	cutOff := time.Duration(m.cutOff.Sum() * float64(time.Second))
	if cutOff > 0 || math.IsNaN(lag) || math.IsNaN(behind) {
		lag, behind = -1, 0
	}
	reasons := map[string]int64{}
	for _, fault := range record.Faults {
		if n := int64(m.rejections.Value(string(fault))); n > 0 {
			reasons[string(fault)] = n
		}
	}
	return Summary{
		Reasons: reasons, Answered: int64(m.records.Value("known") + m.records.Value("unknown")), Unknown: int64(m.records.Value("unknown")), Episodes: int64(m.episodes.Sum()),
		Refused: int64(
			m.rejections.Sum() + m.records.Value("rejected"),
		), Streams: int64(m.streams.Sum()), Lag: int64(lag), LagSeconds: behind, CutOff: cutOff,
	}
}

func tags(p topic.TopicPartition) []string { return []string{p.Topic, strconv.Itoa(int(p.Partition))} }

// progress updates the gauges of the partitions' progress.
func (m *Metrics) progress(now time.Time) {
	m.cutOff.Set(m.watch.CutOff(now).Seconds())
	m.rejectingFor.Set(m.watch.Records.Lasting(now).Seconds())
	for _, p := range m.watch.Partitions.All() {
		f, tags := p.Figures(now), tags(p.TopicPartition)
		m.oldest.Set(f.Oldest.Seconds(), tags...)
		m.commitAge.Set(f.Commit.Seconds(), tags...)
		m.takeover.Set(f.TakeOver.Seconds(), tags...)
		if !f.Known {
			for _, g := range []telemetry.Gauge{m.lag, m.behind, m.undecided} {
				g.Set(math.NaN(), tags...)
			}
			continue
		}
		m.undecided.Set(float64(f.Undecided), tags...)
		m.behind.Set(f.Behind.Seconds(), tags...)
		if f.Lag >= 0 {
			m.lag.Set(float64(f.Lag), tags...)
		}
	}
}

func (m *Metrics) size(p *partition) {
	tags := tags(p.TopicPartition)
	m.buffered.Set(float64(p.intake.Bytes()), tags...)
	m.inflight.Set(float64(p.ledger.InFlight()), tags...)
	m.streams.Set(float64(p.answering.Len()), tags...)
	m.restoring.Set(float64(p.intake.Relearning()), tags...)
	m.recovery.Set(p.ledger.Recovery(int(p.stage.owned.Load())).Seconds(), tags...)
}

func (m *Metrics) commit(c *producer.Commit) {
	m.stateBytes.Add(size(c.State))
	m.outBytes.Add(size(c.Records))
}

// acknowledged takes the outcome of a commit, and what it held.
func (m *Metrics) acknowledged(sent *ledger.Sent, err error, now time.Time) {
	if err != nil {
		m.commits.Add(1, "failed")
		return
	}
	m.commits.Add(1, "done")
	for fault, n := range sent.Faults {
		m.rejections.Add(float64(n), string(fault))
	}
	for _, j := range sent.Jobs {
		m.episode(j)
		m.delay.ObserveTraced(now.Sub(j.At).Seconds(), j.Episode.Items[0].Trace.Parent)
	}
}

func (m *Metrics) episode(j *answering.Job) {
	m.episodes.Add(1, string(j.Episode.Closed))
	m.solve.Observe(j.Took.Seconds())
	n := len(j.Episode.Items)
	if j.Rejected != nil {
		m.records.Add(float64(n), "rejected")
		m.watch.Records.Rejected(n, j.Rejected.Error(), true, time.Now())
		return
	}
	m.watch.Records.Used(true)
	m.iterations.Observe(float64(j.Report.Iterations))
	taught := 0
	for i := range j.Episode.Items {
		if j.Episode.Items[i].Label != "" {
			taught++
		}
	}
	if j.Report.EmbeddingChanged {
		m.embeddingChanged.Add(1)
	}
	if j.Report.Doubtful {
		m.doubtful.Add(1)
	}
	m.records.Add(float64(n-j.Unknown), "known")
	m.taught.Add(float64(taught))
	m.records.Add(float64(j.Unknown), "unknown")
}

func size(records []record.Out) float64 {
	n := 0
	for i := range records {
		n += len(records[i].Key) + len(records[i].Value)
	}
	return float64(n)
}

// released drops the series of a partition that is owned by another process now.
func (m *Metrics) released(tp topic.TopicPartition) {
	for _, g := range []telemetry.Gauge{m.lag, m.undecided, m.behind, m.buffered, m.inflight, m.streams, m.restoring, m.recovery, m.oldest, m.commitAge, m.takeover} {
		g.Drop(tags(tp)...)
	}
}

func (m *Metrics) labelled(inForce, leftOut int) {
	m.labels.Set(float64(inForce), "in-force")
	m.labels.Set(float64(leftOut), "left-out")
}
