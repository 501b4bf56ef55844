import { hash } from 'node:crypto';
import { isRetriable, ServiceError } from '#shared/errors.ts';
import { Problem } from '#shared/http/problem.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import type { SecretBox } from '#shared/secret-box.ts';

/** How long a plan is stored, so that a repeated request finds it. */
const PLAN_TTL_MS = 600_000;

type IdempotentRequest = {
  readonly accountId: string;
  readonly operation: string;
  /** The client's `Idempotency-Key`. */
  readonly key: string;
  /** Path and body. The same key with other content is refused. */
  readonly content: unknown;
};

/**
 * Idempotency by `Idempotency-Key`. The ids and credentials that a request creates are generated
 * before anything else is written and stored, encrypted, for ten minutes. A repeated request (a
 * double submit, a lost response) reads the same ids, and creating an id that exists changes
 * nothing. So a crash at any point never makes anything twice.
 */
export function makeIdempotency(redis: Redis, box: SecretBox) {
  /** The first request stores its plan, each repetition reads it back. */
  const plan = async <T>(name: string, content: unknown, mine: T): Promise<T> => {
    const contentHash = digest(content);
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
  };
  /**
   * Executes the plan of a request, and returns it: `fresh`, or that of the first request. A
   * refused execution deletes the plan, so a repetition has a new one.
   *
   * @throws Problem `idempotency-key-reused` if the key was used for another request
   */
  return async function once<T>(
    { accountId, operation, key, content }: IdempotentRequest,
    fresh: T,
    execute: (plan: T) => Promise<unknown> = async () => undefined,
  ): Promise<T> {
    const name = `once:${digest([accountId, operation, key])}`;
    const planned = await plan(name, content, fresh);
    try {
      await execute(planned);
    } catch (error) {
      // An interrupted execution may have succeeded: its plan stays, so that a repetition does not
      // run it twice.
      if (isRefusal(error)) await inStore(() => redis.del(name));
      throw error;
    }
    return planned;
  };
}

const isRefusal = (error: unknown): boolean =>
  error instanceof Problem || (error instanceof ServiceError && !isRetriable(error));

const digest = (value: unknown): string => hash('sha256', JSON.stringify(value), 'hex');
