import { batchCalls } from './batch-calls.ts';
import { COMMAND_TIMEOUT_MS, REPLAY_TIMEOUT_MS, type Redis, storeErrorOf } from './connect.ts';
import { isReplay, makeScript, REQUIRE_VIEW, type Script } from './script.ts';

/** Calls in one command: while its script runs Redis does nothing else (about 20 µs for each). */
const CALLS_MAX = 128;
/**
 * Characters of the arguments of one command. A command that Redis does not answer in time is made
 * again as it was: what does not fit into that time once never does.
 */
const CHARACTERS_MAX = 2 * 1024 * 1024;

/** Runs `one` for each call's own slice of keys and arguments. An error is the answer to its own
 * call alone. The views are required once for all of them. */
const runMany = (one: string): string => `${one.includes(REQUIRE_VIEW) ? REQUIRE_VIEW : ''}
local function one(KEYS, ARGV) ${one.replace(REQUIRE_VIEW, '')}
end
local keyCount, argCount = tonumber(ARGV[1]), tonumber(ARGV[2])
local answers = {}
for i = 0, #KEYS / keyCount - 1 do
  local isDone, answer = pcall(one, { unpack(KEYS, i * keyCount + 1, (i + 1) * keyCount) },
    { unpack(ARGV, i * argCount + 3, (i + 1) * argCount + 2) })
  if not isDone and type(answer) ~= 'table' then
    -- This is a replica: the client leaves it only if it sees the error as that of the command.
    if string.find(answer, '^READONLY') then return redis.error_reply(answer) end
    answer = redis.error_reply('ERR ' .. answer)
  end
  answers[i + 1] = answer
end
return answers
`;

type Call = { readonly keys: readonly string[]; readonly args: readonly (string | number | Buffer)[] };

const sizeOf = ({ args }: Call): number =>
  args.reduce<number>((sum, arg) => sum + (typeof arg === 'number' ? 0 : arg.length), 0);

/**
 * Makes a Lua script callable as `makeScript` does, but sends all calls made while one command is
 * unanswered as one command: a command per call costs client and Redis more than the script.
 *
 * Each call must have the same number of keys, at least one, and of arguments; the script must
 * answer (`false` for nothing). A call that fails by its own script fails alone.
 *
 * @example
 * const add = makeBatchedScript<number>(redis, `return redis.call('INCRBY', KEYS[1], ARGV[1])`);
 * await Promise.all([add(['a'], [1]), add(['b'], [2])]); // one command
 */
export function makeBatchedScript<T>(redis: Redis, lua: string): Script<T> {
  const runBatch = makeScript<(T | Error)[]>(redis, runMany(lua));
  const runCalls = async (calls: readonly Call[]) => {
    const answers = await runBatch(
      calls.flatMap(({ keys }) => keys),
      [calls[0]?.keys.length ?? 0, calls[0]?.args.length ?? 0, ...calls.flatMap(({ args }) => args)],
    );
    return answers.map((answer) => (answer instanceof Error ? storeErrorOf(answer) : answer));
  };
  const timeoutMs = isReplay(redis) ? REPLAY_TIMEOUT_MS : COMMAND_TIMEOUT_MS;
  const call = batchCalls(CALLS_MAX, runCalls, { sizeOf, sizeMax: CHARACTERS_MAX, timeoutMs });
  return (keys, args) => call({ keys, args });
}
