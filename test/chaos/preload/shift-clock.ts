// Preloaded into a process: its wall clock is CHAOS_CLOCK_OFFSET_MS ahead. The monotonic clock and
// timers are not changed, as on a machine whose clock is wrong.
const offsetMs = Number(process.env['CHAOS_CLOCK_OFFSET_MS'] ?? 0);
const RealDate = Date;
const now = () => RealDate.now() + offsetMs;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as Date,
  apply: () => new RealDate(now()).toString(),
  get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
});
