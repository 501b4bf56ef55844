/** Nested arrays and objects; a check has far fewer. */
const DEPTH_MAX = 32;
const SPACE = /[ \t\r\n]*/y;
const TOKEN =
  /[{}[\]:,]|"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/uy;

/** The tokens that may come next, in the words of a fault. */
const EXPECTED = {
  value: 'a value',
  'first value': 'a value or ]',
  name: 'a name in double quotes',
  'first name': 'a name in double quotes or }',
  colon: 'a colon',
  next: 'a comma or the closing bracket',
  end: 'nothing more',
};

/**
 * Parses JSON, behind a byte-order mark or not, and returns the line of each value by JSON pointer.
 *
 * @returns `{ value, lines }`, or `{ fault: { line, column, text } }` of the first character that cannot be where it
 *   does; lines and columns count from 1
 * @example
 * parseJson('{\n"a": [1]}').lines; // Map { '' => 1, '/a' => 2, '/a/0' => 2 }
 * parseJson('{"a" 1}').fault.text; // 'Line 1, column 6: expected a colon.'
 */
export function parseJson(written) {
  const text = written.replace(/^\ufeff/, '');
  const place = { at: 0, line: 1, lineStart: 0 };
  const walk = { stack: [], lines: new Map(), pointer: '', wanted: 'value' };
  for (;;) {
    skipSpace(text, place);
    if (place.at === text.length && walk.wanted === 'end')
      return { value: JSON.parse(text), lines: walk.lines };
    TOKEN.lastIndex = place.at;
    const [token] = TOKEN.exec(text) ?? [];
    const problem = token === undefined ? expected(walk) : step(walk, token, place.line);
    if (problem !== undefined) return { fault: faultAt(place, problem) };
    place.at += token.length;
  }
}

/** The line of the value at a pointer, or of the nearest value around it that is there. */
export function lineOf(lines, pointer) {
  for (let path = pointer; ; path = path.slice(0, path.lastIndexOf('/'))) {
    const line = lines.get(path);
    if (line !== undefined || path === '') return line ?? 1;
  }
}

function skipSpace(text, place) {
  SPACE.lastIndex = place.at;
  const [space] = SPACE.exec(text);
  for (let i = 0; i < space.length; i++)
    if (space[i] === '\n') {
      place.line += 1;
      place.lineStart = place.at + i + 1;
    }
  place.at += space.length;
}

const expected = ({ wanted }) => `expected ${EXPECTED[wanted]}`;

function faultAt({ at, line, lineStart }, problem) {
  const column = at - lineStart + 1;
  return { line, column, text: `Line ${line}, column ${column}: ${problem}.` };
}

const escaped = (name) => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** Takes one token; returns its fault, if it has one. */
function step(walk, token, line) {
  const { wanted, stack } = walk;
  const around = stack.at(-1);
  const isString = token.startsWith('"');
  if (wanted === 'end') return expected(walk);
  if (wanted === 'colon') {
    if (token !== ':') return expected(walk);
    walk.wanted = 'value';
    return undefined;
  }
  if (around && token === around.closing && (wanted === 'next' || wanted.startsWith('first'))) {
    stack.pop();
    walk.wanted = stack.length > 0 ? 'next' : 'end';
    return undefined;
  }
  if (wanted === 'next') {
    if (token !== ',') return expected(walk);
    if (around.closing === ']') goToItem(walk, around);
    walk.wanted = around.closing === ']' ? 'value' : 'name';
    return undefined;
  }
  if (wanted.endsWith('name')) {
    if (!isString) return expected(walk);
    walk.pointer = `${around.pointer}/${escaped(JSON.parse(token))}`;
    walk.wanted = 'colon';
    return undefined;
  }
  return takeValue(walk, token, line);
}

function takeValue(walk, token, line) {
  const isOpening = token === '{' || token === '[';
  if (!isOpening && /^[}\]:,]$/.test(token)) return expected(walk);
  if (walk.wanted === 'first value') goToItem(walk, walk.stack.at(-1));
  walk.lines.set(walk.pointer, line);
  if (!isOpening) {
    walk.wanted = walk.stack.length > 0 ? 'next' : 'end';
    return undefined;
  }
  if (walk.stack.length === DEPTH_MAX) return `at most ${DEPTH_MAX} nested brackets`;
  walk.stack.push({ closing: token === '{' ? '}' : ']', pointer: walk.pointer, count: 0 });
  walk.wanted = token === '{' ? 'first name' : 'first value';
  return undefined;
}

function goToItem(walk, around) {
  walk.pointer = `${around.pointer}/${around.count}`;
  around.count += 1;
}
