/**
 * When the next sweep of a watch is due, epoch ms: watches with one interval begin at different
 * times, and each keeps its time whatever was lost.
 */
export function nextSweepAt(uid: string, everySeconds: number, nowMs: number): number {
  const everyMs = everySeconds * 1_000;
  const phaseMs = hash(uid) % everyMs;
  return Math.floor((nowMs - phaseMs) / everyMs + 1) * everyMs + phaseMs;
}

/** FNV-1a, 32 bits: spreads the ids, nothing more. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return value;
}
