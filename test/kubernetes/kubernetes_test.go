// Package kubernetes holds deploy/kubernetes to the types of the Kubernetes API, to KEDA's own schemas and to
// the product's settings, without a cluster. It is a module of its own, so that what reads manifests does not
// weigh on the product.
package kubernetes

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/slkstream/slkstream/config"
)

const (
	folder = "../../deploy/kubernetes"
	keda   = "github.com/kedacore/keda/v2@v2.17.2"
)

// document is one of a file's.
type document struct {
	file string
	text []byte
	kind metav1.TypeMeta
}

// documents are those of every manifest.
func documents(t *testing.T) []document {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	var all []document
	for _, file := range files {
		if filepath.Base(file) == "slkstream.yaml" {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range bytes.Split(b, []byte("\n---\n")) {
			d := document{file: filepath.Base(file), text: text}
			if err := yaml.Unmarshal(text, &d.kind); err != nil || d.kind.Kind == "" {
				t.Fatalf("%s: %v", d.file, err)
			}
			all = append(all, d)
		}
	}
	return all
}

// read decodes the one document of a kind: a field that its type does not have is an error.
func read[T any](t *testing.T, kind string) *T {
	t.Helper()
	for _, d := range documents(t) {
		if d.kind.Kind == kind {
			value := new(T)
			if err := yaml.UnmarshalStrict(d.text, value); err != nil {
				t.Fatalf("%s: %v", d.file, err)
			}
			return value
		}
	}
	t.Fatalf("no %s", kind)
	return nil
}

// settings are those of slkstream.yaml, with the variables that the deployment sets.
func settings(t *testing.T) *config.Config {
	t.Helper()
	secret := t.TempDir()
	for _, name := range []string{"kafka-password", "listen-token", "ca.crt"} {
		if err := os.WriteFile(filepath.Join(secret, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "slkstream.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "slkstream.yaml")
	text = bytes.ReplaceAll(text, []byte("/etc/slkstream/secret"), []byte(secret))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	environment := []string{"SLKSTREAM_CONFIG=" + file, "SLKSTREAM_CLIENT_ID=slkstream-7"}
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	config.Flags(flags, "run")
	c, err := config.Load("run", flags, environment)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestStage(t *testing.T) {
	c := settings(t)
	d := read[appsv1.Deployment](t, "Deployment")
	pod := d.Spec.Template.Spec
	stage := pod.Containers[0]
	if !slices.Equal(stage.Args, []string{"run"}) {
		t.Errorf("args %q", stage.Args)
	}
	for _, v := range stage.Env {
		if name, ours := strings.CutPrefix(v.Name, config.Prefix); ours && !slices.Contains(config.Names(),
			strings.ToLower(strings.ReplaceAll(name, "_", "-"))) {
			t.Errorf("%s is no setting", v.Name)
		}
	}
	for name, p := range map[string]*corev1.Probe{
		"startup": stage.StartupProbe, "liveness": stage.LivenessProbe,
		"readiness": stage.ReadinessProbe,
	} {
		want := "/livez"
		if name == "readiness" {
			want = "/readyz"
		}
		if p == nil || p.HTTPGet.Path != want || p.HTTPGet.Port.StrVal != "http" {
			t.Errorf("%s probe %+v", name, p)
		}
	}
	port := stage.Ports[0]
	if !strings.HasSuffix(c.Listen.Address, ":8070") || port.ContainerPort != 8070 || port.Name != "http" ||
		c.Listen.Token == "" {
		t.Errorf("listens at %s, port %+v", c.Listen.Address, port)
	}
	if limit := stage.Resources.Limits.Memory(); limit.Value()*9/10 < 1800<<20 {
		t.Errorf("memory limit %v leaves no room beside GOMEMLIMIT", limit)
	}
	if grace := *pod.TerminationGracePeriodSeconds; float64(grace) <= c.Delivery.DrainTimeout.Seconds() {
		t.Errorf("%d s to stop, drain-timeout %v", grace, c.Delivery.DrainTimeout)
	}
	if s := stage.SecurityContext; !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation ||
		!*pod.SecurityContext.RunAsNonRoot {
		t.Error("the pod may write, or be root")
	}
	labels := d.Spec.Template.Labels
	matches := func(what string, selector map[string]string) {
		for name, value := range selector {
			if labels[name] != value {
				t.Errorf("%s selects %s=%s", what, name, value)
			}
		}
		if len(selector) == 0 {
			t.Errorf("%s selects nothing", what)
		}
	}
	matches("the deployment", d.Spec.Selector.MatchLabels)
	matches("the service", read[corev1.Service](t, "Service").Spec.Selector)
	matches("the budget", read[policyv1.PodDisruptionBudget](t, "PodDisruptionBudget").Spec.Selector.MatchLabels)
	read[corev1.Namespace](t, "Namespace")
	secret := read[corev1.Secret](t, "Secret")
	for _, name := range []string{"kafka-password", "listen-token", "ca.crt"} {
		if secret.StringData[name] == "" {
			t.Errorf("no %s in the secret", name)
		}
	}
	if secret.Name != pod.Volumes[1].Secret.SecretName {
		t.Errorf("secret %s, mounted %s", secret.Name, pod.Volumes[1].Secret.SecretName)
	}
}

// kedaSchema reads the schema of one of KEDA's kinds from KEDA's own module.
func kedaSchema(t *testing.T, plural string) *apiextensions.CustomResourceValidation {
	t.Helper()
	download := exec.Command("go", "mod", "download", "-json", keda)
	download.Dir = t.TempDir()
	out, err := download.Output()
	if err != nil {
		t.Fatalf("%s: %v", keda, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(module.Dir, "config", "crd", "bases", "keda.sh_"+plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(b, &definition); err != nil {
		t.Fatal(err)
	}
	var internal apiextensions.CustomResourceValidation
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(definition.Spec.Versions[0].Schema, &internal, nil); err != nil {
		t.Fatal(err)
	}
	return &internal
}

func TestScaling(t *testing.T) {
	c := settings(t)
	checked := 0
	for _, d := range documents(t) {
		if d.kind.APIVersion != "keda.sh/v1alpha1" {
			continue
		}
		checked++
		definition := kedaSchema(t, strings.ToLower(d.kind.Kind)+"s")
		validator, _, err := validation.NewSchemaValidator(definition.OpenAPIV3Schema)
		if err != nil {
			t.Fatal(err)
		}
		var value map[string]any
		if err := yaml.Unmarshal(d.text, &value); err != nil {
			t.Fatal(err)
		}
		for _, fault := range validation.ValidateCustomResource(nil, value, validator) {
			t.Errorf("%s: %v", d.kind.Kind, fault)
		}
		structural, err := schema.NewStructural(definition.OpenAPIV3Schema)
		if err != nil {
			t.Fatal(err)
		}
		before, _ := json.Marshal(value)
		pruning.Prune(value, structural, true)
		if after, _ := json.Marshal(value); !bytes.Equal(before, after) {
			t.Errorf("%s has fields that KEDA does not know:\n%s\n%s", d.kind.Kind, before, after)
		}
		if d.kind.Kind != "ScaledObject" {
			continue
		}
		var scaled struct {
			Spec struct {
				ScaleTargetRef  struct{ Name string }
				MinReplicaCount int
				Triggers        []struct {
					Type     string
					Metadata map[string]string
				}
			}
		}
		if err := yaml.Unmarshal(d.text, &scaled); err != nil {
			t.Fatal(err)
		}
		about := scaled.Spec.Triggers[0].Metadata
		if scaled.Spec.MinReplicaCount != 1 || about["allowIdleConsumers"] != "false" ||
			about["consumerGroup"] != c.Topics.Group ||
			about["topic"] != c.Topics.In[0] || about["bootstrapServers"] != c.Kafka.Brokers[0] {
			t.Errorf("%+v is not what the stage reads", scaled.Spec)
		}
		if name := read[appsv1.Deployment](t, "Deployment").Name; scaled.Spec.ScaleTargetRef.Name != name {
			t.Errorf("scales %s, not %s", scaled.Spec.ScaleTargetRef.Name, name)
		}
	}
	if checked != 2 {
		t.Errorf("%d of KEDA's documents", checked)
	}
}

// kustomize builds the folder: each file that it names is there, the settings become the ConfigMap that the deployment mounts,
// and every resource is in the namespace.
func TestKustomization(t *testing.T) {
	resources, err := built(folder)
	if err != nil {
		t.Fatal(err)
	}
	kinds, settings := map[string]int{}, ""
	for _, r := range resources.Resources() {
		kinds[r.GetKind()]++
		if r.GetKind() != "Namespace" && r.GetNamespace() != "slkstream" {
			t.Errorf("%s %s is in namespace %q", r.GetKind(), r.GetName(), r.GetNamespace())
		}
		if r.GetKind() == "ConfigMap" {
			settings = r.GetName()
		}
	}
	for _, r := range resources.Resources() {
		if r.GetKind() != "Deployment" {
			continue
		}
		deployment := new(appsv1.Deployment)
		if err := yaml.UnmarshalStrict([]byte(r.MustYaml()), deployment); err != nil {
			t.Fatal(err)
		}
		if name := deployment.Spec.Template.Spec.Volumes[0].ConfigMap.Name; name != settings || settings == "" {
			t.Errorf("the pod mounts %s, the settings are %s", name, settings)
		}
	}
	for _, kind := range []string{"Namespace", "Deployment", "Service", "PodDisruptionBudget", "ScaledObject", "ConfigMap"} {
		if kinds[kind] != 1 {
			t.Errorf("%d of kind %s", kinds[kind], kind)
		}
	}
}

// built is what kustomize makes of a folder.
func built(folder string) (resmap.ResMap, error) {
	return krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
}

// A wrong value of the folder is refused: by kustomize, by the types of the API, or by KEDA's schema.
func TestKustomizationRefuses(t *testing.T) {
	for what, row := range map[string]struct{ file, right, wrong string }{
		"a typo":              {"kustomization.yaml", "configMapGenerator:", "configMapGenerators:"},
		"a file that is not":  {"kustomization.yaml", "- service.yaml", "- services.yaml"},
		"a field of no type":  {"deployment.yaml", "containers:", "container:"},
		"a number that isn't": {"disruption.yaml", "maxUnavailable: 1", "maxUnavailable: {}"},
		"a number for a text": {"scaling.yaml", "minReplicaCount: 1", "minReplicaCount: one"},
	} {
		copied := t.TempDir()
		if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(copied, row.file))
		if err != nil || !bytes.Contains(text, []byte(row.right)) {
			t.Fatalf("%s has no %q: %v", row.file, row.right, err)
		}
		text = bytes.Replace(text, []byte(row.right), []byte(row.wrong), 1)
		if err := os.WriteFile(filepath.Join(copied, row.file), text, 0o600); err != nil {
			t.Fatal(err)
		}
		resources, err := built(copied)
		if err != nil {
			continue
		}
		refused := false
		for _, r := range resources.Resources() {
			var of any
			switch document := []byte(r.MustYaml()); r.GetKind() {
			case "Deployment":
				of = new(appsv1.Deployment)
				refused = refused || yaml.UnmarshalStrict(document, of) != nil
			case "PodDisruptionBudget":
				of = new(policyv1.PodDisruptionBudget)
				refused = refused || yaml.UnmarshalStrict(document, of) != nil
			case "ScaledObject":
				refused = refused || len(kedaFaults(t, "ScaledObject", document)) > 0
			}
		}
		if !refused {
			t.Errorf("%s is taken", what)
		}
	}
}
