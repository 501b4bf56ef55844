/** What the chain layer tells the metrics; the endpoint's name is its place in the chain file. */
export type ChainObserver = {
  readonly onCall: (chainId: number, endpoint: string, result: string, durationMs: number) => void;
  readonly onBatch: (chainId: number, readCount: number) => void;
  readonly onSaved: (chainId: number, reason: 'dedupe' | 'cache' | 'decimals') => void;
};
