import { isSurelyUnwritten } from '#shared/errors.ts';

/**
 * Does a write under a hold, and releases the hold. Where the outcome of the write is unknown, it may take effect later: the
 * hold then stays until it ends by itself.
 *
 * @example
 * await underHold(await ruleSets.hold(clientId, id), () => write(watch));
 */
export async function underHold<T>(
  hold: { readonly release: () => Promise<void> } | undefined,
  write: () => Promise<T>,
): Promise<T> {
  let isSure = true;
  try {
    return await write();
  } catch (error) {
    isSure = isSurelyUnwritten(error);
    throw error;
  } finally {
    // A failed release does not undo the write.
    if (isSure) await hold?.release().catch(() => undefined);
  }
}
