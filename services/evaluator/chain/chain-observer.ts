import type { EndpointGauges, EndpointHealth } from './endpoints/endpoint.ts';

/** The gauges of one chain, read when the metrics are collected. */
export type ChainGauges = {
  /** In the order of the chain file. */
  readonly endpoints: () => readonly (EndpointGauges & { readonly endpoint: string })[];
  readonly quarantinedCount: () => number;
  readonly waitingReadCount: () => number;
};

/** Events of one chain for metrics and logs. For metrics an endpoint is its position in the chain
 * file. */
export type ChainObserver = {
  readonly onCall: (endpoint: string, result: string, durationMs: number) => void;
  readonly onBatch: (readCount: number) => void;
  /** A read needed no call of its own: an equal read was in flight or cached. */
  readonly onSaved: (reason: 'dedupe' | 'cache' | 'decimals') => void;
  readonly onRead: (durationMs: number) => void;
  readonly onHedge: () => void;
  /** Called once for each change of an endpoint's health, with its name, or its position if it has
   * none. */
  readonly onHealth: (name: string, health: EndpointHealth) => void;
  readonly onHead: (blockAgeMs: number) => void;
  readonly watch: (gauges: ChainGauges) => void;
};
