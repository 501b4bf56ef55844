import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// Writes rules.yaml anew: the rules of deploy/prometheus as objects of the Prometheus Operator.
//
//   node deploy/k8s/monitoring/write-rules.ts

const RULES = fileURLToPath(new URL('../../prometheus/rules/', import.meta.url));
const objectOf = (name: string): string => `apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: rolecall-${name}
spec:
${readFileSync(`${RULES}${name}.yml`, 'utf8').replace(/^(?=.)/gm, '  ')}`;

writeFileSync(
  new URL('rules.yaml', import.meta.url),
  `# Written by write-rules.ts.\n${['alerts', 'recording'].map(objectOf).join('---\n')}`,
);
