import type { Member } from '../../../deploy/local/system/make-fleet.ts';
import { type PairPlace, type RedisPair, startRedisPair } from '../../support/infrastructure/redis-pair.ts';

export type StartedPair = {
  /** @throws before the system has started it */
  readonly get: () => RedisPair;
  /** Starts the pair in place of a system's only server. */
  readonly part: (redis: Member) => Member;
};

export function makeRedisPair(place: PairPlace): StartedPair {
  let pair: RedisPair | undefined;
  return {
    get() {
      if (!pair) throw new Error('the pair of Redis servers has not been started');
      return pair;
    },
    part: (redis) => ({
      ...redis,
      async start({ onSpawn }) {
        const started = await startRedisPair({ ...place, onSpawn });
        pair = started;
        const { pid, exited } = started.first;
        return { pid, exited, stop: () => started[Symbol.asyncDispose]() };
      },
    }),
  };
}
