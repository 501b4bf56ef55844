import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHAIN, compileYul, YUL_CONTRACTS } from './compile-yul.ts';

test.each(YUL_CONTRACTS)('$file is the compiled source', (contract) => {
  const checkedIn = readFileSync(join(CHAIN, contract.file), 'utf8');
  expect(checkedIn).toBe(compileYul(contract));
});
