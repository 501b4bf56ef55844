import type { CheckResult, RuleFault } from '#shared/contracts/checks/result.ts';

type Parts = Partial<Omit<CheckResult, 'errors'>> & {
  readonly errors?: readonly (Pick<RuleFault, 'ruleIndex' | 'roleId' | 'code'> & Partial<RuleFault>)[];
};

/** The JSON text of a result on chain 1. */
export const aCheckResult = ({ errors = [], ...parts }: Parts): string =>
  JSON.stringify({
    requestId: 'r1',
    status: 'completed',
    roles: [],
    evaluatedAt: '2026-01-01T00:00:00.000Z',
    blocks: { '1': { number: 1, hash: '0x01', timestamp: 1, proved: true } },
    ...parts,
    errors: errors.map((fault) => ({ message: '', retryable: true, chainId: 1, ...fault })),
  } satisfies CheckResult);
