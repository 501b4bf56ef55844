import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { judgeManifests, type Manifest } from './judge-manifests.ts';

// Renders the manifests with kustomize and validates them against the schemas of Kubernetes and
// KEDA, and against this project's promises. It needs Python 3, Go for KEDA's schemas, and kubectl
// or kustomize (else it is built with Go).
//
//   node test/k8s/main.ts

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HERE = fileURLToPath(new URL('.', import.meta.url));
const CACHE = join(ROOT, '.cache', 'k8s');
const VENV = join(CACHE, 'venv');
const KEDA = 'github.com/kedacore/keda/v2@v2.17.2';
const KUSTOMIZE = 'sigs.k8s.io/kustomize/kustomize/v5@v5.7.1';

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

function render(): string {
  if (isInstalled('kustomize', 'version')) return run('kustomize', ['build', 'deploy/k8s']);
  if (isInstalled('kubectl', 'version', '--client')) return run('kubectl', ['kustomize', 'deploy/k8s']);
  if (!existsSync(join(CACHE, 'kustomize'))) run('go', ['install', KUSTOMIZE], { env: { GOBIN: CACHE } });
  return run(join(CACHE, 'kustomize'), ['build', 'deploy/k8s']);
}

/** The folder of KEDA's sources, which include its custom resource definitions. */
function fetchKeda(): string {
  const { Dir } = JSON.parse(run('go', ['mod', 'download', '-json', KEDA], { cwd: CACHE })) as {
    Dir: string;
  };
  return join(Dir, 'config', 'crd', 'bases', 'keda.sh_scaledobjects.yaml');
}

function installValidator(): string {
  const python = join(VENV, 'bin', 'python');
  if (!existsSync(python)) run('python3', ['-m', 'venv', VENV]);
  run(join(VENV, 'bin', 'pip'), ['install', '--quiet', '--requirement', join(HERE, 'requirements.txt')]);
  return python;
}

mkdirSync(CACHE, { recursive: true });
const rendered = render();
const file = join(CACHE, 'rendered.yaml');
writeFileSync(file, rendered);
const python = installValidator();
const validate = [join(HERE, 'validate.py'), file, fetchKeda()];
const isValid = spawnSync(python, validate, { stdio: 'inherit' }).status === 0;

const manifests = parseAllDocuments(rendered).map((document) => document.toJS() as Manifest);
const faults = judgeManifests(manifests);
for (const fault of faults) process.stdout.write(`${fault}\n`);
process.stdout.write(`${manifests.length} objects checked, ${faults.length} faults\n`);
process.exitCode = isValid && faults.length === 0 ? 0 : 1;
