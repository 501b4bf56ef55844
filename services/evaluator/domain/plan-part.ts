import { type BatchEntry, type BatchPartRequested, ENTRY_READS_MAX } from '#shared/contracts/batch.ts';
import { type PlanFault, type PlanOptions, planReads, type ReadPlan } from './plan-reads.ts';
import type { Read } from './read.ts';

/** Collects the plans of a part's entries; a read that several entries need is made once. */
export class PartPlan {
  /** By chain id; each read appears once. */
  readonly reads = new Map<number, Read[]>();
  /** One plan per entry, in the order of the entries. */
  readonly plans: ReadPlan[] = [];
  readonly #keys = new Set<string>();

  /** Plans the next entry; returns why it must not be judged, if so. */
  add(
    entry: BatchEntry,
    { rules }: Pick<BatchPartRequested, 'rules'>,
    delegateRegistry: PlanOptions['delegateRegistry'],
  ): PlanFault | undefined {
    const plan = planReads(entry, rules, { readsMax: ENTRY_READS_MAX, delegateRegistry });
    if ('fault' in plan) return plan;
    this.plans.push(plan);
    for (const [chainId, reads] of plan.reads) {
      const ofChain = this.reads.get(chainId) ?? [];
      this.reads.set(chainId, ofChain);
      for (const read of reads) {
        if (this.#keys.has(read.key)) continue;
        this.#keys.add(read.key);
        ofChain.push(read);
      }
    }
    return undefined;
  }
}
