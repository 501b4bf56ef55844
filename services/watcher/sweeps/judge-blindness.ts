import { simpleRulesOf } from '#shared/contracts/rules/rule.ts';
import { type RuleSet, rulesOf } from '#shared/contracts/rules/rule-set.ts';
import { isPresent, type StalledChain, type Watch, watchUid } from '#shared/contracts/watches/watch.ts';
import type { Dependencies } from '../dependencies.ts';
import { composeAboutWatch } from '../domain/compose-event.ts';

/** A watch with a stalled chain is looked at again after this time. */
const LOOK_AGAIN_MS = 2_000;

/** What the chain has to be read for, and was not; times in epoch ms. */
type Want = {
  /** Since when it could not be read although it had to be. */
  readonly blindSince: number;
  /** When it was last read. */
  readonly readAt: number;
};

type Look = {
  readonly chainId: number;
  readonly wants: readonly Want[];
  readonly isOwed: boolean;
  /** When the reader of logs had read it last; `undefined`: it is not followed. */
  readonly followedAt: number | undefined;
};

/** Reports the chains that cannot be read for a watch, and those that can be read again. Each
 * report is written with its event into the document, then published. */
export async function judgeBlindness(deps: Dependencies, watch: Watch, ruleSet: RuleSet): Promise<void> {
  const uid = watchUid(watch);
  const followed = await deps.followed.chainsOf(uid);
  const chainIds = new Set(
    rulesOf(ruleSet)
      .flatMap(simpleRulesOf)
      .map(({ chainId }) => chainId),
  );
  const looks = await Promise.all([...chainIds].map((id) => look(deps, watch, id, followed.get(id))));
  const nowMs = deps.now();
  const at = new Date(nowMs).toISOString();
  const { stalled = [], stalledAfterSeconds } = watch;
  const afterMs = stalledAfterSeconds * 1_000;
  const open = looks.filter(({ chainId }) => !stalled.some((one) => one.chainId === chainId));
  const found = open
    .map(({ chainId, wants }) => ({
      chainId,
      unread: wants.filter(({ blindSince }) => nowMs - blindSince >= afterMs),
    }))
    .filter(({ unread }) => unread.length > 0);
  const isClear = ({ chainId, reportedAt }: StalledChain): boolean => {
    const now = looks.find((each) => each.chainId === chainId);
    return now === undefined || (!now.isOwed && (now.followedAt ?? Infinity) >= Date.parse(reportedAt));
  };
  const recovered = [...Map.groupBy(stalled, ({ reportedAt }) => reportedAt).values()].find((together) =>
    together.every(isClear),
  );
  if (recovered) await report(deps, watch, 'watch.recovered', recovered, at);
  else if (found.length > 0) {
    const chains = found.map(({ chainId, unread }) => ({
      chainId,
      since: new Date(Math.max(...unread.map(({ readAt }) => readAt))).toISOString(),
      reportedAt: at,
    }));
    await report(deps, watch, 'watch.stalled', chains, at);
  }
  const starts = open.flatMap(({ wants }) => wants.map(({ blindSince }) => blindSince));
  const next = Math.min(...starts) + afterMs;
  if (stalled.length > 0) await deps.watches.setDue(uid, nowMs + LOOK_AGAIN_MS);
  if (next > nowMs && next < Infinity) await deps.watches.setDue(uid, next);
}

/** @param followedSince since when it is followed, epoch ms; `undefined`: it is not */
async function look(
  deps: Dependencies,
  watch: Watch,
  chainId: number,
  followedSince: number | undefined,
): Promise<Look> {
  const uid = watchUid(watch);
  const areOwed = async (memberIds: readonly string[]) =>
    (await deps.members.readMany(uid, memberIds)).map(
      (member) => isPresent(member) && member.owed?.blocks[String(chainId)] !== undefined,
    );
  const { readAt, owedSince } = await deps.chains.sight(uid, chainId, areOwed);
  const followedAt =
    followedSince && ((await deps.positions.reach(chainId, watch.blockTag)).readAt ?? followedSince);
  const wants: Want[] = [];
  // While the watch was paused nothing was asked.
  const resumedAt = Date.parse(watch.resumedAt ?? watch.createdAt);
  if (owedSince !== undefined)
    wants.push({ blindSince: Math.max(owedSince, readAt ?? 0, resumedAt), readAt: readAt ?? owedSince });
  if (followedAt !== undefined) wants.push({ blindSince: followedAt, readAt: followedAt });
  return { chainId, wants, isOwed: owedSince !== undefined, followedAt };
}

async function report(
  deps: Dependencies,
  watch: Watch,
  type: 'watch.stalled' | 'watch.recovered',
  chains: readonly StalledChain[],
  at: string,
): Promise<void> {
  const names = chains.map(({ chainId, reportedAt }) => `${chainId}/${reportedAt}`).join();
  const listed = chains.map(({ chainId, since }) => ({ chainId, since }));
  const event = composeAboutWatch(watch, { type, chains: listed }, names, at);
  const written = await deps.change(watch, ({ stalled = [], ...current }) => {
    if (current.event !== undefined || current.paused) return undefined;
    const others = stalled.filter((one) => !chains.some(({ chainId }) => chainId === one.chainId));
    const next = type === 'watch.stalled' ? [...others, ...chains] : others;
    return { ...current, ...(next.length === 0 ? {} : { stalled: next }), event };
  });
  if (written?.changed) await deps.publishWatchEvent(written.document);
}
