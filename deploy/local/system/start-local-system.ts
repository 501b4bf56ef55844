import { LOCAL_CHAIN_ID } from '../infrastructure/chain.ts';
import { prepareChains } from '../infrastructure/local-chains.ts';
import { endLeftovers } from '../processes/end-leftovers.ts';
import type { Lines } from '../processes/lines.ts';
import { startWatchdog } from '../processes/start-watchdog.ts';
import { waitUntilReady } from '../processes/wait-until-ready.ts';
import { type Environment, operatorEnvironment, planEnvironment } from '../settings/local-environment.ts';
import { loadLocalSecrets } from '../settings/local-secrets.ts';
import type { StartOptions } from '../settings/options.ts';
import { type PlannedProcess, type PortPlan, planPorts } from '../settings/plan-ports.ts';
import { requireFreePorts, STABLE_PORT_MAX } from '../settings/ports.ts';
import { claimDataDirectory } from './data-lock.ts';
import { chainPart, kafkaPart, redisPart, servicePart } from './local-parts.ts';
import { type Fleet, type Member, makeFleet } from './make-fleet.ts';
import { prepareSystem } from './prepare-system.ts';
import { makeReadyLine, type ReadyLine } from './ready-line.ts';
import type { ServiceName } from './services.ts';

type LocalSystem = AsyncDisposable & { readonly ready: ReadyLine };

/** For fault injection: parts and processes of this system that differ from the usual ones. */
type Adaptation = {
  /** Programs to start instead of a part, at first and again. */
  readonly part?: (member: Member) => Member;
  /** Variables of a process that override all others. */
  readonly environmentOf?: (planned: PlannedProcess) => Environment;
};

/**
 * Brings the whole system up and returns when it is ready: every `/readyz` answers 200.
 *
 * Infrastructure together, then topics, views and the demo app, then the services together. Its
 * disposal stops them in the opposite order. If the start ends early, it leaves no process running.
 *
 * @throws Error in words for a person: the directory has a system already, ports in use, data of
 *   something else, a part that does not come up.
 */
export async function startLocalSystem(
  options: StartOptions,
  env: Environment,
  lines: Lines,
  signal: AbortSignal,
  adaptation: Adaptation = {},
): Promise<LocalSystem> {
  await using scope = new AsyncDisposableStack();
  scope.use(claimDataDirectory(options.data));
  await endLeftovers(options.data, lines.say);
  const chosen = options.chains ?? env['CHAINS_FILE'];
  const ports = planPorts(options);
  const chains = prepareChains(chosen, env, options.data, ports.chain);
  const secrets = loadLocalSecrets(options.data);
  const environment = planEnvironment(env, ports, secrets, chains);
  await checkPorts(ports, chains.hasDemoChain, lines);
  for (const warning of environment.warnings) lines.say(`warning: ${warning}`);

  const watchdog = scope.use(await startWatchdog());
  const fleet = scope.use(
    makeFleet({
      dir: options.data,
      environment: operatorEnvironment(environment, ports),
      watchdog,
      say: lines.say,
      signal,
    }),
  );
  const { part: adapt = (member: Member) => member, environmentOf } = adaptation;
  const parts = [kafkaPart(options.data, ports), redisPart(options.data, ports)];
  if (chains.hasDemoChain) parts.push(chainPart(ports));
  lines.say(`starting ${parts.map(({ name }) => name).join(', ')}`);
  await timed('up', lines, parts, (part) => fleet.start(adapt(part)));
  signal.throwIfAborted();

  lines.say('declaring topics and the demo app');
  await prepareSystem(environment, secrets);
  signal.throwIfAborted();
  const services = ports.processes.map((planned) => {
    const common = { ...environment.common, ...environmentOf?.(planned) };
    const usual = servicePart(planned, { ...environment, common }, lines);
    return { ...adapt(usual), ops: usual.ops };
  });
  await startServices(fleet, services, lines, signal);

  const processes = fleet.processes().flatMap(({ ops, ...rest }) => (ops === null ? [] : [{ ...rest, ops }]));
  const ready = makeReadyLine({
    gatewayPorts: httpPortsOf(ports, 'gateway'),
    portalPort: httpPortsOf(ports, 'developer-portal')[0] ?? 0,
    kafkaPort: ports.kafka,
    redisPort: ports.redis,
    chainPort: chains.hasDemoChain ? ports.chain : undefined,
    secrets,
    processes,
  });
  const started = scope.move();
  return { ready, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

const httpPortsOf = (ports: PortPlan, wanted: ServiceName): number[] =>
  ports.processes.flatMap(({ service, httpPort }) =>
    service === wanted && httpPort !== undefined ? [httpPort] : [],
  );

async function startServices(
  fleet: Fleet,
  services: readonly (Member & { readonly ops: string })[],
  lines: Lines,
  signal: AbortSignal,
): Promise<void> {
  lines.say(`starting ${services.map(({ name }) => name).join(', ')}`);
  // A service that cannot come up ends the wait for all others, which would hold this process for
  // minutes.
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  await timed('ready', lines, services, async (service) => {
    await waitUntilReady(await fleet.start(service), service.ops, either).catch((error: unknown) => {
      failed.abort();
      throw error;
    });
  });
}

/** Does the same to all of them together and says how long each took. */
async function timed<M extends Member>(
  state: string,
  lines: Lines,
  members: readonly M[],
  act: (member: M) => Promise<unknown>,
): Promise<void> {
  const began = performance.now();
  await Promise.all(
    members.map(async (member) => {
      await act(member);
      lines.say(`${member.name} is ${state} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
    }),
  );
}

async function checkPorts(ports: PortPlan, hasDemoChain: boolean, lines: Lines): Promise<void> {
  const wanted = [
    { port: ports.kafka, program: 'Kafka' },
    { port: ports.kafkaController, program: "Kafka's controller" },
    { port: ports.redis, program: 'Redis' },
    ...(hasDemoChain ? [{ port: ports.chain, program: `the demo chain ${LOCAL_CHAIN_ID}` }] : []),
    ...ports.processes.flatMap(({ name, opsPort, httpPort }) => [
      ...(httpPort === undefined ? [] : [{ port: httpPort, program: name }]),
      { port: opsPort, program: `${name}, ops` },
    ]),
  ];
  await requireFreePorts(wanted);
  const highest = Math.max(...wanted.map(({ port }) => port));
  if (highest > STABLE_PORT_MAX)
    lines.say(
      `warning: port ${highest} is in the range of client sockets, where another program may hold it (above ${STABLE_PORT_MAX})`,
    );
}
