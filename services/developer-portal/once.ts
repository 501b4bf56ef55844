import { createHash } from 'node:crypto';
import { isRetriable, ServiceError } from '#shared/errors.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import type { SecretBox } from '#shared/secret-box.ts';
import type { Call } from './call.ts';
import type { OperationId } from './operations.ts';
import { Problem } from './problem.ts';

/** How long the same request is known again. */
const KEPT_MS = 600_000;

export type OnceRequest = {
  readonly accountId: string;
  readonly operation: string;
  /** The client's `Idempotency-Key`. */
  readonly key: string;
  /** What the request is about: path and body. */
  readonly about: unknown;
};

export type Once = {
  /**
   * What is to be made by a request: `make`'s for the first one, and the same for each that repeats it.
   *
   * @throws Problem `idempotency-key-reused` where the key came with another request
   */
  readonly plan: <T>(request: OnceRequest, make: () => T) => Promise<T>;
  /** Plans, and carries the plan out. A plan that is refused is forgotten: it takes no memory, and may be made anew. */
  readonly run: <T>(
    request: OnceRequest,
    make: () => T,
    carryOut: (plan: T) => Promise<unknown>,
  ) => Promise<T>;
};

/**
 * Decides what a request makes or sends before anything is done: ids and credentials are drawn first and kept, encrypted, for
 * ten minutes. Whoever asks again, after a double submit or a lost answer, makes the same ones, which changes nothing
 * where they are there already. So nothing is made twice, whatever fell over in between.
 *
 * @example
 * const { keyId, apiKey } = await once.plan(request, newKey);
 */
export function makeOnce(redis: Redis, box: SecretBox): Once {
  const once: Once = {
    async plan<T>(request: OnceRequest, make: () => T): Promise<T> {
      const name = nameOf(request);
      const { about } = request;
      const aboutHash = digest(about);
      const mine = make();
      const sealed = `${aboutHash} ${box.seal(JSON.stringify(mine), name)}`;
      const kept = await inStore(async () =>
        (await redis.set(name, sealed, 'PX', KEPT_MS, 'NX')) === 'OK' ? sealed : redis.get(name),
      );
      if (kept === sealed) return mine;
      if (kept === null)
        throw new ServiceError('overloaded', 'the request before this one has just been forgotten');
      const [firstHash = '', planned = ''] = kept.split(' ');
      if (firstHash !== aboutHash)
        throw new Problem('idempotency-key-reused', 'This Idempotency-Key came with another request.');
      return JSON.parse(box.open(planned, name)) as T;
    },
    async run(request, make, carryOut) {
      const planned = await once.plan(request, make);
      try {
        await carryOut(planned);
      } catch (error) {
        // What was merely interrupted may have been done: it keeps its plan, so that it is not done twice.
        if (isRefusal(error)) await inStore(() => redis.del(nameOf(request)));
        throw error;
      }
      return planned;
    },
  };
  return once;
}

const nameOf = ({ accountId, operation, key }: OnceRequest): string =>
  `once:${digest([accountId, operation, key])}`;

const isRefusal = (error: unknown): boolean =>
  error instanceof Problem || (error instanceof ServiceError && !isRetriable(error));

/**
 * The request that a call of an operation is.
 *
 * @param about what the call is about beside its body: the ids of its path
 */
export const requestOf = <Id extends OperationId>(
  operation: string,
  { account, idempotencyKey: key, body }: Call<Id>,
  about: readonly string[] = [],
): OnceRequest => ({ accountId: account.accountId, operation, key, about: [about, body] });

const digest = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');
