import { CheckResult, isRuleFault } from '#shared/contracts/checks/result.ts';
import type { SentRule } from '../builders/demo-rules.ts';

export type CheckMode = 'sync' | 'poll' | 'webhook';

/**
 * A client's knowledge of one attempt. `acknowledged`: 200 or 202. `refused`: a 4xx, so it has no
 * effect. `indeterminate`: a 5xx or a cut connection, so it may have one.
 */
export type Attempt = {
  readonly mode: CheckMode;
  readonly account: string;
  /** Rules with role ids that no other attempt has, so that every effect can be matched to its
   * attempt. */
  readonly rules: readonly SentRule[];
  /** Whether it proves its wallet. */
  readonly signsIn: boolean;
  outcome: 'acknowledged' | 'refused' | 'indeterminate';
  requestId?: string;
  /** The body of a sync answer, or of the first poll with the result. */
  answered?: string;
  /** Epoch ms. */
  readonly startedAt: number;
  /** From the start to the answer or the lost connection; absent until then. */
  tookMs?: number;
  /** Absent if the connection was lost. */
  status?: number;
  /** The code of a problem. */
  code?: string;
  /** The header of the answer, if it had one. */
  retryAfter?: string;
  /** From the start until the client had the result. */
  resultMs?: number;
};

/** One copy of a result: polled, delivered or answered. */
type Copy = { readonly requestId: string; readonly body: string };
export type Delivery = Copy & {
  readonly verified?: boolean | undefined;
  /** False if the receiver did not answer 2xx: the body counts as a copy, but not as a delivery. */
  readonly accepted?: boolean;
};

/** The true outcome of a rule at a block, read from the chain itself; undefined if it cannot be
 * known. */
export type Oracle = (rule: SentRule, account: string, block: number) => Promise<boolean | undefined>;

export type Evidence = {
  /** The terminal result of each polled request id; absent if there is none. */
  readonly polled: ReadonlyMap<string, string>;
  /** The webhooks that the receiver got. */
  readonly deliveries: readonly Delivery[];
  /** Request ids whose delivery is reported as exhausted or dead-lettered. */
  readonly givenUp?: ReadonlySet<string>;
  readonly oracle: Oracle;
};

/** The request ids (or role ids, where there is no request) of each fault. */
export type Faults = {
  /** Acknowledged, and no result. */
  readonly lost: string[];
  /** Acknowledged webhook checks without a verified delivery. */
  readonly undelivered: string[];
  /** Effects without an attempt: of a refused attempt, of an unknown one, or under another id. */
  readonly unexpected: string[];
  /** Two bodies of one request. */
  readonly contradictory: string[];
  /** Verdicts that differ from the oracle's, or that are missing without an error. */
  readonly wrong: string[];
  /** Deliveries whose signature does not verify. */
  readonly unverified: string[];
};

/** The expected report: a comparison with it shows the request ids behind a broken promise. */
export const NO_FAULTS: Faults = {
  lost: [],
  undelivered: [],
  unexpected: [],
  contradictory: [],
  wrong: [],
  unverified: [],
};

export type Reconciliation = {
  readonly counts: {
    readonly attempts: number;
    readonly acknowledged: number;
    readonly refused: number;
    readonly indeterminate: number;
    /** Rules that ended undetermined: allowed, and worth reporting. */
    readonly undetermined: number;
    /** Deliveries beyond the first of each request: allowed, and worth reporting. */
    readonly duplicates: number;
  };
  readonly faults: Faults;
  /** The kinds of fault that occurred: empty when every promise was kept. */
  readonly broken: (keyof Faults)[];
};

/**
 * Records the attempts and answers of clients, and compares them with the outcomes.
 *
 * Model: Jepsen's total-queue checker. Acknowledged checks must exist, existing ones must have been
 * attempted, all copies must be the same, and every verdict must agree with the chain.
 *
 * @example
 * const ledger = new Ledger();
 * const attempt = ledger.begin('poll', account, (roleId) => [erc20({ roleId })]);
 * ledger.end(attempt, await client.check({ account, rules: attempt.rules, async: true }));
 * expect((await ledger.reconcile(evidence)).faults).toEqual(NO_FAULTS);
 */
export class Ledger {
  readonly attempts: Attempt[] = [];

  /** Opens an attempt; it stays indeterminate until it is ended. */
  begin(
    mode: CheckMode,
    account: string,
    rulesOf: (roleId: string) => readonly SentRule[],
    signsIn = false,
  ): Attempt {
    const rules = rulesOf(`attempt-${this.attempts.length}`).map((rule, i) => ({
      ...rule,
      roleId: `${rule.roleId}#${i}`,
    }));
    const about = { mode, account, rules, signsIn };
    const attempt: Attempt = { ...about, outcome: 'indeterminate', startedAt: Date.now() };
    this.attempts.push(attempt);
    return attempt;
  }

  /** Records the answer of an attempt. */
  end(
    attempt: Attempt,
    answer: {
      readonly status: number;
      readonly text: string;
      readonly headers?: Headers;
      readonly body?: { readonly code?: string };
    },
  ): void {
    attempt.tookMs = Date.now() - attempt.startedAt;
    if (answer.body?.code !== undefined) attempt.code = answer.body.code;
    attempt.status = answer.status;
    const retryAfter = answer.headers?.get('retry-after');
    if (retryAfter) attempt.retryAfter = retryAfter;
    if (answer.status >= 500) return;
    attempt.outcome = answer.status >= 400 ? 'refused' : 'acknowledged';
    if (attempt.outcome !== 'acknowledged') return;
    attempt.requestId = (JSON.parse(answer.text) as { requestId: string }).requestId;
    if (attempt.mode === 'sync') this.result(attempt, answer.text);
  }

  /** Records that the connection was lost before an answer. */
  cut(attempt: Attempt): void {
    attempt.tookMs = Date.now() - attempt.startedAt;
  }

  /** Records when the client first has the result. */
  result(attempt: Attempt, body: string): void {
    attempt.answered = body;
    attempt.resultMs = Date.now() - attempt.startedAt;
  }

  /** The request ids whose results must exist. */
  acknowledgedIds(): string[] {
    return this.attempts.flatMap(({ requestId }) => (requestId === undefined ? [] : [requestId]));
  }

  async reconcile({ polled, deliveries, givenUp, oracle }: Evidence): Promise<Reconciliation> {
    const faults: Faults = {
      lost: [],
      undelivered: [],
      unexpected: [],
      contradictory: [],
      wrong: [],
      unverified: deliveries.flatMap(({ verified, requestId }) => (verified === false ? [requestId] : [])),
    };
    const verified = deliveries.filter((delivery) => delivery.verified !== false);
    const taken = verified.filter(({ accepted }) => accepted !== false);
    const delivered = new Set(taken.map(({ requestId }) => requestId));
    for (const { requestId, mode } of this.attempts) {
      if (requestId === undefined) continue;
      if (!polled.has(requestId)) faults.lost.push(requestId);
      const mustArrive = mode === 'webhook' && !givenUp?.has(requestId);
      if (mustArrive && !delivered.has(requestId)) faults.undelivered.push(requestId);
    }
    const answered = this.attempts.flatMap(({ requestId, answered: body }) =>
      requestId === undefined || body === undefined ? [] : [{ requestId, body }],
    );
    const stored = [...polled].map(([requestId, body]) => ({ requestId, body }));
    const undetermined = await this.#judgeCopies([...answered, ...stored, ...verified], oracle, faults);
    const count = (outcome: Attempt['outcome']) => this.attempts.filter((a) => a.outcome === outcome).length;
    return {
      counts: {
        attempts: this.attempts.length,
        acknowledged: count('acknowledged'),
        refused: count('refused'),
        indeterminate: count('indeterminate'),
        undetermined,
        duplicates: taken.length - delivered.size,
      },
      faults,
      broken: (Object.keys(faults) as (keyof Faults)[]).filter((kind) => faults[kind].length > 0),
    };
  }

  /** Checks each result once, and compares every further copy with it. */
  async #judgeCopies(copies: readonly Copy[], oracle: Oracle, faults: Faults): Promise<number> {
    const attemptOf = new Map(this.attempts.flatMap((a) => a.rules.map((rule) => [rule.roleId, a] as const)));
    const bodies = new Map<string, string>();
    const idOf = new Map<Attempt, string>();
    let undetermined = 0;
    for (const { requestId, body } of copies) {
      const known = bodies.get(requestId);
      if (known !== undefined && known !== body) faults.contradictory.push(requestId);
      if (known !== undefined) continue;
      bodies.set(requestId, body);
      const result = parseResult(body);
      const roleId = result?.roles[0]?.id ?? result?.errors.find(isRuleFault)?.roleId ?? '';
      const attempt = attemptOf.get(roleId);
      const isOurs = attempt && attempt.outcome !== 'refused' && result?.requestId === requestId;
      if (!isOurs || (attempt.requestId ?? requestId) !== requestId) {
        faults.unexpected.push(
          attempt?.outcome === 'refused' ? `${requestId} of a check answered ${attempt.status}` : requestId,
        );
        continue;
      }
      if (idOf.has(attempt)) faults.contradictory.push(requestId);
      idOf.set(attempt, requestId);
      undetermined += result.errors.length;
      if (!(await isRight(attempt, result, oracle))) faults.wrong.push(requestId);
    }
    return undetermined;
  }
}

function parseResult(body: string): CheckResult | undefined {
  try {
    return CheckResult.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}

/** Checks that every rule has either its verdict, equal to the chain's, or its error, and that no
 * roles are there without the proof that was asked for. */
async function isRight(
  { rules, account, signsIn }: Attempt,
  result: CheckResult,
  oracle: Oracle,
): Promise<boolean> {
  const isProved = result.signIn?.[0]?.outcome === 'proved';
  if (result.roles.length > 0 && isProved !== signsIn) return false;
  const failed = new Set(result.errors.filter(isRuleFault).map(({ ruleIndex }) => ruleIndex));
  const decided = rules.filter((_, index) => !failed.has(index));
  if (decided.length !== result.roles.length) return false;
  for (const [place, rule] of decided.entries()) {
    const role = result.roles[place];
    const block = result.blocks[String(rule.chainId)];
    if (role?.id !== rule.roleId || !block) return false;
    const expected = await oracle(rule, account, block.number);
    if (expected !== undefined && expected !== role.granted) return false;
  }
  return true;
}
