import { compileReader } from './compile-reader.ts';
import { READER_CODE } from './reader-code.ts';

test('the code that is checked in is the compiled source', () => {
  expect(compileReader()).toContain(`'${READER_CODE}'`);
});
