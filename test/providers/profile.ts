/** An answer without a result: a JSON-RPC error. `{number}` and `{hash}` in the message stand for
 * the block that was asked for. */
export type Refusal = {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
  /** The HTTP status; default 200. */
  readonly status?: number;
  /** The body in place of the JSON-RPC error. */
  readonly body?: string;
};

/** What the nodes of a provider say about blocks that they do not have. */
export type Words = {
  /** A call at a hash that the node does not know. */
  readonly unknownHash: Refusal;
  /** A call at a number past the node's head. */
  readonly unknownNumber: Refusal;
  /** `eth_getBlockByNumber` past the node's head; `null`: the result `null`. */
  readonly blockPastHead: Refusal | null;
  /** `eth_getLogs` past the node's head; `fewer`: the logs up to the head, and no error. */
  readonly logsPastHead: Refusal | 'fewer';
  /** `eth_getLogs` at a hash that the node does not know; `none`: no logs, and no error. */
  readonly logsAtUnknownHash: Refusal | 'none';
  /** `safe` or `finalized` on a node without it; `null`: the result `null`. */
  readonly missingTag: Refusal | null;
  /** A call at a block whose state the node no longer has. */
  readonly prunedState: Refusal;
  /** `eth_getBlockByNumber` of a block whose state the node no longer has; default the header. */
  readonly prunedBlock?: Refusal;
};

/** How long after a block was mined a node has it, by what it is asked for. */
export type NodeLag = { readonly headsMs: number; readonly callsMs: number; readonly logsMs: number };

/** A provider as its clients see it: what one URL answers, and in which words. */
export type Profile = {
  /** Short, for the table. */
  readonly name: string;
  /** What it does, and where that is known from. */
  readonly about: string;
  readonly blockTimeMs: 250 | 2_000 | 12_000;
  readonly words: Words;
  /** The nodes behind the URL, which take requests in turn; default: a node that is never late. */
  readonly nodes?: readonly NodeLag[];
  /** Whether the calls of one batch go to several nodes. */
  readonly spreadsBatches?: boolean;
  /** The blocks of one `eth_getLogs` at most. */
  readonly logBlocks?: { readonly max: number; readonly refusal: Refusal };
  /** The calls of one batch at most; 0: arrays are refused. The refusal is one object for the whole
   * batch. */
  readonly batch?: { readonly max: number; readonly refusal: Refusal };
  /** Whether `safe` and `finalized` are missing. */
  readonly lacksTags?: boolean;
  /** How many newest blocks have their state; default all. */
  readonly stateBlocks?: number;
  /** Refuses every so many requests, or all after so many. */
  readonly refuses?: ({ readonly every: number } | { readonly after: number }) & {
    readonly refusal: Refusal;
  };
  /** Whether it ends up refusing everything for good, so that nothing can be read from it alone. */
  readonly isUsedUp?: boolean;
  /** The HTTP status of every answer; default 200. */
  readonly status?: number;
  /** Whether bodies are compressed, whatever the client accepts. */
  readonly isGzipped?: boolean;
  readonly nullForNoLogs?: boolean;
  /** What `BLOCKHASH` gives in the EVM; default the hash of the header. */
  readonly blockhash?: 'state-root';
  /** Which of the nodes run calls in the context of the named block over the newest state. */
  readonly newestStateNodes?: readonly number[];
};
