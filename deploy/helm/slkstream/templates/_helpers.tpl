{{- define "slkstream.labels" -}}
app.kubernetes.io/name: slkstream
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: stage
{{- end }}

{{- define "slkstream.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- /* The stage's settings: those of the chart, then the user's. */ -}}
{{- define "slkstream.settings" -}}
{{- $own := dict "listen" "0.0.0.0:8070" "listen-token-file" "/etc/slkstream/secret/listen-token" "log-format" "json" -}}
{{- if .Values.tls -}}
{{- $_ := set $own "tls" true -}}
{{- $_ := set $own "tls-ca" "/etc/slkstream/secret/ca.crt" -}}
{{- end -}}
{{- if .Values.sasl.mechanism -}}
{{- $_ := set $own "sasl" .Values.sasl.mechanism -}}
{{- if ne .Values.sasl.mechanism "oauthbearer" -}}
{{- $_ := set $own "sasl-user" .Values.sasl.user -}}
{{- $_ := set $own "sasl-password-file" "/etc/slkstream/secret/kafka-password" -}}
{{- else if .Values.sasl.audience -}}
{{- $_ := set $own "sasl-token-file" "/var/run/secrets/kafka/token" -}}
{{- else -}}
{{- $_ := set $own "sasl-token-file" "/etc/slkstream/secret/kafka-token" -}}
{{- end -}}
{{- end -}}
{{- if or .Values.support.configMap .Values.support.secret -}}
{{- $files := list -}}
{{- range .Values.support.files }}{{- $files = append $files (printf "/etc/slkstream/support/%s" .) -}}{{- end -}}
{{- $_ := set $own "support" $files -}}
{{- end -}}
{{- merge (deepCopy .Values.settings) $own | toYaml -}}
{{- end }}

{{- define "slkstream.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary .Release.Name "default" .Values.serviceAccount.create) -}}
{{- end }}

{{- define "slkstream.kind" -}}
{{- ternary "StatefulSet" "Deployment" .Values.instanceIds -}}
{{- end }}
