import type { Profile } from './profile.ts';
import { AVALANCHE, ERIGON, GO_ETHEREUM, NITRO, UNHEARD_OF } from './provider/words.ts';

/** One go-ethereum that is never late: the measure of every other profile with its block time. */
export const healthy = (blockTimeMs: Profile['blockTimeMs']): Profile => ({
  name: `healthy, ${blockTimeMs} ms`,
  about: 'One node of go-ethereum that is never late.',
  blockTimeMs,
  words: GO_ETHEREUM,
});

export const avalanchePool: Profile = {
  name: 'pool of Avalanche',
  about: 'coreth answers a block past its head by an error, not by null; two nodes, one 1 s late.',
  blockTimeMs: 2_000,
  words: AVALANCHE,
  nodes: [
    { headsMs: 0, callsMs: 0, logsMs: 0 },
    { headsMs: 1_000, callsMs: 1_000, logsMs: 1_000 },
  ],
};

export const limitedRange: Profile = {
  name: 'log ranges limited',
  about: 'At most 20 blocks of logs at a time, refused in words that nobody has listed.',
  blockTimeMs: 250,
  words: GO_ETHEREUM,
  logBlocks: { max: 20, refusal: { code: -38_770, message: 'your basket does not hold that many eggs' } },
};

export const missingTags: Profile = {
  name: 'no tags, pruned',
  about:
    '`safe` and `finalized` are not tags, as in old go-ethereums; older blocks are pruned, in the words of 1.17.',
  blockTimeMs: 2_000,
  words: {
    ...GO_ETHEREUM,
    missingTag: { code: -32_602, message: 'invalid argument 0: hex string without 0x prefix' },
    prunedBlock: { code: 4_444, message: 'pruned history unavailable' },
  },
  lacksTags: true,
  stateBlocks: 128,
};

export const nitroPool: Profile = {
  name: 'pool of Nitro',
  about: 'Blocks of 250 ms; logs up to 2 s late without an error; the calls of a batch go to several nodes.',
  blockTimeMs: 250,
  words: NITRO,
  nodes: [
    { headsMs: 0, callsMs: 300, logsMs: 2_000 },
    { headsMs: 250, callsMs: 1_000, logsMs: 0 },
    { headsMs: 600, callsMs: 0, logsMs: 1_500 },
  ],
  spreadsBatches: true,
};

export const otherState: Profile = {
  name: 'state of another block',
  about: 'One of two nodes runs calls in the context of the named block over the newest state.',
  blockTimeMs: 250,
  words: GO_ETHEREUM,
  nodes: [
    { headsMs: 1_500, callsMs: 0, logsMs: 0 },
    { headsMs: 1_500, callsMs: 0, logsMs: 0 },
  ],
  newestStateNodes: [1],
};

export const PROFILES: readonly Profile[] = [
  avalanchePool,
  {
    name: 'code 429',
    about:
      'Every seventh request is the error 429 with HTTP 200, in the words of a used-up month at Alchemy.',
    blockTimeMs: 250,
    words: GO_ETHEREUM,
    refuses: { every: 7, refusal: { code: 429, message: 'Monthly capacity limit exceeded.' } },
  },
  {
    name: 'pool of Erigon',
    about:
      'Blocks of 12 s; Erigon names the unknown hash; logs 2 s late without an error; tags not there yet.',
    blockTimeMs: 12_000,
    words: ERIGON,
    nodes: [
      { headsMs: 0, callsMs: 1_500, logsMs: 2_000 },
      { headsMs: 800, callsMs: 0, logsMs: 500 },
    ],
    lacksTags: true,
  },
  {
    name: 'gzip',
    about: 'Every answer is compressed, although the client did not ask for it.',
    blockTimeMs: 12_000,
    words: GO_ETHEREUM,
    isGzipped: true,
  },
  {
    name: 'pool of go-ethereum',
    about: 'Three nodes behind one URL, up to 2 s late with heads, calls and logs, each in another order.',
    blockTimeMs: 2_000,
    words: GO_ETHEREUM,
    nodes: [
      { headsMs: 0, callsMs: 1_200, logsMs: 600 },
      { headsMs: 500, callsMs: 0, logsMs: 2_000 },
      { headsMs: 1_900, callsMs: 700, logsMs: 1_300 },
    ],
  },
  {
    name: 'batches limited',
    about: 'At most 3 calls in a batch, refused with HTTP 413 in words that nobody has listed.',
    blockTimeMs: 250,
    words: UNHEARD_OF,
    batch: { max: 3, refusal: { code: -38_771, message: 'the envelope is too thick', status: 413 } },
  },
  {
    name: 'limits in error.data',
    about: 'Log ranges of 5 blocks and batches of 2 calls; only the data of the error has the reason.',
    blockTimeMs: 2_000,
    words: GO_ETHEREUM,
    logBlocks: {
      max: 5,
      refusal: { code: -32_603, message: 'Internal error', data: { hint: 'five blocks are a basket' } },
    },
    batch: {
      max: 2,
      refusal: { code: -32_603, message: 'Internal error', data: { hint: 'two letters fit the envelope' } },
    },
  },
  limitedRange,
  missingTags,
  nitroPool,
  {
    name: 'null for no logs',
    about: '`null` in place of an empty list of logs, also from a node that is 1.5 s late.',
    blockTimeMs: 250,
    words: { ...NITRO, logsAtUnknownHash: 'none' },
    nodes: [
      { headsMs: 0, callsMs: 0, logsMs: 0 },
      { headsMs: 0, callsMs: 0, logsMs: 1_500 },
    ],
    nullForNoLogs: true,
  },
  {
    name: 'BLOCKHASH is a state root',
    about: 'Chains of CDK-erigon: BLOCKHASH in the EVM is the state root of the block (`opBlockhash_zkevm`).',
    blockTimeMs: 2_000,
    words: ERIGON,
    blockhash: 'state-root',
  },
  otherState,
  {
    name: 'HTTP 429 without words',
    about: 'Every seventh request is answered by HTTP 429 without a body and without Retry-After.',
    blockTimeMs: 2_000,
    words: GO_ETHEREUM,
    refuses: { every: 7, refusal: { code: 0, message: '', status: 429, body: '' } },
  },
  {
    name: 'single calls only',
    about: 'Arrays are refused, as by proxies that parse one object.',
    blockTimeMs: 2_000,
    words: GO_ETHEREUM,
    batch: { max: 0, refusal: { code: -32_600, message: 'Invalid Request' } },
  },
  {
    name: 'HTTP 201',
    about: 'Every answer has the status 201.',
    blockTimeMs: 2_000,
    words: GO_ETHEREUM,
    status: 201,
  },
  {
    name: 'pool, unheard-of words',
    about: 'Three nodes up to 2 s late that say so in words and codes that nobody has listed.',
    blockTimeMs: 250,
    words: UNHEARD_OF,
    nodes: [
      { headsMs: 0, callsMs: 1_000, logsMs: 2_000 },
      { headsMs: 400, callsMs: 0, logsMs: 800 },
      { headsMs: 900, callsMs: 500, logsMs: 0 },
    ],
    lacksTags: true,
    stateBlocks: 128,
  },
  {
    name: 'state not indexed',
    about:
      'go-ethereum 1.17 with an archive whose state histories are still being indexed (`triedb/pathdb`).',
    blockTimeMs: 12_000,
    words: {
      ...GO_ETHEREUM,
      prunedState: { code: -32_000, message: "state histories haven't been fully indexed yet" },
    },
    stateBlocks: 128,
  },
  {
    name: 'used-up month',
    about: 'After 20 requests each one is refused for good, in words that nobody has listed.',
    blockTimeMs: 2_000,
    words: GO_ETHEREUM,
    refuses: { after: 20, refusal: { code: -38_772, message: 'your ticket was for another month' } },
    isUsedUp: true,
  },
];
