import type { EndpointGauges, EndpointHealth } from './endpoints/endpoint.ts';

/** What one chain tells the metrics now, asked when they are collected. */
export type ChainGauges = {
  /** By the endpoint's place in the chain file. */
  readonly endpoints: () => readonly EndpointGauges[];
  readonly quarantinedCount: () => number;
  readonly waitingReadCount: () => number;
};

/** What the chain layer tells the metrics; an endpoint's name is its place in the chain file. */
export type ChainObserver = {
  readonly onCall: (chainId: number, endpoint: string, result: string, durationMs: number) => void;
  readonly onBatch: (chainId: number, readCount: number) => void;
  readonly onSaved: (chainId: number, reason: SavedReason, count: number) => void;
  readonly onRead: (chainId: number, durationMs: number) => void;
  readonly onHedge: (chainId: number) => void;
  /** Told once for each change of what an operator sees. */
  readonly onHealth: (chainId: number, endpoint: string, health: EndpointHealth) => void;
  readonly onHead: (chainId: number, blockAgeMs: number) => void;
  readonly watch: (chainId: number, gauges: ChainGauges) => void;
};

/** Why a read cost no call of its own: an equal one was on its way, or known, or it shared a call with others. */
export type SavedReason = 'dedupe' | 'cache' | 'decimals' | 'batch';
