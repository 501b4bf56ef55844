import type { EndpointGauges, EndpointHealth } from './endpoints/endpoint.ts';

/** The gauges of one chain, read when the metrics are collected. */
export type ChainGauges = {
  /** In the order of the chain file. */
  readonly endpoints: () => readonly (EndpointGauges & { readonly endpoint: string })[];
  readonly quarantinedCount: () => number;
  readonly waitingReadCount: () => number;
};

/** Events of the chain layer for metrics and logs. For metrics an endpoint is its position in the
 * chain file. */
export type ChainObserver = {
  readonly onCall: (chainId: number, endpoint: string, result: string, durationMs: number) => void;
  readonly onBatch: (chainId: number, readCount: number) => void;
  readonly onSaved: (chainId: number, reason: SavedReason) => void;
  readonly onRead: (chainId: number, durationMs: number) => void;
  readonly onHedge: (chainId: number) => void;
  /** Called once for each change of an endpoint's health, with its name, or its position if it has
   * none. */
  readonly onHealth: (chainId: number, name: string, health: EndpointHealth) => void;
  readonly onHead: (chainId: number, blockAgeMs: number) => void;
  readonly watch: (chainId: number, gauges: ChainGauges) => void;
};

/** Why a read needed no call of its own: an equal read was in flight or cached, or it shared a call
 * with others. */
type SavedReason = 'dedupe' | 'cache' | 'decimals' | 'batch';
