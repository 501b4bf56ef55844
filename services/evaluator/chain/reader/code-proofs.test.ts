import type { Read } from '../../domain/read.ts';
import type { Block } from '../blocks/block.ts';
import type { Rpc, RpcRequest } from '../rpc/connect-rpc.ts';
import { CodeProofs } from './code-proofs.ts';

const CONTRACT = `0x${'aa'.repeat(20)}`;
const READ = { kind: 'balance', contract: CONTRACT } as Read;
const blockOf = (number: number) => ({ number, hash: `0x${number}` }) as Block;

test('code that was seen at a block proves nothing for an earlier one', async () => {
  const deployedAt = 100;
  let asked = 0;
  const codeAt = ({ params }: RpcRequest) => {
    asked += 1;
    return Number(JSON.parse(params)[1]) >= deployedAt ? '0x60' : '0x';
  };
  const rpc = {
    call: async (request: RpcRequest) => codeAt(request),
    callMany: async (requests: readonly RpcRequest[]) =>
      requests.map((request) => ({ ok: true, result: codeAt(request) })),
  } as unknown as Rpc;
  const use = async (_: AbortSignal, send: (rpc: Rpc) => Promise<unknown>) => send(rpc);
  const callable = { use } as unknown as Parameters<CodeProofs['findAbsent']>[1];
  const proofs = new CodeProofs(() => 0);
  const isAbsentAt = async (number: number) => {
    const { signal } = new AbortController();
    return (await proofs.findAbsent('0', callable, blockOf(number), [READ], 'number', signal)).has(CONTRACT);
  };
  const absent: boolean[] = [];
  for (const number of [200, 250, 99, 150, 150, 200]) absent.push(await isAbsentAt(number));
  expect({ absent, asked }).toEqual({ absent: [false, false, true, false, false, false], asked: 3 });
});
