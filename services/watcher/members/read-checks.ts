import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { z } from 'zod';
import type { BatchPartCompleted } from '#shared/contracts/batches/batch.ts';
import { foldRoles } from '#shared/contracts/checks/fold-roles.ts';
import { RoleVerdict, RuleFault } from '#shared/contracts/checks/result.ts';
import type { CheckContext } from '#shared/contracts/watches/watch.ts';
import type { MemberCheck } from '../domain/judge-age.ts';

const inflate = promisify(gunzip);

const Line = z.object({
  index: z.number().int(),
  account: z.string().optional(),
  accounts: z.array(z.string()).optional(),
  /** Missing if the entry could not be parsed. */
  ref: z.string().optional(),
  roles: z.array(RoleVerdict),
  errors: z.array(RuleFault),
  blockNumbers: z.record(z.string(), z.number()),
});

/** The checks in a part's result, by member id. */
export async function readChecks(
  part: BatchPartCompleted,
  { cause, rules, sweep, reorgFrom, reorgKnownAt, minBlock, walletTimes }: CheckContext,
  state: Pick<MemberCheck, 'isLate' | 'isOutdated'>,
): Promise<Map<string, MemberCheck>> {
  // A part that the evaluator could not parse names no roles: it says nothing of its members.
  if (part.roles.length === 0) return new Map();
  const text = (await inflate(Buffer.from(part.linesGzip, 'base64'))).toString();
  const checks = new Map<string, MemberCheck>();
  for (const json of text.split('\n')) {
    if (json === '') continue;
    const {
      index,
      account,
      accounts = account === undefined ? [] : [account],
      ref,
      ...line
    } = Line.parse(JSON.parse(json));
    if (ref === undefined) continue;
    const outcomes = foldRoles(line);
    const verdicts = part.roles.map(({ id }) => {
      const outcome = outcomes.get(id);
      const isDecided = outcome === 'granted' || outcome === 'denied';
      return [id, isDecided ? outcome === 'granted' : undefined] as const;
    });
    checks.set(ref, {
      cause,
      rules,
      sweep,
      ...state,
      reorgFrom,
      reorgKnownAt,
      minBlock,
      headTimes: part.headTimes,
      blockTimes: part.blockTimes,
      accounts: accounts.map((each) => each.toLowerCase()),
      verdicts: new Map(verdicts),
      blockNumbers: line.blockNumbers,
      errors: line.errors,
      evaluatedAt: part.evaluatedAt,
      askedAt: part.acceptedAt,
      walletsAtMs: walletTimes?.[index],
    });
  }
  return checks;
}
