package kafka

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// properties is a broker's configuration: short timeouts, so that tests of faults are short, and nothing
// waits for more members or replicas than there are.
func (c *Cluster) properties(n *node) []byte {
	var voters []string
	for _, o := range c.nodes {
		voters = append(voters, fmt.Sprintf("%d@127.0.0.1:%d", o.id, o.controller))
	}
	replicas, inSync := "1", "1"
	if len(c.nodes) >= 3 {
		replicas, inSync = "3", "2"
	}
	listeners := fmt.Sprintf("PLAINTEXT://127.0.0.1:%d", n.port)
	if c.options.Secure {
		listeners += fmt.Sprintf(",SSL://127.0.0.1:%d,SASL_SSL://127.0.0.1:%d", n.tls, n.sasls)
	}
	advertised := listeners
	if len(c.options.Proxies) > 0 {
		listeners += fmt.Sprintf(",PROXIED://127.0.0.1:%d", n.proxied)
		advertised += ",PROXIED://" + c.options.Proxies[n.id-1]
	}
	p := map[string]string{
		"process.roles": "broker,controller",
		"node.id":       fmt.Sprint(n.id),
		"listeners": fmt.Sprintf("%s,CONTROLLER://127.0.0.1:%d",
			listeners, n.controller),
		"advertised.listeners":                                        advertised,
		"inter.broker.listener.name":                                  "PLAINTEXT",
		"controller.listener.names":                                   "CONTROLLER",
		"listener.security.protocol.map":                              "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL",
		"controller.quorum.voters":                                    strings.Join(voters, ","),
		"log.dirs":                                                    n.file("data"),
		"auto.create.topics.enable":                                   "false",
		"default.replication.factor":                                  replicas,
		"min.insync.replicas":                                         inSync,
		"offsets.topic.replication.factor":                            replicas,
		"offsets.topic.num.partitions":                                "4",
		"transaction.state.log.replication.factor":                    replicas,
		"transaction.state.log.min.isr":                               inSync,
		"transaction.state.log.num.partitions":                        "4",
		"share.coordinator.state.topic.replication.factor":            replicas,
		"share.coordinator.state.topic.min.isr":                       inSync,
		"group.initial.rebalance.delay.ms":                            "0",
		"group.min.session.timeout.ms":                                "1000",
		"broker.session.timeout.ms":                                   "9000",
		"broker.heartbeat.interval.ms":                                "500",
		"replica.lag.time.max.ms":                                     "5000",
		"log.cleaner.backoff.ms":                                      "5000",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
	}
	if c.options.Secure {
		p["ssl.keystore.type"], p["ssl.truststore.type"] = "PEM", "PEM"
		p["ssl.keystore.location"], p["ssl.truststore.location"] = c.files.Server, c.files.CA
		p["listener.name.ssl.ssl.client.auth"] = "required"
		p["listener.name.sasl_ssl.sasl.enabled.mechanisms"] = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
		// Tokens are not signed, and a connection lives as long as the token that opened it.
		p["listener.name.sasl_ssl.oauthbearer.sasl.jaas.config"] = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
		p["listener.name.sasl_ssl.oauthbearer.connections.max.reauth.ms"] = "3600000"
		p["listener.name.sasl_ssl.plain.sasl.jaas.config"] = fmt.Sprintf(
			`org.apache.kafka.common.security.plain.PlainLoginModule required user_%s="%s";`, User, Password)
		for _, m := range []string{"scram-sha-256", "scram-sha-512"} {
			p["listener.name.sasl_ssl."+m+".sasl.jaas.config"] = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
		}
	}
	maps.Copy(p, c.options.Extra)
	var b bytes.Buffer
	for _, k := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&b, "%s=%s\n", k, p[k])
	}
	return b.Bytes()
}
