{{- define "likewise.fullname" -}}
{{- if contains "likewise" .Release.Name -}}
{{- .Release.Name | trunc 45 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-likewise" .Release.Name | trunc 45 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "likewise.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}

{{- define "likewise.secretName" -}}
{{- .Values.secrets.existingSecret | default (include "likewise.fullname" .) -}}
{{- end -}}

{{- define "likewise.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "likewise.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* Labels that never change. Arguments: root, component. */}}
{{- define "likewise.selector" -}}
app.kubernetes.io/name: likewise
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* Arguments: root, component. */}}
{{- define "likewise.labels" -}}
{{ include "likewise.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The content of the Secret. */}}
{{- define "likewise.secrets" -}}
{{- with .Values.secrets }}
DATABASE_URL: {{ required "Set secrets.databaseUrl, or secrets.existingSecret." .databaseUrl | quote }}
REDIS_URL: {{ required "Set secrets.redisUrl, or secrets.existingSecret." .redisUrl | quote }}
LIKEWISE_SECRET_KEY: {{ required "Set secrets.secretKey, or secrets.existingSecret." .secretKey | quote }}
{{- with .directDatabaseUrl }}
LIKEWISE_DIRECT_DATABASE_URL: {{ . | quote }}
{{- end }}
{{- with .oldSecretKeys }}
LIKEWISE_OLD_SECRET_KEYS: {{ . | quote }}
{{- end }}
{{- with .smtpUrl }}
LIKEWISE_SMTP_URL: {{ . | quote }}
{{- end }}
{{- with .metricsToken }}
LIKEWISE_METRICS_TOKEN: {{ . | quote }}
{{- end }}
{{- with .awsAccessKeyId }}
AWS_ACCESS_KEY_ID: {{ . | quote }}
{{- end }}
{{- with .awsSecretAccessKey }}
AWS_SECRET_ACCESS_KEY: {{ . | quote }}
{{- end }}
{{- with .awsSessionToken }}
AWS_SESSION_TOKEN: {{ . | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The content of the ConfigMap. */}}
{{- define "likewise.settings" -}}
LIKEWISE_BASE_URL: {{ required "Set baseUrl to the address that people use." .Values.baseUrl | quote }}
STORAGE_URL: {{ required "Set storageUrl: s3://bucket/prefix." .Values.storageUrl | quote }}
LIKEWISE_LOG_FORMAT: json
{{- range $name, $value := omit .Values.settings "LIKEWISE_LOG_FORMAT" }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end -}}

{{/* Variables from the Secret. Arguments: secret (its name), names. The first three must be there. */}}
{{- define "likewise.secretVariables" -}}
{{- $secret := .secret -}}
{{- range .names }}
- name: {{ . }}
  valueFrom:
    secretKeyRef:
      name: {{ $secret }}
      key: {{ . }}
      {{- if not (has . (list "DATABASE_URL" "REDIS_URL" "LIKEWISE_SECRET_KEY")) }}
      optional: true
      {{- end }}
{{- end }}
{{- end -}}

{{- define "likewise.podSecurity" -}}
# The user of the Dockerfile.
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "likewise.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: ["ALL"]
{{- end -}}

{{/* What is written: temporary files, and caches of libraries in the home folder. */}}
{{- define "likewise.volumes" -}}
- name: temporary
  emptyDir:
    sizeLimit: {{ .Values.temporary.sizeLimit }}
- name: home
  emptyDir:
    sizeLimit: 1Gi
{{- end -}}

{{- define "likewise.volumeMounts" -}}
- name: temporary
  mountPath: /tmp
- name: home
  mountPath: /data
{{- end -}}

{{/* A Deployment's pod template and what is above it.
Arguments: root, component, values (of the component), command, autoscaled (sets the replicas),
secrets (further names), variables, container (further fields), spread (answers requests: pods on
several nodes, replaced one by one). */}}
{{- define "likewise.deployment" -}}
{{- $root := .root -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "likewise.fullname" $root }}-{{ .component }}
  labels:
    {{- include "likewise.labels" . | nindent 4 }}
spec:
  {{- if not .autoscaled }}
  replicas: {{ .values.replicas }}
  {{- end }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      {{- if .spread }}
      maxUnavailable: 0
      maxSurge: 1
      {{- else }}
      # What waits is done by the next one, and a second one may find no GPU.
      maxUnavailable: 1
      maxSurge: 0
      {{- end }}
  selector:
    matchLabels:
      {{- include "likewise.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "likewise.labels" . | nindent 8 }}
      annotations:
        # Pods are replaced when settings change.
        checksum/settings: {{ include "likewise.settings" $root | sha256sum }}
        {{- if not $root.Values.secrets.existingSecret }}
        checksum/secrets: {{ include "likewise.secrets" $root | sha256sum }}
        {{- end }}
        {{- with $root.Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "likewise.serviceAccountName" $root }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- include "likewise.podSecurity" . | nindent 8 }}
      terminationGracePeriodSeconds: {{ .values.terminationGracePeriodSeconds }}
      {{- if .spread }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "likewise.selector" . | nindent 14 }}
      {{- end }}
      containers:
        - name: {{ .component }}
          image: {{ include "likewise.image" $root | quote }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args:
            {{- toYaml .command | nindent 12 }}
          envFrom:
            - configMapRef:
                name: {{ include "likewise.fullname" $root }}
          env:
            {{- $names := concat (list "DATABASE_URL" "REDIS_URL" "LIKEWISE_SECRET_KEY" "LIKEWISE_DIRECT_DATABASE_URL" "LIKEWISE_OLD_SECRET_KEYS" "LIKEWISE_SMTP_URL" "AWS_ACCESS_KEY_ID" "AWS_SECRET_ACCESS_KEY" "AWS_SESSION_TOKEN") (.secrets | default list) }}
            {{- include "likewise.secretVariables" (dict "secret" (include "likewise.secretName" $root) "names" $names) | trim | nindent 12 }}
            {{- range $name, $value := .variables }}
            - name: {{ $name }}
              value: {{ $value | quote }}
            {{- end }}
          {{- with .container }}
          {{- . | nindent 10 }}
          {{- end }}
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          securityContext:
            {{- include "likewise.containerSecurity" . | nindent 12 }}
          volumeMounts:
            {{- include "likewise.volumeMounts" . | nindent 12 }}
      volumes:
        {{- include "likewise.volumes" $root | nindent 8 }}
      {{- with .values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end -}}
