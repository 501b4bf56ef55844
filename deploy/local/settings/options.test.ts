import { resolve } from 'node:path';
import { OptionsEnd, parseOptions } from './options.ts';

const written: string[] = [];
const parse = (...argv: string[]) => parseOptions(argv, (text) => written.push(text));
const endOf = (...argv: string[]): { exitCode: number; text: string } => {
  written.length = 0;
  try {
    parse(...argv);
  } catch (error) {
    if (error instanceof OptionsEnd) return { exitCode: error.exitCode, text: written.join('') };
    throw error;
  }
  throw new Error('the options were accepted');
};

test('without options, one process of each runs on 8080 with its data in .data', () => {
  expect(parse()).toEqual({
    portBase: 8080,
    data: resolve('.data'),
    once: false,
    demo: true,
    json: false,
    gateways: 1,
    evaluators: 1,
    resultStores: 1,
    dispatchers: 1,
    watchers: 1,
    chains: undefined,
  });
});

test('every option is read', () => {
  const argv = '--port-base 25000 --data d --once --no-demo --json --gateways 2 --evaluators 3';
  expect(
    parse(...argv.split(' '), '--result-stores', '0', '--dispatchers', '4', '--chains', 'c.json'),
  ).toEqual({
    portBase: 25_000,
    data: resolve('d'),
    once: true,
    demo: false,
    json: true,
    gateways: 2,
    evaluators: 3,
    resultStores: 0,
    dispatchers: 4,
    watchers: 1,
    chains: resolve('c.json'),
  });
});

test.each([
  [['--port-base', '70000'], '--port-base'],
  [['--port-base', '1e3'], '--port-base'],
  [['--gateways', '0'], '--gateways'],
  [['--evaluators', '-1'], '--evaluators'],
  [['--dispatchers', '21'], '--dispatchers'],
  [['--colour'], '--colour'],
  [['something'], 'too many arguments'],
])('%j ends with exit 1 and names the fault', (argv, named) => {
  const { exitCode, text } = endOf(...argv);
  expect(exitCode).toBe(1);
  expect(text).toContain(named);
});

test('--help ends with exit 0 and lists the options', () => {
  const { exitCode, text } = endOf('--help');
  expect(exitCode).toBe(0);
  expect(text).toContain('--port-base');
});
