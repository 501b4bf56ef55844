import { setTimeout as delay } from 'node:timers/promises';
import type { Admin } from 'kafkajs';

export type PartitionOffsets = { readonly low: number; readonly high: number };

/** 30 s: a busy machine took more than 3 s to put the leaders of 260 new partitions in office. */
const TRIES_MAX = 300;
const RETRY_MS = 100;

/**
 * Where each partition of a topic begins (`low`) and ends (`high`, the next offset to be written).
 *
 * Asks again while a leader is not yet in office: kafkajs's own call gives up at once on that, as it happens just
 * after a topic's creation and after a change of leader.
 */
export async function readTopicOffsets(admin: Admin, topic: string): Promise<Map<number, PartitionOffsets>> {
  for (let tries = 1; ; tries++) {
    try {
      const offsets = await admin.fetchTopicOffsets(topic);
      return new Map(offsets.map((o) => [o.partition, { low: Number(o.low), high: Number(o.high) }]));
    } catch (error) {
      // Where no partition has a leader yet, kafkajs takes the empty answer apart and ends in a TypeError.
      const retriable = error instanceof TypeError || (error as { retriable?: boolean }).retriable === true;
      if (!retriable || tries >= TRIES_MAX) throw error;
      await delay(RETRY_MS);
      await admin.fetchTopicMetadata({ topics: [topic] });
    }
  }
}
