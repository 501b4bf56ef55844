/** One line of a source file, and what replaces it. */
export type Bug = {
  /** From the project's root. */
  readonly file: string;
  readonly part: string | RegExp;
  readonly by: string;
};

/** Bugs made on purpose, each of which breaks one promise. */
export const BUGS = {
  /** The offset is committed before the work is done, so a crash loses unfinished records. */
  'commit-before-effect': {
    file: 'shared/kafka/consumer/partition-window.ts',
    part: 'return this.#unfinished[0]?.offset ?? this.#nextOffset;',
    by: 'return this.#nextOffset;',
  },
  /** 202 is sent before the broker has acknowledged the check, which it may never do. */
  'accept-before-acknowledgement': {
    file: 'services/gateway/checks/publish-check.ts',
    part: 'await deps.publish(',
    by: 'void ((...all: Parameters<typeof deps.publish>) => deps.publish(...all).catch(() => undefined))(',
  },
  /** Waiters and webhooks are notified before the result is stored. */
  'notify-before-store': {
    file: 'services/webhook-dispatcher/deliver-webhook.ts',
    part: 'results.saveIfAbsent(savingOf(message))',
    by: 'message.resultJson',
  },
  /** An unreadable balance counts as zero, so the role is taken away. */
  'deny-on-failed-read': {
    file: 'services/evaluator/domain/known-amount.ts',
    part: 'const held = reading.ok ? exactly(reading.value) : unknown(reading);',
    by: 'const held = exactly(reading.ok ? reading.value : 0n);',
  },
  /** A member's state is stored as sent before its event is sent, so a crash in between loses the
   * event. */
  'event-without-hand-off': {
    file: 'services/watcher/members/publish-changes.ts',
    part: 'await publishEvent(watch, { id: memberEventId(member, sequence), json, at });',
    by: 'setTimeout(() => void publishEvent(watch, { id: memberEventId(member, sequence), json, at }).catch(() => undefined), 300);',
  },
} as const satisfies Readonly<Record<string, Bug>>;

/** What rows replace in the evaluators, beside bugs. */
export const REPLACED = {
  /** Between the save of a sync result and its publish. */
  dieAfterSave: {
    file: 'services/evaluator/lanes/encode.ts',
    part: 'await orWait(record, () => publish(checkCompleted,',
    by: "Reflect.get(globalThis, 'dieIfArmed')(); $&",
  },
  /** One kind of message triggers a bug in the handler. */
  handlerBug: {
    file: 'services/evaluator/domain/plan-reads.ts',
    part: /export function makePlanner\([^)]*\): [^{]*\{/,
    by: "$& if (rules.some(({ roleId }) => roleId.startsWith('bug-'))) throw new TypeError('a bug, made by a test');",
  },
} as const satisfies Readonly<Record<string, Bug>>;
