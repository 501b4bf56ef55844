import { type DemoTokens, demoTokens } from '../demo/demo-tokens.ts';
import { LOCAL_CHAIN_ID } from '../infrastructure/chain.ts';
import type { LocalSecrets } from '../settings/local-secrets.ts';

export type ProcessFacts = { readonly service: string; readonly pid: number; readonly ops: string };

/** The data that a script needs to use the system; the same on every start with the same data and
 * ports, but for the pids. */
export type ReadyLine = {
  readonly event: 'ready';
  readonly gateways: readonly string[];
  readonly portal: string;
  readonly kafka: string;
  readonly redis: string;
  readonly chain: ({ readonly chainId: number; readonly rpc: string } & DemoTokens) | null;
  readonly app: LocalSecrets['app'];
  /** A login to the portal with an operator's rights. */
  readonly operator: LocalSecrets['operator'];
  readonly processes: readonly ProcessFacts[];
};

type Facts = {
  readonly gatewayPorts: readonly number[];
  readonly portalPort: number;
  readonly kafkaPort: number;
  readonly redisPort: number;
  readonly chainPort: number | undefined;
  readonly secrets: Pick<LocalSecrets, 'app' | 'operator'>;
  readonly processes: readonly ProcessFacts[];
};

export const makeReadyLine = (facts: Facts): ReadyLine => ({
  event: 'ready',
  gateways: facts.gatewayPorts.map((port) => `http://127.0.0.1:${port}`),
  portal: `http://127.0.0.1:${facts.portalPort}`,
  kafka: `127.0.0.1:${facts.kafkaPort}`,
  redis: `redis://127.0.0.1:${facts.redisPort}`,
  chain:
    facts.chainPort === undefined
      ? null
      : { chainId: LOCAL_CHAIN_ID, rpc: `http://127.0.0.1:${facts.chainPort}`, ...demoTokens },
  app: facts.secrets.app,
  operator: facts.secrets.operator,
  processes: facts.processes,
});
