import { ServiceError } from '#shared/errors.ts';
import { retryAfter } from '#shared/http/retry-after.ts';
import { dependencyUnavailable, Problem } from './problem.ts';

/**
 * The problem document for an error. An unexpected error is `internal`, and its own message is not shown.
 *
 * @example
 * problemOf(new ServiceError('store-unavailable', '…')).status; // 503
 */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (!(error instanceof ServiceError)) return internal();
  switch (error.code) {
    case 'store-unavailable':
    case 'view-rebuilding':
      return dependencyUnavailable('A part of the service is not available; nothing was accepted.');
    case 'broker-unavailable':
      return dependencyUnavailable('The check could not be published; it was not accepted.');
    case 'publish-unknown':
      return dependencyUnavailable(
        'It is not known whether the check was accepted; retry with its Idempotency-Key.',
      );
    case 'overloaded':
      return new Problem('overloaded', 'Too many requests are waiting; retry after Retry-After.', {
        headers: retryAfter(1_000),
      });
    default:
      return internal();
  }
}

const internal = (): Problem =>
  new Problem('internal', 'The request could not be answered because of a bug of ours.');
