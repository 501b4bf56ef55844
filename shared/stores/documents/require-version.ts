import { ServiceError } from '#shared/errors.ts';

/**
 * Checks the precondition of a write.
 *
 * @param document such as `the watch vip`
 * @param version the stored one; undefined if there is no such document
 * @throws ServiceError `version-conflict`
 */
export function requireVersion(
  document: string,
  version: number | undefined,
  mayWrite: (version: number | undefined) => boolean,
): void {
  if (mayWrite(version)) return;
  const state = version === undefined ? 'does not exist' : `is at version ${version}`;
  throw new ServiceError('version-conflict', `${document} ${state}`);
}
