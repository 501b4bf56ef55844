import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments, stringify } from 'yaml';
import { judgeManifests, judgePublicEndpoints, judgeSteps, type Manifest } from './judge-manifests.ts';

// Renders the manifests with kustomize, with their overlays and step by step, and validates them
// against the schemas of Kubernetes, KEDA, Flux and the Prometheus Operator, and against this
// project's promises. It needs no cluster, but Python 3, Go for the schemas of custom resources, and
// kubectl or kustomize (else it is built with Go).
//
//   node test/k8s/main.ts

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HERE = fileURLToPath(new URL('.', import.meta.url));
const MANIFESTS = 'deploy/k8s';
const CACHE = join(ROOT, '.cache', 'k8s');
const VENV = join(CACHE, 'venv');
const KUSTOMIZE = 'sigs.k8s.io/kustomize/kustomize/v5@v5.7.1';
/** The custom resource definitions, in the sources of their projects. */
const DEFINITIONS = {
  'github.com/kedacore/keda/v2@v2.17.2': 'config/crd/bases/keda.sh_scaledobjects.yaml',
  'github.com/fluxcd/kustomize-controller@v1.7.3':
    'config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml',
  'github.com/prometheus-operator/prometheus-operator@v0.85.0': [
    'example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml',
    'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
  ],
} as const;

type RunOptions = { readonly env?: Readonly<Record<string, string>>; readonly cwd?: string };

/** Runs a program to its end and returns its output. */
function run(command: string, args: readonly string[], { env = {}, cwd = ROOT }: RunOptions = {}): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stdout + stderr}`);
  return stdout;
}

const isInstalled = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0;

function findKustomize(): readonly [command: string, verb: string] {
  if (isInstalled('kustomize', 'version')) return ['kustomize', 'build'];
  if (isInstalled('kubectl', 'version', '--client')) return ['kubectl', 'kustomize'];
  if (!existsSync(join(CACHE, 'kustomize'))) run('go', ['install', KUSTOMIZE], { env: { GOBIN: CACHE } });
  return [join(CACHE, 'kustomize'), 'build'];
}

const objectsOf = (rendered: string): Manifest[] =>
  parseAllDocuments(rendered).map((document) => document.toJS() as Manifest);

/** The files that define the custom resources. */
const fetchDefinitions = (): string[] =>
  Object.entries(DEFINITIONS).flatMap(([module, files]) => {
    const { Dir } = JSON.parse(run('go', ['mod', 'download', '-json', module], { cwd: CACHE })) as {
      Dir: string;
    };
    return [files].flat().map((file) => join(Dir, file));
  });

function installValidator(): string {
  const python = join(VENV, 'bin', 'python');
  if (!existsSync(python)) run('python3', ['-m', 'venv', VENV]);
  run(join(VENV, 'bin', 'pip'), ['install', '--quiet', '--requirement', join(HERE, 'requirements.txt')]);
  return python;
}

mkdirSync(CACHE, { recursive: true });
const [kustomize, verb] = findKustomize();
const render = (folder: string): string => run(kustomize, [verb, folder]);
/** Renders an overlay of the manifests. */
function renderOverlay(members: object): string {
  const folder = join(CACHE, 'overlay');
  mkdirSync(folder, { recursive: true });
  const overlay = { resources: [relative(folder, join(ROOT, MANIFESTS))], ...members };
  writeFileSync(join(folder, 'kustomization.yaml'), stringify(overlay));
  return render(folder);
}

const base = render(MANIFESTS);
const open = renderOverlay({
  components: [relative(join(CACHE, 'overlay'), join(ROOT, MANIFESTS, 'public-endpoints'))],
});
const flux = render(join(MANIFESTS, 'flux'));
const file = join(CACHE, 'rendered.yaml');
writeFileSync(file, [open, flux, render(join(MANIFESTS, 'monitoring'))].join('---\n'));
const validate = [join(HERE, 'validate.py'), file, ...fetchDefinitions()];
const isValid = spawnSync(installValidator(), validate, { stdio: 'inherit' }).status === 0;

const steps = objectsOf(flux).map((step) => ({
  step,
  objects: objectsOf(renderOverlay({ patches: step.spec.patches })),
}));
const faults = [
  ...judgeManifests(objectsOf(base)),
  ...judgeSteps(objectsOf(base), steps),
  ...judgePublicEndpoints(objectsOf(open)),
];
for (const fault of faults) process.stdout.write(`${fault}\n`);
process.stdout.write(`${faults.length} faults\n`);
process.exitCode = isValid && faults.length === 0 ? 0 : 1;
