/** The gateway reads larger results itself: Redis buffers every message that a subscriber has not read yet. */
const RESULT_BYTES_MAX = 16_384;
const SEPARATOR = ' ';

/** The channel on which a gateway process is notified of the results that it waits for. */
export const replyChannelOf = (processId: string): string => `results:${processId}`;

/** Notifies a channel that a result is stored, with the result if it is small, so that the gateway need not read it. */
export const LUA_NOTIFY = `
local function notify(channel, requestId, resultJson)
  redis.call('PUBLISH', channel, #resultJson <= ${RESULT_BYTES_MAX} and requestId .. '${SEPARATOR}' .. resultJson or requestId)
end
`;

/** A parsed notice: the id of a stored result, and the result if the notice has it. */
type ResultNotice = { readonly requestId: string; readonly resultJson?: string };

/**
 * Parses a message of a reply channel.
 *
 * @example
 * parseNotice('id {"status":"completed"}'); // { requestId: 'id', resultJson: '{"status":"completed"}' }
 */
export function parseNotice(message: string): ResultNotice {
  const at = message.indexOf(SEPARATOR);
  if (at < 0) return { requestId: message };
  return { requestId: message.slice(0, at), resultJson: message.slice(at + 1) };
}
