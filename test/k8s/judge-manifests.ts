import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { proxyList } from '#shared/config.ts';
import { LANES } from '#shared/contracts/checks/check-requested.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

type Container = {
  readonly image: string;
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef?: { readonly name: string } };
  }[];
  readonly envFrom?: readonly {
    readonly secretRef?: { readonly name: string };
    readonly configMapRef?: { readonly name: string };
  }[];
  readonly livenessProbe?: { readonly httpGet: { readonly path: string } };
  readonly readinessProbe?: { readonly httpGet: { readonly path: string } };
  readonly lifecycle?: { readonly preStop?: { readonly sleep?: { readonly seconds: number } } };
  readonly securityContext?: {
    readonly readOnlyRootFilesystem?: boolean;
    readonly allowPrivilegeEscalation?: boolean;
  };
  readonly resources?: { readonly requests?: object; readonly limits?: { readonly memory?: string } };
};
type Selector = {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly { readonly values: readonly string[] }[];
};
type Peer = { readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] } };

/** The members of an object that are checked here. */
export type Manifest = {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly replicas?: number;
    readonly selector?: Selector;
    readonly podSelector?: Selector;
    readonly policyTypes?: readonly string[];
    readonly egress?: readonly { readonly to?: readonly Peer[] }[];
    readonly dependsOn?: readonly { readonly name: string }[];
    readonly patches?: readonly object[];
    readonly maxUnavailable?: number;
    readonly scaleTargetRef?: { readonly name: string };
    readonly minReplicaCount?: number;
    readonly maxReplicaCount?: number;
    readonly triggers?: readonly { readonly metadata: { readonly query?: string } }[];
    readonly template?: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly topologySpreadConstraints?: readonly { readonly topologyKey: string }[];
        readonly securityContext?: { readonly runAsNonRoot?: boolean };
        readonly containers: readonly Container[];
      };
    };
  };
};

/** The order of an upgrade: see deploy/README.md. */
const STEPS = [
  [],
  ['result-store'],
  ['developer-portal', 'webhook-dispatcher'],
  ['evaluator'],
  ['watcher'],
  ['gateway'],
] as const;
const NAME_LABEL = 'app.kubernetes.io/name';
/** The processes that may leave the cluster, and those that get each key. */
const MAY_LEAVE = ['evaluator', 'webhook-dispatcher'];
const HOLDERS: Readonly<Record<string, readonly string[]>> = {
  'rolecall-id-keys': ['gateway'],
  'rolecall-secret-keys': ['developer-portal', 'webhook-dispatcher'],
  'rolecall-rpc': ['evaluator'],
};
const SETTINGS = 'rolecall-settings';
/** The settings of each process behind the ingress, and whether a value works behind an ingress. */
const BEHIND_INGRESS: Readonly<Record<string, Readonly<Record<string, (value: string) => boolean>>>> = {
  gateway: { PUBLIC_BASE_URL: isOutside, TRUSTED_PROXIES: namesProxies },
  'developer-portal': { PUBLIC_BASE_URL: isOutside, TRUSTED_PROXIES: namesProxies, PORTAL_ORIGIN: isOutside },
};

/** Checks the manifests against the project's promises: each fault in words, none if all is
 * well. */
export function judgeManifests(manifests: readonly Manifest[]): string[] {
  const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);
  const deployments = ofKind('Deployment');
  const names = deployments.map(({ metadata }) => metadata.name);
  const services = globSync('services/*/main.ts', { cwd: ROOT }).map((file) => basename(dirname(file)));
  const settings = ofKind('ConfigMap').find(({ metadata }) => metadata.name === SETTINGS)?.data ?? {};
  const scaled = ofKind('ScaledObject');
  const drainS = Number(settings['SHUTDOWN_TIMEOUT_MS']) / 1_000;
  return [
    ...services.filter((name) => !names.includes(name)).map((name) => `${name}: is not deployed`),
    ...judgeVariables(SETTINGS, Object.keys(settings)),
    ...deployments.flatMap((deployment) => judgePod(deployment, drainS)),
    ...deployments.flatMap((deployment) => judgeCount(deployment, scaled, ofKind('PodDisruptionBudget'))),
    ...deployments.flatMap(judgeSecrets),
    ...deployments.flatMap((deployment) => judgeIngress(deployment, settings)),
    ...judgePolicies(ofKind('NetworkPolicy'), names),
    ...judgeScaling(scaled),
    ...[...deployments, ...ofKind('Job')].flatMap(judgeImages),
  ];
}

/** Checks that the steps hold every object once, in the order of an upgrade, and that each waits for
 * the one before. */
export function judgeSteps(
  all: readonly Manifest[],
  steps: readonly { readonly step: Manifest; readonly objects: readonly Manifest[] }[],
): string[] {
  const nameOf = ({ kind, metadata }: Manifest) => `${kind} ${metadata.name}`;
  const held = steps.flatMap(({ objects }) => objects.map(nameOf)).sort();
  const ofStep = (kind: string) =>
    steps.map(({ objects }) =>
      objects.filter((each) => each.kind === kind).map(({ metadata }) => metadata.name),
    );
  const before = steps.map((_, index) => steps[index - 1]?.step.metadata.name);
  return faultsOf({
    'the steps do not hold every object once': isDeepStrictEqual(held, all.map(nameOf).sort()),
    'the deployments are not upgraded in order': isDeepStrictEqual(ofStep('Deployment'), STEPS),
    'the topics are not applied first': ofStep('Job')[0]?.length === 1,
    'a step does not wait for the one before': steps.every(
      ({ step }, index) => step.spec.dependsOn?.[0]?.name === before[index],
    ),
  });
}

/** Checks that the policies of public endpoints let through the addresses of the policy `outside`. */
export function judgePublicEndpoints(manifests: readonly Manifest[]): string[] {
  const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy');
  const peersOf = ({ spec }: Manifest) => spec.egress?.map(({ to }) => to);
  const outside = policies.find(({ metadata }) => metadata.name === 'outside');
  const open = policies.filter(({ metadata }) => metadata.name.startsWith('public-'));
  return [
    ...faultsOf({ 'no policy lets public endpoints through': outside !== undefined && open.length > 0 }),
    ...open
      .filter((policy) => !isDeepStrictEqual(peersOf(policy), outside && peersOf(outside)))
      .map(({ metadata }) => `${metadata.name}: its addresses differ from those of outside`),
  ];
}

const judgeImages = ({ metadata: { name }, spec }: Manifest): string[] =>
  faultsOf({
    [`${name}: its image has no digest`]: spec.template?.spec.containers.every(({ image }) =>
      /@sha256:[0-9a-f]{64}$/.test(image),
    ),
  });

/** The names of the faults whose condition does not hold. */
const faultsOf = (judged: Readonly<Record<string, boolean | undefined>>): string[] =>
  Object.entries(judged).flatMap(([fault, holds]) => (holds ? [] : [fault]));

function judgeVariables(owner: string, variables: readonly string[]): string[] {
  const settings = readFileSync(join(ROOT, 'deploy', 'SETTINGS.md'), 'utf8');
  return variables
    .filter((name) => !settings.includes(`\`${name}\``))
    .map((name) => `${owner}: no process reads ${name}`);
}

function judgePod({ metadata: { name }, spec }: Manifest, drainS: number): string[] {
  const pod = spec.template?.spec;
  const [container] = pod?.containers ?? [];
  if (!pod || !container) return [`${name}: has no container`];
  const { securityContext: rights, resources } = container;
  const preStopS = container.lifecycle?.preStop?.sleep?.seconds ?? 0;
  const spread = (pod.topologySpreadConstraints ?? []).map(({ topologyKey }) => topologyKey);
  const variables = (container.env ?? []).map((variable) => variable.name);
  return [
    ...judgeVariables(name, variables),
    ...faultsOf({
      [`${name}: is killed before it can have drained`]:
        pod.terminationGracePeriodSeconds > drainS + preStopS,
      [`${name}: liveness is not /livez`]: container.livenessProbe?.httpGet.path === '/livez',
      [`${name}: readiness is not /readyz`]: container.readinessProbe?.httpGet.path === '/readyz',
      [`${name}: may be root`]: pod.securityContext?.runAsNonRoot,
      [`${name}: may write to its file system`]: rights?.readOnlyRootFilesystem,
      [`${name}: may get more rights`]: rights?.allowPrivilegeEscalation === false,
      [`${name}: has no bounds`]: resources?.requests !== undefined && resources.limits?.memory !== undefined,
      [`${name}: is not spread over zones`]: spread.includes('topology.kubernetes.io/zone'),
      [`${name}: is not spread over machines`]: spread.includes('kubernetes.io/hostname'),
    }),
  ];
}

function judgeCount(
  { metadata: { name }, spec }: Manifest,
  scaled: readonly Manifest[],
  budgets: readonly Manifest[],
): string[] {
  const scaling = scaled.find((each) => each.spec.scaleTargetRef?.name === name);
  const budget = budgets.find((each) => each.spec.selector?.matchLabels?.[NAME_LABEL] === name);
  return faultsOf({
    [`${name}: one process alone`]: (spec.replicas ?? scaling?.spec.minReplicaCount ?? 0) >= 2,
    [`${name}: its number is set in two places`]: spec.replicas === undefined || scaling === undefined,
    [`${name}: has no disruption budget`]: budget?.spec.maxUnavailable === 1,
  });
}

function judgeSecrets({ metadata: { name }, spec }: Manifest): string[] {
  const containers = spec.template?.spec.containers ?? [];
  const given = containers.flatMap(({ env = [], envFrom = [] }) => [
    ...env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
    ...envFrom.map(({ secretRef }) => secretRef?.name),
  ]);
  return Object.entries(HOLDERS).flatMap(([secret, holders]) => {
    const has = given.includes(secret);
    return has === holders.includes(name) ? [] : [`${name}: ${has ? 'gets' : 'does not get'} ${secret}`];
  });
}

function judgeIngress(
  { metadata: { name }, spec }: Manifest,
  settings: Readonly<Record<string, string>>,
): string[] {
  const [{ env = [], envFrom = [] } = {} as Container] = spec.template?.spec.containers ?? [];
  const hasSettings = envFrom.some(({ configMapRef }) => configMapRef?.name === SETTINGS);
  const settingOf = (variable: string): string =>
    env.find((own) => own.name === variable)?.value ?? (hasSettings ? settings[variable] : '') ?? '';
  return Object.entries(BEHIND_INGRESS[name] ?? {})
    .filter(([variable, isRight]) => !isRight(settingOf(variable)))
    .map(([variable]) => `${name}: ${variable} has a value that does not work behind an ingress`);
}

/** Browsers and API clients connect over TLS, by a host name from outside the cluster. */
function isOutside(value: string): boolean {
  const url = URL.parse(value);
  return url?.protocol === 'https:' && url.hostname.includes('.');
}

function namesProxies(value: string): boolean {
  return value !== '' && proxyList().safeParse(value).success;
}

function judgePolicies(policies: readonly Manifest[], names: readonly string[]): string[] {
  const closes = ({ spec }: Manifest) =>
    isForAll(spec.podSelector) && !spec.egress && spec.policyTypes?.length === 2;
  return [
    ...faultsOf({ 'no policy denies traffic by default': policies.some(closes) }),
    ...policies.flatMap(({ metadata, spec }) => {
      const whom = isForAll(spec.podSelector) ? names : namesOf(spec.podSelector);
      const leaves = (spec.egress ?? []).some(({ to }) => !to || to.some(leadsOut));
      return [
        ...whom
          .filter((name) => !names.includes(name))
          .map((name) => `${metadata.name}: it selects ${name}, which is not a process`),
        ...whom
          .filter((name) => leaves && !MAY_LEAVE.includes(name))
          .map((name) => `${name}: may reach the Internet`),
      ];
    }),
  ];
}

function judgeScaling(scaled: readonly Manifest[]): string[] {
  const scalingOf = (name: string) => scaled.find(({ spec }) => spec.scaleTargetRef?.name === name)?.spec;
  const isSizedBy = (name: string, series: string) =>
    scalingOf(name)?.triggers?.some(({ metadata }) => metadata.query?.includes(`${series}{`));
  return faultsOf({
    'evaluators may outnumber the partitions of a lane':
      scalingOf('evaluator')?.maxReplicaCount === LANES.bulk.partitionCount,
    'evaluators are not sized by lag': isSizedBy('evaluator', 'rolecall_consumer_lag'),
    'evaluators are not sized by age': isSizedBy('evaluator', 'rolecall_oldest_unfinished_seconds'),
    'gateways are not sized by CPU': isSizedBy('gateway', 'process_cpu_seconds_total'),
  });
}

const isForAll = (selector: Selector | undefined): boolean =>
  selector !== undefined && !selector.matchLabels && !selector.matchExpressions;
const namesOf = (selector: Selector | undefined): readonly string[] => [
  ...Object.values(selector?.matchLabels ?? {}),
  ...(selector?.matchExpressions ?? []).flatMap(({ values }) => values),
];
const leadsOut = ({ ipBlock }: Peer): boolean => ipBlock !== undefined;
