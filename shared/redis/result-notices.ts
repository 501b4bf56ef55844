/** Channels of this name are told results; those of gateways of earlier versions (`reply:`) are told ids alone. */
const WITH_RESULTS = 'results:';
/** Larger results are read by who is told of them: Redis keeps what a subscriber has not taken yet. */
const RESULT_BYTES_MAX = 16_384;
const SEPARATOR = ' ';

/** The channel on which a gateway process is told of the results that it waits for. */
export const replyChannelOf = (processId: string): string => `${WITH_RESULTS}${processId}`;

/** Tells a channel that a result is stored, with the result if it is small: so nobody needs to read it. */
export const LUA_TELL = `
local function tell(channel, requestId, resultJson)
  local isWhole = string.sub(channel, 1, ${WITH_RESULTS.length}) == '${WITH_RESULTS}' and #resultJson <= ${RESULT_BYTES_MAX}
  redis.call('PUBLISH', channel, isWhole and requestId .. '${SEPARATOR}' .. resultJson or requestId)
end
`;

/** What a notice says: the id of a stored result, and the result if it came with it. */
export type ResultNotice = { readonly requestId: string; readonly resultJson?: string };

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
