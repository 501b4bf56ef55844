import {
  adoptTraceparent,
  formatTraceparent,
  newTraceparent,
  parseTraceparent,
  traceIdOf,
} from './traceparent.ts';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN_ID = '00f067aa0ba902b7';
const KNOWN = { traceId: TRACE_ID, spanId: SPAN_ID, isRemote: true };

test.each([
  ['sampled', `00-${TRACE_ID}-${SPAN_ID}-01`, { ...KNOWN, traceFlags: 1 }],
  ['not sampled', `00-${TRACE_ID}-${SPAN_ID}-00`, { ...KNOWN, traceFlags: 0 }],
  ['with flags of a later level', `00-${TRACE_ID}-${SPAN_ID}-03`, { ...KNOWN, traceFlags: 1 }],
  ['of a later version, with more parts', `cc-${TRACE_ID}-${SPAN_ID}-01-more`, { ...KNOWN, traceFlags: 1 }],
])('a traceparent %s is read', (_, text, expected) => {
  expect(parseTraceparent(text)).toEqual(expected);
});

test.each([
  ['nothing', undefined],
  ['an empty text', ''],
  ['a zero trace id', `00-${'0'.repeat(32)}-${SPAN_ID}-01`],
  ['a zero span id', `00-${TRACE_ID}-${'0'.repeat(16)}-01`],
  ['upper case', `00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`],
  ['the forbidden version', `ff-${TRACE_ID}-${SPAN_ID}-01`],
  ['version 00 with more parts', `00-${TRACE_ID}-${SPAN_ID}-01-more`],
  ['two headers in one', `00-${TRACE_ID}-${SPAN_ID}-01, 00-${TRACE_ID}-${SPAN_ID}-01`],
  ['an endless text', `cc-${TRACE_ID}-${SPAN_ID}-01-${'a'.repeat(1_000)}`],
])('%s is not a traceparent', (_, text) => {
  expect(parseTraceparent(text)).toBeUndefined();
});

test('the trace of a record is adopted, and an unreadable one is replaced by a new trace', () => {
  const carried = formatTraceparent({ ...KNOWN, traceFlags: 1 });
  expect(adoptTraceparent(carried)).toBe(carried);
  const own = adoptTraceparent('nonsense');
  expect(parseTraceparent(own)).toMatchObject({ traceFlags: 0 });
  expect(own).not.toBe(adoptTraceparent('nonsense'));
});

test('a formatted traceparent gives its trace id back when parsed', () => {
  expect(traceIdOf(formatTraceparent({ ...KNOWN, traceFlags: 0 }))).toBe(TRACE_ID);
  expect(traceIdOf(newTraceparent())).toMatch(/^[0-9a-f]{32}$/);
});
