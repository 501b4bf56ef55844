import fc from 'fast-check';
import { countReads, type WalletGroup } from '#shared/contracts/rules/count-reads.ts';
import type { Condition, SumCondition, SumTerm, Weight } from '#shared/contracts/rules/rule.ts';
import { explainRules } from './explain-rules.ts';
import { type JudgeContext, judgeContextOf, judgeRules, type Verdict } from './judge-rules.ts';
import { knownSum } from './known-amount.ts';
import { makePlanner, type ReadPlan } from './plan-reads.ts';
import { failed, type Read, type Reading } from './read.ts';

// Sums: exact fractions, and amounts between two bounds. What could not be read is never a "no".

const REGISTRY = `0x${'dd'.repeat(20)}`;
const wallet = (place: number) => `0x${String(place).padStart(40, '0')}`;
const [ACCOUNT, OTHER, VAULT] = [wallet(1), wallet(2), wallet(9)];
const contract = (digit: string) => `0x${digit.repeat(40)}`;
const [TOKEN, SHARES, RATE] = [contract('a'), contract('b'), contract('c')];
const TIMEOUT = failed('rpc-timeout');
const value = (amount: bigint): Reading => ({ ok: true, value: amount });

const rateOf = (name: string, over: Partial<Weight> = {}): Weight => ({
  contractAddress: RATE,
  function: `function ${name}() view returns (uint256)`,
  ...over,
});
const erc20 = (over: Partial<SumTerm> = {}): SumTerm =>
  ({ type: 'ERC20', chainId: 1, contractAddress: TOKEN, ...over }) as SumTerm;
const staked = (over: Partial<SumTerm> = {}): SumTerm =>
  ({
    ...{ type: 'CONTRACT', chainId: 1, contractAddress: SHARES, decimals: 0 },
    ...{ function: 'function stakedOf(address) view returns (uint64)', args: ['$account'] },
    ...over,
  }) as SumTerm;
const sum = (rules: SumTerm[], minToken = '10', maxToken?: string): SumCondition => ({
  type: 'SUM',
  minToken,
  ...(maxToken === undefined ? {} : { maxToken }),
  rules,
});

function planned(group: WalletGroup, rules: readonly Condition[]) {
  const plan = makePlanner(rules, { delegateRegistry: () => REGISTRY, nativeDecimals: () => 18 })(group);
  if ('fault' in plan) throw new Error(plan.fault);
  return { plan, reads: [...plan.reads.values()].flat() };
}

function judgeAndExplain(plan: ReadPlan, context: JudgeContext) {
  const verdicts = judgeRules(plan.needs, context);
  const [[verdict], [detail]] = [verdicts, explainRules(plan.needs, verdicts, context.readingOf)];
  return { verdict, detail };
}

/** What the chains answer: balances of tokens, decimals, outputs by the function's name. */
type Answers = Readonly<Record<string, Reading | bigint>>;
/** The key of a read in `Answers`: its kind, contract, and account. */
function nameOf({ kind, contract: at, account, call }: Read): string {
  if (at === REGISTRY) return 'delegation';
  const place = { [TOKEN]: 'token', [SHARES]: 'shares', [RATE]: 'rate' }[at] ?? 'native';
  if (kind === 'decimals') return `${place} decimals`;
  if (kind === 'call' && call?.accountInputs.length === 0) return place;
  return `${place} of ${Number(account)}`;
}

function judge(rule: Condition, answers: Answers, group: WalletGroup = { account: ACCOUNT }) {
  const { plan, reads } = planned(group, [rule]);
  const readings = new Map(
    reads.map((read) => {
      const answer = answers[nameOf(read)] ?? TIMEOUT;
      return [read, typeof answer === 'bigint' ? value(answer) : answer] as const;
    }),
  );
  const { verdict, detail } = judgeAndExplain(plan, judgeContextOf(readings));
  return { verdict, detail, text: textOf(verdict) };
}
const textOf = (verdict: Verdict | undefined): string =>
  verdict?.outcome === 'undetermined' ? `${verdict.code} ${verdict.open?.path}` : String(verdict?.outcome);

describe('a sum', () => {
  it('adds whole tokens of different decimals, and explains each term before its weights', () => {
    const rule = sum([erc20({ times: '1.5' }), staked({ decimals: 2 } as Partial<SumTerm>)], '10.4');
    const answers = { 'token of 1': 6_000_000n, 'token decimals': 6n, 'shares of 1': 140n };
    expect(judge(rule, answers)).toMatchObject({
      text: 'granted',
      detail: {
        outcome: 'granted',
        observed: '10.4',
        required: { min: '10.4' },
        rules: [{ observed: '6' }, { observed: '1.4' }],
      },
    });
    expect(judge(rule, { ...answers, 'shares of 1': 139n }).text).toBe('denied');
  });

  it('compares a fraction that no decimals can write, without rounding it', () => {
    const third = (min: string, max?: string) =>
      judge(sum([staked({ per: rateOf('supply') })], min, max), { 'shares of 1': 10n, rate: 3n });
    expect(third('3.333333333333333333333333333333333333').text).toBe('granted');
    expect(third('3.333333333333333333333333333333333334').text).toBe('denied');
    expect(third('1', '3.333333333333333333333333333333333333').text).toBe('denied');
    expect(third('1').detail).toMatchObject({
      observed: '3.333333333333333333333333333333333333',
      rules: [{ observed: '10' }],
    });
  });

  it('divides and multiplies by outputs with decimals', () => {
    const price = rateOf('price', { decimals: 2 });
    expect(judge(sum([staked({ times: price })], '7.5'), { 'shares of 1': 6n, rate: 125n }).text).toBe(
      'granted',
    );
    expect(judge(sum([staked({ per: price })], '4.8', '4.8'), { 'shares of 1': 6n, rate: 125n }).text).toBe(
      'granted',
    );
  });

  it('keeps powers of ten, and divisors that it has already, out of its divisor', () => {
    const term = (divisor: bigint, decimals = 255) => ({ least: 1n, most: 1n, decimals, divisor });
    const total = knownSum([term(3n), term(1n, 0), term(5n, 332), term(15n), term(3n)]);
    expect(total).toMatchObject({ decimals: 332, divisor: 15n });
    expect(total.least).toBe(11n * 10n ** 77n + 3n + 15n * 10n ** 332n);
  });

  it('counts a token twice that two terms name', () => {
    const answers = { 'token of 1': 5n, 'token decimals': 0n };
    expect(judge(sum([erc20(), erc20()]), answers).text).toBe('granted');
  });

  it('adds the wallets of each term, and counts an output without a wallet once', () => {
    const group = { account: ACCOUNT, accounts: [ACCOUNT, OTHER] };
    const once = staked({ contractAddress: RATE, args: [OTHER] } as Partial<SumTerm>);
    const answers = { 'shares of 1': 2n, 'shares of 2': 3n, rate: 5n };
    expect(judge(sum([staked(), once], '10', '10'), answers, group).text).toBe('granted');
  });

  it('counts a vault as far as it has delegated, and asks for no delegation of an output without a wallet', () => {
    const group = { account: ACCOUNT, vaults: [VAULT] };
    const answers = { 'shares of 1': 4n, 'shares of 9': 6n };
    const ofVault = (delegation: Reading) => judge(sum([staked()]), { ...answers, delegation }, group).text;
    expect([value(1n), value(0n), TIMEOUT].map(ofVault)).toEqual([
      'granted',
      'denied',
      'rpc-timeout /rules/0',
    ]);
    const once = sum([staked({ args: [OTHER] } as Partial<SumTerm>)], '4');
    expect(planned(group, [once]).reads).toHaveLength(1);
  });
});

describe('what could not be read', () => {
  const weighed = (over: Partial<SumTerm>) => staked({ ...over } as Partial<SumTerm>);
  const [price, supply] = [rateOf('price'), rateOf('supply', { contractAddress: TOKEN })];

  it.each<[string, SumTerm[], Answers, string]>([
    [
      'opens a sum that may still be enough',
      [staked(), erc20()],
      { 'shares of 1': 9n },
      'rpc-timeout /rules/1',
    ],
    ['opens nothing that is enough already', [erc20(), staked()], { 'shares of 1': 10n }, 'granted'],
    ['counts as zero where it is multiplied by zero', [staked({ times: '0' })], {}, 'denied'],
    [
      'counts as zero where the factor that was read is zero',
      [staked({ times: price })],
      { rate: 0n },
      'denied',
    ],
    ['counts as zero where the amount is zero', [staked({ times: price })], { 'shares of 1': 0n }, 'denied'],
    [
      'opens its term where it is a factor',
      [staked({ times: price })],
      { 'shares of 1': 1n },
      'rpc-timeout /rules/0/times',
    ],
    [
      'opens its term where it is a divisor',
      [staked({ times: '2', per: price })],
      { 'shares of 1': 1n },
      'rpc-timeout /rules/0/per',
    ],
    [
      'is named by the amount before the weights',
      [staked({ times: price, per: price })],
      {},
      'rpc-timeout /rules/0',
    ],
    [
      'is named by the factor before the divisor',
      [weighed({ times: price, per: price })],
      { 'shares of 1': 1n },
      'rpc-timeout /rules/0/times',
    ],
    [
      'does not count if its decimals are missing, unless it is zero',
      [erc20()],
      { 'token of 1': 5n, 'token decimals': failed('call-reverted') },
      'decimals-unavailable /rules/0',
    ],
    ['is zero whatever the decimals are', [erc20()], { 'token of 1': 0n }, 'denied'],
    [
      'is a divisor of zero',
      [staked({ per: price })],
      { 'shares of 1': 1n, rate: 0n },
      'return-malformed /rules/0/per',
    ],
    [
      'is no divisor of zero below an amount of zero',
      [staked({ per: price })],
      { 'shares of 1': 0n, rate: 0n },
      'denied',
    ],
    ['is an output above its type', [staked()], { 'shares of 1': 1n << 64n }, 'return-malformed /rules/0'],
    [
      'is a factor above its type',
      [staked({ times: rateOf('price', { function: 'function price() view returns (uint8)' }) })],
      { 'shares of 1': 1n, rate: 256n },
      'return-malformed /rules/0/times',
    ],
    [
      'is named by the first open term',
      [staked({ times: '0' }), erc20(), staked()],
      {},
      'rpc-timeout /rules/1',
    ],
  ])('%s', (_, terms, answers, expected) => {
    expect(judge(sum(terms), answers).text).toBe(expected);
  });

  it('names the contract of the weight that was not read', () =>
    expect(judge(sum([staked({ per: supply })]), { 'shares of 1': 1n }).verdict).toMatchObject({
      open: { path: '/rules/0/per', chainId: 1, contractAddress: TOKEN },
    }));

  it('is named from the outermost rule on inside of a composed rule', () =>
    expect(
      judge({ type: 'NONE', rules: [sum([staked({ times: price })])] }, { 'shares of 1': 1n }).text,
    ).toBe('rpc-timeout /rules/0/rules/0/times'));

  it('is absent from what is explained', () =>
    expect(judge(sum([staked(), erc20()]), { 'shares of 1': 9n }).detail).toEqual({
      ruleIndex: 0,
      outcome: 'undetermined',
      required: { min: '10' },
      rules: [{ observed: '9' }, {}],
    }));
});

describe('a sum over several chains', () => {
  const over = sum([staked(), { type: 'NATIVE', chainId: 2 }]);
  const verdictOf = (rule: Condition, behind: ReadonlySet<number>) => {
    const { plan, reads } = planned({ account: ACCOUNT }, [rule]);
    const readings = new Map(reads.map((read) => [read, value(10n)]));
    const { verdict, detail } = judgeAndExplain(plan, judgeContextOf(readings, behind));
    return [textOf(verdict), detail?.rules];
  };

  it('has no amounts of a chain that was read at another time', () => {
    expect(verdictOf(over, new Set())).toEqual([
      'granted',
      [{ observed: '10' }, { observed: expect.any(String) }],
    ]);
    expect(verdictOf(over, new Set([1]))).toEqual([
      'chain-stale /rules/0',
      [{}, { observed: '0.00000000000000001' }],
    ]);
  });

  it('leaves sums over that chain alone as they are', () =>
    expect(verdictOf(sum([staked()]), new Set([1]))[0]).toBe('granted'));
});

// The reference: fractions and intervals, written for nothing but to be compared with.

type Fraction = { readonly n: bigint; readonly d: bigint };
/** Without `hi`: no upper end. */
type Interval = { readonly lo: Fraction; readonly hi?: Fraction };
const fraction = (n: bigint, d = 1n): Fraction => ({ n, d });
const point = (at: Fraction): Interval => ({ lo: at, hi: at });
const OPEN: Interval = { lo: fraction(0n) };
const plus = (a: Fraction, b: Fraction) => fraction(a.n * b.d + b.n * a.d, a.d * b.d);
const product = (a: Fraction, b: Fraction) => fraction(a.n * b.n, a.d * b.d);
const isLess = (a: Fraction, b: Fraction) => a.n * b.d < b.n * a.d;
const isPoint = ({ lo, hi }: Interval) => hi !== undefined && !isLess(lo, hi) && !isLess(hi, lo);
const isZero = (interval: Interval) => isPoint(interval) && interval.lo.n === 0n;
const both = (one: Interval, other: Interval, operate: (a: Fraction, b: Fraction) => Fraction): Interval => ({
  lo: operate(one.lo, other.lo),
  ...(one.hi && other.hi ? { hi: operate(one.hi, other.hi) } : {}),
});
const parse = (text: string): Fraction => {
  const [whole = '', digits = ''] = text.split('.');
  return fraction(BigInt(whole + digits), 10n ** BigInt(digits.length));
};

type LookUp = (name: string) => bigint | undefined;

function weightOf(weight: SumTerm['times'], lookUp: LookUp): Interval {
  if (weight === undefined) return point(fraction(1n));
  if (typeof weight === 'string') return point(parse(weight));
  const read = lookUp(weight.function);
  return read === undefined ? OPEN : point(fraction(read, 10n ** BigInt(weight.decimals ?? 0)));
}

function amountOf(term: SumTerm, wallets: number, lookUp: LookUp): Interval {
  let total = point(fraction(0n));
  for (let place = 1; place <= wallets; place++) {
    const read = lookUp(`${term.type} ${place}`);
    total = both(total, read === undefined ? OPEN : point(fraction(read)), plus);
  }
  if (isZero(total)) return total;
  const decimals =
    term.type === 'CONTRACT' ? BigInt(term.decimals) : term.type === 'NATIVE' ? 18n : lookUp('decimals');
  return decimals === undefined ? OPEN : both(total, point(fraction(1n, 10n ** decimals)), product);
}

/** The interval of a term, and the part that left it open. */
function termOf(term: SumTerm, wallets: number, lookUp: LookUp): { interval: Interval; open?: string } {
  const amount = amountOf(term, wallets, lookUp);
  const times = weightOf(term.times, lookUp);
  if (isZero(amount) || isZero(times)) return { interval: point(fraction(0n)) };
  const divisor = weightOf(term.per, lookUp);
  const per = isPoint(divisor) && !isZero(divisor) ? point(fraction(divisor.lo.d, divisor.lo.n)) : OPEN;
  const interval = both(both(amount, times, product), per, product);
  if (!isPoint(amount)) return { interval, open: '' };
  if (!isPoint(times)) return { interval, open: '/times' };
  return isPoint(per) ? { interval } : { interval, open: '/per' };
}

function decide({ rules, minToken, maxToken }: SumCondition, wallets: number, lookUp: LookUp): string {
  const terms = rules.map((term) => termOf(term, wallets, lookUp));
  const { lo, hi } = terms.reduce((total, { interval }) => both(total, interval, plus), point(fraction(0n)));
  const [min, max] = [parse(minToken), maxToken === undefined ? undefined : parse(maxToken)];
  if (!isLess(lo, min) && (max === undefined || (hi !== undefined && !isLess(max, hi)))) return 'granted';
  if (hi !== undefined && isLess(hi, min)) return 'denied';
  if (max !== undefined && isLess(max, lo)) return 'denied';
  const first = terms.findIndex(({ open }) => open !== undefined);
  return first < 0 ? 'denied' : `/rules/${first}${terms[first]?.open}`;
}

const decimalText = fc
  .tuple(fc.integer({ min: 0, max: 40 }), fc.stringMatching(/^[0-9]{0,4}$/))
  .map(([whole, digits]) => (digits === '' ? String(whole) : `${whole}.${digits}`));
const aWeight = fc
  .tuple(fc.constantFrom('price', 'supply', 'rate'), fc.constantFrom(0, 1, 18, 77))
  .map(([name, decimals]) => rateOf(name, { decimals }));
const aTerm = fc
  .record({
    type: fc.constantFrom('ERC20' as const, 'NATIVE' as const, 'CONTRACT' as const),
    decimals: fc.constantFrom(0, 2, 18),
    times: fc.option(fc.oneof(decimalText, aWeight), { nil: undefined }),
    per: fc.option(aWeight, { nil: undefined }),
  })
  .map(({ type, decimals, times, per }): SumTerm => {
    const weights = { times, per };
    if (type === 'NATIVE') return { type, chainId: 1, ...weights };
    if (type === 'ERC20') return { type, chainId: 1, contractAddress: TOKEN, ...weights };
    return staked({ decimals, ...weights } as Partial<SumTerm>);
  });
const aSum = fc
  .record({
    terms: fc.array(aTerm, { minLength: 1, maxLength: 5 }),
    min: decimalText,
    span: fc.option(fc.integer({ min: 0, max: 50 }), { nil: undefined }),
  })
  .map(({ terms, min, span }) =>
    sum(
      terms,
      min,
      span === undefined ? undefined : min.replace(/^\d+/, (whole) => String(Number(whole) + span)),
    ),
  );
/** Values near zero, near one token, and large. */
const VALUES = [0n, 0n, 1n, 2n, 3n, 7n, 10n ** 18n, 3n * 10n ** 18n, 12_345_678_901n, (1n << 64n) - 1n];
const FUNCTIONS = ['price', 'supply', 'rate'].map((name) => rateOf(name).function);
const NAMES = [
  ...['ERC20', 'NATIVE', 'CONTRACT'].flatMap((type) => [`${type} 1`, `${type} 2`]),
  ...['decimals', ...FUNCTIONS],
];
const world = fc.array(fc.nat(VALUES.length - 1), { minLength: NAMES.length, maxLength: NAMES.length });
const unread = fc.array(fc.boolean(), { minLength: NAMES.length, maxLength: NAMES.length });

/** What a read is called in the reference. */
function referenceName({ kind, account, call }: Read): string {
  if (kind === 'decimals') return 'decimals';
  if (kind === 'native') return `NATIVE ${Number(account)}`;
  if (kind === 'balance') return `ERC20 ${Number(account)}`;
  if (call?.accountInputs.length === 1) return `CONTRACT ${Number(account)}`;
  const name = FUNCTIONS.find((text) => call?.calldata === selectorOf(text));
  if (name === undefined) throw new Error('an unknown call');
  return name;
}
const SELECTORS = new Map<string, string>();
const selectorOf = (text: string): string => {
  const known = SELECTORS.get(text) ?? calldataOf(text);
  SELECTORS.set(text, known);
  return known;
};
function calldataOf(text: string): string {
  const { reads } = planned({ account: ACCOUNT }, [
    sum([staked({ times: rateOf('x', { function: text }) })]),
  ]);
  return reads.find(({ call }) => call?.accountInputs.length === 0)?.call?.calldata ?? '';
}

describe('of any sum', () => {
  const answersOf = (values: readonly number[]) =>
    new Map(
      NAMES.map((name, index) => {
        const answer = VALUES[values[index] ?? 0] ?? 0n;
        return [name, name === 'decimals' ? answer % 20n : answer] as const;
      }),
    );
  function decideBoth(rule: SumCondition, wallets: number, lookUp: LookUp) {
    const accounts = [ACCOUNT, OTHER].slice(0, wallets);
    const { plan, reads } = planned({ account: ACCOUNT, accounts }, [rule]);
    const readings = new Map(
      reads.map((read) => {
        const answer = lookUp(referenceName(read));
        return [read, answer === undefined ? TIMEOUT : value(answer)] as const;
      }),
    );
    const { verdict, detail } = judgeAndExplain(plan, judgeContextOf(readings));
    const judged = verdict?.outcome === 'undetermined' ? verdict.open?.path : verdict?.outcome;
    return { judged, observed: detail?.observed, expected: decide(rule, wallets, lookUp) };
  }

  it('the decision is that of fractions and intervals, and no value of an unread part would change it', () => {
    fc.assert(
      fc.property(
        aSum,
        fc.integer({ min: 1, max: 2 }),
        world,
        unread,
        fc.array(world, { minLength: 3, maxLength: 3 }),
        (rule, wallets, values, hidden, others) => {
          const known = answersOf(values);
          const isHidden = (name: string) => hidden[NAMES.indexOf(name)] === true;
          const seen = decideBoth(rule, wallets, (name) => (isHidden(name) ? undefined : known.get(name)));
          expect(seen.judged).toBe(seen.expected);
          if (seen.judged !== 'granted' && seen.judged !== 'denied') return;
          for (const other of others) {
            const instead = answersOf(other);
            const full = decideBoth(rule, wallets, (name) => (isHidden(name) ? instead : known).get(name));
            // A divisor of zero, which was not read before, is no value of the term.
            if (!full.judged?.startsWith('/')) expect(full.judged).toBe(seen.judged);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('what is explained is the exact sum, cut after 36 digits', () => {
    fc.assert(
      fc.property(aSum, fc.integer({ min: 1, max: 2 }), world, (rule, wallets, values) => {
        const known = answersOf(values);
        const { observed } = decideBoth(rule, wallets, (name) => known.get(name));
        const terms = rule.rules.map((term) => termOf(term, wallets, (name) => known.get(name)));
        if (terms.some(({ open }) => open !== undefined)) {
          expect(observed).toBeUndefined();
          return;
        }
        const exact = terms.reduce((total, { interval }) => plus(total, interval.lo), fraction(0n));
        const cut = (exact.n * 10n ** 36n) / exact.d;
        expect(parse(observed ?? '')).toEqual(parse(writeDown(cut)));
      }),
    );
  });

  const writeDown = (cut: bigint): string => {
    const digits = String(cut).padStart(37, '0');
    const fractionDigits = digits.slice(-36).replace(/0+$/, '');
    return digits.slice(0, -36) + (fractionDigits === '' ? '' : `.${fractionDigits}`);
  };

  it('as many reads are planned as the gateway counted', () => {
    fc.assert(
      fc.property(aSum, fc.integer({ min: 1, max: 2 }), fc.boolean(), (rule, wallets, hasVault) => {
        const accounts = [ACCOUNT, OTHER].slice(0, wallets);
        const group = { account: ACCOUNT, accounts, ...(hasVault ? { vaults: [VAULT] } : {}) };
        const { reads } = planned(group, [rule]);
        expect(reads.filter(({ kind }) => kind !== 'decimals')).toHaveLength(countReads(group, [rule]));
      }),
    );
  });
});
