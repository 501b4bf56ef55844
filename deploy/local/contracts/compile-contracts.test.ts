import { readFileSync } from 'node:fs';
import { artifactFile } from './artifact-file.ts';
import { compileContracts } from './compile-contracts.ts';

test('the checked-in artefacts equal the compiled sources', () => {
  const compiled = compileContracts();
  expect([...compiled.keys()]).toEqual(['DemoErc20', 'DemoErc721', 'DemoErc1155']);
  for (const [name, artifact] of compiled) {
    const checkedIn: unknown = JSON.parse(readFileSync(artifactFile(name), 'utf8'));
    expect({ name, ...(checkedIn as object) }).toEqual({ name, ...artifact });
  }
});
