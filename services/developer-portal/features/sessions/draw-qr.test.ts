import decodeQR from 'qr/decode.js';
import { drawQr } from './draw-qr.ts';

const PIXELS = 4;

/** Draws the path as a browser would, each module as a square of pixels. */
function paint({ size, path }: ReturnType<typeof drawQr>) {
  const width = size * PIXELS;
  const data = new Uint8Array(width * width * 4).fill(255);
  for (const [, x, y, run] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g))
    for (let dy = 0; dy < PIXELS; dy++)
      for (let dx = 0; dx < Number(run) * PIXELS; dx++) {
        const at = 4 * ((Number(y) * PIXELS + dy) * width + Number(x) * PIXELS + dx);
        data.fill(0, at, at + 3);
      }
  return { width, height: width, data };
}

test('a reader of QR codes finds the text in the drawn path', () => {
  const text =
    'otpauth://totp/Rolecall:dev%40example.com?issuer=Rolecall&secret=JBSWY3DPEHPK3PXP&digits=6&period=30';
  const drawing = drawQr(text);
  expect(drawing.path).toMatch(/^(M\d+ \d+h\d+v1h-\d+z)+$/);
  expect(decodeQR(paint(drawing))).toBe(text);
});
