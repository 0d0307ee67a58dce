package kubernetes

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/spf13/pflag"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/slkstream/slkstream/config"
)

// render is the chart with values over its defaults: the documents by kind.
func render(t *testing.T, values map[string]any) (map[string][]byte, error) {
	t.Helper()
	chart, err := loader.Load("../../deploy/helm/slkstream")
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(chart, values, chartutil.ReleaseOptions{Name: "labels-north"}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	kinds := map[string][]byte{}
	for name, text := range files {
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		for _, document := range strings.Split(text, "\n---\n") {
			var kind metav1.TypeMeta
			if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, document)
			}
			if kind.Kind != "" {
				kinds[kind.Kind] = []byte(document)
			}
		}
	}
	return kinds, nil
}

// strict decodes a document; a field that its type does not have is an error.
func strict[T any](t *testing.T, documents map[string][]byte, kind string) *T {
	t.Helper()
	value := new(T)
	if err := yaml.UnmarshalStrict(documents[kind], value); err != nil {
		t.Fatalf("%s: %v\n%s", kind, err, documents[kind])
	}
	return value
}

var chartValues = map[string]map[string]any{
	"defaults": {},
	"everything": {
		"settings": map[string]any{
			"brokers": []any{"a:9093", "b:9093"}, "in": []any{"north", "south"}, "out": "labelled",
			"group": "cameras", "delivery": "exactly-once",
		},
		"tls": true, "sasl": map[string]any{"mechanism": "scram-sha-512", "user": "stage"}, "secret": "mine",
		"autoscaling":    map[string]any{"enabled": true, "partitions": 12, "lagThreshold": 100},
		"image":          map[string]any{"digest": "sha256:" + strings.Repeat("0", 64)},
		"podAnnotations": map[string]any{"team": "vision"}, "nodeSelector": map[string]any{"zone": "a"},
	},
	"a token of the secret": {
		"sasl": map[string]any{"mechanism": "oauthbearer"}, "autoscaling": map[string]any{"enabled": true},
	},
	"a token of the service account": {
		"sasl": map[string]any{"mechanism": "oauthbearer", "audience": "kafka", "user": "unused"}, "tls": true,
	},
	"in a company's cluster": {
		"imagePullSecrets":  []any{map[string]any{"name": "registry"}},
		"serviceAccount":    map[string]any{"create": true, "annotations": map[string]any{"eks.amazonaws.com/role-arn": "role"}},
		"extraEnv":          []any{map[string]any{"name": "SLKSTREAM_SEED", "value": "7"}},
		"extraVolumes":      []any{map[string]any{"name": "more", "emptyDir": map[string]any{}}},
		"extraVolumeMounts": []any{map[string]any{"name": "more", "mountPath": "/more"}},
		"support":           map[string]any{"configMap": "gallery", "files": []any{"support.jsonl"}},
		"networkPolicy":     map[string]any{"enabled": true, "from": []any{map[string]any{"podSelector": map[string]any{}}}},
		"monitor":           map[string]any{"kind": "ServiceMonitor", "labels": map[string]any{"release": "prometheus"}},
		"alerts":            map[string]any{"enabled": true},
		"ingress":           map[string]any{"enabled": true, "className": "nginx", "host": "labels.example", "tlsSecret": "tls"},
	},
	"pods monitored": {
		"monitor": map[string]any{"kind": "PodMonitor"}, "support": map[string]any{"secret": "gallery", "files": []any{"a.jsonl"}},
		"networkPolicy": map[string]any{"enabled": true}, "ingress": map[string]any{"enabled": true},
	},
	"scaled without login": {"autoscaling": map[string]any{"enabled": true}},
}

func TestChart(t *testing.T) {
	for name, values := range chartValues {
		t.Run(name, func(t *testing.T) {
			documents, err := render(t, values)
			if err != nil {
				t.Fatal(err)
			}
			deployment := strict[appsv1.Deployment](t, documents, "Deployment")
			service := strict[corev1.Service](t, documents, "Service")
			budget := strict[policyv1.PodDisruptionBudget](t, documents, "PodDisruptionBudget")
			settings := strict[corev1.ConfigMap](t, documents, "ConfigMap")
			labels := deployment.Spec.Template.Labels
			for what, selector := range map[string]map[string]string{
				"deployment": deployment.Spec.Selector.MatchLabels, "service": service.Spec.Selector,
				"budget": budget.Spec.Selector.MatchLabels,
			} {
				for key, value := range selector {
					if labels[key] != value {
						t.Errorf("the %s selects %s=%s", what, key, value)
					}
				}
				if len(selector) == 0 {
					t.Errorf("the %s selects nothing", what)
				}
			}
			pod := deployment.Spec.Template.Spec
			stage := pod.Containers[0]
			if !*stage.SecurityContext.ReadOnlyRootFilesystem || !*pod.SecurityContext.RunAsNonRoot {
				t.Error("the pod may write, or be root")
			}
			if pod.Volumes[0].ConfigMap.Name != settings.Name {
				t.Errorf("mounts %s, the settings are %s", pod.Volumes[0].ConfigMap.Name, settings.Name)
			}
			scaled := documents["ScaledObject"] != nil
			if scaled == (deployment.Spec.Replicas != nil) {
				t.Errorf("scaled %v, and replicas %v", scaled, deployment.Spec.Replicas)
			}
			stageTakes(t, &pod, settings.Data["slkstream.yaml"])
			othersAreTyped(t, documents, &pod)
			for _, kind := range []string{"ScaledObject", "TriggerAuthentication"} {
				if documents[kind] != nil {
					kedaTakes(t, kind, documents[kind])
				}
			}
		})
	}
}

// othersAreTyped fails unless what a company may add is of the types of the API and of the Prometheus operator.
func othersAreTyped(t *testing.T, documents map[string][]byte, pod *corev1.PodSpec) {
	t.Helper()
	if documents["ServiceAccount"] != nil {
		if account := strict[corev1.ServiceAccount](t, documents, "ServiceAccount"); account.Name != pod.ServiceAccountName {
			t.Errorf("the pod is of %s, not of %s", pod.ServiceAccountName, account.Name)
		}
	}
	if documents["NetworkPolicy"] != nil {
		strict[networkingv1.NetworkPolicy](t, documents, "NetworkPolicy")
	}
	if documents["Ingress"] != nil {
		strict[networkingv1.Ingress](t, documents, "Ingress")
	}
	if documents["ServiceMonitor"] != nil {
		monitor := strict[monitoringv1.ServiceMonitor](t, documents, "ServiceMonitor")
		if token := monitor.Spec.Endpoints[0].Authorization.Credentials; token.Name == "" || token.Key != "listen-token" {
			t.Errorf("the monitor sends %+v", token)
		}
	}
	if documents["PodMonitor"] != nil {
		strict[monitoringv1.PodMonitor](t, documents, "PodMonitor")
	}
	if documents["PrometheusRule"] != nil {
		for _, rule := range strict[monitoringv1.PrometheusRule](t, documents, "PrometheusRule").Spec.Groups[0].Rules {
			if rule.Labels["severity"] == "" || rule.Annotations["runbook_url"] == "" {
				t.Errorf("alert %s has no severity or runbook", rule.Alert)
			}
		}
	}
}

// stageTakes fails unless `slkstream run` takes a settings file in a pod whose volumes hold its secrets.
func stageTakes(t *testing.T, pod *corev1.PodSpec, text string) {
	t.Helper()
	for _, mount := range pod.Containers[0].VolumeMounts {
		folder := t.TempDir()
		for _, name := range map[string][]string{
			"secret": {"kafka-password", "kafka-token", "listen-token", "ca.crt"}, "token": {"token"},
			"support": {"support.jsonl", "a.jsonl"},
		}[mount.Name] {
			if err := os.WriteFile(filepath.Join(folder, name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			text = strings.ReplaceAll(text, filepath.Join(mount.MountPath, name), filepath.Join(folder, name))
		}
	}
	if strings.Contains(text, "/etc/") || strings.Contains(text, "/var/run/") {
		t.Errorf("the settings name files that no volume holds:\n%s", text)
	}
	file := filepath.Join(t.TempDir(), "slkstream.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	config.Flags(flags, "run")
	if _, err := config.Load("run", flags, []string{"SLKSTREAM_CONFIG=" + file}); err != nil {
		t.Errorf("run refuses the chart's settings: %v\n%s", err, text)
	}
}

// kedaTakes fails unless a document fits KEDA's own schema.
func kedaTakes(t *testing.T, kind string, document []byte) {
	t.Helper()
	for _, fault := range kedaFaults(t, kind, document) {
		t.Errorf("%s: %v", kind, fault)
	}
}

// kedaFaults lists what KEDA's own schema has against a document.
func kedaFaults(t *testing.T, kind string, document []byte) field.ErrorList {
	t.Helper()
	definition := kedaSchema(t, strings.ToLower(kind)+"s")
	validator, _, err := validation.NewSchemaValidator(definition.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	var value map[string]any
	if err := yaml.Unmarshal(document, &value); err != nil {
		t.Fatal(err)
	}
	return validation.ValidateCustomResource(nil, value, validator)
}

// What the chart's schema forbids is refused before anything is applied.
func TestChartRefuses(t *testing.T) {
	for name, values := range map[string]string{
		"an unknown value":             `{"replica": 3}`,
		"no brokers":                   `{"settings": {"brokers": ""}}`,
		"a digest cut short":           `{"image": {"digest": "sha256:12"}}`,
		"an unknown login":             `{"sasl": {"mechanism": "kerberos"}}`,
		"no replicas":                  `{"replicas": 0}`,
		"rolling that is no switch":    `{"rolling": "yes"}`,
		"instance ids without rolling": `{"instanceIds": true}`,
		"a setting's typo":             `{"settings": {"episode-sise": 50}}`,
		"a setting of another command": `{"settings": {"input": "x.npy"}}`,
		"a setting's wrong choice":     `{"settings": {"delivery": "exactly-twice"}}`,
		"a setting's wrong kind":       `{"settings": {"episode-size": "many"}}`,
		"an unknown monitor":           `{"monitor": {"kind": "NodeMonitor"}}`,
		"a volume without a name":      `{"extraVolumes": [{"emptyDir": {}}]}`,
		"TLS for no host":              `{"ingress": {"enabled": true, "tlsSecret": "x"}}`,
	} {
		var given map[string]any
		if err := json.Unmarshal([]byte(values), &given); err != nil {
			t.Fatal(err)
		}
		if _, err := render(t, given); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// A ConfigMap of the user's replaces the chart's.
func TestConfigOfOnesOwn(t *testing.T) {
	documents, err := render(t, map[string]any{"existingConfig": "mine"})
	if err != nil {
		t.Fatal(err)
	}
	volume := strict[appsv1.Deployment](t, documents, "Deployment").Spec.Template.Spec.Volumes[0]
	if documents["ConfigMap"] != nil || volume.ConfigMap.Name != "mine" {
		t.Errorf("it mounts %s", volume.ConfigMap.Name)
	}
}

// Pods with other settings wait for the old ones, which must not wait for them: an upgrade ends the old pods first,
// unless its user says that no such setting changes.
func TestUpgrades(t *testing.T) {
	for rolling, want := range map[bool]appsv1.DeploymentStrategyType{
		false: appsv1.RecreateDeploymentStrategyType, true: appsv1.RollingUpdateDeploymentStrategyType,
	} {
		documents, err := render(t, map[string]any{"rolling": rolling})
		if err != nil {
			t.Fatal(err)
		}
		strategy := strict[appsv1.Deployment](t, documents, "Deployment").Spec.Strategy
		if strategy.Type != want || (strategy.RollingUpdate != nil) != rolling {
			t.Errorf("rolling %v: %v", rolling, strategy)
		}
	}
}

// With instance ids the pods are those of a StatefulSet, and each has its own name for one, which it keeps when it is
// replaced. They are replaced one by one.
func TestInstanceIDs(t *testing.T) {
	documents, err := render(t, map[string]any{
		"instanceIds": true, "rolling": true, "replicas": 3, "autoscaling": map[string]any{"enabled": true},
	})
	if err != nil {
		t.Fatal(err)
	}
	set := strict[appsv1.StatefulSet](t, documents, "StatefulSet")
	if documents["Deployment"] != nil || set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement ||
		set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		t.Errorf("%+v", set.Spec)
	}
	service := strict[corev1.Service](t, documents, "Service")
	if set.Spec.ServiceName != service.Name {
		t.Errorf("its service is %s", set.Spec.ServiceName)
	}
	named := map[string]string{}
	for _, e := range set.Spec.Template.Spec.Containers[0].Env {
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil {
			named[e.Name] = e.ValueFrom.FieldRef.FieldPath
		}
	}
	if named["SLKSTREAM_GROUP_INSTANCE_ID"] != "metadata.name" {
		t.Errorf("from the pod come %v", named)
	}
	if scaled := string(documents["ScaledObject"]); !strings.Contains(scaled, "kind: StatefulSet") {
		t.Errorf("scaled is another kind:\n%s", scaled)
	}
}
