/**
 * The states of a consumer, from the process's point of view.
 *
 * ```
 *             join, same member          rebalance
 *   joining ───────────────────► consuming ───────► settling
 *    ▲  │                          ▲    ▲              │ │
 *    │  │ join, new member         │    └──────────────┘ │ join, new member
 *    │  └────────► catching-up ────┘ committed           │
 *    │                 ▲             offsets read        │
 *    │                 └─────────────────────────────────┘
 *    └── crash, from any state but stopping      stop: any state ──► stopping
 * ```
 *
 * | state | member of the group | starts records | commits |
 * | --- | --- | --- | --- |
 * | `joining` | no | no | no: kafkajs drops it |
 * | `catching-up` | yes, after a time outside | no | no: others may have committed further |
 * | `consuming` | yes | yes | every 200 ms |
 * | `settling` | until it joins again | no | once, when the running records have ended |
 * | `stopping` | until it leaves | no | once, before it leaves |
 *
 * Running records continue in every state.
 */
export type ConsumerState = 'joining' | 'catching-up' | 'consuming' | 'settling' | 'stopping';

const NEXT_STATES: Readonly<Record<ConsumerState, readonly ConsumerState[]>> = {
  joining: ['joining', 'consuming', 'catching-up', 'stopping'],
  'catching-up': ['consuming', 'catching-up', 'settling', 'joining', 'stopping'],
  // A join without a rebalance before it: the coordinator asked kafkajs to join again at once.
  consuming: ['settling', 'consuming', 'catching-up', 'joining', 'stopping'],
  settling: ['settling', 'consuming', 'catching-up', 'joining', 'stopping'],
  // Nothing leads out of a stop. Members may still come and go meanwhile: see
  // `WindowConsumer.stop`.
  stopping: [],
};

/**
 * Checks a transition.
 *
 * @throws Error for a transition outside of the table above: a bug in the consumer
 *
 * @example
 * nextState('joining', 'consuming'); // 'consuming'
 */
export function nextState(from: ConsumerState, to: ConsumerState): ConsumerState {
  if (!NEXT_STATES[from].includes(to)) throw new Error(`a consumer cannot go from ${from} to ${to}`);
  return to;
}
