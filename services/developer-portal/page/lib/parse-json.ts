/** Nested arrays and objects; a check has far fewer. */
const DEPTH_MAX = 32;
const SPACE = /[ \t\r\n]*/y;
const TOKEN =
  /[{}[\]:,]|"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/uy;

type Fault = { line: number; column: number; text: string };

/**
 * Parses JSON, behind a byte-order mark or not, and returns the line of each value by JSON pointer.
 * @returns the fault is the first character that cannot be where it is; lines and columns count
 *   from 1
 *
 * @example
 * parseJson('{\n"a": [1]}').lines; // Map { '' => 1, '/a' => 2, '/a/0' => 2 }
 * parseJson('{"a" 1}').fault.text; // 'Line 1, column 6: expected a colon.'
 */
export function parseJson(written: string) {
  const text = written.replace(/^\ufeff/, '');
  const lines = new Map<string, number>();
  let [at, line, lineStart] = [0, 1, 0];
  let token: string | undefined = '';

  const next = () => {
    SPACE.lastIndex = at += token?.length ?? 0;
    const [space = ''] = SPACE.exec(text) ?? [];
    for (let i = 0; i < space.length; i++) if (space[i] === '\n') [line, lineStart] = [line + 1, at + i + 1];
    TOKEN.lastIndex = at += space.length;
    token = TOKEN.exec(text)?.[0];
  };
  const fail = (words: string) => {
    const column = at - lineStart + 1;
    throw { line, column, text: `Line ${line}, column ${column}: ${words}.` };
  };
  const takeValue = (pointer: string, depth: number, wanted = 'a value') => {
    if (token === undefined || /^[}\]:,]$/.test(token)) fail(`expected ${wanted}`);
    lines.set(pointer, line);
    const isList = token === '[';
    if (!isList && token !== '{') return next();
    if (depth === DEPTH_MAX) fail(`at most ${DEPTH_MAX} nested brackets`);
    const closing = isList ? ']' : '}';
    next();
    for (let count = 0; count > 0 || token !== closing; count++) {
      const orEnd = count === 0 ? ` or ${closing}` : '';
      if (isList) takeValue(`${pointer}/${count}`, depth + 1, `a value${orEnd}`);
      else takeMember(pointer, depth, `a name in double quotes${orEnd}`);
      if (token === closing) break;
      if (token !== ',') fail('expected a comma or the closing bracket');
      next();
    }
    next();
  };
  const takeMember = (pointer: string, depth: number, wanted: string) => {
    const name = token;
    if (!name?.startsWith('"')) return fail(`expected ${wanted}`);
    next();
    if (token !== ':') fail('expected a colon');
    next();
    takeValue(`${pointer}/${JSON.parse(name).replaceAll('~', '~0').replaceAll('/', '~1')}`, depth + 1);
  };
  try {
    next();
    takeValue('', 0);
    if (at < text.length) fail('expected nothing more');
    return { value: JSON.parse(text), lines };
  } catch (fault) {
    return { value: undefined, lines, fault: fault as Fault };
  }
}

/** The line of the value at a pointer, or of the nearest value around it that is there. */
export function lineOf(lines: Map<string, number>, pointer: string) {
  for (let path = pointer; ; path = path.slice(0, path.lastIndexOf('/'))) {
    const line = lines.get(path);
    if (line !== undefined || path === '') return line ?? 1;
  }
}
