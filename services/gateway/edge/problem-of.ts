import { ServiceError, sentenceOf } from '#shared/errors.ts';
import { retryAfter } from '#shared/http/retry-after.ts';
import { bytesExceeded, dependencyUnavailable, invalidBody, Problem } from './problem.ts';

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
    case 'limit-reached':
    case 'rule-set-in-use':
    case 'watch-not-found':
    case 'version-conflict':
      return new Problem(error.code, sentenceOf(error));
    case 'rule-set-unknown':
      return invalidBody([{ pointer: '/ruleSet', code: error.code, detail: sentenceOf(error) }]);
    case 'rate-limited':
      return new Problem('rate-limited', 'This client app has reached its daily limit of writes.', {
        members: { 'violated-policies': ['writes-per-day'] },
        headers: retryAfter(error.retryAfterMs ?? 0),
      });
    case 'bytes-exceeded':
      return bytesExceeded(error.retryAfterMs ?? 0);
    case 'store-unavailable':
    case 'view-rebuilding':
      return dependencyUnavailable('A part of the service is not available; nothing was accepted.');
    case 'broker-unavailable':
      return dependencyUnavailable('The request could not be stored; it was not accepted.');
    case 'publish-unknown':
      return dependencyUnavailable(
        'It is not known whether the request was accepted; send it again, a check with its Idempotency-Key.',
      );
    case 'overloaded':
      return new Problem('overloaded', `${sentenceOf(error)} Retry after the seconds in Retry-After.`, {
        headers: retryAfter(1_000),
      });
    default:
      return internal();
  }
}

const internal = (): Problem =>
  new Problem('internal', 'The request could not be answered because of a bug of ours.');
