import { createHash } from 'node:crypto';
import { isRetriable, ServiceError } from '#shared/errors.ts';
import { Problem } from '#shared/http/problem.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import type { SecretBox } from '#shared/secret-box.ts';
import type { Call } from './call.ts';
import type { OperationId } from './operations.ts';

/** How long a plan is stored, so that a repeated request finds it. */
const PLAN_TTL_MS = 600_000;

export type IdempotentRequest = {
  readonly accountId: string;
  readonly operation: string;
  /** The client's `Idempotency-Key`. */
  readonly key: string;
  /** Path parameters and body. The same key with other content is refused. */
  readonly content: unknown;
};

/**
 * Idempotency by `Idempotency-Key`. The ids and credentials that a request creates are generated
 * before anything else is written and stored, encrypted, for ten minutes. A repeated request (a
 * double submit, a lost response) reads the same ids, and creating an id that exists changes
 * nothing. So a crash at any point never makes anything twice.
 *
 * @example
 * const { keyId, apiKey } = await idempotency.plan(request, newKey);
 */
export function makeIdempotency(redis: Redis, box: SecretBox) {
  const idempotency = {
    /**
     * Returns the plan of a request: the first request stores the plan of `make`, each repetition
     * reads it back.
     *
     * @throws Problem `idempotency-key-reused` if the key was used for another request
     */
    async plan<T>(request: IdempotentRequest, make: () => T): Promise<T> {
      const name = nameOf(request);
      const contentHash = digest(request.content);
      const mine = make();
      const sealed = `${contentHash} ${box.seal(JSON.stringify(mine), name)}`;
      const stored = await inStore(async () =>
        (await redis.set(name, sealed, 'PX', PLAN_TTL_MS, 'NX')) === 'OK' ? sealed : redis.get(name),
      );
      if (stored === sealed) return mine;
      if (stored === null)
        throw new ServiceError(
          'overloaded',
          'the record of this Idempotency-Key has just expired; send the request again',
        );
      const [firstHash = '', planned = ''] = stored.split(' ');
      if (firstHash !== contentHash)
        throw new Problem(
          'idempotency-key-reused',
          'This Idempotency-Key was sent with another request; use a new key.',
        );
      return JSON.parse(box.open(planned, name)) as T;
    },
    /** Plans, then executes the plan. A refused execution deletes the plan, so a repetition makes a
     * new one. */
    async run<T>(
      request: IdempotentRequest,
      make: () => T,
      execute: (plan: T) => Promise<unknown>,
    ): Promise<T> {
      const planned = await idempotency.plan(request, make);
      try {
        await execute(planned);
      } catch (error) {
        // An interrupted execution may have succeeded: its plan stays, so that a repetition does
        // not run it twice.
        if (isRefusal(error)) await inStore(() => redis.del(nameOf(request)));
        throw error;
      }
      return planned;
    },
  };
  return idempotency;
}

const nameOf = ({ accountId, operation, key }: IdempotentRequest): string =>
  `once:${digest([accountId, operation, key])}`;

const isRefusal = (error: unknown): boolean =>
  error instanceof Problem || (error instanceof ServiceError && !isRetriable(error));

/**
 * The idempotent request of an operation's call.
 *
 * @param pathIds the ids in the call's path
 */
export const requestOf = <Id extends OperationId>(
  operation: string,
  { account, idempotencyKey: key, body }: Call<Id>,
  pathIds: readonly string[] = [],
): IdempotentRequest => ({ accountId: account.accountId, operation, key, content: [pathIds, body] });

const digest = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');
