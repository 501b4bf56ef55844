import fc from 'fast-check';
import type { WatchMember } from '#shared/contracts/watches/watch.ts';
import type { Answer, Fork } from '../../../services/watcher/domain/judge-answer.ts';
import {
  type Applied,
  applyAnswer,
  type MemberEvent,
  type Rules,
  releaseHeld,
  settleSweeps,
} from '../../../services/watcher/domain/member.ts';
import { aMember, at, UNREAD } from '../builders/a-member-check.ts';

const CHAIN = '1';
const GRACE_SECONDS = 20;

/** Whether the role is granted at a block, by the one or the other rules. */
type Truth = readonly [boolean, boolean];
type Block = { readonly id: number; readonly truth: Truth };
type Request = Pick<Answer, 'rules' | 'why' | 'owed' | 'sweep' | 'forgives' | 'walletsAt'>;
type Pending = { readonly answer: Answer; readonly block: Block | undefined };

export type Step =
  | { readonly mine: Truth }
  | { readonly reorg: number; readonly branch: readonly Truth[] }
  | { readonly follow: true }
  | { readonly sweep: true }
  | { readonly settle: boolean }
  | { readonly release: true }
  | { readonly read: number; readonly lag: number; readonly isUnread: boolean; readonly isOld: boolean }
  | { readonly deliver: number; readonly twice: boolean }
  | { readonly rules: true }
  | { readonly wallets: true }
  | { readonly pause: boolean }
  | { readonly lose: true }
  | { readonly retry: true }
  | { readonly wait: number };

const truth: fc.Arbitrary<Truth> = fc.tuple(fc.boolean(), fc.boolean());

export const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ mine: truth }) },
    {
      weight: 1,
      arbitrary: fc.record({
        reorg: fc.integer({ min: 1, max: 4 }),
        branch: fc.array(truth, { minLength: 1, maxLength: 5 }),
      }),
    },
    { weight: 4, arbitrary: fc.constant({ follow: true as const }) },
    { weight: 1, arbitrary: fc.constant({ sweep: true as const }) },
    { weight: 1, arbitrary: fc.record({ settle: fc.boolean() }) },
    { weight: 1, arbitrary: fc.constant({ release: true as const }) },
    {
      weight: 6,
      arbitrary: fc.record({
        read: fc.nat(),
        lag: fc.constantFrom(0, 0, 0, 1, 2),
        isUnread: fc.constantFrom(false, false, false, true),
        isOld: fc.boolean(),
      }),
    },
    { weight: 6, arbitrary: fc.record({ deliver: fc.nat(), twice: fc.boolean() }) },
    { weight: 1, arbitrary: fc.constant({ rules: true as const }) },
    { weight: 1, arbitrary: fc.constant({ wallets: true as const }) },
    { weight: 1, arbitrary: fc.record({ pause: fc.boolean() }) },
    { weight: 1, arbitrary: fc.constant({ lose: true as const }) },
    { weight: 2, arbitrary: fc.constant({ retry: true as const }) },
    { weight: 1, arbitrary: fc.record({ wait: fc.nat(60) }) },
  ),
  { maxLength: 80, size: 'max' },
);

/** A fault that is planted, to see that the model finds it. */
export type Fault = 'forgets-forks' | 'forgets-seen' | 'forgets-owed' | 'forgets-stamp';

/**
 * One member of a watch on one chain, with all that may happen to it in any order. It throws where
 * the member does what it must not, and at the end, once all is answered, where its role is not
 * that of the chain.
 */
export class MemberModel {
  #second = 1;
  #ids = 0;
  #chain: Block[] = [this.#block([false, false])];
  /** The chain before the last reorg that the follower has not seen. */
  #old: readonly Block[] | undefined;
  #followed: readonly Block[] = [...this.#chain];
  #forks: Fork[] = [];
  #dropped = new Set<number>();
  #rules = 0;
  #isPaused = false;
  #sweep: number | undefined;
  readonly #requests: Request[] = [];
  readonly #pending: Pending[] = [];
  #member: WatchMember = aMember({ owed: { since: at(0), blocks: {}, why: { cause: 'schedule' } } });
  #published = this.#member;
  readonly #events: MemberEvent[] = [];
  /** The highest block that was applied by these rules, for these wallets. */
  #applied: { readonly number: number; readonly askedAt: number; readonly stamp: string } | undefined;
  readonly #isGraced: boolean;
  readonly #fault: Fault | undefined;

  constructor(isGraced: boolean, fault?: Fault) {
    this.#isGraced = isGraced;
    this.#fault = fault;
    this.#request({ owed: { [CHAIN]: 0 } });
  }

  run(all: readonly Step[]): void {
    for (const step of all) {
      this.#second += 1;
      this.#do(step);
    }
    this.#end();
  }

  #block(truth: Truth): Block {
    return { id: this.#ids++, truth };
  }

  get #head(): number {
    return this.#chain.length - 1;
  }

  #request(request: Partial<Request>): void {
    const { walletsAt } = this.#member;
    const why = { cause: 'schedule' } as const;
    this.#requests.push({ rules: this.#stamp, walletsAt, why, owed: {}, ...request });
  }

  get #stamp(): string {
    return `set#${this.#rules % 2} latest`;
  }

  #do(step: Step): void {
    if ('mine' in step) this.#chain.push(this.#block(step.mine));
    else if ('reorg' in step) this.#reorg(step.reorg, step.branch);
    else if ('follow' in step) this.#follow();
    else if ('sweep' in step) this.#beginSweep();
    else if ('settle' in step) this.#settle(step.settle);
    else if ('release' in step) this.#decide(releaseHeld(this.#member, at(this.#second)));
    else if ('read' in step) this.#read(step);
    else if ('deliver' in step) this.#deliver(step.deliver, step.twice);
    else if ('rules' in step) this.#changeRules();
    else if ('wallets' in step) this.#changeWallets();
    else if ('pause' in step) this.#pause(step.pause);
    else if ('lose' in step) this.#lose();
    else if ('retry' in step) this.#retry();
    else this.#second += step.wait;
  }

  #reorg(depth: number, branch: readonly Truth[]): void {
    // A second one before the first is known: the follower sees both at once.
    if (this.#chain.length <= depth || this.#old) return;
    this.#old = [...this.#chain];
    this.#chain = [...this.#chain.slice(0, -depth), ...branch.map((truth) => this.#block(truth))];
  }

  /** As the follower of logs: notes a fork first, then the transfers. */
  #follow(): void {
    const before = this.#followed;
    const from = before.findIndex(({ id }, number) => this.#chain[number]?.id !== id);
    const first = from < 0 ? before.length : from;
    if (from >= 0) {
      this.#forks.push({ from, knownAt: Date.parse(at(this.#second)) });
      for (const { id } of before.slice(from)) this.#dropped.add(id);
      for (const { id } of this.#old?.slice(from) ?? []) this.#dropped.add(id);
      if (before.slice(from).some((_, index) => isTransfer(before, from + index))) this.#transfer(from);
    }
    this.#old = undefined;
    this.#followed = [...this.#chain];
    for (let number = first; number <= this.#head; number++)
      if (isTransfer(this.#chain, number)) this.#transfer(number);
  }

  #transfer(number: number): void {
    if (!this.#isPaused) this.#request({ why: { cause: 'transfer' }, owed: { [CHAIN]: number } });
  }

  #beginSweep(): void {
    if (this.#sweep !== undefined || this.#isPaused) return;
    this.#sweep = this.#second;
    this.#request({ sweep: this.#sweep, forgives: true });
  }

  #settle(isHeld: boolean): void {
    if (this.#sweep === undefined || this.#isPaused) return;
    const holdRoles = new Set(isHeld ? ['gold'] : []);
    // Of a sweep that waits for second checks, all were looked at.
    const looked = this.#member.roles.flatMap(({ heldBack }) =>
      heldBack?.looked ? (heldBack.sweep ?? []) : [],
    );
    const settlement = { sweeps: [this.#sweep, ...looked], holdRoles, at: at(this.#second) };
    this.#sweep = undefined;
    const settled = settleSweeps(this.#member, settlement, { rules: this.#stamp });
    if (settled.revoked.length > 0 && this.#member.checked?.rules !== this.#stamp)
      throw new Error('a settlement of former rules revoked a role');
    this.#decide(settled);
  }

  #read({ read, lag, isUnread, isOld }: Extract<Step, { read: number }>): void {
    const [request] = this.#requests.splice(read % Math.max(1, this.#requests.length), 1);
    if (request) this.#answer(request, lag, isUnread, isOld);
  }

  #answer(request: Request, lag = 0, isUnread = false, isOld = false): void {
    const chain = isOld && this.#old ? this.#old : this.#chain;
    const number = Math.max(0, chain.length - 1 - lag);
    const block = isUnread || number < (request.owed[CHAIN] ?? 0) ? undefined : chain[number];
    const verdict = block?.truth[request.rules === 'set#0 latest' ? 0 : 1];
    const asked = Date.parse(at(this.#second));
    const answer: Answer = {
      ...request,
      verdicts: new Map([['gold', verdict]]),
      read: block ? { [CHAIN]: { block: number, askedAt: asked, madeAt: 0 } } : {},
      errors: block ? [] : [UNREAD],
      evaluatedAt: at(this.#second),
    };
    this.#pending.push({ answer, block });
  }

  #deliver(pick: number, twice: boolean): void {
    const [pending] = this.#pending.splice(pick % Math.max(1, this.#pending.length), 1);
    if (!pending || this.#isPaused) return;
    this.#apply(pending);
    if (twice) this.#apply(pending);
  }

  #apply({ answer, block }: Pending): void {
    const rules: Rules = {
      rules: this.#fault === 'forgets-stamp' ? answer.rules : this.#stamp,
      forks: { [CHAIN]: this.#fault === 'forgets-forks' ? [] : this.#forks },
      graceSeconds: this.#isGraced ? GRACE_SECONDS : 0,
      chainsOf: new Map([['gold', new Set([CHAIN])]]),
    };
    const { checked } = this.#member;
    const member =
      this.#fault === 'forgets-seen' && checked
        ? { ...this.#member, checked: { ...checked, seen: {} } }
        : this.#member;
    const applied = applyAnswer(member, answer, rules);
    const { owed: _, ...rest } = applied.member;
    const { event } = applied;
    if (event?.changes.some(({ granted }) => !granted) && answer.verdicts.get('gold') === false) {
      if (block && this.#dropped.has(block.id))
        throw new Error('a block of a known dropped fork revoked a role');
      if (answer.rules !== this.#stamp) throw new Error('an answer by former rules revoked a role');
    }
    const isApplied = applied.member !== member && !applied.isDropped;
    if (block && isApplied) this.#noteApplied(answer);
    this.#decide(this.#fault === 'forgets-owed' ? { ...applied, member: rest } : applied);
  }

  #noteApplied({ read, rules, walletsAt }: Answer): void {
    const { block: number = 0, askedAt = 0 } = read[CHAIN] ?? {};
    const stamp = `${rules} ${walletsAt}`;
    const last = this.#applied;
    // A read from before a reorg was known counts as dropped by it, on whichever fork it was.
    const isDropped = this.#forks.some(
      ({ from, knownAt }) => last && last.number >= from && last.askedAt < knownAt,
    );
    if (last?.stamp === stamp && !isDropped && last.number > number)
      throw new Error('an older block was applied after a newer one');
    this.#applied = { number, askedAt, stamp };
  }

  #decide({ member, event }: Applied): void {
    const before = this.#member;
    this.#member = member;
    const isOwedAnew = before.owed === undefined && member.owed !== undefined;
    if (isOwedAnew || member.roles !== before.roles || member.checked?.rules !== before.checked?.rules)
      this.#published = member;
    if (event === undefined) return;
    const last = this.#events.at(-1);
    this.#events.push(event);
    if (event.sequence !== this.#events.length) throw new Error('a gap or a reuse of a sequence');
    const [change] = event.changes;
    if ((change?.before ?? null) !== (last?.changes[0]?.granted ?? null))
      throw new Error('an event that does not follow the last one');
  }

  #changeRules(): void {
    this.#rules += 1;
    this.#sweep = undefined;
    // Its sweep; a paused watch has it at `resume`.
    if (!this.#isPaused)
      this.#request({ why: { cause: 'rule-set' }, owed: { [CHAIN]: this.#followed.length - 1 } });
  }

  #changeWallets(): void {
    const { roles, checked: _, ...rest } = this.#member;
    const owed = { since: at(this.#second), blocks: {}, why: { cause: 'schedule' as const } };
    const kept = roles.map(({ id, granted, since }) => ({ id, granted, since }));
    this.#member = { ...rest, roles: kept, walletsAt: at(this.#second), owed };
    this.#published = this.#member;
    if (!this.#isPaused) this.#request({ owed: { [CHAIN]: this.#followed.length - 1 } });
  }

  #pause(isPaused: boolean): void {
    if (this.#isPaused === isPaused) return;
    this.#isPaused = isPaused;
    this.#sweep = undefined;
    if (!isPaused) this.#request({ owed: { [CHAIN]: this.#followed.length - 1 } });
  }

  /** Redis is empty: the member is that of the topic, and the missing position is a gap. */
  #lose(): void {
    this.#member = this.#published;
    this.#forks = [];
    this.#dropped = new Set();
    this.#applied = undefined;
    this.#sweep = undefined;
    if (!this.#isPaused) this.#request({ owed: { [CHAIN]: this.#followed.length - 1 } });
  }

  /** As a due member is checked. */
  #retry(): void {
    const { owed, roles, checked } = this.#member;
    const now = at(this.#second);
    const isToLook = roles.some(
      ({ heldBack: back }) => back?.graceUntil && !back.looked && back.graceUntil <= now,
    );
    if (this.#isPaused || (owed === undefined && !isToLook)) return;
    const later = isToLook ? (checked?.seen[CHAIN]?.block ?? -1) + 1 : 0;
    const block = Math.max(owed?.blocks[CHAIN] ?? 0, later);
    this.#request({ why: owed?.why ?? { cause: 'schedule' }, owed: { [CHAIN]: block } });
  }

  /** The chain goes on without changes, and all that is owed is checked. */
  #end(): void {
    this.#second += 1;
    this.#pause(false);
    this.#follow();
    // Answers that are out arrive before any other check, and a scheduled sweep may never be asked.
    while (this.#pending.length > 0) this.#deliver(0, false);
    const isNeeded = ({ forgives }: Request): boolean => forgives !== true;
    this.#requests.splice(0, Number.POSITIVE_INFINITY, ...this.#requests.filter(isNeeded));
    const isOpen = () =>
      this.#requests.length + this.#pending.length > 0 ||
      this.#member.owed !== undefined ||
      this.#member.roles.some(({ heldBack }) => heldBack);
    for (let rounds = 0; rounds < 40 && isOpen(); rounds++) {
      this.#chain.push(this.#block(this.#chain.at(-1)?.truth ?? [false, false]));
      this.#follow();
      this.#second += GRACE_SECONDS + 1;
      this.#beginSweep();
      this.#retry();
      for (const request of this.#requests.splice(0)) this.#answer(request);
      while (this.#pending.length > 0) this.#deliver(0, false);
      this.#settle(false);
      this.#decide(releaseHeld(this.#member, at(this.#second)));
    }
    if (isOpen()) throw new Error('something stays owed or held back');
    const expected = this.#chain.at(-1)?.truth[this.#rules % 2 === 0 ? 0 : 1];
    const role = this.#member.roles[0];
    if (role?.granted !== expected) throw new Error('the role is not that of the chain');
    if (this.#events.at(-1)?.changes[0]?.granted !== expected)
      throw new Error('the last event is not the role');
  }
}

/** Whether the balances changed with a block. */
const isTransfer = (chain: readonly Block[], number: number): boolean =>
  String(chain[number]?.truth) !== String(chain[number - 1]?.truth);

/** Runs one story; throws where the member fails. */
export const runStory = (isGraced: boolean, story: readonly Step[], fault?: Fault): void =>
  new MemberModel(isGraced, fault).run(story);

/** The property of all stories. */
export const storiesHold = (fault?: Fault) =>
  fc.property(fc.boolean(), steps, (isGraced, story) => runStory(isGraced, story, fault));
