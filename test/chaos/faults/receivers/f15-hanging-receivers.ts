import type { Fault } from '../../fault.ts';
import { timesBaseline } from '../../judges/measure.ts';
import { latenessOf } from '../../judges/webhook-times.ts';

export const f15HangingReceivers: Fault = {
  id: 'F15',
  title: 'half of the receivers hang',
  async run({ receive, sendTo, seconds, rest }) {
    const [healthy, other, ...hanging] = [await receive(), await receive(), await receive(), await receive()];
    const all = [healthy, other, ...hanging].filter((one) => one !== undefined);
    sendTo(all.map(({ url }) => url));
    const baseline = await rest(seconds * 500);
    for (const receiver of hanging) receiver.setAnswer(() => undefined);
    const underFault = await rest(seconds * 1_000);
    for (const receiver of hanging) receiver.setAnswer(204);
    return () => {
      const seen = [healthy, other].flatMap((one) => one?.deliveries ?? []);
      const times = ({ fromMs, toMs }: typeof baseline) =>
        latenessOf(seen.filter(({ atMs }) => atMs >= fromMs && atMs < toMs));
      return { figures: [timesBaseline("healthy receivers' p99", times(underFault), times(baseline), 1.5)] };
    };
  },
};
